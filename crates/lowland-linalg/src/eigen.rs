//! Options and results of the computation of a few eigenpairs at one end of the spectrum of a symmetric operator. The
//! iteration itself is [`EigenSolver`].

use super::{EigenSolver, Preconditioner, SymmetricOperator};
use lowland_core::archive::Archive;
use lowland_core::run::Progress;
use lowland_core::{Result, Seed};

/// End of the spectrum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpectrumEnd {
    /// The smallest eigenvalues, ascending.
    Smallest,
    /// The largest eigenvalues, descending.
    Largest,
}

/// How a result was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EigenMethod {
    /// Dense decomposition, because the matrix is small.
    Dense,
    /// Block iteration.
    Lobpcg,
    /// Dense decomposition, because the block iteration stalled or reached its limit.
    DenseFallback,
}

/// Options of the eigensolver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EigenOptions {
    /// End of the spectrum.
    pub which: SpectrumEnd,
    /// Number of pairs.
    pub wanted: usize,
    /// A pair has converged if `|A v - lambda v| <= tolerance * |lambda| + floor * |A|`.
    pub tolerance: f64,
    /// Absolute part of the tolerance, relative to the norm; lets eigenvalues near zero converge.
    pub floor: f64,
    /// Maximum number of block iterations.
    pub max_iterations: usize,
    /// Number of additional columns; they accelerate the convergence of the last wanted pairs.
    pub guard: usize,
    /// Matrices up to this size are decomposed densely.
    pub dense_up_to: usize,
    /// If the iteration fails, matrices up to this size are decomposed densely.
    pub fallback_up_to: usize,
    /// Bytes that such a dense decomposition may use; `None` for no limit.
    pub max_memory: Option<u64>,
}

impl EigenOptions {
    /// Default options for `wanted` pairs: relative residual 1e-5, at most 200 iterations.
    pub fn new(which: SpectrumEnd, wanted: usize) -> Self {
        Self {
            which,
            wanted,
            tolerance: 1e-5,
            floor: 1e-13,
            max_iterations: 200,
            guard: 4.max(wanted / 2).min(10),
            dense_up_to: 256,
            fallback_up_to: 2000,
            max_memory: None,
        }
    }

    /// Estimates the bytes that the solver needs for an operator on `rows` values, without the dense decomposition that
    /// follows if the iteration fails: that one is checked against [`Self::max_memory`] when it is needed.
    pub fn memory(&self, rows: usize) -> f64 {
        let width = self.wanted as f64 + self.guard as f64;
        if rows as f64 <= (self.dense_up_to as f64).max(3.0 * width + 1.0) {
            return dense_memory(rows);
        }
        // Four blocks of the state, and the basis with its images while it is orthonormalized.
        rows as f64 * width * 8.0 * 16.0
    }
}

/// Estimates the bytes of a dense decomposition of a symmetric matrix: the matrix, its copies, and the workspace.
pub(crate) fn dense_memory(rows: usize) -> f64 {
    (rows as f64).powi(2) * 8.0 * 6.25
}

/// Convergence report of the eigensolver.
#[derive(Debug, Clone, PartialEq)]
pub struct EigenReport {
    /// Number of block iterations.
    pub iterations: usize,
    /// `|A v - lambda v|` of each pair, with `v` of unit length.
    pub residuals: Vec<f64>,
    /// Whether every pair met the tolerance.
    pub converged: bool,
    /// How the result was computed.
    pub solver: EigenMethod,
}

/// Eigenvalues and eigenvectors.
#[derive(Debug, Clone, PartialEq)]
pub struct Eigenpairs {
    /// Eigenvalues.
    pub values: Vec<f64>,
    /// Eigenvectors of unit length: the columns of a row-major matrix, with the largest entry of each positive.
    pub vectors: Vec<f64>,
    /// Convergence report.
    pub report: EigenReport,
}

/// State from which a solver can be resumed with identical results.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EigenState {
    /// Block of approximations, row-major.
    pub vectors: Vec<f64>,
    /// Operator applied to `vectors`.
    pub images: Vec<f64>,
    /// Last search directions.
    pub directions: Vec<f64>,
    /// Operator applied to `directions`.
    pub direction_images: Vec<f64>,
    /// Ritz values, norms of the residuals, then the best residual so far, relative to its goal.
    pub numbers: Vec<f64>,
    /// Block width, number of directions, iterations, iterations since the best, phase.
    pub counters: Vec<u64>,
}

