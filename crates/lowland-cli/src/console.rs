//! The observer of every command: progress as a bar on a terminal, as lines elsewhere, or as JSON events; Ctrl-C;
//! checkpoints; the live page.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use lowland::message::{Note, NoteLevel};
use lowland::run::{Archive, Event, Observer, ProgressTracker, Stage};
use serde_json::json;

use crate::args::RunArgs;
use crate::failure::{Failure, STOPPED};
use crate::live::LivePage;
use crate::print::{format_duration, print_json, print_stderr};
use crate::terms::FlagTerms;
use crate::usage::{ResourceUsage, Stopwatch, peak_memory};

/// Resources used by one stage.
pub struct StageUsage {
    pub name: String,
    pub usage: ResourceUsage,
    pub peak_memory: u64,
}

/// How progress is displayed.
enum ProgressDisplay {
    Bar(ProgressBar),
    Lines { last: Instant },
    Json { last: Instant },
    Quiet,
}

/// Writes checkpoints at intervals.
struct CheckpointWriter {
    path: PathBuf,
    interval: Duration,
    last: Instant,
    count: usize,
}

/// The observer of every command.
pub struct Console {
    display: ProgressDisplay,
    stop: Arc<AtomicBool>,
    has_map: Arc<AtomicBool>,
    checkpoints: Option<CheckpointWriter>,
    live: Option<LivePage>,
    progress: ProgressTracker,
    stage_watch: Option<Stopwatch>,
    stages: Vec<StageUsage>,
}

/// Time between lines of progress.
const LINE_INTERVAL: Duration = Duration::from_secs(5);
/// Time between JSON events of progress.
const EVENT_INTERVAL: Duration = Duration::from_millis(200);
/// Stages shorter than this are not mentioned in lines of progress.
const SHORT_STAGE_SECONDS: f64 = 0.05;

impl Console {
    /// Creates the console and installs the Ctrl-C handler. Before there is a map to keep, Ctrl-C ends the process;
    /// afterwards, the first Ctrl-C asks the run to stop and the second ends the process. A stop requested from the live page
    /// does not count as Ctrl-C.
    pub fn new(run: &RunArgs) -> Result<Self, Failure> {
        let (stop, has_map) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (requested, keep, pressed) = (Arc::clone(&stop), Arc::clone(&has_map), AtomicBool::new(false));
        ctrlc::set_handler(move || {
            requested.store(true, Ordering::Relaxed);
            let again = pressed.swap(true, Ordering::Relaxed);
            if again || !keep.load(Ordering::Relaxed) {
                print_stderr(if again { "\nstopped at once" } else { "\nstopped before there was anything to keep" });
                std::process::exit(i32::from(STOPPED));
            }
        })
        .map_err(|error| Failure::runtime(format!("cannot handle Ctrl-C: {error}")))?;
        let now = Instant::now();
        let display = if run.json {
            ProgressDisplay::Json { last: now }
        } else if run.quiet {
            ProgressDisplay::Quiet
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::new(1000);
            bar.set_style(
                ProgressStyle::with_template("{prefix:<14} {bar:30} {percent:>3} %  {msg}").expect("a valid template"),
            );
            ProgressDisplay::Bar(bar)
        } else {
            ProgressDisplay::Lines { last: now }
        };
        Ok(Self {
            display,
            stop,
            has_map,
            checkpoints: None,
            live: None,
            progress: ProgressTracker::default(),
            stage_watch: None,
            stages: Vec::new(),
        })
    }

    /// Writes checkpoints to a file, at intervals of `seconds`.
    pub fn write_checkpoints(&mut self, path: PathBuf, seconds: f64) -> Result<(), Failure> {
        let interval = Duration::try_from_secs_f64(seconds)
            .map_err(|_| Failure::flag(format!("--checkpoint-every {seconds}: a number of seconds, 0 or more")))?;
        self.checkpoints = Some(CheckpointWriter { path, interval, last: Instant::now(), count: 0 });
        Ok(())
    }

    /// Serves a page that shows the map during the fit and can stop the run.
    pub fn serve_live_page(&mut self, page: Vec<u8>, rows: usize, method: &str) -> Result<(), Failure> {
        let live = LivePage::start(page, rows, method, Arc::clone(&self.stop))?;
        let address = live.address();
        match &self.display {
            ProgressDisplay::Json { .. } => print_json(&json!({ "event": "live", "address": address })),
            _ => self.info(&format!("live: {address}")),
        }
        self.live = Some(live);
        Ok(())
    }

    /// Stops updating the live page and returns it.
    pub fn take_live_page(&mut self) -> Option<LivePage> {
        self.live.take()
    }

    /// Resources used by the stages so far.
    pub fn stages(&self) -> &[StageUsage] {
        &self.stages
    }

    /// Prints a message if checkpoints were requested but the run was too short for one.
    pub fn report_missing_checkpoint(&mut self) {
        if self.checkpoints.as_ref().is_some_and(|checkpoints| checkpoints.count == 0) {
            self.info("no checkpoint was written: the run ended before the first was due");
        }
    }

    /// Runs work outside of a fit as a stage of its own, with its progress.
    pub fn run_stage<T>(
        &mut self,
        name: &'static str,
        work: impl FnOnce(&mut lowland::run::Progress) -> lowland::Result<T>,
    ) -> lowland::Result<T> {
        let _ = self.on(&Event::Plan(&[Stage { name, weight: 1.0 }]));
        let _ = self.on(&Event::StageStart(name));
        let result = work(&mut |done| match self.on(&Event::StageProgress(done)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(lowland::Error::Stopped { stage: name }),
        });
        let _ = self.on(&Event::StageEnd(name));
        result
    }

