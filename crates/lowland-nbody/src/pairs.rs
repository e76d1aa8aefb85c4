//! Sums over pairs: one target against a run of sources, several kernels and charges at once.
//!
//! Sources stand column by column, so that each step is a loop over neighbouring numbers: squared distances, then each
//! kernel, then the products with its charges. The steps of a tile stay in the first cache.

use std::ops::Range;

use rayon::prelude::*;

use crate::{Charges, Kernel, Term};
use lowland_core::Points;
use lowland_core::simd::{Simd, SimdKernel, run_kernel};
use lowland_core::simd::{exp, ln};

/// Numbers handled at once.
const LANES: usize = 8;
/// The most sources handled before their sums are added to the output.
pub const TILE: usize = 512;
/// Rows copied by one task.
const COPY_ROWS: usize = 8192;

type Lane = [f64; LANES];

/// Coordinates and charges of the sources, one column after the other, each with room to read a whole lane past its end.
pub struct Columns {
    values: Vec<f64>,
    stride: usize,
    dim: usize,
    rows: usize,
}

impl Columns {
    /// The sources in the order given by `row_at`, with the first `count` charges.
    pub fn new(sources: Points, charges: Charges, count: usize, row_at: impl Fn(usize) -> usize + Sync) -> Self {
        let (rows, dim) = (sources.rows(), sources.dim());
        let stride = rows + LANES;
        let mut values = vec![0.0; stride * (dim + count)];
        for (c, column) in values.chunks_exact_mut(stride).enumerate() {
            let value = |row: usize| {
                if c < dim { sources.row(row)[c] } else { charges.values[row * charges.per_point + c - dim] }
            };
            column[..rows].par_chunks_mut(COPY_ROWS).enumerate().for_each(|(chunk, out)| {
                for (j, out) in out.iter_mut().enumerate() {
                    *out = value(row_at(chunk * COPY_ROWS + j));
                }
            });
        }
        Self { values, stride, dim, rows }
    }

    /// How many sources there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// A coordinate of every source.
    pub fn coordinate(&self, k: usize) -> &[f64] {
        &self.values[k * self.stride..][..self.rows]
    }

    /// A charge of every source.
    pub fn charge(&self, c: usize) -> &[f64] {
        self.coordinate(self.dim + c)
    }

    /// `count` values of a column from row `at`, which may reach past the end by less than a lane.
    #[inline(always)]
    fn part(&self, column: usize, at: usize, count: usize) -> &[f64] {
        &self.values[column * self.stride + at..][..count]
    }

    /// The lane of a column that begins at row `at`.
    #[inline(always)]
    fn lane(&self, column: usize, at: usize) -> Lane {
        *self.values[column * self.stride + at..].first_chunk().expect("room for a lane past the end")
    }
}

/// Room for the steps of a tile.
pub struct Scratch {
    squared: [f64; TILE],
    inverse: [f64; TILE],
    kernel: [f64; TILE],
}

impl Scratch {
    pub fn new() -> Self {
        Self { squared: [0.0; TILE], inverse: [0.0; TILE], kernel: [0.0; TILE] }
    }
}

/// Adds to `out` the sums of `target` over the sources in `range`, tile after tile. `D` is the dimension, or zero for any.
#[inline(always)]
pub fn add_pairs<const D: usize>(
    terms: &[Term],
    target: &[f64],
    sources: &Columns,
    range: Range<usize>,
    scratch: &mut Scratch,
    out: &mut [f64],
) {
    let mut at = range.start;
    while at < range.end {
        let rows = TILE.min(range.end - at);
        add_tile::<D>(terms, target, sources, at, rows, scratch, out);
        at += rows;
    }
}

/// Applies a formula to every number. A macro, because a closure may be left out of line, and the loop scalar.
macro_rules! map {
    ($from:ident, $to:ident, |$x:ident| $formula:expr) => {
        for (from, to) in $from.iter().zip($to.iter_mut()) {
            let $x = *from;
            *to = $formula;
        }
    };
}

#[inline(always)]
fn add_tile<const D: usize>(
    terms: &[Term],
    target: &[f64],
    sources: &Columns,
    at: usize,
    rows: usize,
    scratch: &mut Scratch,
    out: &mut [f64],
) {
    let count = rows.next_multiple_of(LANES);
    let squared = &mut scratch.squared[..count];
    let inverse = &mut scratch.inverse[..count];
    let kernel = &mut scratch.kernel[..count];
    squared_distances::<D>(target, sources, at, squared);
    if terms.iter().any(|term| matches!(term.kernel, Kernel::Cauchy { .. })) {
        map!(squared, inverse, |d| 1.0 / (1.0 + d));
    }
    let mut column = 0;
    for term in terms {
        match term.kernel {
            Kernel::Gaussian => map!(squared, kernel, |d| exp(-d)),
            Kernel::Cauchy { power: 1.0 } => kernel.copy_from_slice(inverse),
            Kernel::Cauchy { power: 2.0 } => map!(inverse, kernel, |v| v * v),
            Kernel::Cauchy { power: 3.0 } => map!(inverse, kernel, |v| v * v * v),
            Kernel::Cauchy { power: 0.5 } => map!(inverse, kernel, |v| v.sqrt()),
            Kernel::Cauchy { power: 1.5 } => map!(inverse, kernel, |v| v * v.sqrt()),
            Kernel::Cauchy { power: 2.5 } => map!(inverse, kernel, |v| v * v * v.sqrt()),
            Kernel::Cauchy { power } => map!(squared, kernel, |d| exp(-power * ln(1.0 + d))),
        }
        // What was read past the end counts for nothing.
        kernel[rows..].fill(0.0);
        for first in (0..term.charges).step_by(4) {
            let sums = &mut out[column + first..column + term.charges.min(first + 4)];
            match sums.len() {
                1 => run_kernel(Products::<1> { kernel, sources, first, at, sums }),
                2 => run_kernel(Products::<2> { kernel, sources, first, at, sums }),
                3 => run_kernel(Products::<3> { kernel, sources, first, at, sums }),
                _ => run_kernel(Products::<4> { kernel, sources, first, at, sums }),
            }
        }
        column += term.charges;
    }
}

