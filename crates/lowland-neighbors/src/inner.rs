//! Exact search for the metrics that inner products give: `|a - b|^2 = |a|^2 + |b|^2 - 2 <a, b>` on transformed rows.
//!
//! Euclidean rows are centred (the expansion cancels for data far from the origin) and scaled by a power of two to
//! magnitude one (no square overflows or vanishes). Rows under cosine and correlation become unit vectors, and rows under
//! the Hellinger distance the unit vectors of their roots; then `|a - b|^2` is twice the distance, or twice its square.

use std::ops::Range;

use rayon::prelude::*;

use super::exact::{self, Hits, Pairs, Reach};
use lowland_core::simd::simd_dispatch;
use lowland_core::{Dense, Metric, Sparse};
use lowland_linalg::dense::{power_of_two_near, product_nt};

/// Whether a metric is a function of inner products of transformed rows.
pub(super) fn applies(metric: Metric) -> bool {
    matches!(metric, Metric::Euclidean | Metric::Cosine | Metric::Correlation | Metric::Hellinger)
}

/// Where Euclidean rows are moved to before they are rounded to `f32` products.
pub(super) struct Frame {
    mean: Vec<f64>,
    scale: f64,
}

/// Rows a chunk, in the sums over all rows: fixed, so that the result does not depend on the threads.
const CHUNK: usize = 4096;

impl Frame {
    /// The centre of `data`, and the scale at which `data` and `queries` are of magnitude one.
    pub(super) fn new(data: &Dense, queries: &Dense) -> Self {
        let dim = data.dim().max(1);
        let sums: Vec<Vec<f64>> = data
            .values()
            .par_chunks(CHUNK * dim)
            .map(|rows| {
                let mut sum = vec![0.0; data.dim()];
                rows.chunks_exact(dim).for_each(|row| sum.iter_mut().zip(row).for_each(|(s, &x)| *s += f64::from(x)));
                sum
            })
            .collect();
        let rows = data.rows().max(1) as f64;
        let mean = (0..data.dim()).map(|c| sums.iter().map(|sum| sum[c]).sum::<f64>() / rows).collect();
        let largest = |rows: &Dense| rows.values().par_iter().copied().map(f32::abs).reduce(|| 0.0, f32::max);
        Self { mean, scale: scale_to_one(f64::from(largest(data).max(largest(queries)))) }
    }
}

/// The power of two that brings `largest` to about one.
pub(super) fn scale_to_one(largest: f64) -> f64 {
    1.0 / power_of_two_near(largest)
}

/// Transformed dense rows.
pub(super) struct Flat {
    /// Row after row.
    pub values: Vec<f32>,
    /// Columns; may be more than the data has.
    pub dim: usize,
    pub bounds: Bounds,
}

/// What turns inner products into bounds of squared distances.
pub(super) struct Bounds {
    /// `|a|^2` less the margin.
    pub floor: Vec<f32>,
    /// The most by which rounding can move `|a - b|^2`, divided between the two rows.
    margin: Vec<f32>,
}

impl Bounds {
    pub(super) fn slack(&self, i: usize, other: &Bounds, j: usize) -> f32 {
        2.0 * (self.margin[i] + other.margin[j])
    }
}

