//! Runs: observers, progress, checkpoints, and the loop that iterative methods use.

pub use lowland_core::archive::{Archive, Kind};
pub use lowland_core::run::{
    Context, Ended, Event, Observer, Outcome, Progress, ProgressTracker, Silent, Stage, Step, Stepper, StopRule, run,
};
