//! The loss that the sampled layout descends on average, without the noise of the samples.

use rayon::prelude::*;

use lowland_core::archive::Archive;
use lowland_core::{Points, Result};
use lowland_linalg::Csr;
use lowland_linalg::block::column_means;
use lowland_nbody::{KernelSum, PotentialOutput, PotentialRequest};

use super::SimilarityCurve;
use super::all_pairs;
use super::close_pairs::ClosePairs;
use super::far_field::FarField;
use crate::density::{LocalRadii, ScheduledDensity};
use crate::objective::{Objective, ObjectiveChange, VectorField, squared_distance};

/// Rows per task: fixed, because the order of summation depends on it.
const ROWS: usize = 256;
/// Error that the engine is asked for, relative to the sum of a kernel.
const ACCURACY: f64 = 1e-4;
/// Error of sums over all pairs in single precision.
const PAIRS_ACCURACY: f64 = 1e-6;
/// Up to this number of points, the repulsion is summed pair by pair, which is faster than the engine's sums of several kernels.
const MAX_PAIRS: usize = 10_000;

/// The expected loss of a layout, per attraction: with the memberships `p` of the edges, which sum to one here, degrees `d_i`, and `m` repelling
/// points for each attraction (Damrich & Hamprecht 2021),
///
/// ```text
/// sum p_ij ln(1 + a s^b) + strength m / (2 n) sum_i d_i sum_j G(s_ij),     G = -ln(1 - 1 / (1 + a s^b)),
/// ```
///
/// where both sums are over ordered pairs. The factor of the repulsion is that of a layout in which only one end of a sampled pair moves,
/// as in umap-learn: there, a point is repelled in proportion to its own degree, which is the mean of both ends here.
pub struct ExpectedLoss {
    weights: Csr,
    curve: SimilarityCurve,
    /// Factor of the repulsion of each point.
    charges: Vec<f64>,
    far: FarField,
    engine: Box<dyn KernelSum>,
    /// Whether the repulsion is summed pair by pair, without the engine.
    by_pairs: bool,
    density: Option<ScheduledDensity>,
    /// Repulsive part of the last value.
    repulsion: f64,
    coordinates: Vec<f64>,
    ones: Vec<f64>,
    values: Vec<f64>,
    gradients: Vec<f64>,
}

impl ExpectedLoss {
    /// Creates the loss of layouts of a symmetric graph; `repulsion` is the strength of the repulsion times the number of repelling points
    /// for each attraction.
    pub fn new(
        mut graph: Csr,
        curve: SimilarityCurve,
        repulsion: f64,
        mut engine: Box<dyn KernelSum>,
        density: Option<ScheduledDensity>,
    ) -> Result<Self> {
        let (n, total) = (graph.rows(), graph.values().iter().sum::<f64>().max(f64::MIN_POSITIVE));
        graph.scale(1.0 / total);
        let charges = graph.row_sums().iter().map(|degree| repulsion * degree / (2.0 * n as f64)).collect();
        engine.set_accuracy(ACCURACY);
        Ok(Self {
            weights: graph,
            curve,
            charges,
            far: FarField::new(curve)?,
            engine,
            by_pairs: n <= MAX_PAIRS,
            density,
            repulsion: 0.0,
            coordinates: Vec::new(),
            ones: vec![1.0; n],
            values: vec![0.0; n],
            gradients: Vec::new(),
        })
    }

    /// Returns the local radii of the rows and of the points of a map, if they are needed.
    pub fn local_radii(&mut self, y: Points) -> Option<LocalRadii> {
        self.density.as_mut().map(|density| density.radii(y))
    }

    /// Writes the gradient of the attraction to `out`; returns its value.
    fn attract(&self, y: Points, out: &mut [f64]) -> f64 {
        let (d, SimilarityCurve { a, b }, weights) = (y.dim(), self.curve, &self.weights);
        let parts: Vec<f64> = out
            .par_chunks_mut(ROWS * d)
            .enumerate()
            .map(|(chunk, out)| {
                let mut sum = 0.0;
                for (at, out) in out.chunks_exact_mut(d).enumerate() {
                    let i = chunk * ROWS + at;
                    out.fill(0.0);
                    let (columns, values) = weights.row(i);
                    for (&j, p) in columns.iter().zip(values) {
                        let (own, other) = (y.row(i), y.row(j as usize));
                        let s = squared_distance(own, other);
                        if s > 0.0 {
                            let x = a * s.powf(b);
                            sum += p * x.ln_1p();
                            let slope = 4.0 * p * b * x / (s * (1.0 + x));
                            out.iter_mut().zip(own.iter().zip(other)).for_each(|(out, (u, v))| *out += slope * (u - v));
                        }
                    }
                }
                sum
            })
            .collect();
        parts.iter().sum()
    }

