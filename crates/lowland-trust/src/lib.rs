//! Which points and gaps of a map can be believed.
//!
//! [`assess`] computes for every point which of its neighbors the map keeps, whether its nearest rows are at several places,
//! and the island it is in; for every gap between islands whether the data have it; for every island whether its rows are one
//! group. docs/methods/trust.md derives the scores and reports how well they work on data whose answers are known.

mod directions;
mod field;
mod gaps;
mod islands;
mod links;
mod loss;
mod map_scale;
mod neighborhoods;
mod null;
mod parts;
mod placement;
mod point_search;
mod report;
mod sample;
mod seam;
mod summary;
#[cfg(test)]
mod tests;

pub use gaps::{Gap, GapVerdict};
pub use islands::Islands;
pub use loss::MapLoss;
pub use parts::IslandParts;
pub use placement::LossUsed;
pub use report::{TrustParams, TrustReport, assess, memory, sufficient_neighbors};
pub use sample::{SampledTrust, assess_sample, sample_memory};