impl Flat {
    /// Rows transformed for `metric`; `frame` is used for Euclidean rows only.
    ///
    /// A zero row under Hellinger is a distribution on a column of its own, shared with other zero rows. With
    /// `zeros_apart` that is done for cosine and correlation too: then Euclidean distances between the transformed rows
    /// are right except between two zero rows.
    pub(super) fn new(data: &Dense, metric: Metric, frame: &Frame, zeros_apart: bool) -> Self {
        let source = data.dim();
        let extra = metric == Metric::Hellinger || (zeros_apart && metric != Metric::Euclidean);
        let dim = (source + usize::from(extra)).max(1);
        let mut values = vec![0f32; data.rows() * dim];
        let mut size = vec![0f64; data.rows()];
        values.par_chunks_mut(dim).zip(&mut size).enumerate().for_each(|(i, (out, size))| {
            let row = data.row(i);
            match metric {
                Metric::Euclidean => {
                    for (c, &x) in row.iter().enumerate() {
                        out[c] = ((f64::from(x) - frame.mean[c]) * frame.scale) as f32;
                    }
                    *size = out.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
                }
                _ => {
                    let unit = unit_vector(row.iter().map(|&x| f64::from(x)), source, metric);
                    let zero = unit.fold(out);
                    if zero && extra {
                        out[source] = 1.0;
                    }
                    // A row without direction is as far as a right angle from all others.
                    *size = 1.0;
                }
            }
        });
        // In units of the rounding error u = 2^-24, as multiples of |a|^2 + |b|^2: the product of length d has at most d
        // (any order of summation), rounding the transformed rows 4, the squares and the three terms 7; two distances
        // that round to the same f32 differ by 8.
        let relative = (dim as f64 + 24.0) * 2f64.powi(-24);
        Self { values, dim, bounds: bounds(&size, &size.iter().map(|s| s * relative).collect::<Vec<_>>()) }
    }

    fn rows(&self, range: &Range<usize>) -> &[f32] {
        &self.values[range.start * self.dim..range.end * self.dim]
    }
}

fn bounds(size: &[f64], margin: &[f64]) -> Bounds {
    Bounds {
        floor: size.iter().zip(margin).map(|(s, m)| (s - m) as f32).collect(),
        // Rows that coincide with the centre still differ from each other by what underflowed.
        margin: margin.iter().map(|&m| m as f32 + 1e-36).collect(),
    }
}

/// A row as a unit vector: `(x - shift) / length`, or the roots of that.
struct Unit<I> {
    row: I,
    shift: f64,
    length: f64,
    root: bool,
}

fn unit_vector<I: Iterator<Item = f64> + Clone>(row: I, columns: usize, metric: Metric) -> Unit<I> {
    let sum = |row: I, term: &dyn Fn(f64) -> f64| row.map(term).sum::<f64>();
    match metric {
        Metric::Hellinger => Unit { length: sum(row.clone(), &|x| x), row, shift: 0.0, root: true },
        Metric::Correlation => {
            let shift = sum(row.clone(), &|x| x) / columns as f64;
            Unit { length: sum(row.clone(), &|x| (x - shift) * (x - shift)).sqrt(), row, shift, root: false }
        }
        _ => Unit { length: sum(row.clone(), &|x| x * x).sqrt(), row, shift: 0.0, root: false },
    }
}

impl<I: Iterator<Item = f64>> Unit<I> {
    /// Writes the unit vector; says whether the row has none and `out` was left zero.
    fn fold(self, out: &mut [f32]) -> bool {
        if self.length == 0.0 {
            return true;
        }
        for (out, x) in out.iter_mut().zip(self.row) {
            let scaled = (x - self.shift) / self.length;
            *out = if self.root { scaled.sqrt() } else { scaled } as f32;
        }
        false
    }
}

/// Dense rows against dense rows, by matrix products.
pub(super) struct DenseInner<'a> {
    pub queries: &'a Flat,
    pub points: &'a Flat,
    pub key: &'a (dyn Fn(usize, usize) -> f32 + Sync),
}

impl Pairs for DenseInner<'_> {
    fn scan(&self, rows: Range<usize>, columns: Range<usize>, reach: Reach, hits: &mut Hits) {
        hits.add_tile(reach, |out| {
            product_nt(self.queries.rows(&rows), self.points.rows(&columns), self.queries.dim, out);
            finish(&self.queries.bounds.floor[rows], &self.points.bounds.floor[columns], out);
        });
    }

    fn slack(&self, i: usize, j: usize) -> f32 {
        self.queries.bounds.slack(i, &self.points.bounds, j)
    }

    fn key(&self, i: usize, j: usize) -> f32 {
        (self.key)(i, j)
    }

    fn cost(&self) -> f64 {
        dense_cost(self.queries.dim)
    }
}

/// Nanoseconds of a dense pair.
pub(super) fn dense_cost(dim: usize) -> f64 {
    1.2 + 0.02 * dim as f64
}

