//! The expansions of a box of points, eqs 2-4 of Carreira-Perpiñán & Vladymyrov (2014, supplement), as dense arrays.
//!
//! The multi-indices `alpha < p` (in each component) of a coefficient array are its axes, so that every sum over them is
//! done one dimension at a time. The last axis is padded to a [`width`](ExpansionShape::width) known at compile time: the loops over
//! it become whole vectors.

use std::ops::Range;

use crate::pairs::SourceColumns;
use lowland_core::simd::{exp, simd_dispatch};

/// Maximum number of terms in each dimension.
pub const MAX_ORDER: usize = 24;
/// Maximum dimension.
pub const MAX_DIM: usize = 3;
/// Rows of coefficients handled at once, so that additions do not wait for each other.
const ROWS: usize = 4;
/// Sources whose sums are computed together.
const BATCH: usize = 8;

/// The shape of a coefficient array: `charges` x `order` x ... x `order` x `width`.
#[derive(Debug, Clone, Copy)]
pub struct ExpansionShape {
    /// Dimension, 1 to 3.
    pub dim: usize,
    /// Number of terms in each dimension: `p`.
    pub order: usize,
    /// Number of charges.
    pub charges: usize,
}

impl ExpansionShape {
    /// Length of the last axis with its padding, which stays zero.
    pub fn width(self) -> usize {
        self.order.next_multiple_of(4)
    }

    /// Length of the first of three axes; one term in fewer dimensions.
    fn outer(self) -> usize {
        if self.dim == 3 { self.order } else { 1 }
    }

    /// Length of the axis before the last; one term in one dimension.
    fn middle(self) -> usize {
        if self.dim >= 2 { self.order } else { 1 }
    }

    /// Rows of `width` for each charge.
    fn rows(self) -> usize {
        self.outer() * self.middle()
    }

    /// Number of coefficients, with padding.
    pub fn len(self) -> usize {
        self.charges * self.rows() * self.width()
    }
}

/// The function of a coordinate in term `n`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExpansionBasis {
    /// `x^n`: evaluates a Taylor series.
    Power,
    /// `x^n / n!`: computes Hermite coefficients, `A` of eq 2.
    Moment,
    /// `h_n(x)`: evaluates a Hermite series.
    Hermite,
    /// `h_n(x) / n!`: computes Taylor coefficients, `C` of eq 3.
    Derivative,
}

/// `h_0 = exp(-x^2)`, `h_1 = 2 x h_0`, `h_{n+1} = 2 x h_n - 2 n h_{n-1}`: the Hermite functions.
#[inline(always)]
fn hermite(x: f64, out: &mut [f64]) {
    let (mut last, mut this) = (0.0, exp(-x * x));
    for (n, out) in out.iter_mut().enumerate() {
        *out = this;
        (last, this) = (this, 2.0 * (x * this - n as f64 * last));
    }
}

impl ExpansionBasis {
    #[inline(always)]
    fn fill(self, x: f64, out: &mut [f64]) {
        match self {
            Self::Power | Self::Moment => {
                let mut power = 1.0;
                for out in out.iter_mut() {
                    *out = power;
                    power *= x;
                }
            }
            Self::Hermite | Self::Derivative => hermite(x, out),
        }
        if matches!(self, Self::Moment | Self::Derivative) {
            for (value, inverse) in out.iter_mut().zip(&INVERSE_FACTORIAL) {
                *value *= inverse;
            }
        }
    }
}

/// `1 / n!`.
const INVERSE_FACTORIAL: [f64; MAX_ORDER] = {
    let mut out = [1.0; MAX_ORDER];
    let mut n = 1;
    while n < MAX_ORDER {
        out[n] = out[n - 1] / n as f64;
        n += 1;
    }
    out
};

/// BasisValues of a basis at one point, for each axis.
#[derive(Clone, Copy)]
struct BasisValues<const W: usize> {
    outer: [f64; MAX_ORDER],
    middle: [f64; MAX_ORDER],
    last: [f64; W],
}

impl<const W: usize> BasisValues<W> {
    fn new() -> Self {
        Self { outer: [1.0; MAX_ORDER], middle: [1.0; MAX_ORDER], last: [0.0; W] }
    }

    #[inline(always)]
    fn fill(&mut self, basis: ExpansionBasis, shape: ExpansionShape, x: [f64; MAX_DIM]) {
        if shape.dim == 3 {
            basis.fill(x[0], &mut self.outer[..shape.order]);
        }
        if shape.dim >= 2 {
            basis.fill(x[shape.dim - 2], &mut self.middle[..shape.order]);
        }
        basis.fill(x[shape.dim - 1], &mut self.last[..shape.order]);
    }
}

