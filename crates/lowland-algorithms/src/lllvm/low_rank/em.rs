//! Variational EM with low-rank posteriors. Vectors hold the first coordinate of all eigenvectors, then the second, and so on.

use std::sync::Arc;

use rayon::prelude::*;

use super::super::evidence::{ExpectedSums, PriorSpectrum, max_gamma, update_hyperparameters};
use super::super::linear_terms::{latent_linear_term, map_linear_term, offset};
use super::super::model_rows::ModelRows;
use super::super::multi_start::{EmRun, mismatch};
use super::super::options::{Alpha, ColumnNoise, LllvmOptions};
use super::super::posterior::{Hyperparameters, Posterior};
use super::super::problem::ScaledRows;
use super::super::sums::dot;
use super::covariance::{LowRankBasis, LowRankCovariance};
use super::modes::LaplacianModes;
use super::problem::LowRankProblem;
use lowland_core::archive::Archive;
use lowland_core::{Result, Seed};
use lowland_linalg::dense::Cholesky;
use lowland_linalg::{dense, spd_inverse};

/// A Gaussian that is general between the eigenvectors and proportional to the prior in the rest.
#[derive(Debug, Clone)]
pub(super) struct LowRankGaussian {
    /// The covariance between the eigenvectors, row-major with `dim rank` rows.
    pub covariance: Vec<f64>,
    /// `T`: the factor of the covariance of the rest, `dim x dim`.
    pub rest: Vec<f64>,
    pub log_determinant: f64,
}

/// The state of EM from one start.
pub struct LowRankEm<'a> {
    problem: &'a LowRankProblem,
    options: LllvmOptions,
    rows: ModelRows<'a>,
    hyperparameters: Hyperparameters,
    change: f64,
    signal_to_noise: f64,
    /// The means of the maps between the eigenvectors, and their covariance, shared by all columns of the data.
    maps: Vec<f64>,
    map_gaussian: LowRankGaussian,
    /// The means of the latent coordinates between the eigenvectors, and their covariance.
    latents: Vec<f64>,
    latent_gaussian: LowRankGaussian,
    /// The means of the maps of all points.
    point_maps: Vec<f64>,
    /// The means of the latent coordinates of all points.
    point_latents: Vec<f64>,
    /// `H'` of all points.
    h: Vec<f64>,
}

impl<'a> LowRankEm<'a> {
    /// Starts from the covariance of the prior, with the same means as the exact model for the same seed, as far as the eigenvectors can
    /// represent them.
    pub fn new(problem: &'a LowRankProblem, options: LllvmOptions, seed: Seed) -> Result<Self> {
        let (modes, dim, columns) = (&problem.modes, options.dim, problem.columns());
        let (n, m) = (modes.points(), modes.rank());
        let variances: Vec<f64> = (0..m).map(|p| 1.0 / prior_precision(modes, options.epsilon, p)).collect();
        let mut maps = modes.to_modes(&seed.normals(n * dim * columns), columns);
        maps.chunks_exact_mut(columns)
            .enumerate()
            .for_each(|(a, row)| row.iter_mut().for_each(|v| *v *= variances[a % m]));
        let mut covariance = vec![0.0; (m * dim).pow(2)];
        (0..m * dim).for_each(|a| covariance[a * (m * dim + 1)] = variances[a % m]);
        let rest = (0..dim * dim).map(|at| if at / dim == at % dim { 1.0 } else { 0.0 }).collect();
        let map_gaussian = LowRankGaussian { covariance, rest, log_determinant: 0.0 };
        let alpha = match options.alpha {
            Alpha::Fixed(alpha) => alpha,
            Alpha::Optimize => 1.0,
        };
        let mut em = Self {
            problem,
            options,
            rows: ModelRows::new(&problem.rows, problem.missing.as_ref(), &modes.graph),
            hyperparameters: Hyperparameters { dim, gamma: 1.0, alpha, bound: f64::NEG_INFINITY },
            change: 1.0,
            signal_to_noise: f64::INFINITY,
            maps,
            latent_gaussian: map_gaussian.clone(),
            map_gaussian,
            latents: vec![0.0; m * dim],
            point_maps: vec![0.0; n * dim * columns],
            point_latents: vec![0.0; n * dim],
            h: vec![0.0; n * dim * columns],
        };
        em.problem.modes.to_points(&em.maps, columns, &mut em.point_maps);
        Ok(em)
    }

