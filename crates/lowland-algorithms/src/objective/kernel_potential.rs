//! The potential of a map under a kernel: an engine with its buffers, whose error is measured on a sample of points and
//! kept within a tolerance.

use rayon::prelude::*;

use super::accuracy::AccuracyProbe;
use super::{AccuracyController, ObjectiveChange, squared_distance};
use lowland_core::archive::Archive;
use lowland_core::{Error, Points, Result, Seed};
use lowland_linalg::Csr;
use lowland_linalg::block::{column_means, dot};
use lowland_nbody::{Exact, Kernel, KernelSum, NearPairs, PotentialOutput, PotentialRequest};

/// Number of points on which an engine's error is measured.
const SAMPLE_SIZE: usize = 256;
/// Rows per task.
const ROWS: usize = 1024;
/// The points are isolated if the kernel sum is below this share of the number of points: the sums of an engine contain
/// that number, one for each point itself, and little remains of the rest after its subtraction.
const ISOLATION: f64 = 1e-3;
/// Maximal number of isolated points whose sums are computed pair by pair.
const MAX_ISOLATED: usize = 8192;
/// Name of the number of the sample in a checkpoint.
const ROUND: &str = "objective/round";
/// Relative rounding error of the total of a sample, which is the same in all sums of a round.
const SAMPLE_ROUNDING: f64 = 1e-6;
/// Smallest kernel sum in units of the number of points; below it, the subtraction leaves only rounding errors.
const MIN_TOTAL: f64 = 1e-13;

/// A potential and its gradients at every point of a map, with controlled accuracy.
pub(crate) struct KernelPotential {
    engine: Box<dyn KernelSum>,
    kernel: Kernel,
    /// Squared distances are divided by this before the kernel is applied.
    scale: f64,
    controller: AccuracyController,
    /// Row-major weights of all pairs, if they are not all one.
    pair_weights: Option<Vec<f64>>,
    /// Number of iterations with the same sample, if the engine sums a sample of the pairs.
    sampling_period: usize,
    /// Number of the sample.
    round: u64,
    /// Points on which the error is measured.
    sample: Vec<usize>,
    /// Accuracy of the engine, measurements aside.
    engine_accuracy: f64,
    /// The engine's own bound of the error of the last sum.
    bound: Option<f64>,
    /// The engine's own bound of the relative error of the last gradients, infinite if it exceeds them.
    force_bound: Option<f64>,
    /// Whether the last sum was computed pair by pair, because the points were isolated.
    isolated: bool,
    cost: f64,
    /// The centered map in units of the kernel.
    pub coordinates: Vec<f64>,
    ones: Vec<f64>,
    /// The potential at each point, the point itself included.
    pub values: Vec<f64>,
    /// Gradients of the potential with respect to `coordinates`.
    pub gradients: Vec<f64>,
}

impl KernelPotential {
    /// Creates the potential of maps of `n` points under `kernel`, applied to squared distances divided by `scale`.
    pub fn new(
        engine: Box<dyn KernelSum>,
        n: usize,
        (kernel, scale): (Kernel, f64),
        controller: AccuracyController,
    ) -> Self {
        // Evenly spread over the rows, with a seeded offset: rows are often ordered by class.
        let step = n as f64 / SAMPLE_SIZE.min(n) as f64;
        let offset = Seed(n as u64).stream("accuracy").0 as f64 / u64::MAX as f64;
        let sample = (0..SAMPLE_SIZE.min(n)).map(|i| (((i as f64 + offset) * step) as usize).min(n - 1)).collect();
        Self {
            engine,
            kernel,
            scale,
            controller,
            pair_weights: None,
            sampling_period: 1,
            round: 0,
            sample,
            engine_accuracy: f64::NAN,
            bound: None,
            force_bound: None,
            isolated: false,
            cost: 0.0,
            coordinates: Vec::new(),
            ones: vec![1.0; n],
            values: Vec::new(),
            gradients: Vec::new(),
        }
    }

    /// Sets the weights of all pairs, row-major. The sums are then exact, and their kernel is the Gaussian.
    pub fn set_pair_weights(&mut self, weights: Vec<f64>) {
        self.pair_weights = Some(weights);
    }

    /// Sets the number of iterations in which an engine that samples the pairs sums the same ones.
    pub fn set_sampling_period(&mut self, iterations: usize) {
        self.sampling_period = iterations;
    }

    /// Gives the pairs of a symmetric matrix to an engine that samples, whose samples then always contain them.
    pub fn set_near_pairs(&mut self, affinities: &Csr) {
        let pairs = || NearPairs::new(affinities.indptr().to_vec(), affinities.indices().to_vec());
        self.engine.set_near_pairs(affinities.rows(), &pairs);
    }

