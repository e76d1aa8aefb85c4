//! Nearest neighbours: one graph type, exact and approximate searches.

mod graph;

pub use graph::NeighborGraph;