    /// Estimates the bytes of one start with `n` points and `columns` columns.
    pub fn memory(n: usize, rank: usize, dim: usize, columns: usize) -> f64 {
        // In floating point, since a product of counts could overflow.
        let [n, rank, dim, columns] = [n, rank.min(n), dim, columns].map(|count| count as f64);
        let side = rank * dim;
        8.0 * (2.0 * n * dim * columns + 8.0 * side * side + 3.0 * side * columns)
    }

    /// The means of the maps of all points, and their covariance in full.
    #[cfg(test)]
    pub(in super::super) fn point_maps(&self) -> (Vec<f64>, Vec<f64>) {
        let modes = &self.problem.modes;
        let (n, m, dim) = (modes.points(), modes.rank(), self.options.dim);
        let inverse = super::laplacian_inverse::LaplacianInverse::new(&modes.graph, None).expect("a factor");
        let k = inverse.columns(0, n);
        let entry = |at: usize| {
            let ((r, i), (s, j)) = ((at / (n * dim) / n, at / (n * dim) % n), (at % (n * dim) / n, at % (n * dim) % n));
            let (u, v) = (&modes.vectors[i * m..(i + 1) * m], &modes.vectors[j * m..(j + 1) * m]);
            let known: f64 = (1..m).map(|p| u[p] * v[p] / modes.eigenvalues[p]).sum();
            let inner = |p: usize, q: usize| self.map_gaussian.covariance[(r * m + p) * m * dim + s * m + q];
            let low_rank: f64 = (0..m).map(|p| u[p] * (0..m).map(|q| inner(p, q) * v[q]).sum::<f64>()).sum();
            low_rank + 0.5 * self.map_gaussian.rest[r * dim + s] * (k[i * n + j] - known)
        };
        (self.point_maps.clone(), (0..(n * dim).pow(2)).map(entry).collect())
    }

    fn side(&self) -> usize {
        self.latents.len()
    }

    /// The second moments of the maps between the eigenvectors, `d_y Sigma_C + mu_C' mu_C`.
    fn map_moments(&self) -> Vec<f64> {
        let (side, columns) = (self.side(), self.problem.columns());
        let mut moments: Vec<f64> = self.map_gaussian.covariance.iter().map(|v| columns as f64 * v).collect();
        dense::product_nt_add(&self.maps, &self.maps, columns, 1.0, &mut moments, side);
        moments
    }

    fn latent_moments(&self) -> Vec<f64> {
        let (side, latents) = (self.side(), &self.latents);
        let entry = |(at, v): (usize, &f64)| v + latents[at / side] * latents[at % side];
        self.latent_gaussian.covariance.iter().enumerate().map(entry).collect()
    }

    /// Splits a matrix of side `dim rank` into its blocks, coordinate by coordinate.
    fn to_blocks(&self, matrix: &[f64]) -> Vec<f64> {
        let (dim, m) = (self.options.dim, self.problem.modes.rank());
        let row = |block: usize, p: usize| &matrix[((block / dim) * m + p) * dim * m + block % dim * m..][..m];
        (0..dim * dim).flat_map(|block| (0..m).flat_map(move |p| row(block, p))).copied().collect()
    }

    /// The inverse of [`Self::to_blocks`].
    fn join_blocks(&self, blocks: &[f64]) -> Vec<f64> {
        let (dim, m) = (self.options.dim, self.problem.modes.rank());
        let row = |a: usize, s: usize| &blocks[((a / m * dim + s) * m + a % m) * m..][..m];
        (0..dim * m).flat_map(|a| (0..dim).flat_map(move |s| row(a, s))).copied().collect()
    }

    /// Adds `rest (x) form` to blocks.
    fn add_rest(blocks: &mut [f64], rest: &[f64], factor: f64, form: &[f64]) {
        for (block, rest) in blocks.chunks_exact_mut(form.len()).zip(rest) {
            block.iter_mut().zip(form).for_each(|(b, f)| *b += factor * rest * f);
        }
    }

