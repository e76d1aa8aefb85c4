//! Running: the only loop in the library, and the way out of it for progress, checkpoints and stopping.

mod context;
mod observer;
mod pace;
mod progress;
mod stepper;

pub use context::Context;
pub use observer::{Event, Observer, Silent, Stage};
pub use pace::{Pace, in_batches};
pub use progress::ProgressTracker;
pub use stepper::{Ended, Outcome, Step, Stepper, StopRule, run};

use crate::Result;

/// Told how much of the present stage is done (0 to 1); an error means that someone asked to stop.
pub type Progress<'a> = dyn FnMut(f64) -> Result<()> + 'a;
