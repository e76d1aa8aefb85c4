//! Rows that are far from every row of the fit: their places say little.

use lowland::neighbors::{IndexedRows, QuerySearch};
use lowland::{Data, Metric, Model};

/// The rows of a fit, and how far a row can be from its nearest one.
pub struct FarRows {
    rows: IndexedRows,
    /// Distance from the nearest row of the fit beyond which a row is far: twice the distance within which nine tenths of the rows of the
    /// fit have their nearest other row. A few far rows in the fit do not change it.
    pub limit: f32,
    /// Share of the rows of the fit that are as far from all others.
    pub fitted_share: f64,
}

/// Share of the rows of the fit whose distance to their nearest other row is typical.
const TYPICAL_SHARE: f64 = 0.9;
/// Number of rows of the fit on which the limit is measured.
const MEASURED_ROWS: usize = 10_000;

impl FarRows {
    /// Measures the limit on the rows of the fit. Returns `None` if there are too few, or if the metric is that of a given matrix.
    pub fn new(model: &Model, fitted: &Data) -> lowland::Result<Option<Self>> {
        let metric = model.method().metric().unwrap_or(Metric::Euclidean);
        let data = model.preprocess(fitted)?;
        if data.rows() < 3 || metric == Metric::Precomputed {
            return Ok(None);
        }
        let rows = IndexedRows::new(data, metric, 1);
        let n = rows.data().rows();
        let count = n.min(MEASURED_ROWS);
        let measured: Vec<usize> = (0..count).map(|i| (i as u64 * n as u64 / count as u64) as usize).collect();
        let graph = rows.nearest(&rows.data().select(&measured), 2, QuerySearch::Indexed, &mut |_| Ok(()))?;
        let other = |(at, &row): (usize, &usize)| {
            let (neighbors, distances) = graph.row(at);
            neighbors.iter().zip(distances).find(|(j, _)| **j as usize != row).map_or(0.0, |(_, &distance)| distance)
        };
        let mut distances: Vec<f32> = measured.iter().enumerate().map(other).collect();
        distances.sort_by(f32::total_cmp);
        let typical = distances[((count as f64 * TYPICAL_SHARE) as usize).min(count - 1)];
        // If nearly all rows are repeated, the largest distance.
        let limit = if typical > 0.0 { 2.0 * typical } else { distances[count - 1] };
        let fitted_share = distances.iter().filter(|distance| **distance > limit).count() as f64 / count as f64;
        Ok(Some(Self { rows, limit, fitted_share }))
    }

    /// Returns whether each row is far.
    pub fn find(&self, model: &Model, new: &Data) -> lowland::Result<Vec<bool>> {
        if new.rows() == 0 {
            return Ok(Vec::new());
        }
        let graph = self.rows.nearest(&model.preprocess(new)?, 1, QuerySearch::Indexed, &mut |_| Ok(()))?;
        Ok((0..new.rows()).map(|i| graph.row(i).1[0] > self.limit).collect())
    }
}
