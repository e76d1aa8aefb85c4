//! The variational bound (Titsias & Lawrence 2010, eqs 14-18) and its gradient, with the posterior of the inducing
//! variables eliminated at its optimum.

use rayon::prelude::*;

use super::psi_statistics::{InducingKernel, KernelGradient};
use super::state::GplvmState;
use crate::objective::{Objective, VectorField};
use lowland_core::archive::Archive;
use lowland_core::{Error, Points, Result};
use lowland_linalg::Csr;
use lowland_linalg::dense::{Cholesky, product_nn, product_nt, product_tn_add};

/// The sizes of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GplvmSizes {
    /// Number of points.
    pub rows: usize,
    /// Number of dimensions of the map.
    pub dim: usize,
    /// Number of inducing points.
    pub inducing: usize,
}

impl GplvmSizes {
    /// Number of parameters of a model: means, log variances, inducing points, and the logarithms of the kernel's
    /// weights, of its signal variance and of the noise precision.
    pub fn parameter_count(&self) -> usize {
        2 * self.rows * self.dim + self.inducing * self.dim + self.dim + 2
    }
}

/// Rows per task.
const ROWS_PER_TASK: usize = 32;
/// Added to the kernel's diagonal, relative to it, so that it can be inverted.
const JITTER: f64 = 1e-6;

/// The bound as a function of all parameters of a model. As an objective it is negated and divided by the number of
/// values of the data.
#[derive(Debug, Clone)]
pub struct VariationalBound {
    data: Vec<f64>,
    columns: usize,
    sizes: GplvmSizes,
    sum_of_squares: f64,
}

/// The parameters of a model, unpacked.
struct BoundParameters<'a> {
    means: &'a [f64],
    variances: Vec<f64>,
    inducing_kernel: InducingKernel,
    precision: f64,
}

/// The value of the bound and its derivatives with respect to the quantities it is computed from.
struct BoundTerms {
    value: f64,
    kernel: Vec<f64>,
    grad_psi1: Vec<f64>,
    grad_psi2: Vec<f64>,
    grad_kernel: Vec<f64>,
    grad_precision: f64,
    /// `A^-1 C`.
    inducing_coefficients: Vec<f64>,
}

impl VariationalBound {
    /// Builds the bound for rows whose columns have mean zero.
    pub fn new(data: Vec<f64>, columns: usize, sizes: GplvmSizes) -> Result<Self> {
        if data.len() != sizes.rows * columns || columns == 0 {
            return Err(Error::Shape { what: "rows of the data", expected: sizes.rows * columns, found: data.len() });
        }
        let sum_of_squares = data.iter().map(|v| v * v).sum();
        Ok(Self { data, columns, sizes, sum_of_squares })
    }

