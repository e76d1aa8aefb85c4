//! Variational expectation-maximization from one start (Park et al. 2015, eqs 6-11, S36-S77).
//!
//! Vectors over all points hold the first coordinate of every point, then the second, and so on: entry `r n + i` is
//! coordinate `r` of point `i`. The maps are `dim n` rows with as many columns as the data: row `r n + i` is column
//! `r` of `C_i`.

use rayon::prelude::*;

use super::options::{ALPHA_RANGE, Alpha, LllvmOptions, LllvmStart};
use super::posterior::{Hyperparameters, Posterior};
use super::problem::LllvmProblem;
use super::quadratic_form::{FormKind, quadratic_form};
use lowland_core::{Error, Result};
use lowland_linalg::{dense, mirror_upper_triangle, spd_inverse};

/// Rows per matrix product.
const PANEL: usize = 128;

/// The state of EM from one start.
#[derive(Debug, Clone)]
pub struct LllvmEm<'a> {
    problem: &'a LllvmProblem,
    options: LllvmOptions,
    /// The precision of the data.
    pub(super) gamma: f64,
    /// The precision of the prior of the latent coordinates.
    pub(super) alpha: f64,
    /// The bound on the evidence (eq S65).
    pub(super) bound: f64,
    /// Absolute change of the bound in the last step, per value of the data.
    pub(super) change: f64,
    /// Ratio of the squared spread of the latent means to their variances, with the common translation removed.
    pub(super) signal_to_noise: f64,
    /// The means of the maps, `mu_C` (eq 11).
    pub(super) maps: Vec<f64>,
    /// Second moments: of the maps, `E[C'C]`, between steps; of the latent coordinates within a step.
    pub(super) moments: Vec<f64>,
    /// The means of the latent coordinates, `mu_x` (eq 9).
    pub(super) latents: Vec<f64>,
    /// `H'` (eq S62).
    h: Vec<f64>,
    workspace: Vec<f64>,
}

/// The quantities of the latent posterior that the bound depends on.
struct LatentSums {
    /// The log-determinant of `Sigma_x`.
    log_determinant: f64,
    /// `tr(Sigma_x) + mu_x' mu_x`.
    trace: f64,
    /// The sum over coordinates of `tr(L M)`.
    roughness: f64,
}

impl<'a> LllvmEm<'a> {
    /// Starts from the given posterior of the maps.
    pub fn new(problem: &'a LllvmProblem, options: LllvmOptions, start: LllvmStart) -> Result<Self> {
        let side = problem.points() * options.dim;
        let columns = problem.columns();
        for (what, expected, values) in [
            ("means of the maps", side * columns, &start.means),
            ("covariance of the maps", side * side, &start.covariance),
        ] {
            if values.len() != expected || expected == 0 {
                return Err(Error::Shape { what, expected, found: values.len() });
            }
        }
        let mut em = Self {
            problem,
            options,
            gamma: start.gamma,
            alpha: start.alpha,
            bound: f64::NEG_INFINITY,
            change: 1.0,
            signal_to_noise: f64::INFINITY,
            maps: start.means,
            moments: start.covariance,
            latents: vec![0.0; side],
            h: vec![0.0; side * columns],
            workspace: vec![0.0; side * side],
        };
        em.covariance_to_moments();
        Ok(em)
    }

    /// The bound on the evidence after the last step (eq S65).
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// The precision of the data.
    pub fn gamma(&self) -> f64 {
        self.gamma
    }

    /// The precision of the prior of the latent coordinates.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The means of the latent coordinates.
    pub fn latents(&self) -> &[f64] {
        &self.latents
    }

    /// The means of the maps.
    pub fn maps(&self) -> &[f64] {
        &self.maps
    }

    /// The second moments of the maps.
    pub fn moments(&self) -> &[f64] {
        &self.moments
    }

    /// `H'` of the last update of the maps.
    pub fn h(&self) -> &[f64] {
        &self.h
    }