impl EigenState {
    /// Saves the state under `name/`.
    pub fn save(self, name: &str, archive: &mut Archive) {
        archive.put(format!("{name}/vectors"), self.vectors);
        archive.put(format!("{name}/images"), self.images);
        archive.put(format!("{name}/directions"), self.directions);
        archive.put(format!("{name}/direction_images"), self.direction_images);
        archive.put(format!("{name}/numbers"), self.numbers);
        archive.put(format!("{name}/counters"), self.counters);
    }

    /// Loads a state saved under `name/`.
    pub fn load(name: &str, archive: &Archive) -> Result<Self> {
        let array = |part: &str| archive.f64s(&format!("{name}/{part}")).map(<[f64]>::to_vec);
        Ok(Self {
            vectors: array("vectors")?,
            images: array("images")?,
            directions: array("directions")?,
            direction_images: array("direction_images")?,
            numbers: array("numbers")?,
            counters: archive.u64s(&format!("{name}/counters"))?.to_vec(),
        })
    }
}

/// Computes eigenpairs from a random start by running [`EigenSolver`] to its end.
pub fn eigenpairs(
    operator: &dyn SymmetricOperator,
    preconditioner: &dyn Preconditioner,
    options: EigenOptions,
    deflate: &[f64],
    deflate_columns: usize,
    seed: Seed,
    progress: &mut Progress,
) -> Result<Eigenpairs> {
    EigenSolver::new(operator, options, deflate, deflate_columns, seed)?.run(operator, preconditioner, progress)
}

#[cfg(test)]
mod tests {
    use super::super::laplacian::tests::{graph, grid, path};
    use super::super::{ApproxCholesky, Csr, Identity, Laplacian, LaplacianKind, dense, laplacian_preconditioner};
    use super::*;
    use lowland_core::{Error, with_threads};
    use std::f64::consts::PI;

    fn quiet(_: f64) -> Result<()> {
        Ok(())
    }

    fn bottom(weights: &Csr, kind: LaplacianKind, wanted: usize, tolerance: f64) -> Eigenpairs {
        let laplacian = Laplacian::new(weights, kind).unwrap();
        let factor = ApproxCholesky::laplacian(&laplacian, Seed(0)).unwrap();
        let options = EigenOptions { tolerance, dense_up_to: 0, ..EigenOptions::new(SpectrumEnd::Smallest, wanted) };
        eigenpairs(&laplacian, &factor, options, &laplacian.null_vector(), 1, Seed(1), &mut quiet).unwrap()
    }

    fn assert_near(found: &[f64], expected: &[f64], relative: f64) {
        assert_eq!(found.len(), expected.len());
        for (f, e) in found.iter().zip(expected) {
            assert!((f - e).abs() <= relative * e.abs(), "{found:?} {expected:?}");
        }
    }

    /// Eigenvalues of the Laplacian of a path.
    fn path_value(n: usize, k: usize) -> f64 {
        4.0 * (PI * k as f64 / (2 * n) as f64).sin().powi(2)
    }

    #[test]
    fn grid_laplacian_has_the_known_eigenvalues() {
        let found = bottom(&grid(30, 47), LaplacianKind::Plain, 6, 1e-6);
        let mut all: Vec<f64> =
            (0..30).flat_map(|a| (0..47).map(move |b| path_value(30, a) + path_value(47, b))).collect();
        all.sort_by(f64::total_cmp);
        assert!(found.report.converged && found.report.solver == EigenMethod::Lobpcg, "{:?}", found.report);
        assert_near(&found.values, &all[1..7], 1e-10);
    }

