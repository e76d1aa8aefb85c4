//! The objective of the neighbor embeddings.

use rayon::prelude::*;

use super::attraction::Attraction;
use super::energy::EnergyFactors;
use super::{Energy, EnergySchedule, ScheduleStage};
use crate::density::{DensityTerm, LocalRadii, ScheduledDensity};
use crate::objective::{AccuracyController, KernelPotential, Objective, ObjectiveChange, VectorField};
use lowland_core::archive::Archive;
use lowland_core::{Error, Points, Result};
use lowland_linalg::Csr;
use lowland_linalg::block::{column_means, dot};
use lowland_nbody::KernelSum;

/// The effect of inexact steps on the value of an objective, by theorem 2.1 of Carreira-Perpiñán & Vladymyrov (2014).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictedNoise {
    /// Standard deviation of the perturbation of each coordinate.
    pub deviation: f64,
    /// Trace of the Hessian divided by the number of coordinates. Where it is negative, noise lowers the value.
    pub mean_curvature: f64,
    /// Expected change of the value, half of the variance times the trace (eq 8).
    pub mean_change: f64,
    /// Standard deviation of that change to first order, the perturbation's times the length of the gradient (eq 8).
    pub change_deviation: f64,
    /// The expected change relative to the value (eq 9).
    pub relative_change: f64,
    /// The standard deviation of the change, relative to the value (eq 9).
    pub relative_deviation: f64,
    /// Bound of the absolute expected change relative to the value, for any perturbation (eq 10), where the norm of the Hessian
    /// has a bound that holds for all maps: for the elastic embedding.
    pub relative_bound: Option<f64>,
}

impl PredictedNoise {
    /// Computes the effect of a perturbation of every coordinate with standard deviation `deviation`, where the objective has
    /// this value, squared length of the gradient and trace of the Hessian. `curvature_bound` is a bound of the Hessian's norm.
    pub(super) fn new(
        deviation: f64,
        value: f64,
        squared_gradient: f64,
        trace: f64,
        coordinates: usize,
        curvature_bound: Option<f64>,
    ) -> Self {
        let mean_change = 0.5 * deviation * deviation * trace;
        let change_deviation = deviation * squared_gradient.sqrt();
        let size = value.abs().max(f64::MIN_POSITIVE);
        Self {
            deviation,
            mean_curvature: trace / coordinates as f64,
            mean_change,
            change_deviation,
            relative_change: mean_change / size,
            relative_deviation: change_deviation / size,
            relative_bound: curvature_bound
                .map(|bound| 0.5 * deviation * deviation * coordinates as f64 * bound / size),
        }
    }
}

/// Numbers per task.
const CHUNK: usize = 1024;
/// Largest strength of a point's repulsion: products with kernel sums are finite.
pub(super) const MAX_REPULSION_STRENGTH: f64 = 1e200;

/// An [`Energy`] of a map, with the affinities and the engine that sums the repulsion.
pub struct NeighborEmbeddingObjective {
    energy: Energy,
    attraction: Attraction,
    /// `sum p ln p`, which makes the value a divergence.
    constant: f64,
    potential: KernelPotential,
    schedule: EnergySchedule,
    /// At the current iteration.
    factors: EnergyFactors,
    /// Whether the schedule changes the factors in later iterations.
    schedule_pending: bool,
    /// Repulsive part of the last value: the engine's error is relative to it.
    repulsion_value: f64,
    density: Option<ScheduledDensity>,
}

impl NeighborEmbeddingObjective {
    /// Creates an objective from symmetric weights of attraction that sum to one, with equal repulsion between all pairs.
    pub fn new(
        energy: Energy,
        weights: Csr,
        engine: Box<dyn KernelSum>,
        controller: AccuracyController,
    ) -> Result<Self> {
        let n = weights.rows();
        if weights.columns() != n {
            return Err(Error::Shape { what: "columns of the affinities", expected: n, found: weights.columns() });
        }
        let constant = match energy {
            Energy::Elastic { .. } => 0.0,
            _ => weights.values().iter().filter(|p| **p > 0.0).map(|p| p * p.ln()).sum(),
        };
        let mut potential = KernelPotential::new(engine, n, (energy.kernel(), energy.scale()), controller);
        potential.set_near_pairs(&weights);
        Ok(Self {
            energy,
            attraction: Attraction::new(weights),
            constant,
            potential,
            schedule: EnergySchedule::default(),
            factors: EnergyFactors { exaggeration: 1.0, lambda_factor: 1.0 },
            schedule_pending: false,
            repulsion_value: 0.0,
            density: None,
        })
    }

