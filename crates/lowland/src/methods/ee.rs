//! The elastic embedding.

use super::neighbor_embedding::prelude::*;

neighbor_embedding!(
    /// The elastic embedding.
    Ee, "ee", "ElasticEmbedding",
    "Elastic embedding: springs between neighbours, a Gaussian push between all",
    "Like ssne with a strength of repulsion you choose: a small lambda is nearly spectral, a large one spreads the points out.",
    notes: "",
    objective: None,
    optimizer: Lbfgs, exaggeration: 1.0, exaggeration_iter: 0, max_iter: 300,
    own: {
        /// Strength of the repulsion, for affinities whose rows sum to one.
        lambda: f64 = 0.1,
        /// Lambda grows to its value in so many stages of ten iterations.
        homotopy: usize = 0,
        /// How strongly a pair repels.
        repulsion: RepulsionWeights = RepulsionWeights::Uniform,
    },
    energy: |own: &Ee| Energy::Elastic { lambda: own.lambda },
    homotopy: |own: &Ee| own.homotopy,
    repulsion: |own: &Ee| own.repulsion,
    check: |own: &Ee| positive("lambda", own.lambda)
);
