//! Sums over the edges of a graph, eight at a time: what MAP IT does among neighbours.

use std::ops::Range;

use multiversion::multiversion;
use rayon::prelude::*;

use super::Similarity;
use crate::linalg::Csr;
use crate::nbody::simd::exp;
use crate::points::Points;

/// Rows handled at once: fixed, because the order of a sum depends on it.
pub(super) const ROWS: usize = 256;
/// Edges in a vector.
pub(super) const LANES: usize = 8;
pub(super) type Lanes = [f64; LANES];

/// Some edges of a row; where there are fewer than eight, the others lead back to their point and are not present.
pub(super) struct Vector {
    pub ends: [usize; LANES],
    pub weights: Lanes,
    pub present: Lanes,
    /// Similarity `K(s)` in the map, `s` the squared distance.
    pub similarity: Lanes,
    /// Its slope, `-K'(s)`.
    pub slope: Lanes,
}

/// Calls `each` for the edges of row `i`; it returns `C` coefficients for every edge, and `sums[c]` grows by their
/// products with the ways `y_i - y_j`. `D` is the dimension, or zero for any; `T` tells the t distribution from the
/// Gaussian.
#[inline(always)]
pub(super) fn over_edges<const D: usize, const T: bool, const C: usize>(
    y: Points,
    i: usize,
    (columns, values): (&[u32], &[f64]),
    sums: &mut [f64],
    mut each: impl FnMut(&Vector) -> [Lanes; C],
) {
    let dim = if D == 0 { y.dim() } else { D };
    let here = &y.values()[i * dim..][..dim];
    let mut lanes = [[[0.0; LANES]; D]; C];
    let (whole_columns, rest_columns) = columns.as_chunks::<LANES>();
    let (whole_values, rest_values) = values.as_chunks::<LANES>();
    for at in 0..whole_columns.len() + usize::from(!rest_columns.is_empty()) {
        let mut vector = Vector {
            ends: [i; LANES],
            weights: [0.0; LANES],
            present: [0.0; LANES],
            similarity: [0.0; LANES],
            slope: [0.0; LANES],
        };
        if at < whole_columns.len() {
            for l in 0..LANES {
                vector.ends[l] = whole_columns[at][l] as usize;
            }
            (vector.weights, vector.present) = (whole_values[at], [1.0; LANES]);
        } else {
            for (l, (&j, &w)) in rest_columns.iter().zip(rest_values).enumerate() {
                (vector.ends[l], vector.weights[l], vector.present[l]) = (j as usize, w, 1.0);
            }
        }
        let mut apart = [[0.0; LANES]; D];
        let mut squares = [0.0; LANES];
        if D == 0 {
            for l in 0..LANES {
                let there = y.row(vector.ends[l]);
                squares[l] = here.iter().zip(there).map(|(a, b)| (a - b) * (a - b)).sum();
            }
        } else {
            for l in 0..LANES {
                let there = &y.values()[vector.ends[l] * D..][..D];
                for c in 0..D {
                    apart[c][l] = here[c] - there[c];
                }
            }
            for c in 0..D {
                for l in 0..LANES {
                    squares[l] += apart[c][l] * apart[c][l];
                }
            }
        }
        for l in 0..LANES {
            vector.similarity[l] = if T { 1.0 / (1.0 + squares[l]) } else { exp(-squares[l]) };
            vector.slope[l] = if T { vector.similarity[l] * vector.similarity[l] } else { vector.similarity[l] };
        }
        let coefficients = each(&vector);
        for (coefficients, (lanes, sums)) in
            coefficients.iter().zip(lanes.iter_mut().zip(sums.chunks_exact_mut(dim.max(1))))
        {
            if D == 0 {
                for l in 0..LANES {
                    let ways = here.iter().zip(y.row(vector.ends[l]));
                    sums.iter_mut().zip(ways).for_each(|(sum, (a, b))| *sum += coefficients[l] * (a - b));
                }
            }
            for c in 0..D {
                for l in 0..LANES {
                    lanes[c][l] += coefficients[l] * apart[c][l];
                }
            }
        }
    }
    if D > 0 {
        for (sums, lanes) in sums.chunks_exact_mut(D.max(1)).zip(&lanes) {
            sums.iter_mut().zip(lanes).for_each(|(sum, lanes)| *sum += total(lanes));
        }
    }
}

