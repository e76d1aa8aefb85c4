//! The commands, one file each, and what they share: figures and the files that are written of them.

mod analogies;
mod angles;
mod coloring;
mod compare;
mod comparison_table;
mod data;
mod edges;
mod embed;
mod figure;
mod methods;
mod model;
mod neighbors;
mod output_log;
mod outputs;
mod page;
mod picture;
mod plot;
mod quality;
mod reconstruct;
mod scoring;
mod select;
mod transform;
mod trust;

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
pub use trust::trust;
