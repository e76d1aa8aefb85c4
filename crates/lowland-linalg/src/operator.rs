//! Symmetric operators.

use super::block;
use lowland_core::Seed;

/// A symmetric matrix given by its action on vectors.
pub trait SymmetricOperator: Sync {
    /// Number of rows and columns.
    fn dim(&self) -> usize;

    /// Computes `out = A x` for a row-major block `x` (dim x columns). The result must not depend on the number of
    /// threads.
    fn apply(&self, x: &[f64], columns: usize, out: &mut [f64]);

    /// Approximate largest absolute eigenvalue, to which tolerances are relative. By default a few power iterations.
    fn norm(&self) -> f64 {
        let mut x = Seed(0).stream("operator norm").normals(self.dim());
        let mut image = vec![0.0; self.dim()];
        let mut norm = 0.0;
        for _ in 0..8 {
            let length = block::dot(&x, &x).sqrt();
            if !(length > 0.0 && length.is_finite()) {
                break;
            }
            block::multiply_columns(&mut x, &[1.0 / length]);
            self.apply(&x, 1, &mut image);
            std::mem::swap(&mut x, &mut image);
            norm = block::dot(&x, &x).sqrt();
        }
        norm
    }
}
