//! A tractable latent variable model (Saul 2020): every point has a Gaussian distribution in the map. Similar pairs
//! should coincide on their length scale, dissimilar pairs should not, and expectation-maximization fits the means
//! and variances so that this becomes as likely as possible.
//!
//! [`TrainingPairs`] holds the pairs, [`LvmEm`] iterates, [`LvmState`] transforms new points. `docs/methods/lvm.md`
//! maps equations to functions.

mod block_layout;
mod coarse_graining;
mod dissimilar_pairs;
mod em;
mod excluded_pairs;
mod inverse;
mod kernel;
mod landmark_tree;
mod m_step;
mod new_edges;
mod new_point;
mod options;
mod point_loss;
mod similar_pairs;
mod state;
mod training_pairs;
mod transform;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod transform_tests;

pub use coarse_graining::{BoundedDistance, DissimilarGroup, LandmarkCells, LandmarkChoice, landmark_count};
pub use em::LvmEm;
pub use options::{EmOptions, Precision, Variances};
pub use point_loss::{LvmPointLoss, LvmRow};
pub use state::LvmState;
pub use training_pairs::{AdjacencyRule, PairOptions, TrainingPairs};
pub use transform::{LvmTransformOptions, LvmTransformOutput};
