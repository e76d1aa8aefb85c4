//! Neighbor embeddings whose rows are divided among several processes.
//!
//! The processes are started and connected by other programs, such as Dask; here is what each of them computes. [`DividedMethod`] says what
//! the parameters of a method mean for all of them, and [`DividedEmbedding`] holds the points of one and explains the steps of an iteration.

pub use crate::methods::DividedMethod;
pub use lowland_algorithms::neighbor_embedding::{
    CoordinateBounds, DividedAffinities, DividedEmbedding, DividedSettings, ForceSums,
};
