//! Running: the only loop in the library, and the way out of it for progress, checkpoints and stopping.

mod batches;
mod context;
mod observer;
mod progress;
mod stepper;

pub use batches::{BatchSizer, in_batches};
pub use context::Context;
pub use observer::{Event, NoObserver, Observer, Stage};
pub use progress::ProgressTracker;
pub use stepper::{Outcome, Step, Stepper, StopReason, StopRule, run};

use crate::Result;

/// Told how much of the present stage is done (0 to 1); an error means that someone asked to stop.
pub type Progress<'a> = dyn FnMut(f64) -> Result<()> + 'a;
