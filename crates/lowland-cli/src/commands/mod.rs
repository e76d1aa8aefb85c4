//! One file a verb.

mod analogies;
mod data;
mod embed;
mod methods;
mod model;
mod neighbors;
mod outputs;
mod quality;
mod reconstruct;
mod select;
mod transform;

pub use analogies::analogies;
pub use data::data;
pub use embed::embed;
pub use methods::{completions, methods};
pub use model::{inverse, score};
pub use neighbors::neighbors;
pub use quality::quality;
pub use reconstruct::{reconstruct, samples};
pub use select::select;
pub use transform::transform;
