//! Expectation-maximization with alternating updates (Saul 2020, eqs 18-21, S43).

use rayon::prelude::*;

use super::dissimilar_pairs::{DissimilarPairs, DissimilarWorkspace};
use super::kernel::PairSum;
use super::m_step::{CgStop, CgWorkspace, MStepSystem};
use super::options::{EmOptions, Precision, Variances};
use super::similar_pairs::pack_endpoints;
use super::training_pairs::TrainingPairs;
use lowland_core::archive::Archive;
use lowland_core::run::{Step, Stepper};
use lowland_core::simd::FastFloat;
use lowland_core::{Embedding, Error, MemoryOrder, Points, Result};

/// Lower bound of the variances, in squared units of the median edge; keeps the odds of coinciding points finite.
pub(super) const MIN_VARIANCE: f64 = 1e-10;

/// The state of the EM iteration: means and variances in units of the median edge, and everything needed to update
/// them.
#[derive(Debug, Clone)]
pub struct LvmEm {
    pairs: TrainingPairs,
    dim: usize,
    options: EmOptions,
    iteration: usize,
    /// `mu_i`. In the row order of `pairs`, like all fields below.
    means: Vec<f64>,
    /// The last change of the means.
    velocity: Vec<f64>,
    /// `sigma_i^2`.
    variances: Vec<f64>,
    /// The log-likelihood (eq 6).
    likelihood: f64,
    /// The gradient of the log-likelihood with respect to the means.
    gradient: Vec<f64>,
    /// `W` of eq 18 on the links, and the diagonal of the matrix `L` of eq 19.
    attraction: Vec<f64>,
    diagonal: Vec<f64>,
    workspace: EmWorkspace,
}

/// Buffers reused between steps.
#[derive(Debug, Clone, Default)]
struct EmWorkspace {
    single: DissimilarWorkspace<f32>,
    double: DissimilarWorkspace<f64>,
    cg: CgWorkspace,
    endpoints: Vec<f64>,
    change: Vec<f64>,
    variance_terms: Vec<f64>,
    dissimilar_sums: Vec<f64>,
}

impl EmWorkspace {
    fn invalidate_means(&mut self) {
        self.single.invalidate_means();
        self.double.invalidate_means();
    }
}

impl LvmEm {
    /// Starts from means (row-major) and variances, both in units of the median edge.
    pub fn new(
        pairs: TrainingPairs,
        means: Vec<f64>,
        variances: Vec<f64>,
        dim: usize,
        options: EmOptions,
    ) -> Result<Self> {
        let n = pairs.points();
        check_values("means of a model", n.saturating_mul(dim), &means)?;
        check_values("variances of a model", n, &variances)?;
        let mut em = Self {
            dim,
            options,
            iteration: 0,
            velocity: vec![0.0; means.len()],
            likelihood: 0.0,
            gradient: vec![0.0; means.len()],
            attraction: vec![0.0; pairs.similarity_weights().entries()],
            diagonal: vec![0.0; n],
            workspace: EmWorkspace {
                change: vec![0.0; means.len()],
                variance_terms: vec![0.0; n],
                dissimilar_sums: vec![0.0; n],
                ..EmWorkspace::default()
            },
            pairs,
            means,
            variances: Vec::new(),
        };
        em.set_variances(variances);
        em.e_step();
        Ok(em)
    }

    /// The pairs that define the log-likelihood.
    pub fn pairs(&self) -> &TrainingPairs {
        &self.pairs
    }

    /// Number of iterations so far.
    pub fn iteration(&self) -> usize {
        self.iteration
    }

    /// The means, row-major, in the order of the data.
    pub fn means(&self) -> Vec<f64> {
        self.pairs.numbering().to_original_order(&self.means, self.dim)
    }

    /// The variance of each point, in the order of the data.
    pub fn variances(&self) -> Vec<f64> {
        self.pairs.numbering().to_original_order(&self.variances, 1)
    }

    /// The log-likelihood (eq 6) of the current means and variances.
    pub fn likelihood(&self) -> f64 {
        self.likelihood
    }

    /// The gradient of the log-likelihood with respect to the means.
    pub fn gradient(&self) -> Vec<f64> {
        self.pairs.numbering().to_original_order(&self.gradient, self.dim)
    }

