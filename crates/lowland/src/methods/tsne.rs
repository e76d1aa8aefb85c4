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
        /// Factor of the attraction after early exaggeration: 1 is t-SNE; larger values give more compact, better separated clusters and keep fewer neighbors; auto uses 1 for up to 100,000 rows, 2 for up to 500,000, and 4 beyond.
        exaggeration: Auto<f64> = Auto::Auto,
        /// Degrees of freedom of the t-distribution in the embedding; values below 1 split clusters further, values above 1 merge them.
        dof: f64 = 1.0,
    },
    energy: |own: &Tsne| Energy::StudentSne { dof: own.dof },
    exaggeration: |own: &Tsne, rows: usize| own.exaggeration.value().unwrap_or(visible_exaggeration(rows)),
    note: |own: &Tsne, exaggeration: f64, context: &mut Context| {
        if own.exaggeration == Auto::Auto && exaggeration > 1.0 {
            context.note(Note::ExaggerationChosen { exaggeration });
        }
    },
    homotopy: |_: &Tsne| 0,
    repulsion: |_: &Tsne| RepulsionWeights::Uniform,
    check: |own: &Tsne| if (0.05..=100.0).contains(&own.dof) { Ok(()) } else { invalid_parameter("dof", &own.dof, "from 0.05 to 100") }
);

/// Returns the smallest exaggeration with which the islands of a map of so many rows can be seen: those found without labels agree with
/// classes, by the adjusted Rand index, at least nine tenths as well as with the best exaggeration. Larger ones keep fewer neighbors.
/// docs/methods/tsne.md has the measurements.
fn visible_exaggeration(rows: usize) -> f64 {
    match rows {
        0..=100_000 => 1.0,
        100_001..=500_000 => 2.0,
        _ => 4.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exaggeration_follows_from_the_number_of_rows_unless_it_is_set() {
        let of = |method: &Tsne, rows: usize| method.settings(rows).schedule.exaggeration;
        let auto = Tsne::default();
        let rows = [0, 100_000, 100_001, 500_000, 500_001];
        assert_eq!(rows.map(|rows| of(&auto, rows)), [1.0, 1.0, 2.0, 2.0, 4.0]);
        let plain = Tsne { exaggeration: Auto::Value(1.0), ..auto };
        assert_eq!(of(&plain, 1_000_000), 1.0);
        assert!(Tsne { exaggeration: Auto::Value(0.5), ..plain }.validate().is_err());
    }
}
