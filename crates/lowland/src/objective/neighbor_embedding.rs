//! Elastic embedding, symmetric SNE and t-SNE: attraction along the affinities, repulsion between all pairs.
//!
//! With ordered pairs, `s` the squared distance, `f` the pull and `K` the kernel, the objective is
//! `g sum p f(s) + R`, where `R` is `lambda sum K(s)` (elastic embedding) or `ln sum K(s)` (the others) and `g` the
//! exaggeration. Its gradient is `4 (g sum_j p f'(s) (y_i - y_j) + r sum_j K'(s) (y_i - y_j))`, `r` being `lambda` or
//! one over the sum.

use rayon::prelude::*;

use super::accuracy::Measure;
use super::pull::{Pull, squared_distance};
use super::{AccuracyControl, Field, Objective};
use crate::archive::Archive;
use crate::linalg::Csr;
use crate::linalg::block::column_dots;
use crate::nbody::{Charges, Exact, Kernel, KernelSum, Term, columns};
use crate::points::{Error, Points, Result, Seed};

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

    /// The kernel of the repulsion.
    pub fn kernel(self) -> Kernel {
        self.kernels().value
    }

    /// The number squared distances are divided by before the kernel.
    pub(super) fn scale(self) -> f64 {
        match self {
            Self::StudentSne { dof } => dof,
            _ => 1.0,
        }
    }

    /// The kernel in the value, and its derivatives `K' = -slope * second`, `K'' = bend * third`.
    pub(super) fn kernels(self) -> Kernels {
        match self {
            Self::Elastic { .. } | Self::SymmetricSne => Kernels {
                value: Kernel::Gaussian,
                second: Kernel::Gaussian,
                third: Kernel::Gaussian,
                slope: 1.0,
                bend: 1.0,
            },
            Self::StudentSne { dof } => {
                let power = (dof + 1.0) / 2.0;
                let kernel = |more: f64| Kernel::Cauchy { power: power + more };
                let slope = power / dof;
                let bend = slope * (power + 1.0) / dof;
                Kernels { value: kernel(0.0), second: kernel(1.0), third: kernel(2.0), slope, bend }
            }
        }
    }

    /// The value's kernel with the charge 1, and the force's with all charges; one term if they are the same kernel.
    pub(super) fn terms(self, dim: usize, third: bool) -> Vec<Term> {
        let kernels = self.kernels();
        let force = Term { kernel: if third { kernels.third } else { kernels.second }, charges: 1 + dim };
        if kernels.value == force.kernel {
            vec![force]
        } else {
            vec![Term { kernel: kernels.value, charges: 1 }, force]
        }
    }
}

/// A kernel and its derivatives with respect to the squared distance.
pub(super) struct Kernels {
    pub value: Kernel,
    pub second: Kernel,
    pub third: Kernel,
    pub slope: f64,
    pub bend: f64,
}

/// What changes along the iterations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// Attraction is this many times stronger at first.
    pub exaggeration: f64,
    /// For so many iterations.
    pub exaggeration_iter: usize,
    /// The elastic embedding's lambda grows to its value in so many stages of [`HOMOTOPY_STAGE`] iterations.
    pub homotopy: usize,
}

/// Iterations at each lambda of a homotopy.
pub const HOMOTOPY_STAGE: usize = 10;
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

enum Repulsion {
    /// Every pair counts alike; an engine sums.
    Uniform(Box<dyn KernelSum>),
    /// A weight for every pair, row-major.
    Weighted(Vec<f64>),
}

/// Points on which an engine's error is measured.
const SAMPLE: usize = 256;
/// Rows handled at once: fixed, because the order of a sum depends on it.
const ROWS: usize = 1024;

/// The objective with everything it needs.
pub struct NeighborEmbedding {
    energy: Energy,
    weights: Csr,
    degrees: Vec<f64>,
    /// `sum p ln p`, which makes the value a divergence.
    constant: f64,
    repulsion: Repulsion,
    schedule: Schedule,
    exaggeration: f64,
    /// Lambda's factor in a homotopy.
    strength: f64,
    control: AccuracyControl,
    sample: Vec<usize>,
    changes_ahead: bool,
    /// Size of the repulsive part of the last value: what the engine's error is relative to.
    repulsion_value: f64,
    work: Work,
}

