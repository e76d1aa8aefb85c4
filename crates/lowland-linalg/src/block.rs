//! Tall row-major blocks, `n x m` with few columns: inner products, combinations, orthonormal bases.

use rayon::prelude::*;

use super::dense;
use lowland_core::Result;
use lowland_core::simd::simd_dispatch;

/// Rows handled at once. Fixed, because the order of a sum depends on it.
pub const CHUNK: usize = 1024;

/// Numbers of a vector handled at once where there are several vectors: so many that memory is read in long runs, so few
/// that they are at hand again for the next vector. Fixed, as above.
const RUN: usize = 8192;

/// `a' b` (ma x mb, row-major) of two blocks with the same number of rows.
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

/// Adds equally long vectors in their order.
pub fn ordered_sum(parts: Vec<Vec<f64>>, len: usize) -> Vec<f64> {
    parts.into_iter().fold(vec![0.0; len], |mut total, part| {
        total.iter_mut().zip(part).for_each(|(t, p)| *t += p);
        total
    })
}

/// The inner product of each column of `a` with the same column of `b`.
pub fn column_dots(a: &[f64], b: &[f64], columns: usize) -> Vec<f64> {
    let parts = a.par_chunks(CHUNK * columns.max(1)).zip(b.par_chunks(CHUNK * columns.max(1)));
    column_sums(parts.map(|(a, b)| add_products(a, b, vec![0.0; side_by_side(columns)])).collect(), columns)
}

/// The inner product of two vectors.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    dots(&[a], &[b])[0]
}

/// The inner products of some vectors with some others (row-major), each of the first read once. A product's bits depend on
/// its two vectors only.
pub fn dots<T: Copy + Into<f64> + Sync>(a: &[&[T]], b: &[&[f64]]) -> Vec<f64> {
    let len = a.first().map_or(0, |a| a.len());
    let parts = (0..len.div_ceil(RUN)).into_par_iter().map(|run| {
        let range = run * RUN..len.min((run + 1) * RUN);
        a.iter().flat_map(|a| b.iter().map(|b| dot_part(&a[range.clone()], &b[range.clone()]))).collect()
    });
    ordered_sum(parts.collect(), a.len() * b.len())
}

