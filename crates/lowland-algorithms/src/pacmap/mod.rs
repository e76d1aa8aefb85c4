//! PaCMAP (Wang, Huang, Rudin and Shaposhnik 2021): a layout of three kinds of pairs, near, mid-near and further, whose weights
//! change in three phases; and LocalMAP (Wang et al. 2025), whose final phase separates clusters that are close.
//!
//! All pairs are drawn with random numbers of their own row, and a point adds up the forces of its pairs by itself: results do
//! not depend on the number of threads.

mod layout;
mod links;
mod out_of_sample;
mod pair_loss;
mod pairs;
#[cfg(test)]
mod tests;

pub use layout::{PacmapLayout, PacmapParams};
pub use out_of_sample::PacmapTransform;
pub use pairs::{PairCounts, Pairs, PointPairs};
