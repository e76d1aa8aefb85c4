//! `A'A` of centered data: as a matrix, and as an operator that never forms it.

use rayon::prelude::*;

use super::block::{CHUNK, gram, ordered_sum};
use super::sparse_product::{SparseRows, add_sparse_product};
use super::{Csr, SymmetricOperator, dense};
use lowland_core::run::Progress;
use lowland_core::{Data, Dense, Result, Sparse};

/// Number of rows converted to `f64` at once.
pub(super) const TILE: usize = 256;

/// `(A - 1 mean')' (A - 1 mean')`.
#[derive(Debug, Clone)]
pub(super) struct Covariance {
    data: Data,
    mean: Vec<f64>,
    total_squares: f64,
    /// Sparse rows by column, so that `A' y` needs no reduction: one matrix for each [`Self::rows_per_block`] rows,
    /// whose part of `y` stays in the cache.
    transposed: Vec<Csr>,
}

impl Covariance {
    pub(super) fn new(data: &Data, center: bool) -> Result<Self> {
        let mean = column_means(data, center)?;
        let total_squares = sum_of_squares_about(data, &mean)?;
        let mut matrix = Self { data: data.clone(), mean, total_squares, transposed: Vec::new() };
        if let Data::Sparse(x) = data {
            let starts = (0..x.rows()).step_by(matrix.rows_per_block());
            matrix.transposed =
                starts.map(|start| transpose(x, start, matrix.rows_per_block())).collect::<Result<_>>()?;
        }
        Ok(matrix)
    }

    pub(super) fn mean(&self) -> &[f64] {
        &self.mean
    }

    pub(super) fn total_squares(&self) -> f64 {
        self.total_squares
    }

    /// At least the number of columns, so that the row pointers of the blocks take at most one entry per row of the
    /// data.
    fn rows_per_block(&self) -> usize {
        self.dim().max(2048)
    }

    fn apply_dense(&self, x: &Dense, v: &[f64], columns: usize, out: &mut [f64]) {
        // At most 16 parts, each with its own output.
        let rows_per_part = x.rows().div_ceil(16).max(TILE);
        let parts: Vec<Vec<f64>> = (0..x.rows().div_ceil(rows_per_part))
            .into_par_iter()
            .map(|part| {
                let mut sum = vec![0.0; out.len()];
                let mut tile = Vec::new();
                let mut y = vec![0.0; TILE * columns];
                let end = ((part + 1) * rows_per_part).min(x.rows());
                for first in (part * rows_per_part..end).step_by(TILE) {
                    let rows = TILE.min(end - first);
                    centered_tile(x, &self.mean, first, rows, 0, &mut tile);
                    let y = &mut y[..rows * columns];
                    dense::product_nn(&tile, v, x.dim(), y);
                    dense::product_tn_add(&tile, y, rows, &mut sum);
                }
                sum
            })
            .collect();
        out.copy_from_slice(&ordered_sum(parts, out.len()));
    }

    fn apply_sparse(&self, x: &Sparse, v: &[f64], columns: usize, out: &mut [f64]) {
        // y = A v - 1 (mean' v); then A' y - mean (1' y).
        let shift = gram(&self.mean, 1, v, columns);
        let mut y = vec![0.0; x.rows() * columns];
        let rows = SparseRows { indptr: x.indptr(), indices: x.indices(), values: x.values() };
        add_sparse_product(rows, v, columns, &mut y);
        y.par_chunks_mut(CHUNK * columns).for_each(|chunk| {
            for y in chunk.chunks_exact_mut(columns) {
                y.iter_mut().zip(&shift).for_each(|(y, s)| *y -= s);
            }
        });
        let sums = gram(&vec![1.0; x.rows()], 1, &y, columns);
        out.fill(0.0);
        for (block, y) in self.transposed.iter().zip(y.chunks(self.rows_per_block() * columns)) {
            block.multiply_add(y, columns, out);
        }
        for (row, m) in out.chunks_exact_mut(columns).zip(&self.mean) {
            row.iter_mut().zip(&sums).for_each(|(o, s)| *o -= m * s);
        }
    }
}

impl SymmetricOperator for Covariance {
    fn dim(&self) -> usize {
        self.mean.len()
    }

    fn apply(&self, x: &[f64], columns: usize, out: &mut [f64]) {
        match &self.data {
            _ if columns == 0 => {}
            Data::Dense(rows) => self.apply_dense(rows, x, columns, out),
            Data::Sparse(rows) => self.apply_sparse(rows, x, columns, out),
            Data::Text(_) => out.fill(0.0),
        }
    }

    /// The trace, which bounds the largest eigenvalue.
    fn norm(&self) -> f64 {
        self.total_squares
    }
}

/// Writes the rows `first..first + rows` from column `left` on, minus the mean.
fn centered_tile(x: &Dense, mean: &[f64], first: usize, rows: usize, left: usize, tile: &mut Vec<f64>) {
    tile.clear();
    for i in first..first + rows {
        tile.extend(x.row(i)[left..].iter().zip(&mean[left..]).map(|(x, m)| f64::from(*x) - m));
    }
}

