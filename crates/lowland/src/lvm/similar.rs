//! Similar pairs: the E-step along the links of the graph, and the matrix of the M-step (Saul 2020, eqs 16, 18, 19).

use multiversion::multiversion;
use rayon::prelude::*;

use super::numbers::Number;
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

/// Links of a row handled at once.
const TILE: usize = 8;

/// Up to [`TILE`] links of a point: `S + S'`, `delta^2`, `q = |mu_i - mu_j|^2` and `sigma_i^2 + sigma_j^2`. What is beyond the last has no
/// weight.
struct Tile {
    weights: [f64; TILE],
    near2: [f64; TILE],
    q: [f64; TILE],
    widths: [f64; TILE],
}

impl Links<'_> {
    /// The links of row `i` from entry `at` on.
    #[inline(always)]
    fn tile<const D: usize>(&self, i: usize, at: usize, end: usize, dim: usize) -> Tile {
        let mut tile = Tile { weights: [0.0; TILE], near2: [1.0; TILE], q: [0.0; TILE], widths: [1.0; TILE] };
        let found = TILE.min(end - at);
        let own = &self.means[i * dim..(i + 1) * dim];
        for l in 0..found {
            let j = self.indices[at + l] as usize;
            let other = &self.means[j * dim..(j + 1) * dim];
            tile.q[l] = (0..dim).map(|c| (own[c] - other[c]) * (own[c] - other[c])).sum();
            tile.widths[l] = self.variances[i] + self.variances[j];
            tile.near2[l] = self.near2[at + l];
            tile.weights[l] = self.weights[at + l];
        }
        tile
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2", "aarch64+neon"))]
fn pull_rows<const D: usize>(links: &Links, rows: Rows, dim: usize) -> f64 {
    let dim = if D > 0 { D } else { dim };
    let Rows { first, pulls, diagonal, gradient } = rows;
    let begin = links.indptr[first];
    let mut likelihood = 0.0;
    let (mut pull, mut log) = ([0.0; TILE], [0.0; TILE]);
    for (local, (diagonal, gradient)) in diagonal.iter_mut().zip(gradient.chunks_exact_mut(dim)).enumerate() {
        let i = first + local;
        let (start, end) = (links.indptr[i], links.indptr[i + 1]);
        let own = &links.means[i * dim..(i + 1) * dim];
        *diagonal = 0.0;
        for at in (start..end).step_by(TILE) {
            let Tile { weights, near2, q, widths } = links.tile::<D>(i, at, end, dim);
            for l in 0..TILE {
                let inverse = 1.0 / (near2[l] + widths[l]);
                pull[l] = weights[l] * inverse;
                // ln P = (d ln(delta^2/s) - q/s) / 2.
                log[l] = weights[l] * (dim as f64 * Number::ln(near2[l] * inverse) - q[l] * inverse);
            }
            // Each pair is met from both its ends, hence one half more.
            likelihood += 0.25 * log.iter().sum::<f64>();
            *diagonal += pull.iter().sum::<f64>();
            for l in 0..TILE.min(end - at) {
                let j = links.indices[at + l] as usize;
                let other = &links.means[j * dim..(j + 1) * dim];
                (0..dim).for_each(|c| gradient[c] -= pull[l] * (own[c] - other[c]));
                pulls[at + l - begin] = pull[l];
            }
        }
    }
    likelihood
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2", "aarch64+neon"))]
fn spread_rows<const D: usize>(links: &Links, first: usize, out: &mut [f64], dim: usize) {
    let dim = if D > 0 { D } else { dim };
    for (local, out) in out.iter_mut().enumerate() {
        let i = first + local;
        let (start, end) = (links.indptr[i], links.indptr[i + 1]);
        *out = 0.0;
        for at in (start..end).step_by(TILE) {
            let Tile { weights, near2, q, widths } = links.tile::<D>(i, at, end, dim);
            let mut part = [0.0; TILE];
            for l in 0..TILE {
                let inverse = 1.0 / (near2[l] + widths[l]);
                part[l] = weights[l] * inverse * (q[l] * inverse - dim as f64);
            }
            *out += part.iter().sum::<f64>();
        }
    }
}
