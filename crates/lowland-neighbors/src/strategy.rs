//! Choice between the exact and the approximate searches.

use super::row_distances::{self, RowSize};
use super::{NeighborParams, Search, inner_product, pairwise, projection_search};
use lowland_core::{DataShape, Metric};

/// Number of rows up to which the exact search is fast under any metric.
const ALWAYS_EXACT_ROWS: usize = 5_000;
/// Factor by which the exact search may be slower and is still preferred, since it finds all neighbors.
const EXACT_PREFERENCE: f64 = 3.0;

/// The approximate searches that are worth trying, in this order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ApproximatePlan {
    /// Candidates by projection, unless the rows turn out to vary in too many directions.
    pub projection: bool,
    /// Nearest-neighbor descent.
    pub descent: bool,
}

/// Decides whether to search approximately.
///
/// `Auto` compares estimates of CPU time, based on timings on Zen 4 cores with 70,000 rows, and prefers the exact
/// search if it takes less than [`EXACT_PREFERENCE`] times as long:
/// - exact: `n^2 / 2` pairs at the cost of a pair in a tile, plus appending to the candidates of `n` rows;
/// - descent: `n` rows, each compared with the rows of its leaves and local joins (some 2,000, or as many again for
///   each row of a longer list), one pair at a time;
/// - projection: either of these among short rows, and the candidates one at a time.
///
/// For Euclidean rows with 50 columns and `k` = 15 the choice changes near 100,000 rows. Where the two-stage search
/// applies (see `two_stage_exact`), the exact search takes about half of this estimate, but that is not known in
/// advance.
pub(super) fn plan_approximate(shape: DataShape, params: &NeighborParams) -> ApproximatePlan {
    let (n, k, metric) = (shape.rows, params.n_neighbors, params.metric);
    // Too few rows for lists, trees and samples to be useful.
    let tiny = n <= k.max(64).saturating_mul(4);
    let (descent, projection) = (descent_seconds(shape, metric, k), projection_seconds(shape, metric, k));
    match params.search {
        Search::Exact => ApproximatePlan { projection: false, descent: false },
        Search::Approximate => ApproximatePlan { projection: !tiny && projection < descent, descent: !tiny },
        Search::Auto if n <= ALWAYS_EXACT_ROWS || tiny => ApproximatePlan { projection: false, descent: false },
        Search::Auto => {
            let pays = exact_seconds(shape, metric, k) / EXACT_PREFERENCE;
            ApproximatePlan { projection: projection < pays.min(descent), descent: descent < pays }
        }
    }
}

/// Returns whether [`nearest_with`](super::nearest_with) compares all rows, for rows that have no fault.
pub fn is_exact(shape: DataShape, params: &NeighborParams) -> bool {
    let plan = plan_approximate(shape, params);
    !(plan.projection || plan.descent)
}

fn exact_seconds(shape: DataShape, metric: Metric, k: usize) -> f64 {
    all_pairs_seconds(shape.rows, pair_cost(shape, metric), k)
}

/// Time of comparing all pairs at `cost` nanoseconds each.
fn all_pairs_seconds(rows: usize, cost: f64, k: usize) -> f64 {
    let n = rows as f64;
    1e-9 * (n * n / 2.0 * cost + n * k as f64 * 300.0)
}

/// Time of the search by projection; infinite if it does not apply.
fn projection_seconds(shape: DataShape, metric: Metric, k: usize) -> f64 {
    if !projection_search::supports(shape, metric) {
        return f64::INFINITY;
    }
    let n = shape.rows as f64;
    let count = projection_search::candidate_count(k, shape.rows);
    let all = all_pairs_seconds(shape.rows, inner_product::dense_cost(projection_search::PROJECTION_COLUMNS), count);
    // A descent among these short rows, for this many neighbors.
    let few = n * (20e-6 + 0.5e-6 * count as f64);
    let project = n * shape.dim as f64 * projection_search::PROJECTION_COLUMNS as f64 * 0.5e-9;
    all.min(few) + project + n * count as f64 * 1e-9 * row_distances::distance_cost(shape, metric)
}

fn descent_seconds(shape: DataShape, metric: Metric, k: usize) -> f64 {
    let one_by_one = 1e-9 * row_distances::distance_cost(shape, metric);
    let n = shape.rows as f64;
    if k <= 21 {
        return n * (k as f64 * 120.0 * one_by_one + 12e-6);
    }
    // Expansion: by matrix products where possible, otherwise by graph searches that visit some 20 rows for each one
    // found.
    let wide = if matches!(RowSize::new(shape, metric), RowSize::Dense) && inner_product::supports(metric) {
        0.3e-6 * k as f64
    } else {
        20.0 * k as f64 * one_by_one + 0.2e-6 * k as f64
    };
    n * (2500.0 * one_by_one + 20e-6 + wide)
}

/// Cost of one pair of the exact search, in nanoseconds.
fn pair_cost(shape: DataShape, metric: Metric) -> f64 {
    match RowSize::new(shape, metric) {
        RowSize::Dense if inner_product::supports(metric) => inner_product::dense_cost(shape.dim),
        RowSize::Dense => pairwise::dense_cost(metric, shape.dim),
        RowSize::Sparse { entries } if inner_product::supports(metric) => {
            inner_product::sparse_cost(entries, shape.rows, shape.dim)
        }
        RowSize::Sparse { entries } => pairwise::sparse_cost(entries, shape.rows),
        RowSize::Text { letters } => pairwise::text_cost(letters, shape.rows),
    }
}
