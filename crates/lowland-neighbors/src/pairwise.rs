//! Exact search for metrics that are not functions of inner products: distances are computed pair by pair.

use super::distance;
use super::exact::{CandidatePairs, PairSource, PairTile};
use super::levenshtein::{EditDistanceMatcher, EncodedStrings};
use lowland_core::{Dense, Metric, Sparse};

/// Pairs of dense or sparse rows under any numeric metric.
pub(super) struct MetricPairs<'a, R> {
    pub queries: &'a R,
    pub points: &'a R,
    pub metric: Metric,
}

impl PairSource for MetricPairs<'_, Dense> {
    const BOUNDS_ARE_EXACT: bool = true;

    fn scan(&self, tile: &PairTile, candidates: &mut CandidatePairs) {
        candidates.add_tile(tile, |out| {
            let dim = self.points.dim();
            let points = &self.points.values()[tile.columns.start * dim..tile.columns.end * dim];
            for (i, line) in tile.rows.clone().zip(out.chunks_exact_mut(tile.columns.len())) {
                distance::dense_many(self.metric, self.queries.row(i), points, line);
            }
        });
    }

    fn distance(&self, i: usize, j: usize) -> f32 {
        distance::dense(self.metric, self.queries.row(i), self.points.row(j)) as f32
    }

    fn pair_cost(&self) -> f64 {
        dense_cost(self.metric, self.points.dim())
    }
}

/// Cost of one dense distance, in nanoseconds.
pub(super) fn dense_cost(metric: Metric, dim: usize) -> f64 {
    let each = match metric {
        Metric::Minkowski(p) if [1.0, 2.0, 3.0, 4.0].contains(&p) => 0.4,
        Metric::Minkowski(_) => 20.0,
        Metric::BrayCurtis | Metric::Hellinger | Metric::Jaccard => 0.6,
        _ => 0.25,
    };
    5.0 + each * dim as f64
}

impl PairSource for MetricPairs<'_, Sparse> {
    const BOUNDS_ARE_EXACT: bool = true;

    fn scan(&self, tile: &PairTile, candidates: &mut CandidatePairs) {
        candidates.add_tile(tile, |out| {
            for (i, line) in tile.rows.clone().zip(out.chunks_exact_mut(tile.columns.len())) {
                for (out, j) in line.iter_mut().zip(tile.columns.clone()) {
                    *out = self.distance(i, j);
                }
            }
        });
    }

    fn distance(&self, i: usize, j: usize) -> f32 {
        distance::sparse(self.metric, self.queries.row(i), self.points.row(j), self.points.dim()) as f32
    }

    fn pair_cost(&self) -> f64 {
        sparse_cost(self.points.values().len(), self.points.rows())
    }
}

/// Cost of one sparse distance, in nanoseconds.
pub(super) fn sparse_cost(entries: usize, rows: usize) -> f64 {
    10.0 + 5.0 * entries as f64 / rows.max(1) as f64
}

/// Cost of the distance of two strings of average length, in nanoseconds: bit vectors up to 64 characters, the full
/// table above.
pub(super) fn text_cost(letters: usize, rows: usize) -> f64 {
    let mean = letters as f64 / rows.max(1) as f64;
    30.0 + if mean <= 64.0 { 4.0 * mean } else { mean * mean }
}

/// Pairs of strings.
pub(super) struct TextPairs<'a> {
    pub queries: &'a EncodedStrings,
    pub points: &'a EncodedStrings,
    pub alphabet: usize,
}

impl PairSource for TextPairs<'_> {
    const BOUNDS_ARE_EXACT: bool = true;

    fn scan(&self, tile: &PairTile, candidates: &mut CandidatePairs) {
        candidates.add_tile(tile, |out| {
            let mut matcher = EditDistanceMatcher::new(self.alphabet);
            let lines = tile.rows.clone().zip(out.chunks_exact_mut(tile.columns.len()));
            for ((i, line), &row_threshold) in lines.zip(tile.row_thresholds) {
                matcher.set(self.queries.string(i));
                let cells = line.iter_mut().zip(tile.columns.clone());
                for ((out, j), &column_threshold) in cells.zip(tile.column_thresholds) {
                    // The cast of an infinite threshold saturates.
                    let limit = row_threshold.max(column_threshold) as u32;
                    *out = matcher.distance_within(self.points.string(j), limit).map_or(f32::INFINITY, |d| d as f32);
                }
            }
        });
    }

    fn distance(&self, i: usize, j: usize) -> f32 {
        let mut matcher = EditDistanceMatcher::new(self.alphabet);
        matcher.set(self.queries.string(i));
        matcher.distance_within(self.points.string(j), u32::MAX).map_or(f32::INFINITY, |d| d as f32)
    }

    fn pair_cost(&self) -> f64 {
        text_cost(self.points.letters(), self.points.rows())
    }
}
