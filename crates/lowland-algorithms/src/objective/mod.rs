//! Objectives: the traits that the optimizers of [`crate::optim`] work on, and the sums that several objectives share.

mod accuracy;
mod anchored;
mod divided;
pub(crate) mod edge_sums;
mod kernel_potential;

use lowland_core::archive::Archive;
use lowland_core::{Points, Result};
use lowland_linalg::Csr;

pub use accuracy::{Accuracy, AccuracyController};
pub use anchored::AnchoredField;
pub(crate) use divided::{CHUNK as DIVIDED_CHUNK, column_sums, restore_parts};
pub use divided::{CoordinateBounds, DividedAffinities, DividedPoints};
pub(crate) use kernel_potential::KernelPotential;

/// The kind of change that [`VectorField::begin_iteration`] has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectiveChange {
    /// Nothing.
    None,
    /// The accuracy of its sums: earlier values and gradients are not comparable with new ones.
    Accuracy,
    /// The objective itself.
    Objective,
}

/// A vector field on maps, which a descent follows in the opposite direction. It need not be the gradient of a function.
pub trait VectorField: Send {
    /// Writes the field at `y` to `out`. With `with_value`, also returns the value that is reported as the objective;
    /// without it, an implementation may skip that computation.
    fn evaluate(&mut self, y: Points, with_value: bool, out: &mut [f64]) -> Result<Option<f64>>;

    /// Called before every iteration (the first is 1) with the map and the last known value. Returns what has changed.
    fn begin_iteration(&mut self, _iteration: usize, _y: Points, _value: Option<f64>) -> Result<ObjectiveChange> {
        Ok(ObjectiveChange::None)
    }

    /// Called when a step did not move the map, so that the next iteration can be prepared differently.
    fn on_stall(&mut self) {}

    /// Whether [`VectorField::begin_iteration`] will make further changes, so that the iterations must not end yet.
    fn has_pending_changes(&self) -> bool {
        false
    }

    /// Factor by which the attraction is exaggerated at this iteration.
    fn exaggeration(&self) -> f64 {
        1.0
    }

    /// Whether the field is the same for a map that is moved as a whole.
    fn is_translation_invariant(&self) -> bool {
        true
    }

    /// Sets the part of a direction to zero that belongs to points that must not move.
    fn hold(&self, _direction: &mut [f64], _dim: usize) {}

    /// Writes the state that [`VectorField::begin_iteration`] changes to an archive.
    fn save(&self, archive: &mut Archive);

    /// Restores the state written by [`VectorField::save`].
    fn restore(&mut self, archive: &Archive) -> Result<()>;
}

/// A vector field that is exactly the gradient of its value.
pub trait Objective: VectorField {
    /// Returns a copy of the weights of the attraction, whose Laplacian is the constant part of the Hessian.
    fn attraction(&self) -> Csr;

    /// Returns the row sums of the attraction's weights.
    fn degrees(&self) -> Vec<f64>;

    /// Returns the largest error that a value may have, which a line search has to tolerate.
    fn noise(&self) -> f64;
}

/// Returns the squared Euclidean distance between two points.
pub(crate) fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}
