//! A field or objective with an optimiser, as a stepper.

use super::Optimizer;
use crate::objective::{Change, Field};
use lowland_core::archive::Archive;
use lowland_core::run::{Step, Stepper};
use lowland_core::{Embedding, Points, Result};

/// A map on its way down.
pub struct Descent<F> {
    objective: F,
    optimizer: Box<dyn Optimizer<F>>,
    y: Vec<f64>,
    dim: usize,
    iteration: usize,
    /// The objective when it was last computed.
    value: f64,
}

impl<F: Field> Descent<F> {
    /// From a start.
    pub fn new(objective: F, optimizer: Box<dyn Optimizer<F>>, start: Embedding) -> Self {
        let dim = start.dim();
        Self { objective, optimizer, y: start.into_values(), dim, iteration: 0, value: f64::NAN }
    }

    /// What is minimised.
    pub fn objective(&mut self) -> &mut F {
        &mut self.objective
    }
}

impl<F: Field> Stepper for Descent<F> {
    fn step(&mut self) -> Result<Step> {
        self.iteration += 1;
        let known = (!self.value.is_nan()).then_some(self.value);
        match self.objective.prepare(self.iteration, Points::new(&self.y, self.dim)?, known)? {
            Change::Nothing => {}
            Change::Accuracy => self.optimizer.measure_anew(),
            Change::Objective => self.optimizer.forget(),
        }
        let moved = self.optimizer.step(&mut self.objective, &mut self.y, self.dim)?;
        self.value = moved.value.unwrap_or(self.value);
        // While the objective itself still changes, all of the way is left.
        let change = if self.objective.changes_ahead() { moved.change.max(1.0) } else { moved.change };
        if moved.change == 0.0 {
            self.objective.stuck();
        }
        Ok(Step { iteration: self.iteration, objective: self.value, change })
    }

    fn embedding(&self) -> Embedding {
        Embedding::new(self.y.clone(), self.dim).expect("whole rows")
    }

    fn save(&self, archive: &mut Archive) {
        archive.put("descent/map", self.y.as_slice());
        archive.put("descent/iteration", self.iteration as u64);
        archive.put("descent/value", [self.value].as_slice());
        self.objective.save(archive);
        self.optimizer.save(archive);
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        let y = archive.finite("descent/map")?;
        let &[value] = archive.f64s("descent/value")? else {
            return Err(archive.bad("there is not one value".into()));
        };
        if y.len() != self.y.len() {
            return Err(archive.bad(format!("its map has {} coordinates, not {}", y.len(), self.y.len())));
        }
        (self.y, self.value) = (y.to_vec(), value);
        self.iteration = archive.size("descent/iteration")?;
        self.objective.restore(archive)?;
        self.optimizer.restore(archive, self.y.len())
    }
}