    /// Whether gamma is at the end of its range.
    pub(super) fn has_least_noise(&self) -> bool {
        self.gamma >= self.problem.max_gamma
    }

    fn side(&self) -> usize {
        self.latents.len()
    }

    /// One iteration: updates the latent coordinates, the maps, gamma and alpha, and computes the bound.
    pub fn step(&mut self) -> Result<()> {
        let before = self.bound;
        let sums = self.update_latents()?;
        let log_determinant = self.update_maps()?;
        self.update_parameters(&sums, log_determinant);
        let values = (self.problem.points() * self.problem.columns()) as f64;
        self.change = if before.is_finite() { (self.bound - before).abs() / values } else { 1.0 };
        Ok(())
    }

    /// Replaces the second moments of the maps by `<A>` (S48).
    pub fn latent_form(&mut self) -> &[f64] {
        self.update_form(FormKind::Sum)
    }

    fn update_form(&mut self, kind: FormKind) -> &[f64] {
        let (graph, dim) = (&self.problem.graph, self.options.dim);
        quadratic_form(graph, dim, kind, 0.5 * self.gamma, &mut self.moments, &mut self.workspace);
        &self.moments
    }

    /// `<b>` (S49).
    pub fn latent_linear_term(&self) -> Vec<f64> {
        let (n, columns, rows) = (self.problem.points(), self.problem.columns(), &self.problem.rows);
        let map = |r: usize, i: usize| &self.maps[(r * n + i) * columns..(r * n + i + 1) * columns];
        let entry = |a: usize| -> f64 {
            let (r, i) = (a / n, a % n);
            let (own, y) = (map(r, i), rows.row(i));
            let edge = |&j: &u32| -> f64 {
                let (other, z) = (map(r, j as usize), rows.row(j as usize));
                (0..columns).map(|c| (own[c] + other[c]) * (y[c] - z[c])).sum()
            };
            self.gamma * self.problem.graph.neighbors(i).iter().map(edge).sum::<f64>()
        };
        (0..self.side()).into_par_iter().map(entry).collect()
    }

    /// Updates `q(x)` given `q(C)` (eq 9). Leaves the second moments of the latent coordinates in `moments`.
    fn update_latents(&mut self) -> Result<LatentSums> {
        let log_determinant = self.update_latent_posterior()?;
        let (n, side, latents) = (self.problem.points() as f64, self.side(), &self.latents);
        let variances: f64 = (0..side).map(|a| self.moments[a * side + a]).sum();
        self.signal_to_noise = dot((latents, latents)) / (variances - self.block_sum() / n);
        self.moments.par_chunks_mut(side).zip(latents).for_each(|(row, own)| {
            row.iter_mut().zip(latents).for_each(|(m, x)| *m += own * x);
        });
        let trace = (0..side).map(|a| self.moments[a * side + a]).sum();
        Ok(LatentSums { log_determinant, trace, roughness: self.roughness() })
    }

    /// Updates the means of `q(x)` and leaves its covariance in `moments`; returns the log-determinant of the
    /// covariance.
    pub(super) fn update_latent_posterior(&mut self) -> Result<f64> {
        let linear_term = self.latent_linear_term();
        self.latent_form();
        let (side, alpha) = (self.side(), self.alpha);
        (0..side).for_each(|a| self.moments[a * side + a] += alpha);
        let log_determinant = -self.invert()?;
        let latents = self.moments.par_chunks(side);
        self.latents = latents.map(|row| row.iter().zip(&linear_term).map(|(v, b)| v * b).sum()).collect();
        Ok(log_determinant)
    }

    /// Adds the Laplacian prior that both posteriors have and inverts `moments`; returns the log-determinant before
    /// inversion.
    fn invert(&mut self) -> Result<f64> {
        let (n, side) = (self.problem.points(), self.side());
        for r in 0..self.options.dim {
            self.problem.graph.add_laplacian(2.0, &mut self.moments[r * n * (side + 1)..], side);
        }
        let log_determinant = spd_inverse(&mut self.moments, side, &mut self.workspace)?;
        std::mem::swap(&mut self.moments, &mut self.workspace);
        Ok(log_determinant)
    }