    /// Returns whether the pairs have weights.
    pub fn has_pair_weights(&self) -> bool {
        self.pair_weights.is_some()
    }

    /// Returns whether the potential is that of a sample of the pairs.
    pub fn is_sampled(&self) -> bool {
        self.pair_weights.is_none() && self.engine.samples(self.ones.len())
    }

    /// Returns the name of the engine.
    pub fn engine_name(&self) -> &'static str {
        if self.pair_weights.is_some() { Exact.name() } else { self.engine.name() }
    }

    /// Returns the state of the accuracy control.
    pub fn controller(&self) -> &AccuracyController {
        &self.controller
    }

    /// Returns the number that squared distances are divided by.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Returns the engine's own bound of the relative error of the last gradients, if it has one.
    pub fn force_bound(&self) -> Option<f64> {
        self.force_bound
    }

    /// Returns whether the last sum was exact.
    pub fn is_exact(&self) -> bool {
        self.bound == Some(0.0)
    }

    /// Returns the cost of all sums so far, counted in the engine's own operations.
    pub fn cost(&self) -> f64 {
        self.cost
    }

    /// Returns the relative error of the total, as measured last.
    pub fn total_error(&self) -> f64 {
        match self.is_exact() || self.isolated {
            true => 0.0,
            // The error of the sample does not change within a round, where values are compared.
            false if self.is_sampled() => SAMPLE_ROUNDING,
            false => self.controller.value_error(),
        }
    }

    /// Computes the potential of unit charges at `y`; returns its sum over ordered pairs of different points.
    pub fn sum(&mut self, y: Points) -> Result<f64> {
        self.sum_with(y, self.kernel)
    }

    /// Like [`KernelPotential::sum`], with another kernel.
    pub fn sum_with(&mut self, y: Points, kernel: Kernel) -> Result<f64> {
        self.load(y);
        self.isolated = false;
        let Self { engine, coordinates, ones, values, gradients, .. } = self;
        let coordinates = Points::new(coordinates, y.dim())?;
        if let Some(weights) = &self.pair_weights {
            weighted_gaussian(weights, coordinates, values, gradients);
            self.bound = Some(0.0);
            return Ok(self.total(0.0));
        }
        let request = PotentialRequest { kernel, targets: coordinates, sources: coordinates, charges: ones };
        let report = engine.potential(request, PotentialOutput { values, gradients })?;
        self.bound = report.bound;
        self.force_bound = report.force_bound.map(|bound| {
            let size = dot(gradients, gradients).sqrt();
            // Relative to the exact gradients, which are at least this large.
            if bound == 0.0 { 0.0 } else { (bound / (size - bound).max(0.0)).abs() }
        });
        self.cost += report.work;
        // Every point meets itself with `K(0) = 1`.
        Ok(self.total(self.ones.len() as f64))
    }

    /// Like [`KernelPotential::sum_with`], with all results multiplied by the exponential of a number, which is returned after
    /// the sum. It is zero unless all points are far from each other, where a Gaussian sum would vanish.
    pub fn scaled_sum_with(&mut self, y: Points, kernel: Kernel) -> Result<(f64, f64)> {
        let total = self.sum_with(y, kernel)?;
        let n = self.ones.len();
        if total >= ISOLATION * n as f64 || n > MAX_ISOLATED || self.pair_weights.is_some() {
            return Ok((total, 0.0));
        }
        self.isolated = true;
        let Self { coordinates, values, gradients, .. } = self;
        let exponent = isolated_potential(kernel, Points::new(coordinates, y.dim())?, values, gradients);
        Ok((dot(&self.values, &self.ones).max(f64::MIN_POSITIVE), exponent))
    }

    /// Computes the potential of other charges at the map of the last sum.
    pub fn sum_charges(&mut self, dim: usize, charges: &[f64]) -> Result<()> {
        let Self { engine, kernel, coordinates, values, gradients, .. } = self;
        let coordinates = Points::new(coordinates, dim)?;
        let request = PotentialRequest { kernel: *kernel, targets: coordinates, sources: coordinates, charges };
        self.cost += engine.potential(request, PotentialOutput { values, gradients })?.work;
        Ok(())
    }

    /// Measures the error at `y` if a measurement is due at this iteration, and sets the engine's accuracy. Returns whether
    /// the accuracy differs from that of earlier sums. `value` is the objective, and `curvature` computes the trace of its
    /// Hessian; only an accuracy schedule uses them.
    pub fn adjust_accuracy(
        &mut self,
        iteration: usize,
        y: Points,
        value: Option<f64>,
        curvature: &mut dyn FnMut(&mut Self) -> Result<f64>,
    ) -> Result<bool> {
        let sample_changes = self.is_sampled() && self.begin_round((iteration / self.sampling_period) as u64);
        // Exact sums need no control; whether they are exact is known after the first.
        if !self.is_exact() && self.controller.is_due(iteration) {
            let mut controller = self.controller;
            controller.update(iteration, value, &mut PotentialProbe { potential: self, y, curvature })?;
            self.controller = controller;
        }
        Ok(self.apply_accuracy() | sample_changes)
    }

    /// Like [`KernelPotential::adjust_accuracy`], for an accuracy without a schedule.
    pub fn adjust_fixed_accuracy(&mut self, iteration: usize, y: Points) -> Result<ObjectiveChange> {
        let changed = self.adjust_accuracy(iteration, y, None, &mut |_| Ok(f64::NAN))?;
        Ok(if changed { ObjectiveChange::Accuracy } else { ObjectiveChange::None })
    }

    /// Returns the root mean square error of the gradients' coordinates at `y`, measured on the sample.
    pub fn gradient_error(&mut self, y: Points) -> Result<f64> {
        self.sum(y)?;
        let (_, [wrong, _], _) = self.measure_sample(y.dim())?;
        Ok((wrong / (self.sample.len() * y.dim()) as f64).sqrt())
    }

    /// Discards the last value of the objective, which has changed.
    pub fn forget_value(&mut self) {
        self.controller.forget_value();
    }

    /// Ends the accuracy schedule: the tolerance holds from the next iteration on.
    pub fn finish_schedule(&mut self) {
        self.controller.finish_schedule();
    }

    pub fn save(&self, archive: &mut Archive) {
        self.controller.save(archive);
        if self.is_sampled() {
            archive.put(ROUND, [self.round].as_slice());
        }
    }

    pub fn restore(&mut self, archive: &Archive) -> Result<()> {
        self.controller.restore(archive)?;
        if self.is_sampled() {
            let &[round] = archive.u64s(ROUND)? else {
                return Err(archive.invalid("the round is not one number".into()));
            };
            self.begin_round(round);
        }
        self.apply_accuracy();
        Ok(())
    }

    /// Sets the sample; returns whether it was another before.
    fn begin_round(&mut self, round: u64) -> bool {
        self.engine.begin_round(round);
        std::mem::replace(&mut self.round, round) != round
    }

    /// Sets the engine's accuracy to the requested one; returns whether it was another before, measurements aside.
    fn apply_accuracy(&mut self) -> bool {
        let accuracy = self.controller.requested();
        self.engine.set_accuracy(accuracy);
        std::mem::replace(&mut self.engine_accuracy, accuracy) != accuracy
    }

    /// Copies a map to `coordinates`, centered and in units of the kernel.
    fn load(&mut self, y: Points) {
        let (d, n) = (y.dim(), y.rows());
        self.values.resize(n, 0.0);
        self.gradients.resize(n * d, 0.0);
        self.coordinates.resize(n * d, 0.0);
        let mean = column_means(y.values(), d);
        let unit = 1.0 / self.scale.sqrt();
        self.coordinates.par_chunks_mut(ROWS * d).zip(y.values().par_chunks(ROWS * d)).for_each(|(out, y)| {
            for (out, y) in out.chunks_exact_mut(d).zip(y.chunks_exact(d)) {
                (0..d).for_each(|c| out[c] = (y[c] - mean[c]) * unit);
            }
        });
    }

    /// Returns the sum of the potentials less the contributions `own` of points to themselves.
    fn total(&self, own: f64) -> f64 {
        (dot(&self.values, &self.ones) - own).max(MIN_TOTAL * self.ones.len() as f64)
    }

    /// Returns the relative errors, on the sample, of the gradients and of the potential of the last sum with unit charges.
    fn sample_errors(&self, d: usize) -> Result<[f64; 2]> {
        if self.is_exact() {
            return Ok([0.0; 2]);
        }
        let ([total_wrong, scatter], [wrong, size], total) = self.measure_sample(d)?;
        // Coinciding points exert no force, which then has no error either.
        let relative = if size > 0.0 { (wrong / size).sqrt() } else { 0.0 };
        // The mean error on the sample, and the uncertainty of that mean.
        Ok([relative, (total_wrong.abs() + scatter.sqrt()) / total.max(f64::MIN_POSITIVE)])
    }

    /// Returns, for the last sum on the sample: the errors of the values and their squares, the squared errors of the
    /// gradients and the squares of the gradients themselves, and the sum of the values; each summed over the points.
    fn measure_sample(&self, d: usize) -> Result<([f64; 2], [f64; 2], f64)> {
        let Self { kernel, sample, coordinates, ones, values, gradients, .. } = self;
        let row = |i: usize| i * d..(i + 1) * d;
        let targets: Vec<f64> = sample.iter().flat_map(|&i| &coordinates[row(i)]).copied().collect();
        let (mut exact, mut exact_gradients) = (vec![0.0; sample.len()], vec![0.0; targets.len()]);
        let (targets, sources) = (Points::new(&targets, d)?, Points::new(coordinates, d)?);
        let request = PotentialRequest { kernel: *kernel, targets, sources, charges: ones };
        Exact.potential(request, PotentialOutput { values: &mut exact, gradients: &mut exact_gradients })?;
        let (mut wrong, mut size, mut total_wrong, mut scatter, mut total) = (0.0, 0.0, 0.0f64, 0.0f64, 0.0);
        for (at, &i) in sample.iter().enumerate() {
            total_wrong += values[i] - exact[at];
            scatter += (values[i] - exact[at]).powi(2);
            // A point's contribution to itself is no part of the sum.
            total += (exact[at] - 1.0).max(0.0);
            wrong += squared_distance(&gradients[row(i)], &exact_gradients[row(at)]);
            size += exact_gradients[row(at)].iter().map(|v| v * v).sum::<f64>();
        }
        Ok(([total_wrong, scatter], [wrong, size], total))
    }
}

