//! The transformer of MAP IT.

use lowland_algorithms::affinity::{AffinityKind, Perplexities, affinities_from_distances, neighbors_for};
use lowland_algorithms::mapit::{MapItFittedState, MapItTransform};
use lowland_algorithms::out_of_sample::OutOfSampleObjective;
use lowland_core::archive::Archive;
use lowland_core::run::Progress;
use lowland_core::{Data, Embedding, Result};
use lowland_linalg::Csr;
use lowland_nbody::Exact;
use lowland_neighbors::nearest_to_with;

use super::mapit::{MapIt, MapItVariant};
use crate::method::{TransformOutput, Transformer};

/// Share of the neighbor search in the progress of a transform.
const SEARCH_SHARE: f64 = 0.3;

/// The training rows with their embedding. New rows are transformed by the vector field or the cost of the fit.
pub struct MapItTransformer {
    pub(super) data: Data,
    pub(super) embedding: Embedding,
    pub(super) params: MapIt,
    /// Perplexities of the fit, which can be lower than the parameter.
    pub(super) perplexity: Perplexities,
    pub(super) state: MapItFittedState,
}

impl Transformer for MapItTransformer {
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        let (n, params) = (self.data.rows(), &self.params);
        let k = neighbors_for(AffinityKind::Entropic, &self.perplexity).max(params.n_neighbors).min(n);
        let graph = nearest_to_with(new, &self.data, k, params.metric, &mut |done| progress(SEARCH_SHARE * done))?;
        let edges = (0..new.rows()).flat_map(|i| {
            let (columns, distances) = graph.row(i);
            columns.iter().zip(distances).map(move |(&j, &d)| (i as u32, j, f64::from(d)))
        });
        let distances = Csr::from_triplets(new.rows(), n, edges)?;
        let rows = affinities_from_distances(distances, AffinityKind::Entropic, &self.perplexity)?;
        let objective = MapItTransform {
            map: self.embedding.points(),
            similarity: params.kernel,
            state: &self.state,
            k: params.n_neighbors,
            cost: (params.variant == MapItVariant::Objective).then_some(params.cost),
        };
        let coordinates = objective
            .coordinates(&rows, &mut Exact, &mut |done| progress(SEARCH_SHARE + (1.0 - SEARCH_SHARE) * done))?;
        Ok(Embedding::new(coordinates, self.embedding.dim())?.into())
    }

    fn save(&self, archive: &mut Archive) {
        self.data.save("training", archive);
        self.perplexity.save(archive);
        archive.put("placement/marginals", self.state.marginals[0].as_slice());
        archive.put("placement/map_marginals", self.state.marginals[1].as_slice());
        archive.put("placement/entropies", self.state.entropies.as_slice());
    }
}
