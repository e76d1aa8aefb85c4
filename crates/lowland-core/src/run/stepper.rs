//! Iterations: EM, descent, alternation and eigensolvers alike are steppers, and [`run`] is the loop around them.

use crate::archive::Archive;
use crate::{Embedding, Error, Result};

use super::Context;

/// Something that improves a map step by step.
pub trait Stepper {
    /// One iteration.
    fn step(&mut self) -> Result<Step>;
    /// The map now.
    fn embedding(&self) -> Embedding;
    /// Puts the whole state into `archive`, so that [`Stepper::restore`] goes on with the same bytes.
    fn save(&self, archive: &mut Archive);
    /// Takes up a saved state.
    fn restore(&mut self, archive: &Archive) -> Result<()>;
}

/// What one iteration achieved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Iterations made so far, this one included.
    pub iteration: usize,
    /// The objective after it: a likelihood, a cost, or an error that falls.
    pub objective: f64,
    /// Size of the change that is left to make, in the stepper's own terms; compared with the tolerance.
    pub change: f64,
}

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StopRule {
    /// Iterations at the most.
    pub max_iter: usize,
    /// Stop when [`Step::change`] is at or below this.
    pub tol: f64,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The tolerance was reached.
    Converged,
    /// All iterations were made, or more of them would not help.
    Exhausted,
    /// The observer asked to stop; the map is what there was then.
    Stopped,
}

/// How a run went.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Every iteration.
    pub trace: Vec<Step>,
    /// Why it ended.
    pub stop_reason: StopReason,
}

impl Outcome {
    /// Of a method that needs no iterations.
    pub fn without_iterations() -> Self {
        Self { trace: Vec::new(), stop_reason: StopReason::Converged }
    }

    /// Corrected for a stepper that ended by giving up instead of reaching its goal.
    pub fn exhausted_if(mut self, gave_up: bool) -> Self {
        if gave_up && self.stop_reason == StopReason::Converged {
            self.stop_reason = StopReason::Exhausted;
        }
        self
    }
}

/// Steps until the rule or the observer says stop. A checkpoint in the context is taken up first.
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
        if context.report_step(done(&trace, rule), stepper, &trace).is_break() {
            return Ok(Outcome { trace, stop_reason: StopReason::Stopped });
        }
    }
}

/// Share of the way, as far as can be told: by iterations, or by how far the change has come down to the tolerance on a
/// logarithmic scale, whichever is further.
fn done(trace: &[Step], rule: StopRule) -> f64 {
    let (first, last) = (trace[0].change, trace[trace.len() - 1].change);
    let by_change = (first / last.max(rule.tol)).ln() / (first / rule.tol).ln();
    let by_count = trace.len() as f64 / rule.max_iter as f64;
    // Without a tolerance, or with none left to reach, the ratio is not a number and the count decides.
    by_change.clamp(0.0, 1.0).max(by_count)
}

/// Puts the trace beside the stepper's state.
pub(super) fn save_trace(trace: &[Step], archive: &mut Archive) {
    archive.put("run/iteration", trace.iter().map(|s| s.iteration as u64).collect::<Vec<_>>());
    archive.put("run/objective", trace.iter().map(|s| s.objective).collect::<Vec<_>>());
    archive.put("run/change", trace.iter().map(|s| s.change).collect::<Vec<_>>());
}

fn restore_trace(archive: &Archive) -> Result<Vec<Step>> {
    let (iterations, objectives, changes) =
        (archive.sizes("run/iteration")?, archive.f64s("run/objective")?, archive.f64s("run/change")?);
    if objectives.len() != iterations.len() || changes.len() != iterations.len() {
        return Err(archive.invalid("the trace's parts differ in length".into()));
    }
    let steps = iterations.iter().zip(objectives).zip(changes);
    Ok(steps.map(|((&iteration, &objective), &change)| Step { iteration, objective, change }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_done_follows_the_count_or_the_change() {
        let trace = |changes: &[f64]| -> Vec<Step> {
            let step = |(i, &change): (usize, &f64)| Step { iteration: i + 1, objective: 0.0, change };
            changes.iter().enumerate().map(step).collect()
        };
        let rule = StopRule { max_iter: 100, tol: 1e-4 };
        assert!((done(&trace(&[1.0, 1e-2]), rule) - 0.5).abs() < 1e-12);
        assert!((done(&trace(&[1.0, 1e-9]), rule) - 1.0).abs() < 1e-12);
        assert_eq!(done(&trace(&[1.0, 2.0]), rule), 0.02);
        assert_eq!(done(&trace(&[0.0, 0.0]), StopRule { max_iter: 100, tol: 0.0 }), 0.02);
        assert_eq!(done(&trace(&[1.0, 0.5]), StopRule { max_iter: 100, tol: 0.0 }), 0.02);
    }
}
