//! Minimization over the coordinates of single points: damped BFGS for many points at once, which share the passes over
//! the map.

use rayon::prelude::*;

use super::MapField;
use crate::objective::squared_distance;
use lowland_core::run::{Progress, in_batches};
use lowland_core::{Points, Result};
use lowland_linalg::Csr;
use lowland_nbody::{Exact, Kernel, KernelSum, PotentialOutput, PotentialRequest};

/// A row of affinities: points of the map, and weights.
pub(crate) type AffinityRow<'a> = (&'a [u32], &'a [f64]);

/// An objective of one new point's coordinates, everything else being fixed.
pub(crate) trait PointObjective: Sync {
    /// Quantities of a row that are computed once.
    type State: Send + Sync;
    /// Returns the potentials that [`PointObjective::evaluate`] needs.
    fn potentials(&self) -> Vec<MapPotential<'_>>;
    /// Returns the coordinates where a row's search begins, and the row's state.
    fn start(&self, row: AffinityRow) -> (Vec<f64>, Self::State);
    /// Returns value and gradient at `point`, where the map has these potentials, each with its gradient. The value is
    /// scaled so that its Hessian is about 2.
    fn evaluate(
        &self,
        point: &[f64],
        state: &Self::State,
        row: AffinityRow,
        potentials: &[(f64, &[f64])],
    ) -> (f64, Vec<f64>);
}

/// A potential of the map's points.
pub(crate) struct MapPotential<'a> {
    /// Applied to squared distances divided by `scale`.
    pub kernel: Kernel,
    pub scale: f64,
    /// `None` if all are one.
    pub charges: Option<&'a [f64]>,
}

/// How the potentials of the map are computed.
#[derive(Clone, Copy)]
pub enum MapSums<'a> {
    /// Sums over all points of the map.
    Exact,
    /// From a field for each potential.
    Interpolated(&'a [MapField]),
}

/// Returns a field for each potential of an objective; `None` if there is none for one of them.
pub(crate) fn fields_of<P: PointObjective>(
    objective: &P,
    map: Points,
    tolerance: f64,
) -> Result<Option<Vec<MapField>>> {
    let mut fields = Vec::new();
    for potential in objective.potentials() {
        match MapField::new(map, &potential, tolerance)? {
            Some(field) => fields.push(field),
            None => return Ok(None),
        }
    }
    Ok(Some(fields))
}

/// Number of points whose searches share the passes over the map; the results do not depend on it.
const BATCH: usize = 4096;
/// Maximal number of evaluations for each point.
const MAX_EVALUATIONS: usize = 100;
/// The search ends with a step this small, relative to the typical distance to the neighbors.
const STEP_TOLERANCE: f64 = 1e-7;

/// Returns the minimizing coordinates for each row of affinities, one point after the other.
pub(crate) fn minimize_points<P: PointObjective>(
    objective: &P,
    map: Points,
    affinities: &Csr,
    sums: MapSums,
    progress: &mut Progress,
) -> Result<Vec<f64>> {
    let terms = PotentialTerms::new(map, objective.potentials());
    match sums {
        MapSums::Exact => minimize_together(objective, map, affinities, &terms, progress),
        MapSums::Interpolated(fields) => {
            let rows = in_batches(affinities.rows(), progress, |row| {
                minimize_alone(objective, map, affinities.row(row), fields, &terms)
            })?;
            Ok(rows.into_iter().flatten().collect())
        }
    }
}

/// The potentials of a map, ready to be summed.
struct PotentialTerms<'a> {
    potentials: Vec<MapPotential<'a>>,
    /// The map in units of each kernel.
    sources: Vec<Vec<f64>>,
    ones: Vec<f64>,
    dim: usize,
}

impl<'a> PotentialTerms<'a> {
    fn new(map: Points, potentials: Vec<MapPotential<'a>>) -> Self {
        let in_units = |term: &MapPotential| map.values().iter().map(|v| v / term.scale.sqrt()).collect();
        let sources = potentials.iter().map(in_units).collect();
        Self { potentials, sources, ones: vec![1.0; map.rows()], dim: map.dim() }
    }

