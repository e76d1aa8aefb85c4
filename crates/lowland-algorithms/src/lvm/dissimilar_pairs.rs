//! Dissimilar pairs: groups of points in which every ordered pair should be kept apart.
//!
//! A group is a cell of points, a set of landmarks, or all points. Its pair (i, j) has the weight `D_ij = w_i w_j`
//! (Saul 2020, eq 25) and the length scale `Delta_ij = A_i + B_j` (eq 26, see `coarse_graining`), so a group of m
//! points is described by 3m numbers: the row scales A, the column scales B, and the weights w. Pairs that are
//! adjacent in the neighbor graph need not be dissimilar; those are listed as excluded.

use rayon::prelude::*;

use super::block_layout::{PairBlock, RowStrip, SumLocation, index_locations, split_into_strips};
use super::coarse_graining::DissimilarGroup;
use super::excluded_pairs::{ExcludedPairs, excluded_pairs, padded_len};
use super::kernel::{BlockInputs, PairSum, sum_rows};
use super::training_pairs::AdjacencyRule;
use lowland_core::inverse_permutation;
use lowland_core::simd::FastFloat;
use lowland_linalg::Csr;

/// All groups in the layout of the E-step, with the points padded to whole vectors.
#[derive(Debug, Clone)]
pub(super) struct DissimilarPairs {
    blocks: Vec<PairBlock>,
    /// The points of all groups, one group after another, padded.
    members: Vec<u32>,
    row_scales: Vec<f64>,
    column_scales: Vec<f64>,
    /// The number of represented points times the square root of the dissimilarity weight; 0 in the padding.
    weights: Vec<f64>,
    /// The excluded pairs of every padded point.
    excluded: ExcludedPairs,
    strips: Vec<RowStrip>,
    /// Where the sums of each point are stored among the sums of all strips: a range per point, then the locations.
    location_starts: Vec<u32>,
    locations: Vec<SumLocation>,
    /// For each point, `sum_j (D_ij + D_ji)`.
    weight_sums: Vec<f64>,
}

impl DissimilarPairs {
    /// Builds the pairs of `groups` over the points of the graph `edges`.
    pub(super) fn new(groups: &[DissimilarGroup], edges: &Csr, adjacency: AdjacencyRule) -> Self {
        let points = edges.rows();
        let mut blocks = Vec::new();
        let (mut members, mut row_scales, mut column_scales, mut weights) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (mut excluded, mut weight_sums) = (ExcludedPairs::default(), vec![0.0; points]);
        for group in groups {
            let (start, len) = (members.len(), group.members.len());
            let padded_len = padded_len(len);
            let alike = |values: &[f64], value: f64| values.iter().all(|v| *v == value);
            let uniform = alike(&group.counts, group.counts[0]) && alike(&group.column_scales, 0.0);
            blocks.push(PairBlock { start, len, padded_len, uniform });
            let pad = padded_len - len;
            // Padding repeats an existing point with weight zero.
            members.extend(group.members.iter().copied().chain(std::iter::repeat_n(group.members[0], pad)));
            row_scales.extend(group.row_scales.iter().copied().chain(std::iter::repeat_n(1.0, pad)));
            column_scales.extend(group.column_scales.iter().copied().chain(std::iter::repeat_n(0.0, pad)));
            weights.extend(group.counts.iter().copied().chain(std::iter::repeat_n(0.0, pad)));
            let total: f64 = group.counts.iter().sum();
            for (&point, count) in group.members.iter().zip(&group.counts) {
                weight_sums[point as usize] += 2.0 * count * (total - count);
            }
            let mut pairs = excluded_pairs(group, edges, adjacency).into_iter().peekable();
            for i in 0..padded_len {
                while let Some((_, code)) = pairs.next_if(|pair| pair.0 as usize == i) {
                    let j = code as usize / 2;
                    for point in [group.members[i], group.members[j]] {
                        weight_sums[point as usize] -= group.counts[i] * group.counts[j];
                    }
                    excluded.add(i, j, code as usize % 2);
                }
                excluded.end_point();
            }
        }
        let strips: Vec<RowStrip> =
            blocks.iter().enumerate().flat_map(|(at, block)| split_into_strips(at, *block)).collect();
        let (location_starts, locations) = index_locations(points, &blocks, &strips, &members);
        Self {
            blocks,
            members,
            row_scales,
            column_scales,
            weights,
            excluded,
            strips,
            location_starts,
            locations,
            weight_sums,
        }
    }

