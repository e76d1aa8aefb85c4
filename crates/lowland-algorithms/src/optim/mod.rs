//! Optimizers. Those that need no value work on any [`VectorField`](crate::objective::VectorField); those with a line
//! search require an [`Objective`](crate::objective::Objective), which the compiler checks:
//!
//! ```compile_fail
//! use lowland_algorithms::objective::VectorField;
//! use lowland_algorithms::optim::{Lbfgs, Optimizer};
//! fn minimize(field: &mut dyn VectorField, lbfgs: &mut Lbfgs, y: &mut [f64]) {
//!     let _ = lbfgs.step(field, y, 2);
//! }
//! ```
//!
//! ```
//! use lowland_algorithms::objective::Objective;
//! use lowland_algorithms::optim::{Lbfgs, Optimizer};
//! fn minimize(objective: &mut dyn Objective, lbfgs: &mut Lbfgs, y: &mut [f64]) {
//!     let _ = lbfgs.step(objective, y, 2);
//! }
//! ```

mod descent;
mod fixed_point;
mod gradient_descent;
mod lbfgs;
mod line_search;
mod momentum;
mod preconditioned_descent;
mod spectral_direction;
#[cfg(test)]
mod tests;

use lowland_core::Result;
use lowland_core::archive::Archive;
use lowland_core::params::param_enum;

pub use descent::Descent;
pub use fixed_point::FixedPoint;
pub(crate) use gradient_descent::VALUE_PERIOD;
pub use gradient_descent::{GradientDescent, GradientDescentParams};
pub use lbfgs::Lbfgs;
pub use line_search::LineSearch;
pub use momentum::{MomentumDescent, MomentumDescentParams};
pub use preconditioned_descent::PreconditionedDescent;
pub use spectral_direction::SpectralDirection;

param_enum! {
    /// The optimizer of an objective.
    pub enum OptimizerKind ("gd, fp, sd or lbfgs") {
        /// Gradient descent with momentum and a gain for every coordinate.
        Gd = "gd",
        /// Fixed-point iteration: the gradient divided by the attraction at each point.
        Fp = "fp",
        /// Spectral direction: the gradient multiplied by the inverse of the attraction's Laplacian.
        Sd = "sd",
        /// Limited-memory BFGS.
        Lbfgs = "lbfgs",
    }
}

impl OptimizerKind {
    /// Returns the number of iterations in which an engine that samples the pairs sums the same ones: gradient descent takes
    /// every step by itself, while line searches and L-BFGS compare values and gradients.
    pub fn sampling_period(self) -> usize {
        match self {
            Self::Gd => 1,
            Self::Fp | Self::Sd | Self::Lbfgs => 10,
        }
    }
}

/// The result of one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepReport {
    /// Value of the objective, if it was computed: before the step for descent without a line search, after it otherwise.
    pub value: Option<f64>,
    /// Length of the step relative to the size of the map.
    pub change: f64,
}

/// Moves the points of a map step by step, to minimize an objective or to follow a vector field.
pub trait Optimizer<F: ?Sized>: Send {
    /// Makes one step; `y` has `dim` coordinates for each point.
    fn step(&mut self, objective: &mut F, y: &mut [f64], dim: usize) -> Result<StepReport>;
    /// Discards what was learned about the objective, which has changed.
    fn reset(&mut self);
    /// Discards stored values and gradients: the objective is computed with another accuracy from now on.
    fn invalidate_values(&mut self);
    /// Returns the length of the gradient of the last step, if it is known.
    fn gradient_norm(&self) -> Option<f64> {
        None
    }
    /// Writes the state to an archive.
    fn save(&self, archive: &mut Archive);
    /// Restores the state written by [`Optimizer::save`]; `len` is the number of coordinates.
    fn restore(&mut self, archive: &Archive, len: usize) -> Result<()>;
}
