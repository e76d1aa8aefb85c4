//! The spectral direction (Vladymyrov & Carreira-Perpiñán 2012): the gradient multiplied by the inverse of `B = 4 L+`, the
//! Laplacian of the attraction, which is factored once.

use super::gradient_descent::center;
use super::preconditioned_descent::{GradientPreconditioner, PreconditionedDescent};
use crate::objective::Objective;
use lowland_core::{Error, Points, Result, Seed};
use lowland_linalg::{
    ApproxCholesky, Csr, Jacobi, NullSpace, PcgOptions, Preconditioner, SparseCholesky, SymmetricOperator, pcg,
};
use lowland_neighbors::graph::ConnectedComponents;

/// The spectral direction with a line search.
pub type SpectralDirection = PreconditionedDescent<LaplacianPreconditioner>;

/// Multiplies the gradient by the inverse of the attraction's Laplacian.
#[derive(Default)]
pub struct LaplacianPreconditioner {
    solver: Option<LaplacianSolver>,
    /// The centered gradient.
    gradient: Vec<f64>,
}

enum LaplacianSolver {
    /// If the factor stays sparse.
    Direct(Box<SparseCholesky>),
    /// Otherwise conjugate gradients, which give a direction of descent however early they stop.
    Iterative { matrix: Csr, preconditioner: Box<dyn Preconditioner + Send>, connected: bool },
}

/// Shift of the diagonal of a connected graph's Laplacian, relative to its smallest entry.
const CONNECTED_SHIFT: f64 = 1e-10;
/// Shift of the diagonal of a disconnected graph's Laplacian, relative to its mean entry: nothing else fixes the components'
/// positions.
const DISCONNECTED_SHIFT: f64 = 1e-2;
/// Maximal number of entries of the factor; with more of them, conjugate gradients are faster.
const MAX_FACTOR_ENTRIES: usize = 30_000_000;
/// Maximal number of entries of the matrix for which a factorization is attempted.
const MAX_MATRIX_ENTRIES: usize = 1_500_000;

impl LaplacianSolver {
    fn new(weights: &Csr, dim: usize) -> Result<Self> {
        let degrees = weights.row_sums();
        let n = degrees.len();
        let connected = ConnectedComponents::from_matrix(weights).count() == 1;
        let shift = if connected {
            CONNECTED_SHIFT * degrees.iter().copied().fold(f64::INFINITY, f64::min)
        } else {
            DISCONNECTED_SHIFT * degrees.iter().sum::<f64>() / n as f64
        };
        let off_diagonal = weights.iter().filter(|&(i, j, _)| i != j).map(|(i, j, w)| (i as u32, j as u32, -4.0 * w));
        let diagonal = (0..n).map(|i| {
            let loops = weights.get(i, i);
            (i as u32, i as u32, 4.0 * (degrees[i] - loops + shift))
        });
        let matrix = Csr::from_triplets(n, n, off_diagonal.chain(diagonal))?;
        if matrix.entries() <= MAX_MATRIX_ENTRIES {
            match SparseCholesky::new(&matrix, dim, MAX_FACTOR_ENTRIES) {
                Ok(Some(factor)) => return Ok(Self::Direct(Box::new(factor))),
                // The factor is too large, or rounding made a pivot negative: conjugate gradients work in both cases.
                Ok(None) | Err(Error::Numerical { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        // The preconditioner affects only the number of iterations.
        let preconditioner: Box<dyn Preconditioner + Send> = match ApproxCholesky::dominant(&matrix, Seed(0)) {
            Ok(factor) => Box::new(factor),
            Err(_) => Box::new(Jacobi::new(&matrix.diagonal())),
        };
        Ok(Self::Iterative { matrix, preconditioner, connected })
    }

    /// Writes `B^-1 rhs` to `out`.
    fn solve(&mut self, rhs: &[f64], dim: usize, out: &mut Vec<f64>) -> Result<()> {
        out.clear();
        match self {
            Self::Direct(factor) => {
                out.extend_from_slice(rhs);
                factor.solve(out);
            }
            Self::Iterative { matrix, preconditioner, connected } => {
                out.resize(rhs.len(), 0.0);
                let options = PcgOptions { tolerance: 1e-2, max_iterations: 50 };
                let operator: &dyn SymmetricOperator = matrix;
                let null_space = if *connected { NullSpace::Constant } else { NullSpace::None };
                pcg(operator, &**preconditioner, null_space, rhs, dim, out, options, &mut |_| Ok(()))?;
            }
        }
        Ok(())
    }
}

impl GradientPreconditioner for LaplacianPreconditioner {
    fn direction<F: Objective + ?Sized>(&mut self, objective: &F, gradient: Points, out: &mut Vec<f64>) -> Result<()> {
        let dim = gradient.dim();
        let solver = match &mut self.solver {
            Some(solver) => solver,
            None => self.solver.insert(LaplacianSolver::new(&objective.attraction(), dim)?),
        };
        // The objective and the Laplacian are invariant under translations of the map: errors of the gradient in that
        // direction would be amplified.
        self.gradient.clear();
        self.gradient.extend_from_slice(gradient.values());
        if objective.is_translation_invariant() {
            center(&mut self.gradient, dim);
        }
        solver.solve(&self.gradient, dim, out)?;
        let factor = -1.0 / objective.exaggeration();
        out.iter_mut().for_each(|p| *p *= factor);
        Ok(())
    }
}
