//! Steppers: EM, descent, alternating updates and eigensolvers share one interface, and [`run`] is the loop around them.

use crate::archive::Archive;
use crate::{Embedding, Error, Result};

use super::Context;

/// An iterative algorithm that improves an embedding step by step.
pub trait Stepper {
    /// Performs one iteration.
    fn step(&mut self) -> Result<Step>;
    /// Returns the current embedding.
    fn embedding(&self) -> Embedding;
    /// Returns the length of the gradient that the last iteration followed, if the algorithm has one.
    fn gradient_norm(&self) -> Option<f64> {
        None
    }
    /// Writes the complete state to `archive`, so that a restored stepper continues with identical results.
    fn save(&self, archive: &mut Archive);
    /// Restores a saved state.
    fn restore(&mut self, archive: &Archive) -> Result<()>;
}

/// The result of an iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Number of iterations so far, including this one.
    pub iteration: usize,
    /// Objective after the iteration: a likelihood, a cost or an error.
    pub objective: f64,
    /// Measure of convergence, defined by the stepper and compared with the tolerance.
    pub change: f64,
}

/// When the iterations stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StopRule {
    /// Maximum number of iterations.
    pub max_iter: usize,
    /// Stop when [`Step::change`] is at most this.
    pub tol: f64,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The tolerance was reached.
    Converged,
    /// The maximum number of iterations was reached, or no further progress is possible.
    Exhausted,
    /// The observer stopped the run.
    Stopped,
}

impl StopReason {
    /// Returns `converged`, `exhausted` or `stopped`.
    pub fn name(self) -> &'static str {
        match self {
            StopReason::Converged => "converged",
            StopReason::Exhausted => "exhausted",
            StopReason::Stopped => "stopped",
        }
    }
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Result of every iteration.
    pub trace: Vec<Step>,
    /// Why the run ended.
    pub stop_reason: StopReason,
}

impl Outcome {
    /// Returns the outcome of a method without iterations.
    pub fn without_iterations() -> Self {
        Self { trace: Vec::new(), stop_reason: StopReason::Converged }
    }

    /// Writes the outcome to an archive under `name/`: the number of iterations, then iteration, objective and change of each.
    pub fn save(&self, name: &str, archive: &mut Archive) {
        // The first change of some methods is infinite, and archives are checked for damage.
        let finite = |change: f64| if change.is_finite() { change } else { f64::MAX };
        let mut trace = vec![self.trace.len() as f64];
        trace.extend(self.trace.iter().flat_map(|step| [step.iteration as f64, step.objective, finite(step.change)]));
        archive.put(format!("{name}/trace"), trace);
        archive.put(format!("{name}/stop_reason"), self.stop_reason.name());
    }

    /// Reads an outcome that was saved under `name/`; there is none in files of earlier versions.
    pub fn load(name: &str, archive: &Archive) -> Result<Self> {
        if archive.version() < 3 {
            return Ok(Self::without_iterations());
        }
        let trace = archive.finite(&format!("{name}/trace"))?;
        let text = archive.text(&format!("{name}/stop_reason"))?;
        let known = [StopReason::Converged, StopReason::Exhausted, StopReason::Stopped];
        let stop_reason = known.into_iter().find(|reason| reason.name() == text);
        let steps = trace.get(1..).unwrap_or_default();
        let complete = steps.len().is_multiple_of(3) && trace.first() == Some(&((steps.len() / 3) as f64));
        let (Some(stop_reason), true) = (stop_reason, complete) else {
            return Err(archive.invalid(format!("the entries of '{name}' do not fit together")));
        };
        let step = |step: &[f64]| Step { iteration: step[0] as usize, objective: step[1], change: step[2] };
        Ok(Self { trace: steps.chunks_exact(3).map(step).collect(), stop_reason })
    }

