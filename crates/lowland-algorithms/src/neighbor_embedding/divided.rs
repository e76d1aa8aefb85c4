//! A neighbor embedding whose points are divided among several processes, by gradient descent.
//!
//! Each process holds some points, their affinities, and copies of the positions of the points that their affinities lead to. An iteration
//! has three steps, between which the processes exchange a few numbers, their grids, and the positions of points that others have copies of:
//! [`DividedPoints::begin`], [`DividedEmbedding::forces`], [`DividedEmbedding::step`]. The sum of what the processes return is the same
//! for any division up to rounding, and the result is that of [`NeighborEmbeddingObjective`](super::NeighborEmbeddingObjective).

use rayon::prelude::*;

use super::energy::EnergyFactors;
use super::{Energy, EnergySchedule};
use crate::objective::{
    DIVIDED_CHUNK as CHUNK, DividedAffinities, DividedPoints, column_sums, restore_parts, squared_distance,
};
use crate::optim::GradientDescentParams;
use lowland_core::{Error, Result};

/// Smallest kernel sum in units of the number of points; below it, the subtraction of the points' own part leaves rounding errors.
const MIN_TOTAL: f64 = 1e-13;

/// What the whole map is, and how it is optimized.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DividedSettings {
    /// The energy; the affinities of all points sum to one.
    pub energy: Energy,
    /// Changes of the energy along the iterations.
    pub schedule: EnergySchedule,
    /// Parameters of the gradient descent.
    pub descent: GradientDescentParams,
    /// Number of points of all processes.
    pub points: usize,
    /// Number of dimensions.
    pub dim: usize,
}

/// Sums over the points of one process, of which all processes need the total.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ForceSums {
    /// Sum of the potentials, the points' own part included.
    pub potential: f64,
    /// Sum of the attractive forces, for each coordinate.
    pub attraction: Vec<f64>,
    /// Sum of the gradients of the potential, for each coordinate.
    pub repulsion: Vec<f64>,
    /// Sum of `p f(s)` over the affinities of the points.
    pub attraction_value: f64,
    /// Sum of `p ln p` over the affinities of the points.
    pub constant: f64,
    /// Sum of the squares of all coordinates.
    pub size: f64,
}

/// The state of one process.
pub struct DividedEmbedding {
    settings: DividedSettings,
    affinities: DividedAffinities,
    constant: f64,
    points: DividedPoints,
    update: Vec<f64>,
    gains: Vec<f64>,
    attraction: Vec<f64>,
}

impl DividedEmbedding {
    /// Creates the state of a process whose points are at `start`.
    pub fn new(settings: DividedSettings, affinities: DividedAffinities, start: Vec<f64>) -> Result<Self> {
        let DividedSettings { dim, energy, points, .. } = settings;
        let constant = match energy {
            Energy::Elastic { .. } => 0.0,
            _ => affinities.values.iter().filter(|p| **p > 0.0).map(|p| p * p.ln()).sum(),
        };
        let points = DividedPoints::new((energy.kernel(), energy.scale()), points, dim, &affinities, start)?;
        let coordinates = points.positions().len();
        Ok(Self {
            settings,
            constant,
            points,
            update: vec![0.0; coordinates],
            gains: vec![1.0; coordinates],
            attraction: vec![0.0; coordinates],
            affinities,
        })
    }

    /// The points of this process.
    pub fn points(&self) -> &DividedPoints {
        &self.points
    }

    /// The points of this process, for [`DividedPoints::begin`] and [`DividedPoints::set_copies`].
    pub fn points_mut(&mut self) -> &mut DividedPoints {
        &mut self.points
    }

    /// Positions, last step and gains of the points: with them, a run continues as if it had not been interrupted.
    pub fn state(&self) -> [&[f64]; 3] {
        [self.points.positions(), &self.update, &self.gains]
    }

    /// Restores what [`DividedEmbedding::state`] returned.
    pub fn restore(&mut self, state: [&[f64]; 3]) -> Result<()> {
        restore_parts([self.points.positions_mut(), &mut self.update, &mut self.gains], state)
    }

    /// Computes the forces from the sum of the grids; the positions of the copies have been set.
    pub fn forces(&mut self, sum: &[f64], with_value: bool) -> Result<ForceSums> {
        let DividedSettings { dim, energy, .. } = self.settings;
        let potential = self.points.read(sum)?;
        let (affinities, positions) = (&self.affinities, self.points.with_copies());
        let values: Vec<f64> = self
            .attraction
            .par_chunks_mut(CHUNK * dim)
            .enumerate()
            .map(|(chunk, out)| attract(energy, affinities, positions, dim, chunk * CHUNK, with_value, out))
            .collect();
        Ok(ForceSums {
            potential,
            attraction: column_sums(&self.attraction, dim),
            repulsion: column_sums(&self.points.gradients, dim),
            attraction_value: values.iter().sum(),
            constant: self.constant,
            size: self.points.size(),
        })
    }

