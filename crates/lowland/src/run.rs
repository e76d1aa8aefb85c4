//! Runs: observers, progress, checkpoints, and the loop that iterative methods use.

pub use lowland_core::archive::{Archive, ArchiveKind};
pub use lowland_core::run::{
    Context, Event, NoObserver, Observer, Outcome, Progress, ProgressTracker, Stage, Step, Stepper, StopReason,
    StopRule, run,
};
