//! Memory estimates of the searches.

use super::exact::{TILE, buffer_capacity};
use super::{Search, expand_neighbors, inner_product, projection_search, two_stage_exact};
use lowland_core::{DataShape, Metric};

/// Number of threads for which scratch memory is counted.
const THREADS: f64 = 8.0;

/// Estimates the bytes a search needs beyond the data and its result; for [`Search::Auto`] the larger of the two
/// searches.
pub fn search_memory(shape: DataShape, metric: Metric, n_neighbors: usize, search: Search) -> u64 {
    let text = metric == Metric::Levenshtein;
    let k = n_neighbors.min(shape.rows);
    let capacity = buffer_capacity(k) as f64;
    // In floating point, since a cast saturates where a product of counts would wrap.
    let [rows, dim, k] = [shape.rows, shape.dim, k].map(|count| count as f64);
    let bytes = shape.bytes as f64;
    let result = rows * k * 8.0;
    if metric == Metric::Precomputed {
        // A list for each row until they are joined, and the distances of a row for each thread.
        return (result + rows * 40.0 + THREADS * dim * 8.0) as u64;
    }
    // The transformed rows that are compared.
    let transformed = rows * (dim + 1.0) * 4.0 + rows * 8.0;
    let encoded = 1.5 * 4.0 * (bytes - 24.0 * rows).max(0.0) + rows * 8.0;
    let prepared = match (text, shape.sparse, inner_product::supports(metric)) {
        (true, ..) => encoded,
        // Transformed entries (12 bytes in growing vectors), the same by column (16), and the lists of the columns (8).
        (_, true, true) => {
            let entries = (bytes / 8.0 - rows).max(0.0);
            50.0 * entries + rows * 40.0 + THREADS * dim * 4.0
        }
        (_, false, true) => transformed + two_stage_exact::memory(rows, dim),
        (_, _, false) => 0.0,
    };
    let exact = prepared + rows * (capacity * 8.0 + 16.0) + 2.0 * result + THREADS * 12.0 * (TILE * TILE) as f64;

    // Padded to whole vectors, and twice while they are reordered; other rows are reordered by their numbers.
    let padded = rows * (dim / 16.0).ceil() * 16.0 * 4.0;
    let arranged = match (text, shape.sparse, inner_product::supports(metric)) {
        (true, ..) => encoded + rows * 4.0,
        (_, false, true) => (transformed + padded).max(2.0 * padded),
        _ => rows * 4.0,
    };
    // Lists with both directions of their edges, the samples and proposals of a round, and the neighbors before and
    // after sorting.
    let listed = if k + 3.0 <= 24.0 { k.max(12.0) + 3.0 } else { (k / 3.0).clamp(30.0, 100.0) };
    // The candidates of a group with their values, for each thread.
    let group =
        expand_neighbors::max_candidates(n_neighbors) as f64 * (expand_neighbors::GROUP_ROWS as f64 + dim + 16.0) * 4.0;
    let groups =
        if k > 21.0 && !text && !shape.sparse && inner_product::supports(metric) { THREADS * group } else { 0.0 };
    let scratch = groups.min(rows * (expand_neighbors::GROUP_ROWS as f64 + dim) * THREADS * 4.0) + f64::from(16 << 20);
    let descent = arranged + rows * (listed * 44.0 + 64.0) + 4.0 * result + scratch;
    let approximate =
        if shape.dim >= projection_search::MIN_DIM && !text && !shape.sparse && inner_product::supports(metric) {
            // The transformed rows, their projections in double and single precision, and the search among these.
            let columns = projection_search::PROJECTION_COLUMNS;
            let count = projection_search::candidate_count(n_neighbors, shape.rows);
            let projections = DataShape { dim: columns, bytes: (rows * columns as f64 * 4.0) as u64, ..shape };
            let among = search_memory(projections, Metric::Euclidean, count, Search::Auto) as f64;
            descent.max(transformed + rows * columns as f64 * 12.0).max(rows * columns as f64 * 4.0 + among)
        } else {
            descent
        };
    match search {
        Search::Exact => exact as u64,
        Search::Approximate => approximate as u64,
        Search::Auto => exact.max(approximate) as u64,
    }
}
