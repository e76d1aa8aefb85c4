//! The weights that express a row by its neighbors (eq 14).

use crate::dense_rows::copy_dense_row;
use lowland_core::Data;
use lowland_linalg::dense::{Cholesky, power_of_two_near, product_nt};

/// How weights are penalized.
#[derive(Clone, Copy)]
pub(super) enum RidgePenalty {
    /// Equally for all neighbors (eq 14).
    Uniform,
    /// In proportion to the neighbor's distance relative to the mean distance, for new rows. A row of the training data is
    /// its own nearest neighbor, at distance zero. With a uniform penalty it would share its weight with the other
    /// neighbors (by `epsilon` times as much, more for similar ones) and be placed beside its own position; without a
    /// penalty on itself, it gets its own position, and rows near it positions near it.
    ByDistance,
}

impl RidgePenalty {
    /// The penalty of each neighbor's weight, about `ridge`. It is never zero: the weights of several neighbors in
    /// the same direction, all without penalty, would be undetermined.
    pub(super) fn costs(self, ridge: f64, neighbors: &[(u32, f32)]) -> Vec<f64> {
        let mean = neighbors.iter().map(|entry| f64::from(entry.1)).sum::<f64>() / neighbors.len() as f64;
        let cost = |distance: f64| match self {
            RidgePenalty::ByDistance if mean > 0.0 => (ridge * distance / mean).max(ridge.min(MIN_COST)),
            _ => ridge,
        };
        neighbors.iter().map(|entry| cost(f64::from(entry.1))).collect()
    }
}

/// Above the rounding errors of single precision.
const MIN_COST: f64 = 1e-6;

/// Up to this many values of a row and its neighbors, inner products use double precision; beyond, single precision,
/// whose rounding errors are a hundredth of the ridge.
pub(super) const MAX_DOUBLE_LEN: usize = 1 << 12;

/// Computes the weights of one row, with buffers reused between rows.
#[derive(Default)]
pub(super) struct WeightSolver {
    rows: Vec<f32>,
    double: Vec<f64>,
    single_gram: Vec<f32>,
    gram: Vec<f64>,
}

impl WeightSolver {
    /// `argmin_w |x - sum_j w_j x_j|^2 + sum_j cost_j |x_j|^2 w_j^2`; for weights of sum one, the cost is relative
    /// to the sum of all `|x - x_j|^2`.
    pub(super) fn solve(
        &mut self,
        affine: bool,
        new: &Data,
        i: usize,
        data: &Data,
        neighbors: &[u32],
        costs: &[f64],
    ) -> Vec<f64> {
        let (k, dim) = (neighbors.len(), data.dim());
        if k == 0 || dim == 0 {
            return vec![0.0; k];
        }
        // The row itself is last.
        self.rows.clear();
        self.rows.resize((k + 1) * dim, 0.0);
        for (at, &j) in neighbors.iter().enumerate() {
            copy_dense_row(data, j as usize, &mut self.rows[at * dim..(at + 1) * dim]);
        }
        copy_dense_row(new, i, &mut self.rows[k * dim..]);
        let size = k + 1;
        self.gram.resize(size * size, 0.0);
        self.multiply(affine, dim);
        let mut matrix: Vec<f64> = (0..k * k).map(|at| self.gram[at / k * size + at % k]).collect();
        if affine {
            return affine_weights(matrix, costs);
        }
        let mut right: Vec<f64> = (0..k).map(|j| self.gram[k * size + j]).collect();
        let mean = (0..k).map(|j| matrix[j * k + j]).sum::<f64>() / k as f64;
        // Neighbors that are zero leave a zero on the diagonal.
        let floor = f64::EPSILON * mean + f64::MIN_POSITIVE.sqrt();
        (0..k).for_each(|j| matrix[j * k + j] += costs[j] * matrix[j * k + j] + floor);
        // A ridge below the rounding errors of the products is not enough: it is increased until the factorization
        // succeeds.
        for more in [0.0, 1e-5, 1e-3, 0.1] {
            (0..k).for_each(|j| matrix[j * k + j] *= 1.0 + more);
            if let Ok(factor) = Cholesky::new(&matrix, k) {
                factor.solve(&mut right, 1);
                break;
            }
        }
        right
    }

    /// Inner products of the rows, or of their differences to the last one, scaled to a unit of about their size.
    fn multiply(&mut self, affine: bool, dim: usize) {
        let largest = self.rows.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        let unit = power_of_two_near(f64::from(largest));
        if self.rows.len() <= MAX_DOUBLE_LEN {
            self.double.clear();
            self.double.extend(self.rows.iter().map(|&v| f64::from(v) / unit));
            if affine {
                subtract_from_last(&mut self.double, dim);
            }
            product_nt(&self.double, &self.double, dim, &mut self.gram);
        } else {
            // A power of two, so that nothing is rounded; its inverse can be too large for `f32`.
            self.rows.iter_mut().for_each(|v| *v = (f64::from(*v) / unit) as f32);
            if affine {
                subtract_from_last(&mut self.rows, dim);
            }
            self.single_gram.resize(self.gram.len(), 0.0);
            product_nt(&self.rows, &self.rows, dim, &mut self.single_gram);
            self.gram.iter_mut().zip(&self.single_gram).for_each(|(out, &v)| *out = f64::from(v));
        }
    }
}

/// Replaces every row but the last by the last row minus it.
fn subtract_from_last<T: Copy + std::ops::Sub<Output = T>>(rows: &mut [T], dim: usize) {
    let (others, last) = rows.split_at_mut(rows.len() - dim);
    others.chunks_exact_mut(dim).for_each(|row| row.iter_mut().zip(&*last).for_each(|(v, &x)| *v = x - *v));
}

/// Returns the weights of sum one that best express a row by its neighbors, from the inner products of the
/// differences to them, with a penalty relative to the sum of the squared differences.
pub(crate) fn affine_weights(mut gram: Vec<f64>, costs: &[f64]) -> Vec<f64> {
    let k = costs.len();
    let trace: f64 = (0..k).map(|i| gram[i * k + i]).sum();
    let floor = f64::EPSILON * trace + f64::MIN_POSITIVE.sqrt();
    (0..k).for_each(|i| gram[i * k + i] += costs[i] * trace + floor);
    let mut weights = vec![1.0; k];
    if let Ok(factor) = Cholesky::new(&gram, k) {
        factor.solve(&mut weights, 1);
    }
    let total: f64 = weights.iter().sum();
    weights.iter().map(|w| w / total).collect()
}
