//! Options of the model and the starting points of EM.

use super::problem::LllvmProblem;
use lowland_core::Seed;
use lowland_core::params::{ParamValue, param_enum};
use lowland_linalg::dense;

/// The precision of the prior of the latent coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Alpha {
    /// A fixed value. The authors' program uses 1e-3, unlike the paper.
    Fixed(f64),
    /// The maximizer of the bound, as in the paper. It tends to infinity, and the map to a point.
    Optimize,
}

impl ParamValue for Alpha {
    const EXPECTS: &'static str = "a positive number or optimise";

    fn parse(text: &str) -> Option<Self> {
        match text {
            "optimise" | "optimize" => Some(Self::Optimize),
            _ => f64::parse(text).map(Self::Fixed),
        }
    }

    fn to_text(&self) -> String {
        match self {
            Self::Fixed(value) => value.to_text(),
            Self::Optimize => "optimise".into(),
        }
    }
}

param_enum! {
    /// Whether all columns of the data have the same noise.
    pub enum ColumnNoise ("common or separate") {
        /// The same noise, as in the paper.
        Common = "common",
        /// A noise of its own for each column, relative to which the linear maps are measured.
        Separate = "separate",
    }
}

param_enum! {
    /// What to do with missing cells (NaN).
    pub enum MissingValues ("refuse or marginalize") {
        /// Return an error that names the first one.
        Refuse = "refuse",
        /// Give them a posterior of their own.
        Marginalize = "marginalize",
    }
}

/// The form of the posteriors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PosteriorRank {
    /// Full for up to [`PosteriorRank::MAX_FULL_ROWS`] rows, 64 eigenvectors for more.
    Auto,
    /// The exact posteriors, with a covariance between all points.
    Full,
    /// General between this number of eigenvectors of the Laplacian, and proportional to the prior in the rest.
    Low(usize),
}

impl PosteriorRank {
    /// The largest number of rows to which [`Self::Auto`] gives full posteriors.
    pub const MAX_FULL_ROWS: usize = 3000;
    const AUTO_RANK: usize = 64;

    /// The number of eigenvectors for this number of rows; `None` for full posteriors.
    pub fn resolve(self, rows: usize) -> Option<usize> {
        match self {
            Self::Auto => (rows > Self::MAX_FULL_ROWS).then_some(Self::AUTO_RANK),
            Self::Full => None,
            Self::Low(rank) => Some(rank.min(rows)),
        }
    }
}

impl ParamValue for PosteriorRank {
    const EXPECTS: &'static str = "auto, full or an integer above 0";

    fn parse(text: &str) -> Option<Self> {
        match text {
            "auto" => Some(Self::Auto),
            "full" => Some(Self::Full),
            _ => usize::parse(text).filter(|&rank| rank > 0).map(Self::Low),
        }
    }

    fn to_text(&self) -> String {
        match self {
            Self::Auto => "auto".into(),
            Self::Full => "full".into(),
            Self::Low(rank) => rank.to_text(),
        }
    }
}

/// The range of alpha when it is optimized.
pub(super) const ALPHA_RANGE: std::ops::Range<f64> = 1e-5..500.0;

/// Options of the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LllvmOptions {
    /// Number of dimensions of the map.
    pub dim: usize,
    /// The precision of the prior of the latent coordinates.
    pub alpha: Alpha,
    /// The precision of the prior of the mean map (`epsilon`, eq 4).
    pub epsilon: f64,
    /// Whether all columns have the same noise.
    pub column_noise: ColumnNoise,
}

impl LllvmOptions {
    /// The options of the authors' program.
    pub fn new(dim: usize, alpha: Alpha) -> Self {
        Self { dim, alpha, epsilon: 1e-3, column_noise: ColumnNoise::Common }
    }
}

/// The starting point of EM: a posterior of the maps, and the two hyperparameters.
#[derive(Debug, Clone, PartialEq)]
pub struct LllvmStart {
    /// The means of the maps.
    pub means: Vec<f64>,
    /// Their covariance, shared by all columns of the data.
    pub covariance: Vec<f64>,
    /// The precision of the data.
    pub gamma: f64,
    /// The precision of the prior of the latent coordinates.
    pub alpha: f64,
}

impl LllvmStart {
    /// The covariance of the prior, `(epsilon JJ' + 2 L)^-1`, with means that are this matrix times random normals.
    pub fn random(problem: &LllvmProblem, options: LllvmOptions, seed: Seed) -> Self {
        let (n, columns) = (problem.points(), problem.columns());
        let side = n * options.dim;
        let constant = 1.0 / (options.epsilon * (n * n) as f64);
        let prior: Vec<f64> = problem.graph.k.iter().map(|k| 0.5 * k + constant).collect();
        let mut covariance = vec![0.0; side * side];
        for r in 0..options.dim {
            let blocks = covariance[r * n * side..].chunks_exact_mut(side).zip(prior.chunks_exact(n));
            blocks.for_each(|(row, prior)| row[r * n..(r + 1) * n].copy_from_slice(prior));
        }
        let mut means = vec![0.0; side * columns];
        let normals = seed.normals(side * columns);
        for (means, normals) in means.chunks_exact_mut(n * columns).zip(normals.chunks_exact(n * columns)) {
            dense::product_nn(&prior, normals, n, means);
        }
        let alpha = match options.alpha {
            Alpha::Fixed(alpha) => alpha,
            Alpha::Optimize => 1.0,
        };
        Self { means, covariance, gamma: 1.0, alpha }
    }
}
