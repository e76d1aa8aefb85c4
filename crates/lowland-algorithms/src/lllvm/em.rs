//! Variational expectation-maximization from one start (Park et al. 2015, eqs 6-11, S36-S77).
//!
//! Vectors over all points hold the first coordinate of every point, then the second, and so on: entry `r n + i` is
//! coordinate `r` of point `i`. The maps are `dim n` rows with as many columns as the data: row `r n + i` is column
//! `r` of `C_i`.

use rayon::prelude::*;

use super::evidence::{ExpectedSums, PriorSpectrum, max_gamma, update_hyperparameters};
use super::linear_terms::{latent_linear_term, map_linear_term, offset};
use super::model_rows::ModelRows;
use super::multi_start::{EmRun, mismatch};
use super::options::{ColumnNoise, LllvmOptions, LllvmStart};
use super::posterior::{Hyperparameters, Posterior};
use super::problem::{LllvmProblem, ScaledRows};
use super::quadratic_form::{FormKind, quadratic_form};
use super::sums::{dot, sum};
use lowland_core::archive::Archive;
use lowland_core::{Error, Result, Seed};
use lowland_linalg::{dense, mirror_upper_triangle, spd_inverse};

/// Rows per matrix product.
const PANEL: usize = 128;

/// The state of EM from one start.
#[derive(Debug, Clone)]
pub struct LllvmEm<'a> {
    pub(super) problem: &'a LllvmProblem,
    pub(super) options: LllvmOptions,
    pub(super) rows: ModelRows<'a>,
    /// Gamma, alpha, and the bound on the evidence (eq S65).
    hyperparameters: Hyperparameters,
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
    pub(super) h: Vec<f64>,
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
            rows: ModelRows::new(&problem.rows, problem.missing.as_deref(), &problem.graph),
            hyperparameters: Hyperparameters {
                dim: options.dim,
                gamma: start.gamma,
                alpha: start.alpha,
                bound: f64::NEG_INFINITY,
            },
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

    /// Starts from random means.
    pub fn random(problem: &'a LllvmProblem, options: LllvmOptions, seed: Seed) -> Result<Self> {
        Self::new(problem, options, LllvmStart::random(problem, options, seed))
    }

    /// The bound on the evidence after the last step (eq S65).
    pub fn bound(&self) -> f64 {
        self.hyperparameters.bound
    }

    /// The precision of the data.
    pub fn gamma(&self) -> f64 {
        self.hyperparameters.gamma
    }

    /// The precision of the prior of the latent coordinates.
    pub fn alpha(&self) -> f64 {
        self.hyperparameters.alpha
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

    fn side(&self) -> usize {
        self.latents.len()
    }

    /// One iteration: updates the latent coordinates, the maps, gamma and alpha, and computes the bound.
    pub fn step(&mut self) -> Result<()> {
        let before = self.bound();
        self.update_missing();
        let sums = self.update_latents()?;
        let log_determinant = self.update_maps()?;
        self.update_parameters(&sums, log_determinant);
        let values = (self.problem.points() * self.problem.columns()) as f64;
        self.change = if before.is_finite() { (self.bound() - before).abs() / values } else { 1.0 };
        Ok(())
    }

    fn update_missing(&mut self) {
        let (graph, columns) = (&self.problem.graph, self.problem.columns());
        let precisions = (self.hyperparameters.gamma, self.options.epsilon);
        let (maps, latents) = (&self.maps, &self.latents);
        self.rows.update_missing(graph, precisions, |i, c| offset(graph, (maps, columns), latents, (i, c)));
    }

    /// Replaces the second moments of the maps by `<A>` (S48).
    pub fn latent_form(&mut self) -> &[f64] {
        self.update_form(FormKind::Sum)
    }

    fn update_form(&mut self, kind: FormKind) -> &[f64] {
        let (graph, dim, factor) = (&self.problem.graph, self.options.dim, 0.5 * self.gamma());
        quadratic_form(graph, dim, kind, factor, &mut self.moments, &mut self.workspace);
        &self.moments
    }

    /// `<b>` (S49).
    pub fn latent_linear_term(&self) -> Vec<f64> {
        latent_linear_term(&self.problem.graph, &self.rows.rows, &self.maps, self.gamma())
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
        let (side, alpha) = (self.side(), self.alpha());
        (0..side).for_each(|a| self.moments[a * side + a] += alpha);
        let log_determinant = -self.invert()?;
        let latents = self.moments.par_chunks(side);
        self.latents = latents.map(|row| dot((row, &linear_term))).collect();
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
        map_linear_term(&self.problem.graph, &self.rows.rows, &self.latents, &mut self.h);
        self.update_form(FormKind::Difference);
        let (n, side, columns) = (self.problem.points(), self.side(), self.problem.columns());
        for (a, row) in self.moments.chunks_exact_mut(side).enumerate() {
            row[a / n * n..(a / n + 1) * n].iter_mut().for_each(|v| *v += self.options.epsilon);
        }
        let log_determinant = -self.invert()?;
        let (covariance, h, gamma) = (&self.moments, &self.h, self.hyperparameters.gamma);
        let rows = self.maps.par_chunks_mut(PANEL * columns).zip(covariance.par_chunks(PANEL * side));
        rows.for_each(|(maps, covariance)| {
            dense::product_nn(covariance, h, side, maps);
            maps.iter_mut().for_each(|v| *v *= gamma);
        });
        self.covariance_to_moments();
        Ok(log_determinant)
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
        let gamma = self.gamma();
        let linear: f64 =
            self.maps.par_chunks(4096).zip(self.h.par_chunks(4096)).map(dot).collect::<Vec<_>>().iter().sum();
        // tr((epsilon JJ' + 2 L) E[C'C]), and from it tr(Gamma_L E[C'C]): Sigma_C is the inverse of the sum of Gamma
        // and this prior, and mu_C = gamma H Sigma_C.
        let map_prior = self.options.epsilon * self.block_sum() + 2.0 * self.roughness();
        let quadratic = 2.0 * (columns * n * d / gamma + linear - map_prior / gamma);
        let &LatentSums { log_determinant, trace, roughness } = latents;
        let sums = ExpectedSums {
            latent_log_determinant: log_determinant,
            latent_trace: trace,
            latent_roughness: roughness,
            map_log_determinant,
            map_prior,
            quadratic,
            linear,
        };
        let graph = &self.problem.graph;
        let spectrum = PriorSpectrum { eigenvalues: graph.eigenvalues(), rest: 0, rest_log_determinant: 0.0 };
        let (hyperparameters, options) = (&mut self.hyperparameters, &self.options);
        update_hyperparameters(
            hyperparameters,
            &mut self.rows,
            graph,
            options,
            &sums,
            &spectrum,
            (&self.maps, &self.h),
        );
    }

    /// The sum over coordinates of all entries of the coordinate's block of second moments: `tr(JJ' M)`.
    fn block_sum(&self) -> f64 {
        let (n, side) = (self.problem.points(), self.side());
        let row = |(a, row): (usize, &[f64])| sum(&row[a / n * n..(a / n + 1) * n]);
        self.moments.par_chunks(side).enumerate().map(row).collect::<Vec<_>>().iter().sum()
    }
}

