//! Nearest neighbors, exact and approximate.

pub use lowland_neighbors::{
    Algorithm, Found, NeighborGraph, NeighborParams, Recall, Search, distance, memory, nearest, nearest_points,
    nearest_to,
};