    /// Multiplies the weights of all pairs by `factor`.
    pub(super) fn scale(&mut self, factor: f64) {
        self.weights.iter_mut().for_each(|w| *w *= factor.sqrt());
        self.weight_sums.iter_mut().for_each(|sum| *sum *= factor);
    }

    /// Reorders the points; `old_rows` holds the previous index of each new row.
    pub(super) fn reorder(&mut self, old_rows: &[u32]) {
        let new_rows = inverse_permutation(old_rows);
        self.members.iter_mut().for_each(|member| *member = new_rows[*member as usize]);
        (self.location_starts, self.locations) =
            index_locations(old_rows.len(), &self.blocks, &self.strips, &self.members);
        self.weight_sums = old_rows.iter().map(|&row| self.weight_sums[row as usize]).collect();
    }

    /// For each point, `sum_j (D_ij + D_ji)`.
    pub(super) fn weight_sums(&self) -> &[f64] {
        &self.weight_sums
    }

    /// Every ordered pair that is not excluded: `(i, j, D_ij, Delta_ij)`.
    pub(super) fn pairs(&self) -> Vec<(u32, u32, f64, f64)> {
        let mut out = Vec::new();
        for block in &self.blocks {
            for i in 0..block.len {
                for (j, direction) in (i + 1..block.len).flat_map(|j| [(j, 0), (j, 1)]) {
                    if !self.excluded.has(block.start + i, i, j, direction) {
                        let (from, to) = if direction == 0 { (i, j) } else { (j, i) };
                        let (from, to) = (block.start + from, block.start + to);
                        let weight = self.weights[from] * self.weights[to];
                        out.push((
                            self.members[from],
                            self.members[to],
                            weight,
                            self.row_scales[from] + self.column_scales[to],
                        ));
                    }
                }
            }
        }
        out
    }

    /// The E-step over all dissimilar pairs, in the precision of `T`. Fills the workspace, from which
    /// [`DissimilarPairs::add_sums`] reads. Returns the pairs' contribution to the log-likelihood if
    /// [`PairSum::MeanGradient`] was requested, 0 otherwise.
    pub(super) fn evaluate<T: FastFloat>(
        &self,
        requested: PairSum,
        means: &[f64],
        variances: &[f64],
        dim: usize,
        workspace: &mut DissimilarWorkspace<T>,
    ) -> f64 {
        let columns = requested.columns(dim);
        // The inputs are stored by block and by column, so that pairs are evaluated along contiguous memory.
        let columns_per_point = dim + 4;
        workspace.inputs.resize(self.members.len() * columns_per_point, T::default());
        let stale = std::mem::replace(&mut workspace.stale, StaleInputs::Variances);
        let inputs: Vec<&mut [T]> = split_by_lengths(
            &mut workspace.inputs,
            self.blocks.iter().map(|block| block.padded_len * columns_per_point),
        )
        .collect();
        let inputs: Vec<&[T]> = inputs
            .into_par_iter()
            .zip(&self.blocks)
            .with_min_len(16)
            .map(|(input, block)| {
                self.fill_input(*block, means, variances, dim, stale, input);
                &*input
            })
            .collect();
        let lengths = self.strips.iter().map(|strip| self.blocks[strip.block].padded_len * columns);
        workspace.sums.resize(lengths.clone().sum(), T::default());
        let slices: Vec<&mut [T]> = split_by_lengths(&mut workspace.sums, lengths).collect();
        let parts: Vec<f64> = self
            .strips
            .par_iter()
            .zip(slices)
            .map(|(strip, out)| {
                let block = self.blocks[strip.block];
                let (coordinates, rest) = inputs[strip.block].split_at(block.padded_len * dim);
                let mut columns = rest.chunks_exact(block.padded_len);
                let mut next = || columns.next().expect("one column of each kind");
                let input = BlockInputs {
                    coordinates,
                    variances: next(),
                    row_scales: next(),
                    column_scales: next(),
                    weights: next(),
                    excluded_starts: &self.excluded.starts[block.start..=block.start + block.padded_len],
                    excluded_tiles: &self.excluded.tiles,
                    len: block.len,
                    uniform: block.uniform,
                    dim,
                };
                out.fill(T::default());
                sum_rows(requested, &input, strip.first, strip.last, out)
            })
            .collect();
        parts.iter().sum()
    }

