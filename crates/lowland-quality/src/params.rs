//! Parameters of a quality report.

use lowland_core::{Metric, Seed};
use lowland_neighbors::NeighborGraph;

/// The rows over which neighborhood scores are taken. Each is compared exactly with all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScoredRows {
    /// All rows, however long it takes.
    All,
    /// All rows if the report takes well under a minute on two cores (about 89,000 rows of 50 numbers, 28,000 of 784, 2,800
    /// strings of 40 characters), otherwise a sample of 5,000, or fewer if comparisons are slow.
    Affordable,
    /// A seeded sample of this many rows, or all rows if there are no more.
    Sample(usize),
}

impl ScoredRows {
    /// A sample that takes a small part of the time of a fit. The standard error of a share is then at most 0.009.
    pub const BRIEF: Self = Self::Sample(3_000);
}

/// Parameters of [`report()`](crate::report()).
#[derive(Debug, Clone, PartialEq)]
pub struct QualityParams {
    /// Size of the neighborhoods that are compared.
    pub n_neighbors: usize,
    /// Distance between rows of the data.
    pub metric: Metric,
    /// The rows over which neighborhood scores are taken.
    pub rows: ScoredRows,
    /// Number of triplets drawn for each point.
    pub triplets_per_point: usize,
    /// Number of pairs drawn for the correlation of distances.
    pub pairs: usize,
    /// Seed of all samples.
    pub seed: Seed,
}

impl Default for QualityParams {
    fn default() -> Self {
        Self {
            n_neighbors: 15,
            metric: Metric::Euclidean,
            rows: ScoredRows::Affordable,
            triplets_per_point: 5,
            pairs: 100_000,
            seed: Seed(0),
        }
    }
}

/// Neighbor graphs over all rows that the caller already has. A graph with too few neighbors is not used.
#[derive(Debug, Clone, Copy, Default)]
pub struct PrecomputedGraphs<'a> {
    /// Neighbors in the data; taken as the truth, even if found approximately.
    pub data: Option<&'a NeighborGraph>,
    /// Neighbors in the map.
    pub map: Option<&'a NeighborGraph>,
}
