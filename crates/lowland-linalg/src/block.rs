//! Tall row-major blocks, `n x m` with few columns: inner products, linear combinations, orthonormal bases.

use rayon::prelude::*;

use super::dense;
use lowland_core::Result;
use lowland_core::simd::simd_dispatch;

/// Number of rows of a chunk. Fixed, because the order of summation depends on it.
pub const CHUNK: usize = 1024;

/// Number of entries of a chunk when several vectors are processed: long enough for sequential reads, short enough to
/// stay in the cache for the next vector. Fixed, as above.
const VECTOR_CHUNK: usize = 8192;

/// Returns `a' b` (ma x mb, row-major) for two blocks with the same number of rows.
pub fn gram(a: &[f64], ma: usize, b: &[f64], mb: usize) -> Vec<f64> {
    if ma == 0 || mb == 0 {
        return Vec::new();
    }
    let parts: Vec<Vec<f64>> = a
        .par_chunks(CHUNK * ma)
        .zip(b.par_chunks(CHUNK * mb))
        .map(|(a, b)| {
            let mut part = vec![0.0; ma * mb];
            dense::product_tn_add(a, b, a.len() / ma, &mut part);
            part
        })
        .collect();
    ordered_sum(parts, ma * mb)
}

/// Adds vectors of equal length in order.
pub(crate) fn ordered_sum(parts: Vec<Vec<f64>>, len: usize) -> Vec<f64> {
    parts.into_iter().fold(vec![0.0; len], |mut total, part| {
        total.iter_mut().zip(part).for_each(|(t, p)| *t += p);
        total
    })
}

/// Returns the inner product of each column of `a` with the same column of `b`.
pub fn column_dots(a: &[f64], b: &[f64], columns: usize) -> Vec<f64> {
    let parts = a.par_chunks(CHUNK * columns.max(1)).zip(b.par_chunks(CHUNK * columns.max(1)));
    column_sums(parts.map(|(a, b)| add_products(a, b, vec![0.0; accumulator_count(columns)])).collect(), columns)
}

/// Returns the inner product of two vectors.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    dot_products(&[a], &[b])[0]
}

/// Returns the inner products of the vectors `a` with the vectors `b` (row-major), reading each of `a` once. The bits
/// of a product depend only on its two vectors.
pub fn dot_products<T: Copy + Into<f64> + Sync>(a: &[&[T]], b: &[&[f64]]) -> Vec<f64> {
    let len = a.first().map_or(0, |a| a.len());
    let parts = (0..len.div_ceil(VECTOR_CHUNK)).into_par_iter().map(|run| {
        let range = run * VECTOR_CHUNK..len.min((run + 1) * VECTOR_CHUNK);
        a.iter().flat_map(|a| b.iter().map(|b| dot_part(&a[range.clone()], &b[range.clone()]))).collect()
    });
    ordered_sum(parts.collect(), a.len() * b.len())
}

#[simd_dispatch]
fn dot_part<T: Copy + Into<f64>>(a: &[T], b: &[f64]) -> f64 {
    // Many partial sums, since each addition to a single sum would wait for the previous one.
    const WIDTH: usize = 32;
    let mut sums = [0.0; WIDTH];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<WIDTH>(), b.as_chunks::<WIDTH>());
    for (a, b) in a.iter().zip(b) {
        for l in 0..WIDTH {
            sums[l] += a[l].into() * b[l];
        }
    }
    for (sum, (a, b)) in sums.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *sum += (*a).into() * b;
    }
    sums.iter().sum()
}

/// Computes `out += sum_k factors_k vectors_k`, in this order.
pub fn add_linear_combination<T: Copy + Into<f64> + Sync>(vectors: &[&[T]], factors: &[f64], out: &mut [f64]) {
    out.par_chunks_mut(VECTOR_CHUNK).enumerate().for_each(|(run, out)| {
        let (start, len) = (run * VECTOR_CHUNK, out.len());
        let ((fours, rest), (factors, rest_factors)) = (vectors.as_chunks::<4>(), factors.as_chunks::<4>());
        for (vectors, factors) in fours.iter().zip(factors) {
            add_multiples(vectors.map(|vector| &vector[start..][..len]), *factors, out);
        }
        for (vector, &factor) in rest.iter().zip(rest_factors) {
            add_multiples([&vector[start..][..len]], [factor], out);
        }
    });
}

