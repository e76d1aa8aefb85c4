//! What MAP IT does among neighbours.

use rayon::prelude::*;

use super::Similarity;
use crate::objective::edges::{Edges, Places, ROWS, Weigh, over_edges};
use lowland_core::simd::exp;
use lowland_core::simd::{Simd, SimdKernel, run_kernel};
use lowland_linalg::Csr;

/// Similarity `K(s)` in the map, `s` the squared distances of some edges, and its slope `-K'(s)`. `T` tells the t distribution from
/// the Gaussian.
#[inline(always)]
pub(super) fn similarity<F: Simd, const T: bool>(fours: F, squares: F::F64x4) -> [F::F64x4; 2] {
    if T {
        let one = fours.splat(1.0);
        let similarity = fours.div(one, fours.add(one, squares));
        return [similarity, fours.mul(similarity, similarity)];
    }
    let mut similarity = fours.store(squares);
    for l in 0..4 {
        similarity[l] = exp(-similarity[l]);
    }
    [fours.load(similarity); 2]
}

/// Calls the version of a function for the map's dimension and the similarity.
macro_rules! by_kind {
    ($function:ident, $y:expr, $similarity:expr, ($($argument:expr),*)) => {
        match ($y.dim(), $similarity) {
            (1, Similarity::Student) => $function::<1, true>($($argument),*),
            (2, Similarity::Student) => $function::<2, true>($($argument),*),
            (3, Similarity::Student) => $function::<3, true>($($argument),*),
            (_, Similarity::Student) => $function::<0, true>($($argument),*),
            (1, Similarity::Gaussian) => $function::<1, false>($($argument),*),
            (2, Similarity::Gaussian) => $function::<2, false>($($argument),*),
            (3, Similarity::Gaussian) => $function::<3, false>($($argument),*),
            (_, Similarity::Gaussian) => $function::<0, false>($($argument),*),
        }
    };
}

pub(super) use by_kind;

/// Adds up what the chunks found, in their order.
pub(super) fn in_order<const C: usize>(parts: Vec<[f64; C]>) -> [f64; C] {
    parts.iter().fold([0.0; C], |sum, part| std::array::from_fn(|c| sum[c] + part[c]))
}

/// `marginals[i] = sum_j K_ij` over the edges of each row; returns the sums of `w_ij K_ij` and of `K_ij^2` over all.
pub(super) fn marginals(graph: &Csr, places: Places, similarity: Similarity, marginals: &mut [f64]) -> [f64; 2] {
    let chunks = marginals.par_chunks_mut(ROWS).enumerate();
    let parts = chunks.map(|(at, out)| by_kind!(marginal_rows, places.y, similarity, (graph, places, at * ROWS, out)));
    in_order(parts.collect())
}

fn marginal_rows<const D: usize, const T: bool>(
    graph: &Csr,
    places: Places,
    first: usize,
    out: &mut [f64],
) -> [f64; 2] {
    run_kernel(MarginalRows::<D, T> { graph, places, first, out })
}

pub(super) struct MarginalRows<'a, const D: usize, const T: bool> {
    pub graph: &'a Csr,
    pub places: Places<'a>,
    pub first: usize,
    pub out: &'a mut [f64],
}

impl<const D: usize, const T: bool> SimdKernel for MarginalRows<'_, D, T> {
    type Output = [f64; 2];

    #[inline(always)]
    fn run<F: Simd>(self, fours: F) -> [f64; 2] {
        let zero = fours.splat(0.0);
        let mut sums = Marginals::<F, T> { row: zero, weighted: zero, squares: zero };
        for (i, out) in (self.first..).zip(self.out) {
            sums.row = zero;
            over_edges::<F, D, 0>(fours, self.places, i, self.graph.row(i), &mut sums, &mut []);
            *out = fours.sum(sums.row);
        }
        [fours.sum(sums.weighted), fours.sum(sums.squares)]
    }
}

/// `sum K` of a row, and `sum w K` and `sum K^2` of all.
struct Marginals<F: Simd, const T: bool> {
    row: F::F64x4,
    weighted: F::F64x4,
    squares: F::F64x4,
}

impl<F: Simd, const T: bool> Weigh<F, 0> for Marginals<F, T> {
    #[inline(always)]
    fn coefficients(&mut self, fours: F, edges: &Edges<F>) -> [F::F64x4; 0] {
        let [similarity, _] = similarity::<F, T>(fours, edges.squares);
        let similarity = fours.mul(edges.present, similarity);
        self.row = fours.add(self.row, similarity);
        self.weighted = fours.add(self.weighted, fours.mul(edges.weights, similarity));
        self.squares = fours.add(self.squares, fours.mul(similarity, similarity));
        []
    }
}

/// Adds `sum_j w_ij (here_i + there_j) S_ij (y_i - y_j)` to every row; returns the sum of `w_ij K_ij`.
pub(super) fn weighted(
    graph: &Csr,
    here: &[f64],
    there: &[f64],
    places: Places,
    similarity: Similarity,
    out: &mut [f64],
) -> f64 {
    let chunks = out.par_chunks_mut(ROWS * places.y.dim()).enumerate();
    let arms = [here, there];
    let parts =
        chunks.map(|(at, out)| by_kind!(weighted_rows, places.y, similarity, (graph, arms, places, at * ROWS, out)));
    in_order(parts.collect())[0]
}

fn weighted_rows<const D: usize, const T: bool>(
    graph: &Csr,
    [here, there]: [&[f64]; 2],
    places: Places,
    first: usize,
    out: &mut [f64],
) -> [f64; 1] {
    run_kernel(WeightedRows::<D, T> { graph, here, there, places, first, out })
}

pub(super) struct WeightedRows<'a, const D: usize, const T: bool> {
    pub graph: &'a Csr,
    pub here: &'a [f64],
    pub there: &'a [f64],
    pub places: Places<'a>,
    pub first: usize,
    pub out: &'a mut [f64],
}

impl<const D: usize, const T: bool> SimdKernel for WeightedRows<'_, D, T> {
    type Output = [f64; 1];

    #[inline(always)]
    fn run<F: Simd>(self, fours: F) -> [f64; 1] {
        let mut sums = Weighted::<F, T> { here: fours.splat(0.0), there: self.there, value: fours.splat(0.0) };
        for (i, out) in (self.first..).zip(self.out.chunks_exact_mut(self.places.y.dim())) {
            sums.here = fours.splat(self.here[i]);
            over_edges::<F, D, 1>(fours, self.places, i, self.graph.row(i), &mut sums, out);
        }
        [fours.sum(sums.value)]
    }
}

/// `w_ij (here_i + there_j) S_ij`, and the sum of `w_ij K_ij`.
struct Weighted<'a, F: Simd, const T: bool> {
    here: F::F64x4,
    there: &'a [f64],
    value: F::F64x4,
}

impl<F: Simd, const T: bool> Weigh<F, 1> for Weighted<'_, F, T> {
    #[inline(always)]
    fn coefficients(&mut self, fours: F, edges: &Edges<F>) -> [F::F64x4; 1] {
        let [similarity, slope] = similarity::<F, T>(fours, edges.squares);
        self.value = fours.add(self.value, fours.mul(edges.weights, similarity));
        let both = fours.add(self.here, edges.of_ends(fours, self.there));
        [fours.mul(fours.mul(edges.weights, both), slope)]
    }
}
