//! Follows a fit with an observer: shows progress, keeps a checkpoint, stops early, and resumes later.
//!
//! ```sh
//! cargo run --release --example custom_observer
//! ```
#![allow(clippy::print_stdout)]

use std::ops::ControlFlow;

use lowland::methods::Tsne;
use lowland::run::{Archive, Event, Observer, ProgressTracker, StopReason};
use lowland::{Data, FitOptions, Result, Seed};

/// Prints progress and stops after a number of iterations.
struct StopAfter {
    iterations: usize,
    /// Computes the overall progress and the remaining time from the events.
    tracker: ProgressTracker,
    /// The state of the fit when it was stopped.
    checkpoint: Option<Archive>,
}

impl Observer for StopAfter {
    fn on(&mut self, event: &Event) -> ControlFlow<()> {
        self.tracker.update(event);
        match event {
            Event::StageStart(name) => println!("{name} ..."),
            Event::Step { step, embedding, checkpoint, .. } => {
                if step.iteration.is_multiple_of(25) {
                    // `embedding` and `checkpoint` are closures, because they copy; call them only when needed.
                    let first = embedding().row(0).to_vec();
                    let percent = 100.0 * self.tracker.fraction();
                    println!("{percent:3.0} %: iteration {}, objective {:.4}", step.iteration, step.objective);
                    println!("       row 0 at {first:.3?}");
                }
                if step.iteration == self.iterations {
                    self.checkpoint = Some(checkpoint());
                    // Stop, and keep the embedding as it is now.
                    return ControlFlow::Break(());
                }
            }
            // Everything else is of no interest here. New kinds of events may be added.
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn main() -> Result<()> {
    let data = Data::dense(Seed(1).normals(300 * 8).into_iter().map(|v| v as f32).collect(), 8)?;
    let method = Tsne { max_iter: 60, exaggeration_iter: 20, ..Tsne::default() };

    let mut observer = StopAfter { iterations: 50, tracker: ProgressTracker::default(), checkpoint: None };
    let stopped = method.fit_with(&data, FitOptions { observer: Some(&mut observer), ..FitOptions::default() })?;
    assert_eq!(stopped.outcome().stop_reason, StopReason::Stopped);
    assert_eq!(stopped.outcome().trace.len(), 50);

    // Continuing from the checkpoint gives the same bytes as a fit that was never stopped.
    let checkpoint = observer.checkpoint.expect("taken when the fit was stopped");
    let resumed = method.fit_with(&data, FitOptions { resume: Some(&checkpoint), ..FitOptions::default() })?;
    let uninterrupted = method.fit(&data)?;
    assert_eq!(resumed.embedding(), uninterrupted.embedding());

    // A closure is an observer too. This one counts the stages.
    let mut stages = 0;
    let mut count = |event: &Event| {
        stages += usize::from(matches!(event, Event::StageStart(_)));
        ControlFlow::Continue(())
    };
    method.fit_with(&data, FitOptions { observer: Some(&mut count), ..FitOptions::default() })?;
    println!("{stages} stages");
    assert!(stages > 1);
    Ok(())
}
