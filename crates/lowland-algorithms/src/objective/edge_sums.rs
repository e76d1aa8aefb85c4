//! Sums over the edges of a graph, four edges at a time.

use rayon::prelude::*;

use lowland_core::Points;
use lowland_core::simd::Simd;

/// Rows per task: fixed, because the order of summation depends on it.
pub(crate) const ROWS: usize = 256;

/// The points of a map, also as vectors of four numbers: one in up to three dimensions, several in more.
#[derive(Clone, Copy)]
pub(crate) struct PaddedPoints<'a> {
    /// The map.
    pub y: Points<'a>,
    vectors: &'a [[f64; 4]],
    /// Vectors of each point.
    stride: usize,
}

impl<'a> PaddedPoints<'a> {
    /// The vectors of point `i`.
    #[inline(always)]
    fn vectors(&self, i: usize) -> &'a [[f64; 4]] {
        &self.vectors[i * self.stride..][..self.stride]
    }
}

/// Reusable memory of [`PaddedPoints`].
#[derive(Default)]
pub(crate) struct PaddedPointsBuffer(Vec<[f64; 4]>);

impl PaddedPointsBuffer {
    /// Pads the points of a map.
    pub fn pad<'a>(&'a mut self, y: Points<'a>) -> PaddedPoints<'a> {
        let d = y.dim();
        let stride = d.div_ceil(4);
        self.0.resize(y.rows() * stride, [0.0; 4]);
        let rows = self.0.par_chunks_mut(ROWS * stride).zip(y.values().par_chunks(ROWS * d));
        rows.for_each(|(vectors, rows)| {
            for (vectors, row) in vectors.chunks_exact_mut(stride).zip(rows.chunks_exact(d)) {
                let numbers = vectors.as_flattened_mut();
                numbers[..d].copy_from_slice(row);
                numbers[d..].fill(0.0);
            }
        });
        PaddedPoints { y, vectors: &self.0, stride }
    }
}

/// Four edges of a row. Where there are fewer, the missing ones lead back to the row's own point with weight zero and are
/// marked as not present.
pub(crate) struct EdgeBlock<F: Simd> {
    ends: [usize; 4],
    pub weights: F::F64x4,
    /// One for an edge, zero for a missing one.
    pub present: F::F64x4,
    /// Squared lengths in the map.
    pub squares: F::F64x4,
}

impl<F: Simd> EdgeBlock<F> {
    /// Returns the values of the points where the edges end.
    #[inline(always)]
    pub fn of_ends(&self, fours: F, values: &[f64]) -> F::F64x4 {
        let [a, b, c, d] = self.ends;
        fours.load([values[a], values[b], values[c], values[d]])
    }
}

/// Coefficients of edges in a sum.
pub(crate) trait EdgeCoefficients<F: Simd, const C: usize> {
    /// Returns `C` coefficients for each of four edges.
    fn of_block(&mut self, fours: F, edges: &EdgeBlock<F>) -> [F::F64x4; C];
}

/// Adds `sum_j coefficient_c(i, j) (y_i - y_j)` over the edges of row `i` to the `c`-th part of `sums`, for each of the `C`
/// coefficients. `D` is the dimension, or zero for any.
#[inline(always)]
pub(crate) fn sum_over_edges<F: Simd, const D: usize, const C: usize>(
    fours: F,
    points: PaddedPoints,
    i: usize,
    (columns, values): (&[u32], &[f64]),
    rule: &mut impl EdgeCoefficients<F, C>,
    sums: &mut [f64],
) {
    let mut row = RowSums::<F, D, C>::new(fours, points, i);
    let (whole, rest) = columns.as_chunks::<4>();
    let (weights, rest_weights) = values.as_chunks::<4>();
    for (&[a, b, c, d], &weights) in whole.iter().zip(weights) {
        row.add([a as usize, b as usize, c as usize, d as usize], weights, [1.0; 4], rule, sums);
    }
    if !rest.is_empty() {
        let (mut ends, mut weights, mut present) = ([i; 4], [0.0; 4], [0.0; 4]);
        // A loop of fixed length: copying a slice of variable length would be a function call.
        for l in 0..3 {
            if l < rest.len() {
                (ends[l], weights[l], present[l]) = (rest[l] as usize, rest_weights[l], 1.0);
            }
        }
        row.add(ends, weights, present, rule, sums);
    }
    for c in 0..C {
        for k in 0..D {
            sums[c * D + k] += fours.sum(row.sums[c][k]);
        }
    }
}