    #[test]
    fn long_paths_and_rings_converge_in_few_iterations() {
        let n = 20_000;
        let found = bottom(&path(n), LaplacianKind::Plain, 3, 1e-3);
        assert!(found.report.converged && found.report.iterations < 40, "{:?}", found.report);
        assert_near(&found.values, &[path_value(n, 1), path_value(n, 2), path_value(n, 3)], 1e-4);
        let ring = graph(n, (0..n as u32).map(|i| (i, (i + 1) % n as u32, 1.0)));
        let found = bottom(&ring, LaplacianKind::Normalized, 4, 1e-3);
        assert!(found.report.converged && found.report.iterations < 40, "{:?}", found.report);
        // Each value is double; halved, because every degree is two.
        let value = |k: usize| 2.0 * (PI * k as f64 / n as f64).sin().powi(2);
        assert_near(&found.values, &[value(1), value(1), value(2), value(2)], 1e-4);
    }

    #[test]
    fn weakly_connected_components_are_separated() {
        let mut edges: Vec<(u32, u32, f64)> = Vec::new();
        for (i, j, w) in grid(25, 30).iter().filter(|(i, j, _)| i < j) {
            let (i, j) = (i as u32, j as u32);
            edges.extend([(i, j, w), (i + 750, j + 750, w), (i + 1500, j + 1500, w)]);
        }
        edges.extend([(7, 900, 1e-7), (900, 1800, 1e-9)]);
        let found = bottom(&graph(2250, edges), LaplacianKind::Plain, 3, 1e-5);
        assert!(found.report.converged, "{:?}", found.report);
        // The weakest link alone determines the first value; within a component the vector is constant.
        assert_near(&found.values[..1], &[1e-9 * 2250.0 / (750.0 * 1500.0)], 0.02);
        let first: Vec<f64> = found.vectors.iter().step_by(3).copied().collect();
        assert!(first[1500..].iter().all(|v| (v - first[1500]).abs() < 1e-6 * first[1500].abs()));
        assert!(first[1500] * first[0] < 0.0);
    }

    #[test]
    fn repeated_eigenvalues_converge() {
        let n = 300;
        let complete = graph(n, (0..n as u32).flat_map(|i| (0..i).map(move |j| (i, j, 1.0))));
        let found = bottom(&complete, LaplacianKind::Plain, 5, 1e-8);
        assert!(found.report.converged, "{:?}", found.report);
        assert_near(&found.values, &[300.0; 5], 1e-10);
        let star = graph(n, (1..n as u32).map(|i| (0, i, 1.0)));
        assert_near(&bottom(&star, LaplacianKind::Plain, 5, 1e-8).values, &[1.0; 5], 1e-10);
    }

    fn random_symmetric(n: usize) -> Csr {
        let values = Seed(5).normals(n * 4);
        let entries = values.iter().enumerate().map(|(at, v)| ((at / 4) as u32, (at * 37 % n) as u32, *v));
        graph(n, entries)
    }

    #[test]
    fn both_ends_of_any_symmetric_matrix_agree_with_a_dense_decomposition() {
        let n = 400;
        let matrix = random_symmetric(n);
        let full: Vec<f64> = (0..n * n).map(|at| matrix.get(at / n, at % n)).collect();
        let (mut values, vectors) = dense::eigh(&full, n).unwrap();
        for which in [SpectrumEnd::Smallest, SpectrumEnd::Largest] {
            let options = EigenOptions { dense_up_to: 0, tolerance: 1e-8, ..EigenOptions::new(which, 4) };
            let found = eigenpairs(&matrix, &Identity, options, &[], 0, Seed(1), &mut quiet).unwrap();
            assert_eq!(found.report.solver, EigenMethod::Lobpcg);
            assert!(found.report.converged, "{:?}", found.report);
            assert_near(&found.values, &values[..4], 1e-12);
            let column = if which == SpectrumEnd::Smallest { 0 } else { n - 1 };
            let overlap: f64 = (0..n).map(|i| vectors[i * n + column] * found.vectors[i * 4]).sum();
            assert!((overlap.abs() - 1.0).abs() < 1e-10);
            values.reverse();
        }
    }

