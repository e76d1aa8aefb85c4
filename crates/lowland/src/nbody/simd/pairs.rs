//! Sums over pairs: one target against a run of sources, several kernels and charges at once.
//!
//! Sources stand column by column, so that each step is a loop over neighbouring numbers: squared distances, then each
//! kernel, then the products with its charges. The steps of a tile stay in the first cache.

use std::ops::Range;

use rayon::prelude::*;

use super::{exp, ln};
use crate::nbody::{Charges, Kernel, Term};
use crate::points::Points;

/// Numbers handled at once.
const LANES: usize = 8;
/// Lanes of a tile: the most sources handled before their sums are added to the output.
const TILE: usize = 64;
/// Sources of a tile.
pub(crate) const TILE_ROWS: usize = TILE * LANES;
/// Rows copied by one task.
const COPY_ROWS: usize = 8192;

type Lane = [f64; LANES];

/// Coordinates and charges of the sources, one column after the other, each with room to read a whole lane past its end.
pub(crate) struct Columns {
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

    /// Lanes of a column from row `at`; the last may reach past the end.
    #[inline(always)]
    fn lanes(&self, column: usize, at: usize, count: usize) -> &[Lane] {
        self.values[column * self.stride + at..][..count * LANES].as_chunks().0
    }
}

/// Room for the steps of a tile.
pub(crate) struct Scratch {
    squared: [Lane; TILE],
    inverse: [Lane; TILE],
    kernel: [Lane; TILE],
}

impl Scratch {
    pub fn new() -> Self {
        Self { squared: [[0.0; LANES]; TILE], inverse: [[0.0; LANES]; TILE], kernel: [[0.0; LANES]; TILE] }
    }
}

/// Adds to `out` the sums of `target` over the sources in `range`, tile after tile. `D` is the dimension, or zero for any.
#[inline(always)]
pub(crate) fn add_pairs<const D: usize>(
    terms: &[Term],
    target: &[f64],
    sources: &Columns,
    range: Range<usize>,
    scratch: &mut Scratch,
    out: &mut [f64],
) {
    let mut at = range.start;
    while at < range.end {
        let rows = TILE_ROWS.min(range.end - at);
        add_tile::<D>(terms, target, sources, at, rows, scratch, out);
        at += rows;
    }
}

/// Applies a formula to every number of the lanes. A macro, because a closure may be left out of line, and the loop scalar.
macro_rules! map {
    ($from:ident, $to:ident, |$x:ident| $formula:expr) => {
        for (from, to) in $from.iter().zip($to.iter_mut()) {
            for l in 0..LANES {
                let $x = from[l];
                to[l] = $formula;
            }
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
    let count = rows.div_ceil(LANES);
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
        if let (Some(last), used @ 1..) = (kernel.last_mut(), rows % LANES) {
            last[used..].fill(0.0);
        }
        for first in (0..term.charges).step_by(4) {
            let sums = &mut out[column + first..column + term.charges.min(first + 4)];
            match sums.len() {
                1 => add_products::<1>(kernel, sources, first, at, sums),
                2 => add_products::<2>(kernel, sources, first, at, sums),
                3 => add_products::<3>(kernel, sources, first, at, sums),
                _ => add_products::<4>(kernel, sources, first, at, sums),
            }
        }
        column += term.charges;
    }
}

#[inline(always)]
fn squared_distances<const D: usize>(target: &[f64], sources: &Columns, at: usize, out: &mut [Lane]) {
    if D == 0 {
        out.fill([0.0; LANES]);
        for (k, &t) in target.iter().enumerate() {
            let column = sources.lanes(k, at, out.len());
            for (out, x) in out.iter_mut().zip(column) {
                for l in 0..LANES {
                    out[l] += (t - x[l]) * (t - x[l]);
                }
            }
        }
        return;
    }
    let columns: [&[Lane]; D] = std::array::from_fn(|k| sources.lanes(k, at, out.len()));
    let target: [f64; D] = std::array::from_fn(|k| target[k]);
    for (j, out) in out.iter_mut().enumerate() {
        let mut sum = [0.0; LANES];
        for k in 0..D {
            let x = &columns[k][j];
            for l in 0..LANES {
                sum[l] += (target[k] - x[l]) * (target[k] - x[l]);
            }
        }
        *out = sum;
    }
}

/// Adds the products of the kernel's values with `C` charges from charge `first`.
#[inline(always)]
fn add_products<const C: usize>(kernel: &[Lane], sources: &Columns, first: usize, at: usize, sums: &mut [f64]) {
    let charges: [&[Lane]; C] = std::array::from_fn(|c| sources.lanes(sources.dim + first + c, at, kernel.len()));
    let mut lanes = [[0.0; LANES]; C];
    for (j, value) in kernel.iter().enumerate() {
        for c in 0..C {
            let charge = &charges[c][j];
            for l in 0..LANES {
                lanes[c][l] += value[l] * charge[l];
            }
        }
    }
    for c in 0..C {
        let [a, b, c_, d, e, f, g, h] = lanes[c];
        sums[c] += ((a + b) + (c_ + d)) + ((e + f) + (g + h));
    }
}