    /// The Gaussian with this precision between the eigenvectors, and the given one, summed over the rest.
    fn gaussian(&self, mut precision: Vec<f64>, rest_precision: &[f64]) -> Result<LowRankGaussian> {
        let (side, dim, rest) = (self.side(), self.options.dim, self.problem.modes.rest());
        let mut covariance = vec![0.0; side * side];
        let mut log_determinant = -spd_inverse(&mut precision, side, &mut covariance)?;
        let mut factor = vec![0.0; dim * dim];
        if rest > 0 {
            let mean: Vec<f64> = rest_precision.iter().map(|v| v / rest as f64).collect();
            let found = Cholesky::new(&mean, dim)?;
            log_determinant -= rest as f64 * (found.log_determinant() + dim as f64 * std::f64::consts::LN_2);
            log_determinant -= dim as f64 * self.problem.modes.rest_log_determinant;
            factor = found.inverse();
        }
        Ok(LowRankGaussian { covariance, rest: factor, log_determinant })
    }

    /// Updates `q(x)` given `q(C)`.
    fn update_latents(&mut self, map_blocks: &[f64]) -> Result<()> {
        let (modes, columns, gamma, alpha) = (
            &self.problem.modes,
            self.problem.columns() as f64,
            self.hyperparameters.gamma,
            self.hyperparameters.alpha,
        );
        let (m, dim, forms) = (modes.rank(), self.options.dim, &modes.forms);
        let by_point = latent_linear_term(&modes.graph, &self.rows.rows, &self.point_maps, gamma);
        let linear_term = modes.to_modes(&by_point, 1);
        let mut blocks = forms.sums(map_blocks);
        Self::add_rest(&mut blocks, &self.map_gaussian.rest, columns, &forms.rest_sums);
        let mut precision = self.join_blocks(&blocks);
        precision.iter_mut().for_each(|v| *v *= 0.5 * gamma);
        (0..m * dim).for_each(|a| precision[a * (m * dim + 1)] += alpha + 2.0 * modes.eigenvalues[a % m]);
        let rest_of_block = |(at, block): (usize, &[f64])| {
            let own = if at / dim == at % dim { alpha * forms.rest_trace + modes.rest() as f64 } else { 0.0 };
            let both = columns * self.map_gaussian.rest[at] * forms.rest_both;
            own + 0.5 * gamma * (dot((block, &forms.rest_differences)) + both)
        };
        let rest: Vec<f64> = map_blocks.chunks_exact(m * m).enumerate().map(rest_of_block).collect();
        self.latent_gaussian = self.gaussian(precision, &rest)?;
        let side = self.side();
        self.latents = self.latent_gaussian.covariance.chunks_exact(side).map(|row| dot((row, &linear_term))).collect();
        self.problem.modes.to_points(&self.latents, 1, &mut self.point_latents);
        // The variance of the common translation is that of the prior.
        let free = (0..side).filter(|a| a % m > 0);
        let variances: f64 = free.map(|a| self.latent_gaussian.covariance[a * (side + 1)]).sum();
        let rest = self.rest_trace(&self.latent_gaussian.rest) * modes.forms.rest_trace;
        self.signal_to_noise = dot((&self.latents, &self.latents)) / (variances + rest);
        Ok(())
    }

    fn rest_trace(&self, rest: &[f64]) -> f64 {
        rest.iter().step_by(self.options.dim + 1).sum()
    }

