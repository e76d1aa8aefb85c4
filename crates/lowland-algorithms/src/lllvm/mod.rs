//! The locally linear latent variable model (Park, Jitkrittum, Qamar, Szabo, Buesing and Sahani 2015): every point has a
//! place `x` on the map and a linear map `C` from there to the data; neighbours should differ in the data as `C` maps
//! their difference on the map. Places and maps have Gaussian posteriors, found by variational EM in closed form, and a
//! bound on the evidence comes with them, by which graphs and dimensions can be compared.
//!
//! [`Problem`] holds the data and what depends on the graph alone, [`Em`] iterates from one start, [`Starts`] from
//! several. `docs/methods/lllvm.md` maps equations to functions.

mod contract;
mod em;
mod network;
mod place;
mod posterior;
mod problem;
mod starts;

#[cfg(test)]
mod bound_tests;
#[cfg(test)]
mod tests;

pub use contract::{Sign, contract};
pub use em::{Alpha, Em, Settings, Start};
pub use network::Network;
pub use place::{Placing, Rebuilt};
pub use posterior::{Numbers, Posterior};
pub use problem::{Problem, Rows};
pub use starts::Starts;