/// Computes the Gaussian potential and its gradients with a weight for every pair.
fn weighted_gaussian(weights: &[f64], y: Points, values: &mut [f64], gradients: &mut [f64]) {
    let (n, d) = (y.rows(), y.dim());
    values.par_iter_mut().zip(gradients.par_chunks_mut(d)).enumerate().for_each(|(i, (total, gradient))| {
        *total = 0.0;
        gradient.fill(0.0);
        for j in (0..n).filter(|&j| j != i) {
            let value = weights[i * n + j] * (-squared_distance(y.row(i), y.row(j))).exp();
            *total += value;
            gradient.iter_mut().zip(y.row(i).iter().zip(y.row(j))).for_each(|(g, (a, b))| *g -= 2.0 * value * (a - b));
        }
    });
}

/// Computes the potential and its gradients without the contributions of points to themselves. The results are multiplied by
/// the exponential of the returned number: for the Gaussian the smallest squared distance, so that nothing vanishes.
fn isolated_potential(kernel: Kernel, y: Points, values: &mut [f64], gradients: &mut [f64]) -> f64 {
    let (n, d) = (y.rows(), y.dim());
    let (slope, next) = kernel.derivative();
    let others = |i: usize| (0..n).filter(move |&j| j != i).map(move |j| (j, squared_distance(y.row(i), y.row(j))));
    let exponent = if kernel == Kernel::Gaussian {
        let nearest: Vec<f64> =
            (0..n).into_par_iter().map(|i| others(i).fold(f64::INFINITY, |least, (_, s)| least.min(s))).collect();
        nearest.into_iter().fold(f64::MAX, f64::min)
    } else {
        0.0
    };
    values.par_iter_mut().zip(gradients.par_chunks_mut(d)).enumerate().for_each(|(i, (total, gradient))| {
        *total = 0.0;
        gradient.fill(0.0);
        for (j, s) in others(i) {
            *total += kernel.value(s - exponent);
            let factor = -2.0 * slope * next.value(s - exponent);
            gradient.iter_mut().zip(y.row(i).iter().zip(y.row(j))).for_each(|(g, (a, b))| *g += factor * (a - b));
        }
    });
    exponent
}

