//! Nearest neighbors, exact and approximate.

pub use lowland_neighbors::{
    NeighborGraph, NeighborParams, NeighborSearchResult, Recall, Search, SearchAlgorithm, distance, nearest,
    nearest_points, nearest_points_with, nearest_to, nearest_to_with, nearest_with, search_memory,
};
