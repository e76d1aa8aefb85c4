//! The transform of new points: the likelihood of the fitted model, with everything fixed but the new point.

use rayon::prelude::*;

use super::new_edges::NewEdges;
use super::new_point::{NewPoint, UpdateSteps};
use super::state::LvmState;
use super::training_pairs::AdjacencyRule;
use lowland_core::run::Progress;
use lowland_core::{Data, Embedding, Result};
use lowland_neighbors::{IndexedRows, MIN_INDEXED_ROWS, QuerySearch, distance};

/// The parameters of the fit that the transform of new points shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LvmTransformOptions {
    /// Number of neighbors of a point.
    pub n_neighbors: usize,
    /// Number of steps within which neighbors must reach each other.
    pub reach: usize,
    /// Which adjacent pairs are excluded from the dissimilar pairs.
    pub adjacency: AdjacencyRule,
}

/// The positions of new points in the map.
#[derive(Debug, Clone, PartialEq)]
pub struct LvmTransformOutput {
    /// The means, in the units of the data.
    pub embedding: Embedding,
    /// The standard deviations, in the units of the data.
    pub std: Vec<f64>,
}

impl LvmState {
    /// Transforms the rows of `new`, where `training` holds the rows that the model was fitted to. The result for a row
    /// does not depend on the other new rows. With an exact search, or a model of few rows, all
    /// updates of a new point are computed one by one.
    pub fn transform(
        &self,
        new: &Data,
        training: &IndexedRows,
        search: QuerySearch,
        options: LvmTransformOptions,
        progress: &mut Progress,
    ) -> Result<LvmTransformOutput> {
        let (data, metric) = (training.data(), training.metric());
        let graph = training.nearest(new, options.n_neighbors.min(data.rows()), search, progress)?;
        // Models of few rows have no index: all of their transforms are exact.
        let steps = match search {
            QuerySearch::Indexed if data.rows() >= MIN_INDEXED_ROWS => UpdateSteps::Growing,
            _ => UpdateSteps::Single,
        };
        let points: Vec<(Vec<f64>, f64)> = (0..new.rows())
            .into_par_iter()
            .map_init(NewPoint::default, |new_point, i| {
                let (neighbors, distances) = graph.row(i);
                let distance_to = |j: u32| {
                    let length = distance(new, i, data, j as usize, metric);
                    if length.is_finite() { length } else { self.infinite_distance }
                };
                let edges = NewEdges::new(self, neighbors, distances, options.reach, distance_to);
                new_point.set_pairs(self, &edges, options.adjacency, distance_to);
                new_point.fit(self, steps);
                (new_point.mean.clone(), new_point.variance)
            })
            .collect();
        let values = points.iter().flat_map(|(mean, _)| mean.iter().map(|v| v * self.unit)).collect();
        Ok(LvmTransformOutput {
            embedding: Embedding::new(values, self.dim)?,
            std: points.iter().map(|(_, variance)| variance.sqrt() * self.unit).collect(),
        })
    }
}
