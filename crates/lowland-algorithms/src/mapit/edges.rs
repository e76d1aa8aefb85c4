//! Sums over the edges of neighborhoods.

use lowland_core::simd::simd_dispatch;
use rayon::prelude::*;

use super::SimilarityKernel;
use crate::objective::edge_sums::{EdgeBlock, EdgeCoefficients, PaddedPoints, ROWS, sum_over_edges};
use lowland_core::simd::exp;
use lowland_core::simd::{Simd, SimdKernel, run_kernel};
use lowland_linalg::Csr;

/// Returns the similarity `K(s)` and its slope `-K'(s)`, where `s` are the squared lengths of some edges. `T` selects the t
/// distribution rather than the Gaussian.
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

/// Calls the instance of a generic function for the map's dimension and the similarity.
macro_rules! dispatch_by_kernel {
    ($function:ident, $y:expr, $similarity:expr, ($($argument:expr),*)) => {
        match ($y.dim(), $similarity) {
            (1, SimilarityKernel::Student) => $function::<1, true>($($argument),*),
            (2, SimilarityKernel::Student) => $function::<2, true>($($argument),*),
            (3, SimilarityKernel::Student) => $function::<3, true>($($argument),*),
            (_, SimilarityKernel::Student) => $function::<0, true>($($argument),*),
            (1, SimilarityKernel::Gaussian) => $function::<1, false>($($argument),*),
            (2, SimilarityKernel::Gaussian) => $function::<2, false>($($argument),*),
            (3, SimilarityKernel::Gaussian) => $function::<3, false>($($argument),*),
            (_, SimilarityKernel::Gaussian) => $function::<0, false>($($argument),*),
        }
    };
}

pub(super) use dispatch_by_kernel;

/// Returns the sums of the chunks' results, added in order.
pub(super) fn sum_in_order<const C: usize>(parts: Vec<[f64; C]>) -> [f64; C] {
    parts.iter().fold([0.0; C], |sum, part| std::array::from_fn(|c| sum[c] + part[c]))
}

/// Writes `marginals[i] = sum_j K_ij` over the edges of each row; returns the sums of `w_ij K_ij` and of `K_ij^2` over all
/// edges.
pub(super) fn sum_marginals(
    graph: &Csr,
    points: PaddedPoints,
    similarity: SimilarityKernel,
    marginals: &mut [f64],
) -> [f64; 2] {
    let chunks = marginals.par_chunks_mut(ROWS).enumerate();
    let parts = chunks.map(|(at, out)| {
        let first = at * ROWS;
        dispatch_by_kernel!(marginal_rows, points.y, similarity, (MarginalSums { graph, points, first, out }))
    });
    sum_in_order(parts.collect())
}

#[simd_dispatch]
fn marginal_rows<const D: usize, const T: bool>(sums: MarginalSums<D, T>) -> [f64; 2] {
    run_kernel(sums)
}

/// The sums of [`sum_marginals`] for the rows from `first` on, as many as `out` holds.
pub(super) struct MarginalSums<'a, const D: usize, const T: bool> {
    pub graph: &'a Csr,
    pub points: PaddedPoints<'a>,
    pub first: usize,
    pub out: &'a mut [f64],
}

impl<const D: usize, const T: bool> SimdKernel for MarginalSums<'_, D, T> {
    type Output = [f64; 2];

    #[inline(always)]
    fn run<F: Simd>(self, fours: F) -> [f64; 2] {
        let zero = fours.splat(0.0);
        let mut sums = MarginalCoefficients::<F, T> { row: zero, weighted: zero, squares: zero };
        for (i, out) in (self.first..).zip(self.out) {
            sums.row = zero;
            sum_over_edges::<F, D, 0>(fours, self.points, i, self.graph.row(i), &mut sums, &mut []);
            *out = fours.sum(sums.row);
        }
        [fours.sum(sums.weighted), fours.sum(sums.squares)]
    }
}

/// Accumulates `sum K` of a row, and `sum w K` and `sum K^2` of all rows.
struct MarginalCoefficients<F: Simd, const T: bool> {
    row: F::F64x4,
    weighted: F::F64x4,
    squares: F::F64x4,
}

impl<F: Simd, const T: bool> EdgeCoefficients<F, 0> for MarginalCoefficients<F, T> {
    #[inline(always)]
    fn of_block(&mut self, fours: F, edges: &EdgeBlock<F>) -> [F::F64x4; 0] {
        let [similarity, _] = similarity::<F, T>(fours, edges.squares);
        let similarity = fours.mul(edges.present, similarity);
        self.row = fours.add(self.row, similarity);
        self.weighted = fours.add(self.weighted, fours.mul(edges.weights, similarity));
        self.squares = fours.add(self.squares, fours.mul(similarity, similarity));
        []
    }
}

/// Adds `sum_j w_ij (here_i + there_j) S_ij (y_i - y_j)` to every row; returns the sum of `w_ij K_ij`.
pub(super) fn add_weighted(
    graph: &Csr,
    here: &[f64],
    there: &[f64],
    points: PaddedPoints,
    similarity: SimilarityKernel,
    out: &mut [f64],
) -> f64 {
    let chunks = out.par_chunks_mut(ROWS * points.y.dim()).enumerate();
    let parts = chunks.map(|(at, out)| {
        let first = at * ROWS;
        dispatch_by_kernel!(
            weighted_rows,
            points.y,
            similarity,
            (WeightedSums { graph, here, there, points, first, out })
        )
    });
    sum_in_order(parts.collect())[0]
}

#[simd_dispatch]
fn weighted_rows<const D: usize, const T: bool>(sums: WeightedSums<D, T>) -> [f64; 1] {
    run_kernel(sums)
}

/// The sums of [`add_weighted`] for the rows from `first` on, as many as `out` holds.
pub(super) struct WeightedSums<'a, const D: usize, const T: bool> {
    pub graph: &'a Csr,
    pub here: &'a [f64],
    pub there: &'a [f64],
    pub points: PaddedPoints<'a>,
    pub first: usize,
    pub out: &'a mut [f64],
}

impl<const D: usize, const T: bool> SimdKernel for WeightedSums<'_, D, T> {
    type Output = [f64; 1];

    #[inline(always)]
    fn run<F: Simd>(self, fours: F) -> [f64; 1] {
        let mut sums =
            WeightedCoefficients::<F, T> { here: fours.splat(0.0), there: self.there, value: fours.splat(0.0) };
        for (i, out) in (self.first..).zip(self.out.chunks_exact_mut(self.points.y.dim())) {
            sums.here = fours.splat(self.here[i]);
            sum_over_edges::<F, D, 1>(fours, self.points, i, self.graph.row(i), &mut sums, out);
        }
        [fours.sum(sums.value)]
    }
}

/// The coefficients `w_ij (here_i + there_j) S_ij`; accumulates the sum of `w_ij K_ij`.
struct WeightedCoefficients<'a, F: Simd, const T: bool> {
    here: F::F64x4,
    there: &'a [f64],
    value: F::F64x4,
}

impl<F: Simd, const T: bool> EdgeCoefficients<F, 1> for WeightedCoefficients<'_, F, T> {
    #[inline(always)]
    fn of_block(&mut self, fours: F, edges: &EdgeBlock<F>) -> [F::F64x4; 1] {
        let [similarity, slope] = similarity::<F, T>(fours, edges.squares);
        self.value = fours.add(self.value, fours.mul(edges.weights, similarity));
        let both = fours.add(self.here, edges.of_ends(fours, self.there));
        [fours.mul(fours.mul(edges.weights, both), slope)]
    }
}
