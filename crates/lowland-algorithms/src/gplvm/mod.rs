//! The Bayesian Gaussian process latent variable model (Titsias & Lawrence 2010): a Gaussian posterior for every point's place,
//! one length scale for every dimension of the map, so that dimensions that are not needed switch themselves off.
//!
//! [`Psi`] holds the kernel's expectations over uncertain places, [`Bound`] the variational bound made of them.

mod bound;
mod psi;
#[cfg(test)]
mod tests;

pub use bound::{Bound, Frozen, Sizes};
pub use psi::Psi;
