//! What MAP IT's program adds up over edges.

use rayon::prelude::*;

use super::Similarity;
use super::edges::{by_kind, in_order, similarity};
use super::neighborhoods::Neighborhoods;
use crate::objective::edges::{Edges, Places, ROWS, Weigh, over_edges};
use lowland_core::simd::{Simd, SimdKernel, run_kernel};

/// What the program adds up over edges, added to `2 d` numbers for each row: `sum_j w_ij S_ij (y_i - y_j)`, with the
/// neighbour's marginal `p_j` for `w_ij` among neighbours, then `sum_j (K_ij - q_j) S_ij (y_i - y_j)` over the neighbours
/// alone. `S = -K'`. Where all pairs were `counted` already, a neighbour's own affinity is taken away again. Returns the
/// sum of `w_ij K_ij` over all edges, with their own weights.
pub(super) fn program(
    graph: &Neighborhoods,
    map_marginals: &[f64],
    counted: bool,
    places: Places,
    similarity: Similarity,
    out: &mut [f64],
) -> f64 {
    let chunks = out.par_chunks_mut(ROWS * 2 * places.y.dim()).enumerate();
    let parts = chunks
        .map(|(at, out)| by_kind!(rows, places.y, similarity, (graph, map_marginals, counted, places, at * ROWS, out)));
    in_order(parts.collect())[0]
}

fn rows<const D: usize, const T: bool>(
    graph: &Neighborhoods,
    map_marginals: &[f64],
    counted: bool,
    places: Places,
    first: usize,
    out: &mut [f64],
) -> [f64; 1] {
    run_kernel(Rows::<D, T> { graph, map_marginals, counted, places, first, out })
}

/// Some rows, from the first on.
pub(super) struct Rows<'a, const D: usize, const T: bool> {
    pub graph: &'a Neighborhoods,
    pub map_marginals: &'a [f64],
    pub counted: bool,
    pub places: Places<'a>,
    pub first: usize,
    pub out: &'a mut [f64],
}

impl<const D: usize, const T: bool> SimdKernel for Rows<'_, D, T> {
    type Output = [f64; 1];

    #[inline(always)]
    fn run<F: Simd>(self, fours: F) -> [f64; 1] {
        let (graph, d) = (self.graph, self.places.y.dim());
        let mut far = Far::<F, T> { value: fours.splat(0.0) };
        let mut near = Near::<F, T> {
            marginals: &graph.marginals,
            map_marginals: self.map_marginals,
            counted: fours.splat(f64::from(u8::from(self.counted))),
            value: fours.splat(0.0),
        };
        for (i, out) in (self.first..).zip(self.out.chunks_exact_mut(2 * d)) {
            over_edges::<F, D, 1>(fours, self.places, i, graph.others.row(i), &mut far, &mut out[..d]);
            over_edges::<F, D, 2>(fours, self.places, i, graph.near.row(i), &mut near, out);
        }
        [fours.sum(far.value) + fours.sum(near.value)]
    }
}

/// Non-neighbours: `w_ij S_ij`.
struct Far<F: Simd, const T: bool> {
    value: F::F64x4,
}

impl<F: Simd, const T: bool> Weigh<F, 1> for Far<F, T> {
    #[inline(always)]
    fn coefficients(&mut self, fours: F, edges: &Edges<F>) -> [F::F64x4; 1] {
        let [similarity, slope] = similarity::<F, T>(fours, edges.squares);
        self.value = fours.add(self.value, fours.mul(edges.weights, similarity));
        [fours.mul(edges.weights, slope)]
    }
}

/// Neighbours: `(p_j - w_ij) S_ij`, without `w_ij` where it was not counted, and `(K_ij - q_j) S_ij`.
struct Near<'a, F: Simd, const T: bool> {
    marginals: &'a [f64],
    map_marginals: &'a [f64],
    /// One where all pairs were counted, or zero.
    counted: F::F64x4,
    value: F::F64x4,
}

impl<F: Simd, const T: bool> Weigh<F, 2> for Near<'_, F, T> {
    #[inline(always)]
    fn coefficients(&mut self, fours: F, edges: &Edges<F>) -> [F::F64x4; 2] {
        let [similarity, slope] = similarity::<F, T>(fours, edges.squares);
        self.value = fours.add(self.value, fours.mul(edges.weights, similarity));
        let own = fours.mul(self.counted, edges.weights);
        let pull = fours.sub(edges.of_ends(fours, self.marginals), own);
        let push = fours.sub(similarity, edges.of_ends(fours, self.map_marginals));
        [fours.mul(pull, slope), fours.mul(push, slope)]
    }
}
