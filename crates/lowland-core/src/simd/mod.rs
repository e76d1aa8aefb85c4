//! SIMD kernels: run-time dispatch, explicit vectors of four `f64`, and vectorizable `exp` and `ln`.
//!
//! - [`simd_dispatch`] compiles a function once per instruction set. Plain loops in it become vectors of the machine's width.
//! - [`SimdKernel`] is for loops that the compiler does not vectorize by itself, such as rows gathered from anywhere in memory.
//! - [`exp`], [`ln`] and [`FastFloat`] replace the functions of the standard library, which loops cannot be vectorized around.
//!
//! Nothing here uses fused multiply-add (except `#[simd_dispatch(fma)]`), so every machine computes the same bits.

mod f64x4;
mod fastmath;

pub use f64x4::{Simd, SimdKernel, run_kernel, run_kernel_with};
pub use fastmath::{FastFloat, exp, ln};
pub use lowland_macros::simd_dispatch;
// `simd_dispatch` expands to a path into this.
#[doc(hidden)]
pub use multiversion;
