//! Runs: observers, progress, checkpoints, and the loop that iterative methods use.
//!
//! An [`Observer`] sees every event of a run and can stop it; the embedding is then kept as it is. Closures are observers.
//!
//! ```
//! use std::ops::ControlFlow;
//! use lowland::run::{Event, StopReason};
//! use lowland::{FitOptions, methods::Tsne};
//! # use lowland::{Data, Seed};
//! # let x = Data::dense(Seed(1).normals(400).into_iter().map(|v| v as f32).collect(), 4)?;
//! let mut stop_after_ten = |event: &Event| match event {
//!     Event::Step { step, .. } if step.iteration >= 10 => ControlFlow::Break(()),
//!     _ => ControlFlow::Continue(()),
//! };
//! let options = FitOptions { observer: Some(&mut stop_after_ten), ..FitOptions::default() };
//! let model = Tsne { perplexity: 10.0, ..Tsne::default() }.fit_with(&x, options)?;
//! assert_eq!(model.outcome().stop_reason, StopReason::Stopped);
//! assert_eq!(model.embedding().rows(), 100);
//! # Ok::<(), lowland::Error>(())
//! ```

pub use lowland_core::archive::{Archive, ArchiveKind};
pub use lowland_core::run::{
    Context, Event, NoObserver, Observer, Outcome, Progress, ProgressTracker, Stage, Step, Stepper, StopReason,
    StopRule, run,
};
