//! Inverses of large symmetric positive definite matrices, in tiles of fixed size, so that results do not depend on the
//! number of threads.

use rayon::prelude::*;

use super::dense;
use lowland_core::Result;

/// Number of columns of a panel: wide enough for fast products, narrow enough to parallelize.
const PANEL: usize = 128;
/// Side length of the tiles in which a matrix is mirrored; a tile fits into the first-level cache.
const TILE: usize = 32;

/// Writes the inverse of a symmetric positive definite row-major `n x n` matrix to `inverse`, and returns the logarithm
/// of the determinant of the matrix. Only the upper triangle of `matrix` is read; its contents are overwritten.
pub fn spd_inverse(matrix: &mut [f64], n: usize, inverse: &mut [f64]) -> Result<f64> {
    if n == 0 {
        return Ok(0.0);
    }
    // Row-major upper is column-major lower: each panel consists of whole columns and is contiguous.
    for first in (0..n).step_by(PANEL) {
        let width = PANEL.min(n - first);
        let (done, rest) = matrix.split_at_mut((first + width) * n);
        let panel = &mut done[first * n..];
        dense::factor_panel(panel, n, first)?;
        let panel = &*panel;
        rest.par_chunks_mut(PANEL * n).enumerate().for_each(|(at, later)| {
            dense::subtract_outer(later, panel, n, first + width + at * PANEL);
        });
    }
    let log_determinant = (0..n).map(|i| 2.0 * matrix[i * n + i].ln()).sum();
    let factor = &*matrix;
    inverse.par_chunks_mut(PANEL * n).enumerate().for_each(|(at, panel)| {
        let first = at * PANEL;
        for (column, values) in panel.chunks_exact_mut(n).enumerate() {
            values[first..].fill(0.0);
            values[first + column] = 1.0;
        }
        dense::solve_panel(&factor[first * n..], n, first, panel);
    });
    mirror_upper_triangle(inverse, n);
    Ok(log_determinant)
}

/// Copies the upper triangle to the lower one.
pub fn mirror_upper_triangle(matrix: &mut [f64], n: usize) {
    for first in (0..n).step_by(TILE) {
        let (above, band) = matrix.split_at_mut(first * n);
        let height = TILE.min(n - first);
        let band = &mut band[..height * n];
        for (at, rows) in above.chunks_exact(TILE * n).enumerate() {
            // Through a buffer, since accessing the matrix by column would miss the cache.
            let mut tile = [[0.0; TILE]; TILE];
            for (line, row) in tile.iter_mut().zip(rows.chunks_exact(n)) {
                line[..height].copy_from_slice(&row[first..first + height]);
            }
            for (j, row) in band.chunks_exact_mut(n).enumerate() {
                row[at * TILE..][..TILE].iter_mut().zip(&tile).for_each(|(out, line)| *out = line[j]);
            }
        }
        for i in 0..height {
            (0..i).for_each(|j| band[i * n + first + j] = band[j * n + first + i]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::{Seed, with_threads};

    fn positive(n: usize) -> Vec<f64> {
        let half = Seed(1).normals(n * n);
        let mut matrix = vec![0.0; n * n];
        dense::product_nt(&half, &half, n, &mut matrix);
        (0..n).for_each(|i| matrix[i * n + i] += 1.0);
        matrix
    }

    #[test]
    fn matrix_times_inverse_is_the_identity() {
        for n in [1, 2, 31, 128, 129, 300] {
            let matrix = positive(n);
            let mut inverse = vec![f64::NAN; n * n];
            let log_determinant = spd_inverse(&mut matrix.clone(), n, &mut inverse).unwrap();
            let mut product = vec![0.0; n * n];
            dense::product_nn(&matrix, &inverse, n, &mut product);
            let off = |at: usize| (product[at] - f64::from(u8::from(at / n == at % n))).abs();
            assert!((0..n * n).map(off).fold(0.0, f64::max) < 1e-9, "{n}");
            let direct = dense::Cholesky::new(&matrix, n).unwrap().log_determinant();
            assert!((log_determinant - direct).abs() < 1e-10 * direct.abs().max(1.0));
        }
        assert!(spd_inverse(&mut [1.0, 2.0, 2.0, 1.0], 2, &mut [0.0; 4]).is_err());
        assert_eq!(spd_inverse(&mut [], 0, &mut []).unwrap(), 0.0);
    }

    #[test]
    fn the_inverse_does_not_depend_on_the_number_of_threads() {
        let n = 400;
        let invert = |threads| {
            let mut inverse = vec![0.0; n * n];
            with_threads(Some(threads), || spd_inverse(&mut positive(n), n, &mut inverse).unwrap()).unwrap();
            inverse
        };
        let first = invert(1);
        assert!([2, 3].into_iter().all(|threads| invert(threads) == first));
    }

    #[test]
    fn the_upper_triangle_is_mirrored() {
        for n in [0, 1, 31, 32, 75, 128] {
            let matrix = Seed(2).normals(n * n);
            let mut out = matrix.clone();
            mirror_upper_triangle(&mut out, n);
            let upper = |at: usize| (at / n.max(1)).min(at % n) * n + (at / n).max(at % n);
            assert!((0..n * n).all(|at| out[at] == matrix[upper(at)]), "{n}");
        }
    }
}
