//! Runs long computations on a worker thread, while the calling thread handles Ctrl-C and callbacks.
//!
//! Python runs signal handlers only on its main thread while that thread holds the GIL. The calling thread therefore sleeps
//! without the GIL, and wakes up twenty times per second or when there is a message.

use std::ffi::CString;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use lowland::device::{take_notes, with_device};
use lowland::run::{Archive, Event, Observer, ProgressTracker};
use lowland::{Embedding, Error};
use pyo3::prelude::*;

use crate::device::device;
use crate::error::{PyFailure, PythonTerms};
use crate::panics::panic_error;
use crate::rows::embedding_to_array;

/// Interval of the checks for Ctrl-C.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Minimum interval between progress reports.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);

/// Python functions that are called during a run.
#[derive(Default)]
pub struct Callbacks<'py> {
    /// Called with `(stage, completed fraction of the run, iteration or None, objective or None)`.
    pub on_progress: Option<Bound<'py, PyAny>>,
    /// Called with `(text)` for each note.
    pub on_note: Option<Bound<'py, PyAny>>,
    /// Called with `(iteration, objective, embedding, length of the gradient or None)`; a true result stops the run.
    pub on_step: Option<Bound<'py, PyAny>>,
    /// Number of iterations between two calls of `on_step`.
    pub every: usize,
    /// Where to write checkpoints, if anywhere.
    pub checkpoints: Option<CheckpointSchedule>,
}

/// Where and how often to write checkpoints. A run that is stopped writes one, too.
#[derive(Clone)]
pub struct CheckpointSchedule {
    pub path: PathBuf,
    pub interval: Duration,
}

/// A message from the worker thread to the calling thread.
enum Message {
    Note(String),
    Progress {
        stage: String,
        done: f64,
        step: Option<(usize, f64)>,
    },
    Step {
        iteration: usize,
        objective: f64,
        embedding: Embedding,
        gradient_norm: Option<f64>,
    },
    /// A checkpoint could not be written, which does not end the run.
    NoCheckpoint(String),
}

/// The result of the work, and the exception raised meanwhile: Ctrl-C or an exception of a callback.
pub struct WatchOutput<T> {
    pub result: T,
    pub raised: Option<PyErr>,
}

/// Runs `work` on a private thread pool with the GIL released. An exception stops the work and keeps its result so far.
pub fn watch<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    callbacks: &Callbacks,
    work: impl FnOnce(&mut Watcher) -> Result<T, PyFailure> + Send,
) -> PyResult<WatchOutput<T>> {
    let stop = AtomicBool::new(false);
    let (sender, mut messages) = channel();
    let (reply, replies) = channel();
    let watcher = Watcher {
        stop: &stop,
        checkpoints: callbacks.checkpoints.clone().map(|schedule| (schedule, Instant::now())),
        messages: sender,
        replies,
        reports_progress: callbacks.on_progress.is_some(),
        reports_notes: callbacks.on_note.is_some(),
        every: callbacks.on_step.as_ref().map(|_| callbacks.every.max(1)),
        tracker: ProgressTracker::default(),
        last_report: Instant::now(),
    };
    let device = device();
    let mut raised = None;
    let result = std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let mut watcher = watcher;
            #[cfg(debug_assertions)]
            crate::panics::testing::panic_if_requested(crate::panics::testing::Place::Worker);
            lowland::with_threads(threads, || {
                with_device(device, || {
                    let result = work(&mut watcher);
                    // What fits have not reported: a search that was not computed where it was meant to be, for example.
                    for note in take_notes() {
                        let _ = watcher.on(&Event::Note(&note));
                    }
                    result
                })
            })?
        });
        loop {
            let inbox = &mut messages;
            let handled = match py.detach(move || inbox.recv_timeout(POLL_INTERVAL)) {
                Ok(message) => {
                    let needs_reply = matches!(message, Message::Step { .. });
                    let should_stop = call_back(py, callbacks, message);
                    // Set before the reply, so that the run does not start another step.
                    if !matches!(should_stop, Ok(false)) {
                        stop.store(true, Ordering::Relaxed);
                    }
                    if needs_reply {
                        // The worker waits for the reply; sending fails only if it has ended.
                        let _ = reply.send(());
                    }
                    should_stop.map(|_| ())
                }
                Err(RecvTimeoutError::Timeout) => Ok(()),
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if let Err(error) = handled.and_then(|()| py.check_signals()) {
                stop.store(true, Ordering::Relaxed);
                raised.get_or_insert(error);
            }
        }
        py.detach(|| worker.join()).map_err(|panic| panic_error(panic.as_ref()))
    })?;
    match (result.map_err(PyFailure::from).and_then(|inner| inner), raised) {
        (Ok(result), raised) => Ok(WatchOutput { result, raised }),
        (Err(PyFailure::Library(Error::Stopped { .. })), Some(error)) => Err(error),
        (Err(failure), _) => Err(failure.into()),
    }
}

