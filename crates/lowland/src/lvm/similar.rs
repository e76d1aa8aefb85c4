//! Similar pairs: the E-step along the links of the graph, and the matrix of the M-step (Saul 2020, eqs 16, 18, 19).

use multiversion::multiversion;
use rayon::prelude::*;

use super::lanes::{LANES, Lanes, lanes, ln, sum};
use crate::linalg::Csr;
use crate::points::Result;

/// Rows of a task.
const ROWS: usize = 512;

/// Symmetric links with their weights `S + S'` and squared length scales.
#[derive(Debug, Clone)]
pub(super) struct Similar {
    weights: Csr,
    near2: Vec<f64>,
}

/// What the rows of a task read.
struct Links<'a> {
    indptr: &'a [usize],
    indices: &'a [u32],
    weights: &'a [f64],
    near2: &'a [f64],
    means: &'a [f64],
    variances: &'a [f64],
}

/// What the rows of a task write for the M-step.
struct Rows<'a> {
    first: usize,
    pulls: &'a mut [f64],
    diagonal: &'a mut [f64],
    gradient: &'a mut [f64],
}

impl Similar {
    /// Of directed pairs `(i, j, S_ij, delta_ij^2)`. Pairs that occur more than once must agree in their length scales.
    pub(super) fn new(n: usize, pairs: &[(u32, u32, f64, f64)]) -> Result<Self> {
        let both = |value: fn(f64, f64) -> f64| {
            pairs.iter().flat_map(move |&(i, j, w, near2)| {
                let value = value(w, near2);
                [(i, j, value), (j, i, value)]
            })
        };
        let weights = Csr::from_triplets(n, n, both(|w, _| w))?;
        let sums = Csr::from_triplets(n, n, both(|w, near2| w * near2))?;
        let near2 = sums.values().iter().zip(weights.values()).map(|(sum, w)| sum / w).collect();
        Ok(Self { weights, near2 })
    }

    /// For each point `sum_j (S_ij + S_ji)`.
    pub(super) fn masses(&self) -> Vec<f64> {
        self.weights.row_sums()
    }

    /// `S + S'`.
    pub(super) fn weights(&self) -> &Csr {
        &self.weights
    }

    pub(super) fn pairs(&self) -> Vec<(u32, u32, f64, f64)> {
        let pairs = self.weights.iter().zip(&self.near2).filter(|((i, j, _), _)| i < j);
        pairs.map(|((i, j, w), &near2)| (i as u32, j as u32, w, near2)).collect()
    }

    fn links<'a>(&'a self, means: &'a [f64], variances: &'a [f64]) -> Links<'a> {
        Links {
            indptr: self.weights.indptr(),
            indices: self.weights.indices(),
            weights: self.weights.values(),
            near2: &self.near2,
            means,
            variances,
        }
    }

    /// `W` of eq 18 in the places of the links, its row sums, and `gradient_i -= sum_j W_ij (mu_i - mu_j)`. Returns the pairs' share of
    /// the log-likelihood.
    pub(super) fn pull(
        &self,
        means: &[f64],
        variances: &[f64],
        dim: usize,
        pulls: &mut [f64],
        diagonal: &mut [f64],
        gradient: &mut [f64],
    ) -> f64 {
        let links = self.links(means, variances);
        let mut rest = pulls;
        let mut tasks = Vec::with_capacity(diagonal.len().div_ceil(ROWS));
        let rows = diagonal.chunks_mut(ROWS).zip(gradient.chunks_mut(ROWS * dim));
        for (task, (diagonal, gradient)) in rows.enumerate() {
            let first = task * ROWS;
            let entries = links.indptr[first + diagonal.len()] - links.indptr[first];
            let (pulls, tail) = std::mem::take(&mut rest).split_at_mut(entries);
            rest = tail;
            tasks.push(Rows { first, pulls, diagonal, gradient });
        }
        let parts: Vec<f64> = tasks
            .into_par_iter()
            .map(|rows| match dim {
                2 => pull_rows::<2>(&links, rows, dim),
                3 => pull_rows::<3>(&links, rows, dim),
                _ => pull_rows::<0>(&links, rows, dim),
            })
            .collect();
        parts.iter().sum()
    }

    /// `out_i = sum_j W_ij (|mu_i - mu_j|^2 / s_ij - d)`.
    pub(super) fn spread(&self, means: &[f64], variances: &[f64], dim: usize, out: &mut [f64]) {
        let links = self.links(means, variances);
        out.par_chunks_mut(ROWS).enumerate().for_each(|(task, out)| match dim {
            2 => spread_rows::<2>(&links, task * ROWS, out, dim),
            3 => spread_rows::<3>(&links, task * ROWS, out, dim),
            _ => spread_rows::<0>(&links, task * ROWS, out, dim),
        });
    }
}

