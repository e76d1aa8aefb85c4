//! Shared by `lle` and `ltsa`: the embedding consists of the bottom eigenvectors of a sparse matrix on the neighbor graph.

use lowland_algorithms::llx::Llx;
use lowland_core::message::{Note, Remedy};
use lowland_core::params::invalid_parameter;
use lowland_core::run::{Context, Outcome, Stage};
use lowland_core::{DataShape, Embedding, Error, Metric, Result};
use lowland_linalg::dense::Cholesky;
use lowland_linalg::{Csr, EigenOptions, Eigenpairs, Jacobi, Preconditioner, SparseCholesky, SpectrumEnd, eigenpairs};
use lowland_neighbors::graph::ConnectedComponents;
use lowland_neighbors::{NeighborGraph, Search};

use super::components::available_components;
use crate::landmarks::LlxTransformer;
use crate::method::{FitInput, FitOutput};
use crate::neighbor_stage::{self, Neighbors, all_equal, neighbors};

const WEIGHTS: &str = "neighborhoods";
const EIGENVECTORS: &str = "eigenvectors";

pub(super) fn stages(shape: DataShape, k: usize) -> Vec<Stage> {
    let (n, dim, k) = (shape.rows as f64, shape.dim.max(10) as f64, k as f64);
    // Rough seconds on two cores.
    let search = neighbor_stage::seconds(shape);
    vec![
        Stage { name: neighbor_stage::STAGE, weight: search },
        Stage { name: WEIGHTS, weight: n * k * k * (dim * 4e-10 + 4e-8) + 1e-3 },
        Stage { name: EIGENVECTORS, weight: n * k * k * 1e-6 + 1e-3 },
    ]
}

/// Maximum number of entries of a sparse factor.
pub(crate) const MAX_FACTOR_ENTRIES: usize = 1 << 26;
/// Maximum number of rows for a dense factorization, whose time is cubic.
const MAX_DENSE_ROWS: usize = 6_000;

pub(super) fn memory(shape: DataShape, k: usize, d: usize, metric: Metric, search: Search) -> u64 {
    let k = k.min(shape.rows);
    let threads = rayon::current_num_threads() as f64;
    // The neighbors of a row in double precision and their products, for each thread.
    let neighborhoods = threads * (k as f64 * (shape.dim as f64 + k as f64) * 16.0);
    let n = shape.rows as f64;
    let own = n * k as f64 * 8.0 + matrix_memory(n, k as f64) + neighborhoods;
    let solver = EigenOptions::new(SpectrumEnd::Smallest, d).memory(shape.rows);
    lowland_neighbors::search_memory(shape, metric, k, search).max(own as u64).max(solver as u64)
}

/// Returns the number of bytes to build the matrix: the products of each neighborhood in a vector that grows, the same by
/// row, and the matrix. The factor, whose size is known only once the matrix is, is checked separately; that of a
/// low-dimensional graph fits into what building the matrix takes.
fn matrix_memory(n: f64, k: f64) -> f64 {
    n * (k + 1.0).powi(2) * 58.0
}

/// Computes the bottom eigenvectors, except the constant one, of the matrix that `matrix` builds from the neighbor graph.
pub(super) fn fit(
    llx: Llx,
    dim: usize,
    input: FitInput,
    context: &mut Context,
    matrix: impl FnOnce(&NeighborGraph, &mut Context) -> Result<Csr>,
) -> Result<FitOutput<LlxTransformer>> {
    llx.check(input.data)?;
    let Neighbors { graph, exact, wider } = neighbors(input, llx.n_neighbors, llx.metric, llx.search, context)?;
    let n = input.data.rows();
    let mut wanted = available_components(dim, n - 1, "the number of points less one", context)?;
    if n > 1 && graph.distances().iter().all(|&d| d == 0.0) {
        if !all_equal(input.data, llx.metric, &graph, context)? {
            let (value, allowed) =
                (llx.n_neighbors.to_string(), "more: all neighbors of every row are duplicates of it");
            return Err(Error::Parameter { name: "n_neighbors", value, allowed: allowed.into() });
        }
        context.note(Note::AllRowsEqual);
        wanted = 0;
    }
    let mut coordinates = vec![0.0; n * dim];
    if wanted > 0 {
        note_components(&graph, wanted, context);
        let matrix = context.stage(WEIGHTS, |context| matrix(&graph, context))?;
        let vectors = context.stage(EIGENVECTORS, |context| {
            let alive = (graph.indices().len() * 8 + matrix.values().len() * 32) as f64;
            let max_memory = context.memory_left(alive);
            let found =
                smallest_eigenvectors(&matrix, wanted, llx.n_neighbors, MAX_FACTOR_ENTRIES, max_memory, context)?;
            Ok(found.vectors)
        })?;
        // Each coordinate has standard deviation 1.
        let scale = (n as f64).sqrt();
        for (row, vector) in coordinates.chunks_exact_mut(dim).zip(vectors.chunks_exact(wanted)) {
            row.iter_mut().zip(vector).for_each(|(y, v)| *y = scale * v);
        }
    }
    let embedding = Embedding::new(coordinates, dim)?;
    let (data, known) = (input.data.clone(), embedding.clone());
    let transformer = LlxTransformer { llx, data, embedding: known, std: None, keeps_norms: false };
    Ok(FitOutput {
        embedding,
        transformer,
        outcome: Outcome::without_iterations(),
        neighbors: wider.or_else(|| exact.then_some(graph)),
    })
}