/// Buffers, kept between calls.
#[derive(Default)]
struct Work {
    /// The map about its mean, scaled for the kernel.
    places: Vec<f64>,
    /// `1, y_1 .. y_d` for each point, `y` about its mean.
    charges: Vec<f64>,
    /// The engine's sums.
    sums: Vec<f64>,
    /// `sum_j K(s) (y_i - y_j)` with the second kernel.
    push: Vec<f64>,
}

/// Sums of the repulsion over ordered pairs of different points.
#[derive(Debug, Clone, Copy)]
struct Totals {
    /// `sum K`.
    value: f64,
    /// `sum` of the second kernel.
    second: f64,
}

impl NeighborEmbedding {
    /// With symmetric weights of attraction that sum to one, and equal repulsion between all pairs.
    pub fn new(energy: Energy, weights: Csr, engine: Box<dyn KernelSum>, control: AccuracyControl) -> Result<Self> {
        let n = weights.rows();
        if weights.columns() != n {
            return Err(Error::Shape { what: "columns of the affinities", expected: n, found: weights.columns() });
        }
        let degrees = weights.row_sums();
        let constant = match energy {
            Energy::Elastic { .. } => 0.0,
            _ => weights.values().iter().filter(|p| **p > 0.0).map(|p| p * p.ln()).sum(),
        };
        // Evenly spread over the rows, from a seeded start: rows are often ordered by class.
        let step = n as f64 / SAMPLE.min(n) as f64;
        let offset = Seed(n as u64).stream("accuracy").0 as f64 / u64::MAX as f64;
        let sample = (0..SAMPLE.min(n)).map(|i| (((i as f64 + offset) * step) as usize).min(n - 1)).collect();
        Ok(Self {
            energy,
            weights,
            degrees,
            constant,
            repulsion: Repulsion::Uniform(engine),
            schedule: Schedule::default(),
            exaggeration: 1.0,
            strength: 1.0,
            control,
            sample,
            changes_ahead: false,
            repulsion_value: 0.0,
            work: Work::default(),
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
        let n = self.weights.rows();
        if weights.len() != n * n {
            return Err(Error::Shape { what: "weights of repulsion", expected: n * n, found: weights.len() });
        }
        self.repulsion = Repulsion::Weighted(weights);
        Ok(self)
    }

    /// How accurate the repulsion has been.
    pub fn control(&self) -> &AccuracyControl {
        &self.control
    }

    /// The name of the engine that sums the repulsion.
    pub fn engine(&self) -> &'static str {
        match &self.repulsion {
            Repulsion::Uniform(engine) => engine.name(),
            Repulsion::Weighted(_) => Exact.name(),
        }
    }

    /// The kernel sum over ordered pairs of different points at `y`, as [`Field::field`] uses it.
    pub fn kernel_total(&mut self, y: Points) -> Result<f64> {
        Ok(self.repel(y, false)?.value)
    }

    /// The trace of the Hessian at `y`, in the time of two gradients. (The traces printed in section 2.1 omit a term.)
    pub fn curvature(&mut self, y: Points) -> Result<f64> {
        let d = y.dim() as f64;
        let pull = self.energy.pull().sums(&self.weights, y);
        let attraction = 4.0 * self.exaggeration * (d * pull.slope + 2.0 * pull.bend);
        let Kernels { slope, bend, .. } = self.energy.kernels();
        // sum s K'' over ordered pairs, by sum s K = 2 sum_i y_i . sum_j K (y_i - y_j).
        self.repel(y, true)?;
        let spread = 2.0 * bend * column_dots(y.values(), &self.work.push, 1)[0];
        let totals = self.repel(y, false)?;
        let forces = slope * slope * column_dots(&self.work.push, &self.work.push, 1)[0];
        let repulsion = 4.0 * (2.0 * spread - d * slope * totals.second);
        Ok(attraction
            + match self.energy {
                Energy::Elastic { lambda } => self.strength * lambda * repulsion,
                _ => repulsion / totals.value - 16.0 * forces / totals.value.powi(2),
            })
    }

    /// Sums the repulsion: the totals, and the pushes into the buffer. With `third`, the pushes are by the third kernel.
    fn repel(&mut self, y: Points, third: bool) -> Result<Totals> {
        match &mut self.repulsion {
            Repulsion::Weighted(weights) => Ok(weighted(weights, y, &mut self.work.push)),
            Repulsion::Uniform(engine) => {
                self.work.load(y, self.energy.scale());
                self.work.sum(&mut **engine, &self.energy.terms(y.dim(), third), y.dim())
            }
        }
    }
}

impl Work {
    /// The map about its mean, in units of the kernel, and the charges.
    fn load(&mut self, y: Points, scale: f64) {
        let (d, n) = (y.dim(), y.rows());
        let mean = column_dots(y.values(), &vec![1.0 / n as f64; y.values().len()], d);
        let unit = 1.0 / scale.sqrt();
        self.places.resize(n * d, 0.0);
        self.charges.resize(n * (d + 1), 0.0);
        self.places
            .par_chunks_mut(ROWS * d)
            .zip(self.charges.par_chunks_mut(ROWS * (d + 1)))
            .zip(y.values().par_chunks(ROWS * d))
            .for_each(|((places, charges), y)| {
                for ((place, charge), y) in
                    places.chunks_exact_mut(d).zip(charges.chunks_exact_mut(d + 1)).zip(y.chunks_exact(d))
                {
                    charge[0] = 1.0;
                    for c in 0..d {
                        charge[1 + c] = y[c] - mean[c];
                        place[c] = (y[c] - mean[c]) * unit;
                    }
                }
            });
    }

