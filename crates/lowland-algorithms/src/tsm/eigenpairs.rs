//! The best low-rank approximation of a symmetric matrix: its eigenpairs of largest magnitude, starting from a basis
//! that was good for a similar matrix.
//!
//! The iteration is that of [`EigenSolver`](lowland_linalg::EigenSolver), which computes one end of the spectrum;
//! here the Ritz values of both ends are kept, whichever are larger.

use lowland_core::Result;
use lowland_linalg::{block, dense};

/// A block of approximate eigenpairs, largest in magnitude first.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct RitzPairs {
    /// The Ritz values.
    pub values: Vec<f64>,
    /// Orthonormal vectors, the columns of a row-major matrix.
    pub vectors: Vec<f64>,
    /// The largest `|Z v - value v|` of the requested pairs, relative to the largest value.
    pub residual: f64,
}

/// Stopping rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct EigenpairOptions {
    /// Number of requested pairs; the other columns of the block only speed up convergence.
    pub requested: usize,
    /// Residual, relative to the largest value, that is accurate enough.
    pub tolerance: f64,
    /// Maximum number of applications after the first.
    pub max_rounds: usize,
}

/// Returns the best block of `width` columns in the span of an orthonormal basis (`columns` of them) with the given
/// image under the matrix, and extends the basis where that is not accurate enough.
pub(super) fn improve_eigenpairs(
    (mut basis, mut image, mut columns): (Vec<f64>, Vec<f64>, usize),
    width: usize,
    options: EigenpairOptions,
    apply: &mut dyn FnMut(&[f64], usize) -> Vec<f64>,
) -> Result<RitzPairs> {
    let n = basis.len() / columns.max(1);
    let mut round = 0;
    loop {
        let (values, rotation) = largest_eigenpairs(&block::gram(&basis, columns, &image, columns), columns, width)?;
        let vectors = block::combine(&basis, columns, &rotation, width);
        let images = block::combine(&image, columns, &rotation, width);
        let residuals = residuals(&vectors, &values, &images, width);
        let lengths: Vec<f64> = block::column_dots(&residuals, &residuals, width).into_iter().map(f64::sqrt).collect();
        let largest = values.first().map_or(0.0, |v| v.abs()).max(f64::MIN_POSITIVE);
        let residual = lengths[..options.requested].iter().fold(0.0f64, |m, r| m.max(r / largest));
        let done = residual <= options.tolerance || round == options.max_rounds;
        // The part of the new block outside the first columns of the basis is a good search direction.
        let (last, last_count) = if round == 0 || done {
            (Vec::new(), 0)
        } else {
            let mut outside = rotation.clone();
            outside[..width * width].fill(0.0);
            block::orthonormalize(outside, width, &rotation, width)?
        };
        let last_image = block::combine(&image, columns, &last, last_count);
        let last = block::combine(&basis, columns, &last, last_count);
        let fixed = block::concat_columns(&[(&vectors, width), (&last, last_count)], n);
        let (added, added_count) =
            if done { (Vec::new(), 0) } else { block::orthonormalize(residuals, width, &fixed, width + last_count)? };
        if added_count == 0 {
            return Ok(RitzPairs { values, vectors, residual });
        }
        let added_image = apply(&added, added_count);
        basis = block::concat_columns(&[(&fixed, width + last_count), (&added, added_count)], n);
        image = block::concat_columns(&[(&images, width), (&last_image, last_count), (&added_image, added_count)], n);
        columns = width + last_count + added_count;
        round += 1;
    }
}

/// `Z v - value v` of every pair.
fn residuals(vectors: &[f64], values: &[f64], images: &[f64], width: usize) -> Vec<f64> {
    let mut out = images.to_vec();
    for (out, x) in out.chunks_exact_mut(width).zip(vectors.chunks_exact(width)) {
        (0..width).for_each(|c| out[c] -= values[c] * x[c]);
    }
    out
}

/// The `keep` eigenpairs of a small symmetric matrix of largest magnitude: values, and vectors as columns.
fn largest_eigenpairs(matrix: &[f64], size: usize, keep: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let (values, vectors) = dense::eigh(matrix, size)?;
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|&a, &b| values[b].abs().total_cmp(&values[a].abs()));
    order.truncate(keep);
    Ok((order.iter().map(|&c| values[c]).collect(), block::select_columns(&vectors, size, &order)))
}