    /// Updates the means only; returns the new log-likelihood.
    pub fn update_means(&mut self) -> f64 {
        self.m_step_means();
        self.e_step();
        self.likelihood
    }

    /// Updates the variances only; returns the new log-likelihood.
    pub fn update_variances(&mut self) -> f64 {
        self.m_step_variances();
        self.e_step();
        self.likelihood
    }

    /// Computes the requested sums over the dissimilar pairs of each point; returns the log-likelihood if it comes
    /// with them.
    fn dissimilar_sums(&mut self, requested: PairSum) -> f64 {
        let out =
            if requested == PairSum::MeanGradient { &mut self.gradient } else { &mut self.workspace.dissimilar_sums };
        let (pairs, means, variances) = (&self.pairs.dissimilar, &self.means, &self.variances);
        match self.options.precision {
            Precision::Single => {
                dissimilar_sums(pairs, requested, means, variances, self.dim, &mut self.workspace.single, out)
            }
            Precision::Double => {
                dissimilar_sums(pairs, requested, means, variances, self.dim, &mut self.workspace.double, out)
            }
        }
    }

    /// The E-step for the means: the log-likelihood, its gradient, and the matrix of eq 19.
    fn e_step(&mut self) {
        let dissimilar_likelihood = self.dissimilar_sums(PairSum::MeanGradient);
        let (dim, dissimilar_pairs) = (self.dim, &self.pairs.dissimilar);
        let similar = &self.pairs.similar;
        let (attraction, diagonal) = (&mut self.attraction, &mut self.diagonal);
        pack_endpoints(&self.means, &self.variances, dim, &mut self.workspace.endpoints);
        let (endpoints, gradient) = (&self.workspace.endpoints, &mut self.gradient);
        let similar_likelihood = match self.options.precision {
            Precision::Single => similar.mean_terms::<f32>(endpoints, dim, attraction, diagonal, gradient),
            Precision::Double => similar.mean_terms::<f64>(endpoints, dim, attraction, diagonal, gradient),
        };
        for ((diagonal, weight), variance) in
            self.diagonal.iter_mut().zip(dissimilar_pairs.weight_sums()).zip(&self.variances)
        {
            *diagonal += weight / variance;
        }
        self.likelihood = similar_likelihood + dissimilar_likelihood;
    }

    /// The update of the means (eqs 20, S43). In terms of the gradient, the system of eq 20 is `L (mu_new - mu) =
    /// gradient`. Leaves [`LvmEm::likelihood`] and [`LvmEm::gradient`] out of date.
    fn m_step_means(&mut self) {
        let weights = self.pairs.similarity_weights();
        let system = MStepSystem {
            indptr: weights.indptr(),
            indices: weights.indices(),
            attraction: &self.attraction,
            diagonal: &self.diagonal,
        };
        let stop = CgStop { reduction: self.options.solve_tolerance, iterations: self.options.solve_iterations };
        let change = &mut self.workspace.change;
        system.solve(self.dim, &mut self.gradient, change, stop, &mut self.workspace.cg);
        let momentum = self.options.momentum;
        for ((mean, velocity), change) in self.means.iter_mut().zip(&mut self.velocity).zip(change) {
            *velocity = *change + momentum * *velocity;
            *mean += *velocity;
        }
        self.workspace.invalidate_means();
    }

    /// The update of the variances (eq 21). With eqs 16 and 17 it becomes `sigma^2 (1 + sigma^2 (sum S (q/s - d)/s -
    /// sum D nu (q/s - d)/s) / (d sum (S + D)))`.
    fn m_step_variances(&mut self) {
        self.dissimilar_sums(PairSum::VarianceGradient);
        let (dim, workspace) = (self.dim, &mut self.workspace);
        self.pairs.similar.variance_terms(&self.means, &self.attraction, dim, &mut workspace.variance_terms);
        let weight_sums = &self.pairs.weight_sums;
        for (i, (updated, dissimilar)) in
            workspace.variance_terms.iter_mut().zip(&workspace.dissimilar_sums).enumerate()
        {
            let variance = self.variances[i];
            *updated = variance * (1.0 + variance * (*updated - dissimilar) / (dim as f64 * weight_sums[i]));
        }
        let updated = std::mem::take(&mut workspace.variance_terms);
        let old = self.set_variances(updated);
        self.workspace.variance_terms = old;
    }

