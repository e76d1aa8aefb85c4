//! UMAP (McInnes, Healy and Melville 2018): a graph of fuzzy memberships between neighbors, and a layout of it by sampled
//! attraction and repulsion.
//!
//! umap-learn moves both ends of an edge at once, in whatever order the threads come to it. Here each point moves by itself, in
//! fixed groups that take turns, with random numbers of its own: results do not depend on the number of threads.

mod all_pairs;
mod close_pairs;
mod combination;
mod expected_loss;
mod far_field;
mod forces;
mod fuzzy_graph;
mod out_of_sample;
mod point_loss;
mod sampled_layout;
#[cfg(test)]
mod tests;

pub use crate::similarity_curve::SimilarityCurve;
pub use combination::{Combination, combine};
pub use expected_loss::ExpectedLoss;
pub use forces::Forces;
pub use fuzzy_graph::{FuzzyGraphParams, fuzzy_graph, smooth_distances};
pub use out_of_sample::UmapTransform;
pub use point_loss::{UmapLoss, UmapRow};
pub use sampled_layout::{LayoutParams, SampledLayout};
