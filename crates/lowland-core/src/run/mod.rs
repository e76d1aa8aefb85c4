//! Runs: the loop of iterative methods, with progress, checkpoints and stopping.

mod batches;
mod context;
mod observer;
mod progress;
mod stepper;

pub use batches::{BatchSizer, fill_in_batches, in_batches};
pub use context::Context;
pub use observer::{Event, NoObserver, Observer, Stage};
pub use progress::ProgressTracker;
pub use stepper::{Outcome, Step, Stepper, StopReason, StopRule, run};

use crate::Result;

/// Receives the completed fraction of the current stage (0 to 1). Returns an error if the run should stop.
pub type Progress<'a> = dyn FnMut(f64) -> Result<()> + 'a;
