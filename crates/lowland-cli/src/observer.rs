//! What a person or a program sees of a run: a bar on a terminal, lines elsewhere, JSON events on request; and Ctrl-C and
//! checkpoints, which are observers too.

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use lowland::run::{Event, Observer, Stage};
use serde_json::{Value, json};

use crate::args::RunArgs;
use crate::failure::{Failure, STOPPED};
use crate::live::Live;
use crate::usage::{Stopwatch, Used, peak_memory};

/// Words go to stderr. A closed stderr is nobody's concern.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Data go to stdout.
pub fn emit(value: &Value) {
    let _ = writeln!(std::io::stdout(), "{value}");
}

/// What one stage took.
pub struct StageUse {
    pub name: String,
    pub used: Used,
    pub peak_memory: u64,
}

enum Show {
    Bar(ProgressBar),
    Lines { last: Instant },
    Json { last: Instant },
    Nothing,
}

/// Saves the state of the run from time to time.
pub struct Checkpoints {
    path: PathBuf,
    every: Duration,
    last: Instant,
    count: usize,
}

/// The observer of every command.
pub struct Console {
    show: Show,
    stop: Arc<AtomicBool>,
    has_map: Arc<AtomicBool>,
    checkpoints: Option<Checkpoints>,
    live: Option<Live>,
    stages: Vec<Stage>,
    current: Option<(String, Stopwatch)>,
    started: Instant,
    /// Share of the whole that is done, by the stages' weights.
    done_before: f64,
    fraction: f64,
    step: Option<(usize, f64)>,
    pub uses: Vec<StageUse>,
}

const REFRESH: Duration = Duration::from_secs(5);

impl Console {
    /// Installs the Ctrl-C handler. While there is no map to keep, it ends the process; once there is one, the first
    /// Ctrl-C asks the run to stop and the second ends the process. A stop that the live page asked for is no Ctrl-C.
    pub fn new(run: &RunArgs) -> Result<Self, Failure> {
        let (stop, has_map) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (asked, keep, pressed) = (Arc::clone(&stop), Arc::clone(&has_map), AtomicBool::new(false));
        ctrlc::set_handler(move || {
            asked.store(true, Ordering::Relaxed);
            let again = pressed.swap(true, Ordering::Relaxed);
            if again || !keep.load(Ordering::Relaxed) {
                say(if again { "\nended at once" } else { "\nstopped before there was anything to keep" });
                std::process::exit(i32::from(STOPPED));
            }
        })
        .map_err(|error| anyhow::anyhow!("cannot watch for Ctrl-C: {error}"))?;
        let now = Instant::now();
        let show = if run.json {
            Show::Json { last: now }
        } else if run.quiet {
            Show::Nothing
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::new(1000);
            bar.set_style(
                ProgressStyle::with_template("{prefix:<14} {bar:30} {percent:>3} %  {msg}").expect("a valid template"),
            );
            Show::Bar(bar)
        } else {
            Show::Lines { last: now }
        };
        Ok(Self {
            show,
            stop,
            has_map,
            checkpoints: None,
            live: None,
            stages: Vec::new(),
            current: None,
            started: now,
            done_before: 0.0,
            fraction: 0.0,
            step: None,
            uses: Vec::new(),
        })
    }

    /// Adds checkpoints.
    pub fn keep_checkpoints(&mut self, path: PathBuf, every: f64) -> Result<(), Failure> {
        let every = Duration::try_from_secs_f64(every)
            .map_err(|_| Failure::flag(format!("--checkpoint-every {every}: a number of seconds, 0 or more")))?;
        self.checkpoints = Some(Checkpoints { path, every, last: Instant::now(), count: 0 });
        Ok(())
    }

    /// Serves this page, which shows the map as it is fitted and can stop the run as Ctrl-C does.
    pub fn go_live(&mut self, page: Vec<u8>, rows: usize, method: &str) -> Result<(), Failure> {
        let live = Live::start(page, rows, method, Arc::clone(&self.stop))?;
        let address = live.address();
        match &self.show {
            Show::Json { .. } => emit(&json!({ "event": "live", "address": address })),
            _ => self.note(&format!("live: {address}")),
        }
        self.live = Some(live);
        Ok(())
    }

    /// The page that follows the run, given up.
    pub fn take_live(&mut self) -> Option<Live> {
        self.live.take()
    }

    /// Says so when checkpoints were asked for and there was no time to make one.
    pub fn account_for_checkpoints(&mut self) {
        if self.checkpoints.as_ref().is_some_and(|checkpoints| checkpoints.count == 0) {
            self.note("no checkpoint was written: the run was over before the first was due");
        }
    }

    /// A progress callback for work outside a fit.
    pub fn progress<T>(
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

    /// Says something between the lines of progress.
    pub fn note(&mut self, text: &str) {
        match &self.show {
            Show::Bar(bar) => bar.suspend(|| say(text)),
            Show::Lines { .. } => say(text),
            Show::Json { .. } => emit(&json!({ "event": "note", "text": text })),
            Show::Nothing => {}
        }
    }

    /// Clears the bar.
    pub fn finish(&mut self) {
        if let Show::Bar(bar) = &self.show {
            bar.finish_and_clear();
        }
    }

    /// From now on Ctrl-C keeps what there is.
    pub fn keep_the_map(&self) {
        self.has_map.store(true, Ordering::Relaxed);
    }

    /// Whether someone asked to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn weight_of(&self, name: &str) -> f64 {
        let total: f64 = self.stages.iter().map(|stage| stage.weight).sum();
        self.stages
            .iter()
            .find(|stage| stage.name == name)
            .map_or(0.0, |stage| stage.weight / total.max(f64::MIN_POSITIVE))
    }

