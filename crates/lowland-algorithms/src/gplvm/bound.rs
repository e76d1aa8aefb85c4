//! The variational bound (Titsias & Lawrence 2010, eqs 14-18) and its gradient, with the inducing variables' posterior at its
//! best for whatever the rest is.

use rayon::prelude::*;

use super::psi::{Psi, Slopes};
use crate::objective::{Objective, VectorField};
use crate::optim::{Lbfgs, Optimizer};
use lowland_core::archive::Archive;
use lowland_core::{Error, Points, Result};
use lowland_linalg::Csr;
use lowland_linalg::dense::{Cholesky, product_nn, product_nt, product_tn_add};

/// How many of what there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Points.
    pub rows: usize,
    /// Dimensions of the map.
    pub dim: usize,
    /// Inducing points.
    pub inducing: usize,
}

impl Sizes {
    /// Numbers that describe a model: means, logarithms of variances, inducing points, logarithms of the kernel's weights,
    /// of its signal and of the noise's precision.
    pub fn numbers(&self) -> usize {
        2 * self.rows * self.dim + self.inducing * self.dim + self.dim + 2
    }
}

/// Rows handled by one task.
const ROWS: usize = 32;
/// Added to the kernel's diagonal, relative to it, so that it can be inverted.
const JITTER: f64 = 1e-6;

/// The bound as a function of all a model's numbers, the sign turned so that less is better, for each number of the data.
#[derive(Debug, Clone)]
pub struct Bound {
    data: Vec<f64>,
    columns: usize,
    sizes: Sizes,
    square: f64,
}

/// A model's numbers by what they are.
struct State<'a> {
    means: &'a [f64],
    spreads: Vec<f64>,
    psi: Psi,
    precision: f64,
}

/// What the bound is computed from, and its derivatives by that.
struct Parts {
    value: f64,
    kernel: Vec<f64>,
    by_first: Vec<f64>,
    by_second: Vec<f64>,
    by_kernel: Vec<f64>,
    by_precision: f64,
    /// `A^-1 C`.
    solved: Vec<f64>,
}

impl Bound {
    /// Of rows whose columns have mean zero.
    pub fn new(data: Vec<f64>, columns: usize, sizes: Sizes) -> Result<Self> {
        if data.len() != sizes.rows * columns || columns == 0 {
            return Err(Error::Shape { what: "rows of the data", expected: sizes.rows * columns, found: data.len() });
        }
        let square = data.iter().map(|v| v * v).sum();
        Ok(Self { data, columns, sizes, square })
    }

