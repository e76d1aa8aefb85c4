//! Backtracking line search with Armijo's condition, relaxed by the possible error of the objective.

use rayon::prelude::*;

use super::StepReport;
use crate::objective::Objective;
use lowland_core::archive::Archive;
use lowland_core::{Points, Result};
use lowland_linalg::block::dot;

/// Sufficient decrease, relative to the decrease that the slope predicts.
const SUFFICIENT_DECREASE: f64 = 0.1;
/// Factor by which a step that is too long is shortened.
const BACKTRACKING: f64 = 0.8;
/// Rounding error of a value, relative to it or to one.
const ROUNDING: f64 = 1e-13;
/// Maximal number of trials, after which the step is 1e-8 of the first.
const MAX_TRIALS: usize = 80;

/// A line search, with the value and gradient at the current map and the last accepted step.
pub struct LineSearch {
    /// Factor of the last step that gives the first trial, which is at most 1.
    growth: f64,
    step: f64,
    /// Value and gradient at the current map, once known.
    value: Option<f64>,
    gradient: Vec<f64>,
    trial: Vec<f64>,
    trial_gradient: Vec<f64>,
}

impl LineSearch {
    /// Creates a line search whose first trial is the last accepted step times `growth`, and at most 1. With a growth of 1,
    /// steps only shrink, as in Vladymyrov and Carreira-Perpiñán's program.
    pub fn new(growth: f64) -> Self {
        Self { growth, step: 1.0, value: None, gradient: Vec::new(), trial: Vec::new(), trial_gradient: Vec::new() }
    }

    /// Returns the gradient at `y`.
    pub(super) fn gradient<F: Objective + ?Sized>(
        &mut self,
        objective: &mut F,
        y: &[f64],
        dim: usize,
    ) -> Result<&[f64]> {
        if self.value.is_none() {
            self.gradient.resize(y.len(), 0.0);
            self.value = objective.evaluate(Points::new(y, dim)?, true, &mut self.gradient)?;
        }
        Ok(&self.gradient)
    }

    /// Moves `y` along `direction` by a step with sufficient decrease, or not at all. Returns whether a step was accepted.
    pub(super) fn search<F: Objective + ?Sized>(
        &mut self,
        objective: &mut F,
        y: &mut [f64],
        dim: usize,
        direction: &[f64],
        first: Option<f64>,
    ) -> Result<(StepReport, bool)> {
        let slope = dot(self.gradient(objective, y, dim)?, direction);
        let start = self.value.expect("the gradient was computed with it");
        let mut step = first.unwrap_or((self.step * self.growth).min(1.0));
        self.trial.resize(y.len(), 0.0);
        self.trial_gradient.resize(y.len(), 0.0);
        let length = dot(direction, direction).sqrt();
        let size = dot(y, y).sqrt().max(f64::MIN_POSITIVE);
        // A step whose predicted decrease is below the error of the value cannot be judged by it. Such a step moves points by
        // at most one unit, or flat directions (translations of the map or of its parts) would be followed ever faster.
        let noise = objective.noise();
        let undecided = noise.max(ROUNDING * start.abs().max(1.0));
        let unit_step = (y.len() as f64 / dim as f64).sqrt() / length;
        if slope < 0.0 {
            for _ in 0..MAX_TRIALS {
                if -step * slope <= undecided {
                    step = step.min(unit_step);
                }
                self.trial.par_chunks_mut(4096).zip(y.par_chunks(4096).zip(direction.par_chunks(4096))).for_each(
                    |(t, (y, p))| t.iter_mut().zip(y.iter().zip(p)).for_each(|(t, (y, p))| *t = y + step * p),
                );
                let value = objective.evaluate(Points::new(&self.trial, dim)?, true, &mut self.trial_gradient)?;
                let value = value.expect("it was requested");
                if value <= start + SUFFICIENT_DECREASE * step * slope + noise {
                    y.copy_from_slice(&self.trial);
                    std::mem::swap(&mut self.gradient, &mut self.trial_gradient);
                    (self.value, self.step) = (Some(value), step);
                    return Ok((StepReport { value: Some(value), change: step * length / size }, true));
                }
                step *= BACKTRACKING;
            }
        }
        // No step was accepted: the map stays, and the next search starts anew.
        self.reset();
        Ok((StepReport { value: Some(start), change: 0.0 }, false))
    }

    /// Returns the step that was accepted last.
    pub fn step(&self) -> f64 {
        self.step
    }

    pub(super) fn reset(&mut self) {
        self.value = None;
        self.step = 1.0;
    }

    pub(super) fn invalidate_values(&mut self) {
        self.value = None;
    }

    pub(super) fn save(&self, archive: &mut Archive) {
        archive.put("search/step", [self.step].as_slice());
        archive.put("search/value", [self.value.unwrap_or(f64::NAN)].as_slice());
        archive.put("search/gradient", self.gradient.as_slice());
    }

    pub(super) fn restore(&mut self, archive: &Archive, len: usize) -> Result<()> {
        let (&[step], &[value]) = (archive.finite("search/step")?, archive.f64s("search/value")?) else {
            return Err(archive.invalid("the line search is not one step and one value".into()));
        };
        self.gradient = archive.finite("search/gradient")?.to_vec();
        if self.gradient.len() != len {
            return Err(archive.invalid("the gradient does not fit the map".into()));
        }
        if !(step > 0.0 && step <= 1.0) || value.is_infinite() {
            return Err(archive.invalid("the step or the value of the line search is out of range".into()));
        }
        (self.step, self.value) = (step, (!value.is_nan()).then_some(value));
        Ok(())
    }
}
