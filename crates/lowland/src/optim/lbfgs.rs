//! Limited-memory BFGS (Liu & Nocedal 1989), started from the attraction's diagonal, with a backtracking line search that
//! tolerates the engine's error.

use std::collections::VecDeque;

use rayon::prelude::*;

use super::fixed_point::{diagonal_scales, scaled};
use super::line_search::LineSearch;
use super::{Moved, Optimizer};
use crate::archive::Archive;
use crate::linalg::block::column_dots;
use crate::objective::Objective;
use crate::points::Result;

/// Steps remembered.
const MEMORY: usize = 15;
/// A pair with less curvature than this, relative to its lengths, says more about noise than about the objective.
const LEAST_CURVATURE: f64 = 1e-8;

/// Limited-memory BFGS.
pub struct Lbfgs {
    search: LineSearch,
    scales: Vec<f64>,
    /// Steps and the changes of the gradient along them, the latest last.
    pairs: VecDeque<Pair>,
}

struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    /// Their product.
    curvature: f64,
}

impl Default for Lbfgs {
    fn default() -> Self {
        Self { search: LineSearch::new(1.0), scales: Vec::new(), pairs: VecDeque::new() }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    column_dots(a, b, 1)[0]
}

/// `a += factor b`.
fn add(a: &mut [f64], factor: f64, b: &[f64]) {
    a.par_chunks_mut(4096).zip(b.par_chunks(4096)).for_each(|(a, b)| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += factor * b);
    });
}

impl Lbfgs {
    /// `-H g` by the two loops over the pairs.
    fn direction(&self, gradient: &[f64], dim: usize, factor: f64) -> Vec<f64> {
        let mut q = gradient.to_vec();
        let mut weights = Vec::with_capacity(self.pairs.len());
        for pair in self.pairs.iter().rev() {
            let weight = dot(&pair.step, &q) / pair.curvature;
            add(&mut q, -weight, &pair.change);
            weights.push(weight);
        }
        let mut direction = Vec::new();
        // The diagonal, scaled to the curvature along the last step.
        let scale = self.pairs.back().map_or(factor, |pair| {
            scaled(&pair.change, &self.scales, dim, -1.0, &mut direction);
            pair.curvature / dot(&pair.change, &direction)
        });
        scaled(&q, &self.scales, dim, scale, &mut direction);
        for (pair, weight) in self.pairs.iter().zip(weights.iter().rev()) {
            let back = -dot(&pair.change, &direction) / pair.curvature;
            add(&mut direction, back - weight, &pair.step);
        }
        direction
    }
}

impl<F: Objective + ?Sized> Optimizer<F> for Lbfgs {
    fn step(&mut self, objective: &mut F, y: &mut [f64], dim: usize) -> Result<Moved> {
        if self.scales.is_empty() {
            self.scales = diagonal_scales(objective);
        }
        let factor = 1.0 / objective.exaggeration();
        let before = self.search.gradient(objective, y, dim)?.to_vec();
        let mut direction = self.direction(&before, dim, factor);
        let start = y.to_vec();
        let (mut moved, mut paid) = self.search.along(objective, y, dim, &direction, Some(1.0))?;
        if !paid && !self.pairs.is_empty() {
            // What was learned leads nowhere: forget it and go down the gradient.
            self.pairs.clear();
            direction = self.direction(&before, dim, factor);
            (moved, paid) = self.search.along(objective, y, dim, &direction, Some(1.0))?;
        }
        if paid {
            let after = self.search.gradient(objective, y, dim)?;
            let step: Vec<f64> = y.par_iter().zip(&start).map(|(a, b)| a - b).collect();
            let change: Vec<f64> = after.par_iter().zip(&before).map(|(a, b)| a - b).collect();
            let curvature = dot(&step, &change);
            if curvature > LEAST_CURVATURE * (dot(&step, &step) * dot(&change, &change)).sqrt() {
                if self.pairs.len() == MEMORY {
                    self.pairs.pop_front();
                }
                self.pairs.push_back(Pair { step, change, curvature });
            }
        }
        Ok(moved)
    }

    fn forget(&mut self) {
        self.search.forget();
        self.pairs.clear();
    }

    fn measure_anew(&mut self) {
        self.search.measure_anew();
    }

    fn save(&self, archive: &mut Archive) {
        self.search.save(archive);
        archive.put("lbfgs/pairs", self.pairs.len() as u64);
        let all =
            |part: fn(&Pair) -> &[f64]| self.pairs.iter().flat_map(|pair| part(pair).to_vec()).collect::<Vec<_>>();
        if !self.pairs.is_empty() {
            archive.put("lbfgs/steps", all(|pair| &pair.step));
            archive.put("lbfgs/changes", all(|pair| &pair.change));
        }
    }

    fn restore(&mut self, archive: &Archive, len: usize) -> Result<()> {
        self.search.restore(archive, len)?;
        let count = archive.size("lbfgs/pairs")?;
        let remembered = |name| if count > 0 { archive.finite(name) } else { Ok(&[][..]) };
        let (steps, changes) = (remembered("lbfgs/steps")?, remembered("lbfgs/changes")?);
        if count > MEMORY || steps.len() != count * len || changes.len() != count * len {
            return Err(archive.bad("the remembered steps do not fit the map".into()));
        }
        let pairs = steps.chunks(len.max(1)).zip(changes.chunks(len.max(1)));
        self.pairs = pairs
            .map(|(step, change)| Pair { step: step.to_vec(), change: change.to_vec(), curvature: dot(step, change) })
            .collect();
        if self.pairs.iter().any(|pair| !(pair.curvature > 0.0)) {
            return Err(archive.bad("a remembered step has no curvature".into()));
        }
        Ok(())
    }
}
