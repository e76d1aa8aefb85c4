//! The model the neighbour embeddings leave: the training rows and their map, on which new rows are placed one by one.

use lowland_algorithms::affinity::{AffinityKind, Perplexities};
use lowland_algorithms::neighbor_embedding::{Energy, NeighborEmbeddingTransform};
use lowland_algorithms::out_of_sample::TrainingRows;
use lowland_core::archive::Archive;
use lowland_core::run::Progress;
use lowland_core::{Data, Embedding, Metric, Result};

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
        let training = TrainingRows {
            data: &self.data,
            metric: self.metric,
            affinity: self.affinity,
            perplexity: &self.perplexity,
            min_neighbors: 0,
        };
        let objective =
            NeighborEmbeddingTransform { map: self.map.points(), energy: self.energy, repulsion: self.repulsion };
        Ok(training.transform(new, &objective, progress)?.into())
    }

    fn save(&self, archive: &mut Archive) {
        self.data.save("training", archive);
        archive.put("placement/repulsion", [self.repulsion].as_slice());
        self.perplexity.save(archive);
    }
}