    /// Updates `q(C)` given `q(x)` (eq 11, whose last factor must read Sigma_C). Leaves the second moments of the
    /// maps in `moments`; returns the log-determinant of the covariance.
    fn update_maps(&mut self) -> Result<f64> {
        self.update_h();
        self.update_form(FormKind::Difference);
        let (n, side, columns) = (self.problem.points(), self.side(), self.problem.columns());
        for (a, row) in self.moments.chunks_exact_mut(side).enumerate() {
            row[a / n * n..(a / n + 1) * n].iter_mut().for_each(|v| *v += self.options.epsilon);
        }
        let log_determinant = -self.invert()?;
        let (covariance, h, gamma) = (&self.moments, &self.h, self.gamma);
        let rows = self.maps.par_chunks_mut(PANEL * columns).zip(covariance.par_chunks(PANEL * side));
        rows.for_each(|(maps, covariance)| {
            dense::product_nn(covariance, h, side, maps);
            maps.iter_mut().for_each(|v| *v *= gamma);
        });
        self.covariance_to_moments();
        Ok(log_determinant)
    }

    /// `H' = sum_j G_ij (x_j - x_i) (y_j - y_i)'` (S62).
    fn update_h(&mut self) {
        let (n, columns, rows) = (self.problem.points(), self.problem.columns(), &self.problem.rows);
        let (latents, graph) = (&self.latents, &self.problem.graph);
        self.h.par_chunks_mut(columns).enumerate().for_each(|(a, h)| {
            let (first, i) = (a / n * n, a % n);
            h.fill(0.0);
            for &j in graph.neighbors(i) {
                let step = latents[first + j as usize] - latents[a];
                let (y, z) = (rows.row(i), rows.row(j as usize));
                h.iter_mut().zip(y.iter().zip(z)).for_each(|(h, (y, z))| *h += step * (z - y));
            }
        });
    }

    /// Converts the covariance of the maps to their second moments, `d_y Sigma_C + mu_C' mu_C` (S52).
    fn covariance_to_moments(&mut self) {
        let (side, columns) = (self.side(), self.problem.columns());
        add_products(&mut self.moments, side, columns as f64, &self.maps, columns, 1.0);
    }

    /// The sum over coordinates of `tr(L M)`.
    fn roughness(&self) -> f64 {
        let (n, side) = (self.problem.points(), self.side());
        let block = |r: usize| self.problem.graph.laplacian_trace(&self.moments[r * n * (side + 1)..], side);
        (0..self.options.dim).map(block).sum()
    }

    /// Updates gamma in closed form and alpha if it is optimized, and computes the bound with both.
    fn update_parameters(&mut self, latents: &LatentSums, map_log_determinant: f64) {
        let (n, d, columns) = (self.problem.points() as f64, self.options.dim as f64, self.problem.columns() as f64);
        let (epsilon, eigenvalues) = (self.options.epsilon, self.problem.graph.eigenvalues());
        let linear: f64 =
            self.maps.par_chunks(4096).zip(self.h.par_chunks(4096)).map(dot).collect::<Vec<_>>().iter().sum();
        // tr((epsilon JJ' + 2 L) E[C'C]), and from it tr(Gamma_L E[C'C]): Sigma_C is the inverse of the sum of Gamma
        // and this prior, and mu_C = gamma H Sigma_C.
        let prior = epsilon * self.block_sum() + 2.0 * self.roughness();
        let quadratic = 2.0 * (columns * n * d / self.gamma + linear - prior / self.gamma);
        // The bound has a single maximum over gamma, so that the end of the range is the best value within it. A residual that
        // rounding made negative is beyond the end, too.
        let residual = 0.25 * quadratic - linear + self.problem.roughness;
        let best = 0.5 * columns * (n - 1.0) / residual;
        self.gamma = if best > 0.0 { best.min(self.problem.max_gamma) } else { self.problem.max_gamma };
        self.alpha = match self.options.alpha {
            Alpha::Fixed(alpha) => alpha,
            Alpha::Optimize => best_alpha(eigenvalues, d, latents.trace),
        };
        let log_eigenvalues: f64 = eigenvalues.iter().map(|w| w.ln()).sum();
        let likelihood = -0.5 * epsilon * self.problem.offset
            - self.gamma * residual
            - 0.5 * n * columns * std::f64::consts::TAU.ln()
            + 0.5 * columns * (log_eigenvalues + (n * epsilon).ln() + (n - 1.0) * (2.0 * self.gamma).ln());
        let prior_determinant = d * (log_eigenvalues + (n - 1.0) * std::f64::consts::LN_2 + (n * epsilon).ln());
        let maps = 0.5 * columns * (map_log_determinant + prior_determinant) - 0.5 * prior + 0.5 * n * d * columns;
        let prior_log_determinant: f64 =
            eigenvalues.iter().map(|w| (self.alpha + 2.0 * w).ln()).sum::<f64>() + self.alpha.ln();
        let quadratic = self.alpha * latents.trace + 2.0 * latents.roughness;
        let latents = 0.5 * latents.log_determinant + 0.5 * d * prior_log_determinant - 0.5 * quadratic + 0.5 * n * d;
        self.bound = likelihood + maps + latents;
    }

