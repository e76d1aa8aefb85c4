//! Coarse-graining: landmarks represent cells of points, so that few pairs stand for all pairs (Saul 2020, eqs 25,
//! 26).
//!
//! Eq 26, `Delta_ij = max over a in cell i, b in cell j of (Delta_ab + delta_ia + delta_jb)`, is a maximum over all
//! pairs of two cells. It keeps the form `Delta_ij = A_i + B_j` of the base case (`A_i = Delta_i`, `B_j = 0`): the
//! maximum of a sum over independent choices is the sum of the maxima, `A_i = max_a (A_a + delta_ia)` and `B_j =
//! max_b (B_b + delta_jb)`. One pass over the points is enough.

use super::landmark_tree::{Branch, LandmarkTree};
use super::training_pairs::HALF_COINCIDENCE;
use lowland_core::run::Progress;
use lowland_core::{Data, Metric, Result, Seed};
use lowland_neighbors::{distance, nearest_to_with};

/// A group of points in which every pair is dissimilar.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DissimilarGroup {
    /// The points, or the landmarks that represent them.
    pub members: Vec<u32>,
    /// `A_i` of eq 26: the length scale at which a member keeps other members away.
    pub row_scales: Vec<f64>,
    /// `B_j` of eq 26: the amount by which that scale grows for the points a member represents.
    pub column_scales: Vec<f64>,
    /// Number of points that each member represents.
    pub counts: Vec<f64>,
    /// Whether every member represents only itself.
    pub of_points: bool,
}

/// A landmark and a member that it represents.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LandmarkLink {
    /// The landmark.
    pub landmark: u32,
    /// The represented point or landmark.
    pub member: u32,
    /// Number of points that the member represents.
    pub count: f64,
    /// The distance between the two.
    pub distance: f64,
}

/// The assignment of the members of a group to landmarks, with the distances.
#[derive(Debug, Clone, PartialEq)]
pub struct LandmarkCells {
    /// For each cell, the indices in the group of its members.
    pub members: Vec<Vec<usize>>,
    /// For each member of the group, the distance to its landmark.
    pub distances: Vec<f64>,
}

/// Distances between the points of a data set, positive and finite.
#[derive(Clone, Copy)]
pub struct BoundedDistance<'a> {
    /// The points.
    pub data: &'a Data,
    /// The metric.
    pub metric: Metric,
    /// Takes the place of infinite distances, which a sparse precomputed matrix may have.
    pub max: f64,
    /// Lower bound of all distances: coinciding points still need a positive length scale.
    pub min: f64,
}

impl BoundedDistance<'_> {
    /// Returns the distance between two points.
    pub fn between(&self, i: u32, j: u32) -> f64 {
        self.clamp(distance(self.data, i as usize, self.data, j as usize, self.metric))
    }

    /// Replaces a distance that is too small or not finite.
    pub fn clamp(&self, distance: f64) -> f64 {
        if distance.is_finite() { distance.max(self.min) } else { self.max }
    }

    /// Returns the index of the nearest landmark of each point; ties go to the first.
    fn nearest(&self, points: &[u32], landmarks: &[u32], progress: &mut Progress) -> Result<Vec<usize>> {
        /// Number of distances from which on the blockwise search is faster than computing them one by one.
        const MIN_BATCH_SIZE: usize = 1 << 18;
        if self.metric == Metric::Precomputed || points.len() * landmarks.len() < MIN_BATCH_SIZE {
            let closest = |&i: &u32| {
                let distances = landmarks.iter().map(|&j| self.between(i, j));
                distances.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |best| best.0)
            };
            return Ok(points.iter().map(closest).collect());
        }
        let row_indices = |points: &[u32]| points.iter().map(|&i| i as usize).collect::<Vec<_>>();
        let queries = if points.len() == self.data.rows() && points.is_sorted() {
            self.data.clone()
        } else {
            self.data.select(&row_indices(points))
        };
        let graph = nearest_to_with(&queries, &self.data.select(&row_indices(landmarks)), 1, self.metric, progress)?;
        Ok(graph.indices().iter().map(|&j| j as usize).collect())
    }
}

impl LandmarkCells {
    /// Assigns every member of `group` to the nearest landmark; `landmarks` holds their indices in the group.
    pub fn new(
        metric: &BoundedDistance,
        group: &DissimilarGroup,
        landmarks: &[usize],
        progress: &mut Progress,
    ) -> Result<Self> {
        let points: Vec<u32> = landmarks.iter().map(|&at| group.members[at]).collect();
        let mut cell_of = metric.nearest(&group.members, &points, progress)?;
        landmarks.iter().enumerate().for_each(|(cell, &at)| cell_of[at] = cell);
        let mut members = vec![Vec::new(); landmarks.len()];
        let mut distances = Vec::with_capacity(cell_of.len());
        for (at, &cell) in cell_of.iter().enumerate() {
            members[cell].push(at);
            distances.push(if landmarks[cell] == at { 0.0 } else { metric.between(group.members[at], points[cell]) });
        }
        Ok(Self { members, distances })
    }

