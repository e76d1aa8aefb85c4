//! The pseudo-inverse `K` of the Laplacian, by a sparse factor.

use rayon::prelude::*;

use super::super::graph::ModelGraph;
use lowland_core::Result;
use lowland_linalg::{Csr, Preconditioner, SparseCholesky};

/// Right-hand sides that are solved together.
pub(super) const BLOCK: usize = 32;

/// The pseudo-inverse of the Laplacian. The last point is grounded: it is zero, until the solution is centered.
pub(in super::super) struct LaplacianInverse {
    points: usize,
    factor: SparseCholesky,
}

impl LaplacianInverse {
    /// Factors the Laplacian; fails if the factor needs more than `max_memory` bytes.
    pub fn new(graph: &ModelGraph, max_memory: Option<u64>) -> Result<Self> {
        let last = graph.points() - 1;
        let laplacian = graph.laplacian();
        let kept = laplacian.iter().filter(|&(i, j, _)| i < last && j < last);
        let grounded = Csr::from_triplets(last, last, kept.map(|(i, j, v)| (i as u32, j as u32, v)))?;
        let factor = SparseCholesky::within_memory(&grounded, BLOCK, usize::MAX, max_memory)?;
        Ok(Self { points: last + 1, factor: factor.expect("a factor of any size is accepted") })
    }

    /// The sum of the logarithms of the eigenvalues except the zero.
    pub fn log_determinant(&self) -> f64 {
        self.factor.log_determinant() + (self.points as f64).ln()
    }

    /// Replaces the right-hand sides, a row-major block, by their products with `K`.
    pub fn multiply(&self, block: &mut [f64], columns: usize) {
        let last = (self.points - 1) * columns;
        center(block, columns);
        self.factor.solve_columns(&mut block[..last], columns);
        block[last..].fill(0.0);
        center(block, columns);
    }

    /// Computes columns `first..` of `K`, as a row-major block.
    pub fn columns(&self, first: usize, count: usize) -> Vec<f64> {
        let mut block = vec![0.0; self.points * count];
        (0..count).for_each(|at| block[(first + at) * count + at] = 1.0);
        self.multiply(&mut block, count);
        block
    }
}

impl Preconditioner for LaplacianInverse {
    fn apply(&self, r: &[f64], columns: usize, out: &mut [f64]) {
        // Blocks of columns, so that there is work for several threads.
        let starts: Vec<usize> = (0..columns).step_by(BLOCK).collect();
        let solved: Vec<Vec<f64>> = starts
            .par_iter()
            .map(|&first| {
                let width = BLOCK.min(columns - first);
                let mut block: Vec<f64> =
                    r.chunks_exact(columns).flat_map(|row| &row[first..first + width]).copied().collect();
                self.multiply(&mut block, width);
                block
            })
            .collect();
        for (&first, block) in starts.iter().zip(&solved) {
            let width = BLOCK.min(columns - first);
            let rows = out.chunks_exact_mut(columns).zip(block.chunks_exact(width));
            rows.for_each(|(out, block)| out[first..first + width].copy_from_slice(block));
        }
    }

    fn name(&self) -> &'static str {
        "pseudo-inverse"
    }
}

/// Subtracts the mean of every column.
fn center(block: &mut [f64], columns: usize) {
    let mut means = vec![0.0; columns];
    block.chunks_exact(columns).for_each(|row| means.iter_mut().zip(row).for_each(|(m, v)| *m += v));
    let count = (block.len() / columns) as f64;
    means.iter_mut().for_each(|m| *m /= count);
    block.chunks_exact_mut(columns).for_each(|row| row.iter_mut().zip(&means).for_each(|(v, m)| *v -= m));
}
