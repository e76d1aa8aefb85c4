//! Gradient descent with momentum, and a gain for each coordinate that grows while the sign of its gradient persists
//! (Jacobs 1988, as in van der Maaten's t-SNE).

use rayon::prelude::*;

use super::{Moved, Optimizer};
use crate::objective::Field;
use lowland_core::archive::Archive;
use lowland_core::{Points, Result};
use lowland_linalg::block::{column_means, dot};

/// The settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GainsParams {
    /// The step for a gain of one; `None` for `max(n / (4 exaggeration), 50)`, the exaggeration being that of the
    /// iteration: our gradient has the factor 4.
    pub learning_rate: Option<f64>,
    /// The share of the last step that is made again.
    pub momentum: f64,
    /// Gains do not fall below this.
    pub least_gain: f64,
    /// A coordinate changes by no more than this in one step, the unit being the kernel's.
    pub longest: f64,
    /// Nor by more than this share of the map's size; infinite for no such limit.
    pub longest_share: f64,
}

/// Gradient descent.
pub struct Gains {
    params: GainsParams,
    steps: usize,
    gains: Vec<f64>,
    /// The last step.
    update: Vec<f64>,
    gradient: Vec<f64>,
}

/// The objective is computed at the first step and every so many: it costs about as much as a step.
const VALUE_PERIOD: usize = 25;
/// Coordinates handled at once: fixed, because the order of a sum depends on it.
const CHUNK: usize = 4096;

impl Gains {
    /// At rest.
    pub fn new(params: GainsParams) -> Self {
        Self { params, steps: 0, gains: Vec::new(), update: Vec::new(), gradient: Vec::new() }
    }
}

impl<F: Field + ?Sized> Optimizer<F> for Gains {
    fn step(&mut self, field: &mut F, y: &mut [f64], dim: usize) -> Result<Moved> {
        let n = (y.len() / dim) as f64;
        self.gains.resize(y.len(), 1.0);
        self.update.resize(y.len(), 0.0);
        self.gradient.resize(y.len(), 0.0);
        let value = self.steps.is_multiple_of(VALUE_PERIOD);
        self.steps += 1;
        let value = field.field(Points::new(y, dim)?, value, &mut self.gradient)?;
        let rate = self.params.learning_rate.unwrap_or_else(|| (n / (4.0 * field.exaggeration())).max(50.0));
        let GainsParams { momentum, least_gain, .. } = self.params;
        let size = dot(y, y).sqrt();
        let longest = (self.params.longest_share * size / n.sqrt()).clamp(f64::MIN_POSITIVE, self.params.longest);
        let parts: Vec<f64> = y
            .par_chunks_mut(CHUNK)
            .zip(self.update.par_chunks_mut(CHUNK))
            .zip(self.gains.par_chunks_mut(CHUNK))
            .zip(self.gradient.par_chunks(CHUNK))
            .map(|(((y, update), gains), gradient)| {
                let mut moved = 0.0;
                for i in 0..y.len() {
                    // The last step and the gradient agree when their signs differ.
                    let persists = update[i] * gradient[i] < 0.0;
                    gains[i] = (if persists { gains[i] + 0.2 } else { gains[i] * 0.8 }).max(least_gain);
                    update[i] = (momentum * update[i] - rate * gains[i] * gradient[i]).clamp(-longest, longest);
                    y[i] += update[i];
                    moved += update[i] * update[i];
                }
                moved
            })
            .collect();
        centre(y, dim);
        Ok(Moved { value, change: parts.iter().sum::<f64>().sqrt() / size.max(f64::MIN_POSITIVE) })
    }

    fn forget(&mut self) {
        // The momentum goes on; the next value is computed at once.
        self.steps = 0;
    }

    fn measure_anew(&mut self) {}

    fn save(&self, archive: &mut Archive) {
        archive.put("gains/steps", self.steps as u64);
        archive.put("gains/gains", self.gains.as_slice());
        archive.put("gains/update", self.update.as_slice());
    }

    fn restore(&mut self, archive: &Archive, len: usize) -> Result<()> {
        self.steps = archive.size("gains/steps")?;
        self.gains = archive.finite("gains/gains")?.to_vec();
        self.update = archive.finite("gains/update")?.to_vec();
        if self.gains.len() != len || self.update.len() != len {
            return Err(archive.bad("the gains do not fit the map".into()));
        }
        Ok(())
    }
}

/// Moves the map's mean to the origin.
pub(super) fn centre(y: &mut [f64], dim: usize) {
    let mean = column_means(y, dim);
    y.par_chunks_mut(dim * 1024).for_each(|rows| {
        rows.chunks_exact_mut(dim).for_each(|row| row.iter_mut().zip(&mean).for_each(|(y, m)| *y -= m));
    });
}
