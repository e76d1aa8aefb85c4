//! MAP IT with points that are divided among several processes.
//!
//! Each process holds some points, their affinities, and copies of the positions and marginals of the points that their affinities lead to.
//! The neighborhoods and the marginals `p_j` of a point follow from its own affinities, so that those of copies are exchanged once,
//! before the first iteration: [`DividedMapIt::marginals_of`], [`DividedMapIt::set_marginals`]. An iteration has these steps:
//! [`DividedPoints::begin`], [`DividedMapIt::set_copies`], [`DividedMapIt::forces`], [`DividedMapIt::step`]. Before them the processes exchange
//! nothing, positions, grids and the marginals `q_j` ([`DividedMapIt::map_marginals_of`]), and the sums of the forces.
//! The result is that of [`MapItField`](super::MapItField) with [`MomentumDescent`](crate::optim::MomentumDescent), up to rounding.

use rayon::prelude::*;

use super::field_edges::add_field_edges;
use super::neighborhoods::Neighborhoods;
use super::{EntropyWeights, SimilarityKernel, edges};
use crate::objective::edge_sums::PaddedPointsBuffer;
use crate::objective::{DIVIDED_CHUNK as CHUNK, DividedAffinities, DividedPoints, restore_parts};
use crate::optim::MomentumDescentParams;
use lowland_core::{Error, Points, Result};
use lowland_linalg::Csr;

/// Smallest sum of squared similarities in units of the number of points; below it, only rounding errors are left.
const MIN_TOTAL: f64 = 1e-13;

/// What the whole map is, and how it moves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DividedMapItSettings {
    /// Similarity of points in the map.
    pub similarity: SimilarityKernel,
    /// The pairs over which the entropy weights are summed.
    pub entropy: EntropyWeights,
    /// Size of the neighborhoods.
    pub n_neighbors: usize,
    /// Parameters of the descent.
    pub descent: MomentumDescentParams,
    /// Number of points of all processes.
    pub points: usize,
    /// Number of dimensions.
    pub dim: usize,
}

/// Sums over the points of one process, of which all processes need the total.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MapItSums {
    /// Sum of the potentials of the squared similarity, the points' own part included.
    pub potential: f64,
    /// Sum of `P K` over the affinities.
    pub all: f64,
    /// Sums of `P K` and of `K^2` over the neighborhoods.
    pub near: [f64; 2],
    /// Sum of the squares of all coordinates.
    pub size: f64,
}

/// The state of one process.
pub struct DividedMapIt {
    settings: DividedMapItSettings,
    /// The marginals are those of the points, then of the copies.
    graph: Neighborhoods,
    points: DividedPoints,
    update: Vec<f64>,
    /// `q_j` of the points, then of the copies.
    map_marginals: Vec<f64>,
    /// Sums of `P K` and of `K^2` over the neighborhoods at the current map.
    near: [f64; 2],
    /// Attraction and repulsion over edges, side by side for each point.
    edge_sums: Vec<f64>,
    buffer: PaddedPointsBuffer,
}

impl DividedMapIt {
    /// Creates the state of a process whose points are at `start`. `numbers` are those of the points and of the copies among the points of
    /// all processes: of equal affinities, the one that leads to the lower number belongs to a neighborhood first.
    pub fn new(
        settings: DividedMapItSettings,
        affinities: DividedAffinities,
        numbers: &[usize],
        start: Vec<f64>,
    ) -> Result<Self> {
        let DividedMapItSettings { similarity, n_neighbors, points, dim, .. } = settings;
        let points = DividedPoints::new(similarity.squared(), points, dim, &affinities, start)?;
        let own = affinities.own();
        let all = own + affinities.copies;
        if numbers.len() != all {
            return Err(Error::Shape { what: "numbers of the points of a part", expected: all, found: numbers.len() });
        }
        let affinities = Csr::new(affinities.starts, affinities.columns, affinities.values, all)?;
        let mut graph = Neighborhoods::of_rows(&affinities, n_neighbors, |column| numbers[column]);
        graph.marginals.resize(all, 0.0);
        Ok(Self {
            settings,
            graph,
            points,
            update: vec![0.0; own * dim],
            map_marginals: vec![0.0; all],
            near: [0.0; 2],
            edge_sums: vec![0.0; 2 * own * dim],
            buffer: PaddedPointsBuffer::default(),
        })
    }

    /// The points of this process.
    pub fn points(&self) -> &DividedPoints {
        &self.points
    }

    /// The points of this process, for [`DividedPoints::begin`].
    pub fn points_mut(&mut self) -> &mut DividedPoints {
        &mut self.points
    }

    fn own(&self) -> usize {
        self.points.values.len()
    }

