//! Sums over the edges of a graph, four at a time.

use rayon::prelude::*;

use lowland_core::Points;
use lowland_core::simd::Simd;

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
pub(super) struct Edges<F: Simd> {
    ends: [usize; 4],
    pub weights: F::F64x4,
    /// One or zero.
    pub present: F::F64x4,
    /// Squared distances in the map.
    pub squares: F::F64x4,
}

impl<F: Simd> Edges<F> {
    /// The values of the points where the edges end.
    #[inline(always)]
    pub fn of_ends(&self, fours: F, values: &[f64]) -> F::F64x4 {
        let [a, b, c, d] = self.ends;
        fours.load([values[a], values[b], values[c], values[d]])
    }
}

/// What edges are weighed by.
pub(super) trait Weigh<F: Simd, const C: usize> {
    /// `C` coefficients for each of four edges.
    fn coefficients(&mut self, fours: F, edges: &Edges<F>) -> [F::F64x4; C];
}

/// Adds to `sums[c]` the coefficients that the edges of row `i` have, times the ways `y_i - y_j`. `D` is the dimension, or
/// zero for any.
#[inline(always)]
pub(super) fn over_edges<F: Simd, const D: usize, const C: usize>(
    fours: F,
    places: Places,
    i: usize,
    (columns, values): (&[u32], &[f64]),
    weigh: &mut impl Weigh<F, C>,
    sums: &mut [f64],
) {
    let mut row = Row::<F, D, C>::new(fours, places, i);
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
struct Row<'a, F: Simd, const D: usize, const C: usize> {
    fours: F,
    places: Places<'a>,
    i: usize,
    /// Its coordinates, each four times.
    here: [F::F64x4; D],
    sums: [[F::F64x4; D]; C],
}

impl<'a, F: Simd, const D: usize, const C: usize> Row<'a, F, D, C> {
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
        let edges = Edges { ends, weights: fours.load(weights), present: fours.load(present), squares };
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
    fn apart(&self, [a, b, c, d]: [usize; 4]) -> ([F::F64x4; D], F::F64x4) {
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
    fn any_squares(&self, ends: [usize; 4]) -> F::F64x4 {
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
