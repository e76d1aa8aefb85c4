//! Step 3 (Saul 2022, eqs 8 and 9): the coordinates of the map from `L`.

use lowland_core::Result;
use lowland_core::message::SimilarityNote;
use lowland_linalg::{block, dense};

/// The eigenpairs of the Gram matrix of a map, `G = L + tau/(1-tau) u u'` with `u_i = sqrt(max(0, L_ii))`.
#[derive(Debug, Clone, PartialEq)]
pub struct GramEigenpairs {
    /// The eigenvalues in descending order; one more than the map has dimensions.
    pub values: Vec<f64>,
    /// The eigenvectors, the columns of a row-major matrix.
    vectors: Vec<f64>,
    dim: usize,
}

impl GramEigenpairs {
    /// Decomposes the Gram matrix of `L = left right'`, whose right factor is orthonormal. `G` has rank `rank + 1`,
    /// so its eigenvectors lie in the span of the factor and `u`.
    pub fn new(left: &[f64], right: &[f64], rank: usize, tau: f64, dim: usize) -> Result<Self> {
        let u: Vec<f64> = diagonal(left, right, rank).into_iter().map(|v| v.max(0.0).sqrt()).collect();
        let n = u.len();
        let (basis, size) =
            block::orthonormalize(block::concat_columns(&[(right, rank), (&u, 1)], n), rank + 1, &[], 0)?;
        // B' L B + c (B'u)(B'u)'.
        let mut matrix = vec![0.0; size * size];
        let (l, r, u) = (
            block::gram(&basis, size, left, rank),
            block::gram(&basis, size, right, rank),
            block::gram(&basis, size, &u, 1),
        );
        dense::product_nt(&l, &r, rank, &mut matrix);
        let factor = tau / (1.0 - tau);
        (0..size * size).for_each(|at| matrix[at] += factor * u[at / size] * u[at % size]);
        let (values, vectors) = dense::eigh(&matrix, size)?;
        let order: Vec<usize> = (0..size).rev().collect();
        let rotation = block::select_columns(&vectors, size, &order);
        let mut vectors = block::combine(&basis, size, &rotation, size);
        block::fix_signs(&mut vectors, size);
        Ok(Self { values: order.iter().map(|&c| values[c]).collect(), vectors, dim })
    }

    /// Eq 9: `y_i = sqrt(max(0, lambda)) e_i`, for the `dim` largest eigenvalues.
    pub fn coordinates(&self) -> Vec<f64> {
        let size = self.values.len();
        let rows = self.vectors.chunks_exact(size.max(1));
        let scale = |c: usize| self.values.get(c).map_or(0.0, |value| value.max(0.0).sqrt());
        let scales: Vec<f64> = (0..self.dim).map(scale).collect();
        rows.flat_map(|row| scales.iter().enumerate().map(|(c, s)| row.get(c).map_or(0.0, |v| v * s))).collect()
    }

    /// Returns a note about negative eigenvalues, which no map can have: how many coordinates are lost, how negative
    /// they are, and which number of dimensions, at most `most`, to try.
    pub fn negative_eigenvalues(&self, most: usize) -> Option<SimilarityNote> {
        let largest = self.values.first().copied().unwrap_or(0.0);
        let least = self.values.iter().copied().fold(0.0f64, f64::min);
        // Rounding can make zeros slightly negative.
        (least < -1e-6 * largest.abs()).then(|| SimilarityNote::NegativeEigenvalues {
            share: -least / largest.abs().max(f64::MIN_POSITIVE),
            n_components: self.dim,
            positive: self.values.iter().take(self.dim).filter(|v| **v > 0.0).count(),
            suggested: Some(most.min(2 * self.dim)).filter(|&more| more > self.dim),
        })
    }
}

/// The diagonal of `left right'`.
pub(super) fn diagonal(left: &[f64], right: &[f64], rank: usize) -> Vec<f64> {
    let rows = left.chunks_exact(rank).zip(right.chunks_exact(rank));
    rows.map(|(l, r)| l.iter().zip(r).map(|(l, r)| l * r).sum()).collect()
}
