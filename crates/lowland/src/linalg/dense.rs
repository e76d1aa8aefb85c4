//! The only place that knows faer: small row-major wrappers. All run on the calling thread, so that results do not depend
//! on how many threads there are; callers split the work into fixed tiles.

use faer::linalg::matmul::matmul;
use faer::traits::ComplexField;
use faer::{Accum, MatMut, MatRef, Par};

/// `f32` or `f64`.
pub trait Real: ComplexField + Copy + Send + Sync {}
impl Real for f32 {}
impl Real for f64 {}

/// `out = a b'` for row-major `a` (m x depth), `b` (n x depth), `out` (m x n).
pub fn product_nt<T: Real>(a: &[T], b: &[T], depth: usize, out: &mut [T]) {
    let (m, n) = (a.len() / depth, b.len() / depth);
    let a = MatRef::from_row_major_slice(a, m, depth);
    let b = MatRef::from_row_major_slice(b, n, depth);
    let out = MatMut::from_row_major_slice_mut(out, m, n);
    matmul(out, Accum::Replace, a, b.transpose(), T::one_impl(), Par::Seq);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_with_a_transpose_is_row_by_row_inner_products() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 0.0, 1.0]);
        let mut out = [0.0; 2];
        product_nt(&a, &b, 3, &mut out);
        assert_eq!(out, [4.0, 10.0]);
    }
}