    /// The rows, row-major.
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    fn unpack<'a>(&self, parameters: &'a [f64]) -> BoundParameters<'a> {
        let GplvmSizes { rows, dim, inducing } = self.sizes;
        let (means, rest) = parameters.split_at(rows * dim);
        let (variances, rest) = rest.split_at(rows * dim);
        let (points, rest) = rest.split_at(inducing * dim);
        let exp = |values: &[f64]| values.iter().map(|v| v.exp()).collect::<Vec<f64>>();
        let inducing_kernel =
            InducingKernel { weights: exp(&rest[..dim]), signal: rest[dim].exp(), inducing: points.to_vec() };
        BoundParameters { means, variances: exp(variances), inducing_kernel, precision: rest[dim + 1].exp() }
    }

    /// The bound at the given parameters (larger is better).
    pub fn value(&self, parameters: &[f64]) -> Result<f64> {
        Ok(self.terms(&self.unpack(parameters))?.value)
    }

    fn terms(&self, state: &BoundParameters) -> Result<BoundTerms> {
        let (m, columns) = (self.sizes.inducing, self.columns as f64);
        let (n, beta, inducing_kernel) = (self.sizes.rows as f64, state.precision, &state.inducing_kernel);
        let dim = self.sizes.dim;
        let mut psi1 = vec![0.0; self.sizes.rows * m];
        let latents = state.means.par_chunks(ROWS_PER_TASK * dim).zip(state.variances.par_chunks(ROWS_PER_TASK * dim));
        let sums: Vec<Vec<f64>> = psi1
            .par_chunks_mut(ROWS_PER_TASK * m)
            .zip(latents)
            .map(|(psi1, (means, variances))| {
                let mut psi2 = vec![0.0; m * m];
                let latents = means.chunks_exact(dim).zip(variances.chunks_exact(dim));
                for (psi1, (mean, variance)) in psi1.chunks_exact_mut(m).zip(latents) {
                    inducing_kernel.add_psi_statistics(mean, variance, psi1, &mut psi2);
                }
                psi2
            })
            .collect();
        let mut psi2 = vec![0.0; m * m];
        sums.iter().for_each(|sum| psi2.iter_mut().zip(sum).for_each(|(total, v)| *total += v));
        copy_lower_to_upper(&mut psi2, m);
        let mut kernel = inducing_kernel.kernel();
        (0..m).for_each(|a| kernel[a * m + a] *= 1.0 + JITTER);
        let joint: Vec<f64> = kernel.iter().zip(&psi2).map(|(k, s)| k + beta * s).collect();
        let (kernel_factor, joint_factor) = (Cholesky::new(&kernel, m)?, Cholesky::new(&joint, m)?);
        let (kernel_inverse, inverse) = (kernel_factor.inverse(), joint_factor.inverse());
        // C = Psi1' Y and A^-1 C.
        let mut projected = vec![0.0; m * self.columns];
        product_tn_add(&psi1, &self.data, self.sizes.rows, &mut projected);
        let mut inducing_coefficients = projected.clone();
        joint_factor.solve(&mut inducing_coefficients, self.columns);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (explained, trace) = (dot(&projected, &inducing_coefficients), dot(&kernel_inverse, &psi2));
        let psi0 = n * inducing_kernel.signal;
        let divergence: f64 =
            0.5 * state.means.iter().zip(&state.variances).map(|(mean, s)| mean * mean + s - s.ln() - 1.0).sum::<f64>();
        let value = 0.5
            * columns
            * (n * (beta.ln() - (2.0 * std::f64::consts::PI).ln()) + kernel_factor.log_determinant()
                - joint_factor.log_determinant()
                - beta * psi0
                + beta * trace)
            - 0.5 * beta * self.sum_of_squares
            + 0.5 * beta * beta * explained
            - divergence;
        let mut outer = vec![0.0; m * m];
        product_nt(&inducing_coefficients, &inducing_coefficients, self.columns, &mut outer);
        let grad_joint: Vec<f64> =
            inverse.iter().zip(&outer).map(|(i, o)| -0.5 * (columns * i + beta * beta * o)).collect();
        let grad_psi2 = grad_joint.iter().zip(&kernel_inverse).map(|(j, k)| beta * (j + 0.5 * columns * k)).collect();
        let [mut half, mut product] = [vec![0.0; m * m], vec![0.0; m * m]];
        product_nn(&kernel_inverse, &psi2, m, &mut half);
        product_nn(&half, &kernel_inverse, m, &mut product);
        let grad_kernel =
            (0..m * m).map(|at| grad_joint[at] + 0.5 * columns * (kernel_inverse[at] - beta * product[at])).collect();
        let mut grad_psi1 = vec![0.0; self.sizes.rows * m];
        product_nt(&self.data, &inducing_coefficients, self.columns, &mut grad_psi1);
        grad_psi1.iter_mut().for_each(|v| *v *= beta * beta);
        let grad_precision = 0.5 * columns * (n / beta - psi0 + trace) - 0.5 * self.sum_of_squares
            + beta * explained
            + dot(&grad_joint, &psi2);
        Ok(BoundTerms { value, kernel, grad_psi1, grad_psi2, grad_kernel, grad_precision, inducing_coefficients })
    }

    /// The gradient of the bound with respect to all parameters.
    fn gradient(&self, state: &BoundParameters, terms: &BoundTerms) -> Vec<f64> {
        let GplvmSizes { rows, dim, inducing: m } = self.sizes;
        let inducing_kernel = &state.inducing_kernel;
        let mut out = vec![0.0; self.sizes.parameter_count()];
        let (grad_means, rest) = out.split_at_mut(rows * dim);
        let (grad_variances, rest) = rest.split_at_mut(rows * dim);
        let task_gradients: Vec<KernelGradient> = grad_means
            .par_chunks_mut(ROWS_PER_TASK * dim)
            .zip(grad_variances.par_chunks_mut(ROWS_PER_TASK * dim))
            .enumerate()
            .map(|(task, (grad_means, grad_variances))| {
                let mut gradient = KernelGradient::new(inducing_kernel);
                let rows = grad_means.chunks_exact_mut(dim).zip(grad_variances.chunks_exact_mut(dim));
                for (local, (grad_mean, grad_variance)) in rows.enumerate() {
                    let i = task * ROWS_PER_TASK + local;
                    let (mean, variance) = (&state.means[i * dim..][..dim], &state.variances[i * dim..][..dim]);
                    gradient.mean.fill(0.0);
                    gradient.variance.fill(0.0);
                    inducing_kernel.add_gradient(
                        mean,
                        variance,
                        &terms.grad_psi1[i * m..(i + 1) * m],
                        &terms.grad_psi2,
                        &mut gradient,
                    );
                    for c in 0..dim {
                        grad_mean[c] = gradient.mean[c] - mean[c];
                        grad_variance[c] = variance[c] * gradient.variance[c] - 0.5 * (variance[c] - 1.0);
                    }
                }
                gradient
            })
            .collect();
        let mut total = KernelGradient::new(inducing_kernel);
        for gradient in &task_gradients {
            add_assign(&mut total.inducing, &gradient.inducing);
            add_assign(&mut total.weights, &gradient.weights);
            total.signal += gradient.signal;
        }
        inducing_kernel.add_kernel_gradient(&terms.kernel, &terms.grad_kernel, &mut total);
        total.signal -= 0.5 * state.precision * self.columns as f64 * rows as f64;
        let (grad_inducing, rest) = rest.split_at_mut(m * dim);
        grad_inducing.copy_from_slice(&total.inducing);
        (0..dim).for_each(|c| rest[c] = inducing_kernel.weights[c] * total.weights[c]);
        rest[dim] = inducing_kernel.signal * total.signal;
        rest[dim + 1] = state.precision * terms.grad_precision;
        out
    }

    /// Returns the state of the model with these parameters, for the transform of new rows.
    pub fn fitted_state(&self, parameters: &[f64]) -> Result<GplvmState> {
        let state = self.unpack(parameters);
        let terms = self.terms(&state)?;
        Ok(GplvmState::new(
            state.inducing_kernel,
            state.precision,
            self.columns,
            terms.grad_psi2,
            terms.inducing_coefficients,
        ))
    }

    /// The factor of the objective per value of the data.
    fn scale(&self) -> f64 {
        1.0 / (self.sizes.rows * self.columns) as f64
    }
}

