//! What MAP IT's program adds up over edges.
//!
//! In a few dimensions all that an edge needs of its end stands in one row and is read at once. To bring together the same
//! coordinate of eight ends, as `over_edges` does, costs more there than all else.

use multiversion::multiversion;
use rayon::prelude::*;

use super::Similarity;
use super::edges::{LANES, ROWS, in_order, over_edges, products, total};
use super::neighborhoods::Neighborhoods;
use crate::nbody::simd::exp;
use crate::points::Points;

/// What the program adds up over edges, added to `2 d` numbers for each row: `sum_j w_ij S_ij (y_i - y_j)`, with the
/// neighbour's marginal `p_j` for `w_ij` among neighbours, then `sum_j (K_ij - q_j) S_ij (y_i - y_j)` over the neighbours
/// alone. `S = -K'`. Where all pairs were `counted` already, a neighbour's own affinity is taken away again. Returns the
/// sum of `w_ij K_ij` over all edges, with their own weights. `ends` is memory to be used again.
pub(super) fn program(
    graph: &Neighborhoods,
    map_marginals: &[f64],
    counted: bool,
    y: Points,
    similarity: Similarity,
    ends: &mut Vec<f64>,
    out: &mut [f64],
) -> f64 {
    match (y.dim(), similarity) {
        (2, Similarity::Student) => in_few_dimensions::<2, 4, true>(graph, map_marginals, counted, y, ends, out),
        (2, Similarity::Gaussian) => in_few_dimensions::<2, 4, false>(graph, map_marginals, counted, y, ends, out),
        (3, Similarity::Student) => in_few_dimensions::<3, 8, true>(graph, map_marginals, counted, y, ends, out),
        (3, Similarity::Gaussian) => in_few_dimensions::<3, 8, false>(graph, map_marginals, counted, y, ends, out),
        _ => {
            let any_rows = if similarity == Similarity::Student { any_rows::<true> } else { any_rows::<false> };
            let chunks = out.par_chunks_mut(ROWS * 2 * y.dim()).enumerate();
            in_order(chunks.map(|(at, out)| [any_rows(graph, map_marginals, counted, y, at * ROWS, out)]).collect())[0]
        }
    }
}

