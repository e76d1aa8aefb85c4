//! The pairs that a model is fitted to: which are similar and which dissimilar, their length scales and weights.

use super::coarse_graining::{
    BoundedDistance, CoarseGraining, DissimilarGroup, Division, LandmarkChoice, landmark_count, random_landmarks,
};
use super::dissimilar_pairs::DissimilarPairs;
use super::landmark_tree::LandmarkTree;
use super::similar_pairs::SimilarPairs;
use lowland_core::params::param_enum;
use lowland_core::run::Progress;
use lowland_core::{Data, MemoryOrder, Metric, Points, Result, Seed};
use lowland_linalg::Csr;

param_enum! {
    /// Which adjacent pairs are excluded from the dissimilar pairs.
    pub enum AdjacencyRule ("directed or either") {
        /// As in the paper, `D = 1 - E`: points i and j of a cell where the graph has the edge from i to j.
        Directed = "directed",
        /// As in a translation of the author's program: an edge in either direction, landmarks included.
        Either = "either",
    }
}

/// Options for building the pairs from a graph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairOptions {
    /// Levels of coarse-graining.
    pub levels: usize,
    /// Number of landmarks of the first level, or [`landmark_count`]. Further levels have more or fewer by the same
    /// factor.
    pub landmarks: Option<usize>,
    /// Which adjacent pairs are excluded from the dissimilar pairs.
    pub adjacency: AdjacencyRule,
    /// Seed for drawing the landmarks.
    pub seed: Seed,
}

/// The constants of the log-likelihood (Saul 2020, eq 6). All lengths are in units of the graph's median edge.
#[derive(Debug, Clone)]
pub struct TrainingPairs {
    unit: f64,
    pub(super) similar: SimilarPairs,
    pub(super) dissimilar: DissimilarPairs,
    /// For each point `sum_j (S_ij + S_ji + D_ij + D_ji)`.
    pub(super) weight_sums: Vec<f64>,
    longest_edge2: Vec<f64>,
    cells: CellLayout,
    /// The point of each row of `similar`, `dissimilar` and `weight_sums`.
    numbering: MemoryOrder,
}

/// The part of the coarse-graining that the transform of new points needs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CellLayout {
    /// The cells of the points and their landmarks.
    pub tree: LandmarkTree,
    /// The weight of the similarity between a point and its landmark.
    pub link_weight: f64,
    /// The weight of a dissimilar pair of points.
    pub dissimilar_weight: f64,
    /// Upper bound of all distances, in the units of the data.
    pub max_distance: f64,
}

/// Smaller distances, relative to the median edge, are replaced by this one.
const MIN_RELATIVE_DISTANCE: f64 = 1e-3;

/// `1 / (2 ln 2)`: with `delta^2 = d^2 / (2 ln 2)`, latent points at distance `d` coincide with probability one
/// half.
pub(super) const HALF_COINCIDENCE: f64 = 0.5 / std::f64::consts::LN_2;

impl TrainingPairs {
    /// Builds the pairs from the directed graph `edges` (E of eq 24, with its lengths) among the rows of `data`.
    pub fn new(
        data: &Data,
        metric: Metric,
        edges: &Csr,
        options: PairOptions,
        progress: &mut Progress,
    ) -> Result<TrainingPairs> {
        Self::with_landmarks(data, metric, edges, options, &random_landmarks, progress)
    }

    /// Builds the pairs with a given choice of landmarks.
    pub fn with_landmarks(
        data: &Data,
        metric: Metric,
        edges: &Csr,
        options: PairOptions,
        choose: &LandmarkChoice,
        progress: &mut Progress,
    ) -> Result<TrainingPairs> {
        let n = edges.rows();
        let lengths = || edges.values().iter().copied().filter(|d| d.is_finite() && *d > 0.0);
        let unit = median(lengths().collect());
        let max = 2.0 * lengths().fold(unit, f64::max);
        let distances = BoundedDistance { data, metric, max, min: MIN_RELATIVE_DISTANCE * unit };
        let landmark_ratio = options.landmarks.map_or(1.0, |count| count as f64 / landmark_count(n) as f64);
        let division = Division { distances, landmark_ratio, choose, unit };
        let scale = |distance: f64| division.scale(distance);
        let longest: Vec<f64> = (0..n).map(|i| longest_edge(edges, i, &distances)).collect();

        let all_points = DissimilarGroup {
            members: (0..n as u32).collect(),
            row_scales: longest.iter().map(|&d| scale(d)).collect(),
            column_scales: vec![0.0; n],
            counts: vec![1.0; n],
            of_points: true,
        };
        let mut coarse_graining = CoarseGraining::default();
        coarse_graining.divide(all_points, options.levels, &division, options.seed, progress)?;

        // Similarities from coarse-graining sum to n, dissimilarities to the sum of all similarities.
        let link_count: f64 = coarse_graining.links.iter().map(|link| link.count).sum();
        let link_weight = if link_count > 0.0 { n as f64 / link_count } else { 0.0 };
        let mut dissimilar = DissimilarPairs::new(&coarse_graining.groups, edges, options.adjacency);
        let similar_weight = edges.entries() as f64 + link_weight * link_count;
        let dissimilar_sum: f64 = 0.5 * dissimilar.weight_sums().iter().sum::<f64>();
        let dissimilar_weight = if dissimilar_sum > 0.0 { similar_weight / dissimilar_sum } else { 0.0 };
        dissimilar.scale(dissimilar_weight);
        let squared = |distance: f64| scale(distances.clamp(distance)).powi(2);
        let pairs = edges.iter().map(|(i, j, d)| (i as u32, j as u32, 1.0, squared(d)));
        let links =
            coarse_graining.links.iter().map(|l| (l.landmark, l.member, link_weight * l.count, squared(l.distance)));
        let similar = SimilarPairs::new(n, &pairs.chain(links).collect::<Vec<_>>())?;
        let weight_sums = similar
            .weight_sums()
            .iter()
            .zip(dissimilar.weight_sums())
            .map(|(similar, dissimilar)| similar + dissimilar)
            .collect();
        let cells = CellLayout { tree: coarse_graining.tree, link_weight, dissimilar_weight, max_distance: max };
        let longest_edge2 = longest.iter().map(|d| (d / unit).powi(2)).collect();
        let numbering = MemoryOrder::default();
        Ok(Self { unit, similar, dissimilar, weight_sums, longest_edge2, cells, numbering })
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.weight_sums.len()
    }

