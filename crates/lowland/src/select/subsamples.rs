//! Subsamples: the rows on which candidates are compared if there are too many for the model.

use lowland_core::run::Progress;
use lowland_core::{Data, Metric, Result, Seed};
use lowland_neighbors::nearest_to_with;

/// The subsamples on which candidates are compared: in turn, the nearest rows of a random row, and rows drawn from all.
///
/// Rows drawn from all are so far apart that the curvature of a manifold looks like more dimensions; the nearest rows of a row are so
/// close together that noise hides dimensions. Either kind alone errs on one side, so their bounds are averaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subsamples {
    /// Number of subsamples.
    pub count: usize,
    /// Number of rows of each. Data with no more rows is used as a whole, once.
    pub rows: usize,
}

impl Default for Subsamples {
    fn default() -> Self {
        Self { count: 6, rows: 200 }
    }
}

impl Subsamples {
    /// Returns the number of rows of a subsample of `n` rows.
    pub fn rows_of(self, n: usize) -> usize {
        self.rows.min(n)
    }

    /// Returns the rows of every subsample, in ascending order.
    pub(super) fn draw(
        self,
        data: &Data,
        metric: Metric,
        seed: Seed,
        progress: &mut Progress,
    ) -> Result<Vec<Vec<usize>>> {
        let n = data.rows();
        if n <= self.rows {
            return Ok(vec![(0..n).collect()]);
        }
        let centers = draw_rows((0..n).collect(), self.count.div_ceil(2).min(n), seed.stream("centers"));
        let graph = nearest_to_with(&data.select(&centers), data, self.rows, metric, progress)?;
        let subsample = |at: usize| {
            let mut rows: Vec<usize> = match at % 2 {
                0 => graph.row(at / 2).0.iter().map(|&j| j as usize).collect(),
                _ => draw_rows((0..n).collect(), self.rows, seed.stream("rows").item(at)),
            };
            rows.sort_unstable();
            rows
        };
        Ok((0..self.count.min(2 * centers.len())).map(subsample).collect())
    }
}

/// Draws `count` of the given rows without replacement.
fn draw_rows(mut rows: Vec<usize>, count: usize, seed: Seed) -> Vec<usize> {
    rows.sort_unstable_by_key(|&i| (seed.item(i).0, i));
    rows.truncate(count);
    rows
}
