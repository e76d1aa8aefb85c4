//! Scores of a map.
//!
//! [`report`] computes them all; the single scores take neighbour graphs ([`knn_recall`], [`first_neighbor_recall`],
//! [`classification_error`], [`class_shares`]), a [`Space`] and a graph ([`trustworthiness`], [`ranks`]), or two spaces
//! ([`triplet_accuracy`], [`distance_correlation`]). [`procrustes`] compares two maps.
//!
//! No score needs a matrix of all distances: memory grows with points times neighbours.

mod analogies;
mod angles;
mod blocks;
mod global;
mod labels;
mod local;
mod procrustes;
mod ranks;
mod report;
mod space;
#[cfg(test)]
mod tests;
mod tiles;

pub use analogies::{Analogies, Analogy, AnalogyScore, analogies};
pub use angles::{Angles, angles};
pub use global::{distance_correlation, triplet_accuracy};
pub use labels::{ClassShare, class_shares, classification_error};
pub use local::{first_neighbor_recall, knn_recall, trustworthiness};
pub use procrustes::{Procrustes, procrustes};
pub use ranks::ranks;
pub use report::{Better, KnownGraphs, Omitted, QualityParams, Report, Score, report, report_with};
pub use space::Space;

use lowland_core::{Error, Points, Result};

/// Refuses NaN and infinities in a map, naming the first.
fn check_finite(map: Points) -> Result<()> {
    let mut bad = map.values().iter().enumerate().filter(|(_, v)| !v.is_finite());
    match bad.next() {
        None => Ok(()),
        Some((at, &value)) => Err(Error::NotFinite {
            row: at / map.dim(),
            column: at % map.dim(),
            value: value as f32,
            count: 1 + bad.count(),
        }),
    }
}
