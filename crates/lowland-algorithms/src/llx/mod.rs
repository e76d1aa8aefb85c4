//! Locally linear extension (Saul 2022, section 3): extends a map of some rows to all rows, and to new ones.
//!
//! Each row is expressed as a linear combination of its neighbors; the positions of the rows outside the map are
//! those for which the same combinations hold best, solved for all of them at once. For maps with a meaningful
//! origin the weights are unconstrained and neighbors are those of smallest angle, as in the paper; for maps that
//! may be translated the weights sum to one.

mod extension;
mod weights;

#[cfg(test)]
mod tests;

pub(crate) use weights::affine_weights;

use extension::extend;
use lowland_core::message::Remedy;
use lowland_core::run::{Progress, in_batches};
use lowland_core::{Data, Embedding, Error, Metric, Points, Result, Seed};
use lowland_linalg::{Csr, PcgReport};
use lowland_neighbors::graph::ConnectedComponents;
use lowland_neighbors::{NeighborGraph, NeighborParams, Search, nearest_to_with, nearest_with};
use weights::{RidgePenalty, WeightSolver};

/// Rows that share a solver.
const ROWS_PER_TASK: usize = 64;

/// Options of the extension.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Llx {
    /// Number of neighbors of a row; the paper uses four per dimension of the map.
    pub n_neighbors: usize,
    /// The metric that defines the neighbors.
    pub metric: Metric,
    /// Whether weights sum to one, so that a translation of the map translates its extension.
    pub affine: bool,
    /// `epsilon` of eq 14: the penalty of a weight, relative to the squared norm of the row it multiplies, or to the sum of
    /// the squared distances if weights sum to one. Where an embedding is extended, it is the same for all neighbors, as in
    /// the paper. [`Llx::transform`] multiplies it by the distance of the neighbor relative to the mean distance, so that a
    /// row of the training data, which is its own neighbor at distance zero, gets its own position.
    pub ridge: f64,
    /// How neighbors are searched.
    pub search: Search,
}

impl Llx {
    /// The options of the paper, for a map of `dim` dimensions that preserves the origin.
    pub fn linear(dim: usize) -> Self {
        let n_neighbors = dim.saturating_mul(4);
        Self { n_neighbors, metric: Metric::Cosine, affine: false, ridge: 1e-4, search: Search::Auto }
    }

    /// Options for a map of `dim` dimensions that may be translated, with rows compared by `metric`.
    pub fn affine(dim: usize, metric: Metric) -> Self {
        let n_neighbors = dim.saturating_mul(4).max(15);
        Self { n_neighbors, metric, affine: true, ridge: 1e-3, search: Search::Auto }
    }

    /// Returns an error for rows that cannot be combined.
    pub fn check(&self, data: &Data) -> Result<()> {
        if let Data::Text(_) = data {
            let remedies = vec![Remedy::Other("give rows of numbers")];
            return Err(Error::Kind { what: "locally linear extension", kind: "text", remedies });
        }
        if self.metric == Metric::Precomputed {
            let allowed = "rows themselves are needed, not their distances".into();
            return Err(Error::Parameter { name: "metric", value: self.metric.to_string(), allowed });
        }
        self.metric.check(data)
    }

    /// Solves eq 14 for each row and its neighbors among the others: row `i` is approximately `sum_j W_ij x_j`.
    pub fn weights(&self, data: &Data, seed: Seed, progress: &mut Progress) -> Result<Csr> {
        self.check(data)?;
        let n_neighbors = self.n_neighbors.min(data.rows().saturating_sub(1));
        if n_neighbors == 0 {
            return Csr::from_triplets(data.rows(), data.rows(), []);
        }
        let params = NeighborParams { n_neighbors, metric: self.metric, search: self.search, seed };
        let graph = nearest_with(data, &params, &mut |done| progress(0.6 * done))?.graph;
        self.weights_to(data, data, &graph, RidgePenalty::Uniform, &mut |done| progress(0.6 + 0.4 * done))
    }