/// By rows of `W` numbers that hold a point's `D` coordinates, `p_j` and `q_j`.
fn in_few_dimensions<const D: usize, const W: usize, const T: bool>(
    graph: &Neighborhoods,
    map_marginals: &[f64],
    counted: bool,
    y: Points,
    ends: &mut Vec<f64>,
    out: &mut [f64],
) -> f64 {
    ends.resize(W * map_marginals.len(), 0.0);
    let (ends, _) = ends.as_chunks_mut::<W>();
    let points = y.values().par_chunks_exact(D).zip(&graph.marginals).zip(map_marginals);
    ends.par_iter_mut().zip(points).with_min_len(ROWS).for_each(|(end, ((point, &p), &q))| {
        end[..D].copy_from_slice(point);
        (end[D], end[D + 1]) = (p, q);
    });
    let (ends, chunks) = (&*ends, out.par_chunks_mut(ROWS * 2 * D).enumerate());
    in_order(chunks.map(|(at, out)| [rows::<D, W, T>(graph, ends, counted, at * ROWS, out)]).collect())[0]
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2", "aarch64+neon"))]
fn rows<const D: usize, const W: usize, const T: bool>(
    graph: &Neighborhoods,
    ends: &[[f64; W]],
    counted: bool,
    first: usize,
    out: &mut [f64],
) -> f64 {
    let mut value = 0.0;
    for (i, out) in (first..).zip(out.chunks_exact_mut(2 * D)) {
        let others = row::<D, W, T, false>(graph.others.row(i), ends, i, counted);
        let near = row::<D, W, T, true>(graph.near.row(i), ends, i, counted);
        for c in 0..D {
            out[c] += others.0[c] + near.0[c];
            out[D + c] += near.1[c];
        }
        value += others.2 + near.2;
    }
    value
}

/// The two sums over some edges of point `i`, and that of `w_ij K_ij`.
#[inline(always)]
fn row<const D: usize, const W: usize, const T: bool, const NEAR: bool>(
    (columns, values): (&[u32], &[f64]),
    ends: &[[f64; W]],
    i: usize,
    counted: bool,
) -> ([f64; W], [f64; W], f64) {
    let (mut pulls, mut pushes, mut value) = ([0.0; W], [0.0; W], [0.0; LANES]);
    // Without marginals of its own, so that those of the ends stand in the differences.
    let mut here = ends[i];
    here[D..].fill(0.0);
    let own = if counted { 1.0 } else { 0.0 };
    let (whole, rest) = columns.as_chunks::<LANES>();
    let (weights, rest_weights) = values.as_chunks::<LANES>();
    for (columns, weights) in whole.iter().zip(weights) {
        let (mut apart, mut squares) = ([[0.0; W]; LANES], [0.0; LANES]);
        for l in 0..LANES {
            let there = &ends[columns[l] as usize];
            for c in 0..W {
                apart[l][c] = here[c] - there[c];
            }
            let mut square = 0.0;
            for c in 0..D {
                square += apart[l][c] * apart[l][c];
            }
            squares[l] = square;
        }
        let (mut similarity, mut slope) = ([0.0; LANES], [0.0; LANES]);
        for l in 0..LANES {
            similarity[l] = if T { 1.0 / (1.0 + squares[l]) } else { exp(-squares[l]) };
            slope[l] = if T { similarity[l] * similarity[l] } else { similarity[l] };
        }
        let (mut pull, mut push) = ([0.0; LANES], [0.0; LANES]);
        if NEAR {
            for l in 0..LANES {
                (pull[l], push[l]) = (-apart[l][D], -apart[l][D + 1]);
            }
        }
        for l in 0..LANES {
            value[l] += weights[l] * similarity[l];
            pull[l] = (if NEAR { pull[l] - own * weights[l] } else { weights[l] }) * slope[l];
            push[l] = (similarity[l] - push[l]) * slope[l];
        }
        for l in 0..LANES {
            for c in 0..W {
                pulls[c] += pull[l] * apart[l][c];
            }
            if NEAR {
                for c in 0..W {
                    pushes[c] += push[l] * apart[l][c];
                }
            }
        }
    }
    let mut value = total(&value);
    for (&j, &weight) in rest.iter().zip(rest_weights) {
        let there = &ends[j as usize];
        let mut square = 0.0;
        for c in 0..D {
            square += (here[c] - there[c]) * (here[c] - there[c]);
        }
        let similarity = if T { 1.0 / (1.0 + square) } else { exp(-square) };
        let slope = if T { similarity * similarity } else { similarity };
        value += weight * similarity;
        let pull = (if NEAR { there[D] - own * weight } else { weight }) * slope;
        let push = (similarity - there[D + 1]) * slope;
        for c in 0..D {
            pulls[c] += pull * (here[c] - there[c]);
            pushes[c] += push * (here[c] - there[c]);
        }
    }
    (pulls, pushes, value)
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2", "aarch64+neon"))]
fn any_rows<const T: bool>(
    graph: &Neighborhoods,
    map_marginals: &[f64],
    counted: bool,
    y: Points,
    first: usize,
    out: &mut [f64],
) -> f64 {
    let mut sum = [0.0; LANES];
    for (i, out) in out.chunks_exact_mut(2 * y.dim()).enumerate() {
        over_edges::<0, T, 1>(y, first + i, graph.others.row(first + i), out, |edges| {
            for l in 0..LANES {
                sum[l] += edges.weights[l] * edges.similarity[l];
            }
            [products(&edges.weights, &edges.slope)]
        });
        over_edges::<0, T, 2>(y, first + i, graph.near.row(first + i), out, |edges| {
            let (mut pull, mut push) = ([0.0; LANES], [0.0; LANES]);
            for l in 0..LANES {
                sum[l] += edges.weights[l] * edges.similarity[l];
                pull[l] = graph.marginals[edges.ends[l]] - if counted { edges.weights[l] } else { 0.0 };
                push[l] = edges.similarity[l] - map_marginals[edges.ends[l]];
            }
            [products(&pull, &edges.slope), products(&push, &edges.slope)]
        });
    }
    total(&sum)
}
