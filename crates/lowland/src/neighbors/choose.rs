//! Which search to use, and what it needs.

use super::exact::{TILE, capacity};
use super::{NeighborParams, Search, direct, inner, space};
use crate::points::{Data, Metric};

/// Up to here the exact search takes a moment whatever the metric.
const ALWAYS_EXACT: usize = 5_000;
/// A slower search is worth this much to have all the neighbours.
const WORTH_OF_EXACT: f64 = 3.0;

/// Whether to search approximately.
///
/// `Auto` compares estimates of CPU time, from timings on Zen 4 cores with 70,000 rows, and prefers the exact search
/// while it takes less than [`WORTH_OF_EXACT`] times as long:
/// - exact: `n^2 / 2` pairs at the cost of one in a tile, plus what appending to the candidates of `n` rows costs;
/// - approximate: `n` rows, each compared with the rows of its leaves and local joins (some 2,000, or as many again for
///   each row of a wider list), one pair at a time.
///
/// For Euclidean rows with 50 columns and `k` = 15 the choice changes near 100,000 rows.
pub(super) fn approximate_pays(data: &Data, params: &NeighborParams) -> bool {
    let (n, k) = (data.rows(), params.n_neighbors);
    // Too few rows for lists, trees and samples to be worth anything.
    let tiny = n <= 4 * k.max(64);
    match params.search {
        Search::Exact => false,
        Search::Approximate => !tiny,
        Search::Auto if n <= ALWAYS_EXACT || tiny => false,
        Search::Auto => {
            exact_seconds(data, params.metric, k) > WORTH_OF_EXACT * approximate_seconds(data, params.metric, k)
        }
    }
}

fn exact_seconds(data: &Data, metric: Metric, k: usize) -> f64 {
    let n = data.rows() as f64;
    1e-9 * (n * n / 2.0 * pair_cost(data, metric) + n * k as f64 * 300.0)
}

fn approximate_seconds(data: &Data, metric: Metric, k: usize) -> f64 {
    let one_by_one = 1e-9 * space::cost(data, metric);
    let n = data.rows() as f64;
    if k <= 21 {
        return n * (k as f64 * 120.0 * one_by_one + 12e-6);
    }
    // Widening: by matrix products where there are any, otherwise by walks past some 20 rows for each one found.
    let wide = if matches!(data, Data::Dense(_)) && inner::applies(metric) {
        0.3e-6 * k as f64
    } else {
        20.0 * k as f64 * one_by_one + 0.2e-6 * k as f64
    };
    n * (2500.0 * one_by_one + 20e-6 + wide)
}

/// Nanoseconds of one pair of the exact search.
fn pair_cost(data: &Data, metric: Metric) -> f64 {
    match data {
        Data::Dense(x) if inner::applies(metric) => inner::dense_cost(x.dim()),
        Data::Dense(x) => direct::dense_cost(metric, x.dim()),
        Data::Sparse(x) if inner::applies(metric) => inner::sparse_cost(x.values().len(), x.rows(), x.dim()),
        Data::Sparse(x) => direct::sparse_cost(x.values().len(), x.rows()),
        Data::Text(_) => direct::TEXT_COST,
    }
}

/// Bytes a search needs beyond the data and what it returns; for [`Search::Auto`] the larger of the two it may use.
pub fn memory(rows: usize, dim: usize, n_neighbors: usize, search: Search) -> u64 {
    let k = n_neighbors.min(rows);
    let capacity = capacity(k) as u64;
    let [rows, dim, k] = [rows, dim, k].map(|x| x as u64);
    let transformed = rows * (dim + 1) * 4 + rows * 8;
    let graph = rows * k * 8;
    let exact = transformed + rows * (capacity * 8 + 16) + graph + 8 * (TILE * TILE) as u64;
    // The rows, padded to whole vectors, twice while they are put in order; then lists with both directions of their
    // edges, the samples and proposals of a round, and the neighbours found before and after they are put in order.
    let listed = if k + 3 <= 24 { k.max(12) + 3 } else { (k / 3).clamp(30, 100) };
    let padded = rows * dim.next_multiple_of(16) * 4;
    let approximate = (transformed + padded).max(2 * padded) + rows * (listed * 44 + 64) + 4 * graph + (64 << 20);
    match search {
        Search::Exact => exact,
        Search::Approximate => approximate,
        Search::Auto => exact.max(approximate),
    }
}
