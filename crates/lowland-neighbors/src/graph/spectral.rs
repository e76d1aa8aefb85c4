//! Spectral coordinates of a graph: the bottom nontrivial eigenvectors of its Laplacian.

use super::ConnectedComponents;
use lowland_core::run::Progress;
use lowland_core::{Error, Result, Seed};
use lowland_linalg::{
    Csr, EigenOptions, EigenReport, EigenSolver, EigenState, Eigenpairs, Laplacian, LaplacianKind, Preconditioner,
    SpectrumEnd, SymmetricOperator, block, laplacian_preconditioner,
};

/// Iterative solver for the bottom nontrivial eigenvectors of the Laplacian of a connected graph: LOBPCG preconditioned
/// by an approximate Cholesky factor.
pub struct SpectralCoordinates {
    laplacian: Laplacian,
    preconditioner: Box<dyn Preconditioner + Send>,
    solver: EigenSolver,
}

impl SpectralCoordinates {
    /// Residual, relative to the eigenvalue, that is small enough for the start of a map: the angle (in radians)
    /// between an eigenvector and the true one is then at most this divided by the relative gap to the neighboring
    /// eigenvalues.
    pub const TOLERANCE: f64 = 1e-3;

    /// Prepares the computation of the bottom `dimensions` nontrivial eigenvectors for symmetric weights of a connected
    /// graph.
    pub fn new(weights: &Csr, kind: LaplacianKind, dimensions: usize, tolerance: f64, seed: Seed) -> Result<Self> {
        let laplacian = Laplacian::new(weights, kind)?;
        let parts = ConnectedComponents::from_matrix(laplacian.links()).count();
        if parts > 1 {
            return Err(Error::Parameter {
                name: "graph",
                value: format!("{parts} components"),
                allowed: "a spectral start needs a connected graph: join the components or keep one".into(),
            });
        }
        let preconditioner = laplacian_preconditioner(&laplacian, seed);
        let options = EigenOptions { tolerance, ..EigenOptions::new(SpectrumEnd::Smallest, dimensions) };
        let solver = EigenSolver::new(&laplacian, options, &laplacian.null_vector(), 1, seed.stream("spectral"))?;
        Ok(Self { laplacian, preconditioner, solver })
    }

    /// Sets the maximum number of iterations.
    pub fn with_max_iterations(mut self, limit: usize) -> Self {
        self.solver.set_max_iterations(limit);
        self
    }

    /// Sets the number of bytes that a dense solver may use if the iteration fails; `None` for no limit.
    pub fn with_max_memory(mut self, max_memory: Option<u64>) -> Self {
        self.solver.set_max_memory(max_memory);
        self
    }

    /// Estimates the bytes for the bottom `dimensions` eigenvectors of a graph with `rows` vertices and `edges` entries:
    /// the Laplacian, its preconditioner and the solver.
    pub fn memory(rows: usize, edges: f64, dimensions: usize) -> f64 {
        // Links with their degrees; the factor and the copies of the links that it is computed from.
        let laplacian = edges * 12.0 + rows as f64 * 24.0;
        let preconditioner = edges * 24.0 + rows as f64 * 32.0;
        laplacian + preconditioner + EigenOptions::new(SpectrumEnd::Smallest, dimensions).memory(rows)
    }

    /// Performs one block iteration.
    pub fn step(&mut self) -> Result<()> {
        self.solver.step(&self.laplacian, self.preconditioner.as_ref())
    }

    /// Iterates until finished.
    pub fn run(&mut self, progress: &mut Progress) -> Result<Eigenpairs> {
        self.solver.run(&self.laplacian, self.preconditioner.as_ref(), progress)
    }

    /// Returns whether the iteration has ended.
    pub fn finished(&self) -> bool {
        self.solver.finished()
    }

    /// Eigenvalues, ascending, without the trivial one.
    pub fn values(&self) -> Vec<f64> {
        self.solver.values()
    }

    /// Eigenvectors: the unit columns of a row-major matrix.
    pub fn vectors(&self) -> Vec<f64> {
        self.solver.vectors()
    }

    /// Eigenvectors of the random walk, `D^(-1/2) v`, each of unit length; for a plain Laplacian, [`Self::vectors`].
    pub fn random_walk_vectors(&self) -> Vec<f64> {
        let mut vectors = self.vectors();
        if self.laplacian.kind() == LaplacianKind::Plain {
            return vectors;
        }
        let columns = vectors.len() / self.laplacian.dim();
        for (row, d) in vectors.chunks_exact_mut(columns).zip(self.laplacian.degrees()) {
            row.iter_mut().for_each(|v| *v /= d.sqrt());
        }
        let factors: Vec<f64> =
            block::column_dots(&vectors, &vectors, columns).iter().map(|s| 1.0 / s.sqrt()).collect();
        block::multiply_columns(&mut vectors, &factors);
        block::fix_signs(&mut vectors, columns);
        vectors
    }

    /// Convergence report.
    pub fn report(&self) -> EigenReport {
        self.solver.report()
    }