impl EmRun for LllvmEm<'_> {
    fn step(&mut self) -> Result<()> {
        self.step()
    }

    fn hyperparameters(&self) -> Hyperparameters {
        self.hyperparameters
    }

    fn change(&self) -> f64 {
        self.change
    }

    fn signal_to_noise(&self) -> f64 {
        self.signal_to_noise
    }

    fn has_least_noise(&self) -> bool {
        self.gamma() >= max_gamma(&self.rows, self.problem.points())
    }

    fn rows(&self) -> ScaledRows {
        self.rows.rows.clone().into_owned()
    }

    fn missing_std(&self) -> Vec<f64> {
        self.rows.missing_std()
    }

    fn latents(&self) -> &[f64] {
        &self.latents
    }

    /// The current maps, and the latent coordinates updated once more, which only increases the bound.
    fn into_posterior(mut self) -> Result<Posterior> {
        let (side, columns) = (self.side(), self.problem.columns());
        let mut covariance = self.moments.clone();
        add_products(&mut covariance, side, 1.0, &self.maps, columns, -1.0);
        covariance.iter_mut().for_each(|v| *v /= columns as f64);
        self.update_latent_posterior()?;
        Posterior::new(self.hyperparameters, &self.latents, &self.moments, &self.maps, &covariance)
    }

    fn save(&self, name: &str, archive: &mut Archive) {
        let (side, Hyperparameters { gamma, alpha, bound, .. }) = (self.side(), self.hyperparameters);
        let upper = self.moments.chunks_exact(side).enumerate().flat_map(|(a, row)| &row[a..]);
        archive.put(format!("{name}/numbers"), vec![gamma, alpha, bound, self.change]);
        self.rows.save(name, self.options.column_noise == ColumnNoise::Separate, archive);
        archive.put(format!("{name}/maps"), self.maps.as_slice());
        archive.put(format!("{name}/places"), self.latents.as_slice());
        archive.put(format!("{name}/moments"), upper.copied().collect::<Vec<_>>());
    }

    fn restore(&mut self, name: &str, archive: &Archive) -> Result<()> {
        let read = |part: &str| archive.finite(&format!("{name}/{part}"));
        let (numbers, maps, latents, upper) = (read("numbers")?, read("maps")?, read("places")?, read("moments")?);
        let side = self.side();
        let fits = maps.len() == self.maps.len() && latents.len() == side && upper.len() == side * (side + 1) / 2;
        let &[gamma, alpha, bound, change] = numbers else { return Err(mismatch(archive)) };
        let separate = self.options.column_noise == ColumnNoise::Separate;
        if !(fits && gamma > 0.0 && alpha > 0.0 && self.rows.restore(&self.problem.graph, name, separate, archive)?) {
            return Err(mismatch(archive));
        }
        self.hyperparameters = Hyperparameters { dim: self.options.dim, gamma, alpha, bound };
        self.change = change;
        self.maps.copy_from_slice(maps);
        self.latents.copy_from_slice(latents);
        let mut rest = upper;
        for (a, row) in self.moments.chunks_exact_mut(side).enumerate() {
            let (own, more) = rest.split_at(side - a);
            row[a..].copy_from_slice(own);
            rest = more;
        }
        mirror_upper_triangle(&mut self.moments, side);
        Ok(())
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