    /// Adds the gradient of the smooth part of the repulsion; returns its value. The gradient at a point consists of its own charge in the field of
    /// unit charges, and of a unit charge in the field of the charges.
    fn repel_far(&mut self, y: Points, out: &mut [f64]) -> Result<f64> {
        let (d, scale) = (y.dim(), 1.0 / self.far.unit.sqrt());
        let mean = column_means(y.values(), d);
        self.coordinates.clear();
        let rows = y.values().chunks_exact(d);
        self.coordinates.extend(rows.flat_map(|row| row.iter().zip(&mean).map(|(v, m)| (v - m) * scale)));
        self.gradients.resize(out.len(), 0.0);
        let Self { engine, coordinates, ones, charges, values, gradients, far, .. } = self;
        let points = Points::new(coordinates, d)?;
        let mut total = 0.0;
        for (kernel, coefficient) in far.kernels() {
            for of_ones in [true, false] {
                let sources = if of_ones { &*ones } else { &*charges };
                let request = PotentialRequest { kernel, targets: points, sources: points, charges: sources };
                engine.potential(request, PotentialOutput { values, gradients })?;
                if of_ones {
                    // A point does not repel itself.
                    total += coefficient * charges.iter().zip(&*values).map(|(q, v)| q * (v - 1.0)).sum::<f64>();
                }
                let rows = out.chunks_exact_mut(d).zip(gradients.chunks_exact(d)).zip(&*charges);
                for ((out, gradient), charge) in rows {
                    let factor = coefficient * scale * if of_ones { *charge } else { 1.0 };
                    out.iter_mut().zip(gradient).for_each(|(out, g)| *out += factor * g);
                }
            }
        }
        Ok(total)
    }

    /// Adds the gradient of what close pairs have besides; returns its value.
    fn repel_close(&self, y: Points, out: &mut [f64]) -> f64 {
        let (far, charges) = (&self.far, &self.charges);
        ClosePairs::new(y, far.close()).sum(y, out, |i, j, s, out| {
            let (rest, slope) = far.rest(s);
            let factor = 2.0 * (charges[i] + charges[j]) * slope;
            out.iter_mut().zip(y.row(i).iter().zip(y.row(j))).for_each(|(out, (u, v))| *out += factor * (u - v));
            charges[i] * rest
        })
    }
}

impl VectorField for ExpectedLoss {
    fn evaluate(&mut self, y: Points, _with_value: bool, out: &mut [f64]) -> Result<Option<f64>> {
        let attraction = self.attract(y, out);
        self.repulsion = if self.by_pairs {
            all_pairs::repel(self.curve, y, &self.charges, out)
        } else {
            self.repel_far(y, out)? + self.repel_close(y, out)
        };
        let density = self.density.as_mut().map_or(0.0, |density| density.add_gradient(y, out));
        Ok(Some(attraction + self.repulsion + density))
    }

    fn begin_iteration(&mut self, iteration: usize, _: Points, _: Option<f64>) -> Result<ObjectiveChange> {
        let changed = self.density.as_mut().is_some_and(|density| density.begin_iteration(iteration));
        Ok(if changed && iteration > 1 { ObjectiveChange::Objective } else { ObjectiveChange::None })
    }

    fn has_pending_changes(&self) -> bool {
        self.density.as_ref().is_some_and(ScheduledDensity::is_pending)
    }

    fn save(&self, archive: &mut Archive) {
        if let Some(density) = &self.density {
            density.save(archive);
        }
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        self.density.as_mut().map_or(Ok(()), |density| density.restore(archive))
    }
}

impl Objective for ExpectedLoss {
    fn attraction(&self) -> Csr {
        self.weights.clone()
    }

    fn degrees(&self) -> Vec<f64> {
        self.weights.row_sums()
    }

