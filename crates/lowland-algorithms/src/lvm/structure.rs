//! What a model is given: which pairs are similar, which dissimilar, at which length scales and with which weights.

use super::blocks::Blocks;
use super::coarse::{Coarse, Group, Link, Space};
use super::similar::Similar;
use lowland_core::params::choice;
use lowland_core::run::Progress;
use lowland_core::{Data, Metric, Numbering, Points, Result, Seed};
use lowland_linalg::Csr;

choice! {
    /// Which adjacent pairs are not dissimilar.
    pub enum Adjacent ("directed or either") {
        /// As in the paper, `D = 1 - E`: points i and j within a cell, where the graph has the edge from i to j.
        Directed = "directed",
        /// As a translation of the author's program has it: an edge in either direction, landmarks included.
        Either = "either",
    }
}

/// How a model is built from its graph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Levels of coarse-graining.
    pub levels: usize,
    /// Which adjacent pairs are not dissimilar.
    pub adjacent: Adjacent,
    /// For the landmarks.
    pub seed: Seed,
}

/// The constants of the log-likelihood (Saul 2020, eq 6). All lengths are in units of the graph's median edge.
#[derive(Debug, Clone)]
pub struct Structure {
    unit: f64,
    levels: usize,
    pub(super) similar: Similar,
    pub(super) blocks: Blocks,
    /// For each point `sum_j (S_ij + S_ji + D_ij + D_ji)`.
    pub(super) masses: Vec<f64>,
    longest2: Vec<f64>,
    frame: Frame,
    /// Which point each row of `similar`, `blocks` and `masses` is.
    numbering: Numbering,
}

/// What is needed to place new points beside those of a model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Frame {
    /// The groups in which points stand for themselves, one after another, and where each begins.
    pub starts: Vec<u32>,
    pub members: Vec<u32>,
    /// The landmark of each point; itself where it has none.
    pub landmarks: Vec<u32>,
    /// The weight of the similarity between a point and its landmark.
    pub link: f64,
    /// The weight of a dissimilar pair of points.
    pub apart: f64,
}

/// Two points closer than this times the median edge are taken as this far apart.
const FLOOR: f64 = 1e-3;

/// `1 / (2 ln 2)`: with `delta^2 = d^2 / (2 ln 2)` two latent points `d` apart coincide with probability one half.
pub(super) const HALF: f64 = 0.5 / std::f64::consts::LN_2;

impl Structure {
    /// Of the directed graph `edges` (E of eq 24, with its lengths) among the rows of `data`.
    pub fn new(
        data: &Data,
        metric: Metric,
        edges: &Csr,
        settings: Settings,
        progress: &mut Progress,
    ) -> Result<Structure> {
        let n = edges.rows();
        let lengths = || edges.values().iter().copied().filter(|d| d.is_finite() && *d > 0.0);
        let unit = median(lengths().collect());
        let cap = 2.0 * lengths().fold(unit, f64::max);
        let space = Space { data, metric, cap, floor: FLOOR * unit };
        let scale = |length: f64| length / unit * HALF.sqrt();
        let longest: Vec<f64> = (0..n).map(|i| longest_edge(edges, i, &space)).collect();

        let everyone = Group {
            members: (0..n as u32).collect(),
            reach: longest.iter().map(|&d| scale(d)).collect(),
            extent: vec![0.0; n],
            votes: vec![1.0; n],
            of_points: true,
        };
        let mut coarse = Coarse::default();
        coarse.divide(everyone, settings.levels, &space, &scale, settings.seed, progress)?;

        // Similarities from coarse-graining sum to n, then dissimilarities to as much as all similarities.
        let linked: f64 = coarse.links.iter().map(|link| link.votes).sum();
        let link = if linked > 0.0 { n as f64 / linked } else { 0.0 };
        let mut blocks = Blocks::new(&coarse.groups, edges, settings.adjacent);
        let near = edges.entries() as f64 + link * linked;
        let far: f64 = 0.5 * blocks.masses().iter().sum::<f64>();
        let apart = if far > 0.0 { near / far } else { 0.0 };
        blocks.scale(apart);
        let squared = |length: f64| scale(space.bounded(length)).powi(2);
        let pairs = edges.iter().map(|(i, j, d)| (i as u32, j as u32, 1.0, squared(d)));
        let links = coarse.links.iter().map(|l| (l.landmark, l.member, link * l.votes, squared(l.length)));
        let similar = Similar::new(n, &pairs.chain(links).collect::<Vec<_>>())?;
        let masses = similar.masses().iter().zip(blocks.masses()).map(|(near, far)| near + far).collect();
        let frame = Frame::new(n, &coarse, link, apart);
        let longest2 = longest.iter().map(|d| (d / unit).powi(2)).collect();
        let numbering = Numbering::default();
        Ok(Self { unit, levels: settings.levels, similar, blocks, masses, longest2, frame, numbering })
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.masses.len()
    }

