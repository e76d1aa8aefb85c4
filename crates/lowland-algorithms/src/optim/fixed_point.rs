//! Fixed-point iteration: the gradient divided by `4 d_i`, the attraction's diagonal, and a line search.

use rayon::prelude::*;

use super::line_search::LineSearch;
use super::{Moved, Optimizer};
use crate::objective::Objective;
use lowland_core::Result;
use lowland_core::archive::Archive;

/// Fixed-point iteration.
pub struct FixedPoint {
    search: LineSearch,
    /// `1 / (4 d_i)`, without exaggeration.
    scales: Vec<f64>,
    direction: Vec<f64>,
}

impl FixedPoint {
    /// Not yet begun.
    pub fn new(search: LineSearch) -> Self {
        Self { search, scales: Vec::new(), direction: Vec::new() }
    }
}

/// `1 / (4 d_i)` for each point; one that nothing attracts moves as the mean of the others would.
pub(super) fn diagonal_scales<F: Objective + ?Sized>(objective: &F) -> Vec<f64> {
    let degrees = objective.degrees();
    let mean = degrees.iter().sum::<f64>() / degrees.len().max(1) as f64;
    degrees.iter().map(|&d| 0.25 / if d > 1e-3 * mean { d } else { mean }).collect()
}

/// `out_i = -factor scale_i g_i`.
pub(super) fn scaled(gradient: &[f64], scales: &[f64], dim: usize, factor: f64, out: &mut Vec<f64>) {
    out.resize(gradient.len(), 0.0);
    out.par_chunks_mut(dim).zip(gradient.par_chunks(dim)).zip(scales).with_min_len(1024).for_each(
        |((out, g), scale)| {
            out.iter_mut().zip(g).for_each(|(out, g)| *out = -factor * scale * g);
        },
    );
}

impl<F: Objective + ?Sized> Optimizer<F> for FixedPoint {
    fn step(&mut self, objective: &mut F, y: &mut [f64], dim: usize) -> Result<Moved> {
        if self.scales.is_empty() {
            self.scales = diagonal_scales(objective);
        }
        let factor = 1.0 / objective.exaggeration();
        let gradient = self.search.gradient(objective, y, dim)?;
        scaled(gradient, &self.scales, dim, factor, &mut self.direction);
        Ok(self.search.along(objective, y, dim, &self.direction, None)?.0)
    }

    fn forget(&mut self) {
        self.search.forget();
    }

    fn measure_anew(&mut self) {
        self.search.measure_anew();
    }

    fn save(&self, archive: &mut Archive) {
        self.search.save(archive);
    }

    fn restore(&mut self, archive: &Archive, len: usize) -> Result<()> {
        self.search.restore(archive, len)
    }
}
