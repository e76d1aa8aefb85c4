//! The leading singular vectors of data, centred or not: principal components.
//!
//! Two routes. Dense rows that are not too long: the covariance matrix, then a dense decomposition. Everything else: the
//! block iteration of [`EigenSolver`] on `A'A`, from a random block with ten columns to spare, never forming `A'A` and
//! never making sparse rows dense. All sums are in `f64`, so rows of 1e-30 or 1e30 need no scaling.

use super::covariance::{Covariance, column_means, covariance_matrix};
use super::{
    EigenMethod, EigenOptions, EigenReport, EigenSolver, EigenState, Identity, LinearMap, SpectrumEnd, block, dense,
};
use lowland_core::message::Remedy;
use lowland_core::run::Progress;
use lowland_core::{Data, Error, Result, Seed, Shape};

/// How principal components are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PcaAlgorithm {
    /// The `dim x dim` covariance matrix and its dense decomposition.
    Covariance,
    /// [`RandomizedSvd`].
    Iterative,
}

/// The route for `components` principal components: the covariance matrix for dense rows up to 2000 long (and wherever
/// the iteration's basis would fill the space anyway), else the iteration.
pub fn choose_pca_algorithm(dim: usize, sparse: bool, components: usize) -> PcaAlgorithm {
    const LONGEST_ROW: usize = 2000;
    if !sparse && (dim <= LONGEST_ROW || dim <= 3 * (components + SvdOptions::default().oversampling)) {
        PcaAlgorithm::Covariance
    } else {
        PcaAlgorithm::Iterative
    }
}

impl PcaAlgorithm {
    /// Bytes needed beyond the data, the rows' coordinates included.
    pub fn memory(self, components: usize, shape: Shape) -> u64 {
        // In floating point: a cast saturates where a product of counts would wrap.
        let [n, dim, count] = [shape.rows, shape.dim, components].map(|count| count as f64);
        let work = match self {
            // The matrix, its copies and the scratch of the decomposition.
            PcaAlgorithm::Covariance => dim * dim * 8.0 * 5.5,
            // Fifteen blocks of the solver, and a partial product for each of sixteen chunks of rows.
            PcaAlgorithm::Iterative => (n + 31.0 * dim) * (count + 10.0) * 8.0,
        };
        // Sparse rows are needed by column as well.
        let by_column = if shape.sparse { shape.bytes as f64 * 1.5 } else { 0.0 };
        ((n + dim) * count * 8.0 + work + by_column) as u64
    }
}

/// [`PcaAlgorithm::memory`] of the usual route.
pub fn pca_memory(components: usize, shape: Shape) -> u64 {
    choose_pca_algorithm(shape.dim, shape.sparse, components).memory(components, shape)
}

/// When the iteration stops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SvdOptions {
    /// A component has converged when `|A'A v - s^2 v| <= tolerance * s^2`.
    pub tolerance: f64,
    /// The most passes over the data.
    pub max_iterations: usize,
    /// Columns carried beside those wanted.
    pub oversampling: usize,
}

impl Default for SvdOptions {
    fn default() -> Self {
        Self { tolerance: 1e-4, max_iterations: 60, oversampling: 10 }
    }
}

/// Leading singular values and right singular vectors of data less `mean`.
#[derive(Debug, Clone, PartialEq)]
pub struct Svd {
    /// Singular values, descending. Beyond the rank of the data they are zero, up to rounding.
    pub singular_values: Vec<f64>,
    /// Right singular vectors, one a row (components x dim), the largest entry of each positive.
    pub components: Vec<f64>,
    /// What was taken from every row: the mean, or zeros.
    pub mean: Vec<f64>,
    /// The sum of squares of the data less `mean`; the squared singular values are parts of it.
    pub total_squares: f64,
    /// How the iteration went; the covariance route counts as dense.
    pub report: EigenReport,
}

impl Svd {
    /// The map of rows to their coordinates along the components.
    pub fn map(&self) -> LinearMap {
        LinearMap::new(&self.components, &self.mean)
    }
}

/// The iteration, one step at a time.
#[derive(Debug, Clone)]
pub struct RandomizedSvd {
    matrix: Covariance,
    solver: EigenSolver,
}

impl RandomizedSvd {
    /// The leading `components` of dense or sparse rows, with the mean taken off (implicitly) or not.
    pub fn new(data: &Data, components: usize, center: bool, options: SvdOptions, seed: Seed) -> Result<Self> {
        check_components(data, components)?;
        let matrix = Covariance::new(data, center)?;
        let eigen = EigenOptions {
            tolerance: options.tolerance,
            max_iterations: options.max_iterations,
            guard: options.oversampling.min(data.dim() - components),
            fallback_up_to: 0,
            ..EigenOptions::new(SpectrumEnd::Largest, components)
        };
        let solver = EigenSolver::new(&matrix, eigen, &[], 0, seed.stream("randomized svd"))?;
        Ok(Self { matrix, solver })
    }