/// Nanoseconds of a sparse pair: reading the row's entries is shared by a tile's columns, the entries that meet are not.
pub(super) fn sparse_cost(entries: usize, rows: usize, dim: usize) -> f64 {
    let per_row = entries as f64 / rows.max(1) as f64;
    let meet = per_row * per_row / dim.max(1) as f64;
    // Columns are not equally full: in texts the common words make most of the meetings.
    2.0 + 0.02 * per_row + 8.0 * meet
}

/// `|a|^2 + |b|^2 - 2 <a, b>`, row by row.
#[simd_dispatch]
pub(super) fn finish(rows: &[f32], columns: &[f32], out: &mut [f32]) {
    for (line, &a) in out.chunks_exact_mut(columns.len()).zip(rows) {
        for (out, &b) in line.iter_mut().zip(columns) {
            *out = (a + b) - 2.0 * *out;
        }
    }
}

/// Transformed sparse rows of a block of points, by column, so that a row meets only the entries it shares a column with.
struct ByColumn {
    columns: Vec<u32>,
    starts: Vec<u32>,
    entries: Vec<(u32, f64)>,
}

/// Transformed sparse rows, in `f64`: there is no fast product to round for.
pub(super) struct SparseFlat {
    indptr: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    /// Correlation is `<a, b> - d mean_a mean_b`, and the rows stay sparse: `sqrt(d) mean`, scaled as the row is.
    shift: Vec<f64>,
    dim: usize,
    /// Whether rows are unit vectors, so that a product of zero is a distance of one.
    unit: bool,
    bounds: Bounds,
}

/// The lower bound that stands for a right angle between unit vectors, and for nothing else: `2` less the margins.
const RIGHT_ANGLE: f32 = 2.0 - 1.0 / (1 << 19) as f32;
/// Products up to here (far above the rounding of `f64` sums) leave a distance that rounds to one in `f32`.
const NO_PRODUCT: f64 = 1.0 / (1u32 << 27) as f64;

