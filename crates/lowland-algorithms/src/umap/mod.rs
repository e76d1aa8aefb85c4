//! UMAP (McInnes, Healy and Melville 2018): a graph of fuzzy memberships between neighbors, and a layout of it by sampled
//! attraction and repulsion.
//!
//! umap-learn moves both ends of an edge at once, in whatever order the threads come to it. Here each point moves by itself, in
//! fixed groups that take turns, with random numbers of its own: results do not depend on the number of threads.

mod forces;
mod fuzzy_graph;
mod out_of_sample;
mod sampled_layout;
mod similarity_curve;
#[cfg(test)]
mod tests;

pub use forces::Forces;
pub use fuzzy_graph::{FuzzyGraphParams, fuzzy_graph, smooth_distances};
pub use out_of_sample::UmapTransform;
pub use sampled_layout::{LayoutParams, SampledLayout};
pub use similarity_curve::SimilarityCurve;
