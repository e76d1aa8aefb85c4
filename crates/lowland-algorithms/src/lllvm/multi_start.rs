//! EM from several starts, of which the one with the largest bound is kept.

use rayon::prelude::*;

use super::em::LllvmEm;
use super::options::{LllvmOptions, LllvmStart};
use super::posterior::Posterior;
use super::problem::LllvmProblem;
use lowland_core::archive::Archive;
use lowland_core::run::{Step, Stepper};
use lowland_core::{Embedding, Error, Result, Seed};
use lowland_linalg::mirror_upper_triangle;

/// A map has collapsed if its spread is below this fraction of its standard deviations.
const COLLAPSE_RATIO: f64 = 1e-3;

/// EM from several starts. A step is one iteration of every start that has not converged.
#[derive(Debug, Clone)]
pub struct MultiStartEm<'a> {
    runs: Vec<LllvmEm<'a>>,
    dim: usize,
    tolerance: f64,
    iteration: usize,
}

impl<'a> MultiStartEm<'a> {
    /// Draws `count` random starts. A start has converged when its bound changes by at most `tolerance` per value of
    /// the data.
    pub fn new(
        problem: &'a LllvmProblem,
        options: LllvmOptions,
        count: usize,
        tolerance: f64,
        seed: Seed,
    ) -> Result<Self> {
        let start = |index| LllvmEm::new(problem, options, LllvmStart::random(problem, options, seed.item(index)));
        let runs = (0..count.max(1)).into_par_iter().map(start).collect::<Result<_>>()?;
        Ok(Self { runs, dim: options.dim, tolerance, iteration: 0 })
    }

    /// The current bound of each start.
    pub fn bounds(&self) -> Vec<f64> {
        self.runs.iter().map(LllvmEm::bound).collect()
    }

    /// The index of the start with the largest bound, the first in case of ties.
    fn best(&self) -> usize {
        let better = |best: usize, at: usize| if self.runs[at].bound > self.runs[best].bound { at } else { best };
        (1..self.runs.len()).fold(0, better)
    }

    /// Returns alpha of the best start if its map has collapsed to a point, that is, if its spread is negligible
    /// compared to its uncertainty.
    pub fn collapsed_alpha(&self) -> Option<f64> {
        let best = &self.runs[self.best()];
        (best.signal_to_noise < COLLAPSE_RATIO * COLLAPSE_RATIO).then_some(best.alpha)
    }

    /// Whether the noise of the best start is at its lower limit: the rows repeat, or lie in clusters far apart.
    pub fn noise_is_at_limit(&self) -> bool {
        self.runs[self.best()].has_least_noise()
    }

    /// The posterior of the best start.
    pub fn into_posterior(mut self) -> Result<Posterior> {
        let best = self.best();
        self.runs.swap_remove(best).into_posterior()
    }
}

impl Stepper for MultiStartEm<'_> {
    fn step(&mut self) -> Result<Step> {
        let tolerance = self.tolerance;
        let active = self.runs.par_iter_mut().filter(|em| em.change > tolerance);
        active.map(LllvmEm::step).collect::<Result<Vec<()>>>()?;
        self.iteration += 1;
        let change = self.runs.iter().map(|em| em.change).fold(0.0, f64::max);
        Ok(Step { iteration: self.iteration, objective: self.runs[self.best()].bound, change })
    }

    fn embedding(&self) -> Embedding {
        let latents = self.runs[self.best()].latents();
        let n = latents.len() / self.dim;
        let values = (0..latents.len()).map(|at| latents[at % self.dim * n + at / self.dim]).collect();
        Embedding::new(values, self.dim).expect("whole rows")
    }

    fn save(&self, archive: &mut Archive) {
        archive.put("em/iteration", self.iteration as u64);
        for (at, em) in self.runs.iter().enumerate() {
            let side = em.latents.len();
            let upper = em.moments.chunks_exact(side).enumerate().flat_map(|(a, row)| &row[a..]);
            archive.put(format!("em/{at}/numbers"), vec![em.gamma, em.alpha, em.bound, em.change]);
            archive.put(format!("em/{at}/maps"), em.maps.as_slice());
            archive.put(format!("em/{at}/places"), em.latents.as_slice());
            archive.put(format!("em/{at}/moments"), upper.copied().collect::<Vec<_>>());
        }
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        self.iteration = archive.size("em/iteration")?;
        for (at, em) in self.runs.iter_mut().enumerate() {
            let read = |part: &str| archive.finite(&format!("em/{at}/{part}"));
            let (numbers, maps, latents, upper) = (read("numbers")?, read("maps")?, read("places")?, read("moments")?);
            let side = em.latents.len();
            let fits = maps.len() == em.maps.len() && latents.len() == side && upper.len() == side * (side + 1) / 2;
            let &[gamma, alpha, bound, change] = numbers else { return Err(mismatch(archive)) };
            if !(fits && gamma > 0.0 && alpha > 0.0) {
                return Err(mismatch(archive));
            }
            (em.gamma, em.alpha, em.bound, em.change) = (gamma, alpha, bound, change);
            em.maps.copy_from_slice(maps);
            em.latents.copy_from_slice(latents);
            let mut rest = upper;
            for (a, row) in em.moments.chunks_exact_mut(side).enumerate() {
                let (own, more) = rest.split_at(side - a);
                row[a..].copy_from_slice(own);
                rest = more;
            }
            mirror_upper_triangle(&mut em.moments, side);
        }
        Ok(())
    }
}

fn mismatch(archive: &Archive) -> Error {
    archive.invalid("the state of the iteration does not fit the data".into())
}
