//! Memory estimates of the searches.

use super::exact::{TILE, buffer_capacity};
use super::{NeighborParams, Search, expand_neighbors, inner_product, projection_search, strategy, two_stage_exact};
use lowland_core::{DataShape, Metric, Seed};

/// Estimates the bytes a search needs beyond the data, on the threads of the current pool. [`Search::Auto`] may search
/// approximately first and exactly if too few neighbors are found, so the larger of the two counts then.
pub fn search_memory(shape: DataShape, metric: Metric, n_neighbors: usize, search: Search) -> u64 {
    let text = metric == Metric::Levenshtein;
    let k = n_neighbors.min(shape.rows);
    let capacity = buffer_capacity(k) as f64;
    // In floating point, since a cast saturates where a product of counts would wrap.
    let [rows, dim, k] = [shape.rows, shape.dim, k].map(|count| count as f64);
    let bytes = shape.bytes as f64;
    let threads = rayon::current_num_threads() as f64;
    let result = rows * k * 8.0;
    if metric == Metric::Precomputed {
        // A list for each row until they are joined, and the distances of a row for each thread.
        return (result + rows * 40.0 + threads * dim * 8.0) as u64;
    }
    // The transformed rows that are compared.
    let transformed = rows * (dim + 1.0) * 4.0 + rows * 8.0;
    let encoded = 1.5 * 4.0 * (bytes - 24.0 * rows).max(0.0) + rows * 8.0;
    let prepared = match (text, shape.sparse, inner_product::supports(metric)) {
        (true, ..) => encoded,
        // Transformed entries (12 bytes in growing vectors), the same by column (16), and the lists of the columns (8).
        (_, true, true) => {
            let entries = (bytes / 8.0 - rows).max(0.0);
            50.0 * entries + rows * 40.0 + threads * dim * 4.0
        }
        (_, false, true) => transformed + two_stage_exact::memory(rows, dim),
        (_, _, false) => 0.0,
    };
    // The bounds of a tile and its candidates, in a vector that grows, for each thread that has a tile.
    let tile = (TILE * TILE) as f64;
    let tiles = threads.min((rows / TILE as f64).ceil()) * (tile * 4.0 + tile.min(2.0 * rows * rows) * 8.0);
    let exact = prepared + rows * (capacity * 8.0 + 16.0) + 2.0 * result + tiles;

    // Padded to whole vectors, and twice while they are reordered; other rows are reordered by their numbers.
    let padded = rows * (dim / 16.0).ceil() * 16.0 * 4.0;
    let arranged = match (text, shape.sparse, inner_product::supports(metric)) {
        (true, ..) => encoded + rows * 4.0,
        (_, false, true) => (transformed + padded).max(2.0 * padded),
        _ => rows * 4.0,
    };
    // Lists with both directions of their edges, the samples and proposals of a round; the candidates of all rows, or the neighbors and
    // the graph made of them.
    let listed = if k + 3.0 <= 24.0 { k.max(12.0) + 3.0 } else { (k / 3.0).clamp(30.0, 100.0) };
    // The candidates of a group with their values, for each thread.
    let group =
        expand_neighbors::max_candidates(n_neighbors) as f64 * (expand_neighbors::GROUP_ROWS as f64 + dim + 16.0) * 4.0;
    let groups =
        if k > 21.0 && !text && !shape.sparse && inner_product::supports(metric) { threads * group } else { 0.0 };
    let scratch = groups.min(rows * (expand_neighbors::GROUP_ROWS as f64 + dim) * threads * 4.0) + f64::from(16 << 20);
    let descent = arranged + rows * (listed * 44.0 + 64.0) + 2.0 * result + scratch;
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
        Search::Auto => {
            let params = NeighborParams { n_neighbors, metric, search, seed: Seed(0) };
            let plan = strategy::plan_approximate(shape, &params);
            if plan.projection || plan.descent { exact.max(approximate) as u64 } else { exact as u64 }
        }
    }
}
