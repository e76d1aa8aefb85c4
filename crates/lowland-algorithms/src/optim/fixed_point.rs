//! Fixed-point iteration: the gradient divided by `4 d_i`, the diagonal of the attraction, with a line search.

use rayon::prelude::*;

use super::preconditioned_descent::{GradientPreconditioner, PreconditionedDescent};
use crate::objective::Objective;
use lowland_core::{Points, Result};

/// Fixed-point iteration with a line search.
pub type FixedPoint = PreconditionedDescent<DiagonalPreconditioner>;

/// Divides the gradient by the diagonal of the attraction.
#[derive(Default)]
pub struct DiagonalPreconditioner {
    /// `1 / (4 d_i)`, without exaggeration.
    scales: Vec<f64>,
}

impl GradientPreconditioner for DiagonalPreconditioner {
    fn direction<F: Objective + ?Sized>(&mut self, objective: &F, gradient: Points, out: &mut Vec<f64>) -> Result<()> {
        if self.scales.is_empty() {
            self.scales = diagonal_scales(objective);
        }
        scale_rows(gradient.values(), &self.scales, gradient.dim(), 1.0 / objective.exaggeration(), out);
        Ok(())
    }
}

/// Returns `1 / (4 d_i)` for each point; a point without attraction gets the value for the mean degree.
pub(super) fn diagonal_scales<F: Objective + ?Sized>(objective: &F) -> Vec<f64> {
    let degrees = objective.degrees();
    let mean = degrees.iter().sum::<f64>() / degrees.len().max(1) as f64;
    degrees.iter().map(|&d| 0.25 / if d > 1e-3 * mean { d } else { mean }).collect()
}

/// Writes `out_i = -factor scale_i g_i`.
pub(super) fn scale_rows(gradient: &[f64], scales: &[f64], dim: usize, factor: f64, out: &mut Vec<f64>) {
    out.resize(gradient.len(), 0.0);
    out.par_chunks_mut(dim).zip(gradient.par_chunks(dim)).zip(scales).with_min_len(1024).for_each(
        |((out, g), scale)| {
            out.iter_mut().zip(g).for_each(|(out, g)| *out = -factor * scale * g);
        },
    );
}
