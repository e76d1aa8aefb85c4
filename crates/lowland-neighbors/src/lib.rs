//! Nearest neighbors: one graph type, and exact and approximate searches.
//!
//! The distance between two rows is [`distance()`], computed in `f64` and rounded to `f32`. Neighbors are ordered by this
//! distance, then by index. The exact search returns precisely that order; the approximate search returns it among the
//! neighbors it finds.
//!
//! The entry points are [`nearest()`] (rows among themselves), [`nearest_to`] (new rows against data) and
//! [`nearest_points()`] (points of a map). The forms ending in `_with` also report progress and can be stopped.

mod approximate;
mod brute_force;
mod candidates;
pub mod cosine_similarity;
mod descent;
mod device;
mod distance;
mod exact;
mod expand_neighbors;
mod forest;
pub mod graph;
mod inner_product;
mod kdtree;
mod levenshtein;
mod lower_bound_projection;
mod nearest;
mod nearest_points;
mod neighbor_graph;
mod pairwise;
mod params;
mod precomputed;
mod projection_search;
mod row_distances;
mod search_index;
mod search_memory;
mod strategy;
mod two_stage_exact;

pub use distance::distance;
pub use nearest::{NeighborSearchResult, Recall, SearchAlgorithm, nearest, nearest_to, nearest_to_with, nearest_with};
pub use nearest_points::{nearest_points, nearest_points_with};
pub use neighbor_graph::NeighborGraph;
pub use params::{NeighborParams, Search};
pub use search_index::{IndexedRows, MIN_INDEXED_ROWS, QuerySearch, SearchIndex, TARGET_RECALL};
pub use search_memory::search_memory;
pub use strategy::is_exact;

#[cfg(test)]
mod tests;
