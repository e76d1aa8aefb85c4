//! Data and embeddings.

pub use lowland_core::{
    AnnotatedEmbedding, Data, Dense, Embedding, Labels, LabelsBuilder, Metric, Points, Seed, Shape, Sparse, bytes,
};