#[simd_dispatch]
fn add_multiples<T: Copy + Into<f64>, const K: usize>(vectors: [&[T]; K], factors: [f64; K], out: &mut [f64]) {
    for at in 0..out.len() {
        for k in 0..K {
            out[at] += factors[k] * vectors[k][at].into();
        }
    }
}

/// Returns the mean of each column.
pub fn column_means(a: &[f64], columns: usize) -> Vec<f64> {
    let parts =
        a.par_chunks(CHUNK * columns.max(1)).map(|a| add_values(a, vec![0.0; accumulator_count(columns)])).collect();
    let rows = (a.len() / columns.max(1)).max(1) as f64;
    column_sums(parts, columns).into_iter().map(|sum| sum / rows).collect()
}

/// Number of partial sums, from several rows if there are few columns, since each addition to a single sum would wait
/// for the previous one.
fn accumulator_count(columns: usize) -> usize {
    columns * (32 / columns.max(1)).max(1)
}

/// Reduces partial sums over several rows to the sums of the columns.
fn column_sums(parts: Vec<Vec<f64>>, columns: usize) -> Vec<f64> {
    let mut sums = vec![0.0; columns];
    for row in ordered_sum(parts, accumulator_count(columns)).chunks_exact(columns.max(1)) {
        sums.iter_mut().zip(row).for_each(|(sum, v)| *sum += v);
    }
    sums
}

#[simd_dispatch]
fn add_products(a: &[f64], b: &[f64], mut sums: Vec<f64>) -> Vec<f64> {
    for (a, b) in a.chunks(sums.len().max(1)).zip(b.chunks(sums.len().max(1))) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums
}

#[simd_dispatch]
fn add_values(a: &[f64], mut sums: Vec<f64>) -> Vec<f64> {
    for a in a.chunks(sums.len().max(1)) {
        sums.iter_mut().zip(a).for_each(|(sum, a)| *sum += a);
    }
    sums
}

/// Returns `a c` (n x mc) for a block `a` (n x ma) and a small matrix `c` (ma x mc).
pub fn combine(a: &[f64], ma: usize, c: &[f64], mc: usize) -> Vec<f64> {
    if ma == 0 || mc == 0 {
        return Vec::new();
    }
    let mut out = vec![0.0; a.len() / ma * mc];
    out.par_chunks_mut(CHUNK * mc).zip(a.par_chunks(CHUNK * ma)).for_each(|(out, a)| dense::product_nn(a, c, ma, out));
    out
}

/// Removes from each column of `w` (n x mw) its projection onto the span of an orthonormal `basis` (n x mb).
pub(crate) fn project_out(w: &mut [f64], mw: usize, basis: &[f64], mb: usize) {
    if mw == 0 || mb == 0 {
        return;
    }
    let coefficients = gram(basis, mb, w, mw);
    w.par_chunks_mut(CHUNK * mw)
        .zip(basis.par_chunks(CHUNK * mb))
        .for_each(|(w, basis)| dense::product_nn_subtract(basis, &coefficients, mb, w));
}

/// Concatenates blocks horizontally.
pub fn concat_columns(blocks: &[(&[f64], usize)], rows: usize) -> Vec<f64> {
    let width: usize = blocks.iter().map(|block| block.1).sum();
    let mut out = vec![0.0; rows * width];
    if width == 0 {
        return out;
    }
    out.par_chunks_mut(width).enumerate().with_min_len(CHUNK).for_each(|(i, row)| {
        let mut at = 0;
        for (values, columns) in blocks {
            row[at..at + columns].copy_from_slice(&values[i * columns..(i + 1) * columns]);
            at += columns;
        }
    });
    out
}

/// Returns the columns `which`, in this order.
pub fn select_columns(a: &[f64], ma: usize, which: &[usize]) -> Vec<f64> {
    if ma == 0 {
        return Vec::new();
    }
    a.chunks_exact(ma).flat_map(|row| which.iter().map(|&c| row[c])).collect()
}