#[inline(always)]
pub(super) fn total(lanes: &Lanes) -> f64 {
    let [a, b, c, d, e, f, g, h] = *lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

#[inline(always)]
pub(super) fn products(a: &Lanes, b: &Lanes) -> Lanes {
    std::array::from_fn(|l| a[l] * b[l])
}

/// Calls the version of a function for the map's dimension and the similarity.
macro_rules! by_kind {
    ($function:ident, $y:expr, $similarity:expr, ($($argument:expr),*)) => {
        match ($y.dim(), $similarity) {
            (1, Similarity::Student) => $function::<1, true>($($argument),*),
            (2, Similarity::Student) => $function::<2, true>($($argument),*),
            (3, Similarity::Student) => $function::<3, true>($($argument),*),
            (_, Similarity::Student) => $function::<0, true>($($argument),*),
            (1, Similarity::Gaussian) => $function::<1, false>($($argument),*),
            (2, Similarity::Gaussian) => $function::<2, false>($($argument),*),
            (3, Similarity::Gaussian) => $function::<3, false>($($argument),*),
            (_, Similarity::Gaussian) => $function::<0, false>($($argument),*),
        }
    };
}

pub(super) use by_kind;

/// Adds up what the chunks found, in their order.
pub(super) fn in_order<const C: usize>(parts: Vec<[f64; C]>) -> [f64; C] {
    parts.iter().fold([0.0; C], |sum, part| std::array::from_fn(|c| sum[c] + part[c]))
}

/// `marginals[i] = sum_j K_ij` over the edges of each row; returns the sums of `w_ij K_ij` and of `K_ij^2` over all.
pub(super) fn marginals(graph: &Csr, y: Points, similarity: Similarity, marginals: &mut [f64]) -> [f64; 2] {
    let chunks = marginals.par_chunks_mut(ROWS).enumerate();
    in_order(
        chunks
            .map(|(at, out)| {
                let rows = at * ROWS..at * ROWS + out.len();
                by_kind!(marginal_rows, y, similarity, (graph, y, rows, out))
            })
            .collect(),
    )
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2", "aarch64+neon"))]
fn marginal_rows<const D: usize, const T: bool>(
    graph: &Csr,
    y: Points,
    rows: Range<usize>,
    out: &mut [f64],
) -> [f64; 2] {
    let mut sums = [[0.0; LANES]; 2];
    for (i, out) in rows.zip(out) {
        let mut marginal = [0.0; LANES];
        over_edges::<D, T, 0>(y, i, graph.row(i), &mut [], |edges| {
            for l in 0..LANES {
                let similarity = edges.present[l] * edges.similarity[l];
                marginal[l] += similarity;
                sums[0][l] += edges.weights[l] * similarity;
                sums[1][l] += similarity * similarity;
            }
            []
        });
        *out = total(&marginal);
    }
    sums.map(|lanes| total(&lanes))
}

/// Adds `sum_j w_ij (here_i + there_j) S_ij (y_i - y_j)` to every row; returns the sum of `w_ij K_ij`.
pub(super) fn weighted(
    graph: &Csr,
    here: &[f64],
    there: &[f64],
    y: Points,
    similarity: Similarity,
    out: &mut [f64],
) -> f64 {
    let chunks = out.par_chunks_mut(ROWS * y.dim()).enumerate();
    let parts =
        chunks.map(|(at, out)| by_kind!(weighted_rows, y, similarity, (graph, [here, there], y, at * ROWS, out)));
    in_order(parts.collect())[0]
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2", "aarch64+neon"))]
fn weighted_rows<const D: usize, const T: bool>(
    graph: &Csr,
    [here, there]: [&[f64]; 2],
    y: Points,
    first: usize,
    out: &mut [f64],
) -> [f64; 1] {
    let mut sum = [0.0; LANES];
    for (i, out) in out.chunks_exact_mut(y.dim()).enumerate() {
        over_edges::<D, T, 1>(y, first + i, graph.row(first + i), out, |edges| {
            let mut coefficient = [0.0; LANES];
            for l in 0..LANES {
                sum[l] += edges.weights[l] * edges.similarity[l];
                coefficient[l] = edges.weights[l] * (here[first + i] + there[edges.ends[l]]) * edges.slope[l];
            }
            [coefficient]
        });
    }
    [total(&sum)]
}
