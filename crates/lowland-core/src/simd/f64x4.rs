//! Vectors of four `f64` with explicit operations.

/// The operations of an instruction set on vectors of four `f64`. Nothing is fused: every implementation computes the same
/// bits.
pub trait Simd: Copy {
    /// Four numbers.
    type F64x4: Copy;

    /// Makes a vector.
    fn load(self, numbers: [f64; 4]) -> Self::F64x4;
    /// The numbers of a vector.
    fn store(self, vector: Self::F64x4) -> [f64; 4];
    /// `a + b`, element by element.
    fn add(self, a: Self::F64x4, b: Self::F64x4) -> Self::F64x4;
    /// `a - b`, element by element.
    fn sub(self, a: Self::F64x4, b: Self::F64x4) -> Self::F64x4;
    /// `a * b`, element by element.
    fn mul(self, a: Self::F64x4, b: Self::F64x4) -> Self::F64x4;
    /// `a / b`, element by element.
    fn div(self, a: Self::F64x4, b: Self::F64x4) -> Self::F64x4;
    /// Transposes a 4 x 4 matrix of rows.
    fn transpose(self, rows: [Self::F64x4; 4]) -> [Self::F64x4; 4];

    /// A vector of four equal numbers.
    #[inline(always)]
    fn splat(self, number: f64) -> Self::F64x4 {
        self.load([number; 4])
    }

    /// The sum of the four numbers.
    #[inline(always)]
    fn sum(self, vector: Self::F64x4) -> f64 {
        let [a, b, c, d] = self.store(vector);
        (a + b) + (c + d)
    }
}

/// A loop over vectors of four numbers, which [`run_kernel`] compiles for AVX and for any machine.
///
/// `run`, and everything it calls, must be `#[inline(always)]`: only then is it compiled for the instruction set. Closures
/// cannot be.
pub trait SimdKernel {
    /// What the loop returns.
    type Output;

    /// Runs the loop with the operations of an instruction set.
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// Runs a kernel with AVX where the machine has it, otherwise in scalar arithmetic. It needs no `#[simd_dispatch]` around it.
#[inline(always)]
pub fn run_kernel<K: SimdKernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(avx) = pulp::x86::V3::try_new() {
        return avx.vectorize(avx::AvxKernel { avx, kernel });
    }
    run_scalar(kernel)
}

/// Not inlined: callers that are compiled for several instruction sets share it.
#[inline(never)]
fn run_scalar<K: SimdKernel>(kernel: K) -> K::Output {
    kernel.run(Scalar)
}

/// Runs a kernel in scalar arithmetic or as [`run_kernel`] does: for tests that compare the two.
#[doc(hidden)]
pub fn run_kernel_with<K: SimdKernel>(kernel: K, scalar: bool) -> K::Output {
    if scalar { run_scalar(kernel) } else { run_kernel(kernel) }
}

/// Four numbers one by one, on any machine.
#[derive(Clone, Copy)]
struct Scalar;

impl Simd for Scalar {
    type F64x4 = [f64; 4];

    #[inline(always)]
    fn load(self, numbers: [f64; 4]) -> [f64; 4] {
        numbers
    }

    #[inline(always)]
    fn store(self, vector: [f64; 4]) -> [f64; 4] {
        vector
    }

    #[inline(always)]
    fn add(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]]
    }

    #[inline(always)]
    fn sub(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        [a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]]
    }

    #[inline(always)]
    fn mul(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        [a[0] * b[0], a[1] * b[1], a[2] * b[2], a[3] * b[3]]
    }

    #[inline(always)]
    fn div(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        [a[0] / b[0], a[1] / b[1], a[2] / b[2], a[3] / b[3]]
    }

    #[inline(always)]
    fn transpose(self, [a, b, c, d]: [[f64; 4]; 4]) -> [[f64; 4]; 4] {
        [[a[0], b[0], c[0], d[0]], [a[1], b[1], c[1], d[1]], [a[2], b[2], c[2], d[2]], [a[3], b[3], c[3], d[3]]]
    }
}