    /// Sets the changes of the energy along the iterations.
    pub fn with_schedule(mut self, schedule: EnergySchedule) -> Self {
        self.schedule = schedule;
        self.factors = schedule.factors(usize::MAX);
        self
    }

    /// Sets the number of iterations in which an engine that samples the pairs sums the same ones.
    pub fn with_sampling_period(mut self, iterations: usize) -> Self {
        self.potential.set_sampling_period(iterations);
        self
    }

    /// Sets a weight of repulsion for every pair (row-major, symmetric, zero on the diagonal). Only the elastic embedding
    /// supports such weights, and its repulsion is then summed exactly.
    pub fn with_repulsion_weights(mut self, weights: Vec<f64>) -> Result<Self> {
        let n = self.attraction.points();
        if weights.len() != n * n {
            return Err(Error::Shape { what: "weights of repulsion", expected: n * n, found: weights.len() });
        }
        if !matches!(self.energy, Energy::Elastic { .. }) {
            let allowed = "uniform: only the elastic embedding has weights of repulsion".into();
            return Err(Error::Parameter { name: "repulsion", value: "distances".into(), allowed });
        }
        self.potential.set_pair_weights(weights);
        Ok(self)
    }

    /// Subtracts the correlation of local radii, times its weight, in the last of at most `max_iter` iterations.
    pub fn with_density(mut self, term: DensityTerm, max_iter: usize) -> Self {
        self.density = Some(ScheduledDensity::new(term, max_iter));
        self
    }

    /// Returns the local radii of the rows and of the points of a map, if density is preserved.
    pub fn local_radii(&mut self, y: Points) -> Option<LocalRadii> {
        self.density.as_mut().map(|density| density.radii(y))
    }

    /// Returns the state of the repulsion's accuracy control.
    pub fn controller(&self) -> &AccuracyController {
        self.potential.controller()
    }

    /// Returns the bound that the engine certifies for the relative error of the last force, if it does; infinite if the bound
    /// exceeds the force.
    pub fn certified_bound(&self) -> Option<f64> {
        self.potential.force_bound()
    }

    /// Returns the stage of the schedule at the last iteration, if the schedule was not finished.
    pub fn unfinished_stage(&self) -> Option<ScheduleStage> {
        match self.schedule_pending {
            true if self.factors.exaggeration != self.schedule.exaggeration => Some(ScheduleStage::EarlyExaggeration),
            true if self.factors == self.schedule.factors(usize::MAX) => Some(ScheduleStage::Density),
            true => Some(ScheduleStage::Homotopy),
            false => None,
        }
    }

    /// Returns whether the repulsion is that of a sample of the pairs.
    pub fn is_sampled(&self) -> bool {
        self.potential.is_sampled()
    }

    /// Returns the cost of all sums so far, counted in the engine's own operations.
    pub fn cost(&self) -> f64 {
        self.potential.cost()
    }