    /// One iteration: updates the missing cells, the latent coordinates, the maps, gamma and alpha, and computes the bound.
    fn iterate(&mut self) -> Result<()> {
        let (modes, columns) = (&self.problem.modes, self.problem.columns());
        let (m, dim, forms, gamma) = (modes.rank(), self.options.dim, &modes.forms, self.hyperparameters.gamma);
        let side = self.side();
        let precisions = (gamma, self.options.epsilon);
        let (point_maps, point_latents) = (&self.point_maps, &self.point_latents);
        self.rows.update_missing(&modes.graph, precisions, |i, c| {
            offset(&modes.graph, (point_maps, columns), point_latents, (i, c))
        });
        self.update_latents(&self.to_blocks(&self.map_moments()))?;
        // q(C) given q(x).
        map_linear_term(&modes.graph, &self.rows.rows, &self.point_latents, &mut self.h);
        let h = modes.to_modes(&self.h, columns);
        let latent_blocks = self.to_blocks(&self.latent_moments());
        let mut form = forms.differences(&latent_blocks);
        Self::add_rest(&mut form, &self.latent_gaussian.rest, 1.0, &forms.rest_differences);
        let mut precision = self.join_blocks(&form);
        precision.iter_mut().for_each(|v| *v *= 0.5 * gamma);
        (0..side).for_each(|a| precision[a * (side + 1)] += prior_precision(modes, self.options.epsilon, a % m));
        let rest_forms: Vec<f64> = latent_blocks
            .chunks_exact(m * m)
            .zip(&self.latent_gaussian.rest)
            .map(|(block, rest)| dot((block, &forms.rest_sums)) + rest * forms.rest_both)
            .collect();
        let identity = |at: usize| if at / dim == at % dim { modes.rest() as f64 } else { 0.0 };
        let rest: Vec<f64> = rest_forms.iter().enumerate().map(|(at, v)| identity(at) + 0.5 * gamma * v).collect();
        self.map_gaussian = self.gaussian(precision, &rest)?;
        dense::product_nn(&self.map_gaussian.covariance, &h, side, &mut self.maps);
        self.maps.iter_mut().for_each(|v| *v *= gamma);
        modes.to_points(&self.maps, columns, &mut self.point_maps);
        self.update_parameters(&h, &form, &rest_forms);
        Ok(())
    }

    /// Updates gamma and alpha, and computes the bound. `form` and `rest_forms` are the forms of differences of the latent coordinates
    /// between the eigenvectors and in the rest.
    fn update_parameters(&mut self, h: &[f64], form: &[f64], rest_forms: &[f64]) {
        let (modes, columns) = (&self.problem.modes, self.problem.columns() as f64);
        let (m, side, epsilon) = (modes.rank(), self.side(), self.options.epsilon);
        let (maps, latents) = (self.map_moments(), self.latent_moments());
        let blocks = self.to_blocks(&maps);
        let quadratic = dot((form, &blocks)) + columns * dot((rest_forms, &self.map_gaussian.rest));
        let (map_rest, latent_rest) =
            (columns * self.rest_trace(&self.map_gaussian.rest), self.rest_trace(&self.latent_gaussian.rest));
        let diagonal = |matrix: &[f64], weight: &dyn Fn(usize) -> f64| -> f64 {
            (0..side).map(|a| weight(a % m) * matrix[a * (side + 1)]).sum()
        };
        let rest = modes.rest() as f64;
        let sums = ExpectedSums {
            latent_log_determinant: self.latent_gaussian.log_determinant,
            latent_trace: diagonal(&latents, &|_| 1.0) + latent_rest * modes.forms.rest_trace,
            latent_roughness: diagonal(&latents, &|p| modes.eigenvalues[p]) + 0.5 * latent_rest * rest,
            map_log_determinant: self.map_gaussian.log_determinant,
            map_prior: diagonal(&maps, &|p| prior_precision(modes, epsilon, p)) + map_rest * rest,
            quadratic,
            linear: self.maps.par_chunks(4096).zip(h.par_chunks(4096)).map(dot).collect::<Vec<_>>().iter().sum(),
        };
        let spectrum = PriorSpectrum {
            eigenvalues: &modes.eigenvalues[1..],
            rest: modes.rest(),
            rest_log_determinant: modes.rest_log_determinant,
        };
        let (hyperparameters, options) = (&mut self.hyperparameters, &self.options);
        update_hyperparameters(
            hyperparameters,
            &mut self.rows,
            &modes.graph,
            options,
            &sums,
            &spectrum,
            (&self.maps, h),
        );
    }
}

/// The precision of the prior of the maps along an eigenvector.
fn prior_precision(modes: &LaplacianModes, epsilon: f64, p: usize) -> f64 {
    if p == 0 { epsilon * modes.points() as f64 } else { 2.0 * modes.eigenvalues[p] }
}