#[inline(always)]
fn squared_distances<const D: usize>(target: &[f64], sources: &Columns, at: usize, out: &mut [f64]) {
    let count = out.len();
    if D == 0 {
        return run_kernel(Squares { target, sources, at, out });
    }
    let columns: [&[f64]; D] = std::array::from_fn(|k| sources.part(k, at, count));
    let target: [f64; D] = std::array::from_fn(|k| target[k]);
    for j in 0..count {
        let mut sum = 0.0;
        for k in 0..D {
            sum += (target[k] - columns[k][j]) * (target[k] - columns[k][j]);
        }
        out[j] = sum;
    }
}

/// A lane as two vectors.
#[inline(always)]
fn halves<S: Simd>(simd: S, [a, b, c, d, e, f, g, h]: Lane) -> [S::F64x4; 2] {
    [simd.load([a, b, c, d]), simd.load([e, f, g, h])]
}

/// Squared distances from the target to the sources from `at` on, as many as `out` holds, in any dimension. Explicit vectors:
/// plain loops would write the sums down after every coordinate.
struct Squares<'a> {
    target: &'a [f64],
    sources: &'a Columns,
    at: usize,
    out: &'a mut [f64],
}

impl SimdKernel for Squares<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        for (lane, out) in self.out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let mut sums = [simd.splat(0.0); 2];
            for (k, &t) in self.target.iter().enumerate() {
                let (t, x) = (simd.splat(t), self.sources.lane(k, self.at + lane * LANES));
                let x = halves(simd, x);
                let apart = [simd.sub(t, x[0]), simd.sub(t, x[1])];
                sums[0] = simd.add(sums[0], simd.mul(apart[0], apart[0]));
                sums[1] = simd.add(sums[1], simd.mul(apart[1], apart[1]));
            }
            let (halves, _) = out.as_chunks_mut::<4>();
            (halves[0], halves[1]) = (simd.store(sums[0]), simd.store(sums[1]));
        }
    }
}

/// Adds the products of the kernel's values with `C` charges from charge `first`. Explicit vectors: of plain loops compilers make
/// vectors across the charges, which costs more than it saves.
struct Products<'a, const C: usize> {
    kernel: &'a [f64],
    sources: &'a Columns,
    first: usize,
    at: usize,
    sums: &'a mut [f64],
}

impl<const C: usize> SimdKernel for Products<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let mut charges: [&[Lane]; C] = [&[]; C];
        for c in 0..C {
            charges[c] =
                self.sources.part(self.sources.dim + self.first + c, self.at, self.kernel.len()).as_chunks::<LANES>().0;
        }
        let mut lanes = [[simd.splat(0.0); 2]; C];
        for (j, &value) in self.kernel.as_chunks::<LANES>().0.iter().enumerate() {
            let value = halves(simd, value);
            for c in 0..C {
                let charge = halves(simd, charges[c][j]);
                lanes[c][0] = simd.add(lanes[c][0], simd.mul(value[0], charge[0]));
                lanes[c][1] = simd.add(lanes[c][1], simd.mul(value[1], charge[1]));
            }
        }
        for c in 0..C {
            self.sums[c] += simd.sum(lanes[c][0]) + simd.sum(lanes[c][1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use lowland_core::simd::run_kernel_with;

    use super::*;
    use lowland_core::Seed;

    #[test]
    fn sums_over_pairs_have_the_same_bits_by_every_machine() {
        let (dim, rows) = (5, 37);
        let (x, q) = (Seed(1).normals(rows * dim), Seed(2).normals(rows * 4));
        let charges = Charges { values: &q, per_point: 4 };
        let sources = &Columns::new(Points::new(&x, dim).unwrap(), charges, 4, |row| row);
        let kernel = &Seed(3).normals(rows.next_multiple_of(LANES))[..];
        let [plain, own] = [true, false].map(|plain| {
            let (mut squares, mut four, mut one) = (vec![0.0; kernel.len()], [0.0; 4], [0.0; 1]);
            let (target, first, at) = (&x[..dim], 0, 0);
            run_kernel_with(Squares { target, sources, at, out: &mut squares }, plain);
            run_kernel_with(Products::<4> { kernel, sources, first, at, sums: &mut four }, plain);
            run_kernel_with(Products::<1> { kernel, sources, first: 3, at, sums: &mut one }, plain);
            assert_eq!(one[0], four[3]);
            squares.iter().chain(&four).map(|v| v.to_bits()).collect::<Vec<u64>>()
        });
        assert_eq!(plain, own);
    }
}