/// A potential at a map, for the accuracy control.
struct PotentialProbe<'a, 'y> {
    potential: &'a mut KernelPotential,
    y: Points<'y>,
    curvature: &'a mut dyn FnMut(&mut KernelPotential) -> Result<f64>,
}

impl AccuracyProbe for PotentialProbe<'_, '_> {
    fn set_accuracy(&mut self, accuracy: f64) {
        self.potential.engine.set_accuracy(accuracy);
    }

    fn errors(&mut self) -> Result<[f64; 2]> {
        self.potential.sum(self.y)?;
        let [force, total] = self.potential.sample_errors(self.y.dim())?;
        // Most objectives divide the force by the total, and line searches compare values that contain it.
        Ok([force.max(total), total])
    }

    fn curvature(&mut self) -> Result<f64> {
        (self.curvature)(self.potential)
    }

    fn work(&mut self, accuracy: f64) -> Result<Option<f64>> {
        self.set_accuracy(accuracy);
        let before = self.potential.cost;
        match self.potential.sum(self.y) {
            Ok(_) => Ok(Some(self.potential.cost - before)),
            Err(Error::Numerical { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn is_sampled(&self) -> bool {
        self.potential.is_sampled()
    }

    fn is_certified(&self) -> bool {
        self.potential.bound.is_some_and(|bound| bound > 0.0)
    }
}
