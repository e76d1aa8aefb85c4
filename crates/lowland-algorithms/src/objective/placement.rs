//! New points on a fixed map, each by itself: what it would cost in the objective is minimised over its place alone.

use rayon::prelude::*;

use super::Energy;
use super::pull::squared_distance;
use lowland_core::run::Progress;
use lowland_core::{Error, Points, Result};
use lowland_linalg::Csr;
use lowland_nbody::{Kernel, KernelSum};

/// A fixed map that takes new points.
pub struct Placement<'a> {
    /// The map.
    pub map: Points<'a>,
    /// The objective it is a minimum of.
    pub energy: Energy,
    /// Strength of the repulsion by each point of the map, for a new point whose affinities sum to one.
    pub repulsion: f64,
}

/// A row of affinities: the points of the map, and the weights.
pub(super) type Row<'a> = (&'a [u32], &'a [f64]);

/// What a new point's place costs, everything else being held still.
pub(super) trait OnePoint: Sync {
    /// What is known of a row beforehand.
    type State: Send + Sync;
    /// The potentials that [`OnePoint::evaluate`] takes.
    fn sums(&self) -> Vec<Sum<'_>>;
    /// Where a row's search begins.
    fn begin(&self, row: Row) -> (Vec<f64>, Self::State);
    /// Cost and gradient at `place`, where the map has these potentials, each with its gradient. The cost is scaled so
    /// that its Hessian is about 2.
    fn evaluate(&self, place: &[f64], state: &Self::State, row: Row, potentials: &[(f64, &[f64])]) -> (f64, Vec<f64>);
}

/// A potential of the map.
pub(super) struct Sum<'a> {
    /// Of squared distances divided by `scale`.
    pub kernel: Kernel,
    pub scale: f64,
    /// `None`: all one.
    pub charges: Option<&'a [f64]>,
}

/// Points placed together. Each is placed as if it were alone; together they share the passes over the map.
const BATCH: usize = 4096;
/// Evaluations of each point's objective at the most.
const EVALUATIONS: usize = 100;
/// A step this small, relative to the distance from the nearest neighbours' mean, ends the search.
const CLOSE: f64 = 1e-7;

/// One point on its way: damped BFGS in as many dimensions as the map has.
struct Walker {
    place: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
    /// The inverse Hessian as far as it is known, row-major.
    inverse: Vec<f64>,
    trial: Vec<f64>,
    /// The share of the full step that the trial took.
    share: f64,
    /// Typical distance to the neighbours: the unit of length.
    unit: f64,
    done: bool,
}

impl Placement<'_> {
    /// Places a point for each row of `affinities` (over the points of the map, summing to one in each row). `engine` must
    /// give every target the sums it would give it alone.
    pub fn place(&self, affinities: &Csr, engine: &mut dyn KernelSum, progress: &mut Progress) -> Result<Vec<f64>> {
        let n = self.map.rows();
        if affinities.columns() != n {
            return Err(Error::Shape { what: "points of the map", expected: n, found: affinities.columns() });
        }
        place(self, self.map, affinities, engine, progress)
    }
}

