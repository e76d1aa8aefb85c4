//! The methods whose rows can be divided among several processes.

use lowland_algorithms::affinity::{
    AffinityKind, NEIGHBORS_PER_PERPLEXITY, Perplexities, affinities_from_distances, neighbors_for,
};
use lowland_algorithms::mapit::DividedMapItSettings;
use lowland_algorithms::neighbor_embedding::{DividedSettings, Energy};
use lowland_core::params::{Params, invalid_parameter};
use lowland_core::{Error, Metric, Result};
use lowland_linalg::Csr;

use super::neighbor_embedding::NeighborEmbeddingSettings;
use super::{Ee, MapIt, Ssne, Tsne};
use crate::method::Method;

/// A method with its parameters, for rows that are divided among several processes.
pub struct DividedMethod(Kind);

enum Kind {
    NeighborEmbedding(Box<NeighborEmbeddingSettings>),
    MapIt(Box<MapIt>),
}

/// What each process needs to know of the method.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DividedKind {
    /// t-SNE, symmetric SNE or the elastic embedding.
    NeighborEmbedding(DividedSettings),
    /// MAP IT.
    MapIt(DividedMapItSettings),
}

/// Parameters of the methods here that mean the same where rows are divided.
const SUPPORTED: [&str; 17] = [
    "n_components",
    "perplexity",
    "metric",
    "affinity",
    "tolerance",
    "learning_rate",
    "early_exaggeration",
    "exaggeration_iter",
    "exaggeration",
    "dof",
    "lambda",
    "homotopy",
    "max_iter",
    "tol",
    "n_neighbors",
    "kernel",
    "entropy",
];

/// Parameters of which few values are possible where rows are divided, apart from their defaults; and why.
const RESTRICTED: [(&str, &[&str], &str); 13] = [
    ("init", &["auto", "pca", "random"], "auto, pca, random or an array where rows are divided"),
    ("engine", &["auto", "fft"], "auto or fft: where rows are divided, the repulsion is summed on a grid"),
    ("optimizer", &["gd"], "gd: where rows are divided, they move by gradient descent"),
    ("accuracy", &["fixed"], "fixed: where rows are divided, the accuracy does not change"),
    ("search", &["auto", "exact"], "auto or exact: rows that are divided are searched cell by cell"),
    ("density", &[], "0: density is preserved on one machine; fit a sample, and place the other rows"),
    ("density_frac", &[], "its default: density is preserved on one machine; fit a sample, and place the other rows"),
    ("repulsion", &[], "uniform: other weights need all pairs of rows; fit a sample, and place the other rows"),
    ("target_weight", &[], "its default: rows that are divided have no target"),
    ("target_metric", &[], "its default: rows that are divided have no target"),
    ("variant", &[], "fast: the others need pairs of any rows; fit a sample, and place the other rows"),
    ("reach", &[], "1: the neighbors of neighbors may live anywhere; fit a sample, and place the other rows"),
    ("samples", &[], "its default: it belongs to variant sampled, which needs pairs of any rows"),
];

/// Returns an error if the value of a parameter has no meaning where rows are divided.
fn check_value(name: &'static str, value: &str, default: &str) -> Result<()> {
    let restricted = RESTRICTED.iter().find(|(restricted, ..)| *restricted == name);
    let possible = restricted.is_some_and(|(_, values, _)| values.contains(&value));
    if value == default || possible || SUPPORTED.contains(&name) {
        return Ok(());
    }
    let reason = restricted.map_or("its default: it has no meaning where rows are divided", |(.., reason)| reason);
    Err(Error::Parameter { name, value: value.into(), allowed: format!("expected {reason}") })
}

impl DividedMethod {
    /// Creates `tsne`, `ssne`, `ee` or `mapit` for `points` rows in all from parameter values as text. A parameter value that has no
    /// meaning where rows are divided is an error. The optimizer is gradient descent (of `mapit`, its own), the repulsion is summed on
    /// a grid, and its accuracy is fixed.
    pub fn new(method: &str, values: &[(&str, &str)], points: usize) -> Result<Self> {
        let kind = match method {
            "tsne" => neighbor_embedding(with_values::<Tsne>(values)?.settings(points))?,
            "ssne" => neighbor_embedding(with_values::<Ssne>(values)?.settings(points))?,
            "ee" => neighbor_embedding(with_values::<Ee>(values)?.settings(points))?,
            "mapit" => Kind::MapIt(Box::new(with_values::<MapIt>(values)?)),
            _ => {
                return Err(Error::Parameter {
                    name: "method",
                    value: method.into(),
                    allowed:
                        "tsne, ssne, ee or mapit, for a fit to all rows; fit other methods to a sample and place the rows"
                            .into(),
                });
            }
        };
        Ok(Self(kind))
    }

    /// What each process needs to know, for `points` rows in all.
    pub fn kind(&self, points: usize) -> DividedKind {
        match &self.0 {
            Kind::NeighborEmbedding(settings) => {
                let energy = match settings.energy {
                    Energy::Elastic { lambda } => Energy::Elastic { lambda: lambda / points as f64 },
                    energy => energy,
                };
                DividedKind::NeighborEmbedding(DividedSettings {
                    energy,
                    schedule: settings.schedule,
                    descent: settings.gradient_descent(points),
                    points,
                    dim: settings.n_components,
                })
            }
            Kind::MapIt(method) => DividedKind::MapIt(DividedMapItSettings {
                similarity: method.kernel,
                entropy: method.entropy,
                n_neighbors: method.n_neighbors,
                descent: method.momentum(points),
                points,
                dim: method.n_components,
            }),
        }
    }

