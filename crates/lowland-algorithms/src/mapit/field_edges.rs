//! The part of the released program's field that is a sum over edges.

use lowland_core::simd::simd_dispatch;
use rayon::prelude::*;

use super::SimilarityKernel;
use super::edges::{dispatch_by_kernel, similarity, sum_in_order};
use super::neighborhoods::Neighborhoods;
use crate::objective::edge_sums::{EdgeBlock, EdgeCoefficients, PaddedPoints, ROWS, sum_over_edges};
use lowland_core::simd::{Simd, SimdKernel, run_kernel};

/// Adds sums over edges to `2 d` numbers for each row: `sum_j w_ij S_ij (y_i - y_j)`, with the neighbor's marginal `p_j` in
/// place of `w_ij` for aligned pairs, then `sum_j (K_ij - q_j) S_ij (y_i - y_j)` over these only. `S = -K'`. With
/// `counted`, all pairs are contained in `out` already, and a neighbor's own affinity is subtracted again. Returns the sum of
/// `w_ij K_ij` over all edges, with their own weights.
pub(super) fn add_field_edges(
    graph: &Neighborhoods,
    map_marginals: &[f64],
    counted: bool,
    points: PaddedPoints,
    similarity: SimilarityKernel,
    out: &mut [f64],
) -> f64 {
    let chunks = out.par_chunks_mut(ROWS * 2 * points.y.dim()).enumerate();
    let parts = chunks.map(|(at, out)| {
        let first = at * ROWS;
        dispatch_by_kernel!(
            field_rows,
            points.y,
            similarity,
            (FieldSums { graph, map_marginals, counted, points, first, out })
        )
    });
    sum_in_order(parts.collect())[0]
}

#[simd_dispatch]
fn field_rows<const D: usize, const T: bool>(sums: FieldSums<D, T>) -> [f64; 1] {
    run_kernel(sums)
}

/// The sums of [`add_field_edges`] for the rows from `first` on, as many as `out` holds.
pub(super) struct FieldSums<'a, const D: usize, const T: bool> {
    pub graph: &'a Neighborhoods,
    pub map_marginals: &'a [f64],
    pub counted: bool,
    pub points: PaddedPoints<'a>,
    pub first: usize,
    pub out: &'a mut [f64],
}

impl<const D: usize, const T: bool> SimdKernel for FieldSums<'_, D, T> {
    type Output = [f64; 1];

    #[inline(always)]
    fn run<F: Simd>(self, fours: F) -> [f64; 1] {
        let (graph, aligned, d) = (self.graph, self.graph.aligned(), self.points.y.dim());
        let mut far = NonNeighborCoefficients::<F, T> { value: fours.splat(0.0) };
        let mut near = NeighborCoefficients::<F, T> {
            marginals: &graph.marginals,
            map_marginals: self.map_marginals,
            counted: fours.splat(f64::from(u8::from(self.counted))),
            value: fours.splat(0.0),
        };
        for (i, out) in (self.first..).zip(self.out.chunks_exact_mut(2 * d)) {
            sum_over_edges::<F, D, 1>(fours, self.points, i, graph.others.row(i), &mut far, &mut out[..d]);
            sum_over_edges::<F, D, 2>(fours, self.points, i, aligned.row(i), &mut near, out);
        }
        [fours.sum(far.value) + fours.sum(near.value)]
    }
}

/// The coefficients `w_ij S_ij` of non-neighbors.
struct NonNeighborCoefficients<F: Simd, const T: bool> {
    value: F::F64x4,
}

impl<F: Simd, const T: bool> EdgeCoefficients<F, 1> for NonNeighborCoefficients<F, T> {
    #[inline(always)]
    fn of_block(&mut self, fours: F, edges: &EdgeBlock<F>) -> [F::F64x4; 1] {
        let [similarity, slope] = similarity::<F, T>(fours, edges.squares);
        self.value = fours.add(self.value, fours.mul(edges.weights, similarity));
        [fours.mul(edges.weights, slope)]
    }
}

/// The coefficients of neighbors: `(p_j - w_ij) S_ij`, without `w_ij` if it was not counted, and `(K_ij - q_j) S_ij`.
struct NeighborCoefficients<'a, F: Simd, const T: bool> {
    marginals: &'a [f64],
    map_marginals: &'a [f64],
    /// One if all pairs were counted, else zero.
    counted: F::F64x4,
    value: F::F64x4,
}

impl<F: Simd, const T: bool> EdgeCoefficients<F, 2> for NeighborCoefficients<'_, F, T> {
    #[inline(always)]
    fn of_block(&mut self, fours: F, edges: &EdgeBlock<F>) -> [F::F64x4; 2] {
        let [similarity, slope] = similarity::<F, T>(fours, edges.squares);
        self.value = fours.add(self.value, fours.mul(edges.weights, similarity));
        let own = fours.mul(self.counted, edges.weights);
        let attraction = fours.sub(edges.of_ends(fours, self.marginals), own);
        let repulsion = fours.sub(similarity, edges.of_ends(fours, self.map_marginals));
        [fours.mul(attraction, slope), fours.mul(repulsion, slope)]
    }
}
