//! Several starts side by side, of which the best bound counts.

use rayon::prelude::*;

use super::em::{Em, Settings, Start};
use super::posterior::Posterior;
use super::problem::Problem;
use lowland_core::archive::Archive;
use lowland_core::run::{Step, Stepper};
use lowland_core::{Embedding, Error, Result, Seed};
use lowland_linalg::mirror_upper_triangle;

/// Below this share of its standard deviation, the spread of the places says nothing any more.
const COLLAPSED: f64 = 1e-3;

/// EM from several starts. Each step is one iteration of all that still move.
#[derive(Debug, Clone)]
pub struct Starts<'a> {
    all: Vec<Em<'a>>,
    dim: usize,
    tolerance: f64,
    iteration: usize,
}

impl<'a> Starts<'a> {
    /// `count` random starts; one whose bound changes by at most `tolerance` for each value of the data rests.
    pub fn new(problem: &'a Problem, settings: Settings, count: usize, tolerance: f64, seed: Seed) -> Result<Self> {
        let start = |index| Em::new(problem, settings, Start::random(problem, settings, seed.item(index)));
        let all = (0..count.max(1)).into_par_iter().map(start).collect::<Result<_>>()?;
        Ok(Self { all, dim: settings.dim, tolerance, iteration: 0 })
    }

    /// The bound each start has reached.
    pub fn bounds(&self) -> Vec<f64> {
        self.all.iter().map(Em::bound).collect()
    }

    /// The start with the largest bound, the first of several.
    fn best(&self) -> usize {
        let better = |best: usize, at: usize| if self.all[at].bound > self.all[best].bound { at } else { best };
        (1..self.all.len()).fold(0, better)
    }

    /// The precision of the prior of the places of the best start, where that start's map has collapsed onto a point: nothing is
    /// left of it beside its own uncertainty.
    pub fn collapsed(&self) -> Option<f64> {
        let best = &self.all[self.best()];
        (best.clarity < COLLAPSED * COLLAPSED).then_some(best.alpha)
    }

    /// The posterior of the best start.
    pub fn finish(mut self) -> Result<Posterior> {
        let best = self.best();
        self.all.swap_remove(best).finish()
    }
}

impl Stepper for Starts<'_> {
    fn step(&mut self) -> Result<Step> {
        let tolerance = self.tolerance;
        let moving = self.all.par_iter_mut().filter(|em| em.change > tolerance);
        moving.map(Em::step).collect::<Result<Vec<()>>>()?;
        self.iteration += 1;
        let change = self.all.iter().map(|em| em.change).fold(0.0, f64::max);
        Ok(Step { iteration: self.iteration, objective: self.all[self.best()].bound, change })
    }

    fn embedding(&self) -> Embedding {
        let places = self.all[self.best()].places();
        let n = places.len() / self.dim;
        let values = (0..places.len()).map(|at| places[at % self.dim * n + at / self.dim]).collect();
        Embedding::new(values, self.dim).expect("whole rows")
    }

    fn save(&self, archive: &mut Archive) {
        archive.put("em/iteration", self.iteration as u64);
        for (at, em) in self.all.iter().enumerate() {
            let side = em.places.len();
            let upper = em.moments.chunks_exact(side).enumerate().flat_map(|(a, row)| &row[a..]);
            archive.put(format!("em/{at}/numbers"), vec![em.gamma, em.alpha, em.bound, em.change]);
            archive.put(format!("em/{at}/maps"), em.maps.as_slice());
            archive.put(format!("em/{at}/places"), em.places.as_slice());
            archive.put(format!("em/{at}/moments"), upper.copied().collect::<Vec<_>>());
        }
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        self.iteration = archive.size("em/iteration")?;
        for (at, em) in self.all.iter_mut().enumerate() {
            let read = |part: &str| archive.finite(&format!("em/{at}/{part}"));
            let (numbers, maps, places, upper) = (read("numbers")?, read("maps")?, read("places")?, read("moments")?);
            let side = em.places.len();
            let fits = maps.len() == em.maps.len() && places.len() == side && upper.len() == side * (side + 1) / 2;
            let &[gamma, alpha, bound, change] = numbers else { return Err(unfit(archive)) };
            if !(fits && gamma > 0.0 && alpha > 0.0) {
                return Err(unfit(archive));
            }
            (em.gamma, em.alpha, em.bound, em.change) = (gamma, alpha, bound, change);
            em.maps.copy_from_slice(maps);
            em.places.copy_from_slice(places);
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

fn unfit(archive: &Archive) -> Error {
    archive.bad("the state of the iteration does not fit the data".into())
}
