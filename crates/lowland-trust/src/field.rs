//! The repulsion of a fixed map, interpolated on a grid.

use lowland_core::{Points, Result};
use lowland_nbody::{Charges, Engine, Kernel, KernelTerm, SumRequest, new_engine};

/// Distance between grid points in units of the kernel's width, unless the map is so wide that the grid would be too large.
const SPACING: f64 = 0.25;
/// Most grid points along an axis.
const MAX_POINTS: usize = 2048;
/// Grid points beyond the map on each side: interpolation uses four along each axis.
const MARGIN: usize = 3;
/// Relative error of the sums.
const ACCURACY: f64 = 1e-5;

/// Value, gradient and second derivatives (xx, xy, yy) of a function of two coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Jet {
    pub value: f64,
    pub gradient: [f64; 2],
    pub hessian: [f64; 3],
}

/// The sum of `1 / (1 + |y - y_j|^2)` over all points of a map in two dimensions.
pub(crate) struct RepulsionField {
    values: Vec<f64>,
    columns: usize,
    rows: usize,
    origin: [f64; 2],
    spacing: f64,
}

impl RepulsionField {
    pub fn new(map: Points) -> Result<Self> {
        let bounds = |c: usize| {
            let column = map.values().iter().skip(c).step_by(2);
            column.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)))
        };
        let (x, y) = (bounds(0), bounds(1));
        let widest = (x.1 - x.0).max(y.1 - y.0);
        let spacing = SPACING.max(widest / (MAX_POINTS - 2 * MARGIN - 1) as f64);
        let count = |(low, high): (f64, f64)| ((high - low) / spacing).ceil() as usize + 1 + 2 * MARGIN;
        let (columns, rows) = (count(x), count(y));
        let origin = [x.0 - MARGIN as f64 * spacing, y.0 - MARGIN as f64 * spacing];
        let place =
            |at: usize| [origin[0] + (at % columns) as f64 * spacing, origin[1] + (at / columns) as f64 * spacing];
        let nodes: Vec<f64> = (0..columns * rows).flat_map(place).collect();
        let mut values = vec![0.0; columns * rows];
        let kernel = Kernel::Cauchy { power: 1.0 };
        let mut engine = new_engine(Engine::Auto, 2, kernel)?;
        engine.set_accuracy(ACCURACY);
        let ones = vec![1.0; map.rows()];
        let terms = [KernelTerm { kernel, charges: 1 }];
        let charges = Charges { values: &ones, per_point: 1 };
        let request = SumRequest { terms: &terms, targets: Points::new(&nodes, 2)?, sources: map, charges };
        engine.sum(request, &mut values)?;
        Ok(Self { values, columns, rows, origin, spacing })
    }

    /// Interpolates by polynomials of third degree through four by four grid points. Outside of the grid, those at its border
    /// are continued.
    pub fn at(&self, y: [f64; 2]) -> Jet {
        let axis = |c: usize, count: usize| {
            let place = (y[c] - self.origin[c]) / self.spacing;
            let first = (place.floor() - 1.0).clamp(0.0, (count - 4) as f64);
            (first as usize, cubic_weights(place - first - 1.0))
        };
        let ((column, x), (row, y)) = (axis(0, self.columns), axis(1, self.rows));
        let mut jet = Jet::default();
        for (r, line) in (row..row + 4).enumerate() {
            let values = &self.values[line * self.columns + column..][..4];
            let sum = |derivative: usize| (0..4).map(|c| x[derivative][c] * values[c]).sum::<f64>();
            let (value, slope, curvature) = (sum(0), sum(1), sum(2));
            jet.value += y[0][r] * value;
            jet.gradient[0] += y[0][r] * slope;
            jet.gradient[1] += y[1][r] * value;
            jet.hessian[0] += y[0][r] * curvature;
            jet.hessian[1] += y[1][r] * slope;
            jet.hessian[2] += y[2][r] * value;
        }
        jet.gradient.iter_mut().for_each(|v| *v /= self.spacing);
        jet.hessian.iter_mut().for_each(|v| *v /= self.spacing * self.spacing);
        jet
    }
}

/// Weights of the values at -1, 0, 1 and 2 in the polynomial through them and in its first two derivatives, at `t`.
fn cubic_weights(t: f64) -> [[f64; 4]; 3] {
    let nodes = [-1.0, 0.0, 1.0, 2.0];
    let scales = [-1.0 / 6.0, 0.5, -0.5, 1.0 / 6.0];
    let mut weights = [[0.0; 4]; 3];
    for c in 0..4 {
        let mut others = nodes.iter().enumerate().filter(|&(k, _)| k != c).map(|(_, node)| t - node);
        let [a, b, d] = std::array::from_fn(|_| others.next().expect("three other nodes"));
        weights[0][c] = scales[c] * a * b * d;
        weights[1][c] = scales[c] * (a * b + a * d + b * d);
        weights[2][c] = scales[c] * 2.0 * (a + b + d);
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Seed;

    #[test]
    fn the_field_and_its_derivatives_are_those_of_the_sum() {
        let map: Vec<f64> = Seed(1).normals(800).iter().map(|v| 6.0 * v).collect();
        let field = RepulsionField::new(Points::new(&map, 2).unwrap()).unwrap();
        for y in [[0.3, -0.4], [5.0, 2.0], [-9.0, 7.7], [1.0, 1.0]] {
            let mut exact = Jet::default();
            for p in map.chunks(2) {
                let d = [y[0] - p[0], y[1] - p[1]];
                let q = 1.0 / (1.0 + d[0] * d[0] + d[1] * d[1]);
                exact.value += q;
                (0..2).for_each(|c| exact.gradient[c] -= 2.0 * q * q * d[c]);
                let cube = 8.0 * q * q * q;
                exact.hessian[0] += cube * d[0] * d[0] - 2.0 * q * q;
                exact.hessian[1] += cube * d[0] * d[1];
                exact.hessian[2] += cube * d[1] * d[1] - 2.0 * q * q;
            }
            let found = field.at(y);
            assert!((found.value / exact.value - 1.0).abs() < 1e-3, "{found:?} {exact:?}");
            for c in 0..2 {
                assert!((found.gradient[c] - exact.gradient[c]).abs() < 0.01 * exact.value, "{found:?} {exact:?}");
            }
            for c in 0..3 {
                assert!((found.hessian[c] - exact.hessian[c]).abs() < 0.05 * exact.value, "{found:?} {exact:?}");
            }
        }
    }
}
