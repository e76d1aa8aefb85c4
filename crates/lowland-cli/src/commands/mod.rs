//! One file a verb.

mod analogies;
mod angles;
mod compare;
mod data;
mod embed;
mod methods;
mod model;
mod neighbors;
mod outputs;
mod page;
mod picture;
mod plot;
mod quality;
mod reconstruct;
mod scoring;
mod select;
mod shown;
mod transform;
mod written;

pub use analogies::analogies;
pub use compare::compare;
pub use data::data;
pub use embed::embed;
pub use methods::{completions, methods};
pub use model::{inverse, score};
pub use neighbors::neighbors;
pub use plot::plot;
pub use quality::quality;
pub use reconstruct::{reconstruct, samples};
pub use select::select;
pub use transform::transform;
