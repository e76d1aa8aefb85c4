//! Backtracking line search: Armijo's condition, loosened by what the objective may be off.

use rayon::prelude::*;

use super::Moved;
use crate::objective::Objective;
use lowland_core::archive::Archive;
use lowland_core::{Points, Result};
use lowland_linalg::block::dot;

/// A decrease of this share of what the slope promises is enough.
const ENOUGH: f64 = 0.1;
/// A step that is too long is shortened by this.
const SHORTEN: f64 = 0.8;
/// What rounding may add to a value, as a share of it or of one.
const ROUNDING: f64 = 1e-13;
/// Trials before giving up: by then a step is 1e-8 of the first.
const TRIALS: usize = 80;

/// The line search with its memory: where the map was last evaluated, and the step that was accepted.
pub struct LineSearch {
    /// The first trial is the last step times this, at most 1.
    grow: f64,
    step: f64,
    /// Value and gradient at the present map, once known.
    value: Option<f64>,
    gradient: Vec<f64>,
    trial: Vec<f64>,
    trial_gradient: Vec<f64>,
}

impl LineSearch {
    /// Begins every search at the last accepted step times `grow`, and never above 1. With 1, steps only shrink, as in
    /// Vladymyrov and Carreira-Perpiñán's program.
    pub fn new(grow: f64) -> Self {
        Self { grow, step: 1.0, value: None, gradient: Vec::new(), trial: Vec::new(), trial_gradient: Vec::new() }
    }

    /// The gradient at `y`.
    pub(super) fn gradient<F: Objective + ?Sized>(
        &mut self,
        objective: &mut F,
        y: &[f64],
        dim: usize,
    ) -> Result<&[f64]> {
        if self.value.is_none() {
            self.gradient.resize(y.len(), 0.0);
            self.value = objective.field(Points::new(y, dim)?, true, &mut self.gradient)?;
        }
        Ok(&self.gradient)
    }

    /// Moves `y` along `direction` by a step that pays, or not at all. Returns the move, and whether it paid.
    pub(super) fn along<F: Objective + ?Sized>(
        &mut self,
        objective: &mut F,
        y: &mut [f64],
        dim: usize,
        direction: &[f64],
        first: Option<f64>,
    ) -> Result<(Moved, bool)> {
        let slope = dot(self.gradient(objective, y, dim)?, direction);
        let start = self.value.expect("the gradient was computed with it");
        let mut step = first.unwrap_or((self.step * self.grow).min(1.0));
        self.trial.resize(y.len(), 0.0);
        self.trial_gradient.resize(y.len(), 0.0);
        let length = dot(direction, direction).sqrt();
        let size = dot(y, y).sqrt().max(f64::MIN_POSITIVE);
        // A step that promises less than the value may be off cannot be judged by it. Such a step moves points by one unit
        // at the most, or flat directions (the whole map moving, parts drifting apart) would be followed ever faster.
        let noise = objective.noise();
        let unjudged = noise.max(ROUNDING * start.abs().max(1.0));
        let one_unit = (y.len() as f64 / dim as f64).sqrt() / length;
        if slope < 0.0 {
            for _ in 0..TRIALS {
                if -step * slope <= unjudged {
                    step = step.min(one_unit);
                }
                self.trial.par_chunks_mut(4096).zip(y.par_chunks(4096).zip(direction.par_chunks(4096))).for_each(
                    |(t, (y, p))| t.iter_mut().zip(y.iter().zip(p)).for_each(|(t, (y, p))| *t = y + step * p),
                );
                let value = objective.field(Points::new(&self.trial, dim)?, true, &mut self.trial_gradient)?;
                let value = value.expect("it was asked for");
                if value <= start + ENOUGH * step * slope + noise {
                    y.copy_from_slice(&self.trial);
                    std::mem::swap(&mut self.gradient, &mut self.trial_gradient);
                    (self.value, self.step) = (Some(value), step);
                    return Ok((Moved { value: Some(value), change: step * length / size }, true));
                }
                step *= SHORTEN;
            }
        }
        // Nowhere to go: the map stays, and the next search starts afresh.
        self.forget();
        Ok((Moved { value: Some(start), change: 0.0 }, false))
    }

    /// What was accepted last.
    pub fn step(&self) -> f64 {
        self.step
    }

    pub(super) fn forget(&mut self) {
        self.value = None;
        self.step = 1.0;
    }

    pub(super) fn measure_anew(&mut self) {
        self.value = None;
    }

    pub(super) fn save(&self, archive: &mut Archive) {
        archive.put("search/step", [self.step].as_slice());
        archive.put("search/value", [self.value.unwrap_or(f64::NAN)].as_slice());
        archive.put("search/gradient", self.gradient.as_slice());
    }

    pub(super) fn restore(&mut self, archive: &Archive, len: usize) -> Result<()> {
        let (&[step], &[value]) = (archive.finite("search/step")?, archive.f64s("search/value")?) else {
            return Err(archive.bad("the line search is not one step and one value".into()));
        };
        self.gradient = archive.finite("search/gradient")?.to_vec();
        if self.gradient.len() != len {
            return Err(archive.bad("the gradient does not fit the map".into()));
        }
        (self.step, self.value) = (step, (!value.is_nan()).then_some(value));
        Ok(())
    }
}
