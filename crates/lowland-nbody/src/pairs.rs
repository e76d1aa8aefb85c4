//! Sums over pairs: one target and a range of sources, several kernels and charges at once.
//!
//! Sources are stored by column, so that each step is a loop over contiguous numbers: squared distances, then each kernel,
//! then the products with its charges. The intermediate results of a tile stay in the first-level cache.

use std::ops::Range;

use rayon::prelude::*;

use crate::{Charges, Kernel, KernelTerm};
use lowland_core::Points;
use lowland_core::simd::{Simd, SimdKernel, exp, ln, run_kernel};

/// Numbers per vector.
const LANES: usize = 8;
/// Maximum number of sources whose sums are added to the output together.
pub const TILE: usize = 512;
/// Rows copied per task.
const COPY_ROWS: usize = 8192;

type Lane = [f64; LANES];

/// Coordinates and charges of the sources by column, each padded so that a whole lane can be read past its end.
pub struct SourceColumns {
    values: Vec<f64>,
    stride: usize,
    dim: usize,
    rows: usize,
}

impl SourceColumns {
    /// Copies the sources in the order given by `row_at`, with the first `count` charges.
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

    /// Number of sources.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// One coordinate of every source.
    pub fn coordinate(&self, k: usize) -> &[f64] {
        &self.values[k * self.stride..][..self.rows]
    }

    /// One charge of every source.
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
        *self.values[column * self.stride + at..].first_chunk().expect("columns are padded by a lane")
    }
}

/// Buffers for the intermediate results of a tile.
pub struct PairScratch {
    squared: [f64; TILE],
    inverse: [f64; TILE],
    kernel: [f64; TILE],
}

impl PairScratch {
    /// Creates the buffers.
    pub fn new() -> Self {
        Self { squared: [0.0; TILE], inverse: [0.0; TILE], kernel: [0.0; TILE] }
    }
}

/// Adds to `out` the sums of `target` over the sources in `range`, tile after tile. `D` is the dimension, or zero for any.
#[inline(always)]
pub fn add_pairs<const D: usize>(
    terms: &[KernelTerm],
    target: &[f64],
    sources: &SourceColumns,
    range: Range<usize>,
    scratch: &mut PairScratch,
    out: &mut [f64],
) {
    let mut at = range.start;
    while at < range.end {
        let rows = TILE.min(range.end - at);
        add_tile::<D>(terms, target, sources, at, rows, scratch, out);
        at += rows;
    }
}

/// Applies a formula to every number. A macro, because a closure may not be inlined, which would leave the loop scalar.
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
    terms: &[KernelTerm],
    target: &[f64],
    sources: &SourceColumns,
    at: usize,
    rows: usize,
    scratch: &mut PairScratch,
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
        // Values read past the end do not count.
        kernel[rows..].fill(0.0);
        for first in (0..term.charges).step_by(4) {
            let sums = &mut out[column + first..column + term.charges.min(first + 4)];
            match sums.len() {
                1 => run_kernel(ChargeProducts::<1> { kernel, sources, first, at, sums }),
                2 => run_kernel(ChargeProducts::<2> { kernel, sources, first, at, sums }),
                3 => run_kernel(ChargeProducts::<3> { kernel, sources, first, at, sums }),
                _ => run_kernel(ChargeProducts::<4> { kernel, sources, first, at, sums }),
            }
        }
        column += term.charges;
    }
}

#[inline(always)]
fn squared_distances<const D: usize>(target: &[f64], sources: &SourceColumns, at: usize, out: &mut [f64]) {
    let count = out.len();
    if D == 0 {
        return run_kernel(SquaredDistances { target, sources, at, out });
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
/// plain loops would store the sums after every coordinate.
struct SquaredDistances<'a> {
    target: &'a [f64],
    sources: &'a SourceColumns,
    at: usize,
    out: &'a mut [f64],
}

impl SimdKernel for SquaredDistances<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        for (lane, out) in self.out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let mut sums = [simd.splat(0.0); 2];
            for (k, &t) in self.target.iter().enumerate() {
                let (t, x) = (simd.splat(t), self.sources.lane(k, self.at + lane * LANES));
                let x = halves(simd, x);
                let difference = [simd.sub(t, x[0]), simd.sub(t, x[1])];
                sums[0] = simd.add(sums[0], simd.mul(difference[0], difference[0]));
                sums[1] = simd.add(sums[1], simd.mul(difference[1], difference[1]));
            }
            let (halves, _) = out.as_chunks_mut::<4>();
            (halves[0], halves[1]) = (simd.store(sums[0]), simd.store(sums[1]));
        }
    }
}

/// Adds the products of the kernel's values with `C` charges from charge `first`. Explicit vectors:
/// the compiler would vectorize plain loops across the charges, which costs more than it saves.
struct ChargeProducts<'a, const C: usize> {
    kernel: &'a [f64],
    sources: &'a SourceColumns,
    first: usize,
    at: usize,
    sums: &'a mut [f64],
}

impl<const C: usize> SimdKernel for ChargeProducts<'_, C> {
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
    fn scalar_and_vector_sums_have_the_same_bits() {
        let (dim, rows) = (5, 37);
        let (x, q) = (Seed(1).normals(rows * dim), Seed(2).normals(rows * 4));
        let charges = Charges { values: &q, per_point: 4 };
        let sources = &SourceColumns::new(Points::new(&x, dim).unwrap(), charges, 4, |row| row);
        let kernel = &Seed(3).normals(rows.next_multiple_of(LANES))[..];
        let [scalar, vector] = [true, false].map(|scalar| {
            let (mut squares, mut four, mut one) = (vec![0.0; kernel.len()], [0.0; 4], [0.0; 1]);
            let (target, first, at) = (&x[..dim], 0, 0);
            run_kernel_with(SquaredDistances { target, sources, at, out: &mut squares }, scalar);
            run_kernel_with(ChargeProducts::<4> { kernel, sources, first, at, sums: &mut four }, scalar);
            run_kernel_with(ChargeProducts::<1> { kernel, sources, first: 3, at, sums: &mut one }, scalar);
            assert_eq!(one[0], four[3]);
            squares.iter().chain(&four).map(|v| v.to_bits()).collect::<Vec<u64>>()
        });
        assert_eq!(scalar, vector);
    }
}
