//! The best approximation of a symmetric matrix by one of low rank: the eigenpairs largest in magnitude, from a basis that was
//! good for a similar matrix.
//!
//! The iteration is that of [`EigenSolver`](lowland_linalg::EigenSolver), which looks at one end of the spectrum; here the Ritz
//! values of both ends are kept, whichever are larger.

use lowland_core::Result;
use lowland_linalg::{block, dense};

/// A block of approximate eigenvectors, largest in magnitude first.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Ritz {
    /// Ritz values.
    pub values: Vec<f64>,
    /// Orthonormal vectors, the columns of a row-major matrix.
    pub vectors: Vec<f64>,
    /// `|Z v - value v|` of the pairs wanted, the largest, relative to the largest value.
    pub residual: f64,
}

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// Pairs wanted; the other columns of the block only help.
    pub wanted: usize,
    /// Residual, relative to the largest value, that is good enough.
    pub tolerance: f64,
    /// Applications beyond the first, at most.
    pub rounds: usize,
}

/// The best block of `width` columns in the span of an orthonormal basis (`columns` of them), of which the image under the
/// matrix is `image`, and in more directions where that is not good enough.
pub(super) fn improve(
    (mut basis, mut image, mut columns): (Vec<f64>, Vec<f64>, usize),
    width: usize,
    effort: Effort,
    apply: &mut dyn FnMut(&[f64], usize) -> Vec<f64>,
) -> Result<Ritz> {
    let n = basis.len() / columns.max(1);
    let mut round = 0;
    loop {
        let (values, turn) = by_magnitude(&block::gram(&basis, columns, &image, columns), columns, width)?;
        let vectors = block::combine(&basis, columns, &turn, width);
        let images = block::combine(&image, columns, &turn, width);
        let residuals = residuals(&vectors, &values, &images, width);
        let lengths: Vec<f64> = block::column_dots(&residuals, &residuals, width).into_iter().map(f64::sqrt).collect();
        let largest = values.first().map_or(0.0, |v| v.abs()).max(f64::MIN_POSITIVE);
        let residual = lengths[..effort.wanted].iter().fold(0.0f64, |m, r| m.max(r / largest));
        let done = residual <= effort.tolerance || round == effort.rounds;
        // What of the new block was not in the first columns of the basis is a direction that was worth going.
        let (last, lasts) = if round == 0 || done {
            (Vec::new(), 0)
        } else {
            let mut outside = turn.clone();
            outside[..width * width].fill(0.0);
            block::orthonormalize(outside, width, &turn, width)?
        };
        let last_image = block::combine(&image, columns, &last, lasts);
        let last = block::combine(&basis, columns, &last, lasts);
        let fixed = block::concat_columns(&[(&vectors, width), (&last, lasts)], n);
        let (next, count) =
            if done { (Vec::new(), 0) } else { block::orthonormalize(residuals, width, &fixed, width + lasts)? };
        if count == 0 {
            return Ok(Ritz { values, vectors, residual });
        }
        let next_image = apply(&next, count);
        basis = block::concat_columns(&[(&fixed, width + lasts), (&next, count)], n);
        image = block::concat_columns(&[(&images, width), (&last_image, lasts), (&next_image, count)], n);
        columns = width + lasts + count;
        round += 1;
    }
}

fn residuals(vectors: &[f64], values: &[f64], images: &[f64], width: usize) -> Vec<f64> {
    let mut out = images.to_vec();
    for (out, x) in out.chunks_exact_mut(width).zip(vectors.chunks_exact(width)) {
        (0..width).for_each(|c| out[c] -= values[c] * x[c]);
    }
    out
}

/// The `keep` eigenpairs of a small symmetric matrix largest in magnitude: values, and vectors as columns.
pub(super) fn by_magnitude(matrix: &[f64], size: usize, keep: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let (values, vectors) = dense::eigh(matrix, size)?;
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by(|&a, &b| values[b].abs().total_cmp(&values[a].abs()));
    order.truncate(keep);
    Ok((order.iter().map(|&c| values[c]).collect(), block::select_columns(&vectors, size, &order)))
}