    fn noise(&self) -> f64 {
        self.repulsion.abs() * if self.by_pairs { PAIRS_ACCURACY } else { ACCURACY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::density::{DensityParams, DensityTerm};
    use lowland_core::Seed;
    use lowland_nbody::{Engine, Exact, Kernel, new_engine};

    fn graph(n: usize) -> Csr {
        let links = (0..n as u32).flat_map(move |i| (1..=5).map(move |k| (i, (i * 7 + k * k) % n as u32)));
        let both = links.filter(|(i, j)| i != j).flat_map(|(i, j)| [(i, j), (j, i)]);
        let mut all: Vec<(u32, u32)> = both.collect();
        all.sort_unstable();
        all.dedup();
        Csr::from_triplets(n, n, all.into_iter().map(|(i, j)| (i, j, 0.1 + f64::from((i + j) % 4)))).unwrap()
    }

    fn loss(n: usize, engine: Box<dyn KernelSum>, density: bool) -> ExpectedLoss {
        let curve = SimilarityCurve::fit(0.1, 1.0).unwrap();
        let density = density.then(|| {
            let params = DensityParams { weight: 0.8, share: 1.0, shift: 0.1 };
            let lengths = graph(n).map(|i, j, _| 1.0 + ((i * j) % 3) as f64);
            ScheduledDensity::new(DensityTerm::new(&graph(n), &lengths, curve, params), 10)
        });
        ExpectedLoss { by_pairs: false, ..ExpectedLoss::new(graph(n), curve, 5.0, engine, density).unwrap() }
    }

    /// The loss as its definition says, pair by pair.
    fn definition(loss: &ExpectedLoss, y: Points) -> f64 {
        let SimilarityCurve { a, b } = loss.curve;
        let s = |i: usize, j: usize| squared_distance(y.row(i), y.row(j));
        let attraction: f64 = loss.weights.iter().map(|(i, j, p)| p * (a * s(i, j).powf(b)).ln_1p()).sum();
        let n = y.rows();
        let pairs = (0..n).flat_map(|i| (0..n).filter(move |&j| j != i).map(move |j| (i, j)));
        attraction + pairs.map(|(i, j)| loss.charges[i] * loss.far.loss(s(i, j)).0).sum::<f64>()
    }

    #[test]
    fn the_value_is_that_of_the_definition_and_the_gradient_its_derivative() {
        for d in 1..=3 {
            let n = 60;
            let y: Vec<f64> = Seed(d as u64).normals(n * d).iter().map(|v| 1.5 * v).collect();
            let mut loss = loss(n, Box::new(Exact), false);
            let mut gradient = vec![0.0; n * d];
            let value = loss.evaluate(Points::new(&y, d).unwrap(), true, &mut gradient).unwrap().unwrap();
            let exact = definition(&loss, Points::new(&y, d).unwrap());
            assert!((value / exact - 1.0).abs() < 2e-3, "{d}: {value} {exact}");
            let largest = gradient.iter().fold(0.0f64, |most, g| most.max(g.abs()));
            for at in 0..n * d {
                let moved = |step: f64| {
                    let mut y = y.clone();
                    y[at] += step;
                    definition(&loss, Points::new(&y, d).unwrap())
                };
                let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!((difference - gradient[at]).abs() < 3e-3 * largest, "{d}, {at}: {difference} {}", gradient[at]);
            }
        }
    }

    #[test]
    fn sums_over_all_pairs_are_those_of_the_definition() {
        for d in 1..=3 {
            let n = 150;
            // Some points at one place, and a map far from the origin.
            let mut y: Vec<f64> = Seed(d as u64).normals(n * d).iter().map(|v| 100.0 + 3.0 * v).collect();
            y.copy_within(0..5 * d, 20 * d);
            let y = Points::new(&y, d).unwrap();
            let loss = loss(n, Box::new(Exact), false);
            let mut gradient = vec![0.5; n * d];
            let value = all_pairs::repel(loss.curve, y, &loss.charges, &mut gradient);
            let (mut sum, mut expected) = (0.0, vec![0.5; n * d]);
            for (i, j) in (0..n).flat_map(|i| (0..n).filter(move |&j| j != i).map(move |j| (i, j))) {
                let (exact, slope) = loss.far.loss(squared_distance(y.row(i), y.row(j)));
                sum += loss.charges[i] * exact;
                for c in 0..d {
                    expected[i * d + c] +=
                        2.0 * (loss.charges[i] + loss.charges[j]) * slope * (y.row(i)[c] - y.row(j)[c]);
                }
            }
            assert!((value / sum - 1.0).abs() < 1e-5, "{value} {sum}");
            let largest = expected.iter().fold(0.0f64, |most, g| most.max((g - 0.5).abs()));
            gradient.iter().zip(&expected).for_each(|(a, b)| assert!((a - b).abs() < 1e-4 * largest, "{a} {b}"));
        }
    }

    #[test]
    fn density_takes_part_from_its_iteration_on_and_an_engine_agrees_with_exact_sums() {
        let n = 400;
        let y: Vec<f64> = Seed(7).normals(2 * n).iter().map(|v| 3.0 * v).collect();
        let y = Points::new(&y, 2).unwrap();
        let at = |loss: &mut ExpectedLoss| {
            let mut gradient = vec![0.0; 2 * n];
            (loss.evaluate(y, true, &mut gradient).unwrap().unwrap(), gradient)
        };
        let (plain, mut dense) = (at(&mut loss(n, Box::new(Exact), false)), loss(n, Box::new(Exact), true));
        dense.begin_iteration(1, y, None).unwrap();
        assert!(!dense.has_pending_changes() && at(&mut dense).0 != plain.0);
        for engine in [Engine::Fft, Engine::BarnesHut] {
            let engine = new_engine(engine, 2, Kernel::Cauchy { power: 0.9 }).unwrap();
            let (value, gradient) = at(&mut loss(n, engine, false));
            assert!((value / plain.0 - 1.0).abs() < 1e-3, "{value} {}", plain.0);
            let size: f64 = plain.1.iter().map(|g| g * g).sum();
            let error: f64 = gradient.iter().zip(&plain.1).map(|(a, b)| (a - b).powi(2)).sum();
            assert!(error < 1e-4 * size, "{error} {size}");
        }
    }
}
