//! Optimisers. One that needs no value works on any [`Field`](crate::objective::Field); those with a line search need
//! an [`Objective`](crate::objective::Objective), and the compiler says so:
//!
//! ```compile_fail
//! use lowland_algorithms::objective::Field;
//! use lowland_algorithms::optim::{Lbfgs, Optimizer};
//! fn minimise(field: &mut dyn Field, lbfgs: &mut Lbfgs, y: &mut [f64]) {
//!     let _ = lbfgs.step(field, y, 2);
//! }
//! ```
//!
//! ```
//! use lowland_algorithms::objective::Objective;
//! use lowland_algorithms::optim::{Lbfgs, Optimizer};
//! fn minimise(objective: &mut dyn Objective, lbfgs: &mut Lbfgs, y: &mut [f64]) {
//!     let _ = lbfgs.step(objective, y, 2);
//! }
//! ```

mod descent;
mod fixed_point;
mod gains;
mod lbfgs;
mod line_search;
mod momentum;
mod spectral_direction;
#[cfg(test)]
mod tests;

use lowland_core::Result;
use lowland_core::archive::Archive;
use lowland_core::params::choice;

pub use descent::Descent;
pub use fixed_point::FixedPoint;
pub use gains::{Gains, GainsParams};
pub use lbfgs::Lbfgs;
pub use line_search::LineSearch;
pub use momentum::{Momentum, MomentumParams};
pub use spectral_direction::SpectralDirection;

choice! {
    /// How the map is improved.
    pub enum OptimizerKind ("gd, fp, sd or lbfgs") {
        /// Gradient descent with momentum and a gain for every coordinate.
        Gd = "gd",
        /// Fixed point: the gradient divided by the attraction at each point.
        Fp = "fp",
        /// Spectral direction: the gradient against the attraction's Laplacian.
        Sd = "sd",
        /// Limited-memory BFGS.
        Lbfgs = "lbfgs",
    }
}

/// What one step did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moved {
    /// The objective, where it was computed: before the step for gradient descent, after it for the others.
    pub value: Option<f64>,
    /// Length of the step relative to the map's.
    pub change: f64,
}

/// Improves a map, `dim` coordinates for each point.
pub trait Optimizer<F: ?Sized>: Send {
    /// One step.
    fn step(&mut self, objective: &mut F, y: &mut [f64], dim: usize) -> Result<Moved>;
    /// The objective has changed: what was learned about it no longer holds.
    fn forget(&mut self);
    /// It is computed with another accuracy: values and gradients from before cannot be compared with new ones.
    fn measure_anew(&mut self);
    /// Puts the state into an archive.
    fn save(&self, archive: &mut Archive);
    /// Takes it up again; `len` is the number of coordinates.
    fn restore(&mut self, archive: &Archive, len: usize) -> Result<()>;
}
