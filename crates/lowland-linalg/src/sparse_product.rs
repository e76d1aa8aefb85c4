//! Product of sparse rows and a row-major block: the kernel of every sparse product.

use lowland_core::simd::simd_dispatch;
use rayon::prelude::*;

/// Number of rows of a task. Rows do not share sums, so this affects only the speed.
const ROWS: usize = 64;

/// Sparse rows, stored as their columns and values.
#[derive(Clone, Copy)]
pub(super) struct SparseRows<'a, T> {
    /// Start of each row in the arrays; one entry more than there are rows.
    pub indptr: &'a [usize],
    /// Columns of all entries.
    pub indices: &'a [u32],
    /// Values of all entries.
    pub values: &'a [T],
}

/// Computes `out += A x` for sparse rows `A` and row-major blocks `x` and `out` of `m` columns, in parallel over rows.
pub(super) fn add_sparse_product<T: Copy + Into<f64> + Sync>(
    rows: SparseRows<T>,
    x: &[f64],
    m: usize,
    out: &mut [f64],
) {
    if m == 0 {
        return;
    }
    out.par_chunks_mut(ROWS * m).enumerate().for_each(|(chunk, out)| {
        let first = chunk * ROWS;
        let indptr = &rows.indptr[first..=first + out.len() / m];
        rows_product(SparseRows { indptr, ..rows }, x, m, out);
    });
}

/// The width of the registers does not change the bits, since the order of each sum is fixed by the entries of the row.
#[simd_dispatch]
fn rows_product<T: Copy + Into<f64>>(rows: SparseRows<T>, x: &[f64], m: usize, out: &mut [f64]) {
    let SparseRows { indptr, indices, values } = rows;
    for (bounds, out) in indptr.windows(2).zip(out.chunks_exact_mut(m)) {
        let (columns, values) = (&indices[bounds[0]..bounds[1]], &values[bounds[0]..bounds[1]]);
        let mut at = 0;
        while at < m {
            at += match m - at {
                16.. => strip::<T, 16, 16>(columns, values, x, m, at, out),
                8..16 => strip::<T, 8, 8>(columns, values, x, m, at, out),
                4..8 => strip::<T, 4, 4>(columns, values, x, m, at, out),
                3 => strip::<T, 3, 4>(columns, values, x, m, at, out),
                2 => strip::<T, 2, 2>(columns, values, x, m, at, out),
                _ => strip::<T, 1, 1>(columns, values, x, m, at, out),
            };
        }
    }
}

/// Adds columns `at..at + W` of one row of the product, summed in registers `L` wide. Returns `W`.
#[inline(always)]
fn strip<T: Copy + Into<f64>, const W: usize, const L: usize>(
    columns: &[u32],
    values: &[T],
    x: &[f64],
    m: usize,
    at: usize,
    out: &mut [f64],
) -> usize {
    // As many partial sums as registers allow, since each addition to a single sum would wait for the previous one.
    // Loops instead of closures, which might not be inlined and would then not use wide registers.
    let mut sums = [[0.0; L]; 4];
    let several = if W > 8 { 2 } else { 4 };
    let (fours, rest) = columns.as_chunks::<4>();
    let (values_of_fours, values_of_rest) = values.as_chunks::<4>();
    for (columns, values) in fours.iter().zip(values_of_fours) {
        for e in 0..4 {
            let (row, v): (_, f64) = (lanes::<W, L>(x, columns[e] as usize * m + at), values[e].into());
            for c in 0..L {
                sums[e % several][c] += v * row[c];
            }
        }
    }
    for (&j, &v) in rest.iter().zip(values_of_rest) {
        let (row, v): (_, f64) = (lanes::<W, L>(x, j as usize * m + at), v.into());
        for c in 0..L {
            sums[0][c] += v * row[c];
        }
    }
    let out = &mut out[at..at + W];
    for c in 0..W {
        out[c] += (sums[0][c] + sums[1][c]) + (sums[2][c] + sums[3][c]);
    }
    W
}

/// Returns `L` values from `at` on, of which `W` are needed: three are read as four at once, except at the end of `x`.
#[inline(always)]
fn lanes<const W: usize, const L: usize>(x: &[f64], at: usize) -> [f64; L] {
    if let Some(&whole) = x[at..].first_chunk::<L>() {
        return whole;
    }
    let mut some = [0.0; L];
    some[..W].copy_from_slice(&x[at..][..W]);
    some
}