    /// Returns the name of the engine that sums the repulsion.
    pub fn engine_name(&self) -> &'static str {
        self.potential.engine_name()
    }

    /// Returns the strength of each point's repulsion at `y` for a new point whose affinities sum to one: lambda, or one over
    /// the mean kernel sum of a point, divided by the exaggeration of the attraction.
    pub fn repulsion_strength(&mut self, y: Points) -> Result<f64> {
        let strength = match self.energy {
            Energy::Elastic { lambda } => lambda * y.rows() as f64,
            _ => self.inverse_mean_sum(y)?,
        };
        Ok(strength / self.schedule.exaggeration)
    }

    /// Returns one over the mean kernel sum of a point.
    fn inverse_mean_sum(&mut self, y: Points) -> Result<f64> {
        let (total, exponent) = self.potential.scaled_sum_with(y, self.energy.kernel())?;
        // Beyond this, the repulsion by the map's points no longer depends on it.
        Ok((y.rows() as f64 / total * exponent.exp()).min(MAX_REPULSION_STRENGTH))
    }

    /// Returns the effect that the engine's error has on the value at `y`, at the cost of three gradients.
    ///
    /// The model is that of section 2 of Carreira-Perpiñán & Vladymyrov (2014): a step with an inexact gradient ends at a
    /// perturbed map. The perturbation is taken as that of a fixed-point step, the error of the gradient divided by the
    /// attraction `4 d_i`, whose mean is `4 / n`.
    pub fn predicted_noise(&mut self, y: Points) -> Result<PredictedNoise> {
        let mut gradient = vec![0.0; y.values().len()];
        let value = self.evaluate(y, true, &mut gradient)?.unwrap_or(f64::NAN);
        let strength = match self.energy {
            Energy::Elastic { lambda } => self.factors.lambda_factor * lambda,
            _ => self.inverse_mean_sum(y)? / y.rows() as f64,
        };
        let of_gradient = 2.0 * strength / self.energy.scale().sqrt() * self.potential.gradient_error(y)?;
        let deviation = of_gradient * y.rows() as f64 / (4.0 * self.factors.exaggeration);
        let trace = self.hessian_trace(y)?;
        let bound = self.curvature_bound();
        Ok(PredictedNoise::new(deviation, value, dot(&gradient, &gradient), trace, y.values().len(), bound))
    }

    /// Returns a bound of the spectral norm of the Hessian that holds for all maps, for the elastic embedding with equal
    /// repulsion between all pairs.
    ///
    /// The Hessian of `exp(-|z|^2)` has a norm of at most 2, and a Laplacian one of at most twice the largest degree, or the
    /// number of points if all weights are 1. The other objectives have terms that grow with the map, or bounds that are
    /// too far above their curvature to say anything.
    pub(super) fn curvature_bound(&self) -> Option<f64> {
        let Energy::Elastic { lambda } = self.energy else { return None };
        if self.potential.has_pair_weights() || self.density.is_some() {
            return None;
        }
        let degree = self.attraction.degrees().into_iter().fold(0.0, f64::max);
        let repulsion = 4.0 * self.factors.lambda_factor * lambda * self.attraction.points() as f64;
        Some(8.0 * self.factors.exaggeration * degree + repulsion)
    }

    /// Returns the trace of the Hessian at `y`, at the cost of two gradients. (The traces printed in section 2.1 of
    /// Carreira-Perpiñán & Vladymyrov 2014 omit a term.)
    pub fn hessian_trace(&mut self, y: Points) -> Result<f64> {
        hessian_trace(self.energy, self.factors, &mut self.attraction, &mut self.potential, y)
    }
}

fn hessian_trace(
    energy: Energy,
    factors: EnergyFactors,
    attraction: &mut Attraction,
    potential: &mut KernelPotential,
    y: Points,
) -> Result<f64> {
    let (d, scale) = (y.dim() as f64, energy.scale());
    let [slope_sum, curvature_sum] = attraction.derivative_sums(energy.attraction(), y);
    let attraction = 4.0 * factors.exaggeration * (d * slope_sum + 2.0 * curvature_sum);
    let kernel = energy.kernel();
    let (slope, next) = kernel.derivative();
    // sum (d K' + 2 s K'') over ordered pairs. K' is the next kernel's value; K'' is in its gradients, because
    // sum s K = 2 sum_i y_i . sum_j K (y_i - y_j) for any symmetric K.
    let normalized = !matches!(energy, Energy::Elastic { .. });
    let second = if normalized { potential.scaled_sum_with(y, next)?.0 } else { potential.sum_with(y, next)? };
    let curvature = dot(&potential.coordinates, &potential.gradients);
    let repulsion = -4.0 * slope / scale * (d * second + 2.0 * curvature);
    Ok(attraction
        + match energy {
            Energy::Elastic { lambda } => factors.lambda_factor * lambda * repulsion,
            _ => {
                // Of the kernels, only the Gaussian is scaled, which is its own derivative: both sums have the same factor.
                let (total, _) = potential.scaled_sum_with(y, kernel)?;
                let forces = dot(&potential.gradients, &potential.gradients) / scale;
                repulsion / total - 4.0 * forces / total.powi(2)
            }
        })
}