/// Sums over the edges of a point.
struct RowSums<'a, F: Simd, const D: usize, const C: usize> {
    fours: F,
    points: PaddedPoints<'a>,
    i: usize,
    /// The point's coordinates, each repeated four times.
    here: [F::F64x4; D],
    sums: [[F::F64x4; D]; C],
}

impl<'a, F: Simd, const D: usize, const C: usize> RowSums<'a, F, D, C> {
    #[inline(always)]
    fn new(fours: F, points: PaddedPoints<'a>, i: usize) -> Self {
        let mut here = [fours.splat(0.0); D];
        for k in 0..D {
            here[k] = fours.splat(points.vectors[i][k]);
        }
        Self { fours, points, i, here, sums: [[fours.splat(0.0); D]; C] }
    }

    /// Adds four edges. With `D = 0`, they are added directly to `sums`.
    #[inline(always)]
    fn add(
        &mut self,
        ends: [usize; 4],
        weights: [f64; 4],
        present: [f64; 4],
        rule: &mut impl EdgeCoefficients<F, C>,
        sums: &mut [f64],
    ) {
        let fours = self.fours;
        let (differences, squares) =
            if D == 0 { ([fours.splat(0.0); D], self.any_squares(ends)) } else { self.differences(ends) };
        let edges = EdgeBlock { ends, weights: fours.load(weights), present: fours.load(present), squares };
        let coefficients = rule.of_block(fours, &edges);
        for c in 0..C {
            for k in 0..D {
                self.sums[c][k] = fours.add(self.sums[c][k], fours.mul(coefficients[c], differences[k]));
            }
            if D == 0 {
                let d = self.points.y.dim();
                self.add_any(ends, fours.store(coefficients[c]), &mut sums[c * d..][..d]);
            }
        }
    }

    /// Returns the vectors from four ends to the point, coordinate by coordinate, and their squared lengths.
    #[inline(always)]
    fn differences(&self, [a, b, c, d]: [usize; 4]) -> ([F::F64x4; D], F::F64x4) {
        let (fours, vectors) = (self.fours, self.points.vectors);
        let rows = [fours.load(vectors[a]), fours.load(vectors[b]), fours.load(vectors[c]), fours.load(vectors[d])];
        let there = fours.transpose(rows);
        let (mut differences, mut squares) = ([fours.splat(0.0); D], fours.splat(0.0));
        for k in 0..D {
            differences[k] = fours.sub(self.here[k], there[k]);
            squares = fours.add(squares, fours.mul(differences[k], differences[k]));
        }
        (differences, squares)
    }

    /// Returns the squared lengths in any dimension.
    #[inline(always)]
    fn any_squares(&self, ends: [usize; 4]) -> F::F64x4 {
        let (fours, here) = (self.fours, self.points.vectors(self.i));
        let mut squares = [fours.splat(0.0); 4];
        for l in 0..4 {
            for (here, there) in here.iter().zip(self.points.vectors(ends[l])) {
                let difference = fours.sub(fours.load(*here), fours.load(*there));
                squares[l] = fours.add(squares[l], fours.mul(difference, difference));
            }
        }
        let [a, b, c, d] = fours.transpose(squares);
        fours.add(fours.add(a, b), fours.add(c, d))
    }

    /// Adds the vectors from four ends to the point, times their coefficients, in any dimension.
    #[inline(always)]
    fn add_any(&self, ends: [usize; 4], coefficients: [f64; 4], sums: &mut [f64]) {
        let (fours, here) = (self.fours, self.points.vectors(self.i));
        let mut there = [here; 4];
        for l in 0..4 {
            there[l] = self.points.vectors(ends[l]);
        }
        for (at, sums) in sums.chunks_mut(4).enumerate() {
            let (here, mut sum) = (fours.load(here[at]), fours.splat(0.0));
            for l in 0..4 {
                let difference = fours.sub(here, fours.load(there[l][at]));
                sum = fours.add(sum, fours.mul(fours.splat(coefficients[l]), difference));
            }
            let sum = fours.store(sum);
            for k in 0..4 {
                // The last vector may be longer than the rest of the row.
                if k < sums.len() {
                    sums[k] += sum[k];
                }
            }
        }
    }
}