    #[test]
    fn small_problems_are_solved_densely_and_impossible_ones_rejected() {
        for n in 2..12 {
            let laplacian = Laplacian::new(&path(n), LaplacianKind::Plain).unwrap();
            let find = |wanted| {
                let options = EigenOptions::new(SpectrumEnd::Smallest, wanted);
                let jacobi = laplacian_preconditioner(&laplacian, Seed(0));
                eigenpairs(&laplacian, &*jacobi, options, &laplacian.null_vector(), 1, Seed(1), &mut quiet)
            };
            let found = find(n - 1).unwrap();
            assert_eq!(found.report.solver, EigenMethod::Dense);
            let expected: Vec<f64> = (1..n).map(|k| path_value(n, k)).collect();
            assert_near(&found.values, &expected, 1e-12);
            assert!(found.report.residuals.iter().all(|r| *r < 1e-13), "{:?}", found.report);
            assert!(matches!(find(n), Err(Error::TooFewPoints { .. })));
            assert!(find(0).is_err());
        }
        let one = Csr::from_triplets(1, 1, [(0, 0, 3.0)]).unwrap();
        let options = EigenOptions::new(SpectrumEnd::Largest, 1);
        let found = eigenpairs(&one, &Identity, options, &[], 0, Seed(1), &mut quiet).unwrap();
        assert_eq!((found.values[0], found.vectors[0]), (3.0, 1.0));
        let nothing = Csr::from_triplets(500, 500, []).unwrap();
        let found = eigenpairs(&nothing, &Identity, options, &[], 0, Seed(1), &mut quiet).unwrap();
        assert!(found.report.converged && found.values == [0.0]);
    }

    #[test]
    fn a_failing_iteration_falls_back_to_dense_or_reports_no_convergence() {
        let find = |n: usize| {
            let laplacian = Laplacian::new(&path(n), LaplacianKind::Plain).unwrap();
            let options = EigenOptions {
                tolerance: 1e-8,
                max_iterations: 15,
                fallback_up_to: 600,
                ..EigenOptions::new(SpectrumEnd::Smallest, 2)
            };
            eigenpairs(&laplacian, &Identity, options, &laplacian.null_vector(), 1, Seed(1), &mut quiet).unwrap()
        };
        let small = find(500);
        assert_eq!((small.report.solver, small.report.iterations), (EigenMethod::DenseFallback, 15));
        assert_near(&small.values, &[path_value(500, 1), path_value(500, 2)], 1e-8);
        let large = find(3000);
        assert!(!large.report.converged && large.report.solver == EigenMethod::Lobpcg);
        assert!(large.vectors.iter().all(|v| v.is_finite()));
    }

    #[test]
    fn restoring_and_threads_do_not_change_the_result() {
        let laplacian = Laplacian::new(&grid(50, 60), LaplacianKind::Normalized).unwrap();
        let factor = ApproxCholesky::laplacian(&laplacian, Seed(0)).unwrap();
        let options = EigenOptions::new(SpectrumEnd::Smallest, 3);
        let fresh = || EigenSolver::new(&laplacian, options, &laplacian.null_vector(), 1, Seed(1)).unwrap();
        let whole = || fresh().run(&laplacian, &factor, &mut quiet).unwrap();
        let one = with_threads(Some(1), whole).unwrap();
        assert!(one.report.converged && one.report.iterations > 5);
        for threads in [2, 3] {
            assert_eq!(one, with_threads(Some(threads), whole).unwrap());
        }
        let mut first = fresh();
        (0..4).for_each(|_| first.step(&laplacian, &factor).unwrap());
        let mut second = fresh();
        second.restore(first.save()).unwrap();
        assert_eq!(second.run(&laplacian, &factor, &mut quiet).unwrap(), one);
        let mut broken = first.save();
        broken.images.pop();
        assert!(second.restore(broken).is_err());
        assert!(second.restore(EigenState::default()).is_err());
        assert!(second.restore(EigenState { counters: vec![u64::MAX; 5], ..first.save() }).is_err());
    }

    #[test]
    fn an_error_from_progress_stops_the_iteration() {
        let matrix = random_symmetric(400);
        let mut stop = |_: f64| Err(Error::Stopped { stage: "test" });
        let options = EigenOptions::new(SpectrumEnd::Largest, 2);
        assert!(eigenpairs(&matrix, &Identity, options, &[], 0, Seed(1), &mut stop).is_err());
    }
}
