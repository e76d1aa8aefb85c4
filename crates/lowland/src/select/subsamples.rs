//! Subsamples: the rows on which candidates are compared if there are too many for the model.

use lowland_core::run::Progress;
use lowland_core::{Data, Error, Metric, Result, Seed};
use lowland_neighbors::nearest_to_with;

/// How the rows of a subsample are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SubsampleKind {
    /// The nearest rows of a random row. They are as dense as the data, so that curvature is not mistaken for more dimensions; but
    /// noise hides dimensions if it is larger than the distances between them.
    #[default]
    Near,
    /// Rows drawn from all. They are farther apart, so that noise matters less and curvature more.
    All,
}

impl SubsampleKind {
    /// Parses `near` or `all`.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "near" => Ok(Self::Near),
            "all" => Ok(Self::All),
            _ => Err(Error::Parameter { name: "subsample", value: text.into(), allowed: "near or all".into() }),
        }
    }
}

/// The subsamples on which candidates are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subsamples {
    /// Number of subsamples.
    pub count: usize,
    /// Number of rows of each. Data with no more rows is used as a whole, once.
    pub rows: usize,
    /// How the rows are drawn.
    pub kind: SubsampleKind,
}

impl Default for Subsamples {
    fn default() -> Self {
        Self { count: 5, rows: 200, kind: SubsampleKind::default() }
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
        let mut drawn: Vec<Vec<usize>> = match self.kind {
            SubsampleKind::Near => {
                let centers = draw_rows((0..n).collect(), self.count.min(n), seed.stream("centers"));
                let graph = nearest_to_with(&data.select(&centers), data, self.rows, metric, progress)?;
                (0..centers.len()).map(|at| graph.row(at).0.iter().map(|&j| j as usize).collect()).collect()
            }
            SubsampleKind::All => {
                let seed = seed.stream("rows");
                (0..self.count).map(|at| draw_rows((0..n).collect(), self.rows, seed.item(at))).collect()
            }
        };
        drawn.iter_mut().for_each(|rows| rows.sort_unstable());
        Ok(drawn)
    }
}

/// Draws `count` of the given rows without replacement.
pub(crate) fn draw_rows(mut rows: Vec<usize>, count: usize, seed: Seed) -> Vec<usize> {
    rows.sort_unstable_by_key(|&i| (seed.item(i).0, i));
    rows.truncate(count);
    rows
}