impl SparseFlat {
    /// Rows transformed for `metric`; Euclidean rows are multiplied by `scale`.
    pub(super) fn new(data: &Sparse, metric: Metric, scale: f64) -> Self {
        let dim = data.dim() + 1;
        let (mut indptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        let (mut size, mut shift, mut margin) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..data.rows() {
            let (row_columns, row) = data.row(i);
            let start = values.len();
            columns.extend_from_slice(row_columns);
            let wide = row.iter().map(|&x| f64::from(x));
            let (length, mean) = match metric {
                Metric::Euclidean => (1.0 / scale, 0.0),
                Metric::Correlation => {
                    let mean = wide.clone().sum::<f64>() / data.dim() as f64;
                    let absent = (data.dim() - row.len()) as f64 * mean * mean;
                    ((wide.clone().map(|x| (x - mean) * (x - mean)).sum::<f64>() + absent).sqrt(), mean)
                }
                _ => {
                    let unit = unit_vector(wide.clone(), data.dim(), metric);
                    (unit.length, 0.0)
                }
            };
            let scaled = |x: f64| if length == 0.0 { 0.0 } else { x / length };
            match metric {
                Metric::Hellinger => values.extend(wide.map(|x| scaled(x).sqrt())),
                _ => values.extend(wide.map(scaled)),
            }
            if length == 0.0 && metric == Metric::Hellinger {
                columns.push(data.dim() as u32);
                values.push(1.0);
            }
            let squared = values[start..].iter().map(|x| x * x).sum::<f64>();
            size.push(if metric == Metric::Euclidean { squared } else { 1.0 });
            shift.push(scaled(mean) * (data.dim() as f64).sqrt());
            // f64 sums of the parts that cancel; then one rounding to f32 and the ties it makes (see `Flat::new`).
            margin.push(1e-12 * (squared + 1e-3 * size[i]) + size[i] * 2f64.powi(-20));
            indptr.push(values.len());
        }
        Self { indptr, columns, values, shift, dim, unit: metric != Metric::Euclidean, bounds: bounds(&size, &margin) }
    }

    fn cost(&self) -> f64 {
        sparse_cost(self.values.len(), self.shift.len(), self.dim)
    }

    fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.indptr[i]..self.indptr[i + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    fn by_column(&self, rows: &Range<usize>) -> ByColumn {
        let mut entries: Vec<(u32, u32, f64)> = Vec::new();
        for (local, i) in rows.clone().enumerate() {
            let (columns, values) = self.row(i);
            entries.extend(columns.iter().zip(values).map(|(&c, &x)| (c, local as u32, x)));
        }
        entries.sort_by_key(|entry| entry.0);
        let mut block = ByColumn { columns: Vec::new(), starts: Vec::new(), entries: Vec::new() };
        for (at, &(column, local, x)) in entries.iter().enumerate() {
            if block.columns.last() != Some(&column) {
                block.columns.push(column);
                block.starts.push(at as u32);
            }
            block.entries.push((local, x));
        }
        block.starts.push(entries.len() as u32);
        block
    }
}

/// Sparse rows against sparse rows, through the columns they share.
pub(super) struct SparseInner<'a> {
    pub queries: &'a SparseFlat,
    pub points: &'a SparseFlat,
    pub key: &'a (dyn Fn(usize, usize) -> f32 + Sync),
    blocks: Vec<ByColumn>,
    block_rows: usize,
}

impl<'a> SparseInner<'a> {
    pub(super) fn new(
        queries: &'a SparseFlat,
        points: &'a SparseFlat,
        key: &'a (dyn Fn(usize, usize) -> f32 + Sync),
    ) -> Self {
        let rows = points.indptr.len() - 1;
        // The width of the tiles that will be asked for.
        let block_rows = exact::side(queries.cost());
        let starts: Vec<usize> = (0..rows).step_by(block_rows).collect();
        let blocks = starts.par_iter().map(|&start| points.by_column(&(start..rows.min(start + block_rows)))).collect();
        Self { queries, points, key, blocks, block_rows }
    }
}

impl Pairs for SparseInner<'_> {
    fn scan(&self, rows: Range<usize>, columns: Range<usize>, reach: Reach, hits: &mut Hits) {
        hits.add_tile(reach, |out| {
            let block = &self.blocks[columns.start / self.block_rows];
            // 1 + place of each column in the block, 0 for those it does not have.
            let mut place = vec![0u32; self.queries.dim.max(self.points.dim)];
            block.columns.iter().enumerate().for_each(|(at, &column)| place[column as usize] = at as u32 + 1);
            let mut sums = vec![0.0; columns.len()];
            for (i, line) in rows.clone().zip(out.chunks_exact_mut(columns.len())) {
                sums.fill(0.0);
                let (row_columns, row) = self.queries.row(i);
                for (&column, &x) in row_columns.iter().zip(row) {
                    if let Some(at) = (place[column as usize] as usize).checked_sub(1) {
                        let shared = block.starts[at] as usize..block.starts[at + 1] as usize;
                        block.entries[shared].iter().for_each(|&(j, y)| sums[j as usize] += x * y);
                    }
                }
                let (floor, shift) = (f64::from(self.queries.bounds.floor[i]), self.queries.shift[i]);
                for ((out, j), &product) in line.iter_mut().zip(columns.clone()).zip(&sums) {
                    let product = product - shift * self.points.shift[j];
                    let lower = (floor + f64::from(self.points.bounds.floor[j]) - 2.0 * product) as f32;
                    *out = match (self.points.unit && product.abs() <= NO_PRODUCT, lower == RIGHT_ANGLE) {
                        (true, _) => RIGHT_ANGLE,
                        (false, true) => lower.next_down(),
                        (false, false) => lower,
                    };
                }
            }
        });
    }

    fn slack(&self, i: usize, j: usize) -> f32 {
        self.queries.bounds.slack(i, &self.points.bounds, j)
    }

    fn key(&self, i: usize, j: usize) -> f32 {
        (self.key)(i, j)
    }

    /// Most pairs of sparse rows share no column, and tie: their distance need not be computed.
    #[inline]
    fn known_key(&self, lower: f32) -> Option<f32> {
        (self.points.unit && lower == RIGHT_ANGLE).then_some(1.0)
    }

    fn cost(&self) -> f64 {
        self.queries.cost()
    }
}
