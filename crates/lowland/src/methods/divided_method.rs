//! The neighbor embeddings with rows that are divided among several processes.

use lowland_algorithms::affinity::{AffinityKind, NEIGHBORS_PER_PERPLEXITY, affinities_from_distances};
use lowland_algorithms::neighbor_embedding::{DividedSettings, Energy};
use lowland_algorithms::optim::OptimizerKind;
use lowland_core::params::{Params, invalid_parameter};
use lowland_core::{Error, Metric, Result};
use lowland_linalg::Csr;

use super::neighbor_embedding::NeighborEmbeddingSettings;
use super::{Ee, Ssne, Tsne};
use crate::method::Method;

/// A method with its parameters, for rows that are divided among several processes.
pub struct DividedMethod {
    settings: NeighborEmbeddingSettings,
}

impl DividedMethod {
    /// Creates `tsne`, `ssne` or `ee` for `points` rows in all from parameter values as text. The optimizer is gradient descent, and the
    /// repulsion is summed on a grid.
    pub fn new(method: &str, values: &[(&str, &str)], points: usize) -> Result<Self> {
        let settings = match method {
            "tsne" => with_values::<Tsne>(values)?.settings(points),
            "ssne" => with_values::<Ssne>(values)?.settings(points),
            "ee" => with_values::<Ee>(values)?.settings(points),
            _ => {
                return Err(Error::Parameter {
                    name: "method",
                    value: method.into(),
                    allowed:
                        "tsne, ssne or ee, for a fit to all rows; fit other methods to a sample and place the rows"
                            .into(),
                });
            }
        };
        if settings.affinity == AffinityKind::Precomputed {
            return invalid_parameter("affinity", &settings.affinity, "entropic or uniform where rows are divided");
        }
        Ok(Self { settings })
    }

    /// What each process needs to know, for `points` rows in all.
    pub fn settings(&self, points: usize) -> DividedSettings {
        let energy = match self.settings.energy {
            Energy::Elastic { lambda } => Energy::Elastic { lambda: lambda / points as f64 },
            energy => energy,
        };
        DividedSettings {
            energy,
            schedule: self.settings.schedule,
            descent: self.settings.gradient_descent(points),
            points,
            dim: self.settings.n_components,
        }
    }

    /// Number of neighbors of each row.
    pub fn neighbors(&self) -> usize {
        self.settings.neighbors()
    }

    /// Metric of the neighbor search.
    pub fn metric(&self) -> Metric {
        self.settings.metric
    }

    /// Relative error allowed in the repulsive force.
    pub fn tolerance(&self) -> f64 {
        self.settings.tolerance
    }

    /// Maximum number of iterations, and the relative change of the map at which they end.
    pub fn stop_rule(&self) -> (usize, f64) {
        (self.settings.max_iter, self.settings.tol)
    }

    /// Standard deviation of the first coordinate of the initial map.
    pub fn init_size(&self) -> f64 {
        // As for gradient descent in one process.
        1e-4
    }

    /// Whether the parameters name gradient descent as the optimizer.
    pub fn is_gradient_descent(&self) -> bool {
        self.settings.optimizer == OptimizerKind::Gd
    }

    /// Returns the affinities of some rows to their `k` neighbors, from the distances; each row sums to one. The perplexity is limited to a
    /// third of the number of neighbors.
    pub fn row_affinities(&self, distances: &[f32], k: usize) -> Result<Vec<f64>> {
        let rows = distances.len() / k.max(1);
        let edges =
            (0..rows).flat_map(|i| (0..k).map(move |at| (i as u32, at as u32, f64::from(distances[i * k + at]))));
        let distances = Csr::from_triplets(rows, k, edges)?;
        let most = (k as f64 / NEIGHBORS_PER_PERPLEXITY).max(1.0);
        let perplexity = self.settings.perplexity.limited_to(most);
        Ok(affinities_from_distances(distances, self.settings.affinity, &perplexity)?.values().to_vec())
    }
}

fn with_values<M: Method + Params>(values: &[(&str, &str)]) -> Result<M> {
    let mut method = M::default();
    for (name, text) in values {
        method.set(name, text)?;
    }
    Method::validate(&method)?;
    Ok(method)
}
