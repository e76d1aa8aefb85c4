//! Sums of a radial function over all points of a map, on a grid.
//!
//! The points are distributed to the nodes around them by the weights of cubic interpolation, the nodes are convolved with the
//! function by a fast Fourier transform, and the sums between nodes are interpolated by the same weights.

use lowland_algorithms::point_loss::{Jet, Radial};
use lowland_core::{Points, Result};
use rayon::prelude::*;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};

/// Distance between nodes in units of the function's width, unless the map is so wide that the grid would be too large.
const SPACING: f64 = 0.25;
/// Most nodes along an axis.
const MAX_POINTS: usize = 1536;
/// Nodes along an axis, in units of the square root of the number of points: a grid is not much larger than the map.
const POINTS_PER_ROOT: f64 = 20.0;
const MIN_POINTS: usize = 512;
/// Nodes beyond the map on each side: interpolation uses four along each axis.
const MARGIN: usize = 3;

/// The sum of a radial function over all points of a map in two dimensions.
pub(crate) struct GridField {
    values: Vec<f64>,
    columns: usize,
    rows: usize,
    origin: [f64; 2],
    spacing: f64,
}

/// Most nodes along an axis of the grid of a map of `n` points.
fn max_points(n: usize) -> usize {
    ((POINTS_PER_ROOT * (n as f64).sqrt()) as usize).clamp(MIN_POINTS, MAX_POINTS)
}

/// Estimates the bytes of [`GridField::new`].
pub(crate) fn grid_memory(n: usize) -> u64 {
    // Nodes and their differences as complex numbers, of the points, of the function and of either while it is transposed.
    3 * 16 * 4 * (max_points(n) * max_points(n)) as u64
}

impl GridField {
    pub fn new(map: Points, radial: Radial) -> Result<Self> {
        let bounds = |c: usize| {
            let column = map.values().iter().skip(c).step_by(2);
            column.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)))
        };
        let (x, y) = (bounds(0), bounds(1));
        let widest = (x.1 - x.0).max(y.1 - y.0);
        let spacing = (SPACING * radial.width()).max(widest / (max_points(map.rows()) - 2 * MARGIN - 1) as f64);
        let count = |(low, high): (f64, f64)| ((high - low) / spacing).ceil() as usize + 1 + 2 * MARGIN;
        let (columns, rows) = (count(x), count(y));
        let origin = [x.0 - MARGIN as f64 * spacing, y.0 - MARGIN as f64 * spacing];
        let mut field = Self { values: vec![0.0; columns * rows], columns, rows, origin, spacing };
        for i in 0..map.rows() {
            let (column, row, weights) = field.stencil([map.row(i)[0], map.row(i)[1]]);
            for (r, wy) in weights[1][0].iter().enumerate() {
                for (c, wx) in weights[0][0].iter().enumerate() {
                    field.values[(row + r) * columns + column + c] += wy * wx;
                }
            }
        }
        field.convolve(radial);
        Ok(field)
    }

    /// Returns the first column and row of the four by four nodes around a place, and their weights along both axes.
    #[inline(always)]
    fn stencil(&self, y: [f64; 2]) -> (usize, usize, [[[f64; 4]; 3]; 2]) {
        let axis = |c: usize, count: usize| {
            let place = (y[c] - self.origin[c]) / self.spacing;
            let first = (place.floor() - 1.0).clamp(0.0, (count - 4) as f64);
            (first as usize, cubic_weights(place - first - 1.0))
        };
        let ((column, x), (row, y)) = (axis(0, self.columns), axis(1, self.rows));
        (column, row, [x, y])
    }

    /// Replaces the values by their convolution with the function.
    fn convolve(&mut self, radial: Radial) {
        // Room for the differences of all nodes, so that nothing wraps around.
        let (width, height) = (smooth_size(2 * self.columns - 1), smooth_size(2 * self.rows - 1));
        let mut planner = FftPlanner::new();
        let mut plan = |size: usize| [planner.plan_fft_forward(size), planner.plan_fft_inverse(size)];
        let ([along, back_along], [across, back_across]) = (plan(width), plan(height));
        let mut charges = vec![Complex::default(); width * height];
        for (row, values) in charges.chunks_exact_mut(width).zip(self.values.chunks_exact(self.columns)) {
            row.iter_mut().zip(values).for_each(|(charge, &value)| charge.re = value);
        }
        // The kernel is symmetric along both axes, and so its transform is real.
        let mut kernel = vec![Complex::default(); width * height];
        kernel.par_chunks_exact_mut(width).enumerate().for_each(|(r, row)| {
            let dy = r.min(height - r) as f64;
            for (c, value) in row.iter_mut().enumerate() {
                let dx = c.min(width - c) as f64;
                value.re = radial.derivatives(self.spacing * self.spacing * (dx * dx + dy * dy))[0];
            }
        });
        transform_rows(&mut kernel, width, height, along.as_ref());
        let mut kernel = transpose(&kernel, width, height);
        transform_rows(&mut kernel, height, width, across.as_ref());
        // Rows beyond those of the grid are zero before, and are not needed after.
        transform_rows(&mut charges, width, self.rows, along.as_ref());
        let mut charges = transpose(&charges, width, height);
        transform_rows(&mut charges, height, width, across.as_ref());
        charges.par_iter_mut().zip(&kernel).for_each(|(charge, kernel)| *charge *= kernel.re);
        transform_rows(&mut charges, height, width, back_across.as_ref());
        let mut sums = transpose(&charges, height, width);
        transform_rows(&mut sums, width, self.rows, back_along.as_ref());
        let scale = 1.0 / (width * height) as f64;
        for (values, row) in self.values.chunks_exact_mut(self.columns).zip(sums.chunks_exact(width)) {
            values.iter_mut().zip(row).for_each(|(value, sum)| *value = scale * sum.re);
        }
    }

    /// Interpolates by polynomials of third degree through four by four nodes. Outside of the grid, those at its border are
    /// continued.
    pub fn at(&self, y: [f64; 2]) -> Jet {
        let (column, row, [x, y]) = self.stencil(y);
        // Sums over the rows for each of the four columns: of the values and of their derivatives along y.
        let mut sums = [[0.0; 4]; 3];
        for r in 0..4 {
            let values: &[f64; 4] =
                self.values[(row + r) * self.columns + column..][..4].try_into().expect("four values");
            for (derivative, sums) in sums.iter_mut().enumerate() {
                for c in 0..4 {
                    sums[c] += y[derivative][r] * values[c];
                }
            }
        }
        let sum = |along: usize, across: usize| {
            let (x, sums) = (&x[along], &sums[across]);
            (x[0] * sums[0] + x[1] * sums[1]) + (x[2] * sums[2] + x[3] * sums[3])
        };
        let (slope, curvature) = (1.0 / self.spacing, 1.0 / (self.spacing * self.spacing));
        Jet {
            value: sum(0, 0),
            gradient: [slope * sum(1, 0), slope * sum(0, 1)],
            hessian: [curvature * sum(2, 0), curvature * sum(1, 1), curvature * sum(0, 2)],
        }
    }
}