/// Calls the callback of a message. Returns `true` if the run should stop.
fn call_back(py: Python<'_>, callbacks: &Callbacks, message: Message) -> PyResult<bool> {
    match message {
        Message::Note(text) => {
            if let Some(function) = &callbacks.on_note {
                function.call1((text,))?;
            }
            Ok(false)
        }
        Message::Progress { stage, done, step } => {
            if let Some(function) = &callbacks.on_progress {
                function.call1((stage, done, step.map(|s| s.0), step.map(|s| s.1)))?;
            }
            Ok(false)
        }
        Message::Step { iteration, objective, embedding, gradient_norm } => match &callbacks.on_step {
            Some(function) => {
                let embedding = embedding_to_array(py, &embedding)?;
                function.call1((iteration, objective, embedding, gradient_norm))?.is_truthy()
            }
            None => Ok(false),
        },
        Message::NoCheckpoint(reason) => {
            let category = py.import("lowland._warnings")?.getattr("LowlandWarning")?;
            let text = CString::new(format!("the checkpoint could not be written: {}", reason.replace('\0', " ")))?;
            PyErr::warn(py, &category, &text, 1)?;
            Ok(false)
        }
    }
}

/// The observer on the worker thread, which sends messages to the calling thread.
pub struct Watcher<'a> {
    stop: &'a AtomicBool,
    /// The schedule, and when the last checkpoint was written.
    checkpoints: Option<(CheckpointSchedule, Instant)>,
    messages: Sender<Message>,
    replies: Receiver<()>,
    reports_progress: bool,
    reports_notes: bool,
    every: Option<usize>,
    tracker: ProgressTracker,
    last_report: Instant,
}

impl Watcher<'_> {
    /// Reports progress of work outside a fit. Returns an error if the work should stop.
    pub fn progress(&mut self, stage: &'static str, done: f64) -> lowland::Result<()> {
        self.report(stage.into(), done, None);
        if self.stop.load(Ordering::Relaxed) { Err(Error::Stopped { stage }) } else { Ok(()) }
    }

    fn report(&mut self, stage: String, done: f64, step: Option<(usize, f64)>) {
        if self.reports_progress && self.last_report.elapsed() >= REPORT_INTERVAL {
            self.last_report = Instant::now();
            // The receiver outlives the worker.
            let _ = self.messages.send(Message::Progress { stage, done, step });
        }
    }

    /// Writes a checkpoint if one is due, or if the run stops here.
    fn write_checkpoint(&mut self, stopped: bool, checkpoint: &dyn Fn() -> Archive) {
        let Some((schedule, last)) = &mut self.checkpoints else { return };
        if stopped || last.elapsed() >= schedule.interval {
            let archive = checkpoint();
            if !archive.is_complete() {
                // The run is about to end with an error; what was written before can be resumed.
                return;
            }
            let written = lowland_io::write_bytes(&schedule.path, &archive.to_bytes());
            *last = Instant::now();
            if let Err(error) = written {
                let _ = self.messages.send(Message::NoCheckpoint(error.describe(&PythonTerms)));
            }
        }
    }

    fn report_run(&mut self) {
        self.report(self.tracker.stage().into(), self.tracker.fraction(), self.tracker.step());
    }
}

impl Observer for Watcher<'_> {
    fn wants_checkpoints(&self) -> bool {
        self.checkpoints.is_some()
    }

    fn on(&mut self, event: &Event) -> ControlFlow<()> {
        self.tracker.update(event);
        match event {
            Event::StageStart(_) | Event::StageProgress(_) => self.report_run(),
            Event::Step { step, embedding, gradient_norm, checkpoint, .. } => {
                self.report_run();
                if self.every.is_some_and(|every| step.iteration % every == 0) {
                    let (iteration, objective) = (step.iteration, step.objective);
                    let (embedding, gradient_norm) = (embedding(), gradient_norm());
                    let message = Message::Step { iteration, objective, embedding, gradient_norm };
                    if self.messages.send(message).is_ok() {
                        let _ = self.replies.recv();
                    }
                }
                // Read once: a run that stops at this step must have written its checkpoint at this step.
                let stopped = self.stop.load(Ordering::Relaxed);
                self.write_checkpoint(stopped, checkpoint);
                return if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            }
            Event::Note(note) if self.reports_notes => {
                let _ = self.messages.send(Message::Note(note.describe(&PythonTerms)));
            }
            _ => {}
        }
        if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
