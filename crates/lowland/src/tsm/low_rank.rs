//! The best approximation of a symmetric matrix by one of low rank: the eigenpairs largest in magnitude, from a basis that was
//! good for a similar matrix.
//!
//! The iteration is that of [`EigenSolver`](crate::linalg::EigenSolver), which looks at one end of the spectrum; here the Ritz
//! values of both ends are kept, whichever are larger.

use crate::linalg::{block, dense};
use crate::points::Result;

/// A block of approximate eigenvectors, largest in magnitude first.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Ritz {
    /// Ritz values.
    pub values: Vec<f64>,
    /// Orthonormal vectors, the columns of a row-major matrix.
    pub vectors: Vec<f64>,
    /// `|Z v - value v|` of the pairs wanted, the largest, relative to the largest value.
    pub residual: f64,
    /// Times the matrix was applied to a block.
    pub applied: usize,
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

/// Improves the orthonormal block `x` (`width` columns), of which the image under the matrix is `image`.
pub(super) fn improve(
    x: Vec<f64>,
    image: Vec<f64>,
    width: usize,
    effort: Effort,
    apply: &mut dyn FnMut(&[f64], usize) -> Vec<f64>,
) -> Result<Ritz> {
    let n = x.len() / width.max(1);
    let (values, turn) = by_magnitude(&block::gram(&x, width, &image, width), width, width)?;
    let mut ritz = Ritz { values, vectors: block::combine(&x, width, &turn, width), residual: 0.0, applied: 1 };
    let mut image = block::combine(&image, width, &turn, width);
    let (mut last, mut last_image, mut lasts) = (Vec::new(), Vec::new(), 0);
    for round in 0..=effort.rounds {
        let residuals = residuals(&ritz, &image, width);
        let lengths: Vec<f64> = block::column_dots(&residuals, &residuals, width).into_iter().map(f64::sqrt).collect();
        let largest = ritz.values[0].abs().max(f64::MIN_POSITIVE);
        ritz.residual = lengths[..effort.wanted].iter().fold(0.0f64, |m, r| m.max(r / largest));
        if ritz.residual <= effort.tolerance || round == effort.rounds {
            break;
        }
        let open: Vec<usize> = (0..width).filter(|&c| lengths[c] > effort.tolerance * largest).collect();
        let fixed = block::beside(&[(&ritz.vectors, width), (&last, lasts)], n);
        let w = block::select_columns(&residuals, width, &open);
        let (w, count) = block::orthonormal(w, open.len(), &fixed, width + lasts)?;
        if count == 0 {
            break;
        }
        let w_image = apply(&w, count);
        ritz.applied += 1;
        let size = width + lasts + count;
        let basis = block::beside(&[(&ritz.vectors, width), (&last, lasts), (&w, count)], n);
        let images = block::beside(&[(&image, width), (&last_image, lasts), (&w_image, count)], n);
        let (values, turn) = by_magnitude(&block::gram(&basis, size, &images, size), size, width)?;
        // What of the new block lies outside the old one is the next direction to look along.
        let mut outside = turn.clone();
        outside[..width * width].fill(0.0);
        let (outside, count) = block::orthonormal(outside, width, &turn, width)?;
        (last, last_image, lasts) =
            (block::combine(&basis, size, &outside, count), block::combine(&images, size, &outside, count), count);
        ritz.values = values;
        ritz.vectors = block::combine(&basis, size, &turn, width);
        image = block::combine(&images, size, &turn, width);
    }
    Ok(ritz)
}

fn residuals(ritz: &Ritz, image: &[f64], width: usize) -> Vec<f64> {
    let mut out = image.to_vec();
    for (out, x) in out.chunks_exact_mut(width).zip(ritz.vectors.chunks_exact(width)) {
        (0..width).for_each(|c| out[c] -= ritz.values[c] * x[c]);
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
