//! Observers receive the events of a run and can stop it.

use std::ops::ControlFlow;

use crate::Embedding;
use crate::archive::Archive;
use crate::message::Note;

use super::Step;

/// A part of a run, with its expected share of the time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stage {
    /// Name shown to users.
    pub name: &'static str,
    /// Expected time, relative to the other stages.
    pub weight: f64,
}

/// An event of a run.
#[non_exhaustive]
pub enum Event<'a> {
    /// All stages of the run; sent once, before the first stage.
    Plan(&'a [Stage]),
    /// A stage starts.
    StageStart(&'a str),
    /// Completed fraction of the stage, 0 to 1.
    StageProgress(f64),
    /// A stage ends.
    StageEnd(&'a str),
    /// An iteration is complete.
    Step {
        /// Result of the iteration.
        step: &'a Step,
        /// Estimated completed fraction of all iterations, 0 to 1.
        done: f64,
        /// Returns a copy of the current embedding.
        embedding: &'a dyn Fn() -> Embedding,
        /// Returns the length of the gradient that the iteration followed, if the algorithm has one.
        gradient_norm: &'a dyn Fn() -> Option<f64>,
        /// Returns a checkpoint to continue from later; for observers that want checkpoints.
        checkpoint: &'a dyn Fn() -> Archive,
    },
    /// Information or a warning, such as duplicate rows or an adjusted parameter.
    Note(&'a Note),
}

/// Receives the events of a run: for progress bars, checkpoints, live views and Ctrl-C. Returning `Break` stops the run and
/// keeps the current embedding.
pub trait Observer: Send {
    /// Called for every event, on the thread that called `fit`.
    fn on(&mut self, event: &Event) -> ControlFlow<()>;

    /// Returns whether the observer may request checkpoints. If not, the run saves memory by not keeping what only
    /// checkpoints need.
    fn wants_checkpoints(&self) -> bool {
        true
    }
}

/// An observer that ignores all events.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn on(&mut self, _: &Event) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn wants_checkpoints(&self) -> bool {
        false
    }
}

impl<F: FnMut(&Event) -> ControlFlow<()> + Send> Observer for F {
    fn on(&mut self, event: &Event) -> ControlFlow<()> {
        self(event)
    }
}
