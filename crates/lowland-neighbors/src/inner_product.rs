//! Exact search for metrics that are functions of inner products: `|a - b|^2 = |a|^2 + |b|^2 - 2 <a, b>` on transformed
//! rows.
//!
//! Euclidean rows are centered (the expansion cancels for data far from the origin) and scaled by a power of two to
//! magnitude one (no square overflows or vanishes). Rows under cosine and correlation become unit vectors, and rows
//! under the Hellinger distance unit vectors of their square roots; `|a - b|^2` is then twice the distance, or twice
//! its square.

mod sparse;

use std::ops::Range;

use lowland_core::simd::simd_dispatch;
use rayon::prelude::*;

use super::exact::{CandidatePairs, PairSource, PairTile};
use lowland_core::{Dense, Metric};
use lowland_linalg::dense::{power_of_two_near, product_nt};

pub(super) use sparse::{SparseProductPairs, TransformedSparseRows, sparse_cost};

/// Returns whether a metric is a function of inner products of transformed rows.
pub(super) fn supports(metric: Metric) -> bool {
    matches!(metric, Metric::Euclidean | Metric::Cosine | Metric::Correlation | Metric::Hellinger)
}

/// Shift and scale of Euclidean rows before they are rounded to `f32`.
pub(super) struct CenterAndScale {
    mean: Vec<f64>,
    scale: f64,
}

/// Number of rows of a chunk in sums over all rows; fixed, so that the result does not depend on the number of threads.
const CHUNK: usize = 4096;

impl CenterAndScale {
    /// Computes the mean of `data`, and the scale at which `data` and `queries` have magnitude one.
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
        Self { mean, scale: unit_scale(f64::from(largest(data).max(largest(queries)))) }
    }
}

/// Returns the power of two that scales `largest` to about one.
pub(super) fn unit_scale(largest: f64) -> f64 {
    1.0 / power_of_two_near(largest)
}

/// Transformed dense rows.
pub(super) struct TransformedRows {
    /// Rows laid end to end.
    pub values: Vec<f32>,
    /// Number of columns; may exceed that of the data.
    pub dim: usize,
    pub bounds: SquaredDistanceBounds,
}

/// Terms that turn inner products into bounds of squared distances.
pub(super) struct SquaredDistanceBounds {
    /// `|a|^2` minus the margin.
    pub floor: Vec<f32>,
    /// Largest rounding error of `|a - b|^2`, divided between the two rows.
    pub(super) margin: Vec<f32>,
}

impl SquaredDistanceBounds {
    pub(super) fn slack(&self, i: usize, other: &SquaredDistanceBounds, j: usize) -> f32 {
        2.0 * (self.margin[i] + other.margin[j])
    }
}

impl TransformedRows {
    /// Transforms rows for `metric`; `center_and_scale` is used for Euclidean rows only.
    ///
    /// A zero row under Hellinger becomes a distribution on an extra column, shared with other zero rows. With
    /// `separate_zeros` the same is done for cosine and correlation: Euclidean distances between the transformed rows
    /// are then correct except between two zero rows.
    pub(super) fn new(data: &Dense, metric: Metric, center_and_scale: &CenterAndScale, separate_zeros: bool) -> Self {
        let source = data.dim();
        let extra = metric == Metric::Hellinger || (separate_zeros && metric != Metric::Euclidean);
        let dim = (source + usize::from(extra)).max(1);
        let mut values = vec![0f32; data.rows() * dim];
        let mut size = vec![0f64; data.rows()];
        values.par_chunks_mut(dim).zip(&mut size).enumerate().for_each(|(i, (out, size))| {
            let row = data.row(i);
            match metric {
                Metric::Euclidean => {
                    for (c, &x) in row.iter().enumerate() {
                        out[c] = ((f64::from(x) - center_and_scale.mean[c]) * center_and_scale.scale) as f32;
                    }
                    *size = out.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
                }
                _ => {
                    let unit = unit_vector(row.iter().map(|&x| f64::from(x)), source, metric);
                    let zero = unit.write_to(out);
                    if zero && extra {
                        out[source] = 1.0;
                    }
                    // A zero row counts as orthogonal to all others.
                    *size = 1.0;
                }
            }
        });
        // In units of the rounding error u = 2^-24, as multiples of |a|^2 + |b|^2: the product of length d contributes
        // at most d (in any order of summation), rounding the transformed rows 4, the squares and the three terms 7;
        // two distances that round to the same f32 differ by 8.
        let relative = (dim as f64 + 24.0) * 2f64.powi(-24);
        Self { values, dim, bounds: bounds(&size, &size.iter().map(|s| s * relative).collect::<Vec<_>>()) }
    }

