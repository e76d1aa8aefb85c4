//! Sparse rows, compared through the columns they share.

use std::ops::Range;

use rayon::prelude::*;

use super::{SquaredDistanceBounds, bounds, unit_vector};
use crate::exact::{self, CandidatePairs, PairSource, TileThresholds};
use lowland_core::{Metric, Sparse};

/// Nanoseconds of a sparse pair: reading the row's entries is shared by a tile's columns, the entries that meet are not.
pub(crate) fn sparse_cost(entries: usize, rows: usize, dim: usize) -> f64 {
    let per_row = entries as f64 / rows.max(1) as f64;
    let meet = per_row * per_row / dim.max(1) as f64;
    // Columns are not equally full: in texts the common words make most of the meetings.
    2.0 + 0.02 * per_row + 8.0 * meet
}

/// Transformed sparse rows of a block of points, by column, so that a row meets only the entries it shares a column with.
struct ColumnIndex {
    columns: Vec<u32>,
    starts: Vec<u32>,
    entries: Vec<(u32, f64)>,
}

/// Transformed sparse rows, in `f64`: there is no fast product to round for.
pub(crate) struct TransformedSparseRows {
    indptr: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    /// Correlation is `<a, b> - d mean_a mean_b`, and the rows stay sparse: `sqrt(d) mean`, scaled as the row is.
    shift: Vec<f64>,
    dim: usize,
    /// Whether rows are unit vectors, so that a product of zero is a distance of one.
    unit: bool,
    bounds: SquaredDistanceBounds,
}

/// The lower bound that stands for a right angle between unit vectors, and for nothing else: `2` less the margins.
const RIGHT_ANGLE: f32 = 2.0 - 1.0 / (1 << 19) as f32;
/// Products up to here (far above the rounding of `f64` sums) leave a distance that rounds to one in `f32`.
const NEGLIGIBLE_PRODUCT: f64 = 1.0 / (1u32 << 27) as f64;

impl TransformedSparseRows {
    /// Rows transformed for `metric`; Euclidean rows are multiplied by `scale`.
    pub(crate) fn new(data: &Sparse, metric: Metric, scale: f64) -> Self {
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
            // f64 sums of the parts that cancel; then one rounding to f32 and the ties it makes (see `TransformedRows::new`).
            margin.push(1e-12 * (squared + 1e-3 * size[i]) + size[i] * 2f64.powi(-20));
            indptr.push(values.len());
        }
        Self { indptr, columns, values, shift, dim, unit: metric != Metric::Euclidean, bounds: bounds(&size, &margin) }
    }

    fn pair_cost(&self) -> f64 {
        sparse_cost(self.values.len(), self.shift.len(), self.dim)
    }

    fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.indptr[i]..self.indptr[i + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    fn by_column(&self, rows: &Range<usize>) -> ColumnIndex {
        let mut entries: Vec<(u32, u32, f64)> = Vec::new();
        for (local, i) in rows.clone().enumerate() {
            let (columns, values) = self.row(i);
            entries.extend(columns.iter().zip(values).map(|(&c, &x)| (c, local as u32, x)));
        }
        entries.sort_by_key(|entry| entry.0);
        let mut block = ColumnIndex { columns: Vec::new(), starts: Vec::new(), entries: Vec::new() };
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
pub(crate) struct SparseProductPairs<'a> {
    pub queries: &'a TransformedSparseRows,
    pub points: &'a TransformedSparseRows,
    pub distance: &'a (dyn Fn(usize, usize) -> f32 + Sync),
    blocks: Vec<ColumnIndex>,
    block_rows: usize,
}

impl<'a> SparseProductPairs<'a> {
    pub(crate) fn new(
        queries: &'a TransformedSparseRows,
        points: &'a TransformedSparseRows,
        distance: &'a (dyn Fn(usize, usize) -> f32 + Sync),
    ) -> Self {
        let rows = points.indptr.len() - 1;
        // The width of the tiles that will be asked for.
        let block_rows = exact::tile_size(queries.pair_cost());
        let starts: Vec<usize> = (0..rows).step_by(block_rows).collect();
        let blocks = starts.par_iter().map(|&start| points.by_column(&(start..rows.min(start + block_rows)))).collect();
        Self { queries, points, distance, blocks, block_rows }
    }
}

impl PairSource for SparseProductPairs<'_> {
    fn scan(&self, rows: Range<usize>, columns: Range<usize>, thresholds: TileThresholds, hits: &mut CandidatePairs) {
        hits.add_tile(thresholds, |out| {
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
                    *out = match (self.points.unit && product.abs() <= NEGLIGIBLE_PRODUCT, lower == RIGHT_ANGLE) {
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

    fn distance(&self, i: usize, j: usize) -> f32 {
        (self.distance)(i, j)
    }

    /// Most pairs of sparse rows share no column, and tie: their distance need not be computed.
    #[inline]
    fn known_distance(&self, lower: f32) -> Option<f32> {
        (self.points.unit && lower == RIGHT_ANGLE).then_some(1.0)
    }

    fn pair_cost(&self) -> f64 {
        self.queries.pair_cost()
    }
}
