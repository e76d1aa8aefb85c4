//! What is minimised: directions, objectives, the neighbour embeddings, and MAP IT.

mod accuracy;
mod attraction;
mod edges;
mod mapit;
mod neighbor_embedding;
mod placement;
mod potential;
mod pull;
#[cfg(test)]
mod tests;

use lowland_core::archive::Archive;
use lowland_core::{Points, Result};
use lowland_linalg::Csr;

pub use accuracy::{Accuracy, AccuracyControl};
pub use mapit::{CauchySchwarz, Cost, EntropyWeights, MapIt, MapItFrozen, MapItPlacement, Sampling, Similarity};
pub use neighbor_embedding::{Energy, NeighborEmbedding, Schedule};
pub use placement::Placement;

/// What [`Field::prepare`] has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    Nothing,
    /// How accurately it is summed: values and gradients from before cannot be compared with new ones.
    Accuracy,
    /// What is minimised.
    Objective,
}

/// A direction at every map; it need not be the gradient of anything.
pub trait Field: Send {
    /// Writes the field at `y`, which a descent moves against. With `value`, also returns the number that is shown to
    /// people as the objective; without, it may be saved.
    fn field(&mut self, y: Points, value: bool, out: &mut [f64]) -> Result<Option<f64>>;

    /// Called before every iteration (the first is 1) with the map and the objective's last value. Returns what is no
    /// longer as it was.
    fn prepare(&mut self, _iteration: usize, _y: Points, _value: Option<f64>) -> Result<Change> {
        Ok(Change::Nothing)
    }

    /// Called when a step led nowhere: whatever could be in the way is to be removed before the next.
    fn stuck(&mut self) {}

    /// Whether [`Field::prepare`] has changes in store: the end of the iterations cannot be near.
    fn changes_ahead(&self) -> bool {
        false
    }

    /// How many times stronger attraction is than the objective says, at this iteration.
    fn exaggeration(&self) -> f64 {
        1.0
    }

    /// Puts what [`Field::prepare`] has changed into an archive.
    fn save(&self, archive: &mut Archive);

    /// Takes it up again.
    fn restore(&mut self, archive: &Archive) -> Result<()>;
}

/// A field that is exactly the gradient of the value.
pub trait Objective: Field {
    /// A copy of the weights of the attraction, whose Laplacian is the constant part of the Hessian.
    fn attraction(&self) -> Csr;

    /// Their row sums.
    fn degrees(&self) -> Vec<f64>;

    /// The value may be off by this much: what a line search must tolerate.
    fn noise(&self) -> f64;
}
