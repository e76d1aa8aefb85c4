//! The released program's sums over all pairs in one pass: affinities row by row, coordinates column by column.

use multiversion::multiversion;
use rayon::prelude::*;

use super::Similarity;
use super::edges::{LANES, Lanes, by_kind, in_order, total};
use crate::linalg::Csr;
use crate::nbody::simd::exp;
use crate::points::Points;

/// Rows handled at once: fixed, because the order of a sum depends on it.
const ROWS: usize = 64;
/// Where what fills up the last vector lies: so far off that it is similar to nothing.
const FAR: f64 = 1e100;

/// All affinities, and the map's coordinates.
pub(super) struct AllPairs {
    /// A row for each point, filled up with zeros to whole vectors.
    weights: Vec<f64>,
    columns: Vec<f64>,
    stride: usize,
}

impl AllPairs {
    pub fn new(affinities: &Csr) -> Self {
        let n = affinities.rows();
        let stride = n.next_multiple_of(LANES);
        let mut weights = vec![0.0; n * stride];
        affinities.iter().for_each(|(i, j, p)| weights[i * stride + j] = p);
        Self { weights, columns: Vec::new(), stride }
    }

    /// `sum_j P_ij S_ij (y_i - y_j)` and `-sum_j K_ij S_ij (y_i - y_j)`, side by side for each point; returns `c1, c2`.
    pub fn sums(&mut self, y: Points, similarity: Similarity, out: &mut [f64]) -> [f64; 2] {
        let (n, d) = (y.rows(), y.dim());
        self.columns.clear();
        self.columns.resize(d * self.stride, FAR);
        for (c, column) in self.columns.chunks_exact_mut(self.stride).enumerate() {
            column.iter_mut().zip(y.values().iter().skip(c).step_by(d)).for_each(|(to, from)| *to = *from);
        }
        let this = &*self;
        let chunks = out.par_chunks_mut(ROWS * 2 * d).enumerate();
        let parts = chunks.map(|(at, out)| by_kind!(pair_rows, y, similarity, (this, y, at * ROWS, out)));
        let [c1, c2] = in_order(parts.collect());
        // Every point meets itself with K(0) = 1.
        [c1, c2 - n as f64]
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2", "aarch64+neon"))]
fn pair_rows<const D: usize, const T: bool>(pairs: &AllPairs, y: Points, first: usize, out: &mut [f64]) -> [f64; 2] {
    let dim = if D == 0 { y.dim() } else { D };
    let mut entropies = [[0.0; LANES]; 2];
    out.fill(0.0);
    for (i, out) in out.chunks_exact_mut(2 * dim).enumerate() {
        let here = y.row(first + i);
        let (weights, _) = pairs.weights[(first + i) * pairs.stride..][..pairs.stride].as_chunks::<LANES>();
        let mut sums = [[[0.0; LANES]; 2]; D];
        for (at, weights) in weights.iter().enumerate() {
            let there = |c: usize| -> &[f64] { &pairs.columns[c * pairs.stride + at * LANES..][..LANES] };
            let mut squares: Lanes = [0.0; LANES];
            for c in 0..dim {
                let there = there(c);
                for l in 0..LANES {
                    squares[l] += (here[c] - there[l]) * (here[c] - there[l]);
                }
            }
            let (mut pull, mut push) = ([0.0; LANES], [0.0; LANES]);
            for l in 0..LANES {
                let similarity = if T { 1.0 / (1.0 + squares[l]) } else { exp(-squares[l]) };
                let slope = if T { similarity * similarity } else { similarity };
                entropies[0][l] += weights[l] * similarity;
                entropies[1][l] += similarity * similarity;
                pull[l] = weights[l] * slope;
                push[l] = similarity * slope;
            }
            if D == 0 {
                for c in 0..dim {
                    let there = there(c);
                    for l in 0..LANES {
                        out[c] += pull[l] * (here[c] - there[l]);
                        out[dim + c] -= push[l] * (here[c] - there[l]);
                    }
                }
            }
            for c in 0..D {
                let there = there(c);
                for l in 0..LANES {
                    sums[c][0][l] += pull[l] * (here[c] - there[l]);
                    sums[c][1][l] -= push[l] * (here[c] - there[l]);
                }
            }
        }
        for c in 0..D {
            (out[c], out[dim + c]) = (total(&sums[c][0]), total(&sums[c][1]));
        }
    }
    entropies.map(|lanes| total(&lanes))
}
