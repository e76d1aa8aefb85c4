//! Similar pairs: the E-step along the edges of the graph, and the matrix of the M-step (Saul 2020, eqs 16, 18, 19).

use std::ops::Range;

use lowland_core::simd::simd_dispatch;
use rayon::prelude::*;

use lowland_core::Result;
use lowland_core::simd::FastFloat;
use lowland_linalg::Csr;

/// Rows per task.
const ROWS: usize = 64;
/// Rows whose links are processed together: few enough that the means they refer to are still cached on the second
/// read.
const BATCH: usize = 16;

/// Symmetric links with their weights `S + S'` and squared length scales `delta_ij^2`.
#[derive(Debug, Clone)]
pub(super) struct SimilarPairs {
    weights: Csr,
    scales2: Vec<f64>,
}

/// The inputs of a task.
struct LinkInputs<'a> {
    indptr: &'a [usize],
    indices: &'a [u32],
    weights: &'a [f64],
    scales2: &'a [f64],
    /// One row per point, which starts with its mean.
    endpoints: &'a [f64],
}

/// The outputs of a task for the M-step.
struct MStepRows<'a> {
    first: usize,
    attraction: &'a mut [f64],
    diagonal: &'a mut [f64],
    gradient: &'a mut [f64],
}

/// Stores the mean and the variance of each point in one row, so that a link reads everything about its other end at
/// once.
pub(super) fn pack_endpoints(means: &[f64], variances: &[f64], dim: usize, endpoints: &mut Vec<f64>) {
    endpoints.resize(means.len() + variances.len(), 0.0);
    let rows = endpoints.par_chunks_exact_mut(dim + 1).zip(means.par_chunks_exact(dim)).zip(variances);
    rows.with_min_len(1 << 12).for_each(|((endpoint, mean), &variance)| {
        endpoint[..dim].copy_from_slice(mean);
        endpoint[dim] = variance;
    });
}

impl SimilarPairs {
    /// Builds the links from directed pairs `(i, j, S_ij, delta_ij^2)`. Pairs that occur more than once must have
    /// equal length scales.
    pub(super) fn new(n: usize, pairs: &[(u32, u32, f64, f64)]) -> Result<Self> {
        let both = |value: fn(f64, f64) -> f64| {
            pairs.iter().flat_map(move |&(i, j, w, scales2)| {
                let value = value(w, scales2);
                [(i, j, value), (j, i, value)]
            })
        };
        let weights = Csr::from_triplets(n, n, both(|w, _| w))?;
        let sums = Csr::from_triplets(n, n, both(|w, scales2| w * scales2))?;
        let scales2 = sums.values().iter().zip(weights.values()).map(|(lane_sum, w)| lane_sum / w).collect();
        Ok(Self { weights, scales2 })
    }

    /// Reorders the points; `old_rows` holds the previous index of each new row.
    pub(super) fn reorder(&mut self, old_rows: &[u32]) {
        let mut scales2 = self.weights.clone();
        scales2.values_mut().copy_from_slice(&self.scales2);
        self.scales2 = scales2.renumber(old_rows).values().to_vec();
        self.weights.renumber_in_place(old_rows);
    }

    /// For each point, `sum_j (S_ij + S_ji)`.
    pub(super) fn weight_sums(&self) -> Vec<f64> {
        self.weights.row_sums()
    }

    /// The weights `S + S'`.
    pub(super) fn weights(&self) -> &Csr {
        &self.weights
    }

    pub(super) fn pairs(&self) -> Vec<(u32, u32, f64, f64)> {
        let pairs = self.weights.iter().zip(&self.scales2).filter(|((i, j, _), _)| i < j);
        pairs.map(|((i, j, w), &scales2)| (i as u32, j as u32, w, scales2)).collect()
    }

    fn links<'a>(&'a self, endpoints: &'a [f64]) -> LinkInputs<'a> {
        LinkInputs {
            indptr: self.weights.indptr(),
            indices: self.weights.indices(),
            weights: self.weights.values(),
            scales2: &self.scales2,
            endpoints,
        }
    }

