//! The repulsion of UMAP, divided into a smooth part that kernel sums compute and a rest that only close pairs have.

use lowland_core::{Error, Result};
use lowland_linalg::dense::Cholesky;
use lowland_nbody::Kernel;

use super::SimilarityCurve;

/// Keeps the loss of close points finite, as in the sampled layout.
pub(super) const MIN_SQUARE: f64 = 1e-3;
/// The kernels level off at this share of the squared distance at which the similarity is one half.
const UNIT: f64 = 0.4;
/// Pairs with a squared distance below this many units are close.
const CLOSE: f64 = 2.0;
/// The coefficients are fitted up to this multiple of the squared distance at which the similarity is one half.
const RANGE: f64 = 1e5;
const SAMPLES: usize = 400;
/// Number of kernels.
const KERNELS: usize = 4;
/// Keeps the normal equations of kernels that are alike positive definite.
const RIDGE: f64 = 1e-13;

/// The loss `G(s) = -ln(1 - similarity)` of two points at squared distance `s`, and its approximation for points that are not close by
/// a sum of kernels `F(s) = sum_k c_k (1 + s / unit)^-p_k`. The tail of `G` is a power of `s`, and so are those of the kernels.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FarField {
    curve: SimilarityCurve,
    /// Squared distances are divided by this.
    pub unit: f64,
    powers: [f64; KERNELS],
    coefficients: [f64; KERNELS],
}

impl FarField {
    /// Fits the sum of kernels to the force, with equal relative errors at all distances that are not close.
    pub fn new(curve: SimilarityCurve) -> Result<Self> {
        let SimilarityCurve { a, b } = curve;
        let half = a.powf(-1.0 / b);
        let powers = [b, b + 1.0, 2.0 * b, b + 2.0];
        let mut field = Self { curve, unit: UNIT * half, powers, coefficients: [0.0; KERNELS] };
        let (first, last) = (CLOSE * field.unit, RANGE * half);
        let (mut matrix, mut right) = (vec![0.0; KERNELS * KERNELS], vec![0.0; KERNELS]);
        for sample in 0..SAMPLES {
            let s = first * (last / first).powf(sample as f64 / (SAMPLES - 1) as f64);
            let force = field.loss(s).1;
            let relative = powers.map(|p| -p / field.unit * (1.0 + s / field.unit).powf(-p - 1.0) / force);
            for ((right, row), r) in right.iter_mut().zip(matrix.chunks_exact_mut(KERNELS)).zip(relative) {
                *right += r;
                row.iter_mut().zip(relative).for_each(|(value, c)| *value += r * c);
            }
        }
        let trace: f64 = (0..KERNELS).map(|k| matrix[k * KERNELS + k]).sum();
        (0..KERNELS).for_each(|k| matrix[k * KERNELS + k] += RIDGE * trace);
        let factor = Cholesky::new(&matrix, KERNELS).map_err(|_| Error::Numerical {
            what: "the approximation of the repulsion",
            reason: format!("no sum of kernels was found for a = {a} and b = {b}"),
        })?;
        factor.solve(&mut right, 1);
        field.coefficients.copy_from_slice(&right);
        Ok(field)
    }

    /// Returns the kernels, which are functions of the squared distance in units, with their coefficients.
    pub fn kernels(&self) -> impl Iterator<Item = (Kernel, f64)> + '_ {
        self.powers.iter().zip(&self.coefficients).map(|(&power, &c)| (Kernel::Cauchy { power }, c))
    }

    /// Squared distance below which pairs are close.
    pub fn close(&self) -> f64 {
        CLOSE * self.unit
    }

    /// Returns the loss at a squared distance, and its derivative, which is zero for points at one place.
    pub fn loss(&self, s: f64) -> (f64, f64) {
        let SimilarityCurve { a, b } = self.curve;
        let x = a * s.powf(b);
        let slope = if s > 0.0 { b * x / s * (1.0 / (1.0 + x) - 1.0 / (MIN_SQUARE + x)) } else { 0.0 };
        (((1.0 + x) / (MIN_SQUARE + x)).ln(), slope)
    }

    /// Returns the sum of kernels at a squared distance, and its derivative.
    pub fn smooth(&self, s: f64) -> (f64, f64) {
        let near = 1.0 + s / self.unit;
        let terms = self.powers.iter().zip(&self.coefficients);
        terms.fold((0.0, 0.0), |(value, slope), (&p, &c)| {
            let kernel = near.powf(-p);
            (value + c * kernel, slope - c * p / self.unit * kernel / near)
        })
    }

    /// Returns what kernel sums leave out of the loss of a close pair, and its derivative.
    pub fn rest(&self, s: f64) -> (f64, f64) {
        let ((loss, slope), (smooth, smooth_slope)) = (self.loss(s), self.smooth(s));
        (loss - smooth, if s > 0.0 { slope - smooth_slope } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_kernels_has_the_force_of_points_that_are_not_close() {
        for (min_dist, most) in [(0.0, 3e-3), (0.1, 2e-3), (0.5, 5e-3), (0.99, 2e-2)] {
            let field = FarField::new(SimilarityCurve::fit(min_dist, 1.0).unwrap()).unwrap();
            let errors = (0..2000).map(|at| field.close() * 1.01f64.powi(at)).filter(|&s| s < 1e4).map(|s| {
                let (exact, smooth) = (field.loss(s).1, field.smooth(s).1);
                ((smooth - exact) / exact).abs()
            });
            let worst = errors.fold(0.0, f64::max);
            assert!(worst < most, "{min_dist}: {worst}");
        }
        // A curve whose kernels are alike.
        assert!(FarField::new(SimilarityCurve { a: 1.0, b: 1.0 }).is_ok());
    }
}
