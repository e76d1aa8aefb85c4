//! `exp` and `ln` without branches, tables and calls, so that loops around them are vectorized.
//!
//! There are two implementations of each, with different bits:
//!
//! - [`exp`] and [`ln`] accept every `f64`: subnormal numbers, zero, infinities and NaN.
//! - [`FastFloat::exp_neg`] and [`FastFloat::ln`], in `f32` and `f64`, are for the E-step of latent variable models, which
//!   needs `1 - exp(-x)` and `ln` near one without cancellation. They cover only the range that it uses, in fewer operations.

mod float;
mod full_range;

pub use float::FastFloat;
pub use full_range::{exp, ln};
