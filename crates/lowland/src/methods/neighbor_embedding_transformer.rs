//! The transformer of the neighbor embeddings, which transforms new rows one by one.

use lowland_algorithms::affinity::{AffinityKind, Perplexities};
use lowland_algorithms::neighbor_embedding::{Energy, NeighborEmbeddingTransform};
use lowland_algorithms::out_of_sample::TrainingRows;
use lowland_core::archive::Archive;
use lowland_core::run::Progress;
use lowland_core::{Data, Embedding, Metric, Result};

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
        let training = TrainingRows {
            data: &self.data,
            metric: self.metric,
            affinity: self.affinity,
            perplexity: &self.perplexity,
            min_neighbors: 0,
        };
        let objective =
            NeighborEmbeddingTransform { map: self.embedding.points(), energy: self.energy, repulsion: self.repulsion };
        Ok(training.transform(new, &objective, progress)?.into())
    }

    fn save(&self, archive: &mut Archive) {
        self.data.save("training", archive);
        archive.put("placement/repulsion", [self.repulsion].as_slice());
        self.perplexity.save(archive);
    }
}
