//! Expectation-maximisation with alternating updates (Saul 2020, eqs 18-21, S43), as a stepper.

use rayon::prelude::*;

use super::blocks::{self, Blocks};
use super::kernel::Wanted;
use super::similar::fill_ends;
use super::solve::{self, Enough, System};
use super::structure::Structure;
use lowland_core::archive::Archive;
use lowland_core::params::choice;
use lowland_core::run::{Step, Stepper};
use lowland_core::simd::FastFloat;
use lowland_core::{Embedding, Error, Numbering, Points, Result};

choice! {
    /// Whether each point has a variance of its own.
    pub enum Variances ("free or tied") {
        /// One for each point.
        Free = "free",
        /// One for all.
        Tied = "tied",
    }
}

choice! {
    /// In which precision pairs are computed; sums over them and everything else are in double precision.
    pub enum Precision ("single or double") {
        /// Relative errors of about 1e-6 in the sums of the E-step, in half the time.
        Single = "single",
        /// No such errors.
        Double = "double",
    }
}

/// How to iterate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EmOptions {
    /// Share of the last change of the means that is added to the next (eq S43).
    pub momentum: f64,
    /// Whether each point has a variance of its own.
    pub variances: Variances,
    /// Reduction of the residual at which the M-step's linear system counts as solved.
    pub solve: f64,
    /// Iterations of that solve at the most.
    pub solve_iterations: usize,
    /// In which precision dissimilar pairs are computed.
    pub precision: Precision,
}

impl Default for EmOptions {
    fn default() -> Self {
        Self {
            momentum: 0.9,
            variances: Variances::Free,
            solve: 0.5,
            solve_iterations: 30,
            precision: Precision::Double,
        }
    }
}

/// Variances stay above this, in squared units of the median edge, so that the odds of coinciding points stay finite.
pub(super) const LEAST_VARIANCE: f64 = 1e-10;

/// Means and variances of a model, and what is needed to improve them. Lengths are in the structure's unit.
#[derive(Debug, Clone)]
pub struct Em {
    structure: Structure,
    dim: usize,
    options: EmOptions,
    iteration: usize,
    /// By the rows of the structure's pairs, as all that follows.
    means: Vec<f64>,
    /// The last change of the means.
    velocity: Vec<f64>,
    variances: Vec<f64>,
    likelihood: f64,
    /// The gradient of the log-likelihood by the means, and the matrix of the bound, both at the present state.
    gradient: Vec<f64>,
    pulls: Vec<f64>,
    diagonal: Vec<f64>,
    room: Room,
}

/// Memory kept between steps.
#[derive(Debug, Clone, Default)]
struct Room {
    single: blocks::Room<f32>,
    double: blocks::Room<f64>,
    solve: solve::Room,
    ends: Vec<f64>,
    change: Vec<f64>,
    spread: Vec<f64>,
    pushed: Vec<f64>,
}

impl Room {
    fn means_moved(&mut self) {
        self.single.means_moved();
        self.double.means_moved();
    }
}

impl Em {
    /// From means (row after row) and variances, both in the structure's unit.
    pub fn new(
        structure: Structure,
        means: Vec<f64>,
        variances: Vec<f64>,
        dim: usize,
        options: EmOptions,
    ) -> Result<Self> {
        let n = structure.points();
        check("means of a model", n.saturating_mul(dim), &means)?;
        check("variances of a model", n, &variances)?;
        let mut em = Self {
            dim,
            options,
            iteration: 0,
            velocity: vec![0.0; means.len()],
            likelihood: 0.0,
            gradient: vec![0.0; means.len()],
            pulls: vec![0.0; structure.similarities().entries()],
            diagonal: vec![0.0; n],
            room: Room {
                change: vec![0.0; means.len()],
                spread: vec![0.0; n],
                pushed: vec![0.0; n],
                ..Room::default()
            },
            structure,
            means,
            variances: Vec::new(),
        };
        em.set_variances(variances);
        em.look();
        Ok(em)
    }

    /// The model's constants.
    pub fn structure(&self) -> &Structure {
        &self.structure
    }

    /// The means, point after point.
    pub fn means(&self) -> Vec<f64> {
        self.structure.numbering().by_points(&self.means, self.dim)
    }

