//! Steps of the methods one by one, for callers that do the others themselves: drop-in replacements of other packages, or experiments
//! with an objective. [`methods`](crate::methods) have all steps of each method in one call.
//!
//! ```
//! use lowland::steps::{Csr, Engine, StudentField, TailKernel};
//! use lowland::Points;
//!
//! // Two points that attract each other.
//! let affinities = Csr::from_triplets(2, 2, [(0, 1, 0.5), (1, 0, 0.5)])?;
//! let kernel = TailKernel { scale: 1.0, power: 1.0 };
//! let mut field = StudentField::new(affinities, kernel, 2, Engine::Auto, 1e-2)?;
//! let (y, mut forces) = ([0.0, 0.0, 1.0, 0.0], [0.0; 4]);
//! let divergence = field.evaluate(Points::new(&y, 2)?, None, 4.0, true, &mut forces)?;
//! assert_eq!(divergence, Some(0.0));
//! assert!(forces[0] < 0.0 && forces[2] > 0.0);                  // a step against the field moves them together
//! # Ok::<(), lowland::Error>(())
//! ```

use rayon::prelude::*;

use lowland_algorithms::affinity::entropic_row;
use lowland_core::params::invalid_parameter;
use lowland_core::run::Context;
use lowland_core::{Error, Result};
use lowland_linalg::LaplacianKind;
use lowland_neighbors::graph::SpectralCoordinates;

use crate::methods::bottom_eigenvectors::{MAX_FACTOR_ENTRIES, smallest_eigenvectors};

pub use crate::methods::Memberships;
pub use lowland_algorithms::neighbor_embedding::{StudentField, TailKernel};
pub use lowland_linalg::{Csr, Eigenpairs};
pub use lowland_nbody::Engine;

/// Replaces distances, `per_row` of each row, by weights of the given perplexity that sum to one, and returns the bandwidths.
pub fn entropic_weights(distances: &mut [f64], per_row: usize, perplexity: f64) -> Result<Vec<f64>> {
    if !(perplexity >= 1.0 && perplexity.is_finite()) {
        return invalid_parameter("perplexity", &perplexity, "at least 1, a number of neighbors");
    }
    if let Some(distance) = distances.iter().find(|d| !(**d >= 0.0 && d.is_finite())) {
        let reason = format!("there is a distance {distance}; distances are finite and not negative");
        return Err(Error::Format { what: "array of distances", reason });
    }
    Ok(distances.par_chunks_mut(per_row.max(1)).map(|row| entropic_row(row, perplexity)).collect())
}

/// Returns the `count` smallest eigenvalues of the normalized Laplacian of a connected graph, except zero, with their eigenvectors.
pub fn laplacian_eigenvectors(
    weights: &Csr,
    count: usize,
    tolerance: f64,
    context: &mut Context,
) -> Result<Eigenpairs> {
    check_count(weights, count)?;
    let seed = context.seed.stream("laplacian");
    let mut solver = SpectralCoordinates::new(weights, LaplacianKind::Normalized, count, tolerance, seed)?
        .with_max_iterations(MAX_ITERATIONS)
        .with_max_memory(context.memory_left(0.0));
    context.with_progress(|progress| solver.run(progress))
}

/// Maximum number of block iterations.
const MAX_ITERATIONS: usize = 1000;

/// Returns the `count` smallest eigenvalues of a positive semidefinite matrix that maps the constant vector to zero, except that one,
/// with their eigenvectors.
pub fn smallest_eigenpairs(matrix: &Csr, count: usize, context: &mut Context) -> Result<Eigenpairs> {
    check_count(matrix, count)?;
    let (per_row, memory) = (matrix.entries() / matrix.rows(), context.memory_left(matrix.entries() as f64 * 12.0));
    smallest_eigenvectors(matrix, count, per_row, MAX_FACTOR_ENTRIES, memory, context)
}

fn check_count(matrix: &Csr, count: usize) -> Result<()> {
    if matrix.rows() != matrix.columns() {
        return Err(Error::Shape { what: "columns of the matrix", expected: matrix.rows(), found: matrix.columns() });
    }
    match count {
        0 => invalid_parameter("n_components", &count, "at least 1"),
        _ if count >= matrix.rows() => {
            invalid_parameter("n_components", &count, format!("less than the {} rows", matrix.rows()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Seed;
    use lowland_core::run::NoObserver;

    /// A path of ten points, with ends that are lighter than the middle.
    fn path(n: u32) -> Csr {
        let links = (1..n).flat_map(|i| [(i - 1, i, 1.0), (i, i - 1, 1.0)]);
        Csr::from_triplets(n as usize, n as usize, links).unwrap()
    }

    #[test]
    fn eigenvectors_of_a_path_are_cosines() {
        let mut observer = NoObserver;
        let mut context = Context::new(&mut observer, Seed(0), None);
        let weights = path(40);
        let degrees = weights.row_sums();
        let plain = Csr::from_triplets(
            40,
            40,
            weights
                .iter()
                .map(|(i, j, w)| (i as u32, j as u32, -w))
                .chain(degrees.iter().enumerate().map(|(i, &d)| (i as u32, i as u32, d))),
        );
        let found = smallest_eigenpairs(&plain.unwrap(), 2, &mut context).unwrap();
        for (k, value) in found.values.iter().enumerate() {
            let exact = 2.0 - 2.0 * (std::f64::consts::PI * (k + 1) as f64 / 40.0).cos();
            assert!((value - exact).abs() < 1e-9, "{value} {exact}");
        }
        let normalized = laplacian_eigenvectors(&weights, 3, 1e-8, &mut context).unwrap();
        assert!(normalized.values.is_sorted() && normalized.values[0] > 0.0 && normalized.report.converged);
        assert!(laplacian_eigenvectors(&weights, 40, 1e-8, &mut context).is_err());
        assert!(smallest_eigenpairs(&weights, 0, &mut context).is_err());
    }

    #[test]
    fn weights_have_the_perplexity() {
        let mut rows: Vec<f64> = Seed(1).normals(60).iter().map(|d| d.abs()).collect();
        let bandwidths = entropic_weights(&mut rows, 30, 10.0).unwrap();
        assert_eq!(bandwidths.len(), 2);
        for row in rows.chunks(30) {
            let entropy: f64 = row.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum();
            assert!((entropy.exp() - 10.0).abs() < 1e-6);
        }
        assert!(entropic_weights(&mut [1.0, -1.0], 2, 1.5).is_err());
        assert!(entropic_weights(&mut [1.0, 1.0], 2, 0.5).is_err());
    }
}
