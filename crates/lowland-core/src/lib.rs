//! The types that all crates of lowland share: data, embeddings, errors, parameters, archives, runs.
//!
//! This crate is an implementation detail of `lowland`, which re-exports what is public.

mod annotated;
// `#[simd_dispatch]` expands to a path through this name, here as in other crates.
#[cfg(test)]
extern crate self as lowland_core;

pub mod archive;
mod bytes;
mod data;
mod embedding;
mod error;
mod memory;
mod memory_order;
pub mod message;
mod metric;
pub mod params;
mod reliability;
pub mod run;
mod seed;
pub mod simd;
mod threads;

pub use annotated::{AnnotatedEmbedding, Labels, LabelsBuilder, check_computed_embedding};
pub use bytes::format_bytes;
pub use data::{Data, DataShape, Dense, Narrowing, Sparse};
pub use embedding::{Embedding, Points};
pub use error::{Error, Result};
pub use memory::{MemoryBudget, available_memory, resident_memory};
pub use memory_order::{MemoryOrder, inverse_permutation, tree_order};
pub use metric::Metric;
pub use reliability::{IslandBridge, Reliability, ReliabilityColumn};
pub use seed::Seed;
pub use threads::{address_space_limit, threads_within_limits, with_threads};