    /// Computes one of the potentials and its gradients at some points, laid end to end.
    fn sum(&self, at: usize, points: impl Iterator<Item = f64>) -> Result<(Vec<f64>, Vec<f64>)> {
        let term = &self.potentials[at];
        let unit = 1.0 / term.scale.sqrt();
        let targets: Vec<f64> = points.map(|v| v * unit).collect();
        let (mut values, mut gradients) = (vec![0.0; targets.len() / self.dim], vec![0.0; targets.len()]);
        let (targets, sources) = (Points::new(&targets, self.dim)?, Points::new(&self.sources[at], self.dim)?);
        let charges = term.charges.unwrap_or(&self.ones);
        let request = PotentialRequest { kernel: term.kernel, targets, sources, charges };
        Exact.potential(request, PotentialOutput { values: &mut values, gradients: &mut gradients })?;
        gradients.iter_mut().for_each(|gradient| *gradient *= unit);
        Ok((values, gradients))
    }
}

/// Returns the minimizing coordinates for one row; the potentials are interpolated, and summed where the grid ends.
fn minimize_alone<P: PointObjective>(
    objective: &P,
    map: Points,
    row: AffinityRow,
    fields: &[MapField],
    terms: &PotentialTerms,
) -> Vec<f64> {
    let (point, state) = objective.start(row);
    let mut search = PointSearch::new(map, point, row);
    for _ in 0..MAX_EVALUATIONS {
        if search.done {
            break;
        }
        let potential = |(at, field): (usize, &MapField)| match field.at(&search.trial) {
            Some(found) => found,
            None => {
                let (values, gradients) = terms.sum(at, search.trial.iter().copied()).expect("sizes that fit");
                (values[0], [gradients[0], gradients[1]])
            }
        };
        let found: Vec<(f64, [f64; 2])> = fields.iter().enumerate().map(potential).collect();
        let potentials: Vec<(f64, &[f64])> = found.iter().map(|(value, slopes)| (*value, &slopes[..])).collect();
        let (value, gradient) = objective.evaluate(&search.trial, &state, row, &potentials);
        search.advance(value, gradient);
    }
    search.point
}

/// Returns the minimizing coordinates for all rows, with exact sums for many of them at once.
fn minimize_together<P: PointObjective>(
    objective: &P,
    map: Points,
    affinities: &Csr,
    terms: &PotentialTerms,
    progress: &mut Progress,
) -> Result<Vec<f64>> {
    let d = map.dim();
    let mut out = Vec::with_capacity(affinities.rows() * d);
    for first in (0..affinities.rows()).step_by(BATCH) {
        let rows: Vec<usize> = (first..(first + BATCH).min(affinities.rows())).collect();
        let start = |&row: &usize| {
            let (point, state) = objective.start(affinities.row(row));
            (row, PointSearch::new(map, point, affinities.row(row)), state)
        };
        let mut searches: Vec<(usize, PointSearch, P::State)> = rows.par_iter().map(start).collect();
        for _ in 0..MAX_EVALUATIONS {
            progress(first as f64 / affinities.rows() as f64)?;
            let mut active: Vec<_> = searches.iter_mut().filter(|(_, search, _)| !search.done).collect();
            if active.is_empty() {
                break;
            }
            let trials = || active.iter().flat_map(|(_, search, _)| search.trial.iter().copied());
            let found: Vec<(Vec<f64>, Vec<f64>)> =
                (0..terms.potentials.len()).map(|at| terms.sum(at, trials())).collect::<Result<_>>()?;
            active.par_iter_mut().enumerate().for_each(|(at, (row, search, state))| {
                let potentials: Vec<(f64, &[f64])> =
                    found.iter().map(|(values, gradients)| (values[at], &gradients[at * d..(at + 1) * d])).collect();
                let (value, gradient) = objective.evaluate(&search.trial, state, affinities.row(*row), &potentials);
                search.advance(value, gradient);
            });
        }
        searches.iter().for_each(|(_, search, _)| out.extend(&search.point));
    }
    Ok(out)
}

