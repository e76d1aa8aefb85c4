//! What a run tells the outside, and the one thing the outside can say back: stop.

use std::ops::ControlFlow;

use crate::Embedding;
use crate::archive::Archive;
use crate::message::Note;

use super::Step;

/// A part of the work, with its share of the expected time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stage {
    /// What people see.
    pub name: &'static str,
    /// Expected time, relative to the other stages.
    pub weight: f64,
}

/// Something happened.
#[non_exhaustive]
pub enum Event<'a> {
    /// The stages to come, once, before the first.
    Plan(&'a [Stage]),
    /// A stage begins.
    StageStart(&'a str),
    /// How much of the stage is done, 0 to 1.
    StageProgress(f64),
    /// The stage is over.
    StageEnd(&'a str),
    /// One iteration was made.
    Step {
        /// What it achieved.
        step: &'a Step,
        /// Share of the iterations' work that is done, 0 to 1, as far as can be told.
        done: f64,
        /// The map now; costs a copy, so it is made only when asked for.
        embedding: &'a dyn Fn() -> Embedding,
        /// Everything needed to go on from here later; for observers that want checkpoints.
        checkpoint: &'a dyn Fn() -> Archive,
    },
    /// Something worth knowing: duplicates, a fallback, a parameter that was adapted.
    Note(&'a Note),
}

/// Progress bars, checkpoints, live views, Ctrl-C. `Break` means: stop, and keep what there is.
pub trait Observer: Send {
    /// Called for every event, on the thread that called `fit`.
    fn on(&mut self, event: &Event) -> ControlFlow<()>;

    /// Whether it may ask for a checkpoint. If not, what only checkpoints need is not kept: of large data that is much.
    fn wants_checkpoints(&self) -> bool {
        true
    }
}

/// Looks away.
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
