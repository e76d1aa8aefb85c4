//! An index of rows: searches for the neighbors of new rows that compare each with a few percent of the rows.
//!
//! The rows are divided into cells around the centers of k-means. A search compares a new row with all centers, and then with the rows
//! of the nearest cells, until it has visited a number of rows. That number is measured when the index is built: as many as are needed
//! to find [`TARGET_RECALL`] of the neighbors. Every new row is searched for on its own, so results do not depend on the batch.

mod calibration;
mod cells;
mod indexed_rows;

use super::distance::{self, by_distance_then_index};
use super::nearest::to_graph;
use super::row_distances::LANES;
use cells::Cells;
pub use indexed_rows::{IndexedRows, QuerySearch};
use lowland_core::archive::Archive;
use lowland_core::run::{Progress, fill_in_batches};
use lowland_core::simd::simd_dispatch;
use lowland_core::{Data, Dense, Metric, Result, Seed};

use crate::NeighborGraph;

/// Number of rows up to which there is no index: comparing all of them is fast.
pub const MIN_INDEXED_ROWS: usize = 20_000;
/// Share of the neighbors that a search is expected to find.
pub const TARGET_RECALL: f64 = 0.99;
/// Number of candidates beyond the neighbors asked for: the search rounds, and the true distances decide.
const EXTRA_CANDIDATES: usize = 4;

/// Rows, rounded and padded so that one loop compares a row with many.
#[derive(Debug, Clone, PartialEq)]
struct PackedRows {
    values: Vec<f32>,
    /// Number of columns, padded with zeros.
    stride: usize,
}

/// How rows are transformed before they are compared: distances between transformed rows increase with those of the metric.
#[derive(Debug, Clone, PartialEq)]
struct RowTransform {
    /// Whether rows are scaled to length one, for cosine distance.
    normalized: bool,
    /// Subtracted from the rows: about their mean, so that rounding loses little.
    shift: Vec<f32>,
}

/// An index for searches among the rows of dense data.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchIndex {
    transform: RowTransform,
    cells: Cells,
    /// The transformed rows, cell after cell.
    rows: PackedRows,
    /// Number of rows that a search visits at least.
    visited: usize,
    /// Share of the neighbors found, as measured when the index was built.
    recall: f64,
}

impl SearchIndex {
    /// Builds an index for searches of `k` neighbors. Returns `None` if comparing all rows is the better choice: there are few, the
    /// metric is another than Euclidean or cosine distance, or the rows have no structure that cells could follow.
    pub fn new(data: &Data, metric: Metric, k: usize, seed: Seed) -> Option<Self> {
        let x = Self::supported(data, metric)?;
        if x.rows() < MIN_INDEXED_ROWS {
            return None;
        }
        let transform = RowTransform::new(x, metric);
        let cells = Cells::new(x, &transform, seed.stream("index"));
        let rows = transform.pack(x, &cells.order);
        let mut index = Self { transform, cells, rows, visited: x.rows(), recall: 1.0 };
        (index.visited, index.recall) = calibration::rows_to_visit(&index, k.min(x.rows() - 1), TARGET_RECALL)?;
        Some(index)
    }

    /// Returns the rows if there can be an index of them.
    fn supported(data: &Data, metric: Metric) -> Option<&Dense> {
        match data {
            Data::Dense(x) if matches!(metric, Metric::Euclidean | Metric::Mahalanobis | Metric::Cosine) => {
                (x.rows() > 0 && x.dim() > 0).then_some(x)
            }
            _ => None,
        }
    }

    /// Share of the neighbors that searches found when the index was built.
    pub fn recall(&self) -> f64 {
        self.recall
    }

    /// Share of the rows that each new row is compared with.
    pub fn visited_share(&self) -> f64 {
        self.visited as f64 / self.cells.order.len() as f64
    }

    /// Returns the `k` nearest of the indexed rows, `data`, for every row of `queries`.
    pub fn nearest(
        &self,
        queries: &Dense,
        data: &Dense,
        k: usize,
        metric: Metric,
        progress: &mut Progress,
    ) -> Result<NeighborGraph> {
        let mut found = vec![(f32::INFINITY, 0); queries.rows() * k];
        fill_in_batches(&mut found, k, progress, |i, out| {
            let mut candidates = self.candidates(queries.row(i), k + EXTRA_CANDIDATES);
            for candidate in &mut candidates {
                candidate.0 = distance::dense(metric, queries.row(i), data.row(candidate.1 as usize)) as f32;
            }
            candidates.sort_unstable_by(by_distance_then_index);
            out.copy_from_slice(&candidates[..k]);
        })?;
        to_graph(found, k, data.rows(), metric)
    }

    /// Returns at least `count` rows that are likely the nearest, or all there are, with their distances in the index's own units.
    fn candidates(&self, row: &[f32], count: usize) -> Vec<(f32, u32)> {
        let query = self.transform.apply(row, self.rows.stride);
        let enough = self.visited.max(2 * count).min(self.cells.order.len());
        let mut distances = Vec::new();
        let mut candidates: Vec<(f32, u32)> = Vec::with_capacity(enough + 256);
        self.visit_cells(&query, |cell| {
            let rows = self.cells.starts[cell]..self.cells.starts[cell + 1];
            distances.clear();
            let part = &self.rows.values[rows.start * self.rows.stride..rows.end * self.rows.stride];
            squared_distances(&query, part, &mut distances);
            candidates.extend(distances.iter().copied().zip(self.cells.order[rows].iter().copied()));
            candidates.len() < enough
        });
        if candidates.len() > count {
            candidates.select_nth_unstable_by(count - 1, by_distance_then_index);
            candidates.truncate(count);
        }
        candidates
    }

