//! A vector field with ties of points to positions of an earlier map.

use rayon::prelude::*;

use super::{Objective, ObjectiveChange, VectorField};
use crate::anchors::Anchors;
use lowland_core::archive::Archive;
use lowland_core::{Points, Result};
use lowland_linalg::Csr;

/// Points per task: fixed, because the order of summation depends on it.
const ROWS: usize = 1024;

/// A vector field, or an objective, to which `2/n sum c_i |y_i - t_i|^2` is added, for points with ties of strength `c_i` to targets
/// `t_i`; points that are held do not move. Without anchors it is the field itself.
///
/// The gradient of a tie of strength one, `4/n (y_i - t_i)`, is that of all neighbors of the point together, where affinities sum to
/// one and all edges are short.
pub struct AnchoredField<F> {
    field: F,
    anchors: Option<Anchors>,
    is_scaled: bool,
}

impl<F> AnchoredField<F> {
    /// Adds ties to a field.
    pub fn new(field: F, anchors: Option<Anchors>) -> Self {
        Self { field, anchors, is_scaled: false }
    }

    /// Divides the field at a point with a tie of strength `c` by `1 + c`, for steps of a fixed length: strong ties would make them
    /// overshoot. Where the field vanishes stays the same, but it is no gradient anymore.
    pub fn scaled(self) -> Self {
        Self { is_scaled: true, ..self }
    }

    /// Returns the field without the ties.
    pub fn field(&mut self) -> &mut F {
        &mut self.field
    }
}

impl<F: VectorField> VectorField for AnchoredField<F> {
    fn evaluate(&mut self, y: Points, with_value: bool, out: &mut [f64]) -> Result<Option<f64>> {
        let value = self.field.evaluate(y, with_value, out)?;
        let Some(anchors) = &self.anchors else { return Ok(value) };
        let (dim, factor) = (y.dim(), 2.0 / y.rows().max(1) as f64);
        let parts: Vec<f64> = out
            .par_chunks_mut(ROWS * dim)
            .enumerate()
            .map(|(chunk, out)| {
                let mut sum = 0.0;
                for (at, out) in out.chunks_exact_mut(dim).enumerate() {
                    let i = chunk * ROWS + at;
                    let strength = anchors.strengths()[i];
                    if strength.is_infinite() {
                        out.fill(0.0);
                    } else if strength > 0.0 {
                        let scale = if self.is_scaled { 1.0 / (1.0 + strength) } else { 1.0 };
                        for ((out, y), target) in out.iter_mut().zip(y.row(i)).zip(anchors.target(i)) {
                            *out = scale * (*out + 2.0 * factor * strength * (y - target));
                            sum += factor * strength * (y - target).powi(2);
                        }
                    }
                }
                sum
            })
            .collect();
        Ok(value.map(|value| value + parts.iter().sum::<f64>()))
    }

    fn begin_iteration(&mut self, iteration: usize, y: Points, value: Option<f64>) -> Result<ObjectiveChange> {
        self.field.begin_iteration(iteration, y, value)
    }

    fn on_stall(&mut self) {
        self.field.on_stall();
    }

    fn has_pending_changes(&self) -> bool {
        self.field.has_pending_changes()
    }

    fn exaggeration(&self) -> f64 {
        self.field.exaggeration()
    }

    fn is_translation_invariant(&self) -> bool {
        self.anchors.is_none() && self.field.is_translation_invariant()
    }

    fn hold(&self, direction: &mut [f64], dim: usize) {
        let Some(anchors) = &self.anchors else { return };
        let held = direction.chunks_exact_mut(dim).zip(anchors.strengths()).filter(|(_, c)| c.is_infinite());
        held.for_each(|(direction, _)| direction.fill(0.0));
    }

    fn save(&self, archive: &mut Archive) {
        self.field.save(archive);
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        self.field.restore(archive)
    }
}

impl<F: Objective> Objective for AnchoredField<F> {
    fn attraction(&self) -> Csr {
        self.field.attraction()
    }

    fn degrees(&self) -> Vec<f64> {
        let mut degrees = self.field.degrees();
        if let Some(anchors) = &self.anchors {
            let n = degrees.len() as f64;
            let tied = degrees.iter_mut().zip(anchors.strengths()).filter(|(_, strength)| strength.is_finite());
            tied.for_each(|(degree, strength)| *degree += strength / n);
        }
        degrees
    }

    fn noise(&self) -> f64 {
        self.field.noise()
    }
}