    /// The median edge of the graph: the unit of the model's lengths.
    pub fn unit(&self) -> f64 {
        self.unit
    }

    /// Levels of coarse-graining.
    pub fn levels(&self) -> usize {
        self.levels
    }

    /// Number of pairs that are kept apart one by one.
    pub fn dissimilar_pairs(&self) -> usize {
        self.blocks.work()
    }

    /// Symmetric similarity weights, `S + S'`, by the rows of the iteration: the points as given until it renumbers
    /// them.
    pub fn similarities(&self) -> &Csr {
        self.similar.weights()
    }

    /// Every similar pair `i < j`: `(i, j, S_ij + S_ji, delta_ij^2)`, in units of the median edge.
    pub fn similar(&self) -> Vec<(u32, u32, f64, f64)> {
        let point = |row| self.numbering.point(row);
        let ordered = |(i, j, w, near2): (u32, u32, f64, f64)| (i.min(j), i.max(j), w, near2);
        self.similar.pairs().into_iter().map(|(i, j, w, near2)| ordered((point(i), point(j), w, near2))).collect()
    }

    /// Every ordered dissimilar pair: `(i, j, D_ij, Delta_ij)`, in units of the median edge.
    pub fn dissimilar(&self) -> Vec<(u32, u32, f64, f64)> {
        let point = |row| self.numbering.point(row);
        self.blocks.pairs().into_iter().map(|(i, j, w, far)| (point(i), point(j), w, far)).collect()
    }

    /// `sigma_i^2 = max_j E_ij d_ij^2 / (2 d)`, the start, in squared units of the median edge.
    pub fn start_variances(&self, dim: usize) -> Vec<f64> {
        self.longest2.iter().map(|d2| d2 / (2.0 * dim as f64)).collect()
    }

    /// `Delta_i` of each point, before coarse-graining.
    pub(super) fn reaches(&self) -> Vec<f64> {
        self.longest2.iter().map(|d2| (d2 * HALF).sqrt()).collect()
    }

    /// The length scale of a distance.
    pub(super) fn scale_of(length: f64, unit: f64) -> f64 {
        (length / unit).max(FLOOR) * HALF.sqrt()
    }

    /// Which point each row of the iteration is.
    pub(super) fn numbering(&self) -> &Numbering {
        &self.numbering
    }

    /// Numbers the rows of the iteration along the map of its rows, if there are many and it is time. Returns the row
    /// that each new row was.
    pub(super) fn renumber(&mut self, iteration: usize, rows: Points) -> Option<Vec<u32>> {
        if !Numbering::is_due(iteration, rows.values().len()) {
            return None;
        }
        let map = self.numbering.by_points(rows.values(), rows.dim());
        let moved = self.numbering.renew(iteration, Points::new(&map, rows.dim()).expect("whole rows"))?;
        self.move_rows(&moved);
        Some(moved)
    }

    /// Takes up a saved order of the points. Returns the row that each new row was.
    pub(super) fn adopt(&mut self, order: Vec<u32>) -> Vec<u32> {
        let moved = self.numbering.adopt(order);
        self.move_rows(&moved);
        moved
    }

    fn move_rows(&mut self, moved: &[u32]) {
        self.similar.renumber(moved);
        self.blocks.renumber(moved);
        self.masses = moved.iter().map(|&row| self.masses[row as usize]).collect();
    }

    pub(super) fn frame(&self) -> &Frame {
        &self.frame
    }
}

impl Frame {
    fn new(n: usize, coarse: &Coarse, link: f64, apart: f64) -> Self {
        let (mut starts, mut members) = (vec![0u32], Vec::with_capacity(n));
        for group in coarse.groups.iter().filter(|group| group.of_points) {
            members.extend_from_slice(&group.members);
            starts.push(members.len() as u32);
        }
        let mut landmarks: Vec<u32> = (0..n as u32).collect();
        // Of several landmarks, the nearest: the last level comes last.
        for Link { landmark, member, .. } in &coarse.links {
            landmarks[*member as usize] = *landmark;
        }
        Self { starts, members, landmarks, link, apart }
    }
}

fn longest_edge(edges: &Csr, i: usize, space: &Space) -> f64 {
    edges.row(i).1.iter().map(|&d| space.bounded(d)).fold(space.floor, f64::max)
}

/// The median of positive numbers; one when there are none.
fn median(mut values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return 1.0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}
