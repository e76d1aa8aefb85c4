//! Quality scores of a map.
//!
//! [`report()`] computes all of them. The single scores take neighbor graphs ([`knn_recall`], [`first_neighbor_recall`],
//! [`classification_error`], [`class_shares`]), a [`MetricSpace`] and a graph ([`trustworthiness`]), or two spaces
//! ([`triplet_accuracy`], [`distance_correlation`]). [`procrustes()`] compares two maps, [`angle_scores()`] and
//! [`score_analogies`] are for maps that keep angles. Forms ending in `_with` also report progress and can be stopped.
//!
//! No score needs a matrix of all distances: memory grows with points times neighbors.

mod analogies;
mod angle_scores;
mod blocks;
mod class_scores;
mod estimate;
mod global_scores;
mod graph_rows;
mod key_tiles;
mod metric_space;
mod neighborhood_scores;
mod params;
mod procrustes;
mod ranks;
mod report;
mod score;
#[cfg(test)]
mod tests;

pub use analogies::{Analogy, AnalogyQuestions, AnalogyScore, score_analogies, score_analogies_with};
pub use angle_scores::{AngleScores, angle_scores, angle_scores_with};
pub use class_scores::{ClassShare, class_shares, classification_error};
pub use global_scores::{distance_correlation, triplet_accuracy};
pub use metric_space::MetricSpace;
pub use neighborhood_scores::{first_neighbor_recall, knn_recall, trustworthiness};
pub use params::{PrecomputedGraphs, QualityParams, ScoredRows};
pub use procrustes::{Procrustes, procrustes};
pub use report::{memory, report, report_with};
pub use score::{OmittedScore, QualityReport, Score, ScoreKind};

use lowland_core::{Error, Points, Result};

/// Returns an error that names the first value of a map that is not finite.
fn check_finite(map: Points) -> Result<()> {
    let mut bad = map.values().iter().enumerate().filter(|(_, v)| !v.is_finite());
    match bad.next() {
        None => Ok(()),
        Some((at, &value)) => Err(Error::NotFinite {
            row: at / map.dim(),
            column: at % map.dim(),
            value: value as f32,
            count: 1 + bad.count(),
            name: None,
        }),
    }
}