    /// Applies a new row order of the pairs to the state.
    fn permute_rows(&mut self, old_rows: &[u32]) {
        for (values, width) in [(&mut self.means, self.dim), (&mut self.velocity, self.dim), (&mut self.variances, 1)] {
            *values = old_rows.iter().flat_map(|&row| &values[row as usize * width..][..width]).copied().collect();
        }
    }

    /// Replaces the variances and returns the old ones. Tied variances share the maximizer of the same bound, which
    /// is the mean weighted by the total pair weight of each point.
    fn set_variances(&mut self, mut variances: Vec<f64>) -> Vec<f64> {
        if self.options.variances == Variances::Tied {
            let weight_sums = &self.pairs.weight_sums;
            let sum: f64 = variances.iter().zip(weight_sums).map(|(v, m)| v * m).sum();
            let tied = sum / weight_sums.iter().sum::<f64>();
            variances.fill(tied);
        }
        variances.iter_mut().for_each(|v| *v = v.max(MIN_VARIANCE));
        std::mem::replace(&mut self.variances, variances)
    }
}

/// The E-step over dissimilar pairs, with the sums of each point added to `out`.
fn dissimilar_sums<T: FastFloat>(
    pairs: &DissimilarPairs,
    requested: PairSum,
    means: &[f64],
    variances: &[f64],
    dim: usize,
    workspace: &mut DissimilarWorkspace<T>,
    out: &mut [f64],
) -> f64 {
    let likelihood = pairs.evaluate(requested, means, variances, dim, workspace);
    let columns = requested.columns(dim);
    out.par_chunks_mut(columns * 1024).enumerate().for_each(|(task, out)| {
        out.fill(0.0);
        for (local, out) in out.chunks_exact_mut(columns).enumerate() {
            pairs.add_sums(task * 1024 + local, workspace, out);
        }
    });
    likelihood
}

impl Stepper for LvmEm {
    fn step(&mut self) -> Result<Step> {
        let before = self.likelihood;
        self.m_step_means();
        self.m_step_variances();
        self.iteration += 1;
        if let Some(old_rows) = self.pairs.reorder_if_due(self.iteration, Points::new(&self.means, self.dim)?) {
            self.permute_rows(&old_rows);
        }
        self.e_step();
        let change = ((self.likelihood - before) / self.likelihood).abs();
        Ok(Step { iteration: self.iteration, objective: self.likelihood, change })
    }

    /// In the units of the data.
    fn embedding(&self) -> Embedding {
        let unit = self.pairs.unit();
        Embedding::new(self.means().iter().map(|v| v * unit).collect(), self.dim).expect("whole rows")
    }

    fn save(&self, archive: &mut Archive) {
        archive.put("em/iteration", self.iteration as u64);
        let numbering = self.pairs.numbering();
        numbering.save(archive, self.variances.len());
        archive.put("em/means", self.means());
        archive.put("em/velocity", numbering.to_original_order(&self.velocity, self.dim));
        archive.put("em/variances", self.variances());
    }

    fn restore(&mut self, archive: &Archive) -> Result<()> {
        let (means, velocity) = (archive.finite("em/means")?, archive.finite("em/velocity")?);
        let variances = archive.finite("em/variances")?;
        let fits = means.len() == self.means.len()
            && velocity.len() == self.velocity.len()
            && variances.len() == self.variances.len();
        if !fits || variances.iter().any(|v| *v < MIN_VARIANCE) {
            return Err(archive.invalid("the state of the iteration does not fit the data".into()));
        }
        self.iteration = archive.size("em/iteration")?;
        self.means.copy_from_slice(means);
        self.velocity.copy_from_slice(velocity);
        self.variances.copy_from_slice(variances);
        self.workspace.invalidate_means();
        if let Some(order) = MemoryOrder::load(archive, self.variances.len())? {
            let old_rows = self.pairs.set_order(order);
            self.permute_rows(&old_rows);
        }
        self.e_step();
        Ok(())
    }
}

fn check_values(what: &'static str, expected: usize, values: &[f64]) -> Result<()> {
    if values.len() != expected || expected == 0 {
        return Err(Error::Shape { what, expected, found: values.len() });
    }
    match values.iter().find(|v| !v.is_finite()) {
        Some(v) => Err(Error::Numerical { what: "a latent variable model", reason: format!("its start holds {v}") }),
        None => Ok(()),
    }
}