    /// The sum over coordinates of all entries of the coordinate's block of second moments: `tr(JJ' M)`.
    fn block_sum(&self) -> f64 {
        let (n, side) = (self.problem.points(), self.side());
        let row = |(a, row): (usize, &[f64])| row[a / n * n..(a / n + 1) * n].iter().sum::<f64>();
        self.moments.par_chunks(side).enumerate().map(row).collect::<Vec<_>>().iter().sum()
    }

    /// Returns the posterior: the current maps, and the latent coordinates updated once more, which only increases
    /// the bound.
    pub fn into_posterior(mut self) -> Result<Posterior> {
        let (side, columns) = (self.side(), self.problem.columns());
        let mut covariance = self.moments.clone();
        add_products(&mut covariance, side, 1.0, &self.maps, columns, -1.0);
        covariance.iter_mut().for_each(|v| *v /= columns as f64);
        self.update_latent_posterior()?;
        let Self { options, gamma, alpha, bound, latents, moments, maps, .. } = self;
        let hyperparameters = Hyperparameters { dim: options.dim, gamma, alpha, bound };
        Posterior::new(hyperparameters, &latents, &moments, &maps, &covariance)
    }
}

/// `matrix = scale matrix + factor rows rows'`.
fn add_products(matrix: &mut [f64], side: usize, scale: f64, rows: &[f64], columns: usize, factor: f64) {
    matrix.par_chunks_mut(PANEL * side).enumerate().for_each(|(at, panel)| {
        let first = at * PANEL;
        panel.iter_mut().for_each(|v| *v *= scale);
        let own = &rows[first * columns..][..panel.len() / side * columns];
        dense::product_nt_add(own, &rows[first * columns..], columns, factor, &mut panel[first..], side);
    });
    mirror_upper_triangle(matrix, side);
}

fn dot((a, b): (&[f64], &[f64])) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The root of `d sum 1 / (alpha + 2 omega) = tr(Sigma_x) + mu_x' mu_x` (S72), or the end of the range.
fn best_alpha(eigenvalues: &[f64], dim: f64, trace: f64) -> f64 {
    let slope =
        |alpha: f64| dim * (1.0 / alpha + eigenvalues.iter().map(|w| 1.0 / (alpha + 2.0 * w)).sum::<f64>()) - trace;
    let (mut low, mut high) = (ALPHA_RANGE.start, ALPHA_RANGE.end);
    if slope(high) >= 0.0 {
        return high;
    }
    // The slope is decreasing: bisecting a logarithmic range sixty times exhausts the precision.
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        if slope(middle) > 0.0 { low = middle } else { high = middle }
    }
    (low * high).sqrt()
}
