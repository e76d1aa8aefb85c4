//! The nouns everything else is written in: data, points, metrics, errors, seeds.

mod data;
mod embedding;
mod error;
mod metric;
mod numbering;
mod seed;

pub use data::{Data, Dense, Shape, Sparse};
pub use embedding::{Embedding, Points};
pub use error::{Error, Result, bytes};
pub use metric::Metric;
pub(crate) use numbering::{Numbering, along_tree, inverse};
pub use seed::Seed;