    /// One pass over the data.
    pub fn step(&mut self) -> Result<()> {
        self.solver.step(&self.matrix, &Identity)
    }

    /// Whether there is nothing left to do.
    pub fn finished(&self) -> bool {
        self.solver.finished()
    }

    /// Whether every component has met the tolerance.
    pub fn converged(&self) -> bool {
        self.solver.converged()
    }

    /// Steps until finished.
    pub fn run(&mut self, progress: &mut Progress) -> Result<Svd> {
        self.solver.run(&self.matrix, &Identity, progress)?;
        Ok(self.result())
    }

    /// The result as it stands.
    pub fn result(&self) -> Svd {
        assemble(&self.matrix, &self.solver.values(), &self.solver.vectors(), self.solver.report())
    }

    /// All there is to remember.
    pub fn save(&self) -> EigenState {
        self.solver.save()
    }

    /// Goes back to a saved state of the same problem.
    pub fn restore(&mut self, state: EigenState) -> Result<()> {
        self.solver.restore(state)
    }
}

/// The leading `components`, by whichever route suits the data.
pub fn svd(data: &Data, components: usize, center: bool, options: SvdOptions, seed: Seed) -> Result<Svd> {
    svd_with(data, components, center, options, seed, &mut |_| Ok(()))
}

/// Like [`svd`], and reports progress.
pub fn svd_with(
    data: &Data,
    components: usize,
    center: bool,
    options: SvdOptions,
    seed: Seed,
    progress: &mut Progress,
) -> Result<Svd> {
    check_components(data, components)?;
    match (choose_pca_algorithm(data.dim(), matches!(data, Data::Sparse(_)), components), data) {
        (PcaAlgorithm::Covariance, Data::Dense(_)) => exact_svd_with(data, components, center, progress),
        _ => RandomizedSvd::new(data, components, center, options, seed)?.run(progress),
    }
}

/// The leading `components` through the covariance matrix (dim x dim), whatever its size; dense rows only.
pub fn exact_svd(data: &Data, components: usize, center: bool) -> Result<Svd> {
    exact_svd_with(data, components, center, &mut |_| Ok(()))
}

/// Like [`exact_svd`], and reports progress.
pub fn exact_svd_with(data: &Data, components: usize, center: bool, progress: &mut Progress) -> Result<Svd> {
    check_components(data, components)?;
    let Data::Dense(rows) = data else {
        return Err(Error::Kind {
            what: "the covariance matrix",
            kind: data.kind(),
            remedies: vec![Remedy::Set { name: "solver", value: "randomized" }],
        });
    };
    let dim = data.dim();
    let mean = column_means(data, center)?;
    let matrix = covariance_matrix(rows, &mean, progress)?;
    let total_squares: f64 = matrix.iter().step_by(dim + 1).sum();
    let (values, vectors) = dense::eigh(&matrix, dim)?;
    let top: Vec<usize> = (0..components).map(|c| dim - 1 - c).collect();
    let values: Vec<f64> = top.iter().map(|&c| values[c]).collect();
    let mut vectors = block::select_columns(&vectors, dim, &top);
    block::fix_signs(&mut vectors, components);
    let report =
        EigenReport { iterations: 0, residuals: vec![0.0; components], converged: true, solver: EigenMethod::Dense };
    Ok(finish(mean, total_squares, &values, &vectors, report))
}

fn check_components(data: &Data, components: usize) -> Result<()> {
    if let Data::Text(_) = data {
        return Err(Error::Kind {
            what: "a singular value decomposition",
            kind: data.kind(),
            remedies: vec![Remedy::Other("give rows of numbers")],
        });
    }
    if data.rows() == 0 {
        return Err(Error::TooFewPoints {
            what: "a singular value decomposition".into(),
            needed: 1,
            found: 0,
            remedies: Vec::new(),
        });
    }
    if components == 0 || components > data.dim() {
        return Err(Error::Parameter {
            name: "n_components",
            value: components.to_string(),
            allowed: format!("from 1 to the number of columns, {}", data.dim()),
        });
    }
    Ok(())
}

fn assemble(matrix: &Covariance, values: &[f64], vectors: &[f64], report: EigenReport) -> Svd {
    finish(matrix.mean().to_vec(), matrix.total_squares(), values, vectors, report)
}

/// Eigenpairs of `A'A` (vectors as columns) to singular values and components (as rows).
fn finish(mean: Vec<f64>, total_squares: f64, values: &[f64], vectors: &[f64], report: EigenReport) -> Svd {
    let (k, dim) = (values.len(), mean.len());
    Svd {
        // Rounding can take a zero eigenvalue below zero.
        singular_values: values.iter().map(|v| v.max(0.0).sqrt()).collect(),
        components: (0..k * dim).map(|at| vectors[at % dim * k + at / dim]).collect(),
        mean,
        total_squares,
        report,
    }
}

#[cfg(test)]
mod tests;
