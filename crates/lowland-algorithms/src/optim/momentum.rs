//! Descent with momentum, as in MAP IT's released program.

use rayon::prelude::*;

use super::{Optimizer, StepReport};
use crate::objective::VectorField;
use lowland_core::archive::Archive;
use lowland_core::{Points, Result};
use lowland_linalg::block::dot;

/// Parameters of [`MomentumDescent`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MomentumDescentParams {
    /// Learning rate.
    pub learning_rate: f64,
    /// Share of the last step that is repeated: in the first steps, and later.
    pub momentum: [f64; 2],
    /// Number of steps with the first of these.
    pub early_steps: usize,
    /// Maximal change of a coordinate in one step.
    pub max_step: f64,
}

/// Descent with momentum.
pub struct MomentumDescent {
    params: MomentumDescentParams,
    steps: usize,
    /// The last step.
    update: Vec<f64>,
    field: Vec<f64>,
}

/// Coordinates per task: fixed, because the order of summation depends on it.
const CHUNK: usize = 4096;

impl MomentumDescent {
    /// Creates an optimizer that has not made a step yet.
    pub fn new(params: MomentumDescentParams) -> Self {
        Self { params, steps: 0, update: Vec::new(), field: Vec::new() }
    }
}

impl<F: VectorField + ?Sized> Optimizer<F> for MomentumDescent {
    fn step(&mut self, field: &mut F, y: &mut [f64], dim: usize) -> Result<StepReport> {
        self.update.resize(y.len(), 0.0);
        self.field.resize(y.len(), 0.0);
        let value = field.evaluate(Points::new(y, dim)?, true, &mut self.field)?;
        let MomentumDescentParams { learning_rate: rate, momentum, early_steps, max_step } = self.params;
        let momentum = momentum[usize::from(self.steps >= early_steps)];
        self.steps = self.steps.saturating_add(1);
        let size = dot(y, y).sqrt();
        let parts: Vec<f64> = y
            .par_chunks_mut(CHUNK)
            .zip(self.update.par_chunks_mut(CHUNK))
            .zip(self.field.par_chunks(CHUNK))
            .map(|((y, update), field)| {
                let mut moved = 0.0;
                for i in 0..y.len() {
                    update[i] = (momentum * update[i] - rate * field[i]).clamp(-max_step, max_step);
                    y[i] += update[i];
                    moved += update[i] * update[i];
                }
                moved
            })
            .collect();
        Ok(StepReport { value, change: parts.iter().sum::<f64>().sqrt() / size.max(f64::MIN_POSITIVE) })
    }

    fn reset(&mut self) {
        // The momentum is kept.
    }

    fn invalidate_values(&mut self) {}

    fn save(&self, archive: &mut Archive) {
        archive.put("momentum/steps", self.steps as u64);
        archive.put("momentum/update", self.update.as_slice());
    }

    fn restore(&mut self, archive: &Archive, len: usize) -> Result<()> {
        self.steps = archive.size("momentum/steps")?;
        self.update = archive.finite("momentum/update")?.to_vec();
        if self.update.len() != len {
            return Err(archive.invalid("the last step does not fit the map".into()));
        }
        Ok(())
    }
}