    /// Fills the inputs of a block: coordinates (relative to its first point, to keep precision in `f32`),
    /// variances, A, B, and weights.
    fn fill_input<T: FastFloat>(
        &self,
        block: PairBlock,
        means: &[f64],
        variances: &[f64],
        dim: usize,
        stale: StaleInputs,
        input: &mut [T],
    ) {
        let padded_len = block.padded_len;
        let members = &self.members[block.start..block.start + padded_len];
        let (coordinates, rest) = input.split_at_mut(padded_len * dim);
        let (variance_column, constants) = rest.split_at_mut(padded_len);
        if stale >= StaleInputs::Means {
            let origin = &means[members[0] as usize * dim..][..dim];
            for (local, &point) in members.iter().enumerate() {
                let mean = &means[point as usize * dim..][..dim];
                (0..dim).for_each(|c| coordinates[c * padded_len + local] = T::from_f64(mean[c] - origin[c]));
            }
        }
        variance_column.iter_mut().zip(members).for_each(|(out, &point)| *out = T::from_f64(variances[point as usize]));
        if stale >= StaleInputs::All {
            for (out, values) in
                constants.chunks_exact_mut(padded_len).zip([&self.row_scales, &self.column_scales, &self.weights])
            {
                out.iter_mut().zip(&values[block.start..]).for_each(|(out, value)| *out = T::from_f64(*value));
            }
        }
    }

    /// Adds the sums of a point over all strips to `out`, always in the same order.
    pub(super) fn add_sums<T: FastFloat>(&self, point: usize, workspace: &DissimilarWorkspace<T>, out: &mut [f64]) {
        let columns = out.len();
        let locations = &self.locations[self.location_starts[point] as usize..self.location_starts[point + 1] as usize];
        for location in locations {
            let start = location.strip as usize * columns + location.local as usize;
            for (c, out) in out.iter_mut().enumerate() {
                *out += workspace.sums[start + c * location.padded_len as usize].to_f64();
            }
        }
    }
}

/// Buffers of [`DissimilarPairs::evaluate`], reused between calls.
#[derive(Debug, Clone, Default)]
pub(super) struct DissimilarWorkspace<T> {
    inputs: Vec<T>,
    sums: Vec<T>,
    stale: StaleInputs,
}

/// Which inputs have changed since they were filled; later variants include the earlier ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum StaleInputs {
    Variances,
    Means,
    #[default]
    All,
}

impl<T> DissimilarWorkspace<T> {
    /// Marks the means as changed since the last evaluation.
    pub(super) fn invalidate_means(&mut self) {
        self.stale = self.stale.max(StaleInputs::Means);
    }
}

/// Splits a slice into pieces of the given lengths.
fn split_by_lengths<T>(mut rest: &mut [T], lengths: impl Iterator<Item = usize>) -> impl Iterator<Item = &mut [T]> {
    lengths.map(move |length| {
        let (head, tail) = std::mem::take(&mut rest).split_at_mut(length);
        rest = tail;
        head
    })
}
