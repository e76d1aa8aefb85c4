//! The context of a fit: observer, seed, memory limit, initial embedding and checkpoint.

use std::ops::ControlFlow;

use crate::archive::{Archive, ArchiveKind};
use crate::message::{Note, RustTerms};
use crate::{Embedding, Error, Result, Seed};

use super::stepper::save_trace;
use super::{Event, Observer, Progress, Stage, Step, Stepper};

/// Name of the notes in checkpoints.
const NOTES: &str = "notes";

/// The context of a fit.
pub struct Context<'a> {
    observer: &'a mut dyn Observer,
    /// Seed of the run.
    pub seed: Seed,
    checkpoint: Option<&'a Archive>,
    init: Option<&'a Embedding>,
    /// Entries of every checkpoint: method, data and neighbor graph.
    header: Archive,
    stage: &'static str,
    notes: Vec<Note>,
    /// Bytes that the method may use; `None` for no limit.
    memory_limit: Option<u64>,
    /// Whether the iterations were stopped. The remaining work is not stopped again, since there is an embedding to return.
    stopped: bool,
}

impl<'a> Context<'a> {
    /// Creates a context. A run with a checkpoint continues from it.
    pub fn new(observer: &'a mut dyn Observer, seed: Seed, checkpoint: Option<&'a Archive>) -> Self {
        let header = Archive::new(ArchiveKind::Checkpoint);
        // Notes about stages that are not repeated, such as the search for neighbors.
        let notes = checkpoint.and_then(|archive| Note::load_all(NOTES, archive).ok()).unwrap_or_default();
        Self {
            observer,
            seed,
            checkpoint,
            init: None,
            header,
            stage: "preparation",
            notes,
            memory_limit: None,
            stopped: false,
        }
    }

    /// Sets the number of bytes that the method may use; `None` for no limit.
    pub fn set_memory_limit(&mut self, memory_limit: Option<u64>) {
        self.memory_limit = memory_limit;
    }

    /// Sets the embedding that the iterations start from.
    pub fn set_init(&mut self, init: Option<&'a Embedding>) {
        self.init = init;
    }

    /// Returns the embedding that the iterations start from, if the caller has set one.
    pub fn init(&self) -> Option<&'a Embedding> {
        self.init
    }

    /// Returns the number of bytes that the method may use; `None` for no limit.
    pub fn memory_limit(&self) -> Option<u64> {
        self.memory_limit
    }

    /// Returns the number of bytes that are left of [`Self::memory_limit`] besides `alive` bytes; `None` for no limit.
    pub fn memory_left(&self, alive: f64) -> Option<u64> {
        self.memory_limit.map(|limit| limit.saturating_sub(alive as u64))
    }

    /// Announces the stages to the observer.
    pub fn announce_stages(&mut self, stages: &[Stage]) -> Result<()> {
        self.send(&Event::Plan(stages))
    }

    /// Runs a stage and notifies the observer of its start and end.
    pub fn stage<T>(&mut self, name: &'static str, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let outer = std::mem::replace(&mut self.stage, name);
        self.send(&Event::StageStart(name))?;
        let result = work(self)?;
        // The result of the stage is complete: a request to stop takes effect at the next stage.
        let _ = self.send(&Event::StageEnd(name));
        self.stage = outer;
        Ok(result)
    }

    /// Runs work that reports its progress as a fraction.
    pub fn with_progress<T>(&mut self, work: impl FnOnce(&mut Progress) -> Result<T>) -> Result<T> {
        work(&mut |done| self.send(&Event::StageProgress(done)))
    }

    /// Sends a note to the observer and keeps it for the model.
    pub fn note(&mut self, note: Note) {
        let _ = self.send(&Event::Note(&note));
        let is_same = |known: &Note| {
            matches!(known, Note::Recorded { .. })
                && (known.kind(), known.describe(&RustTerms)) == (note.kind(), note.describe(&RustTerms))
        };
        match self.notes.iter_mut().find(|known| is_same(known)) {
            Some(known) => *known = note,
            None => self.notes.push(note),
        }
    }

    /// Returns the checkpoint that the run continues from.
    pub fn checkpoint(&self) -> Option<&'a Archive> {
        self.checkpoint
    }

    /// Forgets the checkpoint once the iterations that it was made in are resumed: further iterations of the run start anew.
    pub fn leave_checkpoint(&mut self) {
        self.checkpoint = None;
    }

    /// Adds entries to every checkpoint of this run, if the observer wants checkpoints.
    pub fn add_to_checkpoint(&mut self, fill: impl FnOnce(&mut Archive)) {
        if self.observer.wants_checkpoints() {
            fill(&mut self.header);
        }
    }

    /// Takes the notes collected so far, leaving none.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    pub(super) fn report_step(&mut self, done: f64, stepper: &dyn Stepper, trace: &[Step]) -> ControlFlow<()> {
        let (header, notes) = (&self.header, &self.notes);
        let checkpoint = || {
            let mut archive = header.clone();
            Note::save_all(notes, NOTES, &mut archive);
            save_trace(trace, &mut archive);
            stepper.save(&mut archive);
            archive
        };
        let step = &trace[trace.len() - 1];
        let (embedding, gradient_norm) = (|| stepper.embedding(), || stepper.gradient_norm());
        let event =
            Event::Step { step, done, embedding: &embedding, gradient_norm: &gradient_norm, checkpoint: &checkpoint };
        let flow = self.observer.on(&event);
        self.stopped |= flow.is_break();
        flow
    }

    fn send(&mut self, event: &Event) -> Result<()> {
        let stop = self.observer.on(event).is_break() && !self.stopped;
        if stop { Err(Error::Stopped { stage: self.stage }) } else { Ok(()) }
    }
}
