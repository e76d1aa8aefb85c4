//! Elastic embedding, symmetric SNE and t-SNE: attraction along the affinities, repulsion between all pairs.
//!
//! With ordered pairs, `s` the squared distance, `f` the pull and `K` the kernel, the objective is
//! `g sum p f(s) + R`, where `R` is `lambda sum K(s)` (elastic embedding) or `ln sum K(s)` (the others) and `g` the
//! exaggeration. Its gradient is `4 (g sum_j p f'(s) (y_i - y_j) + r sum_j K'(s) (y_i - y_j))`, `r` being `lambda` or
//! one over the sum.

use rayon::prelude::*;

use super::accuracy::Measure;
use super::attraction::Attraction;
use super::potential::Potential;
use super::pull::{Pull, squared_distance};
use super::{AccuracyControl, Change, Field, Objective};
use lowland_core::archive::Archive;
use lowland_core::{Error, Points, Result};
use lowland_linalg::Csr;
use lowland_linalg::block::{column_means, dot};
use lowland_nbody::{Exact, Kernel, KernelSum};

/// Which objective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Energy {
    /// Carreira-Perpiñán (2010): `sum p s + lambda sum w exp(-s)`.
    Elastic {
        /// Strength of the repulsion.
        lambda: f64,
    },
    /// Symmetric SNE (Cook et al. 2007): the Kullback-Leibler divergence from `q ~ exp(-s)`.
    SymmetricSne,
    /// t-SNE: the Kullback-Leibler divergence from `q ~ (1 + s/dof)^-((dof + 1)/2)`.
    StudentSne {
        /// Degrees of freedom; 1 is the usual.
        dof: f64,
    },
}

impl Energy {
    pub(super) fn pull(self) -> Pull {
        match self {
            Self::Elastic { .. } | Self::SymmetricSne => Pull::Spring,
            Self::StudentSne { dof } => Pull::Student { dof },
        }
    }

    /// The number squared distances are divided by before the kernel.
    pub(super) fn scale(self) -> f64 {
        match self {
            Self::StudentSne { dof } => dof,
            _ => 1.0,
        }
    }

    /// The kernel of the repulsion.
    pub fn kernel(self) -> Kernel {
        match self {
            Self::Elastic { .. } | Self::SymmetricSne => Kernel::Gaussian,
            Self::StudentSne { dof } => Kernel::Cauchy { power: (dof + 1.0) / 2.0 },
        }
    }
}

/// What changes along the iterations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// Attraction is this many times stronger at first.
    pub exaggeration: f64,
    /// For so many iterations.
    pub exaggeration_iter: usize,
    /// The elastic embedding's lambda grows to its value in so many stages of ten iterations.
    pub homotopy: usize,
}

/// Iterations at each lambda of a homotopy.
const HOMOTOPY_STAGE: usize = 10;
/// Where a homotopy begins, as a share of lambda.
const HOMOTOPY_START: f64 = 1e-3;

impl Default for Schedule {
    /// Nothing changes.
    fn default() -> Self {
        Self { exaggeration: 1.0, exaggeration_iter: 0, homotopy: 0 }
    }
}

impl Schedule {
    /// Attraction's factor and lambda's at an iteration, counted from 1.
    fn at(&self, iteration: usize) -> (f64, f64) {
        let exaggeration = if iteration <= self.exaggeration_iter { self.exaggeration } else { 1.0 };
        let stage = iteration.saturating_sub(1) / HOMOTOPY_STAGE;
        let left = self.homotopy.saturating_sub(stage) as f64 / self.homotopy.max(1) as f64;
        (exaggeration, HOMOTOPY_START.powf(left))
    }
}

/// Numbers handled at once.
const CHUNK: usize = 1024;

/// The objective with everything it needs.
pub struct NeighborEmbedding {
    energy: Energy,
    attraction: Attraction,
    /// `sum p ln p`, which makes the value a divergence.
    constant: f64,
    potential: Potential,
    /// A weight of repulsion for every pair, row-major, where they are not all alike.
    pairs: Option<Vec<f64>>,
    schedule: Schedule,
    exaggeration: f64,
    /// Lambda's factor in a homotopy.
    strength: f64,
    control: AccuracyControl,
    schedule_ahead: bool,
    /// Size of the repulsive part of the last value: what the engine's error is relative to.
    repulsion_value: f64,
}

impl NeighborEmbedding {
    /// With symmetric weights of attraction that sum to one, and equal repulsion between all pairs.
    pub fn new(energy: Energy, weights: Csr, engine: Box<dyn KernelSum>, control: AccuracyControl) -> Result<Self> {
        let n = weights.rows();
        if weights.columns() != n {
            return Err(Error::Shape { what: "columns of the affinities", expected: n, found: weights.columns() });
        }
        let constant = match energy {
            Energy::Elastic { .. } => 0.0,
            _ => weights.values().iter().filter(|p| **p > 0.0).map(|p| p * p.ln()).sum(),
        };
        Ok(Self {
            energy,
            attraction: Attraction::new(weights),
            constant,
            potential: Potential::new(engine, n),
            pairs: None,
            schedule: Schedule::default(),
            exaggeration: 1.0,
            strength: 1.0,
            control,
            schedule_ahead: false,
            repulsion_value: 0.0,
        })
    }

