//! Descent along the preconditioned gradient, with a line search.

use super::line_search::LineSearch;
use super::{Optimizer, StepReport};
use crate::objective::Objective;
use lowland_core::archive::Archive;
use lowland_core::{Points, Result};

/// Computes a direction of descent from the gradient.
pub trait GradientPreconditioner: Default + Send {
    /// Writes minus the preconditioned gradient to `out`; the gradient has a row for each point.
    fn direction<F: Objective + ?Sized>(&mut self, objective: &F, gradient: Points, out: &mut Vec<f64>) -> Result<()>;
}

/// Descent along a preconditioned gradient.
pub struct PreconditionedDescent<P> {
    preconditioner: P,
    search: LineSearch,
    direction: Vec<f64>,
}

impl<P: GradientPreconditioner> PreconditionedDescent<P> {
    /// Creates an optimizer that has not made a step yet.
    pub fn new(search: LineSearch) -> Self {
        Self { preconditioner: P::default(), search, direction: Vec::new() }
    }

    /// Returns the step length that was accepted last.
    pub fn last_step(&self) -> f64 {
        self.search.step()
    }
}

impl<F: Objective + ?Sized, P: GradientPreconditioner> Optimizer<F> for PreconditionedDescent<P> {
    fn step(&mut self, objective: &mut F, y: &mut [f64], dim: usize) -> Result<StepReport> {
        let gradient = self.search.gradient(objective, y, dim)?;
        self.preconditioner.direction(objective, Points::new(gradient, dim)?, &mut self.direction)?;
        objective.hold(&mut self.direction, dim);
        Ok(self.search.search(objective, y, dim, &self.direction, None)?.0)
    }

    fn reset(&mut self) {
        self.search.reset();
    }

    fn invalidate_values(&mut self) {
        self.search.invalidate_values();
    }

    fn save(&self, archive: &mut Archive) {
        self.search.save(archive);
    }

    fn restore(&mut self, archive: &Archive, len: usize) -> Result<()> {
        self.search.restore(archive, len)
    }
}