/// The place of each row's point, one after the other.
pub(super) fn place<P: OnePoint>(
    points: &P,
    map: Points,
    affinities: &Csr,
    engine: &mut dyn KernelSum,
    progress: &mut Progress,
) -> Result<Vec<f64>> {
    let (n, d) = (map.rows(), map.dim());
    let sums = points.sums();
    let units: Vec<f64> = sums.iter().map(|sum| 1.0 / sum.scale.sqrt()).collect();
    let sources: Vec<Vec<f64>> = units.iter().map(|unit| map.values().iter().map(|v| v * unit).collect()).collect();
    let ones = vec![1.0; n];
    let mut out = Vec::with_capacity(affinities.rows() * d);
    for first in (0..affinities.rows()).step_by(BATCH) {
        let rows: Vec<usize> = (first..(first + BATCH).min(affinities.rows())).collect();
        let begin = |&row: &usize| {
            let (start, state) = points.begin(affinities.row(row));
            (row, Walker::new(map, start, affinities.row(row)), state)
        };
        let mut walkers: Vec<(usize, Walker, P::State)> = rows.par_iter().map(begin).collect();
        for _ in 0..EVALUATIONS {
            progress(first as f64 / affinities.rows() as f64)?;
            let mut active: Vec<_> = walkers.iter_mut().filter(|(_, walker, _)| !walker.done).collect();
            if active.is_empty() {
                break;
            }
            let mut found: Vec<(Vec<f64>, Vec<f64>)> = Vec::with_capacity(sums.len());
            for (sum, (unit, sources)) in sums.iter().zip(units.iter().zip(&sources)) {
                let targets: Vec<f64> =
                    active.iter().flat_map(|(_, walker, _)| walker.trial.iter().map(|v| v * unit)).collect();
                let (mut potential, mut slopes) = (vec![0.0; active.len()], vec![0.0; targets.len()]);
                let (targets, sources) = (Points::new(&targets, d)?, Points::new(sources, d)?);
                let charges = sum.charges.unwrap_or(&ones);
                engine.potential(sum.kernel, targets, sources, charges, &mut potential, &mut slopes)?;
                slopes.iter_mut().for_each(|slope| *slope *= unit);
                found.push((potential, slopes));
            }
            active.par_iter_mut().enumerate().for_each(|(at, (row, walker, state))| {
                let potentials: Vec<(f64, &[f64])> =
                    found.iter().map(|(values, slopes)| (values[at], &slopes[at * d..(at + 1) * d])).collect();
                let (value, gradient) = points.evaluate(&walker.trial, state, affinities.row(*row), &potentials);
                walker.advance(value, gradient);
            });
        }
        walkers.iter().for_each(|(_, walker, _)| out.extend(&walker.place));
    }
    Ok(out)
}

impl OnePoint for Placement<'_> {
    type State = ();

    fn sums(&self) -> Vec<Sum<'_>> {
        vec![Sum { kernel: self.energy.kernel(), scale: self.energy.scale(), charges: None }]
    }

    /// At the mean of the neighbours, weighted by affinity.
    fn begin(&self, (columns, weights): Row) -> (Vec<f64>, ()) {
        let total = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let mut start = vec![0.0; self.map.dim()];
        for (&j, &w) in columns.iter().zip(weights) {
            start.iter_mut().zip(self.map.row(j as usize)).for_each(|(s, y)| *s += w / total * y);
        }
        (start, ())
    }

    fn evaluate(
        &self,
        place: &[f64],
        _: &(),
        (columns, weights): Row,
        potentials: &[(f64, &[f64])],
    ) -> (f64, Vec<f64>) {
        let d = place.len();
        let pull = self.energy.pull();
        let (potential, slopes) = potentials[0];
        let mut value = self.repulsion * potential;
        let mut gradient: Vec<f64> = slopes.iter().map(|slope| self.repulsion * slope).collect();
        for (&j, &w) in columns.iter().zip(weights) {
            let there = self.map.row(j as usize);
            let (f, slope, _) = pull.derivatives(squared_distance(place, there));
            value += w * f;
            for c in 0..d {
                gradient[c] += 2.0 * w * slope * (place[c] - there[c]);
            }
        }
        (value, gradient)
    }
}

impl Walker {
    /// At `start`.
    fn new(map: Points, start: Vec<f64>, (columns, weights): Row) -> Self {
        let d = map.dim();
        let total = weights.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let square = |j: u32| squared_distance(&start, map.row(j as usize));
        let unit = columns.iter().zip(weights).map(|(&j, &w)| w / total * square(j)).sum::<f64>().sqrt();
        Self {
            place: start.clone(),
            value: f64::INFINITY,
            gradient: vec![0.0; d],
            // The attraction of springs, whose weights sum to one, has the Hessian 2.
            inverse: (0..d * d).map(|at| if at / d == at % d { 0.5 } else { 0.0 }).collect(),
            trial: start,
            share: 1.0,
            unit: unit.max(f64::MIN_POSITIVE),
            done: columns.is_empty(),
        }
    }