/// The search for one point: damped BFGS in the dimension of the map.
struct PointSearch {
    /// The best coordinates so far, with value and gradient.
    point: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
    /// Approximation of the inverse Hessian, row-major.
    inverse: Vec<f64>,
    /// Coordinates to be evaluated next.
    trial: Vec<f64>,
    /// Share of the full step that the trial takes.
    share: f64,
    /// Typical distance to the neighbors: the unit of length.
    unit: f64,
    done: bool,
}

impl PointSearch {
    /// Starts a search at `start`.
    fn new(map: Points, start: Vec<f64>, (columns, weights): AffinityRow) -> Self {
        let d = map.dim();
        let total = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let square = |j: u32| squared_distance(&start, map.row(j as usize));
        let unit = columns.iter().zip(weights).map(|(&j, &w)| w / total * square(j)).sum::<f64>().sqrt();
        Self {
            point: start.clone(),
            value: f64::INFINITY,
            gradient: vec![0.0; d],
            // A quadratic attraction whose weights sum to one has the Hessian 2.
            inverse: (0..d * d).map(|at| if at / d == at % d { 0.5 } else { 0.0 }).collect(),
            trial: start,
            share: 1.0,
            unit: unit.max(f64::MIN_POSITIVE),
            done: columns.is_empty(),
        }
    }

    /// Accepts the trial if its value is sufficiently low, and chooses the next trial.
    fn advance(&mut self, value: f64, gradient: Vec<f64>) {
        let first = self.value == f64::INFINITY;
        let step: Vec<f64> = self.trial.iter().zip(&self.point).map(|(t, p)| t - p).collect();
        let slope: f64 = step.iter().zip(&self.gradient).map(|(s, g)| s * g).sum();
        if first || value <= self.value + 1e-4 * slope {
            if !first {
                self.update_inverse(&step, &gradient);
            }
            self.point.copy_from_slice(&self.trial);
            (self.value, self.gradient, self.share) = (value, gradient, 1.0);
        } else {
            self.share *= 0.5;
        }
        let d = self.point.len();
        let mut direction: Vec<f64> = (0..d)
            .map(|c| -self.inverse[c * d..(c + 1) * d].iter().zip(&self.gradient).map(|(h, g)| h * g).sum::<f64>())
            .collect();
        // Long steps would leave the neighborhood that the affinities describe.
        let length = direction.iter().map(|v| v * v).sum::<f64>().sqrt();
        let limit = (2.0 * self.unit / length).min(1.0) * self.share;
        direction.iter_mut().for_each(|v| *v *= limit);
        self.done = !(length * limit > STEP_TOLERANCE * self.unit);
        self.trial.iter_mut().zip(self.point.iter().zip(&direction)).for_each(|(t, (p, v))| *t = p + v);
    }

    /// Applies the BFGS update to the inverse Hessian.
    fn update_inverse(&mut self, step: &[f64], gradient: &[f64]) {
        let d = step.len();
        let change: Vec<f64> = gradient.iter().zip(&self.gradient).map(|(a, b)| a - b).collect();
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let curvature = product(step, &change);
        if !(curvature > 1e-10 * (product(step, step) * product(&change, &change)).sqrt()) {
            return;
        }
        let image: Vec<f64> = (0..d).map(|c| product(&self.inverse[c * d..(c + 1) * d], &change)).collect();
        let along = (1.0 + product(&change, &image) / curvature) / curvature;
        for a in 0..d {
            for b in 0..d {
                self.inverse[a * d + b] +=
                    along * step[a] * step[b] - (image[a] * step[b] + step[a] * image[b]) / curvature;
            }
        }
    }
}