impl EmRun for LowRankEm<'_> {
    fn step(&mut self) -> Result<()> {
        let before = self.hyperparameters.bound;
        self.iterate()?;
        let values = (self.problem.points() * self.problem.columns()) as f64;
        self.change = if before.is_finite() { (self.hyperparameters.bound - before).abs() / values } else { 1.0 };
        Ok(())
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
        self.hyperparameters.gamma >= max_gamma(&self.rows, self.problem.points())
    }

    fn rows(&self) -> ScaledRows {
        self.rows.rows.clone().into_owned()
    }

    fn missing_std(&self) -> Vec<f64> {
        self.rows.missing_std()
    }

    #[expect(clippy::misnamed_getters, reason = "`self.latents` are coefficients of the eigenvectors")]
    fn latents(&self) -> &[f64] {
        &self.point_latents
    }

    /// The current maps, and the latent coordinates updated once more, which only increases the bound.
    fn into_posterior(mut self) -> Result<Posterior> {
        self.update_latents(&self.to_blocks(&self.map_moments()))?;
        let modes = &self.problem.modes;
        let basis = Arc::new(LowRankBasis::new(modes));
        let LowRankGaussian { covariance, rest, .. } = self.map_gaussian;
        let maps = LowRankCovariance::new(basis.clone(), covariance, rest);
        // Without the variance of the common translation, which is that of the prior.
        let LowRankGaussian { mut covariance, rest, .. } = self.latent_gaussian;
        let (m, side) = (modes.rank(), self.latents.len());
        let is_translation = |at: &usize| (at / side).is_multiple_of(m) || (at % side).is_multiple_of(m);
        (0..side * side).filter(is_translation).for_each(|at| covariance[at] = 0.0);
        let latents = LowRankCovariance::new(basis, covariance, rest);
        Posterior::low_rank(self.hyperparameters, &self.point_latents, latents, &self.point_maps, maps)
    }

    fn save(&self, name: &str, archive: &mut Archive) {
        let Hyperparameters { gamma, alpha, bound, .. } = self.hyperparameters;
        archive.put(format!("{name}/numbers"), vec![gamma, alpha, bound, self.change, self.signal_to_noise]);
        self.rows.save(name, self.options.column_noise == ColumnNoise::Separate, archive);
        archive.put(format!("{name}/maps"), self.maps.as_slice());
        archive.put(format!("{name}/places"), self.latents.as_slice());
        archive.put(format!("{name}/map_covariance"), self.map_gaussian.covariance.as_slice());
        archive.put(format!("{name}/map_rest"), self.map_gaussian.rest.as_slice());
    }

    fn restore(&mut self, name: &str, archive: &Archive) -> Result<()> {
        let read = |part: &str| archive.finite(&format!("{name}/{part}"));
        let (maps, latents) = (read("maps")?, read("places")?);
        let (covariance, rest) = (read("map_covariance")?, read("map_rest")?);
        let fits = maps.len() == self.maps.len()
            && latents.len() == self.side()
            && covariance.len() == self.side().pow(2)
            && rest.len() == self.options.dim.pow(2);
        let &[gamma, alpha, bound, change, signal_to_noise] = read("numbers")? else { return Err(mismatch(archive)) };
        let separate = self.options.column_noise == ColumnNoise::Separate;
        let graph = &self.problem.modes.graph;
        if !(fits && gamma > 0.0 && alpha > 0.0 && self.rows.restore(graph, name, separate, archive)?) {
            return Err(mismatch(archive));
        }
        self.hyperparameters = Hyperparameters { dim: self.options.dim, gamma, alpha, bound };
        (self.change, self.signal_to_noise) = (change, signal_to_noise);
        self.maps.copy_from_slice(maps);
        self.latents.copy_from_slice(latents);
        self.map_gaussian.covariance.copy_from_slice(covariance);
        self.map_gaussian.rest.copy_from_slice(rest);
        let (modes, columns) = (&self.problem.modes, self.problem.columns());
        modes.to_points(&self.maps, columns, &mut self.point_maps);
        modes.to_points(&self.latents, 1, &mut self.point_latents);
        Ok(())
    }
}