    /// The variance of each point.
    pub fn variances(&self) -> Vec<f64> {
        self.structure.numbering().by_points(&self.variances, 1)
    }

    /// The log-likelihood (eq 6) of the present means and variances.
    pub fn likelihood(&self) -> f64 {
        self.likelihood
    }

    /// The gradient of the log-likelihood by the means.
    pub fn gradient(&self) -> Vec<f64> {
        self.structure.numbering().by_points(&self.gradient, self.dim)
    }

    /// Updates the means alone; returns the log-likelihood after it.
    pub fn update_means(&mut self) -> f64 {
        self.move_means();
        self.look();
        self.likelihood
    }

    /// Updates the variances alone; returns the log-likelihood after it.
    pub fn update_variances(&mut self) -> f64 {
        self.move_variances();
        self.look();
        self.likelihood
    }

    /// The sums over dissimilar pairs, `columns` for each point; returns the log-likelihood if it comes with them.
    fn sums(&mut self, wanted: Wanted) -> f64 {
        let out = if wanted == Wanted::Push { &mut self.gradient } else { &mut self.room.pushed };
        let (blocks, means, variances) = (&self.structure.blocks, &self.means, &self.variances);
        match self.options.precision {
            Precision::Single => sums(blocks, wanted, means, variances, self.dim, &mut self.room.single, out),
            Precision::Double => sums(blocks, wanted, means, variances, self.dim, &mut self.room.double, out),
        }
    }

    /// The E-step for the means: log-likelihood, its gradient, and the matrix of eq 19.
    fn look(&mut self) {
        let apart = self.sums(Wanted::Push);
        let (dim, blocks) = (self.dim, &self.structure.blocks);
        let similar = &self.structure.similar;
        let (pulls, diagonal) = (&mut self.pulls, &mut self.diagonal);
        fill_ends(&self.means, &self.variances, dim, &mut self.room.ends);
        let (ends, gradient) = (&self.room.ends, &mut self.gradient);
        let near = match self.options.precision {
            Precision::Single => similar.pull::<f32>(ends, dim, pulls, diagonal, gradient),
            Precision::Double => similar.pull::<f64>(ends, dim, pulls, diagonal, gradient),
        };
        for ((diagonal, mass), variance) in self.diagonal.iter_mut().zip(blocks.masses()).zip(&self.variances) {
            *diagonal += mass / variance;
        }
        self.likelihood = near + apart;
    }

    /// The update of the means (eq 20, S43). With what the gradient is, the system of eq 20 reads `L (mu_new - mu) =
    /// gradient`. What [`Em::likelihood`] and [`Em::gradient`] say is not renewed.
    fn move_means(&mut self) {
        let weights = self.structure.similarities();
        let system = System {
            indptr: weights.indptr(),
            indices: weights.indices(),
            pulls: &self.pulls,
            diagonal: &self.diagonal,
        };
        let enough = Enough { reduction: self.options.solve, iterations: self.options.solve_iterations };
        let change = &mut self.room.change;
        system.solve(self.dim, &mut self.gradient, change, enough, &mut self.room.solve);
        let momentum = self.options.momentum;
        for ((mean, velocity), change) in self.means.iter_mut().zip(&mut self.velocity).zip(change) {
            *velocity = *change + momentum * *velocity;
            *mean += *velocity;
        }
        self.room.means_moved();
    }

    /// The update of the variances (eq 21). With eqs 16 and 17 it reads
    /// `sigma^2 (1 + sigma^2 (sum S (q/s - d)/s - sum D nu (q/s - d)/s) / (d sum (S + D)))`.
    fn move_variances(&mut self) {
        self.sums(Wanted::Spread);
        let (dim, room) = (self.dim, &mut self.room);
        self.structure.similar.spread(&self.means, &self.pulls, dim, &mut room.spread);
        let masses = &self.structure.masses;
        for (i, (spread, pushed)) in room.spread.iter_mut().zip(&room.pushed).enumerate() {
            let variance = self.variances[i];
            *spread = variance * (1.0 + variance * (*spread - pushed) / (dim as f64 * masses[i]));
        }
        let found = std::mem::take(&mut room.spread);
        let old = self.set_variances(found);
        self.room.spread = old;
    }

