//! Row-major wrappers around faer, which is used only here and in `sparse_cholesky`. All run on the calling thread, so
//! that results do not depend on the number of threads; callers split the work into fixed tiles.

use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::traits::ComplexField;
use faer::{Accum, Mat, MatMut, MatRef, Par};

use lowland_core::{Error, Result};

/// `f32` or `f64`.
pub trait Real: ComplexField + Copy + Send + Sync {}
impl Real for f32 {}
impl Real for f64 {}

/// Computes `out = a b'` for row-major `a` (m x depth), `b` (n x depth), `out` (m x n).
pub fn product_nt<T: Real>(a: &[T], b: &[T], depth: usize, out: &mut [T]) {
    let (m, n) = (a.len() / depth, b.len() / depth);
    let a = MatRef::from_row_major_slice(a, m, depth);
    let b = MatRef::from_row_major_slice(b, n, depth);
    let out = MatMut::from_row_major_slice_mut(out, m, n);
    matmul(out, Accum::Replace, a, b.transpose(), T::one_impl(), Par::Seq);
}

/// Computes `out += factor a b'` with shapes as in [`product_nt`], where the rows of `out` are `stride` apart.
pub fn product_nt_add(a: &[f64], b: &[f64], depth: usize, factor: f64, out: &mut [f64], stride: usize) {
    if depth == 0 || a.is_empty() || b.is_empty() {
        return;
    }
    let (m, n) = (a.len() / depth, b.len() / depth);
    let a = MatRef::from_row_major_slice(a, m, depth);
    let b = MatRef::from_row_major_slice(b, n, depth);
    let transposed = MatMut::from_column_major_slice_with_stride_mut(out, n, m, stride);
    matmul(transposed, Accum::Add, b, a.transpose(), factor, Par::Seq);
}

/// Computes `out = a b` for row-major `a` (m x depth), `b` (depth x n), `out` (m x n).
pub fn product_nn<T: Real>(a: &[T], b: &[T], depth: usize, out: &mut [T]) {
    product_nn_into(a, b, depth, out, Accum::Replace, T::one_impl());
}

/// Computes `out += a b` with shapes as in [`product_nn`].
pub fn product_nn_add<T: Real>(a: &[T], b: &[T], depth: usize, out: &mut [T]) {
    product_nn_into(a, b, depth, out, Accum::Add, T::one_impl());
}

/// Computes `out -= a b` with shapes as in [`product_nn`].
pub(crate) fn product_nn_subtract(a: &[f64], b: &[f64], depth: usize, out: &mut [f64]) {
    product_nn_into(a, b, depth, out, Accum::Add, -1.0);
}

fn product_nn_into<T: Real>(a: &[T], b: &[T], depth: usize, out: &mut [T], accum: Accum, factor: T) {
    if depth == 0 || a.is_empty() || b.is_empty() {
        if matches!(accum, Accum::Replace) {
            out.fill(T::zero_impl());
        }
        return;
    }
    let (m, n) = (a.len() / depth, b.len() / depth);
    let a = MatRef::from_row_major_slice(a, m, depth);
    let b = MatRef::from_row_major_slice(b, depth, n);
    let out = MatMut::from_row_major_slice_mut(out, m, n);
    matmul(out, accum, a, b, factor, Par::Seq);
}

/// Computes `out += a' b` for row-major `a` (depth x m), `b` (depth x n), `out` (m x n).
pub fn product_tn_add<T: Real>(a: &[T], b: &[T], depth: usize, out: &mut [T]) {
    if depth == 0 || a.is_empty() || b.is_empty() {
        return;
    }
    let (m, n) = (a.len() / depth, b.len() / depth);
    let a = MatRef::from_row_major_slice(a, depth, m);
    let b = MatRef::from_row_major_slice(b, depth, n);
    let out = MatMut::from_row_major_slice_mut(out, m, n);
    matmul(out, Accum::Add, a.transpose(), b, T::one_impl(), Par::Seq);
}

/// Views columns of length `stride` laid end to end, from row `first` on.
fn columns(values: &[f64], stride: usize, first: usize) -> MatRef<'_, f64> {
    let count = values.len() / stride;
    MatRef::from_column_major_slice(values, stride, count).get(first.., ..)
}

fn columns_mut(values: &mut [f64], stride: usize, first: usize) -> MatMut<'_, f64> {
    let count = values.len() / stride;
    MatMut::from_column_major_slice_mut(values, stride, count).get_mut(first.., ..)
}

