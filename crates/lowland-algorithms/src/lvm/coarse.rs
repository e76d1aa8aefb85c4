//! Coarse-graining: landmarks that speak for cells of points, so that few pairs stand for all (Saul 2020, eqs 25, 26).
//!
//! Eq 26, `Delta_ij = max over a in cell i, b in cell j of (Delta_ab + delta_ia + delta_jb)`, asks for all pairs of two
//! cells. It keeps the form `Delta_ij = A_i + B_j` that the base case has (`A_i = Delta_i`, `B_j = 0`): the maximum of
//! a sum over independent choices is the sum of the maxima, `A_i = max_a (A_a + delta_ia)` and `B_j = max_b (B_b +
//! delta_jb)`. One walk over the points does.

use lowland_core::run::Progress;
use lowland_core::{Data, Metric, Result, Seed};
use lowland_neighbors::{distance, nearest_to_with};

/// Points among which every pair is dissimilar.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Group {
    /// The points.
    pub members: Vec<u32>,
    /// `A_i`: how far a member keeps others off.
    pub reach: Vec<f64>,
    /// `B_j`: how much farther off it must be kept for those it stands for.
    pub extent: Vec<f64>,
    /// How many points it stands for.
    pub votes: Vec<f64>,
    /// Whether each stands for itself alone.
    pub of_points: bool,
}

/// A landmark and one it stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// The landmark.
    pub landmark: u32,
    /// The other.
    pub member: u32,
    /// How many points the other stands for.
    pub votes: f64,
    /// The distance between the two.
    pub length: f64,
}

/// Which member each member of a group is spoken for by, and how far that is.
#[derive(Debug, Clone, PartialEq)]
pub struct Cells {
    /// For each cell, the members of the group in it.
    pub members: Vec<Vec<usize>>,
    /// For each member of the group, the distance to its landmark.
    pub lengths: Vec<f64>,
}

/// Distances between the points of a data set, none infinite.
#[derive(Clone, Copy)]
pub struct Space<'a> {
    /// The points.
    pub data: &'a Data,
    /// The distance.
    pub metric: Metric,
    /// Distances are taken as at most this: a sparse matrix of distances has infinite ones.
    pub cap: f64,
    /// And as at least this: two points in one place still have a scale.
    pub floor: f64,
}

impl Space<'_> {
    /// The distance between two points.
    pub fn length(&self, i: u32, j: u32) -> f64 {
        self.bounded(distance(self.data, i as usize, self.data, j as usize, self.metric))
    }

    /// A distance within bounds.
    pub fn bounded(&self, length: f64) -> f64 {
        // In this order NaN becomes the cap.
        length.min(self.cap).max(self.floor)
    }

    /// For each point, the nearest of the landmarks, ties by order; landmarks stand for themselves.
    fn nearest(&self, points: &[u32], landmarks: &[u32], progress: &mut Progress) -> Result<Vec<usize>> {
        /// Distances from which on the search by blocks is faster than one distance after another.
        const MANY: usize = 1 << 18;
        if self.metric == Metric::Precomputed || points.len() * landmarks.len() < MANY {
            let closest = |&i: &u32| {
                let lengths = landmarks.iter().map(|&j| self.length(i, j));
                lengths.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |best| best.0)
            };
            return Ok(points.iter().map(closest).collect());
        }
        let rows = |points: &[u32]| points.iter().map(|&i| i as usize).collect::<Vec<_>>();
        let queries = if points.len() == self.data.rows() && points.is_sorted() {
            self.data.clone()
        } else {
            self.data.select(&rows(points))
        };
        let graph = nearest_to_with(&queries, &self.data.select(&rows(landmarks)), 1, self.metric, progress)?;
        Ok(graph.indices().iter().map(|&j| j as usize).collect())
    }
}

