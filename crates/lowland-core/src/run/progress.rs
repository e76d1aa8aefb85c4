//! Overall progress of a run, computed from its events.

use std::time::{Duration, Instant};

use super::{Event, Stage};

/// Computes the completed fraction and the remaining time of a run from its events.
#[derive(Debug, Clone)]
pub struct ProgressTracker {
    stages: Vec<Stage>,
    stage: String,
    /// Fraction of the work done by the finished stages.
    finished: f64,
    /// Completed fraction of the current stage.
    fraction: f64,
    step: Option<(usize, f64)>,
    started: Instant,
}

impl Default for ProgressTracker {
    fn default() -> Self {
        Self {
            stages: Vec::new(),
            stage: String::new(),
            finished: 0.0,
            fraction: 0.0,
            step: None,
            started: Instant::now(),
        }
    }
}

impl ProgressTracker {
    /// Updates the progress with an event.
    pub fn update(&mut self, event: &Event) {
        match event {
            Event::Plan(stages) => *self = Self { stages: stages.to_vec(), ..Self::default() },
            Event::StageStart(name) => {
                (self.stage, self.fraction, self.step) = (name.to_string(), 0.0, None);
            }
            Event::StageProgress(done) => self.fraction = *done,
            Event::Step { step, done, .. } => {
                self.fraction = *done;
                self.step = Some((step.iteration, step.objective));
            }
            Event::StageEnd(name) => {
                self.finished += self.share(name);
                (self.stage, self.fraction) = (String::new(), 0.0);
            }
            Event::Note(_) => {}
        }
    }

    /// Returns the name of the current stage; empty between stages.
    pub fn stage(&self) -> &str {
        &self.stage
    }

    /// Returns the number of iterations of the current stage and the last objective.
    pub fn step(&self) -> Option<(usize, f64)> {
        self.step
    }

    /// Returns the completed fraction of the run, 0 to 1, based on the expected times of the stages.
    pub fn fraction(&self) -> f64 {
        (self.finished + self.share(&self.stage) * self.fraction.clamp(0.0, 1.0)).clamp(0.0, 1.0)
    }

    /// Returns the estimated remaining time; `None` while it is too early for an estimate.
    pub fn remaining(&self) -> Option<Duration> {
        let (done, elapsed) = (self.fraction(), self.started.elapsed().as_secs_f64());
        let known = done > 0.02 && elapsed > 0.5;
        known.then(|| Duration::from_secs_f64(elapsed * (1.0 - done) / done))
    }

    fn share(&self, name: &str) -> f64 {
        let total: f64 = self.stages.iter().map(|stage| stage.weight).sum();
        let own = self.stages.iter().find(|stage| stage.name == name);
        own.map_or(0.0, |stage| stage.weight / total.max(f64::MIN_POSITIVE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_weighted_by_their_expected_time() {
        let mut tracker = ProgressTracker::default();
        tracker.update(&Event::Plan(&[Stage { name: "first", weight: 1.0 }, Stage { name: "second", weight: 3.0 }]));
        tracker.update(&Event::StageStart("first"));
        tracker.update(&Event::StageProgress(0.5));
        assert_eq!((tracker.fraction(), tracker.stage()), (0.125, "first"));
        tracker.update(&Event::StageEnd("first"));
        assert_eq!(tracker.fraction(), 0.25);
        tracker.update(&Event::StageStart("second"));
        tracker.update(&Event::StageProgress(7.0));
        assert_eq!(tracker.fraction(), 1.0);
    }
}
