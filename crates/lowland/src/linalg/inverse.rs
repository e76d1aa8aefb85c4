//! Inverses of large symmetric positive definite matrices, in tiles of fixed size: the same bytes for any number of threads.

use rayon::prelude::*;

use super::dense;
use crate::points::Result;

/// Columns of a panel: wide enough for products at full speed, narrow enough to share the work out.
const PANEL: usize = 128;
/// Side of the tiles in which a matrix is mirrored: two of them fit into the first cache.
const TILE: usize = 32;

/// Writes the inverse of a symmetric positive definite row-major `n x n` matrix to `inverse`, and returns the logarithm
/// of the determinant of the matrix. Only the upper triangle of `matrix` is read; what is left in it is of no use.
pub fn spd_inverse(matrix: &mut [f64], n: usize, inverse: &mut [f64]) -> Result<f64> {
    if n == 0 {
        return Ok(0.0);
    }
    // Row-major upper is column-major lower: each panel is some whole columns, and lies in one piece.
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
    mirror(inverse, n);
    Ok(log_determinant)
}

/// Copies what is above the diagonal below it.
pub fn mirror(matrix: &mut [f64], n: usize) {
    each_pair(matrix, n, |upper, lower| *lower = *upper);
}

/// The transpose, in place.
pub fn transpose(matrix: &mut [f64], n: usize) {
    each_pair(matrix, n, std::mem::swap);
}

/// The matrix plus its transpose, in place.
pub fn add_transpose(matrix: &mut [f64], n: usize) {
    (0..n).for_each(|i| matrix[i * n + i] *= 2.0);
    each_pair(matrix, n, |upper, lower| {
        *upper += *lower;
        *lower = *upper;
    });
}

/// Hands every element above the diagonal, with its mirror image, to `work`.
fn each_pair(matrix: &mut [f64], n: usize, work: impl Fn(&mut f64, &mut f64) + Sync) {
    let sides = n.div_ceil(TILE);
    let mut tiles: Vec<Vec<&mut [f64]>> = (0..sides * sides).map(|_| Vec::with_capacity(TILE)).collect();
    for (i, row) in matrix.chunks_exact_mut(n.max(1)).enumerate() {
        for (at, part) in row.chunks_mut(TILE).enumerate() {
            tiles[i / TILE * sides + at].push(part);
        }
    }
    let mut pairs = Vec::with_capacity(sides * (sides + 1) / 2);
    for at in 0..sides {
        for other in at..sides {
            let lower = if other > at { std::mem::take(&mut tiles[other * sides + at]) } else { Vec::new() };
            pairs.push((std::mem::take(&mut tiles[at * sides + other]), lower));
        }
    }
    pairs.par_iter_mut().with_min_len(16).for_each(|(upper, lower)| {
        if lower.is_empty() {
            for i in 0..upper.len() {
                let (above, below) = upper.split_at_mut(i + 1);
                below.iter_mut().enumerate().for_each(|(j, row)| work(&mut above[i][i + 1 + j], &mut row[i]));
            }
        } else {
            for (i, row) in upper.iter_mut().enumerate() {
                row.iter_mut().zip(lower.iter_mut()).for_each(|(value, column)| work(value, &mut column[i]));
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Seed, with_threads};

    fn positive(n: usize) -> Vec<f64> {
        let half = Seed(1).normals(n * n);
        let mut matrix = vec![0.0; n * n];
        dense::product_nt(&half, &half, n, &mut matrix);
        (0..n).for_each(|i| matrix[i * n + i] += 1.0);
        matrix
    }

    #[test]
    fn an_inverse_times_its_matrix_is_one() {
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
    fn an_inverse_does_not_depend_on_the_threads() {
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
    fn tiles_are_mirrored_transposed_and_added() {
        let n = 75;
        let matrix = Seed(2).normals(n * n);
        let check = |change: fn(&mut [f64], usize), expected: &dyn Fn(f64, f64, bool) -> f64| {
            let mut out = matrix.clone();
            change(&mut out, n);
            for i in 0..n {
                for j in 0..n {
                    assert_eq!(out[i * n + j], expected(matrix[i * n + j], matrix[j * n + i], j >= i));
                }
            }
        };
        check(mirror, &|here, there, upper| if upper { here } else { there });
        check(transpose, &|_, there, _| there);
        check(add_transpose, &|here, there, _| here + there);
    }
}
