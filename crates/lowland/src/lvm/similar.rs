//! Similar pairs: the E-step along the links of the graph, and the matrix of the M-step (Saul 2020, eqs 16, 18, 19).

use multiversion::multiversion;
use rayon::prelude::*;

use super::numbers::Number;
use crate::linalg::Csr;
use crate::points::Result;

/// Rows of a task: so few that what their links lead to is still at hand when it is read again.
const ROWS: usize = 64;

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

    /// Numbers the points anew; `moved` says which each new one was.
    pub(super) fn renumber(&mut self, moved: &[u32]) {
        let mut near2 = self.weights.clone();
        near2.values_mut().copy_from_slice(&self.near2);
        self.near2 = near2.renumber(moved).values().to_vec();
        self.weights = self.weights.renumber(moved);
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

    /// `W` of eq 18 in the places of the links, its row sums, and `gradient_i -= sum_j W_ij (mu_i - mu_j)`. Returns the
    /// pairs' share of the log-likelihood.
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
    /// `q = |mu_i - mu_j|^2` and `sigma_i^2 + sigma_j^2` along all links of some rows.
    #[inline(always)]
    fn gather<const D: usize>(&self, first: usize, rows: usize, dim: usize) -> (Vec<f64>, Vec<f64>) {
        let dim = if D > 0 { D } else { dim };
        let count = self.indptr[first + rows] - self.indptr[first];
        let (mut q, mut widths) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for i in first..first + rows {
            let own = &self.means[i * dim..(i + 1) * dim];
            for &j in &self.indices[self.indptr[i]..self.indptr[i + 1]] {
                let j = j as usize;
                let other = &self.means[j * dim..(j + 1) * dim];
                q.push(if D > 0 {
                    (0..dim).map(|c| (own[c] - other[c]) * (own[c] - other[c])).sum()
                } else {
                    squared_distance(own, other)
                });
                widths.push(self.variances[i] + self.variances[j]);
            }
        }
        (q, widths)
    }

    /// Weights and squared length scales of the links of some rows.
    #[inline(always)]
    fn constants(&self, first: usize, rows: usize) -> (&[f64], &[f64]) {
        let range = self.indptr[first]..self.indptr[first + rows];
        (&self.weights[range.clone()], &self.near2[range])
    }
}

/// In as many parts as a vector is wide.
#[inline(always)]
fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut lanes = [0.0; LANES];
    for (a, b) in a.chunks(LANES).zip(b.chunks(LANES)) {
        lanes.iter_mut().zip(a.iter().zip(b)).for_each(|(lane, (a, b))| *lane += (a - b) * (a - b));
    }
    lanes.iter().sum()
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2", "aarch64+neon"))]
fn pull_rows<const D: usize>(links: &Links, rows: Rows, dim: usize) -> f64 {
    let dim = if D > 0 { D } else { dim };
    let Rows { first, pulls, diagonal, gradient } = rows;
    let (mut q, widths) = links.gather::<D>(first, diagonal.len(), dim);
    let (weights, near2) = links.constants(first, diagonal.len());
    let count = pulls.len();
    let (q, widths, weights, near2) = (&mut q[..count], &widths[..count], &weights[..count], &near2[..count]);
    for at in 0..count {
        let inverse = 1.0 / (near2[at] + widths[at]);
        pulls[at] = weights[at] * inverse;
        // ln P = (d ln(delta^2/s) - q/s) / 2.
        q[at] = weights[at] * (dim as f64 * Number::ln(near2[at] * inverse) - q[at] * inverse);
    }
    // Each pair is met from both its ends, hence one half more.
    let likelihood = 0.25 * q.iter().sum::<f64>();
    let begin = links.indptr[first];
    for (local, (diagonal, gradient)) in diagonal.iter_mut().zip(gradient.chunks_exact_mut(dim)).enumerate() {
        let i = first + local;
        let range = links.indptr[i]..links.indptr[i + 1];
        let own = &links.means[i * dim..(i + 1) * dim];
        let mut total = 0.0;
        for (&j, pull) in links.indices[range.clone()].iter().zip(&pulls[range.start - begin..range.end - begin]) {
            let other = &links.means[j as usize * dim..(j as usize + 1) * dim];
            (0..dim).for_each(|c| gradient[c] -= pull * (own[c] - other[c]));
            total += pull;
        }
        *diagonal = total;
    }
    likelihood
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2", "aarch64+neon"))]
fn spread_rows<const D: usize>(links: &Links, first: usize, out: &mut [f64], dim: usize) {
    let dim = if D > 0 { D } else { dim };
    let (mut q, widths) = links.gather::<D>(first, out.len(), dim);
    let (weights, near2) = links.constants(first, out.len());
    let count = weights.len();
    let (q, widths, near2) = (&mut q[..count], &widths[..count], &near2[..count]);
    for at in 0..count {
        let inverse = 1.0 / (near2[at] + widths[at]);
        q[at] = weights[at] * inverse * (q[at] * inverse - dim as f64);
    }
    let begin = links.indptr[first];
    for (local, out) in out.iter_mut().enumerate() {
        *out = q[links.indptr[first + local] - begin..links.indptr[first + local + 1] - begin].iter().sum();
    }
}