/// `sums + factor * row`. By value, which keeps the sums in registers; loops over several rows at once would be
/// vectorized as gathers across the rows.
#[inline(always)]
fn add_multiple<const W: usize>(mut sums: [f64; W], factor: f64, row: &[f64; W]) -> [f64; W] {
    for l in 0..W {
        sums[l] += factor * row[l];
    }
    sums
}

/// A series about a center.
#[derive(Clone, Copy)]
pub(super) struct Expansion<'a> {
    pub basis: ExpansionBasis,
    pub shape: ExpansionShape,
    pub center: &'a [f64],
}

/// Calls a function with the width as a constant.
macro_rules! with_width {
    ($shape:expr, $function:ident ( $($argument:expr),* $(,)? )) => {
        match $shape.width() {
            4 => $function::<4>($($argument),*),
            8 => $function::<8>($($argument),*),
            12 => $function::<12>($($argument),*),
            16 => $function::<16>($($argument),*),
            20 => $function::<20>($($argument),*),
            _ => $function::<24>($($argument),*),
        }
    };
}

/// Adds the contributions of the sources in `range` to the `coefficients`: `A` of eq 2 or `C` of eq 3.
#[simd_dispatch]
pub(super) fn spread(expansion: Expansion, sources: &SourceColumns, range: Range<usize>, coefficients: &mut [f64]) {
    with_width!(expansion.shape, spread_width(expansion, sources, range, coefficients))
}

#[inline(always)]
fn spread_width<const W: usize>(
    expansion: Expansion,
    sources: &SourceColumns,
    range: Range<usize>,
    coefficients: &mut [f64],
) {
    let Expansion { basis, shape, center } = expansion;
    let mut values = [BasisValues::<W>::new(); BATCH];
    for start in range.clone().step_by(BATCH) {
        let count = BATCH.min(range.end - start);
        for (j, values) in values[..count].iter_mut().enumerate() {
            let mut x = [0.0; MAX_DIM];
            for k in 0..shape.dim {
                x[k] = sources.coordinate(k)[start + j] - center[k];
            }
            values.fill(basis, shape, x);
        }
        for (c, coefficients) in coefficients.chunks_exact_mut(shape.rows() * W).enumerate() {
            let charges = &sources.charge(c)[start..start + count];
            for (a, rows) in coefficients.chunks_exact_mut(shape.middle() * W).enumerate() {
                let mut factors = [0.0; BATCH];
                for (factor, (q, values)) in factors.iter_mut().zip(charges.iter().zip(&values)) {
                    *factor = q * values.outer[a];
                }
                add_batch(&factors[..count], &values, rows.as_chunks_mut::<W>().0);
            }
        }
    }
}

/// `rows[b] += sum_j factor_j middle_j[b] last_j`: the sums of a few rows stay in registers over the whole batch.
#[inline(always)]
fn add_batch<const W: usize>(factors: &[f64], values: &[BasisValues<W>; BATCH], rows: &mut [[f64; W]]) {
    let (blocks, rest) = rows.as_chunks_mut::<ROWS>();
    let done = blocks.len() * ROWS;
    for (block, b) in blocks.iter_mut().zip((0..).step_by(ROWS)) {
        let [mut s, mut t, mut u, mut v] = *block;
        for (factor, values) in factors.iter().zip(values) {
            s = add_multiple(s, factor * values.middle[b], &values.last);
            t = add_multiple(t, factor * values.middle[b + 1], &values.last);
            u = add_multiple(u, factor * values.middle[b + 2], &values.last);
            v = add_multiple(v, factor * values.middle[b + 3], &values.last);
        }
        *block = [s, t, u, v];
    }
    for (row, b) in rest.iter_mut().zip(done..) {
        let mut sums = *row;
        for (factor, values) in factors.iter().zip(values) {
            sums = add_multiple(sums, factor * values.middle[b], &values.last);
        }
        *row = sums;
    }
}

/// Adds the series, evaluated at the targets, to `out` (a row of charges for each target).
#[simd_dispatch]
pub(super) fn gather(expansion: Expansion, coefficients: &[f64], targets: &[f64], out: &mut [f64]) {
    with_width!(expansion.shape, gather_width(expansion, coefficients, targets, out))
}

