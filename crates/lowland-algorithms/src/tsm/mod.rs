//! Thresholded similarity matching (Saul 2022, "A geometrical connection between sparse and low-rank matrices"): maps that
//! keep norms and small angles.
//!
//! [`Problem`] is step 1 (the sparse similarities), [`Alternating`] step 2 (the low-rank matrix whose positive part they are),
//! [`Gram`] step 3 (its coordinates). [`AngleHistogram`] is figure 2, and chooses the threshold.

mod alternating;

mod gram;
mod histogram;
mod low_rank;
mod problem;
mod relu;
#[cfg(test)]
mod tests;
mod tiles;

pub use alternating::{Alternating, AlternatingOptions};
pub use lowland_neighbors::cosine_similarity::{CosineSimilarity, SimilarPair, thresholded_similarity};

pub use gram::Gram;
pub use histogram::AngleHistogram;
pub use problem::{Problem, Similarity};
pub use relu::relu_places;