impl Links<'_> {
    /// Up to eight links of row `i` from entry `at` on. Lanes beyond have the weight 0.
    #[inline(always)]
    fn tile<const D: usize>(&self, i: usize, at: usize, count: usize, dim: usize) -> Tile {
        let dim = if D > 0 { D } else { dim };
        let mut q = [0.0; LANES];
        let (mut widths, mut near2, mut weights) = ([self.variances[i]; LANES], [1.0; LANES], [0.0; LANES]);
        let own = &self.means[i * dim..(i + 1) * dim];
        for l in 0..count {
            let j = self.indices[at + l] as usize;
            let other = &self.means[j * dim..(j + 1) * dim];
            q[l] = (0..dim).map(|c| (own[c] - other[c]) * (own[c] - other[c])).sum();
            widths[l] += self.variances[j];
            near2[l] = self.near2[at + l];
            weights[l] = self.weights[at + l];
        }
        let inverse = lanes(|l| 1.0 / (near2[l] + widths[l]));
        let pull = lanes(|l| weights[l] * inverse[l]);
        Tile { weights, near2, q, inverse, pull }
    }
}

/// Some links of a point: `S + S'`, `delta^2`, `q = |mu_i - mu_j|^2`, `1/s` and `(S + S')/s`.
struct Tile {
    weights: Lanes,
    near2: Lanes,
    q: Lanes,
    inverse: Lanes,
    pull: Lanes,
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2", "aarch64+neon"))]
fn pull_rows<const D: usize>(links: &Links, rows: Rows, dim: usize) -> f64 {
    let dim = if D > 0 { D } else { dim };
    let Rows { first, pulls, diagonal, gradient } = rows;
    let begin = links.indptr[first];
    let mut likelihood = [0.0; LANES];
    for (local, (diagonal, gradient)) in diagonal.iter_mut().zip(gradient.chunks_exact_mut(dim)).enumerate() {
        let i = first + local;
        let (start, end) = (links.indptr[i], links.indptr[i + 1]);
        let own = &links.means[i * dim..(i + 1) * dim];
        let mut total = 0.0;
        for at in (start..end).step_by(LANES) {
            let count = LANES.min(end - at);
            let Tile { weights, near2, q, inverse, pull } = links.tile::<D>(i, at, count, dim);
            let logarithm = ln(&lanes(|l| near2[l] * inverse[l]));
            for l in 0..LANES {
                // Each pair is met from both its ends, hence the quarters: ln P = (d ln(delta^2/s) - q/s)/2.
                likelihood[l] += 0.25 * weights[l] * (dim as f64 * logarithm[l] - q[l] * inverse[l]);
            }
            total += sum(&pull);
            for l in 0..count {
                let j = links.indices[at + l] as usize;
                let other = &links.means[j * dim..(j + 1) * dim];
                (0..dim).for_each(|c| gradient[c] -= pull[l] * (own[c] - other[c]));
                pulls[at + l - begin] = pull[l];
            }
        }
        *diagonal = total;
    }
    sum(&likelihood)
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2", "aarch64+neon"))]
fn spread_rows<const D: usize>(links: &Links, first: usize, out: &mut [f64], dim: usize) {
    let dim = if D > 0 { D } else { dim };
    for (local, out) in out.iter_mut().enumerate() {
        let i = first + local;
        let (start, end) = (links.indptr[i], links.indptr[i + 1]);
        let mut total = [0.0; LANES];
        for at in (start..end).step_by(LANES) {
            let Tile { q, inverse, pull, .. } = links.tile::<D>(i, at, LANES.min(end - at), dim);
            for l in 0..LANES {
                total[l] += pull[l] * (q[l] * inverse[l] - dim as f64);
            }
        }
        *out = sum(&total);
    }
}
