//! The t-SNE loss of one point, all others being fixed, and its minimization.

use lowland_core::Points;

use super::field::{Jet, RepulsionField};

/// The loss of a point at `y`: `sum_j w_j ln(1 + |y - y_j|^2) + r sum_j 1 / (1 + |y - y_j|^2)`, where the weights `w` are the
/// affinities of its row and sum to one. Its gradient is that of t-SNE's divergence, up to a factor.
pub(crate) struct PointLoss<'a> {
    /// The map, in units of the kernel.
    pub map: Points<'a>,
    pub field: &'a RepulsionField,
    /// Strength of the repulsion: number of points over the sum of the kernel over all pairs.
    pub repulsion: f64,
}

/// Most steps of a minimization.
const MAX_STEPS: usize = 25;
/// A minimization ends with steps shorter than this, in units of the kernel.
const TOLERANCE: f64 = 1e-3;
/// Longest step.
const MAX_STEP: f64 = 2.0;

impl PointLoss<'_> {
    /// Returns the loss of point `i` at `y`, given the affinities of its row.
    pub fn at(&self, i: usize, y: [f64; 2], columns: &[u32], weights: &[f64]) -> Jet {
        let mut jet = self.field.at(y);
        // The point does not repel itself.
        add_cauchy(&mut jet, -1.0, y, self.map.row(i));
        jet.value *= self.repulsion;
        jet.gradient.iter_mut().for_each(|v| *v *= self.repulsion);
        jet.hessian.iter_mut().for_each(|v| *v *= self.repulsion);
        for (&j, &w) in columns.iter().zip(weights) {
            let there = self.map.row(j as usize);
            let d = [y[0] - there[0], y[1] - there[1]];
            let s = d[0] * d[0] + d[1] * d[1];
            let q = 1.0 / (1.0 + s);
            jet.value += w * s.ln_1p();
            let (first, second) = (2.0 * w * q, 4.0 * w * q * q);
            jet.gradient[0] += first * d[0];
            jet.gradient[1] += first * d[1];
            jet.hessian[0] += first - second * d[0] * d[0];
            jet.hessian[1] -= second * d[0] * d[1];
            jet.hessian[2] += first - second * d[1] * d[1];
        }
        jet
    }

    /// Returns a local minimum near `start` with its loss, by Newton's method with steps that lower the loss.
    pub fn minimize(&self, i: usize, start: [f64; 2], columns: &[u32], weights: &[f64]) -> ([f64; 2], f64) {
        let mut y = start;
        let mut jet = self.at(i, y, columns, weights);
        for _ in 0..MAX_STEPS {
            let mut step = descent_step(&jet);
            let mut next = None;
            while step[0].hypot(step[1]) > TOLERANCE {
                let trial = [y[0] + step[0], y[1] + step[1]];
                let found = self.at(i, trial, columns, weights);
                if found.value < jet.value {
                    next = Some((trial, found));
                    break;
                }
                step = [0.5 * step[0], 0.5 * step[1]];
            }
            match next {
                Some((trial, found)) => (y, jet) = (trial, found),
                None => break,
            }
        }
        (y, jet.value)
    }
}

/// Adds `factor` times the kernel of a point.
fn add_cauchy(jet: &mut Jet, factor: f64, y: [f64; 2], there: &[f64]) {
    let d = [y[0] - there[0], y[1] - there[1]];
    let q = 1.0 / (1.0 + d[0] * d[0] + d[1] * d[1]);
    let (square, cube) = (2.0 * factor * q * q, 8.0 * factor * q * q * q);
    jet.value += factor * q;
    jet.gradient[0] -= square * d[0];
    jet.gradient[1] -= square * d[1];
    jet.hessian[0] += cube * d[0] * d[0] - square;
    jet.hessian[1] += cube * d[0] * d[1];
    jet.hessian[2] += cube * d[1] * d[1] - square;
}