    /// The same with given neighbors.
    pub fn weights_on_graph(&self, data: &Data, graph: &NeighborGraph, progress: &mut Progress) -> Result<Csr> {
        self.weights_to(data, data, graph, RidgePenalty::Uniform, progress)
    }

    /// Weights of the rows of `new` on their neighbors among `data`.
    fn weights_to(
        &self,
        new: &Data,
        data: &Data,
        graph: &NeighborGraph,
        ridge: RidgePenalty,
        progress: &mut Progress,
    ) -> Result<Csr> {
        let rows = in_batches(new.rows().div_ceil(ROWS_PER_TASK), progress, |chunk| {
            let mut local = WeightSolver::default();
            let rows = chunk * ROWS_PER_TASK..new.rows().min((chunk + 1) * ROWS_PER_TASK);
            rows.map(|i| {
                let (columns, lengths) = graph.row(i);
                let mut neighbors: Vec<(u32, f32)> = columns.iter().copied().zip(lengths.iter().copied()).collect();
                neighbors.sort_unstable_by_key(|entry| entry.0);
                let costs = ridge.costs(self.ridge, &neighbors);
                let neighbors: Vec<u32> = neighbors.into_iter().map(|entry| entry.0).collect();
                let weights = local.solve(self.affine, new, i, data, &neighbors, &costs);
                (neighbors, weights)
            })
            .collect::<Vec<_>>()
        })?;
        let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for (neighbors, weights) in rows.into_iter().flatten() {
            indices.extend(neighbors);
            values.extend(weights);
            indptr.push(indices.len());
        }
        Csr::new(indptr, indices, values, data.rows())
    }

    /// Extends `map`, the positions of `landmarks` (ascending), to all rows of `data` by eq 15; landmarks keep their
    /// positions.
    pub fn extend(
        &self,
        data: &Data,
        landmarks: &[usize],
        map: Points,
        seed: Seed,
        progress: &mut Progress,
    ) -> Result<(Embedding, PcgReport)> {
        let weights = self.weights(data, seed, &mut |done| progress(0.7 * done))?;
        extend(&weights, landmarks, map, &mut |done| progress(0.7 + 0.3 * done))
    }

    /// Extends `map`, the positions of `landmarks` (ascending), with given weights.
    pub fn extend_by_weights(
        weights: &Csr,
        landmarks: &[usize],
        map: Points,
        progress: &mut Progress,
    ) -> Result<(Embedding, PcgReport)> {
        extend(weights, landmarks, map, progress)
    }

    /// Returns the rows that no chain of weights connects to a landmark: eq 15 leaves their positions undetermined.
    pub fn unreached_rows(weights: &Csr, landmarks: &[usize]) -> Vec<usize> {
        let components = ConnectedComponents::from_matrix(weights);
        let mut reached = vec![false; components.count()];
        landmarks.iter().for_each(|&i| reached[components.labels()[i] as usize] = true);
        (0..weights.rows()).filter(|&i| !reached[components.labels()[i] as usize]).collect()
    }

    /// Transforms new rows, given the map of `data`: each position is a combination of those of its neighbors.
    pub fn transform(&self, new: &Data, data: &Data, map: Points, progress: &mut Progress) -> Result<Embedding> {
        let weights = self.weights_of_new_rows(new, data, progress)?;
        let mut values = vec![0.0; new.rows() * map.dim()];
        weights.multiply(map.values(), map.dim(), &mut values);
        Embedding::new(values, map.dim())
    }

    /// Returns the weights with which [`Llx::transform`] combines the rows of `data`.
    pub fn weights_of_new_rows(&self, new: &Data, data: &Data, progress: &mut Progress) -> Result<Csr> {
        let k = self.n_neighbors.min(data.rows());
        let graph = nearest_to_with(new, data, k, self.metric, &mut |done| progress(0.7 * done))?;
        self.weights_to(new, data, &graph, RidgePenalty::ByDistance, &mut |done| progress(0.7 + 0.3 * done))
    }
}