    /// Prints a message between the lines of progress.
    pub fn info(&mut self, text: &str) {
        match &self.display {
            ProgressDisplay::Bar(bar) => bar.suspend(|| print_stderr(text)),
            ProgressDisplay::Lines { .. } => print_stderr(text),
            ProgressDisplay::Json { .. } => print_json(&json!({ "event": "note", "text": text })),
            ProgressDisplay::Quiet => {}
        }
    }

    /// Prints a warning.
    pub fn warn(&mut self, text: &str) {
        self.info(&format!("warning: {text}"));
    }

    /// Prints a note of the library.
    pub fn note(&mut self, note: &Note) {
        let text = note.describe(&FlagTerms);
        match note.level() {
            NoteLevel::Info => self.info(&text),
            NoteLevel::Warning => self.warn(&text),
        }
    }

    /// Whether events are printed as JSON.
    pub fn is_json(&self) -> bool {
        matches!(self.display, ProgressDisplay::Json { .. })
    }

    /// Clears the progress bar, and says what was computed on a card besides fits, whose notes say so themselves.
    pub fn finish(&mut self) {
        if let ProgressDisplay::Bar(bar) = &self.display {
            bar.finish_and_clear();
        }
        lowland::device::take_notes().iter().for_each(|note| self.note(note));
    }

    /// From now on, Ctrl-C stops the run instead of ending the process.
    pub fn keep_map_on_stop(&self) {
        self.has_map.store(true, Ordering::Relaxed);
    }

    /// Whether a stop was requested.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The exit code of a command that has written its results: success, or stopped.
    pub fn exit_code(&self) -> std::process::ExitCode {
        if self.stopped() { STOPPED.into() } else { std::process::ExitCode::SUCCESS }
    }

    /// Describes the state of the current stage: `iteration 12, 3e-4, 8 s left`.
    fn status(&self) -> String {
        let step = self.progress.step().map(|(iteration, objective)| format!("iteration {iteration}, {objective:.4e}"));
        let remaining = self.progress.remaining().map(|time| format!("{} left", format_duration(time.as_secs_f64())));
        step.into_iter().chain(remaining).collect::<Vec<_>>().join(", ")
    }

    fn refresh(&mut self) {
        let (done, stage, status) = (self.progress.fraction(), self.progress.stage(), self.status());
        match &mut self.display {
            ProgressDisplay::Bar(bar) => {
                bar.set_prefix(stage.to_string());
                bar.set_position((done * 1000.0) as u64);
                bar.set_message(status);
            }
            ProgressDisplay::Lines { last } if last.elapsed() >= LINE_INTERVAL => {
                *last = Instant::now();
                print_stderr(&format!("{stage}: {:.0} % of all, {status}", done * 100.0));
            }
            ProgressDisplay::Json { last } if last.elapsed() >= EVENT_INTERVAL => {
                *last = Instant::now();
                print_json(&json!({ "event": "progress", "stage": stage, "done": done }));
            }
            _ => {}
        }
    }

    fn end_stage(&mut self, name: &str) {
        let Some(watch) = self.stage_watch.take() else { return };
        let usage = watch.elapsed();
        match &self.display {
            ProgressDisplay::Lines { .. } if usage.wall_seconds >= SHORT_STAGE_SECONDS => {
                print_stderr(&format!("{name}: {}", format_duration(usage.wall_seconds)));
            }
            ProgressDisplay::Json { .. } => print_json(&json!({
                "event": "stage", "stage": name, "wall_seconds": usage.wall_seconds, "cpu_seconds": usage.cpu_seconds,
            })),
            _ => {}
        }
        self.stages.push(StageUsage { name: name.into(), usage, peak_memory: peak_memory() });
    }

    fn write_checkpoint(&mut self, stopped: bool, checkpoint: &dyn Fn() -> Archive) {
        let Some(checkpoints) = &mut self.checkpoints else { return };
        if checkpoints.last.elapsed() < checkpoints.interval && !stopped {
            return;
        }
        let archive = checkpoint();
        if !archive.is_complete() {
            // The run is about to end with an error; what was written before can be resumed.
            return;
        }
        let result = lowland_io::write_bytes(&checkpoints.path, &archive.to_bytes());
        checkpoints.last = Instant::now();
        checkpoints.count += 1;
        if let Err(error) = result {
            self.warn(&format!("the checkpoint could not be written: {}", error.describe(&FlagTerms)));
        }
    }
}

impl Observer for Console {
    fn wants_checkpoints(&self) -> bool {
        self.checkpoints.is_some()
    }

    fn on(&mut self, event: &Event) -> ControlFlow<()> {
        // Read once: a run that stops at this event must have written its checkpoint at this event.
        let stopped = self.stopped();
        self.progress.update(event);
        match event {
            Event::Plan(_) => {
                if let ProgressDisplay::Bar(bar) = &self.display {
                    bar.reset();
                }
            }
            Event::StageStart(name) => {
                self.stage_watch = Some(Stopwatch::start());
                if let Some(live) = &self.live {
                    live.show_stage(name);
                }
                self.refresh();
            }
            Event::StageProgress(_) => self.refresh(),
            Event::StageEnd(name) => self.end_stage(name),
            Event::Step { step, embedding, checkpoint, .. } => {
                self.keep_map_on_stop();
                self.write_checkpoint(stopped, checkpoint);
                if let Some(live) = &mut self.live {
                    live.show_step(step, self.progress.fraction(), embedding);
                }
                if let ProgressDisplay::Json { .. } = self.display {
                    print_json(&json!({ "event": "step", "iteration": step.iteration, "objective": step.objective }));
                } else {
                    self.refresh();
                }
            }
            Event::Note(note) => self.note(note),
            _ => {}
        }
        if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
