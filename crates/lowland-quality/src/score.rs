//! Kinds of scores, their values, and the report that holds them.

use super::class_scores::ClassShare;
use super::estimate::Estimate;

/// A score of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScoreKind {
    /// Share of the k nearest in the data that are among the k nearest in the map.
    KnnRecall,
    /// Share of points whose nearest neighbor in the data is among the k nearest in the map.
    FirstNeighborRecall,
    /// Penalizes neighbors in the map that are far apart in the data.
    Trustworthiness,
    /// Penalizes neighbors in the data that are far apart in the map.
    Continuity,
    /// Share of random triplets whose order of distances the map keeps.
    TripletAccuracy,
    /// Rank correlation between distances in the data and in the map.
    DistanceCorrelation,
    /// Leave-one-out error of the k-nearest-neighbor classifier in the map.
    ClassificationError,
    /// Mean share of a point's neighbors in the map that have its class.
    ClassNeighborShare,
}

impl ScoreKind {
    /// All kinds, in the order of a report.
    pub const ALL: [Self; 8] = [
        Self::KnnRecall,
        Self::FirstNeighborRecall,
        Self::Trustworthiness,
        Self::Continuity,
        Self::TripletAccuracy,
        Self::DistanceCorrelation,
        Self::ClassificationError,
        Self::ClassNeighborShare,
    ];

    /// Name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::KnnRecall => "knn recall",
            Self::FirstNeighborRecall => "first neighbor recall",
            Self::Trustworthiness => "trustworthiness",
            Self::Continuity => "continuity",
            Self::TripletAccuracy => "triplet accuracy",
            Self::DistanceCorrelation => "distance correlation",
            Self::ClassificationError => "classification error",
            Self::ClassNeighborShare => "class neighbor share",
        }
    }

    /// Whether large values are good.
    pub fn higher_is_better(self) -> bool {
        self != Self::ClassificationError
    }

    /// Description in one line.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::KnnRecall => "share of the k nearest in the data that are the k nearest in the map",
            Self::FirstNeighborRecall => "share of points whose nearest in the data is among the k nearest in the map",
            Self::Trustworthiness => "1 less the penalty for neighbors in the map that are far apart in the data",
            Self::Continuity => "1 less the penalty for neighbors in the data that are far apart in the map",
            Self::TripletAccuracy => "share of random triplets whose order of distance the map keeps; 0.5 is chance",
            Self::DistanceCorrelation => "Spearman's correlation between distances in the data and in the map",
            Self::ClassificationError => "share of points whose k nearest in the map mostly have another class",
            Self::ClassNeighborShare => {
                "share of a point's k nearest in the map that have its class, mean over classes"
            }
        }
    }
}

/// Value of a score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// Which score.
    pub kind: ScoreKind,
    /// Its value.
    pub value: f64,
    /// Size of the neighborhoods, for scores that have them.
    pub k: Option<usize>,
    /// Number of rows, triplets or pairs that were drawn; `None` if the value is exact over all.
    pub sampled: Option<usize>,
    /// Standard error of the value over samples; `None` if the value is exact over all.
    pub standard_error: Option<f64>,
}

/// A score that is not defined for a map.
#[derive(Debug, Clone, PartialEq)]
pub struct OmittedScore {
    /// Which score.
    pub kind: ScoreKind,
    /// Why it is left out.
    pub reason: String,
}

/// All scores that are defined for a map.
#[derive(Debug, Clone, PartialEq)]
pub struct QualityReport {
    /// Number of points in the map.
    pub points: usize,
    /// The scores.
    pub scores: Vec<Score>,
    /// Neighbor share of each class, by code; empty without labels.
    pub classes: Vec<ClassShare>,
    /// The scores that were left out, with reasons.
    pub omitted: Vec<OmittedScore>,
}

impl QualityReport {
    pub(super) fn new(points: usize) -> Self {
        Self { points, scores: Vec::new(), classes: Vec::new(), omitted: Vec::new() }
    }

    /// Value of the first score of this kind.
    pub fn get(&self, kind: ScoreKind) -> Option<f64> {
        self.scores.iter().find(|score| score.kind == kind).map(|score| score.value)
    }

    pub(super) fn add(&mut self, kind: ScoreKind, k: Option<usize>, value: f64) {
        self.scores.push(Score { kind, value, k, sampled: None, standard_error: None });
    }

    /// Adds a score that is estimated from a sample, if `sampled` is its size.
    pub(super) fn add_estimate(
        &mut self,
        kind: ScoreKind,
        k: Option<usize>,
        sampled: Option<usize>,
        estimate: Estimate,
    ) {
        let standard_error = sampled.map(|_| estimate.standard_error);
        self.scores.push(Score { kind, value: estimate.value, k, sampled, standard_error });
    }

    pub(super) fn omit(&mut self, kind: ScoreKind, reason: String) {
        self.omitted.push(OmittedScore { kind, reason });
    }
}