impl VectorField for NeighborEmbeddingObjective {
    fn evaluate(&mut self, y: Points, with_value: bool, out: &mut [f64]) -> Result<Option<f64>> {
        let EnergyFactors { exaggeration, lambda_factor } = self.factors;
        let (repulsion, strength) = match self.energy {
            Energy::Elastic { lambda } => (lambda_factor * lambda * self.potential.sum(y)?, lambda_factor * lambda),
            _ => {
                let (total, exponent) = self.potential.scaled_sum_with(y, self.energy.kernel())?;
                (total.ln() - exponent, 1.0 / total)
            }
        };
        self.repulsion_value = repulsion;
        let attraction = self.attraction.forces(self.energy.attraction(), y, with_value, out);
        // The factor 2 counts both orders of each pair; the gradients are by coordinates in units of the kernel.
        let repulsion_factor = 2.0 * strength / self.energy.scale().sqrt();
        out.par_chunks_mut(CHUNK).zip(self.potential.gradients.par_chunks(CHUNK)).for_each(|(out, gradients)| {
            out.iter_mut().zip(gradients).for_each(|(out, g)| *out = 4.0 * exaggeration * *out + repulsion_factor * g);
        });
        if !self.potential.is_exact() {
            // Forces between points cancel. The remainder of an engine's errors would move the map as a whole, unopposed.
            let mean = column_means(out, y.dim());
            out.par_chunks_mut(CHUNK * y.dim()).for_each(|out| {
                out.chunks_exact_mut(y.dim()).for_each(|out| out.iter_mut().zip(&mean).for_each(|(v, m)| *v -= m));
            });
        }
        let mut value = attraction.map(|attraction| exaggeration * attraction + repulsion + self.constant);
        if let Some(density) = &mut self.density {
            let term = density.add_gradient(y, out);
            value = value.map(|value| value + term);
        }
        Ok(value)
    }

    fn begin_iteration(&mut self, iteration: usize, y: Points, value: Option<f64>) -> Result<ObjectiveChange> {
        let before = self.factors;
        self.factors = self.schedule.factors(iteration);
        self.schedule_pending = self.factors != self.schedule.factors(usize::MAX);
        self.attraction.begin_iteration(iteration, y);
        let mut changed = before != self.factors;
        if let Some(density) = &mut self.density {
            changed |= density.begin_iteration(iteration);
            self.schedule_pending |= density.is_pending();
        }
        changed &= iteration > 1;
        if changed {
            self.potential.forget_value();
        }
        let Self { energy, factors, attraction, .. } = self;
        let mut curvature =
            |potential: &mut KernelPotential| hessian_trace(*energy, *factors, attraction, potential, y);
        let other_accuracy =
            self.potential.adjust_accuracy(iteration, y, value.filter(|_| !changed), &mut curvature)?;
        Ok(match (changed, other_accuracy) {
            (true, _) => ObjectiveChange::Objective,
            (false, true) => ObjectiveChange::Accuracy,
            (false, false) => ObjectiveChange::None,
        })
    }

    fn has_pending_changes(&self) -> bool {
        self.schedule_pending || (!self.potential.is_exact() && self.controller().is_coarse())
    }

    fn on_stall(&mut self) {
        self.potential.finish_schedule();
    }

    fn exaggeration(&self) -> f64 {
        self.factors.exaggeration
    }

    fn save(&self, archive: &mut Archive) {
        self.potential.save(archive);
        self.attraction.save(archive);
        archive.put("objective/schedule", [self.factors.exaggeration, self.factors.lambda_factor].as_slice());
        if let Some(density) = &self.density {
            density.save(archive);
        }
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        self.potential.restore(archive)?;
        self.attraction.restore(archive)?;
        let &[exaggeration, lambda_factor] = archive.finite("objective/schedule")? else {
            return Err(archive.invalid("the schedule is not two numbers".into()));
        };
        self.factors = EnergyFactors { exaggeration, lambda_factor };
        // A run that is resumed from its last checkpoint ends without another iteration.
        self.schedule_pending = self.factors != self.schedule.factors(usize::MAX);
        if let Some(density) = &mut self.density {
            density.restore(archive)?;
            self.schedule_pending |= density.is_pending();
        }
        Ok(())
    }
}

impl Objective for NeighborEmbeddingObjective {
    fn attraction(&self) -> Csr {
        self.attraction.matrix()
    }

    fn degrees(&self) -> Vec<f64> {
        self.attraction.degrees()
    }

    fn noise(&self) -> f64 {
        // An error of the sum enters the elastic embedding's term in proportion, and a logarithm as it is.
        let size = if let Energy::Elastic { .. } = self.energy { self.repulsion_value.abs() } else { 1.0 };
        size * self.potential.total_error()
    }
}
