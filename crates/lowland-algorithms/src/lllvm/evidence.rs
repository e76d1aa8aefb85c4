//! The hyperparameters given both posteriors, and the bound on the evidence (eqs S65-S77).

use super::column_scales::best_column_factors;
use super::graph::ModelGraph;
use super::model_rows::ModelRows;
use super::options::{ALPHA_RANGE, Alpha, ColumnNoise, LllvmOptions};
use super::posterior::Hyperparameters;
use super::problem::MIN_NOISE;
use super::sums::dot;

/// The expectations that the hyperparameters and the bound depend on.
pub(super) struct ExpectedSums {
    /// The log-determinant of the covariance of the latent coordinates.
    pub latent_log_determinant: f64,
    /// `E[x'x]`.
    pub latent_trace: f64,
    /// The sum over coordinates of `E[x'L x]`.
    pub latent_roughness: f64,
    /// The log-determinant of `Sigma_C`.
    pub map_log_determinant: f64,
    /// `tr((epsilon JJ' + 2 L) E[C'C])`.
    pub map_prior: f64,
    /// `tr(Gamma E[C'C])`, with `Gamma` without its factor `gamma / 2`.
    pub quadratic: f64,
    /// `tr(mu_C H')`.
    pub linear: f64,
}

/// The eigenvalues of the Laplacian, except the zero.
pub(super) struct PriorSpectrum<'a> {
    /// Those that are known.
    pub eigenvalues: &'a [f64],
    /// Number of the others, which are larger.
    pub rest: usize,
    /// Sum of the logarithms of the others.
    pub rest_log_determinant: f64,
}

impl PriorSpectrum<'_> {
    fn log_eigenvalues(&self) -> f64 {
        self.eigenvalues.iter().map(|w| w.ln()).sum::<f64>() + self.rest_log_determinant
    }

    /// The log-determinant of `alpha + 2 L`, or a little less: alpha is left out of the eigenvalues that are not known.
    fn log_prior(&self, alpha: f64) -> f64 {
        let known: f64 = self.eigenvalues.iter().map(|w| (alpha + 2.0 * w).ln()).sum();
        known + alpha.ln() + self.rest as f64 * std::f64::consts::LN_2 + self.rest_log_determinant
    }

    /// The alpha with the largest bound: the root of `d sum 1 / (alpha + 2 omega) = E[x'x]` (S72), or the end of the range.
    fn best_alpha(&self, dim: f64, trace: f64) -> f64 {
        let slope = |alpha: f64| {
            dim * (1.0 / alpha + self.eigenvalues.iter().map(|w| 1.0 / (alpha + 2.0 * w)).sum::<f64>()) - trace
        };
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
}

/// The largest precision of the data: that of the smallest noise.
pub(super) fn max_gamma(rows: &ModelRows, n: usize) -> f64 {
    0.5 * rows.rows.columns() as f64 * (n as f64 - 1.0) / (MIN_NOISE * rows.roughness)
}

/// Updates gamma in closed form, the scales of the columns if each has its own noise, and alpha if it is optimized; computes the bound
/// with them. `maps` and `h` have a row for each latent coordinate in any basis.
pub(super) fn update_hyperparameters(
    hyperparameters: &mut Hyperparameters,
    rows: &mut ModelRows,
    graph: &ModelGraph,
    options: &LllvmOptions,
    sums: &ExpectedSums,
    spectrum: &PriorSpectrum,
    (maps, h): (&[f64], &[f64]),
) {
    let (n, d, columns) = (graph.points() as f64, options.dim as f64, rows.rows.columns() as f64);
    let (epsilon, mut linear) = (options.epsilon, sums.linear);
    // The bound has a single maximum over gamma, so that the end of the range is the best value within it. A residual that
    // rounding made negative is beyond the end, too.
    let mut residual = 0.25 * sums.quadratic - linear + rows.roughness;
    let (best, largest) = (0.5 * columns * (n - 1.0) / residual, max_gamma(rows, graph.points()));
    let gamma = if best > 0.0 { best.min(largest) } else { largest };
    if options.column_noise == ColumnNoise::Separate {
        let linear_by_column = column_linear(maps, h, rows.rows.columns());
        let roughness = rows.column_roughness(graph, 0.5 * epsilon / gamma);
        let factors = best_column_factors(n, gamma, &roughness, &linear_by_column);
        let scales: Vec<f64> = rows.rows.column_scales.iter().zip(&factors).map(|(s, t)| s * t).collect();
        if rows.set_column_scales(graph, &scales) {
            linear = dot((&factors, &linear_by_column));
            residual = 0.25 * sums.quadratic - linear + rows.roughness;
        }
    }
    let alpha = match options.alpha {
        Alpha::Fixed(alpha) => alpha,
        Alpha::Optimize => spectrum.best_alpha(d, sums.latent_trace),
    };
    let log_eigenvalues = spectrum.log_eigenvalues();
    // The density of the rows is that of the scaled rows times the change of variables.
    let likelihood = rows.log_terms()
        - 0.5 * epsilon * rows.offset
        - gamma * residual
        - 0.5 * n * columns * std::f64::consts::TAU.ln()
        + 0.5 * columns * (log_eigenvalues + (n * epsilon).ln() + (n - 1.0) * (2.0 * gamma).ln());
    let prior_determinant = d * (log_eigenvalues + (n - 1.0) * std::f64::consts::LN_2 + (n * epsilon).ln());
    let maps =
        0.5 * columns * (sums.map_log_determinant + prior_determinant) - 0.5 * sums.map_prior + 0.5 * n * d * columns;
    let quadratic = alpha * sums.latent_trace + 2.0 * sums.latent_roughness;
    let latents = 0.5 * (sums.latent_log_determinant + d * spectrum.log_prior(alpha) - quadratic + n * d);
    *hyperparameters = Hyperparameters { dim: options.dim, gamma, alpha, bound: likelihood + maps + latents };
}

/// `l_c = sum_a mu_ac h_ac` of every column.
fn column_linear(maps: &[f64], h: &[f64], columns: usize) -> Vec<f64> {
    let mut sums = vec![0.0; columns];
    for (maps, h) in maps.chunks_exact(columns).zip(h.chunks_exact(columns)) {
        sums.iter_mut().zip(maps.iter().zip(h)).for_each(|(sum, (m, h))| *sum += m * h);
    }
    sums
}
