//! The fitted state of a model: the transform of new rows and its inverse.

use super::bound::copy_lower_to_upper;
use super::psi_statistics::{InducingKernel, KernelGradient};
use crate::objective::{Objective, VectorField};
use crate::optim::{Lbfgs, Optimizer};
use lowland_core::archive::Archive;
use lowland_core::{Points, Result};
use lowland_linalg::Csr;

/// The fitted state of a model, for the transform of new rows and predictions at new latent coordinates.
#[derive(Debug, Clone, PartialEq)]
pub struct GplvmState {
    kernel: InducingKernel,
    precision: f64,
    columns: usize,
    /// The derivative of the bound with respect to `Psi2`.
    grad_psi2: Vec<f64>,
    /// `A^-1 C`.
    inducing_coefficients: Vec<f64>,
}

impl GplvmState {
    /// Builds the state from its saved parts.
    pub fn new(
        kernel: InducingKernel,
        precision: f64,
        columns: usize,
        grad_psi2: Vec<f64>,
        inducing_coefficients: Vec<f64>,
    ) -> Self {
        Self { kernel, precision, columns, grad_psi2, inducing_coefficients }
    }

    /// Returns whether the sizes of the parts agree, for latent coordinates of `dim` dimensions.
    pub fn is_consistent(&self, dim: usize) -> bool {
        let m = self.kernel.inducing.len().checked_div(dim).unwrap_or(0);
        self.kernel.weights.len() == dim
            && m > 0
            && self.kernel.inducing.len() == m * dim
            && self.grad_psi2.len() == m * m
            && self.inducing_coefficients.len() == m * self.columns
    }

    /// The kernel and the inducing points.
    pub fn kernel(&self) -> &InducingKernel {
        &self.kernel
    }

    /// The kernel's weight of each dimension: zero for dimensions that are not needed.
    pub fn weights(&self) -> &[f64] {
        &self.kernel.weights
    }

    /// The inverse variance of the noise.
    pub fn precision(&self) -> f64 {
        self.precision
    }

    /// The derivative of the bound with respect to `Psi2`.
    pub fn grad_psi2(&self) -> &[f64] {
        &self.grad_psi2
    }

    /// `A^-1 C`: the coefficients of the inducing points for each column.
    pub fn inducing_coefficients(&self) -> &[f64] {
        &self.inducing_coefficients
    }

    /// Predicts the row at the given latent coordinates: `beta k(x, Z) A^-1 C`.
    pub fn predict(&self, latent: &[f64], out: &mut [f64]) {
        let m = self.kernel.inducing_count();
        let mut psi1 = vec![0.0; m];
        self.kernel.add_psi_statistics(latent, &vec![0.0; latent.len()], &mut psi1, &mut vec![0.0; m * m]);
        out.fill(0.0);
        for (weight, row) in psi1.iter().zip(self.inducing_coefficients.chunks_exact(self.columns)) {
            out.iter_mut().zip(row).for_each(|(out, v)| *out += self.precision * weight * v);
        }
    }

    /// Fits the latent coordinates of a new row with everything else fixed, starting from the given mean and
    /// variances. Returns the mean, the variances and the row's contribution to the bound.
    pub fn transform_row(&self, row: &[f64], mean: &[f64], variance: &[f64]) -> Result<(Vec<f64>, Vec<f64>, f64)> {
        /// Maximum number of steps of the optimizer.
        const MAX_STEPS: usize = 60;
        let dim = mean.len();
        let mut new = NewRowBound {
            state: self,
            grad_psi1: self.psi1_gradient(row),
            sum_of_squares: row.iter().map(|v| v * v).sum(),
        };
        let mut parameters: Vec<f64> = mean.iter().copied().chain(variance.iter().map(|s| s.ln())).collect();
        let mut lbfgs = Lbfgs::default();
        let mut best = f64::INFINITY;
        for _ in 0..MAX_STEPS {
            let report = lbfgs.step(&mut new, &mut parameters, 1)?;
            best = report.value.unwrap_or(best);
            if report.change < 1e-9 {
                break;
            }
        }
        let variance = parameters.split_off(dim).iter().map(|v| v.exp()).collect();
        Ok((parameters, variance, -best * self.columns as f64))
    }

    /// The derivative of the bound with respect to the row's `Psi1`: `beta^2 A^-1 C y`.
    fn psi1_gradient(&self, row: &[f64]) -> Vec<f64> {
        let dot = |coefficients: &[f64]| coefficients.iter().zip(row).map(|(a, b)| a * b).sum::<f64>();
        let rows = self.inducing_coefficients.chunks_exact(self.columns);
        rows.map(|coefficients| self.precision * self.precision * dot(coefficients)).collect()
    }
}

/// The contribution of one row to the bound, as a function of its latent coordinates.
struct NewRowBound<'a> {
    state: &'a GplvmState,
    grad_psi1: Vec<f64>,
    sum_of_squares: f64,
}

impl VectorField for NewRowBound<'_> {
    fn evaluate(&mut self, y: Points, _value: bool, out: &mut [f64]) -> Result<Option<f64>> {
        let GplvmState { kernel, precision, columns, grad_psi2, .. } = self.state;
        let (m, dim, columns) = (kernel.inducing_count(), y.rows() / 2, *columns as f64);
        let (mean, logs) = y.values().split_at(dim);
        let variance: Vec<f64> = logs.iter().map(|v| v.exp()).collect();
        let (mut psi1, mut psi2) = (vec![0.0; m], vec![0.0; m * m]);
        kernel.add_psi_statistics(mean, &variance, &mut psi1, &mut psi2);
        copy_lower_to_upper(&mut psi2, m);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let divergence: f64 = 0.5 * mean.iter().zip(&variance).map(|(m, s)| m * m + s - s.ln() - 1.0).sum::<f64>();
        let value = 0.5 * columns * (precision.ln() - (2.0 * std::f64::consts::PI).ln() - precision * kernel.signal)
            - 0.5 * precision * self.sum_of_squares
            + dot(&self.grad_psi1, &psi1)
            + dot(grad_psi2, &psi2)
            - divergence;
        let mut gradient = KernelGradient::new(kernel);
        kernel.add_gradient(mean, &variance, &self.grad_psi1, grad_psi2, &mut gradient);
        for c in 0..dim {
            out[c] = (mean[c] - gradient.mean[c]) / columns;
            out[dim + c] = (0.5 * (variance[c] - 1.0) - variance[c] * gradient.variance[c]) / columns;
        }
        Ok(Some(if value.is_finite() { -value / columns } else { f64::INFINITY }))
    }

    fn save(&self, _archive: &mut Archive) {}

    fn restore(&mut self, _archive: &Archive) -> Result<()> {
        Ok(())
    }
}

impl Objective for NewRowBound<'_> {
    fn attraction(&self) -> Csr {
        Csr::from_triplets(0, 0, []).expect("an empty matrix")
    }

    fn degrees(&self) -> Vec<f64> {
        vec![1.0; 2 * self.state.kernel.weights.len()]
    }

    fn noise(&self) -> f64 {
        0.0
    }
}