    fn sum(&mut self, engine: &mut dyn KernelSum, terms: &[Term], d: usize) -> Result<Totals> {
        let n = self.places.len() / d;
        let width = columns(terms);
        self.sums.resize(n * width, 0.0);
        self.push.resize(n * d, 0.0);
        let places = Points::new(&self.places, d)?;
        let charges = Charges { values: &self.charges, per_point: d + 1 };
        engine.sum(terms, places, places, charges, &mut self.sums)?;
        let force = width - (d + 1);
        let parts: Vec<[f64; 2]> = self
            .sums
            .par_chunks(ROWS * width)
            .zip(self.charges.par_chunks(ROWS * (d + 1)))
            .zip(self.push.par_chunks_mut(ROWS * d))
            .map(|((sums, charges), push)| {
                let mut part = [0.0; 2];
                for ((sums, charges), push) in
                    sums.chunks_exact(width).zip(charges.chunks_exact(d + 1)).zip(push.chunks_exact_mut(d))
                {
                    part[0] += sums[0];
                    part[1] += sums[force];
                    for c in 0..d {
                        push[c] = charges[1 + c] * sums[force] - sums[force + 1 + c];
                    }
                }
                part
            })
            .collect();
        // Every point meets itself with K(0) = 1.
        let total = |at: usize| (parts.iter().map(|part| part[at]).sum::<f64>() - n as f64).max(f64::MIN_POSITIVE);
        Ok(Totals { value: total(0), second: total(1) })
    }
}

/// The Gaussian repulsion with a weight for every pair.
fn weighted(weights: &[f64], y: Points, push: &mut Vec<f64>) -> Totals {
    let (n, d) = (y.rows(), y.dim());
    push.resize(n * d, 0.0);
    let rows: Vec<f64> = push
        .par_chunks_mut(d)
        .enumerate()
        .map(|(i, push)| {
            push.fill(0.0);
            let mut total = 0.0;
            for j in (0..n).filter(|&j| j != i) {
                let value = weights[i * n + j] * (-squared_distance(y.row(i), y.row(j))).exp();
                total += value;
                push.iter_mut().zip(y.row(i).iter().zip(y.row(j))).for_each(|(p, (a, b))| *p += value * (a - b));
            }
            total
        })
        .collect();
    let total = rows.iter().sum();
    Totals { value: total, second: total }
}

impl Field for NeighborEmbedding {
    fn field(&mut self, y: Points, value: bool, out: &mut [f64]) -> Result<Option<f64>> {
        let Totals { value: total, .. } = self.repel(y, false)?;
        let slope = self.energy.kernels().slope;
        let (repulsion, strength) = match self.energy {
            Energy::Elastic { lambda } => (self.strength * lambda * total, self.strength * lambda),
            _ => (total.ln(), slope / total),
        };
        self.repulsion_value = repulsion;
        let attraction = self.energy.pull().force(&self.weights, &self.degrees, y, value, out);
        let exaggeration = self.exaggeration;
        out.par_chunks_mut(ROWS).zip(self.work.push.par_chunks(ROWS)).for_each(|(out, push)| {
            out.iter_mut().zip(push).for_each(|(out, push)| *out = 4.0 * (exaggeration * *out - strength * push));
        });
        Ok(attraction.map(|attraction| exaggeration * attraction + repulsion + self.constant))
    }

