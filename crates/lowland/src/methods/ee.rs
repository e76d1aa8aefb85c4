//! The elastic embedding.

use super::neighbor_embedding_macro::prelude::*;

neighbor_embedding!(
    /// The elastic embedding.
    Ee, "ee", "ElasticEmbedding",
    "Elastic embedding: quadratic attraction between neighbors, Gaussian repulsion between all points.",
    "Like ssne, but with adjustable repulsion: with a small lambda the embedding is nearly spectral, with a large one the points spread out.",
    notes: "",
    objective: None,
    optimizer: Lbfgs, early_exaggeration: 1.0, exaggeration_iter: 0, max_iter: 300,
    own: {
        /// Strength of the repulsion, for affinities whose rows sum to one.
        lambda: f64 = 0.1,
        /// Number of stages, of ten iterations each, in which lambda grows to its value.
        homotopy: usize = 0,
        /// Weights of the repulsion between pairs of points.
        repulsion: RepulsionWeights = RepulsionWeights::Uniform,
    },
    energy: |own: &Ee| Energy::Elastic { lambda: own.lambda },
    exaggeration: |_: &Ee, _: usize| 1.0,
    note: |_: &Ee, _: f64, _: &mut Context| (),
    homotopy: |own: &Ee| own.homotopy,
    repulsion: |own: &Ee| own.repulsion,
    check: |own: &Ee| check_positive("lambda", own.lambda)
);