/// Copies the lower triangle to the upper one.
pub(super) fn copy_lower_to_upper(matrix: &mut [f64], m: usize) {
    for a in 0..m {
        for b in 0..a {
            matrix[b * m + a] = matrix[a * m + b];
        }
    }
}

fn add_assign(total: &mut [f64], part: &[f64]) {
    total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
}

impl VectorField for VariationalBound {
    fn evaluate(&mut self, y: Points, _value: bool, out: &mut [f64]) -> Result<Option<f64>> {
        let state = self.unpack(y.values());
        // Parameters for which the kernel cannot be inverted have an infinite objective.
        let terms = match self.terms(&state) {
            Err(Error::Numerical { .. }) => return Ok(Some(f64::INFINITY)),
            terms => terms?,
        };
        let scale = self.scale();
        out.iter_mut().zip(self.gradient(&state, &terms)).for_each(|(out, derivative)| *out = -scale * derivative);
        Ok(Some(-scale * terms.value))
    }

    fn save(&self, _archive: &mut Archive) {}

    fn restore(&mut self, _archive: &Archive) -> Result<()> {
        Ok(())
    }
}

/// The curvature is not known in advance.
impl Objective for VariationalBound {
    fn attraction(&self) -> Csr {
        Csr::from_triplets(self.sizes.parameter_count(), self.sizes.parameter_count(), []).expect("an empty matrix")
    }

    fn degrees(&self) -> Vec<f64> {
        vec![1.0; self.sizes.parameter_count()]
    }

    fn noise(&self) -> f64 {
        0.0
    }
}
