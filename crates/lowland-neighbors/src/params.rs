//! Parameters of a neighbor search.

use std::fmt;
use std::str::FromStr;

use lowland_core::params::ParamValue;
use lowland_core::{Error, Metric, Result, Seed};

/// Whether to search exactly or approximately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Search {
    /// Uses whichever search is expected to be faster, and always the exact one for up to a few thousand rows. If an
    /// approximate search misses more than a tenth of the neighbors (a quarter from half a million rows on), the exact
    /// search follows.
    #[default]
    Auto,
    /// Compares all pairs.
    Exact,
    /// May miss a few neighbors; the share that was found is measured.
    Approximate,
}

impl fmt::Display for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Search::Auto => "auto",
            Search::Exact => "exact",
            Search::Approximate => "approximate",
        })
    }
}

impl ParamValue for Search {
    const EXPECTS: &'static str = "auto, exact or approximate";
    fn parse(text: &str) -> Option<Self> {
        text.trim().parse().ok()
    }
    fn to_text(&self) -> String {
        self.to_string()
    }
}

impl FromStr for Search {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        [Search::Auto, Search::Exact, Search::Approximate].into_iter().find(|s| s.to_string() == name).ok_or_else(
            || Error::Parameter {
                name: "search",
                value: name.into(),
                allowed: "one of auto, exact, approximate".into(),
            },
        )
    }
}

/// Parameters of [`nearest`](crate::nearest).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NeighborParams {
    /// Number of neighbors of each row, not counting the row itself.
    pub n_neighbors: usize,
    /// Distance between rows.
    pub metric: Metric,
    /// Whether to search exactly or approximately.
    pub search: Search,
    /// Seed of the approximate search and of the sample on which its recall is measured.
    pub seed: Seed,
}

impl Default for NeighborParams {
    fn default() -> Self {
        Self { n_neighbors: 15, metric: Metric::Euclidean, search: Search::Auto, seed: Seed(0) }
    }
}
