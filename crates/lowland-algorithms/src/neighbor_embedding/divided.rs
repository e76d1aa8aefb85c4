//! A neighbor embedding whose points are divided among several processes, by gradient descent.
//!
//! Each process holds some points, their affinities, and copies of the positions of the points that their affinities lead to. An iteration
//! has three steps, between which the processes exchange a few numbers, their grids, and the positions of points that others have copies of:
//! [`DividedEmbedding::begin`], [`DividedEmbedding::forces`], [`DividedEmbedding::step`]. The sum of what the processes return is the same
//! for any division up to rounding, and the result is that of [`NeighborEmbeddingObjective`](super::NeighborEmbeddingObjective).

use rayon::prelude::*;

use super::energy::EnergyFactors;
use super::{Energy, EnergySchedule};
use crate::objective::squared_distance;
use crate::optim::GradientDescentParams;
use lowland_core::{Error, Points, Result};
use lowland_nbody::{DividedPotential, Exact, KernelSum, PotentialOutput, PotentialRequest};

/// Points per task: fixed, because the order of summation depends on it.
const CHUNK: usize = 1024;
/// Smallest kernel sum in units of the number of points; below it, the subtraction of the points' own part leaves rounding errors.
const MIN_TOTAL: f64 = 1e-13;

/// The affinities of the points of one process, by rows. Columns below the number of points are the points themselves, the others copies.
#[derive(Debug, Clone, PartialEq)]
pub struct DividedAffinities {
    /// Start of each row.
    pub starts: Vec<usize>,
    /// Column of each affinity.
    pub columns: Vec<u32>,
    /// The affinities; those of all processes together sum to one.
    pub values: Vec<f64>,
    /// Number of copies.
    pub copies: usize,
}

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
    /// Positions of the points, then of the copies.
    positions: Vec<f64>,
    update: Vec<f64>,
    gains: Vec<f64>,
    potential: DividedPotential,
    /// Positions of the points in units of the kernel.
    scaled: Vec<f64>,
    values: Vec<f64>,
    gradients: Vec<f64>,
    attraction: Vec<f64>,
}

/// Minimum and maximum of each coordinate.
pub type CoordinateBounds = Vec<[f64; 2]>;

impl DividedEmbedding {
    /// Creates the state of a process whose points are at `start`.
    pub fn new(settings: DividedSettings, affinities: DividedAffinities, start: Vec<f64>) -> Result<Self> {
        let DividedSettings { dim, energy, .. } = settings;
        let own = affinities.starts.len().saturating_sub(1);
        let invalid = |reason: &str| Error::Format { what: "part of an embedding", reason: reason.into() };
        if start.len() != own * dim {
            return Err(Error::Shape { what: "starting positions of a part", expected: own * dim, found: start.len() });
        }
        let entries = affinities.columns.len();
        let rises = affinities.starts.first() == Some(&0)
            && affinities.starts.is_sorted()
            && affinities.starts.last() == Some(&entries)
            && affinities.values.len() == entries;
        if !rises {
            return Err(invalid("the rows of the affinities do not follow each other"));
        }
        let points = own + affinities.copies;
        if affinities.columns.iter().any(|&column| column as usize >= points) {
            return Err(invalid("an affinity leads to a point that is not there"));
        }
        if affinities.values.iter().chain(&start).any(|value| !value.is_finite()) {
            return Err(invalid("an affinity or a position is not finite"));
        }
        let constant = match energy {
            Energy::Elastic { .. } => 0.0,
            _ => affinities.values.iter().filter(|p| **p > 0.0).map(|p| p * p.ln()).sum(),
        };
        let mut positions = start;
        positions.resize(points * dim, 0.0);
        Ok(Self {
            settings,
            constant,
            positions,
            update: vec![0.0; own * dim],
            gains: vec![1.0; own * dim],
            potential: DividedPotential::new(energy.kernel(), dim)?,
            scaled: vec![0.0; own * dim],
            values: vec![0.0; own],
            gradients: vec![0.0; own * dim],
            attraction: vec![0.0; own * dim],
            affinities,
        })
    }

