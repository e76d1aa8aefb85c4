//! Data and embeddings.

pub use lowland_core::{
    AnnotatedEmbedding, Data, DataShape, Dense, Embedding, Labels, LabelsBuilder, Metric, Points, Seed, Sparse,
    format_bytes,
};