    /// Returns the landmarks as a group of their own; `scale` converts a distance to a length scale.
    pub fn landmark_group(
        &self,
        group: &DissimilarGroup,
        landmarks: &[usize],
        scale: impl Fn(f64) -> f64,
    ) -> DissimilarGroup {
        let mut out = DissimilarGroup {
            members: landmarks.iter().map(|&at| group.members[at]).collect(),
            ..DissimilarGroup::default()
        };
        for cell in &self.members {
            let largest = |own: &[f64]| {
                cell.iter().map(|&at| own[at] + scale(self.distances[at])).fold(f64::NEG_INFINITY, f64::max)
            };
            out.row_scales.push(largest(&group.row_scales));
            out.column_scales.push(largest(&group.column_scales));
            out.counts.push(cell.iter().map(|&at| group.counts[at]).sum());
        }
        out
    }
}

impl DissimilarGroup {
    /// Returns the group of the members at the given indices.
    fn select(&self, indices: &[usize]) -> DissimilarGroup {
        let pick = |values: &[f64]| indices.iter().map(|&at| values[at]).collect();
        DissimilarGroup {
            members: indices.iter().map(|&at| self.members[at]).collect(),
            row_scales: pick(&self.row_scales),
            column_scales: pick(&self.column_scales),
            counts: pick(&self.counts),
            of_points: self.of_points,
        }
    }
}

/// The result of coarse-graining a group.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct CoarseGraining {
    /// Groups of dissimilar points and landmarks.
    pub groups: Vec<DissimilarGroup>,
    /// Landmarks with the members they represent, which are weakly similar.
    pub links: Vec<LandmarkLink>,
    /// The division of the points, which new points follow.
    pub tree: LandmarkTree,
}

/// Chooses landmarks: given a group, their number and a seed, returns their indices in the group in ascending order.
pub type LandmarkChoice<'a> = dyn Fn(&DissimilarGroup, usize, Seed) -> Vec<usize> + 'a;

/// How [`CoarseGraining::divide`] divides.
#[derive(Clone, Copy)]
pub(super) struct Division<'a> {
    /// Distances between the points.
    pub distances: BoundedDistance<'a>,
    /// Number of landmarks relative to [`landmark_count`].
    pub landmark_ratio: f64,
    /// Chooses the landmarks of a group.
    pub choose: &'a LandmarkChoice<'a>,
    /// The unit of length scales; see [`Division::scale`].
    pub unit: f64,
}

impl Division<'_> {
    /// Converts a distance to a length scale.
    pub(super) fn scale(&self, distance: f64) -> f64 {
        distance / self.unit * HALF_COINCIDENCE.sqrt()
    }

    /// Number of landmarks among `members`: at least one, and fewer than the members.
    fn landmarks_among(&self, members: usize) -> usize {
        let count = if self.landmark_ratio == 1.0 {
            landmark_count(members)
        } else {
            (landmark_count(members) as f64 * self.landmark_ratio).round() as usize
        };
        count.clamp(1, members - 1)
    }
}

/// Smaller groups are not divided: they have at most 105 pairs.
const MIN_GROUP_SIZE: usize = 16;

/// The number of landmarks that minimizes the number of pairs among `members` for cells of equal size: `(m^2 /
/// 2)^(1/3)`.
pub fn landmark_count(members: usize) -> usize {
    ((members as f64).powi(2) / 2.0).cbrt().round() as usize
}

impl CoarseGraining {
    /// Divides `group` recursively to the given depth: both the cells and the group of their landmarks get one level
    /// less. Returns the branch of [`CoarseGraining::tree`] that the group became, if it is one of points.
    pub(super) fn divide(
        &mut self,
        group: DissimilarGroup,
        levels: usize,
        division: &Division,
        seed: Seed,
        progress: &mut Progress,
    ) -> Result<Option<Branch>> {
        let of_points = group.of_points;
        if levels == 0 || group.members.len() < MIN_GROUP_SIZE {
            let cell = of_points.then(|| self.tree.add_cell(&group.members));
            if group.members.len() > 1 {
                self.groups.push(group);
            }
            return Ok(cell);
        }
        let landmarks = (division.choose)(&group, division.landmarks_among(group.members.len()), seed);
        let cells = LandmarkCells::new(&division.distances, &group, &landmarks, progress)?;
        let above = cells.landmark_group(&group, &landmarks, |distance| division.scale(distance));
        for (cell, &landmark) in cells.members.iter().zip(&landmarks) {
            let others = cell.iter().filter(|&&at| at != landmark);
            self.links.extend(others.map(|&at| LandmarkLink {
                landmark: group.members[landmark],
                member: group.members[at],
                count: group.counts[at],
                distance: cells.distances[at],
            }));
        }
        let mut branches = Vec::with_capacity(landmarks.len());
        for (number, (cell, &landmark)) in cells.members.iter().zip(&landmarks).enumerate() {
            let branch = self.divide(group.select(cell), levels - 1, division, seed.item(number), progress)?;
            branches.extend(branch.map(|branch| (group.members[landmark], branch)));
        }
        self.divide(above, levels - 1, division, seed.stream("above"), progress)?;
        Ok(of_points.then(|| self.tree.add_node(&branches)))
    }
}

/// Draws landmarks uniformly, without replacement.
pub(super) fn random_landmarks(group: &DissimilarGroup, count: usize, seed: Seed) -> Vec<usize> {
    use rand::Rng;
    let total = group.members.len();
    let mut rng = seed.stream("landmarks").rng();
    let mut numbers: Vec<usize> = (0..total).collect();
    for at in 0..count.min(total) {
        let other = at + (rng.next_u64() % (total - at) as u64) as usize;
        numbers.swap(at, other);
    }
    numbers.truncate(count);
    numbers.sort_unstable();
    numbers
}