    /// Takes the trial if it pays, and chooses the next.
    fn advance(&mut self, value: f64, gradient: Vec<f64>) {
        let first = self.value == f64::INFINITY;
        let step: Vec<f64> = self.trial.iter().zip(&self.place).map(|(t, p)| t - p).collect();
        let slope: f64 = step.iter().zip(&self.gradient).map(|(s, g)| s * g).sum();
        if first || value <= self.value + 1e-4 * slope {
            if !first {
                self.learn(&step, &gradient);
            }
            self.place.copy_from_slice(&self.trial);
            (self.value, self.gradient, self.share) = (value, gradient, 1.0);
        } else {
            self.share *= 0.5;
        }
        let d = self.place.len();
        let mut direction: Vec<f64> = (0..d)
            .map(|c| -self.inverse[c * d..(c + 1) * d].iter().zip(&self.gradient).map(|(h, g)| h * g).sum::<f64>())
            .collect();
        // Far steps leap over the neighbourhood that the affinities speak of.
        let length = direction.iter().map(|v| v * v).sum::<f64>().sqrt();
        let limit = (2.0 * self.unit / length).min(1.0) * self.share;
        direction.iter_mut().for_each(|v| *v *= limit);
        self.done = !(length * limit > CLOSE * self.unit);
        self.trial.iter_mut().zip(self.place.iter().zip(&direction)).for_each(|(t, (p, v))| *t = p + v);
    }

    /// The BFGS update of the inverse Hessian.
    fn learn(&mut self, step: &[f64], gradient: &[f64]) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Seed;
    use lowland_nbody::Exact;

    #[test]
    fn a_placed_point_is_at_a_minimum_and_alone() {
        let (n, d) = (200, 2);
        let values = Seed(1).normals(n * d);
        let map = Points::new(&values, d).unwrap();
        let rows = 30;
        let entries = (0..rows).flat_map(|i| (0..8u32).map(move |k| (i, (i * 6 + k * 11) % 200, 0.125)));
        let affinities = Csr::from_triplets(rows as usize, n, entries).unwrap();
        for energy in [Energy::Elastic { lambda: 0.1 }, Energy::SymmetricSne, Energy::StudentSne { dof: 1.5 }] {
            let placement = Placement { map, energy, repulsion: 0.02 };
            let placed = placement.place(&affinities, &mut Exact, &mut |_| Ok(())).unwrap();
            let value = |place: &[f64], row: usize| {
                let attraction: f64 = affinities
                    .row(row)
                    .0
                    .iter()
                    .map(|&j| 0.125 * energy.pull().derivatives(squared_distance(place, map.row(j as usize))).0)
                    .sum();
                let kernel = energy.kernel();
                let squared = |j: usize| squared_distance(place, map.row(j)) / energy.scale();
                attraction + 0.02 * (0..n).map(|j| kernel.value(squared(j))).sum::<f64>()
            };
            for row in 0..rows as usize {
                let place = &placed[row * d..(row + 1) * d];
                let here = value(place, row);
                for (dx, dy) in [(1e-3, 0.0), (-1e-3, 0.0), (0.0, 1e-3), (0.0, -1e-3)] {
                    assert!(value(&[place[0] + dx, place[1] + dy], row) > here, "{energy:?} row {row}");
                }
            }
            let one = Csr::from_triplets(1, n, affinities.iter().filter(|e| e.0 == 7).map(|e| (0, e.1 as u32, e.2)));
            let alone = placement.place(&one.unwrap(), &mut Exact, &mut |_| Ok(())).unwrap();
            assert_eq!(alone, placed[7 * d..8 * d]);
        }
    }
}