#[cfg(target_arch = "x86_64")]
mod avx {
    use std::arch::x86_64::__m256d;

    use pulp::x86::V3;

    use super::{Simd, SimdKernel};

    /// A kernel to be run in a function that is compiled for AVX.
    pub(super) struct AvxKernel<K> {
        pub(super) avx: V3,
        pub(super) kernel: K,
    }

    impl<K: SimdKernel> pulp::NullaryFnOnce for AvxKernel<K> {
        type Output = K::Output;

        #[inline(always)]
        fn call(self) -> K::Output {
            self.kernel.run(self.avx)
        }
    }

    impl Simd for V3 {
        type F64x4 = __m256d;

        #[inline(always)]
        fn load(self, numbers: [f64; 4]) -> __m256d {
            pulp::cast(numbers)
        }

        #[inline(always)]
        fn store(self, vector: __m256d) -> [f64; 4] {
            pulp::cast(vector)
        }

        #[inline(always)]
        fn add(self, a: __m256d, b: __m256d) -> __m256d {
            self.avx._mm256_add_pd(a, b)
        }

        #[inline(always)]
        fn sub(self, a: __m256d, b: __m256d) -> __m256d {
            self.avx._mm256_sub_pd(a, b)
        }

        #[inline(always)]
        fn mul(self, a: __m256d, b: __m256d) -> __m256d {
            self.avx._mm256_mul_pd(a, b)
        }

        #[inline(always)]
        fn div(self, a: __m256d, b: __m256d) -> __m256d {
            self.avx._mm256_div_pd(a, b)
        }

        #[inline(always)]
        fn transpose(self, [a, b, c, d]: [__m256d; 4]) -> [__m256d; 4] {
            let avx = self.avx;
            let (even_ab, odd_ab) = (avx._mm256_unpacklo_pd(a, b), avx._mm256_unpackhi_pd(a, b));
            let (even_cd, odd_cd) = (avx._mm256_unpacklo_pd(c, d), avx._mm256_unpackhi_pd(c, d));
            // The low halves of two vectors, then the high ones.
            [
                avx._mm256_permute2f128_pd::<0x20>(even_ab, even_cd),
                avx._mm256_permute2f128_pd::<0x20>(odd_ab, odd_cd),
                avx._mm256_permute2f128_pd::<0x31>(even_ab, even_cd),
                avx._mm256_permute2f128_pd::<0x31>(odd_ab, odd_cd),
            ]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every operation once.
    #[derive(Clone, Copy)]
    struct AllOperations([[f64; 4]; 4]);

    impl SimdKernel for AllOperations {
        type Output = Vec<[f64; 4]>;

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> Vec<[f64; 4]> {
            let [a, b, c, d] = self.0;
            let (x, y) = (simd.load(a), simd.load(b));
            let [p, q, r, s] = simd.transpose([x, y, simd.load(c), simd.load(d)]);
            let results =
                [simd.add(x, y), simd.sub(x, y), simd.mul(x, y), simd.div(x, y), simd.splat(a[1]), p, q, r, s];
            let mut results: Vec<[f64; 4]> = results.into_iter().map(|vector| simd.store(vector)).collect();
            results.push([simd.sum(x); 4]);
            results
        }
    }

    #[test]
    fn every_instruction_set_computes_the_same_bits() {
        let rows =
            [[0.1, -2.5, 3e9, 7.0], [1.0 / 3.0, 1e-300, -0.0, 5.0], [1.1, 2.1, 3.1, 4.1], [8.0, 9.0, 10.0, 11.0]];
        let [scalar, avx] = [true, false].map(|scalar| run_kernel_with(AllOperations(rows), scalar));
        let bits = |results: &[[f64; 4]]| results.as_flattened().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&scalar), bits(&avx));
        assert_eq!(scalar[5..9], [0, 1, 2, 3].map(|c| [rows[0][c], rows[1][c], rows[2][c], rows[3][c]]));
        assert_eq!(scalar[9][0], (0.1 - 2.5) + (3e9 + 7.0));
    }
}
