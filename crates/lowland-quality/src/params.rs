//! Parameters of a quality report.

use lowland_core::{Metric, Seed};
use lowland_neighbors::NeighborGraph;

/// Parameters of [`report`](crate::report).
#[derive(Debug, Clone, PartialEq)]
pub struct QualityParams {
    /// Size of the neighborhoods that are compared.
    pub n_neighbors: usize,
    /// Distance between rows of the data.
    pub metric: Metric,
    /// Number of rows up to which neighborhood scores are exact, over all rows; above, they are taken over `sample_rows`
    /// rows, each compared exactly with all. `None` decides by the expected time, so that a report takes well under a
    /// minute on two cores (about 89,000 rows of 50 numbers, 28,000 of 784, 2,800 strings of 40 characters).
    pub max_exact: Option<usize>,
    /// Number of rows scored if there are too many to score all; fewer if `max_exact` is `None` and comparisons are slow.
    pub sample_rows: usize,
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
            max_exact: None,
            sample_rows: 5_000,
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
