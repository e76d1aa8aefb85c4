//! UMAP (McInnes, Healy and Melville 2018): a graph of fuzzy memberships between neighbors, and a layout of it by sampled
//! attraction and repulsion.
//!
//! The layout differs from umap-learn's in one respect: all points of an epoch move at once, each from the positions at the
//! end of the epoch before, with random numbers of its own. Its result therefore does not depend on the number of threads.

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