#[inline(always)]
fn gather_width<const W: usize>(expansion: Expansion, coefficients: &[f64], targets: &[f64], out: &mut [f64]) {
    let Expansion { basis, shape, center } = expansion;
    let mut values = BasisValues::<W>::new();
    let mut x = [0.0; MAX_DIM];
    for (target, out) in targets.chunks_exact(shape.dim).zip(out.chunks_exact_mut(shape.charges)) {
        for k in 0..shape.dim {
            x[k] = target[k] - center[k];
        }
        values.fill(basis, shape, x);
        for (coefficients, out) in coefficients.chunks_exact(shape.rows() * W).zip(out) {
            let [mut s, mut t, mut u, mut v] = [[0.0; W]; ROWS];
            for (rows, outer) in coefficients.chunks_exact(shape.middle() * W).zip(values.outer) {
                let (blocks, rest) = rows.as_chunks::<W>().0.as_chunks::<ROWS>();
                let (middles, _) = values.middle.as_chunks::<ROWS>();
                for (rows, middle) in blocks.iter().zip(middles) {
                    s = add_multiple(s, outer * middle[0], &rows[0]);
                    t = add_multiple(t, outer * middle[1], &rows[1]);
                    u = add_multiple(u, outer * middle[2], &rows[2]);
                    v = add_multiple(v, outer * middle[3], &rows[3]);
                }
                for (row, middle) in rest.iter().zip(&values.middle[blocks.len() * ROWS..]) {
                    s = add_multiple(s, outer * middle, row);
                }
            }
            let mut total = 0.0;
            for l in 0..W {
                total += ((s[l] + t[l]) + (u[l] + v[l])) * values.last[l];
            }
            *out += total;
        }
    }
}

/// One dimension of a translation: `(-1)^a h_{a+b}(x) / b!` at row `a`, column `b` (eq 4), where `x` is the center
/// of the sources minus that of the targets.
pub(super) fn translation_table(shape: ExpansionShape, x: f64, table: &mut [f64]) {
    let mut values = [0.0; 2 * MAX_ORDER];
    hermite(x, &mut values);
    for (a, row) in table.chunks_exact_mut(shape.width()).enumerate() {
        let sign = if a % 2 == 0 { 1.0 } else { -1.0 };
        for b in 0..shape.order {
            row[b] = sign * values[a + b] * INVERSE_FACTORIAL[b];
        }
    }
}

/// `out[.., b] += sum_a from[.., a] table[a, b]`: a translation along the last axis.
#[simd_dispatch]
pub(super) fn translate_last(shape: ExpansionShape, table: &[f64], from: &[f64], out: &mut [f64]) {
    with_width!(shape, translate_last_width(table, from, out))
}

#[inline(always)]
fn translate_last_width<const W: usize>(table: &[f64], from: &[f64], out: &mut [f64]) {
    let table = table.as_chunks::<W>().0;
    let (blocks, rest) = from.as_chunks::<W>().0.as_chunks::<ROWS>();
    let (out_blocks, out_rest) = out.as_chunks_mut::<W>().0.as_chunks_mut::<ROWS>();
    for (from, out) in blocks.iter().zip(out_blocks) {
        let [mut s, mut t, mut u, mut v] = *out;
        for (a, row) in table.iter().enumerate().take(W) {
            s = add_multiple(s, from[0][a], row);
            t = add_multiple(t, from[1][a], row);
            u = add_multiple(u, from[2][a], row);
            v = add_multiple(v, from[3][a], row);
        }
        *out = [s, t, u, v];
    }
    for (from, out) in rest.iter().zip(out_rest) {
        for (a, row) in table.iter().enumerate().take(W) {
            *out = add_multiple(*out, from[a], row);
        }
    }
}

/// `out[.., b, ..] += sum_a table[a, b] from[.., a, ..]`: a translation along another axis.
#[simd_dispatch]
pub(super) fn translate_axis(shape: ExpansionShape, axis: usize, table: &[f64], from: &[f64], out: &mut [f64]) {
    with_width!(shape, translate_axis_width(shape, axis, table, from, out))
}

#[inline(always)]
fn translate_axis_width<const W: usize>(
    shape: ExpansionShape,
    axis: usize,
    table: &[f64],
    from: &[f64],
    out: &mut [f64],
) {
    let (order, table) = (shape.order, table.as_chunks::<W>().0);
    // Vectors of `W` between a term and the next one of this axis.
    let inner = order.pow((shape.dim - 2 - axis) as u32);
    let block = order * inner * W;
    for (from, out) in from.chunks_exact(block).zip(out.chunks_exact_mut(block)) {
        let (from, out) = (from.as_chunks::<W>().0, out.as_chunks_mut::<W>().0);
        for i in 0..inner {
            for first in (0..order).step_by(ROWS) {
                let [mut s, mut t, mut u, mut v] = [[0.0; W]; ROWS];
                for (a, row) in table.iter().enumerate().take(order) {
                    let from = &from[a * inner + i];
                    s = add_multiple(s, row[first], from);
                    t = add_multiple(t, row[first + 1], from);
                    u = add_multiple(u, row[first + 2], from);
                    v = add_multiple(v, row[first + 3], from);
                }
                for (b, sum) in (first..order).zip([s, t, u, v]) {
                    let out = &mut out[b * inner + i];
                    *out = add_multiple(*out, 1.0, &sum);
                }
            }
        }
    }
}
