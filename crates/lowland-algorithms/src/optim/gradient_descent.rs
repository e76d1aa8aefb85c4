//! Gradient descent with momentum, and a gain for each coordinate that grows while the sign of its gradient persists (the
//! delta-bar-delta rule, Jacobs 1988, as in van der Maaten's t-SNE).

use rayon::prelude::*;

use super::{Optimizer, StepReport};
use crate::objective::VectorField;
use lowland_core::archive::Archive;
use lowland_core::{Points, Result};
use lowland_linalg::block::{column_means, dot};

/// Parameters of [`GradientDescent`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GradientDescentParams {
    /// Learning rate for a gain of one, for the gradient with the factor 4; `None` for `n / (4 exaggeration)`, with the
    /// exaggeration of the iteration.
    pub learning_rate: Option<f64>,
    /// Lower bound of the learning rate that follows from the number of points.
    pub min_learning_rate: f64,
    /// Share of the last step that is repeated.
    pub momentum: f64,
    /// Lower bound of the gains.
    pub min_gain: f64,
    /// Maximal change of a coordinate in one step, in units of the kernel.
    pub max_step: f64,
    /// The same relative to the size of the map; infinite for no such limit.
    pub max_relative_step: f64,
}

impl GradientDescentParams {
    /// Returns the learning rate for a map of `points` points, whose attraction is exaggerated by this factor.
    pub(crate) fn rate(&self, points: usize, exaggeration: f64) -> f64 {
        self.learning_rate.unwrap_or_else(|| (points as f64 / (4.0 * exaggeration)).max(self.min_learning_rate))
    }
}

/// Gradient descent with momentum and gains.
pub struct GradientDescent {
    params: GradientDescentParams,
    steps: usize,
    gains: Vec<f64>,
    /// The last step.
    update: Vec<f64>,
    gradient: Vec<f64>,
}

/// Number of steps between two computations of the value, which costs about as much as a step.
pub(crate) const VALUE_PERIOD: usize = 25;
/// Coordinates per task: fixed, because the order of summation depends on it.
const CHUNK: usize = 4096;

impl GradientDescent {
    /// Creates an optimizer that has not made a step yet.
    pub fn new(params: GradientDescentParams) -> Self {
        Self { params, steps: 0, gains: Vec::new(), update: Vec::new(), gradient: Vec::new() }
    }
}

impl<F: VectorField + ?Sized> Optimizer<F> for GradientDescent {
    fn step(&mut self, field: &mut F, y: &mut [f64], dim: usize) -> Result<StepReport> {
        let n = (y.len() / dim) as f64;
        self.gains.resize(y.len(), 1.0);
        self.update.resize(y.len(), 0.0);
        self.gradient.resize(y.len(), 0.0);
        let with_value = self.steps.is_multiple_of(VALUE_PERIOD);
        self.steps = self.steps.saturating_add(1);
        let value = field.evaluate(Points::new(y, dim)?, with_value, &mut self.gradient)?;
        let rate = self.params.rate(y.len() / dim, field.exaggeration());
        let GradientDescentParams { momentum, min_gain, .. } = self.params;
        let size = dot(y, y).sqrt();
        // Without a relative limit, a map of size zero would give infinity times zero.
        let GradientDescentParams { max_step, max_relative_step, .. } = self.params;
        let max_step = if max_relative_step.is_finite() {
            (max_relative_step * size / n.sqrt()).clamp(f64::MIN_POSITIVE, max_step)
        } else {
            max_step
        };
        let parts: Vec<f64> = y
            .par_chunks_mut(CHUNK)
            .zip(self.update.par_chunks_mut(CHUNK))
            .zip(self.gains.par_chunks_mut(CHUNK))
            .zip(self.gradient.par_chunks(CHUNK))
            .map(|(((y, update), gains), gradient)| {
                let mut moved = 0.0;
                for i in 0..y.len() {
                    // A step is against the gradient: while the gradient's sign persists, the two signs differ.
                    let persists = update[i] * gradient[i] < 0.0;
                    gains[i] = (if persists { gains[i] + 0.2 } else { gains[i] * 0.8 }).max(min_gain);
                    update[i] = (momentum * update[i] - rate * gains[i] * gradient[i]).clamp(-max_step, max_step);
                    y[i] += update[i];
                    moved += update[i] * update[i];
                }
                moved
            })
            .collect();
        if field.is_translation_invariant() {
            center(y, dim);
        }
        Ok(StepReport { value, change: parts.iter().sum::<f64>().sqrt() / size.max(f64::MIN_POSITIVE) })
    }

    fn reset(&mut self) {
        // The momentum is kept; the value is computed at the next step.
        self.steps = 0;
    }

    fn invalidate_values(&mut self) {}

    fn gradient_norm(&self) -> Option<f64> {
        Some(dot(&self.gradient, &self.gradient).sqrt())
    }

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
            return Err(archive.invalid("the gains do not fit the map".into()));
        }
        Ok(())
    }
}

/// Moves the map's mean to the origin.
pub(super) fn center(y: &mut [f64], dim: usize) {
    let mean = column_means(y, dim);
    y.par_chunks_mut(dim * 1024).for_each(|rows| {
        rows.chunks_exact_mut(dim).for_each(|row| row.iter_mut().zip(&mean).for_each(|(y, m)| *y -= m));
    });
}
