//! EM from several starts, of which the one with the largest bound is kept.

use rayon::prelude::*;

use super::posterior::{Hyperparameters, Posterior};
use super::problem::ScaledRows;
use lowland_core::archive::Archive;
use lowland_core::run::{Step, Stepper};
use lowland_core::{Embedding, Error, Result, Seed};

/// A map has collapsed if its spread is below this fraction of its standard deviations.
const COLLAPSE_RATIO: f64 = 1e-3;

/// EM from one start.
pub trait EmRun: Send + Sync + Sized {
    /// One iteration.
    fn step(&mut self) -> Result<()>;
    /// The current hyperparameters and the bound.
    fn hyperparameters(&self) -> Hyperparameters;
    /// Absolute change of the bound in the last step, per value of the data.
    fn change(&self) -> f64;
    /// Ratio of the squared spread of the latent means to their variances, with the common translation removed.
    fn signal_to_noise(&self) -> f64;
    /// Whether gamma is at the end of its range.
    fn has_least_noise(&self) -> bool;
    /// The rows, with the scales of the columns and the means of missing cells.
    fn rows(&self) -> ScaledRows;
    /// The standard deviations of the missing cells, in the units of the data, in the order of [`ScaledRows::missing`].
    fn missing_std(&self) -> Vec<f64>;
    /// The means of the latent coordinates, coordinate by coordinate.
    fn latents(&self) -> &[f64];
    /// The posterior.
    fn into_posterior(self) -> Result<Posterior>;
    /// Writes the state under `name/`.
    fn save(&self, name: &str, archive: &mut Archive);
    /// Reads what [`Self::save`] has written.
    fn restore(&mut self, name: &str, archive: &Archive) -> Result<()>;
}

/// EM from several starts. A step is one iteration of every start that has not converged.
#[derive(Debug, Clone)]
pub struct MultiStartEm<E> {
    runs: Vec<E>,
    tolerance: f64,
    iteration: usize,
}

impl<E: EmRun> MultiStartEm<E> {
    /// Creates `count` starts, each from its own seed. A start has converged when its bound changes by at most `tolerance` per value
    /// of the data.
    pub fn new(count: usize, tolerance: f64, seed: Seed, start: impl Fn(Seed) -> Result<E> + Sync) -> Result<Self> {
        let runs = (0..count.max(1)).into_par_iter().map(|index| start(seed.item(index))).collect::<Result<_>>()?;
        Ok(Self { runs, tolerance, iteration: 0 })
    }

    /// The current bound of each start.
    pub fn bounds(&self) -> Vec<f64> {
        self.runs.iter().map(bound).collect()
    }

    /// The index of the start with the largest bound, the first in case of ties.
    fn best(&self) -> usize {
        let better = |best: usize, at: usize| if bound(&self.runs[at]) > bound(&self.runs[best]) { at } else { best };
        (1..self.runs.len()).fold(0, better)
    }

    /// Returns alpha of the best start if its map has collapsed to a point, that is, if its spread is negligible
    /// compared to its uncertainty.
    pub fn collapsed_alpha(&self) -> Option<f64> {
        let best = &self.runs[self.best()];
        (best.signal_to_noise() < COLLAPSE_RATIO * COLLAPSE_RATIO).then_some(best.hyperparameters().alpha)
    }

    /// Whether the noise of the best start is at its lower limit: the rows repeat, or lie in clusters far apart.
    pub fn noise_is_at_limit(&self) -> bool {
        self.runs[self.best()].has_least_noise()
    }

    /// The rows of the best start, with the scales of its columns.
    pub fn rows(&self) -> ScaledRows {
        self.runs[self.best()].rows()
    }

    /// The standard deviations of the missing cells of the best start.
    pub fn missing_std(&self) -> Vec<f64> {
        self.runs[self.best()].missing_std()
    }

    /// The posterior of the best start.
    pub fn into_posterior(mut self) -> Result<Posterior> {
        let best = self.best();
        self.runs.swap_remove(best).into_posterior()
    }
}

impl<E: EmRun> Stepper for MultiStartEm<E> {
    fn step(&mut self) -> Result<Step> {
        let tolerance = self.tolerance;
        let active = self.runs.par_iter_mut().filter(|em| em.change() > tolerance);
        active.map(EmRun::step).collect::<Result<Vec<()>>>()?;
        self.iteration += 1;
        let change = self.runs.iter().map(EmRun::change).fold(0.0, f64::max);
        Ok(Step { iteration: self.iteration, objective: bound(&self.runs[self.best()]), change })
    }

    fn embedding(&self) -> Embedding {
        let best = &self.runs[self.best()];
        let (latents, dim) = (best.latents(), best.hyperparameters().dim);
        let n = latents.len() / dim;
        let values = (0..latents.len()).map(|at| latents[at % dim * n + at / dim]).collect();
        Embedding::new(values, dim).expect("whole rows")
    }

    fn save(&self, archive: &mut Archive) {
        archive.put("em/iteration", self.iteration as u64);
        self.runs.iter().enumerate().for_each(|(at, em)| em.save(&format!("em/{at}"), archive));
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        self.iteration = archive.size("em/iteration")?;
        self.runs.iter_mut().enumerate().try_for_each(|(at, em)| em.restore(&format!("em/{at}"), archive))
    }
}

fn bound(em: &impl EmRun) -> f64 {
    em.hyperparameters().bound
}

pub(super) fn mismatch(archive: &Archive) -> Error {
    archive.invalid("the state of the iteration does not fit the data".into())
}