    fn prepare(&mut self, iteration: usize, y: Points, value: Option<f64>) -> Result<bool> {
        let before = (self.exaggeration, self.strength);
        (self.exaggeration, self.strength) = self.schedule.at(iteration);
        self.changes_ahead = self.schedule.at(iteration + 1) != self.schedule.at(usize::MAX);
        let changed = iteration > 1 && before != (self.exaggeration, self.strength);
        if changed {
            self.control.forget();
        }
        let engine = matches!(&self.repulsion, Repulsion::Uniform(engine) if engine.name() != Exact.name());
        if engine && AccuracyControl::due(iteration) {
            let mut control = self.control.clone();
            control.look(value.filter(|_| !changed), &mut Looking { embedding: self, y })?;
            self.control = control;
        }
        if let Repulsion::Uniform(engine) = &mut self.repulsion {
            engine.set_accuracy(self.control.asked());
        }
        Ok(changed)
    }

    fn changes_ahead(&self) -> bool {
        self.changes_ahead
    }

    fn exaggeration(&self) -> f64 {
        self.exaggeration
    }

    fn save(&self, archive: &mut Archive) {
        self.control.save(archive);
        archive.put("objective/schedule", [self.exaggeration, self.strength].as_slice());
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        self.control.restore(archive)?;
        let &[exaggeration, strength] = archive.finite("objective/schedule")? else {
            return Err(archive.bad("the schedule is not two numbers".into()));
        };
        (self.exaggeration, self.strength) = (exaggeration, strength);
        Ok(())
    }
}

impl Objective for NeighborEmbedding {
    fn attraction(&self) -> &Csr {
        &self.weights
    }

    fn noise(&self) -> f64 {
        if self.engine() == Exact.name() {
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
        if let Repulsion::Uniform(engine) = &mut self.embedding.repulsion {
            engine.set_accuracy(accuracy);
        }
    }

    fn errors(&mut self) -> Result<[f64; 2]> {
        let d = self.y.dim();
        self.embedding.repel(self.y, false)?;
        let Work { places, charges, sums, push } = &self.embedding.work;
        let sample = &self.embedding.sample;
        let targets: Vec<f64> = sample.iter().flat_map(|&i| &places[i * d..(i + 1) * d]).copied().collect();
        let terms = self.embedding.energy.terms(d, false);
        let width = columns(&terms);
        let mut exact = vec![0.0; sample.len() * width];
        let charges = Charges { values: charges, per_point: 1 + d };
        Exact.sum(&terms, Points::new(&targets, d)?, Points::new(places, d)?, charges, &mut exact)?;
        let (mut wrong, mut size, mut total_wrong, mut total) = (0.0, 0.0, 0.0, 0.0);
        for (exact, &i) in exact.chunks_exact(width).zip(sample) {
            total_wrong += sums[i * width] - exact[0];
            total += exact[0];
            let force = &exact[width - 1 - d..];
            for c in 0..d {
                let push_exact = charges.values[i * (1 + d) + 1 + c] * force[0] - force[1 + c];
                wrong += (push[i * d + c] - push_exact).powi(2);
                size += push_exact * push_exact;
            }
        }
        // Points in one place push nobody: then nothing can be wrong either.
        let relative = if size > 0.0 { (wrong / size).sqrt() } else { 0.0 };
        Ok([relative, total_wrong.abs() / total])
    }

    fn curvature(&mut self) -> Result<f64> {
        self.embedding.curvature(self.y)
    }
}
