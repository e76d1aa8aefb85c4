//! The transformer of the neighbor embeddings, which transforms new rows one by one.

use lowland_algorithms::affinity::{AffinityKind, Perplexities, affinities_from_distances, neighbors_for};
use lowland_algorithms::neighbor_embedding::{Energy, NeighborEmbeddingTransform};
use lowland_algorithms::out_of_sample::OutOfSampleObjective;
use lowland_core::archive::Archive;
use lowland_core::run::Progress;
use lowland_core::{Data, Embedding, Metric, Result};
use lowland_linalg::Csr;
use lowland_nbody::Exact;
use lowland_neighbors::nearest_to_with;

use crate::method::{TransformOutput, Transformer};

/// The training rows with their embedding.
pub struct NeighborEmbeddingTransformer {
    pub(super) data: Data,
    pub(super) embedding: Embedding,
    pub(super) metric: Metric,
    pub(super) affinity: AffinityKind,
    /// Perplexities of the fit, which can be lower than the parameter.
    pub(super) perplexity: Perplexities,
    pub(super) energy: Energy,
    /// Strength of each point's repulsion, for a row whose affinities sum to one.
    pub(super) repulsion: f64,
}

/// Share of the neighbor search in the progress of a transform.
const SEARCH_SHARE: f64 = 0.3;

impl NeighborEmbeddingTransformer {
    pub(super) fn load(
        archive: &Archive,
        dim: usize,
        metric: Metric,
        affinity: AffinityKind,
        requested: &Perplexities,
        energy: Energy,
    ) -> Result<Self> {
        let (data, embedding) = (Data::load("training", archive)?, Embedding::load("embedding", archive)?);
        metric.check(&data)?;
        let &[repulsion] = archive.finite("placement/repulsion")? else {
            return Err(archive.invalid("it does not have exactly one strength of repulsion".into()));
        };
        let perplexity = Perplexities::load(archive, requested)?;
        if data.dim() != dim || embedding.rows() != data.rows() {
            return Err(archive.invalid("its parts differ in size".into()));
        }
        Ok(Self { data, embedding, metric, affinity, perplexity, energy, repulsion })
    }
}

impl Transformer for NeighborEmbeddingTransformer {
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        let n = self.data.rows();
        // Precomputed affinities do not cover new rows, whose affinities are computed from distances.
        let kind = if self.affinity == AffinityKind::Precomputed { AffinityKind::Entropic } else { self.affinity };
        let k = neighbors_for(kind, &self.perplexity).min(n);
        let graph = nearest_to_with(new, &self.data, k, self.metric, &mut |done| progress(SEARCH_SHARE * done))?;
        let edges = (0..new.rows()).flat_map(|i| {
            let (columns, distances) = graph.row(i);
            columns.iter().zip(distances).map(move |(&j, &d)| (i as u32, j, f64::from(d)))
        });
        let rows = affinities_from_distances(Csr::from_triplets(new.rows(), n, edges)?, kind, &self.perplexity)?;
        let objective =
            NeighborEmbeddingTransform { map: self.embedding.points(), energy: self.energy, repulsion: self.repulsion };
        let coordinates = objective
            .coordinates(&rows, &mut Exact, &mut |done| progress(SEARCH_SHARE + (1.0 - SEARCH_SHARE) * done))?;
        Ok(Embedding::new(coordinates, self.embedding.dim())?.into())
    }

    fn save(&self, archive: &mut Archive) {
        self.data.save("training", archive);
        archive.put("placement/repulsion", [self.repulsion].as_slice());
        self.perplexity.save(archive);
    }
}