    /// Changes along the iterations.
    pub fn with_schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = schedule;
        self
    }

    /// A weight of repulsion for every pair (row-major, symmetric, zero on the diagonal) instead of one for all. Only the
    /// elastic embedding has such weights, and only the exact sum can use them.
    pub fn with_repulsion_weights(mut self, weights: Vec<f64>) -> Result<Self> {
        let n = self.attraction.points();
        if weights.len() != n * n {
            return Err(Error::Shape { what: "weights of repulsion", expected: n * n, found: weights.len() });
        }
        if !matches!(self.energy, Energy::Elastic { .. }) {
            let allowed = "uniform: only the elastic embedding has weights of repulsion".into();
            return Err(Error::Parameter { name: "repulsion", value: "distances".into(), allowed });
        }
        self.pairs = Some(weights);
        Ok(self)
    }

    /// How accurate the repulsion has been.
    pub fn control(&self) -> &AccuracyControl {
        &self.control
    }

    /// The error of the last sum that the engine certifies, if it does: relative to the number of points.
    pub fn certified(&self) -> Option<f64> {
        self.potential.bound
    }

    /// What the schedule was still at when the iterations ended, if it was.
    pub fn unfinished(&self) -> Option<&'static str> {
        match self.schedule_ahead {
            true if self.exaggeration != 1.0 => Some("attraction was still exaggerated"),
            true => Some("lambda was still growing"),
            false => None,
        }
    }

    /// What the sums have cost so far, counted in the engine's own operations.
    pub fn cost(&self) -> f64 {
        self.potential.cost
    }

    /// The name of the engine that sums the repulsion.
    pub fn engine(&self) -> &'static str {
        if self.pairs.is_some() { Exact.name() } else { self.potential.engine() }
    }

    /// The kernel sum over ordered pairs of different points at `y`, as [`Field::field`] uses it.
    pub fn kernel_total(&mut self, y: Points) -> Result<f64> {
        self.repel(y, self.energy.kernel())
    }

    /// The trace of the Hessian at `y`, in the time of two gradients. (The traces printed in section 2.1 omit a term.)
    pub fn curvature(&mut self, y: Points) -> Result<f64> {
        let (d, scale) = (y.dim() as f64, self.energy.scale());
        let [slope_sum, bend_sum] = self.attraction.slope_and_bend(self.energy.pull(), y);
        let attraction = 4.0 * self.exaggeration * (d * slope_sum + 2.0 * bend_sum);
        let kernel = self.energy.kernel();
        let (slope, next) = kernel.derivative();
        // sum (d K' + 2 s K'') over ordered pairs. K' is the next kernel's value; K'' is in its slopes, because
        // sum s K = 2 sum_i y_i . sum_j K (y_i - y_j) for any symmetric K.
        let second = self.repel(y, next)?;
        let bend = dot(&self.potential.places, &self.potential.slopes);
        let repulsion = -4.0 * slope / scale * (d * second + 2.0 * bend);
        Ok(attraction
            + match self.energy {
                Energy::Elastic { lambda } => self.strength * lambda * repulsion,
                _ => {
                    let total = self.repel(y, kernel)?;
                    let forces = dot(&self.potential.slopes, &self.potential.slopes) / scale;
                    repulsion / total - 4.0 * forces / total.powi(2)
                }
            })
    }

    /// Fills in the potential of `kernel` and its slopes; returns the sum over ordered pairs of different points.
    fn repel(&mut self, y: Points, kernel: Kernel) -> Result<f64> {
        let potential = &mut self.potential;
        potential.load(y, self.energy.scale());
        let Some(weights) = &self.pairs else { return potential.sum(kernel, y.dim()) };
        let Potential { places, values, slopes, .. } = potential;
        weighted(weights, Points::new(places, y.dim())?, values, slopes);
        potential.bound = Some(0.0);
        Ok(potential.total(0.0))
    }
}

/// The Gaussian potential with a weight for every pair.
fn weighted(weights: &[f64], y: Points, potential: &mut [f64], slopes: &mut [f64]) {
    let (n, d) = (y.rows(), y.dim());
    potential.par_iter_mut().zip(slopes.par_chunks_mut(d)).enumerate().for_each(|(i, (potential, slopes))| {
        *potential = 0.0;
        slopes.fill(0.0);
        for j in (0..n).filter(|&j| j != i) {
            let value = weights[i * n + j] * (-squared_distance(y.row(i), y.row(j))).exp();
            *potential += value;
            slopes.iter_mut().zip(y.row(i).iter().zip(y.row(j))).for_each(|(s, (a, b))| *s -= 2.0 * value * (a - b));
        }
    });
}

