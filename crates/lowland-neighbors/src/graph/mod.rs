//! Graphs of points: edge lengths and weights as a [`Csr`](lowland_linalg::Csr), components, spanning trees, shortest
//! paths and spectral coordinates.

mod components;
mod edge_weights;
mod join;
mod paths;
mod reach;
mod spanning_tree;
mod spectral;

pub use components::ConnectedComponents;
pub use edge_weights::{Symmetrization, edge_lengths, symmetrize};
pub use join::{join_components, join_components_with};
pub use paths::ShortestPaths;
pub use reach::mutual_reach;
pub use spanning_tree::{Edge, add_edges, minimum_spanning_forest, undirected_edges};
pub use spectral::SpectralCoordinates;