/// Newton's step where the loss is convex, with the absolute values of the eigenvalues elsewhere.
fn descent_step(jet: &Jet) -> [f64; 2] {
    let [a, b, c] = jet.hessian;
    let (mean, radius) = (0.5 * (a + c), (0.25 * (a - c) * (a - c) + b * b).sqrt());
    let values = [(mean + radius).abs().max(1e-3), (mean - radius).abs().max(1e-3)];
    // Unit eigenvector of the larger eigenvalue.
    let (sin, cos) = (0.5 * (2.0 * b).atan2(a - c)).sin_cos();
    let along = [cos * jet.gradient[0] + sin * jet.gradient[1], cos * jet.gradient[1] - sin * jet.gradient[0]];
    let scaled = [along[0] / values[0], along[1] / values[1]];
    let step = [-(cos * scaled[0] - sin * scaled[1]), -(sin * scaled[0] + cos * scaled[1])];
    let shorten = (MAX_STEP / step[0].hypot(step[1])).min(1.0);
    [shorten * step[0], shorten * step[1]]
}

/// Returns the smaller eigenvalue of the second derivatives.
pub(crate) fn smallest_curvature(jet: &Jet) -> f64 {
    let [a, b, c] = jet.hessian;
    0.5 * (a + c) - (0.25 * (a - c) * (a - c) + b * b).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Seed;

    #[test]
    fn derivatives_agree_with_differences_and_minima_are_minima() {
        let map: Vec<f64> = Seed(2).normals(600).iter().map(|v| 5.0 * v).collect();
        let points = Points::new(&map, 2).unwrap();
        let field = RepulsionField::new(points).unwrap();
        let loss = PointLoss { map: points, field: &field, repulsion: 0.05 };
        let (columns, weights): (Vec<u32>, Vec<f64>) = (1..9).map(|j| (j * 13, 0.125)).unzip();
        let exact = |y: [f64; 2]| {
            let kernel = |j: usize| {
                let d = [y[0] - map[2 * j], y[1] - map[2 * j + 1]];
                1.0 + d[0] * d[0] + d[1] * d[1]
            };
            let attraction: f64 = columns.iter().zip(&weights).map(|(&j, w)| w * kernel(j as usize).ln()).sum();
            attraction + 0.05 * (1..300).map(|j| 1.0 / kernel(j)).sum::<f64>()
        };
        for y in [[0.5, -1.0], [3.0, 4.0], [-6.0, 2.0]] {
            let found = loss.at(0, y, &columns, &weights);
            let h = 1e-3;
            let moved = |a: f64, b: f64| exact([y[0] + a * h, y[1] + b * h]);
            let difference = |plus: f64, minus: f64| (plus - minus) / (2.0 * h);
            assert!((found.value - exact(y)).abs() < 1e-3 * exact(y).abs());
            assert!((found.gradient[0] - difference(moved(1.0, 0.0), moved(-1.0, 0.0))).abs() < 0.01);
            assert!((found.gradient[1] - difference(moved(0.0, 1.0), moved(0.0, -1.0))).abs() < 0.01);
            let second = (moved(1.0, 0.0) - 2.0 * exact(y) + moved(-1.0, 0.0)) / (h * h);
            assert!((found.hessian[0] - second).abs() < 0.05, "{} {second}", found.hessian[0]);
            let mixed = moved(1.0, 1.0) - moved(1.0, -1.0) - moved(-1.0, 1.0) + moved(-1.0, -1.0);
            assert!((found.hessian[1] - mixed / (4.0 * h * h)).abs() < 0.05);
            let (place, value) = loss.minimize(0, y, &columns, &weights);
            assert!(value <= found.value);
            for (a, b) in [(0.05, 0.0), (-0.05, 0.0), (0.0, 0.05), (0.0, -0.05)] {
                assert!(exact([place[0] + a, place[1] + b]) > exact(place) - 1e-3, "{place:?}");
            }
        }
    }

    #[test]
    fn the_smallest_curvature_is_an_eigenvalue() {
        let jet = Jet { hessian: [2.0, 1.0, 3.0], ..Jet::default() };
        let value = smallest_curvature(&jet);
        assert!(((2.0 - value) * (3.0 - value) - 1.0).abs() < 1e-12 && value < 2.0);
    }
}
