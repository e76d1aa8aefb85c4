//! Nearest neighbors, exact and approximate.
//!
//! ```
//! use lowland::neighbors::{NeighborParams, nearest};
//! # use lowland::{Data, Seed};
//! # let x = Data::dense(Seed(1).normals(400).into_iter().map(|v| v as f32).collect(), 4)?;
//! let found = nearest(&x, &NeighborParams { n_neighbors: 5, ..NeighborParams::default() })?;
//! let (neighbors, distances) = found.graph.row(0);              // nearest first, ties by index
//! assert_eq!(neighbors.len(), 5);
//! assert!(distances.is_sorted());
//! # Ok::<(), lowland::Error>(())
//! ```

pub use crate::combined_graphs::combine_graphs;
pub use lowland_algorithms::umap::Combination;
pub use lowland_neighbors::{
    IndexedRows, MIN_INDEXED_ROWS, NeighborGraph, NeighborParams, NeighborSearchResult, QuerySearch, Recall, Search,
    SearchAlgorithm, distance, nearest, nearest_points, nearest_points_with, nearest_to, nearest_to_with, nearest_with,
    search_memory,
};
