//! Thresholded similarity matching (Saul 2022, "A geometrical connection between sparse and low-rank matrices"):
//! maps that preserve norms and small angles.
//!
//! [`TsmProblem`] is step 1 (the sparse similarities), [`AlternatingUpdates`] step 2 (the low-rank matrix whose
//! positive part they are), [`GramEigenpairs`] step 3 (its coordinates). [`AngleHistogram`] is figure 2, from which
//! the threshold is chosen.

mod alternating_updates;
mod eigenpairs;
mod gram;
mod histogram;
mod norms;
mod off_pattern;
mod problem;
mod relu_transform;
mod tiles;
mod virtual_rows;

#[cfg(test)]
mod tests;

pub use lowland_neighbors::cosine_similarity::{CosineSimilarity, SimilarPair, thresholded_similarity};

pub use alternating_updates::{AlternatingOptions, AlternatingUpdates};
pub use gram::GramEigenpairs;
pub use histogram::AngleHistogram;
pub use norms::{row_norms, scale_to_norms};
pub use problem::TsmProblem;
pub use relu_transform::relu_transform;