    /// The rows.
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    fn state<'a>(&self, numbers: &'a [f64]) -> State<'a> {
        let Sizes { rows, dim, inducing } = self.sizes;
        let (means, rest) = numbers.split_at(rows * dim);
        let (spreads, rest) = rest.split_at(rows * dim);
        let (points, rest) = rest.split_at(inducing * dim);
        let exp = |values: &[f64]| values.iter().map(|v| v.exp()).collect::<Vec<f64>>();
        let psi = Psi { weights: exp(&rest[..dim]), signal: rest[dim].exp(), inducing: points.to_vec() };
        State { means, spreads: exp(spreads), psi, precision: rest[dim + 1].exp() }
    }

    /// The bound itself, more being better.
    pub fn value(&self, numbers: &[f64]) -> Result<f64> {
        Ok(self.parts(&self.state(numbers))?.value)
    }

    fn parts(&self, state: &State) -> Result<Parts> {
        let (m, columns) = (self.sizes.inducing, self.columns as f64);
        let (n, beta, psi) = (self.sizes.rows as f64, state.precision, &state.psi);
        let dim = self.sizes.dim;
        let mut first = vec![0.0; self.sizes.rows * m];
        let places = state.means.par_chunks(ROWS * dim).zip(state.spreads.par_chunks(ROWS * dim));
        let sums: Vec<Vec<f64>> = first
            .par_chunks_mut(ROWS * m)
            .zip(places)
            .map(|(first, (means, spreads))| {
                let mut second = vec![0.0; m * m];
                let places = means.chunks_exact(dim).zip(spreads.chunks_exact(dim));
                for (first, (mean, spread)) in first.chunks_exact_mut(m).zip(places) {
                    psi.expect(mean, spread, first, &mut second);
                }
                second
            })
            .collect();
        let mut second = vec![0.0; m * m];
        sums.iter().for_each(|sum| second.iter_mut().zip(sum).for_each(|(total, v)| *total += v));
        mirror_upper_triangle(&mut second, m);
        let mut kernel = psi.kernel();
        (0..m).for_each(|a| kernel[a * m + a] *= 1.0 + JITTER);
        let joint: Vec<f64> = kernel.iter().zip(&second).map(|(k, s)| k + beta * s).collect();
        let (kernel_factor, joint_factor) = (Cholesky::new(&kernel, m)?, Cholesky::new(&joint, m)?);
        let (kernel_inverse, inverse) = (kernel_factor.inverse(), joint_factor.inverse());
        // C = Psi1' Y and A^-1 C.
        let mut seen = vec![0.0; m * self.columns];
        product_tn_add(&first, &self.data, self.sizes.rows, &mut seen);
        let mut solved = seen.clone();
        joint_factor.solve(&mut solved, self.columns);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (explained, trace) = (dot(&seen, &solved), dot(&kernel_inverse, &second));
        let psi0 = n * psi.signal;
        let divergence: f64 =
            0.5 * state.means.iter().zip(&state.spreads).map(|(mean, s)| mean * mean + s - s.ln() - 1.0).sum::<f64>();
        let value = 0.5
            * columns
            * (n * (beta.ln() - (2.0 * std::f64::consts::PI).ln()) + kernel_factor.log_determinant()
                - joint_factor.log_determinant()
                - beta * psi0
                + beta * trace)
            - 0.5 * beta * self.square
            + 0.5 * beta * beta * explained
            - divergence;
        let mut outer = vec![0.0; m * m];
        product_nt(&solved, &solved, self.columns, &mut outer);
        let by_joint: Vec<f64> =
            inverse.iter().zip(&outer).map(|(i, o)| -0.5 * (columns * i + beta * beta * o)).collect();
        let by_second = by_joint.iter().zip(&kernel_inverse).map(|(j, k)| beta * (j + 0.5 * columns * k)).collect();
        let [mut half, mut spread] = [vec![0.0; m * m], vec![0.0; m * m]];
        product_nn(&kernel_inverse, &second, m, &mut half);
        product_nn(&half, &kernel_inverse, m, &mut spread);
        let by_kernel =
            (0..m * m).map(|at| by_joint[at] + 0.5 * columns * (kernel_inverse[at] - beta * spread[at])).collect();
        let mut by_first = vec![0.0; self.sizes.rows * m];
        product_nt(&self.data, &solved, self.columns, &mut by_first);
        by_first.iter_mut().for_each(|v| *v *= beta * beta);
        let by_precision =
            0.5 * columns * (n / beta - psi0 + trace) - 0.5 * self.square + beta * explained + dot(&by_joint, &second);
        Ok(Parts { value, kernel, by_first, by_second, by_kernel, by_precision, solved })
    }

    /// The gradient of the bound by all numbers.
    fn gradient(&self, state: &State, parts: &Parts) -> Vec<f64> {
        let Sizes { rows, dim, inducing: m } = self.sizes;
        let psi = &state.psi;
        let mut out = vec![0.0; self.sizes.numbers()];
        let (by_means, rest) = out.split_at_mut(rows * dim);
        let (by_spreads, rest) = rest.split_at_mut(rows * dim);
        let tasks: Vec<Slopes> = by_means
            .par_chunks_mut(ROWS * dim)
            .zip(by_spreads.par_chunks_mut(ROWS * dim))
            .enumerate()
            .map(|(task, (by_means, by_spreads))| {
                let mut slopes = Slopes::new(psi);
                let rows = by_means.chunks_exact_mut(dim).zip(by_spreads.chunks_exact_mut(dim));
                for (local, (by_mean, by_spread)) in rows.enumerate() {
                    let i = task * ROWS + local;
                    let (mean, spread) = (&state.means[i * dim..][..dim], &state.spreads[i * dim..][..dim]);
                    slopes.mean.fill(0.0);
                    slopes.spread.fill(0.0);
                    psi.slopes(mean, spread, &parts.by_first[i * m..(i + 1) * m], &parts.by_second, &mut slopes);
                    for c in 0..dim {
                        by_mean[c] = slopes.mean[c] - mean[c];
                        by_spread[c] = spread[c] * slopes.spread[c] - 0.5 * (spread[c] - 1.0);
                    }
                }
                slopes
            })
            .collect();
        let mut all = Slopes::new(psi);
        for slopes in &tasks {
            add(&mut all.inducing, &slopes.inducing);
            add(&mut all.weights, &slopes.weights);
            all.signal += slopes.signal;
        }
        psi.kernel_slopes(&parts.kernel, &parts.by_kernel, &mut all);
        all.signal -= 0.5 * state.precision * self.columns as f64 * rows as f64;
        let (by_inducing, rest) = rest.split_at_mut(m * dim);
        by_inducing.copy_from_slice(&all.inducing);
        (0..dim).for_each(|c| rest[c] = psi.weights[c] * all.weights[c]);
        rest[dim] = psi.signal * all.signal;
        rest[dim + 1] = state.precision * parts.by_precision;
        out
    }

    /// The model these numbers describe, for new rows.
    pub fn freeze(&self, numbers: &[f64]) -> Result<Frozen> {
        let state = self.state(numbers);
        let parts = self.parts(&state)?;
        Ok(Frozen::new(state.psi, state.precision, self.columns, parts.by_second, parts.solved))
    }

    /// How much a number of the data counts.
    fn unit(&self) -> f64 {
        1.0 / (self.sizes.rows * self.columns) as f64
    }
}

