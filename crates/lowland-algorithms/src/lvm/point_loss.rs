//! The loss of one fitted point: its part of the negative log-likelihood, as a function of its mean.

use lowland_core::{Data, Metric, Points};
use lowland_neighbors::distance;

use super::new_edges::NewEdges;
use super::state::LvmState;
use super::training_pairs::{AdjacencyRule, TrainingPairs};
use super::transform::LvmTransformOptions;
use crate::point_loss::{Jet, PointLoss, RadialSum, nearest_of};

/// The negative log-likelihood of the pairs of one point, given its variance and the other points. Its pairs are those that a new
/// point at its row would have, see [`LvmState::transform`].
pub struct LvmPointLoss<'a> {
    state: &'a LvmState,
    data: &'a Data,
    metric: Metric,
    map: Vec<f64>,
    options: LvmTransformOptions,
    cells: Vec<(Vec<u32>, &'a [u32])>,
    /// The cell of each point.
    cell_of: Vec<u32>,
}

/// The pairs of one point.
#[derive(Default)]
pub struct LvmRow {
    point: usize,
    candidates: Vec<u32>,
    /// Landmarks of the point with the squared length scales of the pairs. A small move of the row does not change them.
    landmarks: Vec<(u32, f64)>,
    /// Similar pairs: place of the other point, and weight over twice the total variance of the pair.
    similar: Vec<([f64; 2], f64)>,
    /// Dissimilar pairs: place, weight, total variance, and probability of coincidence at distance zero.
    dissimilar: Vec<([f64; 2], f64, f64, f64)>,
    order: Vec<usize>,
}

/// Probabilities of coincidence are bounded by this, so that logarithms are finite.
const MAX_PROBABILITY: f64 = 1.0 - 1e-12;

impl<'a> LvmPointLoss<'a> {
    /// Returns the loss of the points of a fit in two dimensions, to these rows, compared by `metric`.
    pub fn new(state: &'a LvmState, data: &'a Data, metric: Metric, options: LvmTransformOptions) -> Self {
        let map = state.means.iter().map(|mean| mean * state.unit).collect();
        let cells = state.tree.cells();
        let mut cell_of = vec![0; state.points()];
        for ((_, members), at) in cells.iter().zip(0..) {
            members.iter().for_each(|&i| cell_of[i as usize] = at);
        }
        Self { state, data, metric, map, options, cells, cell_of }
    }

    fn length(&self, i: usize, j: u32) -> f64 {
        let length = distance(self.data, i, self.data, j as usize, self.metric);
        if length.is_finite() { length } else { self.state.infinite_distance }
    }

    fn place(&self, j: u32) -> [f64; 2] {
        [self.state.means[2 * j as usize], self.state.means[2 * j as usize + 1]]
    }

    fn scale(&self, length: f64) -> f64 {
        TrainingPairs::length_scale(length, self.state.unit)
    }

    /// Sets the pairs of a row with these distances to its candidates.
    fn set_pairs(&self, row: &mut LvmRow, lengths: &[f64]) {
        let (state, i) = (self.state, row.point);
        nearest_of(lengths, self.options.n_neighbors, &mut row.order);
        let neighbors: Vec<u32> = row.order.iter().map(|&at| row.candidates[at]).collect();
        let distances: Vec<f32> = row.order.iter().map(|&at| lengths[at] as f32).collect();
        let mut edges = NewEdges::new(state, &neighbors, &distances, self.options.reach, |j| self.length(i, j));
        // Paths of several steps lead back to the point itself.
        edges.outgoing.retain(|edge| edge.0 as usize != i);
        edges.incoming.retain(|edge| edge.0 as usize != i);
        let variance = |j: u32| state.variances[i] + state.variances[j as usize];
        row.similar.clear();
        for &(j, length) in edges.outgoing.iter().chain(&edges.incoming) {
            row.similar.push((self.place(j), 0.5 / (self.scale(length).powi(2) + variance(j))));
        }
        for &(j, scale2) in &row.landmarks {
            row.similar.push((self.place(j), 0.5 * state.link_weight / (scale2 + variance(j))));
        }
        let own_scale = edges.outgoing.iter().map(|&(_, length)| self.scale(length)).fold(0.0, f64::max);
        row.dissimilar.clear();
        for &j in self.cells[self.cell_of[i] as usize].1.iter().filter(|&&j| j as usize != i) {
            let adjacent = [&edges.outgoing, &edges.incoming].map(|edges| edges.iter().any(|edge| edge.0 == j));
            let excluded = match self.options.adjacency {
                AdjacencyRule::Directed => adjacent,
                AdjacencyRule::Either => [adjacent[0] || adjacent[1]; 2],
            };
            for (scale, excluded) in [own_scale, state.row_scales[j as usize]].into_iter().zip(excluded) {
                let total = scale * scale + variance(j);
                if !excluded && total > 0.0 {
                    // The power d / 2 is one in two dimensions.
                    let probability = (scale * scale / total).min(MAX_PROBABILITY);
                    row.dissimilar.push((self.place(j), state.dissimilar_weight, total, probability));
                }
            }
        }
    }
}

impl PointLoss for LvmPointLoss<'_> {
    type Row = LvmRow;

    fn map(&self) -> Points<'_> {
        Points::new(&self.map, 2).expect("two coordinates per point")
    }

    fn field(&self) -> Option<RadialSum> {
        None
    }

    fn unit(&self) -> f64 {
        self.state.unit
    }

    fn n_neighbors(&self) -> usize {
        self.options.n_neighbors
    }

    fn set_row(&self, row: &mut LvmRow, i: usize, neighbors: &[u32], lengths: &[f64]) {
        row.point = i;
        row.candidates.clear();
        row.candidates.extend_from_slice(neighbors);
        let path = &self.cells[self.cell_of[i] as usize].0;
        let others = path.iter().filter(|&&landmark| landmark as usize != i);
        row.landmarks = others.map(|&landmark| (landmark, self.scale(self.length(i, landmark)).powi(2))).collect();
        self.set_pairs(row, lengths);
    }

    /// The variance of the point stays as it is.
    fn move_row(&self, row: &mut LvmRow, lengths: &[f64]) {
        self.set_pairs(row, lengths);
    }

    fn at(&self, row: &LvmRow, place: [f64; 2], _: &Jet) -> Jet {
        let unit = self.state.unit;
        let y = place.map(|v| v / unit);
        let square = |there: [f64; 2]| (y[0] - there[0]).powi(2) + (y[1] - there[1]).powi(2);
        let mut jet = Jet::default();
        for &(there, factor) in &row.similar {
            jet.add_of_square([factor * square(there), factor, 0.0], y, there);
        }
        for &(there, weight, total, probability) in &row.dissimilar {
            let coinciding = probability * (-0.5 * square(there) / total).exp();
            let apart = 1.0 - coinciding;
            let slope = -0.5 * weight * coinciding / (total * apart);
            jet.add_of_square([-weight * apart.ln(), slope, -0.5 * slope / (total * apart)], y, there);
        }
        jet.stretch(unit)
    }
}
