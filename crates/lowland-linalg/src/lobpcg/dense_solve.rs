//! Dense decomposition, for small operators and as a fallback.

use super::{EigenSolver, Phase};
use crate::{SymmetricOperator, block, dense};
use lowland_core::Result;

impl EigenSolver {
    /// Decomposes the full matrix, with the deflated space shifted beyond the far end of the spectrum.
    pub(super) fn solve_densely(&mut self, operator: &dyn SymmetricOperator, phase: Phase) -> Result<()> {
        let n = self.rows;
        let mut matrix = self.full_matrix(operator);
        let q = &self.deflated;
        if self.deflated_columns > 0 {
            // (I - QQ') A (I - QQ') + far QQ'; the matrix is symmetric, so both sides are projections of columns.
            block::project_out(&mut matrix, n, q, self.deflated_columns);
            let mut transposed: Vec<f64> = (0..n * n).map(|at| matrix[at % n * n + at / n]).collect();
            block::project_out(&mut transposed, n, q, self.deflated_columns);
            let far = 4.0 * self.norm.max(f64::MIN_POSITIVE);
            for i in 0..n {
                for j in 0..n {
                    let overlap: f64 = (0..self.deflated_columns)
                        .map(|c| q[i * self.deflated_columns + c] * q[j * self.deflated_columns + c])
                        .sum();
                    transposed[i * n + j] += far * overlap;
                }
            }
            matrix = transposed;
        }
        let (values, vectors) = dense::eigh(&matrix, n)?;
        self.width = self.options.wanted;
        let first: Vec<usize> = (0..self.width).collect();
        self.x = block::select_columns(&vectors, n, &first);
        self.ritz = values[..self.width].to_vec();
        self.ax = self.image(operator, &self.x, self.width);
        (self.p, self.ap, self.p_columns) = (Vec::new(), Vec::new(), 0);
        self.check_convergence();
        self.phase = phase;
        Ok(())
    }

    /// Applies the operator to the unit vectors, a few at a time, since an operator may need memory for each column.
    fn full_matrix(&self, operator: &dyn SymmetricOperator) -> Vec<f64> {
        const COLUMNS: usize = 64;
        let n = self.rows;
        let mut matrix = vec![0.0; n * n];
        for first in (0..n).step_by(COLUMNS) {
            let columns = COLUMNS.min(n - first);
            let mut units = vec![0.0; n * columns];
            (0..columns).for_each(|c| units[(first + c) * columns + c] = 1.0);
            let image = self.image(operator, &units, columns);
            for (row, image) in matrix.chunks_exact_mut(n).zip(image.chunks_exact(columns)) {
                row[first..first + columns].copy_from_slice(image);
            }
        }
        matrix
    }
}
