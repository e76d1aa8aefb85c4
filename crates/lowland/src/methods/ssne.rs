//! Symmetric stochastic neighbor embedding.

use super::neighbor_embedding::prelude::*;

neighbor_embedding!(
    /// Symmetric stochastic neighbour embedding.
    Ssne, "ssne", "SymmetricSNE",
    "Symmetric SNE: as t-SNE with Gaussian tails; clusters touch, the large scale survives",
    "For continuous structure (trajectories, gradients) where t-SNE would tear: the map is denser, and far points stay far.",
    notes: "",
    objective: Some("kl_divergence"),
    optimizer: Lbfgs, exaggeration: 1.0, exaggeration_iter: 0, max_iter: 300,
    own: {},
    energy: |_: &Ssne| Energy::SymmetricSne,
    homotopy: |_: &Ssne| 0,
    repulsion: |_: &Ssne| RepulsionWeights::Uniform,
    check: |_: &Ssne| Ok::<(), Error>(())
);
