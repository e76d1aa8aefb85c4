//! The model the neighbour embeddings leave: the training rows and their map, on which new rows are placed one by one.

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

/// A fixed map with the rows it is a map of.
pub struct NeighborEmbeddingTransformer {
    pub(super) data: Data,
    pub(super) map: Embedding,
    pub(super) metric: Metric,
    pub(super) affinity: AffinityKind,
    /// As the map was made with.
    pub(super) perplexity: Perplexities,
    pub(super) energy: Energy,
    /// Strength of each point's repulsion, for a row whose affinities sum to one.
    pub(super) repulsion: f64,
}

/// The share of a transform that the neighbours take, for the progress.
const SEARCH: f64 = 0.3;

impl NeighborEmbeddingTransformer {
    pub(super) fn load(
        archive: &Archive,
        dim: usize,
        metric: Metric,
        affinity: AffinityKind,
        asked: &Perplexities,
        energy: Energy,
    ) -> Result<Self> {
        let (data, map) = (Data::load("training", archive)?, Embedding::load("embedding", archive)?);
        metric.check(&data)?;
        let &[repulsion] = archive.finite("placement/repulsion")? else {
            return Err(archive.invalid("there is not one strength of repulsion".into()));
        };
        let perplexity = Perplexities::load(archive, asked)?;
        if data.dim() != dim || map.rows() != data.rows() {
            return Err(archive.invalid("its parts differ in size".into()));
        }
        Ok(Self { data, map, metric, affinity, perplexity, energy, repulsion })
    }
}

impl Transformer for NeighborEmbeddingTransformer {
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        let n = self.data.rows();
        // Affinities that were handed in say nothing of new rows: theirs come from distances.
        let kind = if self.affinity == AffinityKind::Precomputed { AffinityKind::Entropic } else { self.affinity };
        let k = neighbors_for(kind, &self.perplexity).min(n);
        let graph = nearest_to_with(new, &self.data, k, self.metric, &mut |done| progress(SEARCH * done))?;
        let edges = (0..new.rows()).flat_map(|i| {
            let (columns, distances) = graph.row(i);
            columns.iter().zip(distances).map(move |(&j, &d)| (i as u32, j, f64::from(d)))
        });
        let rows = affinities_from_distances(Csr::from_triplets(new.rows(), n, edges)?, kind, &self.perplexity)?;
        let placement =
            NeighborEmbeddingTransform { map: self.map.points(), energy: self.energy, repulsion: self.repulsion };
        let places = placement.coordinates(&rows, &mut Exact, &mut |done| progress(SEARCH + (1.0 - SEARCH) * done))?;
        Ok(Embedding::new(places, self.map.dim())?.into())
    }

    fn save(&self, archive: &mut Archive) {
        self.data.save("training", archive);
        archive.put("placement/repulsion", [self.repulsion].as_slice());
        self.perplexity.save(archive);
    }
}