#[simd_dispatch]
fn dot_part<T: Copy + Into<f64>>(a: &[T], b: &[f64]) -> f64 {
    // Many sums side by side: one alone waits for itself at every step.
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

/// `out += sum_k factors_k vectors_k`, in this order.
pub fn add_mixture<T: Copy + Into<f64> + Sync>(vectors: &[&[T]], factors: &[f64], out: &mut [f64]) {
    out.par_chunks_mut(RUN).enumerate().for_each(|(run, out)| {
        let (start, len) = (run * RUN, out.len());
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

/// The mean of each column.
pub fn column_means(a: &[f64], columns: usize) -> Vec<f64> {
    let parts = a.par_chunks(CHUNK * columns.max(1)).map(|a| add_values(a, vec![0.0; side_by_side(columns)])).collect();
    let rows = (a.len() / columns.max(1)).max(1) as f64;
    column_sums(parts, columns).into_iter().map(|sum| sum / rows).collect()
}

/// Sums that are made side by side, several rows' where there are few columns: one sum alone waits for itself at every step.
fn side_by_side(columns: usize) -> usize {
    columns * (32 / columns.max(1)).max(1)
}

/// The columns' sums from those of several rows each.
fn column_sums(parts: Vec<Vec<f64>>, columns: usize) -> Vec<f64> {
    let mut sums = vec![0.0; columns];
    for row in ordered_sum(parts, side_by_side(columns)).chunks_exact(columns.max(1)) {
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

/// `a c` (n x mc) for a block `a` (n x ma) and a small matrix `c` (ma x mc).
pub fn combine(a: &[f64], ma: usize, c: &[f64], mc: usize) -> Vec<f64> {
    if ma == 0 || mc == 0 {
        return Vec::new();
    }
    let mut out = vec![0.0; a.len() / ma * mc];
    out.par_chunks_mut(CHUNK * mc).zip(a.par_chunks(CHUNK * ma)).for_each(|(out, a)| dense::product_nn(a, c, ma, out));
    out
}

/// Removes from each column of `w` (n x mw) its part in the span of an orthonormal `basis` (n x mb).
pub fn project_out(w: &mut [f64], mw: usize, basis: &[f64], mb: usize) {
    if mw == 0 || mb == 0 {
        return;
    }
    let coefficients = gram(basis, mb, w, mw);
    w.par_chunks_mut(CHUNK * mw)
        .zip(basis.par_chunks(CHUNK * mb))
        .for_each(|(w, basis)| dense::product_nn_subtract(basis, &coefficients, mb, w));
}

/// Blocks side by side.
pub fn beside(blocks: &[(&[f64], usize)], rows: usize) -> Vec<f64> {
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

/// The columns named, in that order.
pub fn select_columns(a: &[f64], ma: usize, which: &[usize]) -> Vec<f64> {
    if ma == 0 {
        return Vec::new();
    }
    a.chunks_exact(ma).flat_map(|row| which.iter().map(|&c| row[c])).collect()
}

/// An orthonormal basis of the columns of `w` (n x m) orthogonal to the orthonormal `fixed` (n x mf), and its number of
/// columns: directions that are, to rounding, already in the span of the others are dropped.
///
/// Two rounds of projection and SVQB (Stathopoulos and Wu, 2002): columns scaled to unit length, then multiplied by
/// the inverse square root of their Gram matrix, whose tiny eigenvalues mark what to drop.
pub fn orthonormal(mut w: Vec<f64>, mut m: usize, fixed: &[f64], mf: usize) -> Result<(Vec<f64>, usize)> {
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

/// Columns of unit length; those not longer than `least` (or not finite) are left out.
fn scale_columns(w: Vec<f64>, m: usize, least: f64) -> (Vec<f64>, usize) {
    // Scaled by the largest entry first: the squares of tiny and huge columns would leave the range.
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

/// Turns each column so that its largest entry (of several nearly as large, the first) is positive.
pub fn fix_signs(block: &mut [f64], columns: usize) {
    // The margin keeps the choice stable where a symmetric vector has its extreme value at several places.
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
mod tests {
    use super::*;
    use lowland_core::Seed;
    use proptest::prelude::*;

    fn distance_from_identity(gram: &[f64], m: usize) -> f64 {
        (0..m * m).map(|at| (gram[at] - f64::from(u8::from(at / m == at % m))).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn chunked_products_agree_with_plain_sums() {
        let n = 2 * CHUNK + 7;
        let (a, b) = (Seed(1).normals(n * 3), Seed(2).normals(n * 2));
        let product = gram(&a, 3, &b, 2);
        for i in 0..3 {
            for j in 0..2 {
                let plain: f64 = (0..n).map(|r| a[r * 3 + i] * b[r * 2 + j]).sum();
                assert!((product[i * 2 + j] - plain).abs() < 1e-10);
            }
        }
        let twice = combine(&b, 2, &[2.0, 0.0, 0.0, 2.0], 2);
        assert!(twice.iter().zip(&b).all(|(t, b)| *t == 2.0 * b));
    }

    #[test]
    fn products_and_mixtures_of_vectors_are_the_plain_ones() {
        let vectors: Vec<Vec<f64>> = (0..5).map(|seed| Seed(seed).normals(RUN + 45)).collect();
        let vectors: Vec<&[f64]> = vectors.iter().map(Vec::as_slice).collect();
        let products = dots(&vectors[..3], &vectors[3..]);
        for (i, a) in vectors[..3].iter().enumerate() {
            for (j, b) in vectors[3..].iter().enumerate() {
                let plain: f64 = a.iter().zip(*b).map(|(a, b)| a * b).sum();
                assert!((products[i * 2 + j] - plain).abs() < 1e-10);
                assert_eq!(products[i * 2 + j], dot(a, b), "the same bits in any company");
            }
        }
        let mut mixed = vectors[4].to_vec();
        add_mixture(&vectors[..3], &[1.0, -2.0, 0.5], &mut mixed);
        let plain = |at: usize| vectors[4][at] + vectors[0][at] - 2.0 * vectors[1][at] + 0.5 * vectors[2][at];
        assert!(mixed.iter().enumerate().all(|(at, v)| (v - plain(at)).abs() < 1e-12));
        // Five at once, of short numbers.
        let short: Vec<Vec<f32>> = vectors.iter().map(|v| v.iter().map(|&v| v as f32).collect()).collect();
        let mut mixed = vec![0.0; vectors[0].len()];
        add_mixture(&short.iter().map(Vec::as_slice).collect::<Vec<_>>(), &[1.0; 5], &mut mixed);
        let plain = |at: usize| short.iter().map(|v| f64::from(v[at])).sum::<f64>();
        assert!(mixed.iter().enumerate().all(|(at, v)| (v - plain(at)).abs() < 1e-12));
        assert_eq!(dot(&[], &[]), 0.0);
    }

    #[test]
    fn a_basis_drops_what_depends_on_the_rest_or_on_the_fixed_part() {
        let n = 3000;
        let (fixed, _) = orthonormal(Seed(1).normals(n * 2), 2, &[], 0).unwrap();
        let fresh = Seed(2).normals(n * 2);
        // Columns: a fresh one, the same at another scale, a mix of the fixed ones, zero, another fresh one.
        let w: Vec<f64> = (0..n)
            .flat_map(|i| {
                [
                    fresh[2 * i],
                    -1e-180 * fresh[2 * i],
                    3.0 * fixed[2 * i] - fixed[2 * i + 1],
                    0.0,
                    1e180 * fresh[2 * i + 1],
                ]
            })
            .collect();
        let (basis, m) = orthonormal(w, 5, &fixed, 2).unwrap();
        assert_eq!(m, 2);
        assert!(distance_from_identity(&gram(&basis, m, &basis, m), m) < 1e-14);
        assert!(gram(&basis, m, &fixed, 2).iter().all(|v| v.abs() < 1e-14));
    }

    #[test]
    fn nearly_parallel_columns_still_give_an_orthonormal_basis() {
        let n = 1500;
        let x = Seed(5).normals(n * 2);
        let w: Vec<f64> = (0..n).flat_map(|i| [x[2 * i], x[2 * i] + 1e-5 * x[2 * i + 1]]).collect();
        let (basis, m) = orthonormal(w, 2, &[], 0).unwrap();
        assert_eq!(m, 2);
        assert!(distance_from_identity(&gram(&basis, m, &basis, m), m) < 1e-13);
    }

    proptest! {
        #[test]
        fn whatever_the_columns_the_basis_is_orthonormal(values in prop::collection::vec(prop_oneof![Just(0.0), Just(f64::NAN), Just(1e300), -1.0..1.0], 24), m in 1usize..5) {
            let n = 24 / m;
            let (basis, kept) = orthonormal(values[..n * m].to_vec(), m, &[], 0).unwrap();
            prop_assert!(kept <= m);
            prop_assert!(distance_from_identity(&gram(&basis, kept, &basis, kept), kept) < 1e-10);
        }
    }

    #[test]
    fn signs_make_the_first_of_the_largest_entries_positive() {
        let mut block = vec![-1.0, 0.5, 1.0 + 1e-12, -0.6, 0.0, 0.6];
        fix_signs(&mut block, 2);
        assert_eq!(block, [1.0, -0.5, -1.0 - 1e-12, 0.6, 0.0, -0.6]);
    }
}
