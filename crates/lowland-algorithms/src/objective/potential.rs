//! The kernel sums of an objective: an engine with its buffers, and its error as measured on a sample of points.

use rayon::prelude::*;

use super::pull::squared_distance;
use lowland_core::{Points, Result, Seed};
use lowland_linalg::block::{column_means, dot};
use lowland_nbody::{Exact, Kernel, KernelSum};

/// Points on which an engine's error is measured.
const SAMPLE: usize = 256;
/// Rows handled at once.
const ROWS: usize = 1024;

/// A potential with its gradients at every point of a map.
pub(super) struct Potential {
    engine: Box<dyn KernelSum>,
    sample: Vec<usize>,
    /// The accuracy it works with.
    asked: f64,
    /// What the engine said of its error at the last sum.
    pub bound: Option<f64>,
    /// What its sums have cost so far, in its own operations.
    pub cost: f64,
    /// The map about its mean, in units of the kernel.
    pub places: Vec<f64>,
    /// All one.
    ones: Vec<f64>,
    /// The potential at each point, itself included.
    pub values: Vec<f64>,
    /// Its gradient, by the places.
    pub slopes: Vec<f64>,
}

impl Potential {
    /// For maps of `n` points.
    pub fn new(engine: Box<dyn KernelSum>, n: usize) -> Self {
        // Evenly spread over the rows, from a seeded start: rows are often ordered by class.
        let step = n as f64 / SAMPLE.min(n) as f64;
        let offset = Seed(n as u64).stream("accuracy").0 as f64 / u64::MAX as f64;
        let sample = (0..SAMPLE.min(n)).map(|i| (((i as f64 + offset) * step) as usize).min(n - 1)).collect();
        let (places, values, slopes) = (Vec::new(), Vec::new(), Vec::new());
        Self { engine, sample, asked: f64::NAN, bound: None, cost: 0.0, places, ones: vec![1.0; n], values, slopes }
    }

    /// The engine's name.
    pub fn engine(&self) -> &'static str {
        self.engine.name()
    }

    /// Sets the engine's accuracy; returns whether it is another than the last sums to be kept were made with.
    pub fn ask(&mut self, accuracy: f64) -> bool {
        self.engine.set_accuracy(accuracy);
        std::mem::replace(&mut self.asked, accuracy) != accuracy
    }

    /// Sets the engine's accuracy for a sum that is not kept.
    pub fn try_out(&mut self, accuracy: f64) {
        self.engine.set_accuracy(accuracy);
    }

    /// Takes up a map: about its mean, squared distances divided by `scale`.
    pub fn load(&mut self, y: Points, scale: f64) {
        let (d, n) = (y.dim(), y.rows());
        self.values.resize(n, 0.0);
        self.slopes.resize(n * d, 0.0);
        self.places.resize(n * d, 0.0);
        let mean = column_means(y.values(), d);
        let unit = 1.0 / scale.sqrt();
        self.places.par_chunks_mut(ROWS * d).zip(y.values().par_chunks(ROWS * d)).for_each(|(places, y)| {
            for (place, y) in places.chunks_exact_mut(d).zip(y.chunks_exact(d)) {
                (0..d).for_each(|c| place[c] = (y[c] - mean[c]) * unit);
            }
        });
    }

    /// Fills in the potential of unit charges at the loaded map; returns the sum over ordered pairs of different points.
    pub fn sum(&mut self, kernel: Kernel, dim: usize) -> Result<f64> {
        let Self { engine, places, ones, values, slopes, .. } = self;
        let places = Points::new(places, dim)?;
        let report = engine.potential(kernel, places, places, ones, values, slopes)?;
        self.bound = report.bound;
        self.cost += report.work;
        Ok(self.total(self.ones.len() as f64))
    }

    /// As [`Potential::sum`], with other charges.
    pub fn sum_charges(&mut self, kernel: Kernel, dim: usize, charges: &[f64]) -> Result<()> {
        let places = Points::new(&self.places, dim)?;
        self.cost += self.engine.potential(kernel, places, places, charges, &mut self.values, &mut self.slopes)?.work;
        Ok(())
    }

    /// The potentials' sum but for `itself`: every point meets itself with `K(0) = 1`.
    pub fn total(&self, itself: f64) -> f64 {
        (dot(&self.values, &self.ones) - itself).max(f64::MIN_POSITIVE)
    }

    /// The relative errors, on the sample, of the slopes and of the potential that was summed last with unit charges.
    pub fn errors(&self, kernel: Kernel, d: usize) -> Result<[f64; 2]> {
        if self.bound == Some(0.0) {
            return Ok([0.0; 2]);
        }
        let Self { sample, places, ones, values, slopes, .. } = self;
        let row = |i: usize| i * d..(i + 1) * d;
        let targets: Vec<f64> = sample.iter().flat_map(|&i| &places[row(i)]).copied().collect();
        let (mut exact, mut exact_slopes) = (vec![0.0; sample.len()], vec![0.0; targets.len()]);
        let (targets, places) = (Points::new(&targets, d)?, Points::new(places, d)?);
        Exact.potential(kernel, targets, places, ones, &mut exact, &mut exact_slopes)?;
        let (mut wrong, mut size, mut total_wrong, mut scatter, mut total) = (0.0, 0.0, 0.0f64, 0.0f64, 0.0);
        for (at, &i) in sample.iter().enumerate() {
            total_wrong += values[i] - exact[at];
            scatter += (values[i] - exact[at]).powi(2);
            // What a point is to itself is no part of the sum.
            total += (exact[at] - 1.0).max(0.0);
            wrong += squared_distance(&slopes[row(i)], &exact_slopes[row(at)]);
            size += exact_slopes[row(at)].iter().map(|v| v * v).sum::<f64>();
        }
        // Points in one place push nobody: then nothing can be wrong either.
        let relative = if size > 0.0 { (wrong / size).sqrt() } else { 0.0 };
        // The mean error of the sample, and what it may be off for being a sample.
        Ok([relative, (total_wrong.abs() + scatter.sqrt()) / total.max(f64::MIN_POSITIVE)])
    }
}