    /// Number of dimensions of the map.
    pub fn n_components(&self) -> usize {
        match &self.0 {
            Kind::NeighborEmbedding(settings) => settings.n_components,
            Kind::MapIt(method) => method.n_components,
        }
    }

    /// Number of neighbors of each row.
    pub fn neighbors(&self) -> usize {
        match &self.0 {
            Kind::NeighborEmbedding(settings) => settings.neighbors(),
            Kind::MapIt(method) => {
                neighbors_for(AffinityKind::Entropic, &method.perplexities()).max(method.n_neighbors)
            }
        }
    }

    /// Metric of the neighbor search.
    pub fn metric(&self) -> Metric {
        match &self.0 {
            Kind::NeighborEmbedding(settings) => settings.metric,
            Kind::MapIt(method) => method.metric,
        }
    }

    /// Relative error allowed in the repulsive force.
    pub fn tolerance(&self) -> f64 {
        match &self.0 {
            Kind::NeighborEmbedding(settings) => settings.tolerance,
            Kind::MapIt(method) => method.tolerance,
        }
    }

    /// Maximum number of iterations, and the relative change of the map at which they end.
    pub fn stop_rule(&self) -> (usize, f64) {
        match &self.0 {
            Kind::NeighborEmbedding(settings) => (settings.max_iter, settings.tol),
            Kind::MapIt(method) => (method.max_iter, method.tol),
        }
    }

    /// Standard deviation of the first coordinate of an initial map of principal components, and of random numbers.
    pub fn init_sizes(&self) -> [f64; 2] {
        // As in one process.
        match &self.0 {
            Kind::NeighborEmbedding(_) => [1e-4; 2],
            Kind::MapIt(_) => [1.0, 1e-4],
        }
    }

    /// Whether steps may move the map as a whole, which then counts as a part of its size.
    pub fn drifts(&self) -> bool {
        matches!(self.0, Kind::MapIt(_))
    }

    /// Whether the forces on a point depend on the marginals of its neighbors, which change with the map.
    pub fn shares_marginals(&self) -> bool {
        matches!(self.0, Kind::MapIt(_))
    }

    /// Returns the affinities of some rows to their `k` neighbors, from the distances; each row sums to one. The perplexity is limited to a
    /// third of the number of neighbors.
    pub fn row_affinities(&self, distances: &[f32], k: usize) -> Result<Vec<f64>> {
        let rows = distances.len() / k.max(1);
        let edges =
            (0..rows).flat_map(|i| (0..k).map(move |at| (i as u32, at as u32, f64::from(distances[i * k + at]))));
        let distances = Csr::from_triplets(rows, k, edges)?;
        let most = (k as f64 / NEIGHBORS_PER_PERPLEXITY).max(1.0);
        let (affinity, perplexity) = self.affinity();
        Ok(affinities_from_distances(distances, affinity, &perplexity.limited_to(most))?.values().to_vec())
    }

    fn affinity(&self) -> (AffinityKind, Perplexities) {
        match &self.0 {
            Kind::NeighborEmbedding(settings) => (settings.affinity, settings.perplexity.clone()),
            Kind::MapIt(method) => (AffinityKind::Entropic, method.perplexities()),
        }
    }
}

fn neighbor_embedding(settings: NeighborEmbeddingSettings) -> Result<Kind> {
    if settings.affinity == AffinityKind::Precomputed {
        return invalid_parameter("affinity", &settings.affinity, "entropic or uniform where rows are divided");
    }
    Ok(Kind::NeighborEmbedding(Box::new(settings)))
}

/// Returns the method with the values, all of which must have a meaning where rows are divided.
fn with_values<M: Method + Params>(values: &[(&str, &str)]) -> Result<M> {
    let mut method = M::default();
    for &(name, text) in values {
        method.set(name, text)?;
    }
    Method::validate(&method)?;
    for ((name, value), (_, default)) in method.values().into_iter().zip(M::default().values()) {
        check_value(name, &value, &default)?;
    }
    Ok(method)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_without_a_meaning_are_refused() {
        let refused = [
            ("tsne", "density", "0.5"),
            ("ssne", "density_frac", "0.1"),
            ("tsne", "init", "spectral"),
            ("tsne", "optimizer", "lbfgs"),
            ("tsne", "engine", "exact"),
            ("tsne", "search", "approximate"),
            ("tsne", "target_weight", "0.1"),
            ("ee", "affinity", "precomputed"),
            ("ee", "repulsion", "distances"),
            ("mapit", "variant", "sampled"),
            ("mapit", "reach", "2"),
            ("mapit", "cost", "marginals"),
            ("mapit", "samples", "2"),
            ("mapit", "optimizer", "sd"),
        ];
        for (method, name, value) in refused {
            let error = DividedMethod::new(method, &[(name, value)], 1000).err();
            let error = error.unwrap_or_else(|| panic!("{method} {name}")).to_string();
            assert!(error.contains(name), "{error}");
        }
        for (method, name, value) in
            [("tsne", "init", "random"), ("tsne", "engine", "fft"), ("ee", "optimizer", "gd"), ("mapit", "kernel", "t")]
        {
            assert!(DividedMethod::new(method, &[(name, value)], 1000).is_ok(), "{method} {name}");
        }
        assert!(DividedMethod::new("umap", &[], 1000).is_err());
    }

    #[test]
    fn the_lists_name_parameters_of_the_methods() {
        let known: Vec<&str> = [Tsne::specs(), Ssne::specs(), Ee::specs(), MapIt::specs()]
            .iter()
            .flatten()
            .map(|spec| spec.name)
            .collect();
        for name in SUPPORTED.iter().chain(RESTRICTED.iter().map(|(name, ..)| name)) {
            assert!(known.contains(name), "{name}");
        }
    }
}