/// The lower triangle, repeated above the diagonal.
fn mirror_upper_triangle(matrix: &mut [f64], m: usize) {
    for a in 0..m {
        for b in 0..a {
            matrix[b * m + a] = matrix[a * m + b];
        }
    }
}

fn add(total: &mut [f64], part: &[f64]) {
    total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
}

impl VectorField for Bound {
    fn evaluate(&mut self, y: Points, _value: bool, out: &mut [f64]) -> Result<Option<f64>> {
        let state = self.state(y.values());
        // Numbers so far off that the kernel cannot be inverted are as bad as can be.
        let parts = match self.parts(&state) {
            Err(Error::Numerical { .. }) => return Ok(Some(f64::INFINITY)),
            parts => parts?,
        };
        let unit = self.unit();
        out.iter_mut().zip(self.gradient(&state, &parts)).for_each(|(out, slope)| *out = -unit * slope);
        Ok(Some(-unit * parts.value))
    }

    fn save(&self, _archive: &mut Archive) {}

    fn restore(&mut self, _archive: &Archive) -> Result<()> {
        Ok(())
    }
}

/// Its curvature is not known beforehand.
impl Objective for Bound {
    fn attraction(&self) -> Csr {
        Csr::from_triplets(self.sizes.numbers(), self.sizes.numbers(), []).expect("an empty matrix")
    }

    fn degrees(&self) -> Vec<f64> {
        vec![1.0; self.sizes.numbers()]
    }

    fn noise(&self) -> f64 {
        0.0
    }
}

/// A fitted model: what the posterior of the inducing variables leaves for new rows and new places.
#[derive(Debug, Clone, PartialEq)]
pub struct Frozen {
    psi: Psi,
    precision: f64,
    columns: usize,
    by_second: Vec<f64>,
    solved: Vec<f64>,
}

impl Frozen {
    /// Of its parts, as they were saved.
    pub fn new(psi: Psi, precision: f64, columns: usize, second: Vec<f64>, solved: Vec<f64>) -> Self {
        Self { psi, precision, columns, by_second: second, solved }
    }

    /// Whether the parts belong together, for places of `dim` dimensions.
    pub fn fits(&self, dim: usize) -> bool {
        let m = self.psi.inducing.len().checked_div(dim).unwrap_or(0);
        self.psi.weights.len() == dim
            && m > 0
            && self.psi.inducing.len() == m * dim
            && self.by_second.len() == m * m
            && self.solved.len() == m * self.columns
    }

    /// The kernel and the inducing points.
    pub fn psi(&self) -> &Psi {
        &self.psi
    }

    /// The kernel's weight of each dimension: zero where it is not needed.
    pub fn weights(&self) -> &[f64] {
        &self.psi.weights
    }

    /// The inverse variance of the noise.
    pub fn precision(&self) -> f64 {
        self.precision
    }

    /// The derivative of the bound by the second expectations.
    pub fn second(&self) -> &[f64] {
        &self.by_second
    }