/// Performs one step of a Cholesky factorization: `panel` holds some columns of a symmetric matrix, each of length `n`,
/// whose diagonal starts at row `first`; they are replaced by the columns of the lower factor.
pub(super) fn factor_panel(panel: &mut [f64], n: usize, first: usize) -> Result<()> {
    let width = panel.len() / n;
    let (mut diagonal, below) = columns_mut(panel, n, first).split_at_row_mut(width);
    factor_in_place(diagonal.as_mut())?;
    solve_lower_triangular_in_place(diagonal.as_ref(), below.transpose_mut(), Par::Seq);
    Ok(())
}

/// Subtracts the contribution of a factored panel from later columns, whose diagonal starts at row `first`.
pub(super) fn subtract_outer(later: &mut [f64], panel: &[f64], n: usize, first: usize) {
    let width = later.len() / n;
    let rows = columns(panel, n, first);
    let top = rows.get(..width, ..);
    matmul(columns_mut(later, n, first), Accum::Add, rows, top.transpose(), -1.0, Par::Seq);
}

/// Solves `L L' x = b` for the rows from `first` on; `factor` holds the columns of `L` from `first` on.
pub(super) fn solve_panel(factor: &[f64], n: usize, first: usize, panel: &mut [f64]) {
    let lower = columns(factor, n, first);
    let mut right = columns_mut(panel, n, first);
    solve_lower_triangular_in_place(lower, right.as_mut(), Par::Seq);
    solve_upper_triangular_in_place(lower.transpose(), right, Par::Seq);
}

/// Replaces the lower triangle of a symmetric positive definite matrix by its Cholesky factor.
fn factor_in_place(matrix: MatMut<'_, f64>) -> Result<()> {
    let scratch = llt::factor::cholesky_in_place_scratch::<f64>(matrix.nrows(), Par::Seq, Default::default());
    let mut memory = MemBuffer::new(scratch);
    let stack = MemStack::new(&mut memory);
    llt::factor::cholesky_in_place(matrix, Default::default(), Par::Seq, stack, Default::default())
        .map(|_| ())
        .map_err(|_| Error::Numerical { what: "Cholesky", reason: "the matrix is not positive definite".into() })
}

/// Returns the eigenvalues, ascending, and orthonormal eigenvectors (the columns of a row-major `n x n` matrix) of a
/// symmetric row-major matrix. The matrix is scaled by a power of two, so that tiny and huge entries are handled alike.
pub fn eigh(matrix: &[f64], n: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let mut vectors = Mat::<f64>::zeros(n, n);
    let values = decompose(matrix, n, Some(vectors.as_mut()))?;
    let mut row_major = Vec::with_capacity(n * n);
    (0..n).for_each(|i| row_major.extend((0..n).map(|j| vectors[(i, j)])));
    Ok((values, row_major))
}

/// Returns only the eigenvalues, as in [`eigh`].
pub fn eigenvalues(matrix: &[f64], n: usize) -> Result<Vec<f64>> {
    decompose(matrix, n, None)
}

