//! Sums over the edges of a graph, four at a time: what MAP IT does among neighbours.

use rayon::prelude::*;

use super::Similarity;
use crate::linalg::Csr;
use crate::nbody::simd::exp;
use crate::nbody::simd::fours::{self, Fours, Loop};
use crate::points::Points;

/// Rows handled at once: fixed, because the order of a sum depends on it.
pub(super) const ROWS: usize = 256;
/// The most dimensions in which a point is one vector.
const FEW: usize = 3;

/// Points of the map as edges look them up: in a few dimensions each is a vector, read at once.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    pub y: Points<'a>,
    vectors: &'a [[f64; 4]],
}

/// Memory for `Places`, kept from one map to the next.
#[derive(Default)]
pub(super) struct Room(Vec<[f64; 4]>);

impl Room {
    /// The places of a map.
    pub fn places<'a>(&'a mut self, y: Points<'a>) -> Places<'a> {
        let d = y.dim();
        self.0.resize(if d <= FEW { y.rows() } else { 0 }, [0.0; 4]);
        let rows = self.0.par_chunks_mut(ROWS).zip(y.values().par_chunks(ROWS * d));
        rows.for_each(|(vectors, rows)| {
            vectors.iter_mut().zip(rows.chunks_exact(d)).for_each(|(vector, row)| vector[..d].copy_from_slice(row));
        });
        Places { y, vectors: &self.0 }
    }
}

/// Four edges of a row; where there are fewer, the others lead back to their point, weigh nothing and are not present.
pub(super) struct Edges<F: Fours> {
    ends: [usize; 4],
    pub weights: F::Four,
    /// One or zero.
    pub present: F::Four,
    /// Similarity `K(s)` in the map, `s` the squared distance.
    pub similarity: F::Four,
    /// Its slope, `-K'(s)`.
    pub slope: F::Four,
}

impl<F: Fours> Edges<F> {
    /// The values of the points where the edges end.
    #[inline(always)]
    pub fn of_ends(&self, fours: F, values: &[f64]) -> F::Four {
        let [a, b, c, d] = self.ends;
        fours.load([values[a], values[b], values[c], values[d]])
    }
}

/// What edges are weighed by.
pub(super) trait Weigh<F: Fours, const C: usize> {
    /// `C` coefficients for each of four edges.
    fn coefficients(&mut self, fours: F, edges: &Edges<F>) -> [F::Four; C];
}

/// Adds to `sums[c]` the coefficients that the edges of row `i` have, times the ways `y_i - y_j`. `D` is the dimension, or
/// zero for any; `T` tells the t distribution from the Gaussian.
#[inline(always)]
pub(super) fn over_edges<F: Fours, const D: usize, const T: bool, const C: usize>(
    fours: F,
    places: Places,
    i: usize,
    (columns, values): (&[u32], &[f64]),
    weigh: &mut impl Weigh<F, C>,
    sums: &mut [f64],
) {
    let mut row = Row::<F, D, T, C>::new(fours, places, i);
    let (whole, rest) = columns.as_chunks::<4>();
    let (weights, rest_weights) = values.as_chunks::<4>();
    for (&[a, b, c, d], &weights) in whole.iter().zip(weights) {
        row.add([a as usize, b as usize, c as usize, d as usize], weights, [1.0; 4], weigh, sums);
    }
    if !rest.is_empty() {
        let (mut ends, mut weights, mut present) = ([i; 4], [0.0; 4], [0.0; 4]);
        // Not a copy of as many as there are: that would be a call.
        for l in 0..3 {
            if l < rest.len() {
                (ends[l], weights[l], present[l]) = (rest[l] as usize, rest_weights[l], 1.0);
            }
        }
        row.add(ends, weights, present, weigh, sums);
    }
    for c in 0..C {
        for k in 0..D {
            sums[c * D + k] += fours.sum(row.sums[c][k]);
        }
    }
}

/// The edges of a point, so far.
struct Row<'a, F: Fours, const D: usize, const T: bool, const C: usize> {
    fours: F,
    places: Places<'a>,
    i: usize,
    /// Its coordinates, each four times.
    here: [F::Four; D],
    sums: [[F::Four; D]; C],
}

impl<'a, F: Fours, const D: usize, const T: bool, const C: usize> Row<'a, F, D, T, C> {
    #[inline(always)]
    fn new(fours: F, places: Places<'a>, i: usize) -> Self {
        let mut here = [fours.splat(0.0); D];
        for k in 0..D {
            here[k] = fours.splat(places.vectors[i][k]);
        }
        Self { fours, places, i, here, sums: [[fours.splat(0.0); D]; C] }
    }

    /// Adds four edges; in any dimension, right into the sums.
    #[inline(always)]
    fn add(
        &mut self,
        ends: [usize; 4],
        weights: [f64; 4],
        present: [f64; 4],
        weigh: &mut impl Weigh<F, C>,
        sums: &mut [f64],
    ) {
        let fours = self.fours;
        let (apart, squares) = if D == 0 { ([fours.splat(0.0); D], self.any_squares(ends)) } else { self.apart(ends) };
        let similarity = similarity::<F, T>(fours, squares);
        let edges = Edges {
            ends,
            weights: fours.load(weights),
            present: fours.load(present),
            similarity,
            slope: if T { fours.mul(similarity, similarity) } else { similarity },
        };
        let coefficients = weigh.coefficients(fours, &edges);
        for c in 0..C {
            for k in 0..D {
                self.sums[c][k] = fours.add(self.sums[c][k], fours.mul(coefficients[c], apart[k]));
            }
            if D == 0 {
                let (y, coefficients) = (self.places.y, fours.store(coefficients[c]));
                let sums = &mut sums[c * y.dim()..][..y.dim()];
                for l in 0..4 {
                    let (here, there) = (y.row(self.i), y.row(ends[l]));
                    for (k, sum) in sums.iter_mut().enumerate() {
                        *sum += coefficients[l] * (here[k] - there[k]);
                    }
                }
            }
        }
    }

