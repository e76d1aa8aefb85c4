//! t-distributed stochastic neighbor embedding.

use super::neighbor_embedding::prelude::*;

neighbor_embedding!(
    /// t-distributed stochastic neighbour embedding.
    Tsne, "tsne", "TSNE",
    "t-SNE: neighbours stay neighbours, clusters come apart",
    "The usual picture of clusters. Distances between clusters and their sizes say little; use lvm or spectral for those.",
    notes: "The gradient includes the factor 4 of the original paper, as in scikit-learn. openTSNE and FIt-SNE omit it, so their \
        learning rates are four times larger than those used here.",
    objective: Some("kl_divergence"),
    optimizer: Gd, exaggeration: 12.0, exaggeration_iter: 250, max_iter: 750,
    own: {
        /// Degrees of freedom of the t distribution in the map; below 1 splits clusters finer, above joins them.
        dof: f64 = 1.0,
    },
    energy: |own: &Tsne| Energy::StudentSne { dof: own.dof },
    homotopy: |_: &Tsne| 0,
    repulsion: |_: &Tsne| RepulsionWeights::Uniform,
    check: |own: &Tsne| if (0.05..=100.0).contains(&own.dof) { Ok(()) } else { invalid_parameter("dof", &own.dof, "from 0.05 to 100") }
);
