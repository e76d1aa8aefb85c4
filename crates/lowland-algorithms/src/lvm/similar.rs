//! Similar pairs: the E-step along the links of the graph, and the matrix of the M-step (Saul 2020, eqs 16, 18, 19).

use std::ops::Range;

use rayon::prelude::*;

use lowland_core::Result;
use lowland_core::simd::FastFloat;
use lowland_core::simd::simd_dispatch;
use lowland_linalg::Csr;

/// Rows of a task.
const ROWS: usize = 64;
/// Rows whose links are looked at together: so few that what they lead to is still at hand when it is read again.
const BATCH: usize = 16;

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
    /// A row for each point, which begins with its mean.
    ends: &'a [f64],
}

/// What the rows of a task write for the M-step.
struct Rows<'a> {
    first: usize,
    pulls: &'a mut [f64],
    diagonal: &'a mut [f64],
    gradient: &'a mut [f64],
}

/// A row for each point, its mean and its variance side by side: what a link needs of its other end is then read at once.
pub(super) fn fill_ends(means: &[f64], variances: &[f64], dim: usize, ends: &mut Vec<f64>) {
    ends.resize(means.len() + variances.len(), 0.0);
    let rows = ends.par_chunks_exact_mut(dim + 1).zip(means.par_chunks_exact(dim)).zip(variances);
    rows.with_min_len(1 << 12).for_each(|((end, mean), &variance)| {
        end[..dim].copy_from_slice(mean);
        end[dim] = variance;
    });
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

    fn links<'a>(&'a self, ends: &'a [f64]) -> Links<'a> {
        Links {
            indptr: self.weights.indptr(),
            indices: self.weights.indices(),
            weights: self.weights.values(),
            near2: &self.near2,
            ends,
        }
    }

    /// `W` of eq 18 in the places of the links, its row sums, and `gradient_i -= sum_j W_ij (mu_i - mu_j)`. Returns the
    /// pairs' share of the log-likelihood, its logarithms in the precision of `T`. `ends` are those of [`fill_ends`].
    pub(super) fn pull<T: FastFloat>(
        &self,
        ends: &[f64],
        dim: usize,
        pulls: &mut [f64],
        diagonal: &mut [f64],
        gradient: &mut [f64],
    ) -> f64 {
        let links = self.links(ends);
        let mut rest = pulls;
        let mut tasks = Vec::with_capacity(diagonal.len().div_ceil(ROWS));
        let rows = diagonal.chunks_mut(ROWS).zip(gradient.chunks_mut(ROWS * dim));
        for (task, (diagonal, gradient)) in rows.enumerate() {
            let first = task * ROWS;
            let entries = links.range(first, diagonal.len()).len();
            let (pulls, tail) = std::mem::take(&mut rest).split_at_mut(entries);
            rest = tail;
            tasks.push(Rows { first, pulls, diagonal, gradient });
        }
        let parts: Vec<f64> = tasks
            .into_par_iter()
            .map(|rows| match dim {
                2 => pull_rows::<T, 2>(&links, rows, dim),
                3 => pull_rows::<T, 3>(&links, rows, dim),
                10 => pull_rows::<T, 10>(&links, rows, dim),
                _ => pull_rows::<T, 0>(&links, rows, dim),
            })
            .collect();
        parts.iter().sum()
    }

    /// `out_i = sum_j W_ij (|mu_i - mu_j|^2 / s_ij - d)`, with the `W` that [`Similar::pull`] left for these variances.
    pub(super) fn spread(&self, means: &[f64], pulls: &[f64], dim: usize, out: &mut [f64]) {
        let links = self.links(means);
        out.par_chunks_mut(ROWS).enumerate().for_each(|(task, out)| match dim {
            2 => spread_rows::<2>(&links, pulls, task * ROWS, out, dim),
            3 => spread_rows::<3>(&links, pulls, task * ROWS, out, dim),
            10 => spread_rows::<10>(&links, pulls, task * ROWS, out, dim),
            _ => spread_rows::<0>(&links, pulls, task * ROWS, out, dim),
        });
    }
}

impl Links<'_> {
    /// The places of the links of some rows.
    #[inline(always)]
    fn range(&self, first: usize, rows: usize) -> Range<usize> {
        self.indptr[first]..self.indptr[first + rows]
    }

    /// `q = |mu_i - mu_j|^2` along all links of some rows.
    #[inline(always)]
    fn squares<const D: usize>(&self, first: usize, rows: usize, dim: usize, q: &mut Vec<f64>) {
        let dim = if D > 0 { D } else { dim };
        q.resize(self.range(first, rows).len(), 0.0);
        let begin = self.indptr[first];
        for i in first..first + rows {
            let own = &self.ends[i * dim..(i + 1) * dim];
            let range = self.range(i, 1);
            for (q, &j) in q[range.start - begin..range.end - begin].iter_mut().zip(&self.indices[range]) {
                *q = squared_distance::<D>(own, &self.ends[j as usize * dim..(j as usize + 1) * dim]);
            }
        }
    }

    /// The same, and `sigma_i^2 + sigma_j^2`, which stand behind the means.
    #[inline(always)]
    fn squares_and_widths<const D: usize>(&self, rows: Range<usize>, dim: usize, q: &mut [f64], widths: &mut [f64]) {
        let dim = if D > 0 { D } else { dim };
        let mut at = 0;
        for i in rows {
            let own = &self.ends[i * (dim + 1)..(i + 1) * (dim + 1)];
            for &j in &self.indices[self.range(i, 1)] {
                let other = &self.ends[j as usize * (dim + 1)..(j as usize + 1) * (dim + 1)];
                q[at] = squared_distance::<D>(&own[..dim], &other[..dim]);
                widths[at] = own[dim] + other[dim];
                at += 1;
            }
        }
    }
}