    fn own(&self) -> usize {
        self.values.len()
    }

    /// Positions of the points of this process.
    pub fn positions(&self) -> &[f64] {
        &self.positions[..self.own() * self.settings.dim]
    }

    /// Positions, last step and gains of the points: with them, a run continues as if it had not been interrupted.
    pub fn state(&self) -> [&[f64]; 3] {
        [self.positions(), &self.update, &self.gains]
    }

    /// Restores what [`DividedEmbedding::state`] returned.
    pub fn restore(&mut self, state: [&[f64]; 3]) -> Result<()> {
        let expected = self.update.len();
        if let Some(part) = state.iter().find(|part| part.len() != expected) {
            return Err(Error::Shape { what: "state of a part", expected, found: part.len() });
        }
        self.positions[..expected].copy_from_slice(state[0]);
        self.update.copy_from_slice(state[1]);
        self.gains.copy_from_slice(state[2]);
        Ok(())
    }

    /// Returns the sum of each coordinate, and its bounds.
    pub fn sums_and_bounds(&self) -> (Vec<f64>, CoordinateBounds) {
        let dim = self.settings.dim;
        let mut bounds = vec![[f64::INFINITY, f64::NEG_INFINITY]; dim];
        for point in self.positions().chunks_exact(dim) {
            for (bounds, &x) in bounds.iter_mut().zip(point) {
                *bounds = [bounds[0].min(x), bounds[1].max(x)];
            }
        }
        (column_sums(self.positions(), dim), bounds)
    }

    /// Moves the mean of all points, `mean`, to the origin, and spreads the points over the grid for all points within `bounds`, which are
    /// those before the move. Returns the grid of this process.
    pub fn begin(&mut self, mean: &[f64], bounds: &[[f64; 2]], accuracy: f64) -> Result<Vec<f64>> {
        let DividedSettings { dim, energy, points, .. } = self.settings;
        let unit = 1.0 / energy.scale().sqrt();
        if mean.len() != dim || bounds.len() != dim {
            return Err(Error::Shape { what: "coordinates of the mean", expected: dim, found: mean.len() });
        }
        let own = self.own() * dim;
        self.positions[..own].par_chunks_mut(CHUNK * dim).zip(self.scaled.par_chunks_mut(CHUNK * dim)).for_each(
            |(positions, scaled)| {
                for (position, scaled) in positions.chunks_exact_mut(dim).zip(scaled.chunks_exact_mut(dim)) {
                    for c in 0..dim {
                        position[c] -= mean[c];
                        scaled[c] = position[c] * unit;
                    }
                }
            },
        );
        let bounds: Vec<[f64; 2]> =
            bounds.iter().zip(mean).map(|(bounds, mean)| bounds.map(|bound| (bound - mean) * unit)).collect();
        self.potential.set_grid(accuracy, points, &bounds)?;
        self.potential.spread(Points::new(&self.scaled, dim)?)
    }

    /// Returns the positions of some points, for the copies of other processes.
    pub fn positions_of(&self, points: &[u32]) -> Result<Vec<f64>> {
        let (dim, own) = (self.settings.dim, self.own());
        if let Some(&point) = points.iter().find(|&&point| point as usize >= own) {
            return Err(Error::Shape { what: "points of a part", expected: own, found: point as usize });
        }
        Ok(points.iter().flat_map(|&point| &self.positions[point as usize * dim..][..dim]).copied().collect())
    }

