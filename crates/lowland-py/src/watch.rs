//! Long work on a thread of its own, while the caller's thread answers Ctrl-C and callbacks.
//!
//! Python runs signal handlers only on its main thread and only while that holds the GIL, so the work must be elsewhere: the
//! caller sleeps without the GIL, and wakes twenty times a second or when there is something to tell.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use lowland::run::{Event, Observer, ProgressTracker};
use lowland::{Embedding, Error};
use pyo3::prelude::*;

use crate::error::{Failure, PythonTerms};
use crate::rows::map_to_array;

/// How long the caller sleeps between two looks for Ctrl-C.
const NAP: Duration = Duration::from_millis(50);
/// Progress is told no more often than this.
const REFRESH: Duration = Duration::from_millis(100);

/// Python functions that want to know.
#[derive(Default)]
pub struct Listeners<'py> {
    /// `(stage, share of all that is done, iteration or None, objective or None)`.
    pub on_progress: Option<Bound<'py, PyAny>>,
    /// `(text)`: something worth knowing.
    pub on_note: Option<Bound<'py, PyAny>>,
    /// `(iteration, objective, embedding)`; true stops.
    pub on_step: Option<Bound<'py, PyAny>>,
    /// Iterations between two calls of `on_step`.
    pub every: usize,
}

enum Message {
    Note(String),
    Progress { stage: String, done: f64, step: Option<(usize, f64)> },
    Step { iteration: usize, objective: f64, embedding: Embedding },
}

/// Work that came to an end, and the exception that was raised meanwhile: Ctrl-C, or one of a callback.
pub struct Watched<T> {
    pub result: T,
    pub raised: Option<PyErr>,
}

/// Runs `work` on a private pool with the GIL released. An exception asks the work to stop; what it then has is kept.
pub fn watch<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    listeners: &Listeners,
    work: impl FnOnce(&mut Watcher) -> Result<T, Failure> + Send,
) -> PyResult<Watched<T>> {
    let stop = AtomicBool::new(false);
    let (to_caller, mut messages) = channel();
    let (answer, answers) = channel();
    let watcher = Watcher {
        stop: &stop,
        messages: to_caller,
        answers,
        tells_progress: listeners.on_progress.is_some(),
        tells_notes: listeners.on_note.is_some(),
        every: listeners.on_step.as_ref().map(|_| listeners.every.max(1)),
        tracker: ProgressTracker::default(),
        told: Instant::now(),
    };
    let mut raised = None;
    let result = std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let mut watcher = watcher;
            lowland::with_threads(threads, || work(&mut watcher))
        });
        loop {
            let inbox = &mut messages;
            let heard = match py.detach(move || inbox.recv_timeout(NAP)) {
                Ok(message) => {
                    let asks = matches!(message, Message::Step { .. });
                    let stops = tell(py, listeners, message);
                    // Before the answer, so that the run does not take another step.
                    if !matches!(stops, Ok(false)) {
                        stop.store(true, Ordering::Relaxed);
                    }
                    if asks {
                        // The work waits; if it is gone there is nobody to answer.
                        let _ = answer.send(());
                    }
                    stops.map(|_| ())
                }
                Err(RecvTimeoutError::Timeout) => Ok(()),
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if let Err(error) = heard.and_then(|()| py.check_signals()) {
                stop.store(true, Ordering::Relaxed);
                raised.get_or_insert(error);
            }
        }
        match py.detach(|| worker.join()) {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    match (result.map_err(Failure::from).and_then(|inner| inner), raised) {
        (Ok(result), raised) => Ok(Watched { result, raised }),
        (Err(Failure::Library(Error::Stopped { .. })), Some(error)) => Err(error),
        (Err(failure), _) => Err(failure.into()),
    }
}

/// Passes a message on; `true` when the run should stop.
fn tell(py: Python<'_>, listeners: &Listeners, message: Message) -> PyResult<bool> {
    match message {
        Message::Note(text) => {
            if let Some(function) = &listeners.on_note {
                function.call1((text,))?;
            }
            Ok(false)
        }
        Message::Progress { stage, done, step } => {
            if let Some(function) = &listeners.on_progress {
                function.call1((stage, done, step.map(|s| s.0), step.map(|s| s.1)))?;
            }
            Ok(false)
        }
        Message::Step { iteration, objective, embedding } => match &listeners.on_step {
            Some(function) => function.call1((iteration, objective, map_to_array(py, &embedding)?))?.is_truthy(),
            None => Ok(false),
        },
    }
}

/// The work's end of the line.
pub struct Watcher<'a> {
    stop: &'a AtomicBool,
    messages: Sender<Message>,
    answers: Receiver<()>,
    tells_progress: bool,
    tells_notes: bool,
    every: Option<usize>,
    tracker: ProgressTracker,
    told: Instant,
}

impl Watcher<'_> {
    /// For work outside a fit: an error when someone asked to stop.
    pub fn progress(&mut self, stage: &'static str, done: f64) -> lowland::Result<()> {
        self.tell(stage.into(), done, None);
        if self.stop.load(Ordering::Relaxed) { Err(Error::Stopped { stage }) } else { Ok(()) }
    }

    fn tell(&mut self, stage: String, done: f64, step: Option<(usize, f64)>) {
        if self.tells_progress && self.told.elapsed() >= REFRESH {
            self.told = Instant::now();
            // The caller outlives the work.
            let _ = self.messages.send(Message::Progress { stage, done, step });
        }
    }

    fn tell_run(&mut self) {
        self.tell(self.tracker.stage().into(), self.tracker.fraction(), self.tracker.step());
    }
}

impl Observer for Watcher<'_> {
    fn wants_checkpoints(&self) -> bool {
        false
    }

    fn on(&mut self, event: &Event) -> ControlFlow<()> {
        self.tracker.update(event);
        match event {
            Event::StageStart(_) | Event::StageProgress(_) => self.tell_run(),
            Event::Step { step, embedding, .. } => {
                self.tell_run();
                if self.every.is_some_and(|every| step.iteration % every == 0) {
                    let (iteration, objective) = (step.iteration, step.objective);
                    let message = Message::Step { iteration, objective, embedding: embedding() };
                    if self.messages.send(message).is_ok() {
                        let _ = self.answers.recv();
                    }
                }
            }
            Event::Note(note) if self.tells_notes => {
                let _ = self.messages.send(Message::Note(note.describe(&PythonTerms)));
            }
            _ => {}
        }
        if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