fn decompose(matrix: &[f64], n: usize, vectors: Option<MatMut<'_, f64>>) -> Result<Vec<f64>> {
    if n == 0 {
        return Ok(Vec::new());
    }
    let failed = |reason: &str| Error::Numerical { what: "symmetric eigendecomposition", reason: reason.into() };
    if matrix.iter().any(|v| !v.is_finite()) {
        return Err(failed("the matrix has entries that are not finite"));
    }
    let largest = matrix.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let scale = power_of_two_near(largest);
    let scaled = Mat::from_fn(n, n, |i, j| (matrix[i * n + j] + matrix[j * n + i]) * 0.5 / scale);
    let mut values = vec![0.0; n];
    let wanted = if vectors.is_some() { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let mut memory = MemBuffer::new(self_adjoint_evd_scratch::<f64>(n, wanted, Par::Seq, Default::default()));
    self_adjoint_evd(
        scaled.as_ref(),
        DiagMut::from_slice_mut(&mut values),
        vectors,
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    )
    .map_err(|_| failed("no convergence"))?;
    values.iter_mut().for_each(|v| *v *= scale);
    Ok(values)
}

/// Returns the largest power of two not above a positive number, or 1 for zero. Division by it is exact.
pub fn power_of_two_near(value: f64) -> f64 {
    if value > 0.0 && value.is_finite() { value.log2().floor().clamp(-1000.0, 1000.0).exp2() } else { 1.0 }
}

/// Lower Cholesky factor of a symmetric positive definite matrix.
#[derive(Debug, Clone)]
pub struct Cholesky {
    lower: Mat<f64>,
}

impl Cholesky {
    /// Factors a row-major `n x n` matrix, of which only the lower triangle is read.
    pub fn new(matrix: &[f64], n: usize) -> Result<Self> {
        let mut lower = Mat::from_fn(n, n, |i, j| if j <= i { matrix[i * n + j] } else { 0.0 });
        factor_in_place(lower.as_mut())?;
        Ok(Self { lower })
    }

    /// Replaces the right-hand sides, a row-major `n x columns` block, by the solutions.
    pub fn solve(&self, rhs: &mut [f64], columns: usize) {
        let mut rhs = MatMut::from_row_major_slice_mut(rhs, self.lower.nrows(), columns);
        solve_lower_triangular_in_place(self.lower.as_ref(), rhs.as_mut(), Par::Seq);
        solve_upper_triangular_in_place(self.lower.transpose(), rhs, Par::Seq);
    }

    /// Returns the inverse of the matrix.
    pub fn inverse(&self) -> Vec<f64> {
        let n = self.lower.nrows();
        let mut identity = vec![0.0; n * n];
        identity.iter_mut().step_by(n + 1).for_each(|v| *v = 1.0);
        self.solve(&mut identity, n);
        identity
    }

    /// Returns the product of the factor and a vector.
    pub fn multiply(&self, vector: &[f64]) -> Vec<f64> {
        let n = self.lower.nrows();
        let mut out = vec![0.0; n];
        for (j, v) in vector.iter().enumerate().take(n) {
            (j..n).for_each(|i| out[i] += self.lower[(i, j)] * v);
        }
        out
    }

    /// Returns the logarithm of the determinant.
    pub fn log_determinant(&self) -> f64 {
        (0..self.lower.nrows()).map(|i| 2.0 * self.lower[(i, i)].ln()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Seed;

    #[test]
    fn a_product_with_a_transpose_is_row_by_row_inner_products() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 0.0, 1.0]);
        let mut out = [0.0; 2];
        product_nt(&a, &b, 3, &mut out);
        assert_eq!(out, [4.0, 10.0]);
    }

    #[test]
    fn plain_and_transposed_products_agree_with_hand_sums() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, -1.0, 2.0, 0.5]);
        let mut out = [0.0; 6];
        product_nn(&a, &b, 2, &mut out);
        assert_eq!(out, [5.0, 0.0, 11.0, -1.0, 17.0, -2.0]);
        let mut gram = [100.0, 0.0, 0.0, 0.0];
        product_tn_add(&a, &a, 3, &mut gram);
        assert_eq!(gram, [135.0, 44.0, 44.0, 56.0]);
    }

    #[test]
    fn an_eigendecomposition_reconstructs_its_matrix_at_any_scale() {
        for (n, scale) in [(1, 1.0), (2, 1e-200), (5, 1e200), (40, 1.0)] {
            let half = Seed(3).normals(n * n);
            let matrix: Vec<f64> = (0..n * n).map(|at| scale * (half[at] + half[at % n * n + at / n])).collect();
            let (values, vectors) = eigh(&matrix, n).unwrap();
            assert!(values.is_sorted());
            let alone = eigenvalues(&matrix, n).unwrap();
            assert!(alone.iter().zip(&values).all(|(a, b)| (a - b).abs() < 1e-12 * n as f64 * scale));
            for i in 0..n {
                for j in 0..n {
                    let rebuilt: f64 = (0..n).map(|k| values[k] * vectors[i * n + k] * vectors[j * n + k]).sum();
                    assert!((rebuilt - matrix[i * n + j]).abs() < 1e-12 * n as f64 * scale, "{n} {i} {j}");
                }
            }
        }
        assert!(eigh(&[f64::NAN], 1).is_err());
        assert!(eigh(&[], 0).unwrap().0.is_empty());
    }

    #[test]
    fn cholesky_solves_and_rejects_indefinite_matrices() {
        let matrix = [4.0, 2.0, 2.0, 3.0];
        let factor = Cholesky::new(&matrix, 2).unwrap();
        let mut x = [8.0, 4.0, 7.0, 2.0];
        factor.solve(&mut x, 2);
        let expected = [1.25, 1.0, 1.5, 0.0];
        assert!(x.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14), "{x:?}");
        assert!((factor.log_determinant() - 8f64.ln()).abs() < 1e-14);
        assert_eq!(factor.multiply(&[1.0, 0.0]), [2.0, 1.0]);
        let inverse = factor.inverse();
        assert!(inverse.iter().zip([0.375, -0.25, -0.25, 0.5]).all(|(a, b)| (a - b).abs() < 1e-15), "{inverse:?}");
        assert!(Cholesky::new(&[1.0, 2.0, 2.0, 1.0], 2).is_err());
    }
}
