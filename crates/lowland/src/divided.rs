//! Embeddings whose rows are divided among several processes.
//!
//! The processes are started and connected by other programs, such as Dask; here is what each of them computes. [`DividedMethod`] says what
//! the parameters of a method mean for all of them; [`DividedEmbedding`] and [`DividedMapIt`] hold the points of one and explain the steps of
//! an iteration.

pub use crate::methods::{DividedKind, DividedMethod};
pub use lowland_algorithms::mapit::{DividedMapIt, DividedMapItSettings, MapItSums};
pub use lowland_algorithms::neighbor_embedding::{DividedEmbedding, DividedSettings, ForceSums};
pub use lowland_algorithms::objective::{CoordinateBounds, DividedAffinities, DividedPoints};