    /// Computes `W` of eq 18 for every link (`attraction`), its row sums (`diagonal`), and `gradient_i -= sum_j W_ij
    /// (mu_i - mu_j)`. Returns the pairs' contribution to the log-likelihood, with logarithms in the precision of
    /// `T`. `endpoints` comes from [`pack_endpoints`].
    pub(super) fn mean_terms<T: FastFloat>(
        &self,
        endpoints: &[f64],
        dim: usize,
        attraction: &mut [f64],
        diagonal: &mut [f64],
        gradient: &mut [f64],
    ) -> f64 {
        let links = self.links(endpoints);
        let mut rest = attraction;
        let mut tasks = Vec::with_capacity(diagonal.len().div_ceil(ROWS));
        let rows = diagonal.chunks_mut(ROWS).zip(gradient.chunks_mut(ROWS * dim));
        for (task, (diagonal, gradient)) in rows.enumerate() {
            let first = task * ROWS;
            let entries = links.range(first, diagonal.len()).len();
            let (attraction, tail) = std::mem::take(&mut rest).split_at_mut(entries);
            rest = tail;
            tasks.push(MStepRows { first, attraction, diagonal, gradient });
        }
        let parts: Vec<f64> = tasks
            .into_par_iter()
            .map(|rows| match dim {
                2 => mean_terms_of_rows::<T, 2>(&links, rows, dim),
                3 => mean_terms_of_rows::<T, 3>(&links, rows, dim),
                10 => mean_terms_of_rows::<T, 10>(&links, rows, dim),
                _ => mean_terms_of_rows::<T, 0>(&links, rows, dim),
            })
            .collect();
        parts.iter().sum()
    }

    /// `out_i = sum_j W_ij (|mu_i - mu_j|^2 / s_ij - d)`, with the `W` that [`SimilarPairs::mean_terms`] computed
    /// for these variances.
    pub(super) fn variance_terms(&self, means: &[f64], attraction: &[f64], dim: usize, out: &mut [f64]) {
        let links = self.links(means);
        out.par_chunks_mut(ROWS).enumerate().for_each(|(task, out)| match dim {
            2 => variance_terms_of_rows::<2>(&links, attraction, task * ROWS, out, dim),
            3 => variance_terms_of_rows::<3>(&links, attraction, task * ROWS, out, dim),
            10 => variance_terms_of_rows::<10>(&links, attraction, task * ROWS, out, dim),
            _ => variance_terms_of_rows::<0>(&links, attraction, task * ROWS, out, dim),
        });
    }
}

impl LinkInputs<'_> {
    /// The range of the links of some rows.
    #[inline(always)]
    fn range(&self, first: usize, rows: usize) -> Range<usize> {
        self.indptr[first]..self.indptr[first + rows]
    }

    /// `q = |mu_i - mu_j|^2` for all links of some rows.
    #[inline(always)]
    fn squared_distances<const D: usize>(&self, first: usize, rows: usize, dim: usize, q: &mut Vec<f64>) {
        let dim = if D > 0 { D } else { dim };
        q.resize(self.range(first, rows).len(), 0.0);
        let begin = self.indptr[first];
        for i in first..first + rows {
            let own = &self.endpoints[i * dim..(i + 1) * dim];
            let range = self.range(i, 1);
            for (q, &j) in q[range.start - begin..range.end - begin].iter_mut().zip(&self.indices[range]) {
                *q = squared_distance::<D>(own, &self.endpoints[j as usize * dim..(j as usize + 1) * dim]);
            }
        }
    }

    /// The same, and `sigma_i^2 + sigma_j^2`; the variances follow the means.
    #[inline(always)]
    fn squared_distances_and_variances<const D: usize>(
        &self,
        rows: Range<usize>,
        dim: usize,
        q: &mut [f64],
        variance_sums: &mut [f64],
    ) {
        let dim = if D > 0 { D } else { dim };
        let mut at = 0;
        for i in rows {
            let own = &self.endpoints[i * (dim + 1)..(i + 1) * (dim + 1)];
            for &j in &self.indices[self.range(i, 1)] {
                let other = &self.endpoints[j as usize * (dim + 1)..(j as usize + 1) * (dim + 1)];
                q[at] = squared_distance::<D>(&own[..dim], &other[..dim]);
                variance_sums[at] = own[dim] + other[dim];
                at += 1;
            }
        }
    }
}

