//! Sparse rows, compared through the columns they share.

use std::ops::Range;

use rayon::prelude::*;

use super::{SquaredDistanceBounds, bounds, unit_vector};
use crate::exact::{self, CandidatePairs, PairSource, PairTile};
use lowland_core::{Metric, Sparse};

/// Cost of a sparse pair, in nanoseconds: reading the entries of a row is shared by the columns of a tile, multiplying
/// common entries is not.
pub(crate) fn sparse_cost(entries: usize, rows: usize, dim: usize) -> f64 {
    let per_row = entries as f64 / rows.max(1) as f64;
    let meet = per_row * per_row / dim.max(1) as f64;
    // Columns are not equally full: in texts, common words account for most common entries.
    2.0 + 0.02 * per_row + 8.0 * meet
}

/// Transformed sparse rows of a block of points, by column, so that a row is compared only through common columns.
struct ColumnIndex {
    columns: Vec<u32>,
    starts: Vec<u32>,
    entries: Vec<(u32, f64)>,
}

/// Transformed sparse rows, in `f64`, since there is no fast `f32` product to round for.
pub(crate) struct TransformedSparseRows {
    indptr: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    /// Correlation is `<a, b> - d mean_a mean_b`, which keeps the rows sparse; this is `sqrt(d) mean`, scaled like the
    /// row.
    shift: Vec<f64>,
    dim: usize,
    /// Whether rows are unit vectors, so that a product of zero means a distance of one.
    unit: bool,
    bounds: SquaredDistanceBounds,
}

/// Lower bound that marks orthogonal unit vectors and nothing else: `2` minus the margins.
const RIGHT_ANGLE: f32 = 2.0 - 1.0 / (1 << 19) as f32;
/// Products up to this value (far above the rounding of `f64` sums) give a distance that rounds to one in `f32`.
const NEGLIGIBLE_PRODUCT: f64 = 1.0 / (1u32 << 27) as f64;

impl TransformedSparseRows {
    /// Transforms rows for `metric`; Euclidean rows are multiplied by `scale`.
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
            // f64 sums of terms that cancel, then one rounding to f32 and the ties it causes (see
            // `TransformedRows::new`).
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

/// Pairs of sparse rows, compared through common columns.
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
        // The width of the tiles that will be requested.
        let block_rows = exact::tile_size(queries.pair_cost());
        let starts: Vec<usize> = (0..rows).step_by(block_rows).collect();
        let blocks = starts.par_iter().map(|&start| points.by_column(&(start..rows.min(start + block_rows)))).collect();
        Self { queries, points, distance, blocks, block_rows }
    }
}

impl PairSource for SparseProductPairs<'_> {
    fn scan(&self, tile: &PairTile, candidates: &mut CandidatePairs) {
        candidates.add_tile(tile, |out| {
            let block = &self.blocks[tile.columns.start / self.block_rows];
            // 1 + position of each column in the block, 0 for columns it does not have.
            let mut position = vec![0u32; self.queries.dim.max(self.points.dim)];
            block.columns.iter().enumerate().for_each(|(at, &column)| position[column as usize] = at as u32 + 1);
            let mut sums = vec![0.0; tile.columns.len()];
            for (i, line) in tile.rows.clone().zip(out.chunks_exact_mut(tile.columns.len())) {
                sums.fill(0.0);
                let (row_columns, row) = self.queries.row(i);
                for (&column, &x) in row_columns.iter().zip(row) {
                    if let Some(at) = (position[column as usize] as usize).checked_sub(1) {
                        let shared = block.starts[at] as usize..block.starts[at + 1] as usize;
                        block.entries[shared].iter().for_each(|&(j, y)| sums[j as usize] += x * y);
                    }
                }
                let (floor, shift) = (f64::from(self.queries.bounds.floor[i]), self.queries.shift[i]);
                for ((out, j), &product) in line.iter_mut().zip(tile.columns.clone()).zip(&sums) {
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

    /// Most pairs of sparse rows have no common column and tie, so their distance need not be computed.
    #[inline]
    fn known_distance(&self, lower: f32) -> Option<f32> {
        (self.points.unit && lower == RIGHT_ANGLE).then_some(1.0)
    }

    fn pair_cost(&self) -> f64 {
        self.queries.pair_cost()
    }
}