    /// Name of the preconditioner.
    pub fn preconditioner(&self) -> &'static str {
        self.preconditioner.name()
    }

    /// The Laplacian.
    pub fn laplacian(&self) -> &Laplacian {
        &self.laplacian
    }

    /// Returns the state from which the iteration can be resumed.
    pub fn save(&self) -> EigenState {
        self.solver.save()
    }

    /// Resumes from a saved state of the same problem.
    pub fn restore(&mut self, state: EigenState) -> Result<()> {
        self.solver.restore(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::with_threads;
    use lowland_linalg::{EigenMethod, dense};
    use proptest::prelude::*;

    fn quiet(_: f64) -> Result<()> {
        Ok(())
    }

    fn graph(n: usize, edges: impl IntoIterator<Item = (u32, u32, f64)>) -> Csr {
        Csr::from_triplets(n, n, edges.into_iter().flat_map(|(i, j, w)| [(i, j, w), (j, i, w)])).unwrap()
    }

    /// A tree with a few additional edges, with weights spread over many orders of magnitude.
    fn random_graph(n: usize, orders: f64, seed: u64) -> Csr {
        let draw = Seed(seed).normals(4 * n);
        let place = |value: f64, below: usize| ((value.abs() * 1e6) as usize % below) as u32;
        let tree = (1..n).map(|i| (i as u32, place(draw[i], i), 10f64.powf(orders * draw[n + i])));
        let more = (1..n).map(|i| (i as u32, place(draw[2 * n + i], i), 10f64.powf(orders * draw[3 * n + i])));
        graph(n, tree.chain(more))
    }

    #[test]
    fn vectors_agree_with_a_dense_decomposition_of_the_normalized_laplacian() {
        let n = 700;
        let weights = random_graph(n, 0.3, 1);
        let mut spectral = SpectralCoordinates::new(&weights, LaplacianKind::Normalized, 3, 1e-7, Seed(2)).unwrap();
        let found = spectral.run(&mut quiet).unwrap();
        assert_eq!((found.report.solver, found.report.converged), (EigenMethod::Lobpcg, true));
        assert_eq!((spectral.values(), spectral.vectors()), (found.values.clone(), found.vectors.clone()));
        let degrees = weights.row_sums();
        let full: Vec<f64> = (0..n * n)
            .map(|at| (at / n, at % n))
            .map(|(i, j)| f64::from(u8::from(i == j)) - weights.get(i, j) / (degrees[i] * degrees[j]).sqrt())
            .collect();
        let (values, vectors) = dense::eigh(&full, n).unwrap();
        let walk = spectral.random_walk_vectors();
        for c in 0..3 {
            assert!((found.values[c] / values[c + 1] - 1.0).abs() < 1e-10, "{:?}", found.values);
            let overlap: f64 = (0..n).map(|i| found.vectors[i * 3 + c] * vectors[i * n + c + 1]).sum();
            assert!((overlap.abs() - 1.0).abs() < 1e-9);
            // D^-1 W v = (1 - value) v for the random walk.
            let v: Vec<f64> = walk.iter().skip(c).step_by(3).copied().collect();
            assert!((v.iter().map(|v| v * v).sum::<f64>() - 1.0).abs() < 1e-12);
            for i in 0..n {
                let (columns, row) = weights.row(i);
                let next: f64 = columns.iter().zip(row).map(|(&j, w)| w * v[j as usize]).sum::<f64>() / degrees[i];
                assert!((next - (1.0 - found.values[c]) * v[i]).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn the_result_does_not_depend_on_threads_or_on_resuming() {
        let weights = random_graph(1500, 0.5, 3);
        let whole = || {
            let mut spectral = SpectralCoordinates::new(&weights, LaplacianKind::Plain, 2, 1e-5, Seed(2)).unwrap();
            (0..3).for_each(|_| spectral.step().unwrap());
            let mut other = SpectralCoordinates::new(&weights, LaplacianKind::Plain, 2, 1e-5, Seed(2)).unwrap();
            other.restore(spectral.save()).unwrap();
            let result = spectral.run(&mut quiet).unwrap();
            assert_eq!(result, other.run(&mut quiet).unwrap());
            result
        };
        let one = with_threads(Some(1), whole).unwrap();
        assert!(one.report.converged);
        for threads in [2, 3] {
            assert_eq!(one, with_threads(Some(threads), whole).unwrap());
        }
    }

    #[test]
    fn disconnected_graphs_and_too_many_dimensions_are_rejected() {
        let two = graph(4, [(0, 1, 1.0), (2, 3, 1.0)]);
        assert!(matches!(
            SpectralCoordinates::new(&two, LaplacianKind::Plain, 1, 1e-3, Seed(0)).err(),
            Some(Error::Parameter { .. })
        ));
        let one = graph(3, [(0, 1, 1.0), (1, 2, 1.0)]);
        assert!(SpectralCoordinates::new(&one, LaplacianKind::Plain, 2, 1e-3, Seed(0)).is_ok());
        assert!(SpectralCoordinates::new(&one, LaplacianKind::Plain, 3, 1e-3, Seed(0)).is_err());
        assert!(
            SpectralCoordinates::new(&Csr::from_triplets(0, 0, []).unwrap(), LaplacianKind::Plain, 1, 1e-3, Seed(0))
                .is_err()
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn any_weights_give_finite_orthonormal_vectors(orders in 0.0..60.0f64, seed in 0u64..1000, normalized in any::<bool>()) {
            let weights = random_graph(320, orders, seed);
            let kind = if normalized { LaplacianKind::Normalized } else { LaplacianKind::Plain };
            let mut spectral = SpectralCoordinates::new(&weights, kind, 2, 1e-3, Seed(0)).unwrap();
            let found = spectral.run(&mut quiet).unwrap();
            let gram = block::gram(&found.vectors, 2, &found.vectors, 2);
            prop_assert!((gram[0] - 1.0).abs() < 1e-8 && (gram[3] - 1.0).abs() < 1e-8 && gram[1].abs() < 1e-8, "{gram:?}");
            prop_assert!(found.values.iter().all(|v| v.is_finite()));
        }
    }
}