/// Parts in which sums are kept: as many as a vector is wide.
const LANES: usize = 8;

#[inline(always)]
fn squared_distance<const D: usize>(a: &[f64], b: &[f64]) -> f64 {
    if D == 2 || D == 3 {
        return (0..D).map(|c| (a[c] - b[c]) * (a[c] - b[c])).sum();
    }
    let mut lanes = [0.0; LANES];
    for (a, b) in a.chunks(LANES).zip(b.chunks(LANES)) {
        lanes.iter_mut().zip(a.iter().zip(b)).for_each(|(lane, (a, b))| *lane += (a - b) * (a - b));
    }
    by_halves(lanes)
}

/// The sum of many numbers, in parts.
#[inline(always)]
fn sum(values: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    let (whole, rest) = values.as_chunks::<LANES>();
    whole.iter().for_each(|values| lanes.iter_mut().zip(values).for_each(|(lane, value)| *lane += value));
    by_halves(lanes) + rest.iter().sum::<f64>()
}

#[inline(always)]
fn by_halves(lanes: [f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

#[simd_dispatch]
fn pull_rows<T: FastFloat, const D: usize>(links: &Links, rows: Rows, dim: usize) -> f64 {
    let dim = if D > 0 { D } else { dim };
    let Rows { first, pulls: mut rest, diagonal, gradient } = rows;
    let (mut q, mut likelihood) = (Vec::new(), 0.0);
    let batches = diagonal.chunks_mut(BATCH).zip(gradient.chunks_mut(BATCH * dim));
    for (batch, (diagonal, gradient)) in batches.enumerate() {
        let (first, rows) = (first + batch * BATCH, diagonal.len());
        let range = links.range(first, rows);
        let (pulls, tail) = std::mem::take(&mut rest).split_at_mut(range.len());
        rest = tail;
        q.resize(range.len(), 0.0);
        links.squares_and_widths::<D>(first..first + rows, dim, &mut q, pulls);
        let (weights, near2) = (&links.weights[range.clone()], &links.near2[range.clone()]);
        let count = pulls.len();
        let (terms, weights, near2) = (&mut q[..count], &weights[..count], &near2[..count]);
        for at in 0..count {
            let inverse = 1.0 / (near2[at] + pulls[at]);
            pulls[at] = weights[at] * inverse;
            // ln P = (d ln(delta^2/s) - q/s) / 2.
            let ln = T::from_f64(near2[at] * inverse).ln().to_f64();
            terms[at] = weights[at] * (dim as f64 * ln - terms[at] * inverse);
        }
        // Each pair is met from both its ends, hence one half more.
        likelihood += 0.25 * sum(terms);
        for (local, (diagonal, gradient)) in diagonal.iter_mut().zip(gradient.chunks_exact_mut(dim)).enumerate() {
            let row = links.range(first + local, 1);
            let own = &links.ends[(first + local) * (dim + 1)..][..dim];
            // In registers, where their number is known.
            let (mut sums, mut total) = ([0.0; D], 0.0);
            sums.copy_from_slice(&gradient[..D]);
            let pulls = &pulls[row.start - range.start..row.end - range.start];
            for (&j, pull) in links.indices[row].iter().zip(pulls) {
                let other = &links.ends[j as usize * (dim + 1)..][..dim];
                let sums = if D > 0 { &mut sums[..] } else { &mut *gradient };
                for c in 0..dim {
                    sums[c] -= pull * (own[c] - other[c]);
                }
                total += pull;
            }
            gradient[..D].copy_from_slice(&sums);
            *diagonal = total;
        }
    }
    likelihood
}

#[simd_dispatch]
fn spread_rows<const D: usize>(links: &Links, pulls: &[f64], first: usize, out: &mut [f64], dim: usize) {
    let dim = if D > 0 { D } else { dim };
    let range = links.range(first, out.len());
    let mut q = Vec::new();
    links.squares::<D>(first, out.len(), dim, &mut q);
    let (weights, pulls) = (&links.weights[range.clone()], &pulls[range.clone()]);
    let (q, pulls) = (&mut q[..weights.len()], &pulls[..weights.len()]);
    for at in 0..weights.len() {
        // W = S / s.
        q[at] = pulls[at] * (q[at] * pulls[at] / weights[at] - dim as f64);
    }
    for (local, out) in out.iter_mut().enumerate() {
        let row = links.range(first + local, 1);
        *out = q[row.start - range.start..row.end - range.start].iter().sum();
    }
}