/// Returns an orthonormal basis of the columns of `w` (n x m) orthogonal to the orthonormal `fixed` (n x mf), and its
/// number of columns. Directions that are, up to rounding, in the span of the others are dropped.
///
/// Two rounds of projection and SVQB (Stathopoulos and Wu, 2002): columns are scaled to unit length, then multiplied by
/// the inverse square root of their Gram matrix, whose tiny eigenvalues indicate the directions to drop.
pub fn orthonormalize(mut w: Vec<f64>, mut m: usize, fixed: &[f64], mf: usize) -> Result<(Vec<f64>, usize)> {
    const NOTHING_LEFT: f64 = 1e-12;
    for _ in 0..2 {
        (w, m) = scale_columns(w, m, 0.0);
        project_out(&mut w, m, fixed, mf);
        (w, m) = scale_columns(w, m, NOTHING_LEFT);
        if m == 0 {
            break;
        }
        let (values, vectors) = dense::eigh(&gram(&w, m, &w, m), m)?;
        let keep: Vec<usize> = (0..m).filter(|&k| values[k] > NOTHING_LEFT * values[m - 1]).collect();
        let mut rotation = select_columns(&vectors, m, &keep);
        for row in rotation.chunks_exact_mut(keep.len()) {
            row.iter_mut().zip(&keep).for_each(|(r, &k)| *r /= values[k].sqrt());
        }
        w = combine(&w, m, &rotation, keep.len());
        m = keep.len();
    }
    Ok((w, m))
}

/// Scales columns to unit length; drops those not longer than `least` (or not finite).
fn scale_columns(w: Vec<f64>, m: usize, least: f64) -> (Vec<f64>, usize) {
    // Scaled by the largest entry first, since the squares of tiny and huge columns would leave the range.
    let largest = w.chunks_exact(m.max(1)).fold(vec![0.0f64; m], |mut top, row| {
        top.iter_mut().zip(row).for_each(|(t, v)| *t = if v.is_finite() { t.max(v.abs()) } else { f64::INFINITY });
        top
    });
    let keep: Vec<usize> = (0..m).filter(|&c| largest[c] > 0.0 && largest[c].is_finite()).collect();
    let mut w = if keep.len() == m { w } else { select_columns(&w, m, &keep) };
    let factors: Vec<f64> = keep.iter().map(|&c| 1.0 / largest[c]).collect();
    multiply_columns(&mut w, &factors);
    let norms: Vec<f64> = column_dots(&w, &w, keep.len()).into_iter().map(f64::sqrt).collect();
    let long: Vec<usize> = (0..keep.len()).filter(|&c| norms[c] * largest[keep[c]] > least).collect();
    let factors: Vec<f64> = long.iter().map(|&c| 1.0 / norms[c]).collect();
    let mut w = if long.len() == keep.len() { w } else { select_columns(&w, keep.len(), &long) };
    multiply_columns(&mut w, &factors);
    (w, long.len())
}

/// Multiplies each column by its factor.
pub fn multiply_columns(w: &mut [f64], factors: &[f64]) {
    if factors.is_empty() {
        return;
    }
    w.par_chunks_mut(CHUNK * factors.len()).for_each(|chunk| {
        for row in chunk.chunks_exact_mut(factors.len()) {
            row.iter_mut().zip(factors).for_each(|(w, f)| *w *= f);
        }
    });
}

/// Flips the sign of each column so that its largest entry (the first of several nearly as large) is positive.
pub fn fix_signs(block: &mut [f64], columns: usize) {
    // The margin keeps the choice stable if a symmetric vector attains its maximum at several positions.
    const NEARLY: f64 = 1.0 - 1e-6;
    for c in 0..columns {
        let column = || block.iter().skip(c).step_by(columns);
        let largest = column().fold(0.0f64, |m, v| m.max(v.abs()));
        if column().find(|v| v.abs() >= NEARLY * largest).is_some_and(|v| *v < 0.0) {
            block.iter_mut().skip(c).step_by(columns).for_each(|v| *v = -*v);
        }
    }
}

#[cfg(test)]
mod tests;