    /// The median edge of the graph, the unit of all lengths of the model.
    pub fn unit(&self) -> f64 {
        self.unit
    }

    /// Symmetric similarity weights `S + S'`, in the row order of the iteration (that of the data until the rows are
    /// reordered).
    pub fn similarity_weights(&self) -> &Csr {
        self.similar.weights()
    }

    /// Every similar pair `i < j`: `(i, j, S_ij + S_ji, delta_ij^2)`, in units of the median edge.
    pub fn similar_pairs(&self) -> Vec<(u32, u32, f64, f64)> {
        let point = |row| self.numbering.point(row);
        let ordered = |(i, j, w, scale2): (u32, u32, f64, f64)| (i.min(j), i.max(j), w, scale2);
        self.similar.pairs().into_iter().map(|(i, j, w, scale2)| ordered((point(i), point(j), w, scale2))).collect()
    }

    /// Every ordered dissimilar pair: `(i, j, D_ij, Delta_ij)`, in units of the median edge.
    pub fn dissimilar_pairs(&self) -> Vec<(u32, u32, f64, f64)> {
        let point = |row| self.numbering.point(row);
        self.dissimilar.pairs().into_iter().map(|(i, j, w, scale)| (point(i), point(j), w, scale)).collect()
    }

    /// The initial variances `sigma_i^2 = max_j E_ij d_ij^2 / (2 d)`, in squared units of the median edge.
    pub fn initial_variances(&self, dim: usize) -> Vec<f64> {
        self.longest_edge2.iter().map(|d2| d2 / (2.0 * dim as f64)).collect()
    }

    /// `Delta_i` of each point, before coarse-graining.
    pub(super) fn row_scales(&self) -> Vec<f64> {
        self.longest_edge2.iter().map(|d2| (d2 * HALF_COINCIDENCE).sqrt()).collect()
    }

    /// The length scale of a distance.
    pub(super) fn length_scale(distance: f64, unit: f64) -> f64 {
        (distance / unit).max(MIN_RELATIVE_DISTANCE) * HALF_COINCIDENCE.sqrt()
    }

    /// The point of each row of the iteration.
    pub(super) fn numbering(&self) -> &MemoryOrder {
        &self.numbering
    }

    /// Reorders the rows of the iteration along their current map if there are many of them and a reordering is due.
    /// Returns the previous index of each new row.
    pub(super) fn reorder_if_due(&mut self, iteration: usize, rows: Points) -> Option<Vec<u32>> {
        if !MemoryOrder::is_due(iteration, rows.values().len()) {
            return None;
        }
        let map = self.numbering.to_original_order(rows.values(), rows.dim());
        let old_rows = self.numbering.reorder_if_due(iteration, Points::new(&map, rows.dim()).expect("whole rows"))?;
        self.permute_rows(&old_rows);
        Some(old_rows)
    }

    /// Restores a saved order of the points. Returns the previous index of each new row.
    pub(super) fn set_order(&mut self, order: Vec<u32>) -> Vec<u32> {
        let old_rows = self.numbering.set_order(order);
        self.permute_rows(&old_rows);
        old_rows
    }

    fn permute_rows(&mut self, old_rows: &[u32]) {
        self.similar.reorder(old_rows);
        self.dissimilar.reorder(old_rows);
        self.weight_sums = old_rows.iter().map(|&row| self.weight_sums[row as usize]).collect();
    }

    pub(super) fn cells(&self) -> &CellLayout {
        &self.cells
    }
}

fn longest_edge(edges: &Csr, i: usize, distances: &BoundedDistance) -> f64 {
    edges.row(i).1.iter().map(|&d| distances.clamp(d)).fold(distances.min, f64::max)
}

/// The median of positive numbers, or one if there are none.
fn median(mut values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return 1.0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}