/// Returns the covariance matrix, not divided by the number of rows: `dim x dim`, row-major, full.
///
/// Each band of output rows is summed over the data in order by one task, so no two tasks share a sum. A band starts at
/// its diagonal; the rest is copied.
pub(super) fn covariance_matrix(x: &Dense, mean: &[f64], progress: &mut Progress) -> Result<Vec<f64>> {
    const BAND: usize = 64;
    const ROWS_PER_REPORT: usize = 16 * TILE;
    let dim = x.dim();
    let mut bands: Vec<Vec<f64>> =
        (0..dim).step_by(BAND).map(|left| vec![0.0; BAND.min(dim - left) * (dim - left)]).collect();
    for start in (0..x.rows()).step_by(ROWS_PER_REPORT) {
        progress(start as f64 / x.rows() as f64)?;
        let end = (start + ROWS_PER_REPORT).min(x.rows());
        bands.par_iter_mut().enumerate().for_each(|(band, out)| {
            let left = band * BAND;
            let width = BAND.min(dim - left);
            let (mut tile, mut front) = (Vec::new(), Vec::new());
            for first in (start..end).step_by(TILE) {
                let rows = TILE.min(end - first);
                centered_tile(x, mean, first, rows, left, &mut tile);
                if width == dim - left {
                    dense::product_tn_add(&tile, &tile, rows, out);
                    continue;
                }
                front.clear();
                tile.chunks_exact(dim - left).for_each(|row| front.extend_from_slice(&row[..width]));
                dense::product_tn_add(&front, &tile, rows, out);
            }
        });
    }
    let mut matrix = vec![0.0; dim * dim];
    for (band, values) in bands.iter().enumerate() {
        let left = band * BAND;
        for (i, row) in (left..).zip(values.chunks_exact(dim - left)) {
            for (j, &v) in (left..).zip(row) {
                if j >= i {
                    matrix[i * dim + j] = v;
                    matrix[j * dim + i] = v;
                }
            }
        }
    }
    progress(1.0)?;
    Ok(matrix)
}

/// Sums `len` numbers over all rows, always in the same order.
fn sum_over_rows(rows: usize, len: usize, add: impl Fn(usize, &mut [f64]) + Sync) -> Vec<f64> {
    let starts: Vec<usize> = (0..rows).step_by(CHUNK.max(rows.div_ceil(16))).collect();
    let step = starts.get(1).copied().unwrap_or(rows);
    let parts = starts.par_iter().map(|&start| {
        let mut part = vec![0.0; len];
        (start..(start + step).min(rows)).for_each(|i| add(i, &mut part));
        part
    });
    ordered_sum(parts.collect(), len)
}

/// Returns the column means, or zeros unless `center`; an error if a value is not finite.
pub(super) fn column_means(data: &Data, center: bool) -> Result<Vec<f64>> {
    let sums = sum_over_rows(data.rows(), data.dim(), |i, sums| match data {
        Data::Dense(x) => sums.iter_mut().zip(x.row(i)).for_each(|(s, v)| *s += f64::from(*v)),
        Data::Sparse(x) => {
            let (columns, values) = x.row(i);
            columns.iter().zip(values).for_each(|(&j, &v)| sums[j as usize] += f64::from(v));
        }
        Data::Text(_) => {}
    });
    if !sums.iter().all(|s| s.is_finite()) {
        data.check_finite()?;
    }
    Ok(if center { sums.iter().map(|s| s / data.rows() as f64).collect() } else { vec![0.0; data.dim()] })
}

/// Returns the sum of squares about the mean; an error if a value is not finite.
fn sum_of_squares_about(data: &Data, mean: &[f64]) -> Result<f64> {
    let squares_of_mean: f64 = mean.iter().map(|m| m * m).sum();
    let total = sum_over_rows(data.rows(), 1, |i, total| match data {
        Data::Dense(x) => {
            total[0] += x.row(i).iter().zip(mean).map(|(v, m)| (f64::from(*v) - m).powi(2)).sum::<f64>();
        }
        Data::Sparse(x) => {
            // Relative to a row of zeros, only the stored entries change the sum.
            let (columns, values) = x.row(i);
            let change = |j: u32, v: f32| f64::from(v) * (f64::from(v) - 2.0 * mean[j as usize]);
            total[0] += squares_of_mean + columns.iter().zip(values).map(|(&j, &v)| change(j, v)).sum::<f64>();
        }
        Data::Text(_) => {}
    })[0];
    if !total.is_finite() {
        data.check_finite()?;
    }
    Ok(total.max(0.0))
}

/// Returns the transpose of some of the rows.
fn transpose(x: &Sparse, start: usize, rows: usize) -> Result<Csr> {
    let end = (start + rows).min(x.rows());
    let entries = x.indptr()[start]..x.indptr()[end];
    let indptr = x.indptr()[start..=end].iter().map(|at| at - entries.start).collect();
    let values = x.values()[entries.clone()].iter().map(|v| f64::from(*v)).collect();
    Ok(Csr::new(indptr, x.indices()[entries].to_vec(), values, x.dim())?.transpose())
}
