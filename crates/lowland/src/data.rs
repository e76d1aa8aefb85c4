//! Data and embeddings.

pub use lowland_core::{
    AnnotatedEmbedding, Data, DataShape, Dense, Embedding, Labels, LabelsBuilder, Metric, Narrowing, Points, Seed,
    Sparse, format_bytes,
};