    /// Replaces `Converged` by `Exhausted` if the stepper gave up before it converged.
    pub fn exhausted_if(mut self, gave_up: bool) -> Self {
        if gave_up && self.stop_reason == StopReason::Converged {
            self.stop_reason = StopReason::Exhausted;
        }
        self
    }
}

/// Iterates until the stop rule is met or the observer stops the run. Restores the checkpoint of the context first, if there
/// is one.
pub fn run(stepper: &mut dyn Stepper, rule: StopRule, context: &mut Context) -> Result<Outcome> {
    let mut trace = match context.checkpoint() {
        Some(archive) => {
            stepper.restore(archive)?;
            restore_trace(archive)?
        }
        None => Vec::new(),
    };
    loop {
        if trace.last().is_some_and(|last| last.change <= rule.tol) {
            return Ok(Outcome { trace, stop_reason: StopReason::Converged });
        }
        if trace.len() >= rule.max_iter {
            return Ok(Outcome { trace, stop_reason: StopReason::Exhausted });
        }
        let step = stepper.step()?;
        if !step.objective.is_finite() {
            let reason = format!("the objective became {} at iteration {}", step.objective, step.iteration);
            return Err(Error::Numerical { what: "the iteration", reason });
        }
        trace.push(step);
        if context.report_step(completed_fraction(&trace, rule), stepper, &trace).is_break() {
            return Ok(Outcome { trace, stop_reason: StopReason::Stopped });
        }
    }
}

/// Estimates the completed fraction: by the number of iterations, or by the decrease of the change towards the tolerance on
/// a logarithmic scale, whichever is larger.
fn completed_fraction(trace: &[Step], rule: StopRule) -> f64 {
    let (first, last) = (trace[0].change, trace[trace.len() - 1].change);
    let by_change = (first / last.max(rule.tol)).ln() / (first / rule.tol).ln();
    let by_count = trace.len() as f64 / rule.max_iter as f64;
    // Without a tolerance the ratio is NaN, and `max` returns the other operand.
    by_change.clamp(0.0, 1.0).max(by_count)
}

/// Writes the trace to a checkpoint.
pub(super) fn save_trace(trace: &[Step], archive: &mut Archive) {
    archive.put("run/iteration", trace.iter().map(|s| s.iteration as u64).collect::<Vec<_>>());
    archive.put("run/objective", trace.iter().map(|s| s.objective).collect::<Vec<_>>());
    archive.put("run/change", trace.iter().map(|s| s.change).collect::<Vec<_>>());
}

fn restore_trace(archive: &Archive) -> Result<Vec<Step>> {
    let (iterations, objectives, changes) =
        (archive.sizes("run/iteration")?, archive.finite("run/objective")?, archive.f64s("run/change")?);
    if objectives.len() != iterations.len() || changes.len() != iterations.len() {
        return Err(archive.invalid("the parts of its trace differ in length".into()));
    }
    let steps = iterations.iter().zip(objectives).zip(changes);
    Ok(steps.map(|((&iteration, &objective), &change)| Step { iteration, objective, change }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_completed_fraction_follows_the_count_or_the_change() {
        let trace = |changes: &[f64]| -> Vec<Step> {
            let step = |(i, &change): (usize, &f64)| Step { iteration: i + 1, objective: 0.0, change };
            changes.iter().enumerate().map(step).collect()
        };
        let rule = StopRule { max_iter: 100, tol: 1e-4 };
        assert!((completed_fraction(&trace(&[1.0, 1e-2]), rule) - 0.5).abs() < 1e-12);
        assert!((completed_fraction(&trace(&[1.0, 1e-9]), rule) - 1.0).abs() < 1e-12);
        assert_eq!(completed_fraction(&trace(&[1.0, 2.0]), rule), 0.02);
        assert_eq!(completed_fraction(&trace(&[0.0, 0.0]), StopRule { max_iter: 100, tol: 0.0 }), 0.02);
        assert_eq!(completed_fraction(&trace(&[1.0, 0.5]), StopRule { max_iter: 100, tol: 0.0 }), 0.02);
    }
}
