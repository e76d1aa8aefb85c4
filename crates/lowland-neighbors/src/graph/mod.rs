//! Graphs of points: pattern and weights as a [`Csr`](lowland_linalg::Csr), components, trees, reach, spectral coordinates.

mod components;
mod coordinates;
mod join;
mod paths;
mod reach;
mod tree;
mod weights;

pub use components::Components;
pub use coordinates::SpectralCoordinates;
pub use join::{join_by, join_components};
pub use paths::shortest_paths;
pub use reach::mutual_reach;
pub use tree::{Edge, edges_of, minimum_spanning_forest, with_edges};
pub use weights::{Symmetrize, lengths, symmetrize};