/// Number of partial sums: as many as fill a vector.
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
    sum_lanes(lanes)
}

/// The sum of many numbers, in lanes.
#[inline(always)]
fn lane_sum(values: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    let (whole, rest) = values.as_chunks::<LANES>();
    whole.iter().for_each(|values| lanes.iter_mut().zip(values).for_each(|(lane, value)| *lane += value));
    sum_lanes(lanes) + rest.iter().sum::<f64>()
}

#[inline(always)]
fn sum_lanes(lanes: [f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

#[simd_dispatch]
fn mean_terms_of_rows<T: FastFloat, const D: usize>(links: &LinkInputs, rows: MStepRows, dim: usize) -> f64 {
    let dim = if D > 0 { D } else { dim };
    let MStepRows { first, attraction: mut rest, diagonal, gradient } = rows;
    let (mut q, mut likelihood) = (Vec::new(), 0.0);
    let batches = diagonal.chunks_mut(BATCH).zip(gradient.chunks_mut(BATCH * dim));
    for (batch, (diagonal, gradient)) in batches.enumerate() {
        let (first, rows) = (first + batch * BATCH, diagonal.len());
        let range = links.range(first, rows);
        let (attraction, tail) = std::mem::take(&mut rest).split_at_mut(range.len());
        rest = tail;
        q.resize(range.len(), 0.0);
        links.squared_distances_and_variances::<D>(first..first + rows, dim, &mut q, attraction);
        let (weights, scales2) = (&links.weights[range.clone()], &links.scales2[range.clone()]);
        let count = attraction.len();
        let (terms, weights, scales2) = (&mut q[..count], &weights[..count], &scales2[..count]);
        for at in 0..count {
            let inverse = 1.0 / (scales2[at] + attraction[at]);
            attraction[at] = weights[at] * inverse;
            // ln P = (d ln(delta^2/s) - q/s) / 2.
            let ln = T::from_f64(scales2[at] * inverse).ln().to_f64();
            terms[at] = weights[at] * (dim as f64 * ln - terms[at] * inverse);
        }
        // Every pair is visited from both ends, hence another factor of one half.
        likelihood += 0.25 * lane_sum(terms);
        for (local, (diagonal, gradient)) in diagonal.iter_mut().zip(gradient.chunks_exact_mut(dim)).enumerate() {
            let row = links.range(first + local, 1);
            let own = &links.endpoints[(first + local) * (dim + 1)..][..dim];
            // In registers if the number of dimensions is known.
            let (mut sums, mut total) = ([0.0; D], 0.0);
            sums.copy_from_slice(&gradient[..D]);
            let attraction = &attraction[row.start - range.start..row.end - range.start];
            for (&j, mean_terms) in links.indices[row].iter().zip(attraction) {
                let other = &links.endpoints[j as usize * (dim + 1)..][..dim];
                let sums = if D > 0 { &mut sums[..] } else { &mut *gradient };
                for c in 0..dim {
                    sums[c] -= mean_terms * (own[c] - other[c]);
                }
                total += mean_terms;
            }
            gradient[..D].copy_from_slice(&sums);
            *diagonal = total;
        }
    }
    likelihood
}

#[simd_dispatch]
fn variance_terms_of_rows<const D: usize>(
    links: &LinkInputs,
    attraction: &[f64],
    first: usize,
    out: &mut [f64],
    dim: usize,
) {
    let dim = if D > 0 { D } else { dim };
    let range = links.range(first, out.len());
    let mut q = Vec::new();
    links.squared_distances::<D>(first, out.len(), dim, &mut q);
    let (weights, attraction) = (&links.weights[range.clone()], &attraction[range.clone()]);
    let (q, attraction) = (&mut q[..weights.len()], &attraction[..weights.len()]);
    for at in 0..weights.len() {
        // W = S / s.
        q[at] = attraction[at] * (q[at] * attraction[at] / weights[at] - dim as f64);
    }
    for (local, out) in out.iter_mut().enumerate() {
        let row = links.range(first + local, 1);
        *out = q[row.start - range.start..row.end - range.start].iter().sum();
    }
}