    /// Computes the forces from the sum of the grids and the positions of the copies.
    pub fn forces(&mut self, sum: &[f64], copies: &[f64], with_value: bool) -> Result<ForceSums> {
        let DividedSettings { dim, energy, .. } = self.settings;
        let own = self.own() * dim;
        if copies.len() != self.positions.len() - own {
            let expected = self.positions.len() - own;
            return Err(Error::Shape { what: "positions of copies", expected, found: copies.len() });
        }
        self.positions[own..].copy_from_slice(copies);
        let out = PotentialOutput { values: &mut self.values, gradients: &mut self.gradients };
        self.potential.read(Points::new(&self.scaled, dim)?, sum, out)?;
        let (affinities, positions) = (&self.affinities, &self.positions);
        let values: Vec<f64> = self
            .attraction
            .par_chunks_mut(CHUNK * dim)
            .enumerate()
            .map(|(chunk, out)| attract(energy, affinities, positions, dim, chunk * CHUNK, with_value, out))
            .collect();
        Ok(ForceSums {
            potential: chunked_sum(&self.values),
            attraction: column_sums(&self.attraction, dim),
            repulsion: column_sums(&self.gradients, dim),
            attraction_value: values.iter().sum(),
            constant: self.constant,
            size: self
                .positions()
                .par_chunks(CHUNK)
                .map(|y| y.iter().map(|y| y * y).sum())
                .collect::<Vec<f64>>()
                .iter()
                .sum(),
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
        let own = self.own() * dim;
        let parts: Vec<f64> = self.positions[..own]
            .par_chunks_mut(CHUNK * dim)
            .zip(self.update.par_chunks_mut(CHUNK * dim))
            .zip(self.gains.par_chunks_mut(CHUNK * dim))
            .zip(self.attraction.par_chunks(CHUNK * dim))
            .zip(self.gradients.par_chunks(CHUNK * dim))
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
        Ok(parts.iter().sum())
    }

    /// Returns the exact gradients of the potential of the points of this process at some positions, in units of the kernel: added up over
    /// the processes, they tell the error of those read off the grid.
    pub fn exact_gradients(&self, targets: &[f64]) -> Result<Vec<f64>> {
        let dim = self.settings.dim;
        let (mut values, mut gradients) = (vec![0.0; targets.len() / dim], vec![0.0; targets.len()]);
        let ones = vec![1.0; self.own()];
        let (targets, sources) = (Points::new(targets, dim)?, Points::new(&self.scaled, dim)?);
        let request = PotentialRequest { kernel: self.settings.energy.kernel(), targets, sources, charges: &ones };
        Exact.potential(request, PotentialOutput { values: &mut values, gradients: &mut gradients })?;
        Ok(gradients)
    }

    /// Returns the positions of some points in units of the kernel, and the gradients of the potential that were read off the grid there.
    pub fn grid_gradients(&self, points: &[u32]) -> (Vec<f64>, Vec<f64>) {
        let dim = self.settings.dim;
        let rows = |values: &[f64]| {
            points.iter().flat_map(|&point| values[point as usize * dim..][..dim].to_vec()).collect::<Vec<f64>>()
        };
        (rows(&self.scaled), rows(&self.gradients))
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

/// Sums in chunks, in order.
fn chunked_sum(values: &[f64]) -> f64 {
    values.par_chunks(CHUNK).map(|chunk| chunk.iter().sum()).collect::<Vec<f64>>().iter().sum()
}

/// The sum of each column.
fn column_sums(values: &[f64], dim: usize) -> Vec<f64> {
    let sums = |rows: &[f64]| {
        rows.chunks_exact(dim).fold(vec![0.0; dim], |mut sums, row| {
            sums.iter_mut().zip(row).for_each(|(sum, v)| *sum += v);
            sums
        })
    };
    let parts: Vec<Vec<f64>> = values.par_chunks(CHUNK * dim).map(sums).collect();
    parts.into_iter().fold(vec![0.0; dim], |mut sums, part| {
        sums.iter_mut().zip(part).for_each(|(sum, v)| *sum += v);
        sums
    })
}

#[cfg(test)]
#[path = "divided_tests.rs"]
mod tests;
