//! Which search to use, and what it needs.

use super::exact::{TILE, capacity};
use super::{NeighborParams, Search, coarse, direct, inner, projected, space, widen};
use lowland_core::{Data, Metric, Shape};

/// Up to here the exact search takes a moment whatever the metric.
const ALWAYS_EXACT: usize = 5_000;
/// A slower search is worth this much to have all the neighbours.
const WORTH_OF_EXACT: f64 = 3.0;

/// Which approximate searches are worth trying, the first one first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Approximate {
    /// Candidates by projection, unless the rows turn out to differ in too many directions.
    pub projected: bool,
    /// Nearest-neighbour descent.
    pub descent: bool,
}

/// Whether to search approximately.
///
/// `Auto` compares estimates of CPU time, from timings on Zen 4 cores with 70,000 rows, and prefers the exact search
/// while it takes less than [`WORTH_OF_EXACT`] times as long:
/// - exact: `n^2 / 2` pairs at the cost of one in a tile, plus what appending to the candidates of `n` rows costs;
/// - descent: `n` rows, each compared with the rows of its leaves and local joins (some 2,000, or as many again for
///   each row of a wider list), one pair at a time;
/// - projected: either of these among short rows, and the candidates one at a time.
///
/// For Euclidean rows with 50 columns and `k` = 15 the choice changes near 100,000 rows. Where two steps will do (see
/// `coarse`) the exact search takes about half of what is said here; whether they will is not known before.
pub(super) fn approximate(data: &Data, params: &NeighborParams) -> Approximate {
    let (n, k, metric) = (data.rows(), params.n_neighbors, params.metric);
    // Too few rows for lists, trees and samples to be worth anything.
    let tiny = n <= 4 * k.max(64);
    let (descent, projected) = (descent_seconds(data, metric, k), projected_seconds(data, metric, k));
    match params.search {
        Search::Exact => Approximate { projected: false, descent: false },
        Search::Approximate => Approximate { projected: !tiny && projected < descent, descent: !tiny },
        Search::Auto if n <= ALWAYS_EXACT || tiny => Approximate { projected: false, descent: false },
        Search::Auto => {
            let pays = exact_seconds(data, metric, k) / WORTH_OF_EXACT;
            Approximate { projected: projected < pays.min(descent), descent: descent < pays }
        }
    }
}

fn exact_seconds(data: &Data, metric: Metric, k: usize) -> f64 {
    all_pairs_seconds(data.rows(), pair_cost(data, metric), k)
}

/// Every pair at a cost in nanoseconds.
fn all_pairs_seconds(rows: usize, cost: f64, k: usize) -> f64 {
    let n = rows as f64;
    1e-9 * (n * n / 2.0 * cost + n * k as f64 * 300.0)
}

/// Infinite where there is no such search.
fn projected_seconds(data: &Data, metric: Metric, k: usize) -> f64 {
    if !projected::applies(data, metric) {
        return f64::INFINITY;
    }
    let n = data.rows() as f64;
    let count = projected::candidate_count(k, data.rows());
    let all = all_pairs_seconds(data.rows(), inner::dense_cost(projected::SHADOW), count);
    // A descent among so short rows, for so many neighbours.
    let few = n * (20e-6 + 0.5e-6 * count as f64);
    let project = n * (data.dim() * projected::SHADOW) as f64 * 0.5e-9;
    all.min(few) + project + n * count as f64 * 1e-9 * space::cost(data, metric)
}

fn descent_seconds(data: &Data, metric: Metric, k: usize) -> f64 {
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
        Data::Text(x) => direct::text_cost(x.iter().map(String::len).sum(), x.len()),
    }
}

/// Bytes a search needs beyond the data and what it returns; for [`Search::Auto`] the larger of the two it may use.
pub fn memory(shape: Shape, metric: Metric, n_neighbors: usize, search: Search) -> u64 {
    let text = metric == Metric::Levenshtein;
    let k = n_neighbors.min(shape.rows);
    let capacity = capacity(k) as f64;
    // In floating point: a cast saturates where a product of counts would wrap.
    let [rows, dim, k] = [shape.rows, shape.dim, k].map(|count| count as f64);
    let bytes = shape.bytes as f64;
    let found = rows * k * 8.0;
    if metric == Metric::Precomputed {
        // Rows are read off; a list for each until they are joined, and a row's distances for each thread.
        return (found + rows * 40.0 + THREADS * dim * 8.0) as u64;
    }
    // What the rows are turned into before they are compared.
    let flat = rows * (dim + 1.0) * 4.0 + rows * 8.0;
    let words = 1.5 * 4.0 * (bytes - 24.0 * rows).max(0.0) + rows * 8.0;
    let prepared = match (text, shape.sparse, inner::applies(metric)) {
        (true, ..) => words,
        // Transformed entries (12 bytes in vectors that grow), the same by column (16), and the columns' own lists (8).
        (_, true, true) => {
            let entries = (bytes / 8.0 - rows).max(0.0);
            50.0 * entries + rows * 40.0 + THREADS * dim * 4.0
        }
        (_, false, true) => flat + coarse::memory(rows, dim),
        (_, _, false) => 0.0,
    };
    let exact = prepared + rows * (capacity * 8.0 + 16.0) + 2.0 * found + THREADS * 12.0 * (TILE * TILE) as f64;

    // Padded to whole vectors, and twice while they are put in order; others are put in order by their numbers.
    let padded = rows * (dim / 16.0).ceil() * 16.0 * 4.0;
    let arranged = match (text, shape.sparse, inner::applies(metric)) {
        (true, ..) => words + rows * 4.0,
        (_, false, true) => (flat + padded).max(2.0 * padded),
        _ => rows * 4.0,
    };
    // Lists with both directions of their edges, the samples and proposals of a round, and the neighbours found before
    // and after they are put in order.
    let listed = if k + 3.0 <= 24.0 { k.max(12.0) + 3.0 } else { (k / 3.0).clamp(30.0, 100.0) };
    // The candidates of a group with their values, for each thread.
    let group = widen::most_candidates(n_neighbors) as f64 * (widen::GROUP as f64 + dim + 16.0) * 4.0;
    let groups = if k > 21.0 && !text && !shape.sparse && inner::applies(metric) { THREADS * group } else { 0.0 };
    let scratch = groups.min(rows * (widen::GROUP as f64 + dim) * THREADS * 4.0) + f64::from(16 << 20);
    let descent = arranged + rows * (listed * 44.0 + 64.0) + 4.0 * found + scratch;
    let approximate = if shape.dim >= projected::LONG && !text && !shape.sparse && inner::applies(metric) {
        // The rows transformed, their shadows in double and single precision, and the search among those.
        let columns = projected::SHADOW;
        let count = projected::candidate_count(n_neighbors, shape.rows);
        let shadows = Shape { dim: columns, bytes: (rows * columns as f64 * 4.0) as u64, ..shape };
        let among = memory(shadows, Metric::Euclidean, count, Search::Auto) as f64;
        descent.max(flat + rows * columns as f64 * 12.0).max(rows * columns as f64 * 4.0 + among)
    } else {
        descent
    };
    match search {
        Search::Exact => exact as u64,
        Search::Approximate => approximate as u64,
        Search::Auto => exact.max(approximate) as u64,
    }
}

/// Threads whose scratch memory is counted: the usual few.
const THREADS: f64 = 8.0;
