//! The spectral direction (Vladymyrov & Carreira-Perpiñán 2012): the gradient against `B = 4 L+`, the attraction's
//! Laplacian, factored once.

use super::gains::centre;
use super::line_search::LineSearch;
use super::{Moved, Optimizer};
use crate::objective::Objective;
use lowland_core::archive::Archive;
use lowland_core::{Error, Result, Seed};
use lowland_linalg::{
    ApproxCholesky, Csr, Jacobi, NullSpace, PcgOptions, Preconditioner, SparseCholesky, SymmetricOperator, pcg,
};
use lowland_neighbors::graph::ConnectedComponents;

/// The spectral direction with a line search.
pub struct SpectralDirection {
    search: LineSearch,
    solver: Option<Solver>,
    gradient: Vec<f64>,
    direction: Vec<f64>,
}

enum Solver {
    /// Where the factor stays sparse.
    Direct(Box<SparseCholesky>),
    /// Else conjugate gradients, which give a direction of descent however early they stop.
    Iterative { matrix: Csr, preconditioner: Box<dyn Preconditioner + Send>, connected: bool },
}

/// What is added to the diagonal of a connected graph's Laplacian, as a share of its smallest entry.
const TINY: f64 = 1e-10;
/// Where the graph has fallen apart, its parts have nothing to hold on to: a share of the mean entry.
const LOOSE: f64 = 1e-2;
/// More entries than this in the factor, and conjugate gradients are faster.
const MOST_ENTRIES: usize = 30_000_000;
/// More entries than this in the matrix: even finding out would take long.
const MOST_TRIED: usize = 1_500_000;

impl SpectralDirection {
    /// Not yet begun.
    pub fn new(search: LineSearch) -> Self {
        Self { search, solver: None, gradient: Vec::new(), direction: Vec::new() }
    }

    /// The step that was accepted last.
    pub fn last_step(&self) -> f64 {
        self.search.step()
    }
}

impl Solver {
    fn new(weights: &Csr, dim: usize) -> Result<Self> {
        let degrees = weights.row_sums();
        let n = degrees.len();
        let connected = ConnectedComponents::from_matrix(weights).count() == 1;
        let ground = if connected {
            TINY * degrees.iter().copied().fold(f64::INFINITY, f64::min)
        } else {
            LOOSE * degrees.iter().sum::<f64>() / n as f64
        };
        let off_diagonal = weights.iter().filter(|&(i, j, _)| i != j).map(|(i, j, w)| (i as u32, j as u32, -4.0 * w));
        let diagonal = (0..n).map(|i| {
            let loops = weights.get(i, i);
            (i as u32, i as u32, 4.0 * (degrees[i] - loops + ground))
        });
        let matrix = Csr::from_triplets(n, n, off_diagonal.chain(diagonal))?;
        if matrix.entries() <= MOST_TRIED {
            match SparseCholesky::new(&matrix, dim, MOST_ENTRIES) {
                Ok(Some(factor)) => return Ok(Self::Direct(Box::new(factor))),
                // Too large, or rounding made a pivot negative: conjugate gradients mind neither.
                Ok(None) | Err(Error::Numerical { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        // Only the number of iterations depends on the preconditioner.
        let preconditioner: Box<dyn Preconditioner + Send> = match ApproxCholesky::dominant(&matrix, Seed(0)) {
            Ok(factor) => Box::new(factor),
            Err(_) => Box::new(Jacobi::new(&matrix.diagonal())),
        };
        Ok(Self::Iterative { matrix, preconditioner, connected })
    }

    /// `B^-1 rhs`.
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

impl<F: Objective + ?Sized> Optimizer<F> for SpectralDirection {
    fn step(&mut self, objective: &mut F, y: &mut [f64], dim: usize) -> Result<Moved> {
        if self.solver.is_none() {
            self.solver = Some(Solver::new(&objective.attraction(), dim)?);
        }
        let factor = -1.0 / objective.exaggeration();
        let solver = self.solver.as_mut().expect("just made");
        // Moving the whole map changes nothing, and the Laplacian has no hold on it: what errors the gradient has in that
        // direction would be blown up.
        self.gradient.clear();
        self.gradient.extend_from_slice(self.search.gradient(objective, y, dim)?);
        centre(&mut self.gradient, dim);
        solver.solve(&self.gradient, dim, &mut self.direction)?;
        self.direction.iter_mut().for_each(|p| *p *= factor);
        Ok(self.search.along(objective, y, dim, &self.direction, None)?.0)
    }

    fn forget(&mut self) {
        self.search.forget();
    }

    fn measure_anew(&mut self) {
        self.search.measure_anew();
    }

    fn save(&self, archive: &mut Archive) {
        self.search.save(archive);
    }

    fn restore(&mut self, archive: &Archive, len: usize) -> Result<()> {
        self.search.restore(archive, len)
    }
}