    /// Follows the structure's pairs into their new order.
    fn move_rows(&mut self, moved: &[u32]) {
        for (values, width) in [(&mut self.means, self.dim), (&mut self.velocity, self.dim), (&mut self.variances, 1)] {
            *values = moved.iter().flat_map(|&row| &values[row as usize * width..][..width]).copied().collect();
        }
    }

    /// Tied variances share the maximiser of the same bound: the mean, weighted as the points are in it.
    /// Returns those before.
    fn set_variances(&mut self, mut variances: Vec<f64>) -> Vec<f64> {
        if self.options.variances == Variances::Tied {
            let masses = &self.structure.masses;
            let sum: f64 = variances.iter().zip(masses).map(|(v, m)| v * m).sum();
            let tied = sum / masses.iter().sum::<f64>();
            variances.fill(tied);
        }
        variances.iter_mut().for_each(|v| *v = v.max(LEAST_VARIANCE));
        std::mem::replace(&mut self.variances, variances)
    }
}

/// The E-step over dissimilar pairs, added up for each point.
fn sums<T: FastFloat>(
    blocks: &Blocks,
    wanted: Wanted,
    means: &[f64],
    variances: &[f64],
    dim: usize,
    room: &mut blocks::Room<T>,
    out: &mut [f64],
) -> f64 {
    let likelihood = blocks.sums(wanted, means, variances, dim, room);
    let columns = wanted.columns(dim);
    out.par_chunks_mut(columns * 1024).enumerate().for_each(|(task, out)| {
        out.fill(0.0);
        for (local, out) in out.chunks_exact_mut(columns).enumerate() {
            blocks.add_up(task * 1024 + local, room, out);
        }
    });
    likelihood
}

impl Stepper for Em {
    fn step(&mut self) -> Result<Step> {
        let before = self.likelihood;
        self.move_means();
        self.move_variances();
        self.iteration += 1;
        if let Some(moved) = self.structure.renumber(self.iteration, Points::new(&self.means, self.dim)?) {
            self.move_rows(&moved);
        }
        self.look();
        let change = ((self.likelihood - before) / self.likelihood).abs();
        Ok(Step { iteration: self.iteration, objective: self.likelihood, change })
    }

    /// In the data's units.
    fn embedding(&self) -> Embedding {
        let unit = self.structure.unit();
        Embedding::new(self.means().iter().map(|v| v * unit).collect(), self.dim).expect("whole rows")
    }

    fn save(&self, archive: &mut Archive) {
        archive.put("em/iteration", self.iteration as u64);
        let numbering = self.structure.numbering();
        numbering.save(archive, self.variances.len());
        archive.put("em/means", self.means());
        archive.put("em/velocity", numbering.by_points(&self.velocity, self.dim));
        archive.put("em/variances", self.variances());
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        let (means, velocity) = (archive.finite("em/means")?, archive.finite("em/velocity")?);
        let variances = archive.finite("em/variances")?;
        let fits = means.len() == self.means.len()
            && velocity.len() == self.velocity.len()
            && variances.len() == self.variances.len();
        if !fits || variances.iter().any(|v| *v < LEAST_VARIANCE) {
            return Err(archive.bad("the state of the iteration does not fit the data".into()));
        }
        self.iteration = archive.size("em/iteration")?;
        self.means.copy_from_slice(means);
        self.velocity.copy_from_slice(velocity);
        self.variances.copy_from_slice(variances);
        self.room.means_moved();
        if let Some(order) = Numbering::saved(archive, self.variances.len())? {
            let moved = self.structure.adopt(order);
            self.move_rows(&moved);
        }
        self.look();
        Ok(())
    }
}

fn check(what: &'static str, expected: usize, values: &[f64]) -> Result<()> {
    if values.len() != expected || expected == 0 {
        return Err(Error::Shape { what, expected, found: values.len() });
    }
    match values.iter().find(|v| !v.is_finite()) {
        Some(v) => Err(Error::Numerical { what: "a latent variable model", reason: format!("its start holds {v}") }),
        None => Ok(()),
    }
}