impl Field for NeighborEmbedding {
    fn field(&mut self, y: Points, value: bool, out: &mut [f64]) -> Result<Option<f64>> {
        let total = self.repel(y, self.energy.kernel())?;
        let (repulsion, strength) = match self.energy {
            Energy::Elastic { lambda } => (self.strength * lambda * total, self.strength * lambda),
            _ => (total.ln(), 1.0 / total),
        };
        self.repulsion_value = repulsion;
        let attraction = self.attraction.force(self.energy.pull(), y, value, out);
        let exaggeration = self.exaggeration;
        // Each pair is met from both ends, hence the 2; places are in units of the kernel.
        let push = 2.0 * strength / self.energy.scale().sqrt();
        out.par_chunks_mut(CHUNK).zip(self.potential.slopes.par_chunks(CHUNK)).for_each(|(out, slopes)| {
            out.iter_mut().zip(slopes).for_each(|(out, slope)| *out = 4.0 * exaggeration * *out + push * slope);
        });
        if self.potential.bound != Some(0.0) {
            // Forces between points cancel. What an engine's errors leave would move the map as a whole, which nothing stops.
            let mean = column_means(out, y.dim());
            out.par_chunks_mut(CHUNK * y.dim()).for_each(|out| {
                out.chunks_exact_mut(y.dim()).for_each(|out| out.iter_mut().zip(&mean).for_each(|(v, m)| *v -= m));
            });
        }
        Ok(attraction.map(|attraction| exaggeration * attraction + repulsion + self.constant))
    }

    fn prepare(&mut self, iteration: usize, y: Points, value: Option<f64>) -> Result<Change> {
        let before = (self.exaggeration, self.strength);
        (self.exaggeration, self.strength) = self.schedule.at(iteration);
        self.schedule_ahead = self.schedule.at(iteration) != self.schedule.at(usize::MAX);
        self.attraction.prepare(iteration, y);
        let changed = iteration > 1 && before != (self.exaggeration, self.strength);
        if changed {
            self.control.forget();
        }
        // Sums without error need no looking after; whether they have one is known once there was one.
        if self.potential.bound != Some(0.0) && self.control.due(iteration) {
            let mut control = self.control.clone();
            control.look(value.filter(|_| !changed), &mut Looking { embedding: self, y })?;
            self.control = control;
        }
        let other_accuracy = self.potential.ask(self.control.asked());
        Ok(match (changed, other_accuracy) {
            (true, _) => Change::Objective,
            (false, true) => Change::Accuracy,
            (false, false) => Change::Nothing,
        })
    }

    fn changes_ahead(&self) -> bool {
        self.schedule_ahead || (self.potential.bound != Some(0.0) && self.control.coarse())
    }

    fn stuck(&mut self) {
        self.control.refine();
    }

    fn exaggeration(&self) -> f64 {
        self.exaggeration
    }

    fn save(&self, archive: &mut Archive) {
        self.control.save(archive);
        self.attraction.save(archive);
        archive.put("objective/schedule", [self.exaggeration, self.strength].as_slice());
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        self.control.restore(archive)?;
        self.attraction.restore(archive)?;
        self.potential.ask(self.control.asked());
        let &[exaggeration, strength] = archive.finite("objective/schedule")? else {
            return Err(archive.bad("the schedule is not two numbers".into()));
        };
        (self.exaggeration, self.strength) = (exaggeration, strength);
        Ok(())
    }
}

impl Objective for NeighborEmbedding {
    fn attraction(&self) -> Csr {
        self.attraction.matrix()
    }

    fn degrees(&self) -> Vec<f64> {
        self.attraction.degrees()
    }

    fn noise(&self) -> f64 {
        if self.potential.bound == Some(0.0) {
            return 0.0;
        }
        // An error of the sum moves lambda's term by its share, and a logarithm by itself.
        let size = if let Energy::Elastic { .. } = self.energy { self.repulsion_value.abs() } else { 1.0 };
        size * self.control.noise()
    }
}

/// An embedding at a map, for the accuracy control.
struct Looking<'a, 'y> {
    embedding: &'a mut NeighborEmbedding,
    y: Points<'y>,
}

impl Measure for Looking<'_, '_> {
    fn ask(&mut self, accuracy: f64) {
        self.embedding.potential.try_out(accuracy);
    }

    fn errors(&mut self) -> Result<[f64; 2]> {
        let kernel = self.embedding.energy.kernel();
        self.embedding.repel(self.y, kernel)?;
        let [force, total] = self.embedding.potential.errors(kernel, self.y.dim())?;
        // The force is divided by the total (but for the elastic embedding's), and searches compare values made of it.
        Ok([force.max(total), total])
    }

    fn curvature(&mut self) -> Result<f64> {
        self.embedding.curvature(self.y)
    }
}
