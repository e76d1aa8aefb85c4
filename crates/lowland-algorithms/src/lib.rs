//! The mathematics of the embedding methods, one module each, without parameters' names or files.
//!
//! This crate is an implementation detail of `lowland`, which re-exports what is public.

pub mod affinity;
pub mod anchors;
pub mod dense_rows;
pub mod density;
pub mod gplvm;
pub mod lllvm;
pub mod llx;
pub mod lvm;
pub mod mapit;
pub mod neighbor_embedding;
pub mod objective;
pub mod optim;
pub mod out_of_sample;
pub mod pacmap;
pub mod point_loss;
pub mod similarity_curve;
pub mod tsm;
pub mod umap;
