//! t-distributed stochastic neighbor embedding.

use super::neighbor_embedding_macro::prelude::*;

neighbor_embedding!(
/// t-distributed stochastic neighbor embedding.
    Tsne, "tsne", "TSNE",
    "t-SNE: preserves neighborhoods and separates clusters.",
    "The place to start: of all methods it keeps the most neighbors. Cluster sizes and distances between clusters carry little information; use lvm or spectral for those.",
    notes: "The gradient includes the factor 4 of the original paper, as in scikit-learn. openTSNE and FIt-SNE omit it, so their \
        learning rates are four times larger than those used here.",
    objective: Some("kl_divergence"),
    optimizer: Gd, early_exaggeration: 12.0, exaggeration_iter: 250, max_iter: 750,
    own: {
        /// Factor of the attraction after early exaggeration: 1 is t-SNE; larger values give more compact, better separated clusters and keep fewer neighbors.
        exaggeration: f64 = 1.0,
        /// Degrees of freedom of the t-distribution in the embedding; values below 1 split clusters further, values above 1 merge them.
        dof: f64 = 1.0,
    },
    energy: |own: &Tsne| Energy::StudentSne { dof: own.dof },
    exaggeration: |own: &Tsne| own.exaggeration,
    homotopy: |_: &Tsne| 0,
    repulsion: |_: &Tsne| RepulsionWeights::Uniform,
    check: |own: &Tsne| if (0.05..=100.0).contains(&own.dof) { Ok(()) } else { invalid_parameter("dof", &own.dof, "from 0.05 to 100") }
);