impl Cells {
    /// Every member of `group` goes to the nearest of the landmarks, given by their places in the group.
    pub fn new(space: &Space, group: &Group, landmarks: &[usize], progress: &mut Progress) -> Result<Self> {
        let points: Vec<u32> = landmarks.iter().map(|&at| group.members[at]).collect();
        let mut cell_of = space.nearest(&group.members, &points, progress)?;
        landmarks.iter().enumerate().for_each(|(cell, &at)| cell_of[at] = cell);
        let mut members = vec![Vec::new(); landmarks.len()];
        let mut lengths = Vec::with_capacity(cell_of.len());
        for (at, &cell) in cell_of.iter().enumerate() {
            members[cell].push(at);
            lengths.push(if landmarks[cell] == at { 0.0 } else { space.length(group.members[at], points[cell]) });
        }
        Ok(Self { members, lengths })
    }

    /// The landmarks as a group of their own; `scale` turns a distance into a length scale.
    pub fn landmarks(&self, group: &Group, landmarks: &[usize], scale: impl Fn(f64) -> f64) -> Group {
        let mut out = Group { members: landmarks.iter().map(|&at| group.members[at]).collect(), ..Group::default() };
        for cell in &self.members {
            let furthest = |own: &[f64]| {
                cell.iter().map(|&at| own[at] + scale(self.lengths[at])).fold(f64::NEG_INFINITY, f64::max)
            };
            out.reach.push(furthest(&group.reach));
            out.extent.push(furthest(&group.extent));
            out.votes.push(cell.iter().map(|&at| group.votes[at]).sum());
        }
        out
    }
}

impl Group {
    /// The members at these places.
    fn select(&self, places: &[usize]) -> Group {
        let pick = |values: &[f64]| places.iter().map(|&at| values[at]).collect();
        Group {
            members: places.iter().map(|&at| self.members[at]).collect(),
            reach: pick(&self.reach),
            extent: pick(&self.extent),
            votes: pick(&self.votes),
            of_points: self.of_points,
        }
    }
}

/// What coarse-graining makes of a group.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Coarse {
    /// Groups of dissimilar points and landmarks.
    pub groups: Vec<Group>,
    /// Landmarks with those they stand for, which are weakly similar.
    pub links: Vec<Link>,
}

/// Groups of fewer members are left whole: there is nothing to win.
const WHOLE: usize = 16;

/// The number of landmarks that leaves the fewest pairs among `members`, if cells were equal: `(m^2 / 2)^(1/3)`.
pub fn landmark_count(members: usize) -> usize {
    ((members as f64).powi(2) / 2.0).cbrt().round() as usize
}

impl Coarse {
    /// Divides `group` to the given depth: its cells below, and its landmarks above, each to one level less.
    pub(super) fn divide(
        &mut self,
        group: Group,
        levels: usize,
        space: &Space,
        scale: &impl Fn(f64) -> f64,
        seed: Seed,
        progress: &mut Progress,
    ) -> Result<()> {
        if group.members.len() < 2 {
            return Ok(());
        }
        if levels == 0 || group.members.len() < WHOLE {
            self.groups.push(group);
            return Ok(());
        }
        let landmarks = draw(group.members.len(), landmark_count(group.members.len()), seed);
        let cells = Cells::new(space, &group, &landmarks, progress)?;
        let above = cells.landmarks(&group, &landmarks, scale);
        for (cell, &landmark) in cells.members.iter().zip(&landmarks) {
            let others = cell.iter().filter(|&&at| at != landmark);
            self.links.extend(others.map(|&at| Link {
                landmark: group.members[landmark],
                member: group.members[at],
                votes: group.votes[at],
                length: cells.lengths[at],
            }));
        }
        for (number, cell) in cells.members.iter().enumerate() {
            self.divide(group.select(cell), levels - 1, space, scale, seed.item(number), progress)?;
        }
        self.divide(above, levels - 1, space, scale, seed.stream("above"), progress)
    }
}

/// `count` of the numbers below `total`, ascending, each set as likely as any other.
fn draw(total: usize, count: usize, seed: Seed) -> Vec<usize> {
    use rand::Rng;
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
