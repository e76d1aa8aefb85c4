//! A tractable latent variable model (Saul 2020): every point has a Gaussian cloud in the map; similar pairs should
//! coincide on their length scale, dissimilar pairs should not on theirs, and expectation-maximisation moves and sizes
//! the clouds so that this becomes as likely as it can.
//!
//! [`Structure`] holds the pairs, [`Em`] iterates. `docs/methods/lvm.md` maps equations to functions.

mod blocks;
mod coarse;
mod em;
mod kernel;
mod place;
mod similar;
mod solve;
mod structure;

#[cfg(test)]
mod tests;

pub use coarse::{Cells, Group, Link, Space, landmark_count};
pub use em::{Em, EmOptions, Precision, Variances};
pub use place::{Frozen, Placed};
pub use structure::{Adjacent, Settings, Structure};
