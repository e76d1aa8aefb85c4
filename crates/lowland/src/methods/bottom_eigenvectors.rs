//! What `lle` and `ltsa` share: the embedding is made of the bottom eigenvectors of a sparse matrix over the neighbor graph.

use lowland_algorithms::llx::Llx;
use lowland_core::message::Note;
use lowland_core::params::invalid_parameter;
use lowland_core::run::{Context, Outcome, Stage};
use lowland_core::{DataShape, Embedding, Error, Metric, Result};
use lowland_linalg::dense::Cholesky;
use lowland_linalg::{Csr, EigenOptions, Jacobi, Preconditioner, SparseCholesky, SpectrumEnd, eigenpairs};
use lowland_neighbors::graph::Components;
use lowland_neighbors::{NeighborGraph, Search};

use super::components::available_components;
use crate::landmarks::LlxTransformer;
use crate::method::{FitInput, FitOutput};
use crate::neighbor_stage::{self, Neighbors, all_equal, neighbors};

const WEIGHTS: &str = "neighborhoods";
const EIGENVECTORS: &str = "eigenvectors";

pub(super) fn stages(shape: DataShape, k: usize) -> Vec<Stage> {
    let (n, dim, k) = (shape.rows as f64, shape.dim.max(10) as f64, k as f64);
    // Seconds on two cores, roughly.
    let search = neighbor_stage::seconds(shape);
    vec![
        Stage { name: neighbor_stage::STAGE, weight: search },
        Stage { name: WEIGHTS, weight: n * k * k * (dim * 4e-10 + 4e-8) + 1e-3 },
        Stage { name: EIGENVECTORS, weight: n * k * k * 1e-6 + 1e-3 },
    ]
}

/// Entries of a sparse factor at the most.
const MOST: usize = 1 << 26;
/// Beyond this many rows a factor that is not sparse is not tried: its time grows with the cube.
const MOST_DENSE: usize = 6_000;

pub(super) fn memory(shape: DataShape, k: usize, d: usize, metric: Metric, search: Search) -> u64 {
    let k = k.min(shape.rows);
    let [n, edges, d] = [shape.rows, k, d].map(|count| count as f64);
    // The matrix, its entries before they are added up, its factor, some blocks of vectors.
    let entries = n * (edges + 1.0).powi(2) * 60.0;
    let factor = if shape.rows <= MOST_DENSE { 16.0 * n * n } else { 8.0 * MOST as f64 };
    let own = entries + factor + n * (d + 14.0) * 80.0;
    lowland_neighbors::search_memory(shape, metric, k, search).saturating_add(own as u64)
}

/// The bottom eigenvectors, but the constant one, of the matrix that `matrix` makes of the neighbour graph.
pub(super) fn fit(
    llx: Llx,
    dim: usize,
    input: FitInput,
    context: &mut Context,
    matrix: impl FnOnce(&NeighborGraph, &mut Context) -> Result<Csr>,
) -> Result<FitOutput<LlxTransformer>> {
    llx.check(input.data)?;
    let Neighbors { graph, exact } = neighbors(input, llx.n_neighbors, llx.metric, llx.search, context)?;
    let n = input.data.rows();
    let mut wanted = available_components(dim, n - 1, "the number of points less one", context)?;
    if n > 1 && graph.distances().iter().all(|&d| d == 0.0) {
        if !all_equal(input.data, llx.metric, &graph, context)? {
            let (value, allowed) = (llx.n_neighbors.to_string(), "more: every row's neighbours are copies of it");
            return Err(Error::Parameter { name: "n_neighbors", value, allowed: allowed.into() });
        }
        context.note(Note::AllRowsEqual);
        wanted = 0;
    }
    let mut map = vec![0.0; n * dim];
    if wanted > 0 {
        note_parts(&graph, wanted, context);
        let matrix = context.stage(WEIGHTS, |context| matrix(&graph, context))?;
        let vectors = context.stage(EIGENVECTORS, |context| bottom(&matrix, wanted, llx.n_neighbors, MOST, context))?;
        // Each coordinate with standard deviation 1.
        let scale = (n as f64).sqrt();
        for (row, vector) in map.chunks_exact_mut(dim).zip(vectors.chunks_exact(wanted)) {
            row.iter_mut().zip(vector).for_each(|(y, v)| *y = scale * v);
        }
    }
    let embedding = Embedding::new(map, dim)?;
    let transformer = LlxTransformer { llx, data: input.data.clone(), embedding: embedding.clone(), std: None };
    Ok(FitOutput { embedding, transformer, outcome: Outcome::without_iterations(), neighbors: exact.then_some(graph) })
}

/// Where the graph falls into parts, vectors that are constant on each cost nothing and come first. (For LLE it is enough that no
/// row of a part has neighbours elsewhere, though others may have it for theirs; that is not looked for.)
fn note_parts(graph: &NeighborGraph, wanted: usize, context: &mut Context) {
    let parts = Components::from_neighbors(graph).count();
    if parts > 1 {
        let constant = wanted.min(parts - 1);
        context.note(Note::ComponentsInCoordinates { components: parts, constant, n_components: wanted });
    }
}

/// Eigenvectors to the smallest eigenvalues, the constant vector left out: with a factor of at most `most` entries, or without one.
/// The second way finds them where they stand clear of the rest (`ltsa` of rows that fill many dimensions), not where all crowd at
/// zero.
fn bottom(matrix: &Csr, wanted: usize, n_neighbors: usize, most: usize, context: &mut Context) -> Result<Vec<f64>> {
    let n = matrix.rows();
    let constant = vec![1.0 / (n as f64).sqrt(); n];
    // The values themselves are near zero: residuals are compared with the whole matrix.
    let mut options = EigenOptions { floor: 1e-12, ..EigenOptions::new(SpectrumEnd::Smallest, wanted) };
    let factor = ShiftedInverse::new(matrix, most)?;
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
            let allowed = "fewer, or landmarks = 5000: the matrix has too large a factor, and without one its \
                eigenvectors are not found";
            return invalid_parameter("n_neighbors", &n_neighbors, allowed);
        }
        let residual = found.report.residuals.iter().copied().reduce(f64::max);
        context.note(Note::Approximate { what: "eigenvectors", iterations: None, residual });
    }
    Ok(found.vectors)
}

/// The inverse of a positive semidefinite matrix with a little added to its diagonal.
enum ShiftedInverse {
    Sparse(Box<SparseCholesky>),
    Dense(Cholesky),
}

impl ShiftedInverse {
    /// `None` if its factor would have more than `most` entries.
    fn new(matrix: &Csr, most: usize) -> Result<Option<Self>> {
        let largest = matrix.diagonal().iter().copied().fold(0.0, f64::max);
        // A neighbourhood's share is of size one: less is rounding.
        let largest = largest.max(1.0);
        let mut shift = 1e-12 * largest;
        // Rounding can make a singular matrix look indefinite.
        loop {
            let shifted = matrix.map(|i, j, v| if i == j { v + shift } else { v });
            match Self::factor(&shifted, most) {
                Err(Error::Numerical { .. }) if shift < 1e-3 * largest => shift *= 100.0,
                result => return result,
            }
        }
    }

    fn factor(matrix: &Csr, most: usize) -> Result<Option<Self>> {
        let n = matrix.rows();
        if let Some(factor) = SparseCholesky::new(matrix, 1, most.min(n * n / 2))? {
            return Ok(Some(Self::Sparse(Box::new(factor))));
        }
        if n > MOST_DENSE || n * n > most {
            return Ok(None);
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
