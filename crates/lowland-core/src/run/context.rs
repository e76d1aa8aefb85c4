//! What a method has at hand while it fits: the observer, the seed, the limits, and an earlier run to take up.

use std::ops::ControlFlow;

use crate::archive::{Archive, ArchiveKind};
use crate::message::Note;
use crate::{Embedding, Error, Result, Seed};

use super::stepper::save_trace;
use super::{Event, Observer, Progress, Stage, Step, Stepper};

/// The surroundings of one fit.
pub struct Context<'a> {
    observer: &'a mut dyn Observer,
    /// The run's seed.
    pub seed: Seed,
    resume: Option<&'a Archive>,
    start: Option<&'a Embedding>,
    /// What every checkpoint starts with: which method, which data, which graph.
    header: Archive,
    stage: &'static str,
    notes: Vec<Note>,
    /// Bytes the method may take; `None` for no limit.
    allowance: Option<u64>,
    /// A stop was asked for and obeyed with a map in hand: what follows only wraps up and is not stopped again.
    wrapping_up: bool,
}

impl<'a> Context<'a> {
    /// A fresh context.
    pub fn new(observer: &'a mut dyn Observer, seed: Seed, resume: Option<&'a Archive>) -> Self {
        let header = Archive::new(ArchiveKind::Checkpoint);
        Self {
            observer,
            seed,
            resume,
            start: None,
            header,
            stage: "preparation",
            notes: Vec::new(),
            allowance: None,
            wrapping_up: false,
        }
    }

    /// Lets the method take so many bytes.
    pub fn set_memory_limit(&mut self, allowance: Option<u64>) {
        self.allowance = allowance;
    }

    /// Has the iterations begin with this map.
    pub fn set_init(&mut self, start: Option<&'a Embedding>) {
        self.start = start;
    }

    /// The map to begin with, when one was given.
    pub fn init(&self) -> Option<&'a Embedding> {
        self.start
    }

    /// Bytes the method may take, where it can choose; `None` for no limit.
    pub fn memory_limit(&self) -> Option<u64> {
        self.allowance
    }

    /// Announces the stages.
    pub fn announce_stages(&mut self, stages: &[Stage]) -> Result<()> {
        self.send(&Event::Plan(stages))
    }

    /// Runs one stage, telling the observer when it begins and ends.
    pub fn stage<T>(&mut self, name: &'static str, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let outer = std::mem::replace(&mut self.stage, name);
        self.send(&Event::StageStart(name))?;
        let result = work(self)?;
        // The stage's result is there: a stop asked for now is acted on at the next stage.
        let _ = self.send(&Event::StageEnd(name));
        self.stage = outer;
        Ok(result)
    }

    /// Runs work that reports its progress as a fraction.
    pub fn with_progress<T>(&mut self, work: impl FnOnce(&mut Progress) -> Result<T>) -> Result<T> {
        work(&mut |done| self.send(&Event::StageProgress(done)))
    }

    /// Says something worth knowing, and keeps it for the report.
    pub fn note(&mut self, note: Note) {
        let _ = self.send(&Event::Note(&note));
        self.notes.push(note);
    }

    /// The checkpoint this run goes on from.
    pub fn checkpoint(&self) -> Option<&'a Archive> {
        self.resume
    }

    /// Makes `fill` part of every checkpoint of this run, if there will be any.
    pub fn add_to_checkpoint(&mut self, fill: impl FnOnce(&mut Archive)) {
        if self.observer.wants_checkpoints() {
            fill(&mut self.header);
        }
    }

    /// The notes so far, given up.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    pub(super) fn report_step(&mut self, done: f64, stepper: &dyn Stepper, trace: &[Step]) -> ControlFlow<()> {
        let header = &self.header;
        let checkpoint = || {
            let mut archive = header.clone();
            save_trace(trace, &mut archive);
            stepper.save(&mut archive);
            archive
        };
        let step = &trace[trace.len() - 1];
        let event = Event::Step { step, done, embedding: &|| stepper.embedding(), checkpoint: &checkpoint };
        let flow = self.observer.on(&event);
        self.wrapping_up |= flow.is_break();
        flow
    }

    fn send(&mut self, event: &Event) -> Result<()> {
        let stop = self.observer.on(event).is_break() && !self.wrapping_up;
        if stop { Err(Error::Stopped { stage: self.stage }) } else { Ok(()) }
    }
}