    fn rows(&self, range: &Range<usize>) -> &[f32] {
        &self.values[range.start * self.dim..range.end * self.dim]
    }
}

fn bounds(size: &[f64], margin: &[f64]) -> SquaredDistanceBounds {
    SquaredDistanceBounds {
        floor: size.iter().zip(margin).map(|(s, m)| (s - m) as f32).collect(),
        // Rows that coincide with the center still differ from each other by what underflowed.
        margin: margin.iter().map(|&m| m as f32 + 1e-36).collect(),
    }
}

/// A row as a unit vector: `(x - shift) / length`, or the square roots of that.
struct UnitVector<I> {
    row: I,
    shift: f64,
    length: f64,
    root: bool,
}

fn unit_vector<I: Iterator<Item = f64> + Clone>(row: I, columns: usize, metric: Metric) -> UnitVector<I> {
    let sum = |row: I, term: &dyn Fn(f64) -> f64| row.map(term).sum::<f64>();
    match metric {
        Metric::Hellinger => UnitVector { length: sum(row.clone(), &|x| x), row, shift: 0.0, root: true },
        Metric::Correlation => {
            let shift = sum(row.clone(), &|x| x) / columns as f64;
            UnitVector { length: sum(row.clone(), &|x| (x - shift) * (x - shift)).sqrt(), row, shift, root: false }
        }
        _ => UnitVector { length: sum(row.clone(), &|x| x * x).sqrt(), row, shift: 0.0, root: false },
    }
}

impl<I: Iterator<Item = f64>> UnitVector<I> {
    /// Writes the unit vector; returns true if the row has none and `out` is left zero.
    fn write_to(self, out: &mut [f32]) -> bool {
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

/// Pairs of dense rows, compared by matrix products.
pub(super) struct DenseProductPairs<'a> {
    pub queries: &'a TransformedRows,
    pub points: &'a TransformedRows,
    pub distance: &'a (dyn Fn(usize, usize) -> f32 + Sync),
}

impl PairSource for DenseProductPairs<'_> {
    fn scan(&self, tile: &PairTile, candidates: &mut CandidatePairs) {
        candidates.add_tile(tile, |out| {
            product_nt(self.queries.rows(&tile.rows), self.points.rows(&tile.columns), self.queries.dim, out);
            let row_floor = &self.queries.bounds.floor[tile.rows.clone()];
            let column_floor = &self.points.bounds.floor[tile.columns.clone()];
            squared_distances_from_products(row_floor, column_floor, out);
        });
    }

    fn slack(&self, i: usize, j: usize) -> f32 {
        self.queries.bounds.slack(i, &self.points.bounds, j)
    }

    fn distance(&self, i: usize, j: usize) -> f32 {
        (self.distance)(i, j)
    }

    fn pair_cost(&self) -> f64 {
        dense_cost(self.queries.dim)
    }
}

/// Cost of a dense pair, in nanoseconds.
pub(super) fn dense_cost(dim: usize) -> f64 {
    1.2 + 0.02 * dim as f64
}

/// Turns inner products into `|a|^2 + |b|^2 - 2 <a, b>`, row by row.
#[simd_dispatch]
pub(super) fn squared_distances_from_products(rows: &[f32], columns: &[f32], out: &mut [f32]) {
    for (line, &a) in out.chunks_exact_mut(columns.len()).zip(rows) {
        for (out, &b) in line.iter_mut().zip(columns) {
            *out = (a + b) - 2.0 * *out;
        }
    }
}
