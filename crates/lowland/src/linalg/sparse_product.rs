//! Sparse rows times a row-major block: the kernel behind every sparse product here.

use multiversion::multiversion;
use rayon::prelude::*;

/// Rows of a task. Rows do not share sums, so this is only a matter of speed.
const ROWS: usize = 64;

/// `out += A x` for sparse rows `A` and row-major blocks `x` and `out` of `m` columns, in parallel over rows.
pub(super) fn add_sparse_product<T: Copy + Into<f64> + Sync>(
    indptr: &[usize],
    indices: &[u32],
    values: &[T],
    x: &[f64],
    m: usize,
    out: &mut [f64],
) {
    if m == 0 {
        return;
    }
    out.par_chunks_mut(ROWS * m).enumerate().for_each(|(chunk, out)| {
        let first = chunk * ROWS;
        rows_product(&indptr[first..=first + out.len() / m], indices, values, x, m, out);
    });
}

/// Wider registers change no bits: each output is still one sum, in the order of the row's entries.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn rows_product<T: Copy + Into<f64>>(
    indptr: &[usize],
    indices: &[u32],
    values: &[T],
    x: &[f64],
    m: usize,
    out: &mut [f64],
) {
    for (bounds, out) in indptr.windows(2).zip(out.chunks_exact_mut(m)) {
        let (columns, values) = (&indices[bounds[0]..bounds[1]], &values[bounds[0]..bounds[1]]);
        let mut at = 0;
        while at < m {
            at += match m - at {
                16.. => strip::<T, 16>(columns, values, x, m, at, out),
                8..16 => strip::<T, 8>(columns, values, x, m, at, out),
                4..8 => strip::<T, 4>(columns, values, x, m, at, out),
                3 => strip::<T, 3>(columns, values, x, m, at, out),
                2 => strip::<T, 2>(columns, values, x, m, at, out),
                _ => strip::<T, 1>(columns, values, x, m, at, out),
            };
        }
    }
}

/// Adds columns `at..at + W` of one row of the product, summed in registers. Returns `W`.
#[inline(always)]
fn strip<T: Copy + Into<f64>, const W: usize>(
    columns: &[u32],
    values: &[T],
    x: &[f64],
    m: usize,
    at: usize,
    out: &mut [f64],
) -> usize {
    let mut sum = [0.0; W];
    sum.copy_from_slice(&out[at..at + W]);
    for (&j, &v) in columns.iter().zip(values) {
        let start = j as usize * m + at;
        let v: f64 = v.into();
        let row = &x[start..start + W];
        (0..W).for_each(|c| sum[c] += v * row[c]);
    }
    out[at..at + W].copy_from_slice(&sum);
    W
}
