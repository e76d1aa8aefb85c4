//! Leading singular vectors of data, centered or not: principal components.
//!
//! There are two algorithms. Dense rows that are not too long: the covariance matrix, then a dense decomposition.
//! Everything else: the block iteration of [`EigenSolver`] on `A'A`, from a random block with ten additional columns,
//! which neither forms `A'A` nor makes sparse rows dense. All sums are in `f64`, so rows of 1e-30 or 1e30 need no
//! scaling.

use super::covariance::{Covariance, TILE, column_means, covariance_matrix};
use super::eigen::dense_memory;
use super::{
    EigenMethod, EigenOptions, EigenReport, EigenSolver, EigenState, Identity, LinearMap, SpectrumEnd, block, dense,
};
use lowland_core::message::Remedy;
use lowland_core::run::Progress;
use lowland_core::{Data, DataShape, Error, Result, Seed};

/// Algorithm for principal components.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PcaAlgorithm {
    /// The `dim x dim` covariance matrix and its dense decomposition.
    Covariance,
    /// [`RandomizedSvd`].
    Iterative,
}

/// Chooses the algorithm for `components` principal components: the covariance matrix for dense rows of up to 2000
/// columns (and whenever the basis of the iteration would fill the space anyway), otherwise the iteration.
pub fn choose_pca_algorithm(dim: usize, sparse: bool, components: usize) -> PcaAlgorithm {
    const LONGEST_ROW: usize = 2000;
    if !sparse && (dim <= LONGEST_ROW || dim <= 3 * (components + SvdOptions::default().oversampling)) {
        PcaAlgorithm::Covariance
    } else {
        PcaAlgorithm::Iterative
    }
}

impl PcaAlgorithm {
    /// Estimates the bytes needed beyond the data, including the coordinates of the rows.
    pub fn memory(self, components: usize, shape: DataShape) -> u64 {
        // In floating point, since a cast saturates where a product of counts would wrap.
        let [n, dim, count] = [shape.rows, shape.dim, components].map(|count| count as f64);
        let threads = rayon::current_num_threads() as f64;
        let work = match self {
            PcaAlgorithm::Covariance => {
                // A tile of rows in double precision for each thread; the matrix, its copies and the workspace of the
                // decomposition.
                let front = if dim > 64.0 { 64.0 } else { 0.0 };
                let tiles = threads.min((dim / 64.0).ceil()) * n.min(TILE as f64) * (dim + front) * 8.0;
                tiles + dense_memory(shape.dim)
            }
            PcaAlgorithm::Iterative => {
                let options = EigenOptions { guard: 10, ..EigenOptions::new(SpectrumEnd::Largest, components) };
                // Sparse rows are needed by column as well, and while they are transposed twice; their product is that of
                // all rows.
                let products = if shape.sparse {
                    shape.bytes as f64 * 3.0 + n * (count + 10.0) * 8.0
                } else {
                    // A tile of rows in double precision for each thread, and up to sixteen partial products.
                    let parts = (n / TILE as f64).ceil().min(16.0);
                    (threads * TILE as f64).min(n) * dim * 8.0 + parts * dim * (count + 10.0) * 8.0
                };
                products + options.memory(shape.dim).max(16.0 * dim * (count + 10.0) * 8.0)
            }
        };
        // The means, the components and the coordinates.
        (n * count * 8.0 + dim * (count + 1.0) * 16.0 + work) as u64
    }
}

/// Returns [`PcaAlgorithm::memory`] of the algorithm that [`choose_pca_algorithm`] chooses.
pub fn pca_memory(components: usize, shape: DataShape) -> u64 {
    choose_pca_algorithm(shape.dim, shape.sparse, components).memory(components, shape)
}

/// Options of the iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SvdOptions {
    /// A component has converged if `|A'A v - s^2 v| <= tolerance * s^2`.
    pub tolerance: f64,
    /// Maximum number of passes over the data.
    pub max_iterations: usize,
    /// Number of additional columns.
    pub oversampling: usize,
}

impl Default for SvdOptions {
    fn default() -> Self {
        Self { tolerance: 1e-4, max_iterations: 60, oversampling: 10 }
    }
}

/// Leading singular values and right singular vectors of the data minus `mean`.
#[derive(Debug, Clone, PartialEq)]
pub struct Svd {
    /// Singular values, descending. Beyond the rank of the data they are zero, up to rounding.
    pub singular_values: Vec<f64>,
    /// Right singular vectors, one per row (components x dim), with the largest entry of each positive.
    pub components: Vec<f64>,
    /// Vector subtracted from every row: the mean, or zeros.
    pub mean: Vec<f64>,
    /// Sum of squares of the data minus `mean`, of which the squared singular values are parts.
    pub total_squares: f64,
    /// Convergence report; the covariance algorithm counts as dense.
    pub report: EigenReport,
}

impl Svd {
    /// Returns the map from rows to their coordinates along the components.
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
    /// Prepares the computation of the leading `components` of dense or sparse rows, centered (implicitly) or not.
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

    /// Performs one pass over the data.
    pub fn step(&mut self) -> Result<()> {
        self.solver.step(&self.matrix, &Identity)
    }

    /// Returns whether the iteration has ended.
    pub fn finished(&self) -> bool {
        self.solver.finished()
    }

    /// Returns whether every component has met the tolerance.
    pub fn converged(&self) -> bool {
        self.solver.converged()
    }

    /// Iterates until finished.
    pub fn run(&mut self, progress: &mut Progress) -> Result<Svd> {
        self.solver.run(&self.matrix, &Identity, progress)?;
        Ok(self.result())
    }

    /// Returns the current result.
    pub fn result(&self) -> Svd {
        assemble(&self.matrix, &self.solver.values(), &self.solver.vectors(), self.solver.report())
    }

    /// Returns the state from which the iteration can be resumed.
    pub fn save(&self) -> EigenState {
        self.solver.save()
    }

    /// Restores a saved state of the same problem.
    pub fn restore(&mut self, state: EigenState) -> Result<()> {
        self.solver.restore(state)
    }
}

/// Computes the leading `components`, by the algorithm that suits the data.
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

/// Computes the leading `components` through the covariance matrix (dim x dim), whatever its size; dense rows only.
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

/// Converts eigenpairs of `A'A` (vectors as columns) to singular values and components (as rows).
fn finish(mean: Vec<f64>, total_squares: f64, values: &[f64], vectors: &[f64], report: EigenReport) -> Svd {
    let (k, dim) = (values.len(), mean.len());
    Svd {
        // Rounding can make a zero eigenvalue negative.
        singular_values: values.iter().map(|v| v.max(0.0).sqrt()).collect(),
        components: (0..k * dim).map(|at| vectors[at % dim * k + at / dim]).collect(),
        mean,
        total_squares,
        report,
    }
}

#[cfg(test)]
mod tests;