/// Notes if the graph is not connected: vectors that are constant on each component have eigenvalue zero and come first.
/// (For LLE this also happens if no row of a part has neighbors outside of it, which is not checked.)
fn note_components(graph: &NeighborGraph, wanted: usize, context: &mut Context) {
    let components = ConnectedComponents::from_neighbors(graph).count();
    if components > 1 {
        let constant = wanted.min(components - 1);
        context.note(Note::ComponentsInCoordinates { components, constant, n_components: wanted });
    }
}

/// Computes the eigenvectors of the smallest eigenvalues, except the constant one. Uses a factorization with at most
/// `max_entries` entries if there is one. Without it, the solver converges only if the eigenvalues are well separated from
/// the rest of the spectrum (`ltsa` of high-dimensional data), not if many are close to zero.
pub(crate) fn smallest_eigenvectors(
    matrix: &Csr,
    wanted: usize,
    n_neighbors: usize,
    max_entries: usize,
    max_memory: Option<u64>,
    context: &mut Context,
) -> Result<Eigenpairs> {
    let n = matrix.rows();
    let constant = vec![1.0 / (n as f64).sqrt(); n];
    // The eigenvalues are close to zero, so residuals are relative to the norm of the matrix.
    let mut options = EigenOptions { floor: 1e-12, max_memory, ..EigenOptions::new(SpectrumEnd::Smallest, wanted) };
    let factor = ShiftedInverse::new(matrix, max_entries, max_memory)?;
    let diagonal = Jacobi::new(&matrix.diagonal());
    let preconditioner: &dyn Preconditioner = match &factor {
        Some(factor) => factor,
        None => {
            options.max_iterations = 1000;
            &diagonal
        }
    };
    let seed = context.seed.stream(EIGENVECTORS);
    let found =
        context.with_progress(|progress| eigenpairs(matrix, preconditioner, options, &constant, 1, seed, progress))?;
    if !found.report.converged {
        if factor.is_none() {
            let allowed = "fewer, or landmarks = 5000: the factorization of the matrix is too large, and the eigensolver \
                does not converge without it";
            return invalid_parameter("n_neighbors", &n_neighbors, allowed);
        }
        let residual = found.report.residuals.iter().copied().reduce(f64::max);
        context.note(Note::Approximate { what: "eigenvectors", iterations: None, residual });
    }
    Ok(found)
}

/// The inverse of a positive semidefinite matrix with a small shift of the diagonal.
enum ShiftedInverse {
    Sparse(Box<SparseCholesky>),
    Dense(Cholesky),
}

impl ShiftedInverse {
    /// Returns `None` if the factor would have more than `max_entries` entries; fails if it needs more than `max_memory`.
    fn new(matrix: &Csr, max_entries: usize, max_memory: Option<u64>) -> Result<Option<Self>> {
        let largest = matrix.diagonal().iter().copied().fold(0.0, f64::max);
        // The contribution of a neighborhood is of order one; anything less is rounding.
        let largest = largest.max(1.0);
        let mut shift = 1e-12 * largest;
        // Rounding can make a singular matrix indefinite.
        loop {
            let shifted = matrix.map(|i, j, v| if i == j { v + shift } else { v });
            match Self::factor(&shifted, max_entries, max_memory) {
                Err(Error::Numerical { .. }) if shift < 1e-3 * largest => shift *= 100.0,
                result => return result,
            }
        }
    }

    fn factor(matrix: &Csr, max_entries: usize, max_memory: Option<u64>) -> Result<Option<Self>> {
        let n = matrix.rows();
        if let Some(factor) = SparseCholesky::within_memory(matrix, 1, max_entries.min(n * n / 2), max_memory)? {
            return Ok(Some(Self::Sparse(Box::new(factor))));
        }
        if n > MAX_DENSE_ROWS || n * n > max_entries {
            return Ok(None);
        }
        let needed = 16 * (n * n) as u64;
        if let Some(limit) = max_memory.filter(|&limit| needed > limit) {
            let what = "the factorization of the matrix".into();
            let remedies = vec![Remedy::RaiseMaxMemory, Remedy::FewerNeighbors, Remedy::FewerRows];
            return Err(Error::Memory { what, needed, limit, remedies });
        }
        let mut full = vec![0.0; n * n];
        matrix.iter().for_each(|(i, j, v)| full[i * n + j] = v);
        Cholesky::new(&full, n).map(|factor| Some(Self::Dense(factor)))
    }
}

impl Preconditioner for ShiftedInverse {
    fn apply(&self, r: &[f64], columns: usize, out: &mut [f64]) {
        out.copy_from_slice(r);
        match self {
            Self::Sparse(factor) => factor.solve_columns(out, columns),
            Self::Dense(factor) => factor.solve(out, columns),
        }
    }

    fn name(&self) -> &'static str {
        "shifted inverse"
    }
}

#[cfg(test)]
#[path = "bottom_eigenvectors_tests.rs"]
mod tests;
