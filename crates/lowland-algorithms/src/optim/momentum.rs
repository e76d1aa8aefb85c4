//! Descent with momentum and nothing else, as MAP IT's program does it.

use rayon::prelude::*;

use super::{Moved, Optimizer};
use crate::objective::Field;
use lowland_core::archive::Archive;
use lowland_core::{Points, Result};
use lowland_linalg::block::dot;

/// The settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MomentumParams {
    /// The step.
    pub learning_rate: f64,
    /// The share of the last step that is made again: at first, and later.
    pub momentum: [f64; 2],
    /// Steps made with the first.
    pub early: usize,
    /// A coordinate changes by no more than this in one step.
    pub longest: f64,
}

/// Descent with momentum.
pub struct Momentum {
    params: MomentumParams,
    steps: usize,
    /// The last step.
    update: Vec<f64>,
    field: Vec<f64>,
}

/// Coordinates handled at once: fixed, because the order of a sum depends on it.
const CHUNK: usize = 4096;

impl Momentum {
    /// At rest.
    pub fn new(params: MomentumParams) -> Self {
        Self { params, steps: 0, update: Vec::new(), field: Vec::new() }
    }
}

impl<F: Field + ?Sized> Optimizer<F> for Momentum {
    fn step(&mut self, field: &mut F, y: &mut [f64], dim: usize) -> Result<Moved> {
        self.update.resize(y.len(), 0.0);
        self.field.resize(y.len(), 0.0);
        let value = field.field(Points::new(y, dim)?, true, &mut self.field)?;
        let MomentumParams { learning_rate: rate, momentum, early, longest } = self.params;
        let momentum = momentum[usize::from(self.steps >= early)];
        self.steps += 1;
        let size = dot(y, y).sqrt();
        let parts: Vec<f64> = y
            .par_chunks_mut(CHUNK)
            .zip(self.update.par_chunks_mut(CHUNK))
            .zip(self.field.par_chunks(CHUNK))
            .map(|((y, update), field)| {
                let mut moved = 0.0;
                for i in 0..y.len() {
                    update[i] = (momentum * update[i] - rate * field[i]).clamp(-longest, longest);
                    y[i] += update[i];
                    moved += update[i] * update[i];
                }
                moved
            })
            .collect();
        Ok(Moved { value, change: parts.iter().sum::<f64>().sqrt() / size.max(f64::MIN_POSITIVE) })
    }

    fn forget(&mut self) {
        // What moves goes on moving.
    }

    fn measure_anew(&mut self) {}

    fn save(&self, archive: &mut Archive) {
        archive.put("momentum/steps", self.steps as u64);
        archive.put("momentum/update", self.update.as_slice());
    }

    fn restore(&mut self, archive: &Archive, len: usize) -> Result<()> {
        self.steps = archive.size("momentum/steps")?;
        self.update = archive.finite("momentum/update")?.to_vec();
        if self.update.len() != len {
            return Err(archive.bad("the last step does not fit the map".into()));
        }
        Ok(())
    }
}
