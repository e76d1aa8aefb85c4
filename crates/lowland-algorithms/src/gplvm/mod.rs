//! The Bayesian Gaussian process latent variable model (Titsias & Lawrence 2010): a Gaussian posterior of the latent
//! coordinates of every point, and one length scale for every dimension of the map, so that dimensions that are not
//! needed switch themselves off.
//!
//! [`InducingKernel`] computes the expectations of the kernel over uncertain latent coordinates,
//! [`VariationalBound`] the bound made of them, and [`GplvmState`] transforms new rows.

mod bound;
mod psi_statistics;
mod state;
#[cfg(test)]
mod tests;

pub use bound::{GplvmSizes, VariationalBound};
pub use psi_statistics::InducingKernel;
pub use state::GplvmState;