    /// Moves the points along the forces of `iteration`, counted from 1; `total` are the sums of all processes. Returns the sum of the
    /// squared steps.
    pub fn step(&mut self, iteration: usize, total: &ForceSums) -> Result<f64> {
        let DividedSettings { energy, schedule, descent, points, dim } = self.settings;
        let factors = schedule.factors(iteration);
        let [attraction, repulsion] = force_factors(energy, factors, points, total.potential)?;
        let n = points as f64;
        // Forces between points cancel. The remainder of the grid's errors would move the map as a whole, unopposed.
        let mean: Vec<f64> =
            total.attraction.iter().zip(&total.repulsion).map(|(a, r)| (attraction * a + repulsion * r) / n).collect();
        let size = total.size.sqrt();
        let max_step = if descent.max_relative_step.is_finite() {
            (descent.max_relative_step * size / n.sqrt()).clamp(f64::MIN_POSITIVE, descent.max_step)
        } else {
            descent.max_step
        };
        let rate = descent.rate(points, factors.exaggeration);
        // Taken out, because they are borrowed beside the positions.
        let gradients = std::mem::take(&mut self.points.gradients);
        let parts: Vec<f64> = self
            .points
            .positions_mut()
            .par_chunks_mut(CHUNK * dim)
            .zip(self.update.par_chunks_mut(CHUNK * dim))
            .zip(self.gains.par_chunks_mut(CHUNK * dim))
            .zip(self.attraction.par_chunks(CHUNK * dim))
            .zip(gradients.par_chunks(CHUNK * dim))
            .map(|((((y, update), gains), pull), push)| {
                let mut moved = 0.0;
                for i in 0..y.len() {
                    let gradient = attraction * pull[i] + repulsion * push[i] - mean[i % dim];
                    let persists = update[i] * gradient < 0.0;
                    gains[i] = (if persists { gains[i] + 0.2 } else { gains[i] * 0.8 }).max(descent.min_gain);
                    let step = descent.momentum * update[i] - rate * gains[i] * gradient;
                    update[i] = step.clamp(-max_step, max_step);
                    y[i] += update[i];
                    moved += update[i] * update[i];
                }
                moved
            })
            .collect();
        self.points.gradients = gradients;
        Ok(parts.iter().sum())
    }

    /// Returns the value of the objective at the forces of `iteration`.
    pub fn value(&self, iteration: usize, total: &ForceSums) -> f64 {
        let DividedSettings { energy, schedule, points, .. } = self.settings;
        let EnergyFactors { exaggeration, lambda_factor } = schedule.factors(iteration);
        let sum = (total.potential - points as f64).max(MIN_TOTAL * points as f64);
        let repulsion = match energy {
            Energy::Elastic { lambda } => lambda_factor * lambda * sum,
            _ => sum.ln(),
        };
        exaggeration * total.attraction_value + repulsion + total.constant
    }

    /// Returns whether the energy still changes after `iteration`.
    pub fn has_pending_changes(&self, iteration: usize) -> bool {
        let schedule = self.settings.schedule;
        schedule.factors(iteration) != schedule.factors(usize::MAX)
    }
}

/// Returns the factors of the attraction and of the gradients of the potential in the gradient.
fn force_factors(energy: Energy, factors: EnergyFactors, points: usize, potential: f64) -> Result<[f64; 2]> {
    let n = points as f64;
    let sum = potential - n;
    let strength = match energy {
        Energy::Elastic { lambda } => factors.lambda_factor * lambda,
        _ if sum > MIN_TOTAL * n => 1.0 / sum,
        _ => {
            let reason = "all points are so far apart that none repels another; start from a smaller map".into();
            return Err(Error::Numerical { what: "the repulsion", reason });
        }
    };
    // The factor 2 counts both orders of each pair; the gradients are by coordinates in units of the kernel.
    Ok([4.0 * factors.exaggeration, 2.0 * strength / energy.scale().sqrt()])
}

/// Adds up the attraction of the points from `first` on; returns the sum of `p f(s)`.
fn attract(
    energy: Energy,
    affinities: &DividedAffinities,
    positions: &[f64],
    dim: usize,
    first: usize,
    with_value: bool,
    out: &mut [f64],
) -> f64 {
    let mut value = 0.0;
    for (at, out) in out.chunks_exact_mut(dim).enumerate() {
        let i = first + at;
        let own = &positions[i * dim..][..dim];
        out.fill(0.0);
        for at in affinities.starts[i]..affinities.starts[i + 1] {
            let (j, p) = (affinities.columns[at] as usize, affinities.values[at]);
            let other = &positions[j * dim..][..dim];
            let slope = match energy {
                Energy::StudentSne { dof } => {
                    let s = squared_distance(own, other) / dof;
                    if with_value {
                        value += p * 0.5 * (dof + 1.0) * s.ln_1p();
                    }
                    p * (dof + 1.0) / (2.0 * dof) / (1.0 + s)
                }
                _ => {
                    if with_value {
                        value += p * squared_distance(own, other);
                    }
                    p
                }
            };
            for c in 0..dim {
                out[c] += slope * (own[c] - other[c]);
            }
        }
    }
    value
}

#[cfg(test)]
#[path = "divided_tests.rs"]
mod tests;