    /// `A^-1 C`: what inducing points say of each column.
    pub fn solved(&self) -> &[f64] {
        &self.solved
    }

    /// The row expected at a place: `beta k(x, Z) A^-1 C`.
    pub fn predict(&self, place: &[f64], out: &mut [f64]) {
        let m = self.psi.count();
        let mut first = vec![0.0; m];
        self.psi.expect(place, &vec![0.0; place.len()], &mut first, &mut vec![0.0; m * m]);
        out.fill(0.0);
        for (weight, row) in first.iter().zip(self.solved.chunks_exact(self.columns)) {
            out.iter_mut().zip(row).for_each(|(out, v)| *out += self.precision * weight * v);
        }
    }

    /// The place of a new row, all else as it is: mean, variances and the row's share of the bound. From a start for both.
    pub fn place(&self, row: &[f64], mean: &[f64], spread: &[f64]) -> Result<(Vec<f64>, Vec<f64>, f64)> {
        const STEPS: usize = 60;
        let dim = mean.len();
        let mut new = NewRow { frozen: self, by_first: self.pull(row), square: row.iter().map(|v| v * v).sum() };
        let mut numbers: Vec<f64> = mean.iter().copied().chain(spread.iter().map(|s| s.ln())).collect();
        let mut lbfgs = Lbfgs::default();
        let mut best = f64::INFINITY;
        for _ in 0..STEPS {
            let moved = lbfgs.step(&mut new, &mut numbers, 1)?;
            best = moved.value.unwrap_or(best);
            if moved.change < 1e-9 {
                break;
            }
        }
        let spread = numbers.split_off(dim).iter().map(|v| v.exp()).collect();
        Ok((numbers, spread, -best * self.columns as f64))
    }

    /// `beta^2 A^-1 C y`.
    fn pull(&self, row: &[f64]) -> Vec<f64> {
        let dot = |solved: &[f64]| solved.iter().zip(row).map(|(a, b)| a * b).sum::<f64>();
        self.solved.chunks_exact(self.columns).map(|solved| self.precision * self.precision * dot(solved)).collect()
    }
}

/// The bound's share of one row as a function of its place.
struct NewRow<'a> {
    frozen: &'a Frozen,
    by_first: Vec<f64>,
    square: f64,
}

impl VectorField for NewRow<'_> {
    fn evaluate(&mut self, y: Points, _value: bool, out: &mut [f64]) -> Result<Option<f64>> {
        let Frozen { psi, precision, columns, by_second, .. } = self.frozen;
        let (m, dim, columns) = (psi.count(), y.rows() / 2, *columns as f64);
        let (mean, logs) = y.values().split_at(dim);
        let spread: Vec<f64> = logs.iter().map(|v| v.exp()).collect();
        let (mut first, mut second) = (vec![0.0; m], vec![0.0; m * m]);
        psi.expect(mean, &spread, &mut first, &mut second);
        mirror_upper_triangle(&mut second, m);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let divergence: f64 = 0.5 * mean.iter().zip(&spread).map(|(m, s)| m * m + s - s.ln() - 1.0).sum::<f64>();
        let value = 0.5 * columns * (precision.ln() - (2.0 * std::f64::consts::PI).ln() - precision * psi.signal)
            - 0.5 * precision * self.square
            + dot(&self.by_first, &first)
            + dot(by_second, &second)
            - divergence;
        let mut slopes = Slopes::new(psi);
        psi.slopes(mean, &spread, &self.by_first, by_second, &mut slopes);
        for c in 0..dim {
            out[c] = (mean[c] - slopes.mean[c]) / columns;
            out[dim + c] = (0.5 * (spread[c] - 1.0) - spread[c] * slopes.spread[c]) / columns;
        }
        Ok(Some(if value.is_finite() { -value / columns } else { f64::INFINITY }))
    }

    fn save(&self, _archive: &mut Archive) {}

    fn restore(&mut self, _archive: &Archive) -> Result<()> {
        Ok(())
    }
}

impl Objective for NewRow<'_> {
    fn attraction(&self) -> Csr {
        Csr::from_triplets(0, 0, []).expect("an empty matrix")
    }

    fn degrees(&self) -> Vec<f64> {
        vec![1.0; 2 * self.frozen.psi.weights.len()]
    }

    fn noise(&self) -> f64 {
        0.0
    }
}