    /// The ways from four ends to the point, coordinate by coordinate, and their squared lengths.
    #[inline(always)]
    fn apart(&self, [a, b, c, d]: [usize; 4]) -> ([F::Four; D], F::Four) {
        let (fours, vectors) = (self.fours, self.places.vectors);
        let rows = [fours.load(vectors[a]), fours.load(vectors[b]), fours.load(vectors[c]), fours.load(vectors[d])];
        let there = fours.transpose(rows);
        let (mut apart, mut squares) = ([fours.splat(0.0); D], fours.splat(0.0));
        for k in 0..D {
            apart[k] = fours.sub(self.here[k], there[k]);
            squares = fours.add(squares, fours.mul(apart[k], apart[k]));
        }
        (apart, squares)
    }

    /// The squared lengths in any dimension.
    #[inline(always)]
    fn any_squares(&self, ends: [usize; 4]) -> F::Four {
        let (here, mut squares) = (self.places.y.row(self.i), [0.0; 4]);
        for l in 0..4 {
            let there = self.places.y.row(ends[l]);
            for k in 0..here.len() {
                squares[l] += (here[k] - there[k]) * (here[k] - there[k]);
            }
        }
        self.fours.load(squares)
    }
}

#[inline(always)]
fn similarity<F: Fours, const T: bool>(fours: F, squares: F::Four) -> F::Four {
    if T {
        let one = fours.splat(1.0);
        return fours.div(one, fours.add(one, squares));
    }
    let mut similarity = fours.store(squares);
    for l in 0..4 {
        similarity[l] = exp(-similarity[l]);
    }
    fours.load(similarity)
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
    fours::run(MarginalRows::<D, T> { graph, places, first, out })
}

struct MarginalRows<'a, const D: usize, const T: bool> {
    graph: &'a Csr,
    places: Places<'a>,
    first: usize,
    out: &'a mut [f64],
}

impl<const D: usize, const T: bool> Loop for MarginalRows<'_, D, T> {
    type Output = [f64; 2];

    #[inline(always)]
    fn run<F: Fours>(self, fours: F) -> [f64; 2] {
        let zero = fours.splat(0.0);
        let mut sums = Marginals::<F> { row: zero, weighted: zero, squares: zero };
        for (i, out) in (self.first..).zip(self.out) {
            sums.row = zero;
            over_edges::<F, D, T, 0>(fours, self.places, i, self.graph.row(i), &mut sums, &mut []);
            *out = fours.sum(sums.row);
        }
        [fours.sum(sums.weighted), fours.sum(sums.squares)]
    }
}

/// `sum K` of a row, and `sum w K` and `sum K^2` of all.
struct Marginals<F: Fours> {
    row: F::Four,
    weighted: F::Four,
    squares: F::Four,
}

impl<F: Fours> Weigh<F, 0> for Marginals<F> {
    #[inline(always)]
    fn coefficients(&mut self, fours: F, edges: &Edges<F>) -> [F::Four; 0] {
        let similarity = fours.mul(edges.present, edges.similarity);
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
    fours::run(WeightedRows::<D, T> { graph, here, there, places, first, out })
}

struct WeightedRows<'a, const D: usize, const T: bool> {
    graph: &'a Csr,
    here: &'a [f64],
    there: &'a [f64],
    places: Places<'a>,
    first: usize,
    out: &'a mut [f64],
}

impl<const D: usize, const T: bool> Loop for WeightedRows<'_, D, T> {
    type Output = [f64; 1];

    #[inline(always)]
    fn run<F: Fours>(self, fours: F) -> [f64; 1] {
        let mut sums = Weighted::<F> { here: fours.splat(0.0), there: self.there, value: fours.splat(0.0) };
        for (i, out) in (self.first..).zip(self.out.chunks_exact_mut(self.places.y.dim())) {
            sums.here = fours.splat(self.here[i]);
            over_edges::<F, D, T, 1>(fours, self.places, i, self.graph.row(i), &mut sums, out);
        }
        [fours.sum(sums.value)]
    }
}

/// `w_ij (here_i + there_j) S_ij`, and the sum of `w_ij K_ij`.
struct Weighted<'a, F: Fours> {
    here: F::Four,
    there: &'a [f64],
    value: F::Four,
}

impl<F: Fours> Weigh<F, 1> for Weighted<'_, F> {
    #[inline(always)]
    fn coefficients(&mut self, fours: F, edges: &Edges<F>) -> [F::Four; 1] {
        self.value = fours.add(self.value, fours.mul(edges.weights, edges.similarity));
        let both = fours.add(self.here, edges.of_ends(fours, self.there));
        [fours.mul(fours.mul(edges.weights, both), edges.slope)]
    }
}