    /// Returns the marginals of some points in the data, for the copies of other processes.
    pub fn marginals_of(&self, points: &[u32]) -> Result<Vec<f64>> {
        self.points.check_points(points)?;
        Ok(points.iter().map(|&point| self.graph.marginals[point as usize]).collect())
    }

    /// Sets the marginals of the copies in the data.
    pub fn set_marginals(&mut self, marginals: &[f64]) -> Result<()> {
        let own = self.own();
        restore_parts([&mut self.graph.marginals[own..]], [marginals])
    }

    /// Sets the positions of the copies, from which the marginals of the points on the map follow.
    pub fn set_copies(&mut self, copies: &[f64]) -> Result<()> {
        self.points.set_copies(copies)?;
        let own = self.own();
        let points = self.buffer.pad(Points::new(self.points.with_copies(), self.settings.dim)?);
        let out = &mut self.map_marginals[..own];
        self.near = edges::sum_marginals(&self.graph.near, points, self.settings.similarity, out);
        Ok(())
    }

    /// Returns the marginals of some points on the map, for the copies of other processes.
    pub fn map_marginals_of(&self, points: &[u32]) -> Result<Vec<f64>> {
        self.points.check_points(points)?;
        Ok(points.iter().map(|&point| self.map_marginals[point as usize]).collect())
    }

    /// Computes the forces from the sum of the grids and the marginals of the copies on the map.
    pub fn forces(&mut self, sum: &[f64], map_marginals: &[f64]) -> Result<MapItSums> {
        let own = self.own();
        restore_parts([&mut self.map_marginals[own..]], [map_marginals])?;
        let potential = self.points.read(sum)?;
        self.edge_sums.fill(0.0);
        let (similarity, out) = (self.settings.similarity, &mut self.edge_sums);
        let points = self.buffer.pad(Points::new(self.points.with_copies(), self.settings.dim)?);
        let all = add_field_edges(&self.graph, &self.map_marginals, false, points, similarity, out);
        Ok(MapItSums { potential, all, near: self.near, size: self.points.size() })
    }

    /// The entropy weights.
    fn entropies(&self, total: &MapItSums) -> [f64; 2] {
        let n = self.settings.points as f64;
        let all = [total.all, (total.potential - n).max(MIN_TOTAL * n)];
        self.settings.entropy.choose(all, total.near)
    }

    /// Moves the points along the forces of `iteration`, counted from 1; `total` are the sums of all processes. Returns the sum of the
    /// squared steps.
    pub fn step(&mut self, iteration: usize, total: &MapItSums) -> f64 {
        let DividedMapItSettings { similarity, descent, dim: d, .. } = self.settings;
        let [c1, c2] = self.entropies(total);
        // The repulsion is the potential's gradient divided by -4, which is by coordinates in units of the kernel.
        let repulsion_factor = 0.25 / similarity.squared().1.sqrt() / c2;
        let MomentumDescentParams { learning_rate: rate, momentum, early_steps, max_step } = descent;
        let momentum = momentum[usize::from(iteration > early_steps)];
        // Taken out, because they are borrowed beside the positions.
        let gradients = std::mem::take(&mut self.points.gradients);
        let parts: Vec<f64> = self
            .points
            .positions_mut()
            .par_chunks_mut(CHUNK * d)
            .zip(self.update.par_chunks_mut(CHUNK * d))
            .zip(self.edge_sums.par_chunks(CHUNK * 2 * d))
            .zip(gradients.par_chunks(CHUNK * d))
            .map(|(((y, update), edges), slopes)| {
                let mut moved = 0.0;
                for (i, edges) in edges.chunks_exact(2 * d).enumerate() {
                    for c in 0..d {
                        let at = i * d + c;
                        let field = edges[c] / c1 + edges[d + c] / c2 + repulsion_factor * slopes[at];
                        update[at] = (momentum * update[at] - rate * field).clamp(-max_step, max_step);
                        y[at] += update[at];
                        moved += update[at] * update[at];
                    }
                }
                moved
            })
            .collect();
        self.points.gradients = gradients;
        parts.iter().sum()
    }

    /// Returns the value that is reported as the objective, `ln c2 - ln c1`.
    pub fn value(&self, total: &MapItSums) -> f64 {
        let [c1, c2] = self.entropies(total);
        c2.ln() - c1.ln()
    }

    /// Positions and last step of the points: with them, a run continues as if it had not been interrupted.
    pub fn state(&self) -> [&[f64]; 2] {
        [self.points.positions(), &self.update]
    }

    /// Restores what [`DividedMapIt::state`] returned.
    pub fn restore(&mut self, state: [&[f64]; 2]) -> Result<()> {
        restore_parts([self.points.positions_mut(), &mut self.update], state)
    }
}