    fn done(&self) -> f64 {
        let share = self.current.as_ref().map_or(0.0, |(name, _)| self.weight_of(name));
        (self.done_before + share * self.fraction.clamp(0.0, 1.0)).clamp(0.0, 1.0)
    }

    /// `iteration 12, 3e-4, 8 s left`
    fn words(&self) -> String {
        let mut parts = Vec::new();
        if let Some((iteration, objective)) = self.step {
            parts.push(format!("iteration {iteration}, {objective:.4e}"));
        }
        let (done, elapsed) = (self.done(), self.started.elapsed().as_secs_f64());
        if done > 0.02 && elapsed > 0.5 {
            parts.push(format!("{} left", duration(elapsed * (1.0 - done) / done)));
        }
        parts.join(", ")
    }

    fn refresh(&mut self) {
        let (done, words) = (self.done(), self.words());
        let name = self.current.as_ref().map_or("", |(name, _)| name);
        match &mut self.show {
            Show::Bar(bar) => {
                bar.set_prefix(name.to_string());
                bar.set_position((done * 1000.0) as u64);
                bar.set_message(words);
            }
            Show::Lines { last } if last.elapsed() >= REFRESH => {
                *last = Instant::now();
                say(&format!("{name}: {:.0} % of all, {words}", done * 100.0));
            }
            Show::Json { last } if last.elapsed() >= Duration::from_millis(200) => {
                *last = Instant::now();
                emit(&json!({ "event": "progress", "stage": name, "done": done }));
            }
            _ => {}
        }
    }

    fn end_stage(&mut self, name: &str) {
        let Some((_, watch)) = self.current.take() else { return };
        let used = watch.used();
        self.done_before += self.weight_of(name);
        match &self.show {
            Show::Lines { .. } if used.wall_seconds >= 0.05 => {
                say(&format!("{name}: {}", duration(used.wall_seconds)));
            }
            Show::Json { .. } => emit(&json!({
                "event": "stage", "stage": name, "wall_seconds": used.wall_seconds, "cpu_seconds": used.cpu_seconds,
            })),
            _ => {}
        }
        self.uses.push(StageUse { name: name.into(), used, peak_memory: peak_memory() });
    }

    fn save_checkpoint(&mut self, stopped: bool, checkpoint: &dyn Fn() -> lowland::archive::Archive) {
        let Some(checkpoints) = &mut self.checkpoints else { return };
        if checkpoints.last.elapsed() < checkpoints.every && !stopped {
            return;
        }
        let written = lowland_io::write_bytes(&checkpoints.path, &checkpoint().to_bytes());
        checkpoints.last = Instant::now();
        checkpoints.count += 1;
        if let Err(error) = written {
            let text = format!("warning: the checkpoint could not be written: {error}");
            self.note(&text);
        }
    }
}

impl Observer for Console {
    fn wants_checkpoints(&self) -> bool {
        self.checkpoints.is_some()
    }

    fn on(&mut self, event: &Event) -> ControlFlow<()> {
        // Looked at once: a run that stops here must have left its checkpoint here.
        let stopped = self.stopped();
        match event {
            Event::Plan(stages) => {
                if let Show::Bar(bar) = &self.show {
                    bar.reset();
                }
                self.stages = stages.to_vec();
                self.done_before = 0.0;
                self.started = Instant::now();
            }
            Event::StageStart(name) => {
                self.current = Some((name.to_string(), Stopwatch::start()));
                self.fraction = 0.0;
                self.step = None;
                if let Some(live) = &self.live {
                    live.stage(name);
                }
                self.refresh();
            }
            Event::StageProgress(done) => {
                self.fraction = *done;
                self.refresh();
            }
            Event::StageEnd(name) => self.end_stage(name),
            Event::Step { step, done, embedding, checkpoint } => {
                self.fraction = *done;
                self.step = Some((step.iteration, step.objective));
                self.keep_the_map();
                self.save_checkpoint(stopped, checkpoint);
                if let Some(live) = &mut self.live {
                    live.step(step, *done, embedding);
                }
                if let Show::Json { .. } = self.show {
                    emit(&json!({ "event": "step", "iteration": step.iteration, "objective": step.objective }));
                } else {
                    self.refresh();
                }
            }
            Event::Note(text) => self.note(text),
            _ => {}
        }
        if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// `450 ms`, `3.2 s`, `4 min 10 s`.
pub fn duration(seconds: f64) -> String {
    if seconds < 0.995 {
        format!("{:.0} ms", seconds * 1e3)
    } else if seconds < 59.95 {
        format!("{seconds:.1} s")
    } else if seconds < 3600.0 {
        format!("{} min {:02.0} s", (seconds / 60.0) as u64, (seconds % 60.0).floor())
    } else {
        format!("{} h {:02} min", (seconds / 3600.0) as u64, (seconds % 3600.0 / 60.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_given_as_people_say_them() {
        assert_eq!(duration(0.25), "250 ms");
        assert_eq!(duration(12.34), "12.3 s");
        assert_eq!(duration(250.0), "4 min 10 s");
        assert_eq!(duration(7300.0), "2 h 01 min");
    }
}
