//! Iterative descent of a vector field or objective with an optimizer.

use super::Optimizer;
use crate::objective::{ObjectiveChange, VectorField};
use lowland_core::archive::Archive;
use lowland_core::run::{Step, Stepper};
use lowland_core::{Embedding, Error, Points, Result};

/// Bound of the coordinates in a checkpoint: squares of distances are finite.
const MAX_COORDINATE: f64 = 1e100;

/// The state of a descent: the map, the objective and the optimizer.
pub struct Descent<F> {
    objective: F,
    optimizer: Box<dyn Optimizer<F>>,
    y: Vec<f64>,
    dim: usize,
    iteration: usize,
    /// The last computed value of the objective.
    value: f64,
}

impl<F: VectorField> Descent<F> {
    /// Creates a descent that starts at a map.
    pub fn new(objective: F, optimizer: Box<dyn Optimizer<F>>, start: Embedding) -> Self {
        let dim = start.dim();
        Self { objective, optimizer, y: start.into_values(), dim, iteration: 0, value: f64::NAN }
    }

    /// Returns the objective.
    pub fn objective(&mut self) -> &mut F {
        &mut self.objective
    }
}

impl<F: VectorField> Stepper for Descent<F> {
    fn step(&mut self) -> Result<Step> {
        self.iteration += 1;
        let known = (!self.value.is_nan()).then_some(self.value);
        match self.objective.begin_iteration(self.iteration, Points::new(&self.y, self.dim)?, known)? {
            ObjectiveChange::None => {}
            ObjectiveChange::Accuracy => self.optimizer.invalidate_values(),
            ObjectiveChange::Objective => self.optimizer.reset(),
        }
        let report = self.optimizer.step(&mut self.objective, &mut self.y, self.dim)?;
        if report.change.is_nan() {
            let reason = format!("a coordinate became NaN at iteration {}", self.iteration);
            return Err(Error::Numerical { what: "the iteration", reason });
        }
        self.value = report.value.unwrap_or(self.value);
        // The descent has not converged while the objective itself still changes.
        let change = if self.objective.has_pending_changes() { report.change.max(1.0) } else { report.change };
        if report.change == 0.0 {
            self.objective.on_stall();
        }
        Ok(Step { iteration: self.iteration, objective: self.value, change })
    }

    fn embedding(&self) -> Embedding {
        Embedding::new(self.y.clone(), self.dim).expect("whole rows")
    }

    fn gradient_norm(&self) -> Option<f64> {
        self.optimizer.gradient_norm()
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
            return Err(archive.invalid("there is not one value".into()));
        };
        if y.len() != self.y.len() {
            return Err(archive.invalid(format!("its map has {} coordinates, not {}", y.len(), self.y.len())));
        }
        if let Some(v) = y.iter().find(|v| v.abs() > MAX_COORDINATE) {
            return Err(archive.invalid(format!("its map has a coordinate of {v}")));
        }
        (self.y, self.value) = (y.to_vec(), value);
        self.iteration = archive.size("descent/iteration")?;
        if self.iteration > u32::MAX as usize {
            return Err(archive.invalid(format!("iteration {} is beyond any run", self.iteration)));
        }
        self.objective.restore(archive)?;
        self.optimizer.restore(archive, self.y.len())
    }
}