/// Transforms the first `rows` rows of this width.
fn transform_rows(values: &mut [Complex<f64>], width: usize, rows: usize, fft: &dyn Fft<f64>) {
    values[..width * rows].par_chunks_exact_mut(width).for_each_init(
        || vec![Complex::default(); fft.get_inplace_scratch_len()],
        |scratch, row| fft.process_with_scratch(row, scratch),
    );
}

/// Side of the blocks that are transposed at a time.
const BLOCK: usize = 32;

/// Returns the columns of `height` rows of this width as rows.
fn transpose(values: &[Complex<f64>], width: usize, height: usize) -> Vec<Complex<f64>> {
    let mut out = vec![Complex::default(); values.len()];
    out.par_chunks_mut(BLOCK * height).enumerate().for_each(|(block, out)| {
        let first = block * BLOCK;
        for start in (0..height).step_by(BLOCK) {
            for r in start..(start + BLOCK).min(height) {
                for c in 0..out.len() / height {
                    out[c * height + r] = values[r * width + first + c];
                }
            }
        }
    });
    out
}

/// Returns the smallest number of at least `least` whose prime factors are 2, 3 and 5: transforms of these are fast.
fn smooth_size(least: usize) -> usize {
    let is_smooth = |mut size: usize| {
        for factor in [2, 3, 5] {
            while size.is_multiple_of(factor) {
                size /= factor;
            }
        }
        size == 1
    };
    (least.max(1)..).find(|&size| is_smooth(size)).expect("there are larger powers of two")
}

/// Weights of the values at -1, 0, 1 and 2 in the polynomial through them and in its first two derivatives, at `t`.
#[inline(always)]
fn cubic_weights(t: f64) -> [[f64; 4]; 3] {
    let [a, b, c] = [t + 1.0, t - 1.0, t - 2.0];
    let (sixth, half) = (1.0 / 6.0, 0.5);
    [
        [-sixth * t * b * c, half * a * b * c, -half * a * t * c, sixth * a * t * b],
        [
            -sixth * (t * b + t * c + b * c),
            half * (a * b + a * c + b * c),
            -half * (a * t + a * c + t * c),
            sixth * (a * t + a * b + t * b),
        ],
        [-2.0 * sixth * (t + b + c), 2.0 * half * (a + b + c), -2.0 * half * (a + t + c), 2.0 * sixth * (a + t + b)],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Seed;

    #[test]
    fn the_field_and_its_derivatives_are_those_of_the_sum() {
        let map: Vec<f64> = Seed(1).normals(800).iter().map(|v| 6.0 * v).collect();
        let map = Points::new(&map, 2).unwrap();
        let radials = [
            (Radial::Cauchy { power: 1.0, scale: 1.0 }, 0.05),
            (Radial::Cauchy { power: 2.0, scale: 1.0 }, 0.05),
            (Radial::Gaussian { scale: 1.0 }, 0.05),
            (Radial::LogRatio { a: 1.6, b: 0.9, softening: 0.04 }, 0.1),
        ];
        for (radial, tolerance) in radials {
            let field = GridField::new(map, radial).unwrap();
            for y in [[0.3, -0.4], [5.0, 2.0], [-9.0, 7.7], [1.0, 1.0]] {
                let mut exact = Jet::default();
                (0..400).for_each(|j| exact.add_radial(1.0, radial, y, [map.row(j)[0], map.row(j)[1]]));
                let found = field.at(y);
                let size = exact.value.max(1.0);
                assert!((found.value - exact.value).abs() < 2e-3 * size, "{radial:?} {found:?} {exact:?}");
                for c in 0..2 {
                    assert!((found.gradient[c] - exact.gradient[c]).abs() < 0.02 * size, "{found:?} {exact:?}");
                }
                for c in 0..3 {
                    let error = (found.hessian[c] - exact.hessian[c]).abs();
                    assert!(error < tolerance * size, "{radial:?} {found:?} {exact:?}");
                }
            }
        }
    }

    #[test]
    fn sizes_have_small_factors() {
        assert_eq!([1, 7, 11, 13, 97, 1021].map(smooth_size), [1, 8, 12, 15, 100, 1024]);
    }
}