    /// Calls `visit` with the cells from near to far while it returns true.
    fn visit_cells(&self, query: &[f32], mut visit: impl FnMut(usize) -> bool) {
        let mut distances = Vec::new();
        squared_distances(query, &self.cells.centers.values, &mut distances);
        let mut cells: Vec<(f32, u32)> = distances.into_iter().zip(0..).collect();
        // Only the nearest are sorted; the others rarely count.
        let expected = (self.visited * cells.len()).div_ceil(self.cells.order.len());
        let front = (2 * expected + 8).min(cells.len());
        cells.select_nth_unstable_by(front - 1, by_distance_then_index);
        for part in [0..front, front..cells.len()] {
            cells[part.clone()].sort_unstable_by(by_distance_then_index);
            for &(_, cell) in &cells[part] {
                if !visit(cell as usize) {
                    return;
                }
            }
        }
    }

    /// Saves the index under `name/`. The transformed rows are computed again when it is loaded.
    pub fn save(&self, name: &str, archive: &mut Archive) {
        archive.put(format!("{name}/shift"), self.transform.shift.as_slice());
        archive.put(format!("{name}/centers"), self.cells.centers.values.as_slice());
        archive.put(format!("{name}/starts"), self.cells.starts.iter().map(|&at| at as u64).collect::<Vec<_>>());
        archive.put(format!("{name}/order"), self.cells.order.as_slice());
        archive.put(format!("{name}/visited"), self.visited as u64);
        archive.put(format!("{name}/recall"), [self.recall].as_slice());
    }

    /// Loads the index that was saved under `name/` for these rows; `None` if there is none.
    pub fn load(name: &str, archive: &Archive, data: &Data, metric: Metric) -> Result<Option<Self>> {
        let Some(x) = Self::supported(data, metric).filter(|_| archive.has(&format!("{name}/order"))) else {
            return Ok(None);
        };
        let shift = archive.f32s(&format!("{name}/shift"))?.to_vec();
        let (visited, recall) = (archive.size(&format!("{name}/visited"))?, archive.finite(&format!("{name}/recall"))?);
        let &[recall] = recall else { return Err(archive.invalid("its index has not one recall".into())) };
        if shift.len() != x.dim() || !shift.iter().all(|v| v.is_finite()) || visited > x.rows() {
            return Err(archive.invalid("its index does not belong to its rows".into()));
        }
        let transform = RowTransform { normalized: metric == Metric::Cosine, shift };
        let cells = Cells::load(name, archive, x.rows(), transform.stride())?;
        let rows = transform.pack(x, &cells.order);
        Ok(Some(Self { transform, cells, rows, visited, recall }))
    }
}

impl RowTransform {
    fn new(x: &Dense, metric: Metric) -> Self {
        let normalized = metric == Metric::Cosine;
        let unshifted = Self { normalized, shift: vec![0.0; x.dim()] };
        let rows = cells::evenly_spread(x.rows(), 4096);
        let mut sums = vec![0.0f64; x.dim()];
        for &i in &rows {
            let row = unshifted.apply(x.row(i as usize), x.dim());
            sums.iter_mut().zip(row).for_each(|(sum, v)| *sum += f64::from(v));
        }
        Self { normalized, shift: sums.iter().map(|sum| (sum / rows.len() as f64) as f32).collect() }
    }

    /// Number of columns of transformed rows, with padding.
    fn stride(&self) -> usize {
        self.shift.len().next_multiple_of(LANES)
    }

    /// Returns the transformed row, padded with zeros.
    fn apply(&self, row: &[f32], stride: usize) -> Vec<f32> {
        let norm = row.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
        let factor = if self.normalized && norm > 0.0 { 1.0 / norm } else { 1.0 };
        let scaled = |(&v, &shift): (&f32, &f32)| (f64::from(v) * factor - f64::from(shift)) as f32;
        let mut out: Vec<f32> = Vec::with_capacity(stride);
        out.extend(row.iter().zip(&self.shift).map(scaled));
        out.resize(stride, 0.0);
        out
    }

    fn pack(&self, x: &Dense, order: &[u32]) -> PackedRows {
        use rayon::prelude::*;
        let stride = self.stride();
        let mut values = vec![0.0; order.len() * stride];
        values.par_chunks_exact_mut(stride).zip(order.par_iter()).for_each(|(out, &i)| {
            out.copy_from_slice(&self.apply(x.row(i as usize), stride));
        });
        PackedRows { values, stride }
    }
}

/// Appends the squared distances from `query` to each of the rows laid end to end.
#[simd_dispatch]
fn squared_distances(query: &[f32], rows: &[f32], out: &mut Vec<f32>) {
    let (query, _) = query.as_chunks::<LANES>();
    let (rows, _) = rows.as_chunks::<LANES>();
    for row in rows.chunks_exact(query.len()) {
        let mut sums = [0.0f32; LANES];
        for (a, b) in query.iter().zip(row) {
            for lane in 0..LANES {
                let difference = a[lane] - b[lane];
                sums[lane] += difference * difference;
            }
        }
        let mut width = LANES / 2;
        while width > 0 {
            for lane in 0..width {
                sums[lane] += sums[lane + width];
            }
            width /= 2;
        }
        out.push(sums[0]);
    }
}

#[cfg(test)]
mod tests;
