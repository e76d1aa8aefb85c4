//! Symmetric stochastic neighbor embedding.

use super::neighbor_embedding_macro::prelude::*;

neighbor_embedding!(
/// Symmetric stochastic neighbor embedding.
    Ssne, "ssne", "SymmetricSNE",
    "Symmetric SNE: like t-SNE with Gaussian tails; clusters touch, and large-scale structure is preserved.",
    "For continuous structure (trajectories, gradients) that t-SNE would tear apart: the embedding is denser, and distant points stay distant.",
    notes: "",
    objective: Some("kl_divergence"),
    optimizer: Lbfgs, early_exaggeration: 1.0, exaggeration_iter: 0, max_iter: 300,
    own: {},
    energy: |_: &Ssne| Energy::SymmetricSne,
    exaggeration: |_: &Ssne, _: usize| 1.0,
    note: |_: &Ssne, _: f64, _: &mut Context| (),
    homotopy: |_: &Ssne| 0,
    repulsion: |_: &Ssne| RepulsionWeights::Uniform,
    check: |_: &Ssne| Ok::<(), Error>(())
);
