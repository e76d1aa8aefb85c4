//! The transformer of the neighbor embeddings, which transforms new rows one by one.

use lowland_algorithms::affinity::AffinityKind;
use lowland_algorithms::density::LocalRadii;
use lowland_algorithms::neighbor_embedding::{Energy, NeighborEmbeddingLoss, NeighborEmbeddingTransform};
use lowland_algorithms::out_of_sample::{AffinitySettings, TrainingRows};
use lowland_core::archive::Archive;
use lowland_core::run::Progress;
use lowland_core::{Data, Embedding, Metric, Result};
use lowland_trust::MapLoss;

use crate::method::{TransformOutput, Transformer};

/// The training rows with their embedding.
pub struct NeighborEmbeddingTransformer {
    pub(super) training: TrainingRows,
    pub(super) embedding: Embedding,
    pub(super) energy: Energy,
    /// Strength of each point's repulsion, for a row whose affinities sum to one.
    pub(super) repulsion: f64,
    /// Local radii, if density is preserved.
    pub(super) radii: Option<LocalRadii>,
}

impl NeighborEmbeddingTransformer {
    /// `settings` and `tolerance` are those of the parameters.
    pub(super) fn load(
        archive: &Archive,
        dim: usize,
        metric: Metric,
        settings: AffinitySettings,
        tolerance: f64,
        energy: Energy,
        preserves_density: bool,
    ) -> Result<Self> {
        let embedding = Embedding::load("embedding", archive)?;
        let training = TrainingRows::load(archive, metric, settings, tolerance)?;
        metric.check(training.data())?;
        let &[repulsion] = archive.finite("placement/repulsion")? else {
            return Err(archive.invalid("it does not have exactly one strength of repulsion".into()));
        };
        let radii = load_radii(archive, embedding.rows(), preserves_density)?;
        if training.data().dim() != dim || embedding.rows() != training.data().rows() {
            return Err(archive.invalid("its parts differ in size".into()));
        }
        Ok(Self { training, embedding, energy, repulsion, radii })
    }

    fn objective(&self) -> NeighborEmbeddingTransform<'_> {
        NeighborEmbeddingTransform { map: self.embedding.points(), energy: self.energy, repulsion: self.repulsion }
    }
}

impl Transformer for NeighborEmbeddingTransformer {
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        Ok(self.training.transform(new, &self.objective(), progress)?.into())
    }

    fn transform_exactly(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        Ok(self.training.transform_exactly(new, &self.objective(), progress)?.into())
    }

    fn point_loss(&self) -> Option<MapLoss<'_>> {
        let AffinitySettings { affinity, perplexity, .. } = self.training.settings();
        (*affinity == AffinityKind::Entropic && self.embedding.dim() == 2 && self.embedding.rows() > 1).then(|| {
            MapLoss::NeighborEmbedding(NeighborEmbeddingLoss {
                map: self.embedding.points(),
                energy: self.energy,
                repulsion: self.repulsion,
                perplexities: perplexity.values(),
            })
        })
    }

    fn save(&self, archive: &mut Archive) {
        self.training.save(&self.objective(), archive);
        archive.put("placement/repulsion", [self.repulsion].as_slice());
        save_radii(self.radii.as_ref(), archive);
    }

    fn local_radii(&self) -> Option<&LocalRadii> {
        self.radii.as_ref()
    }
}

const ORIGINAL_RADII: &str = "radii/original";
const EMBEDDING_RADII: &str = "radii/embedding";

/// Writes local radii to a model file, if there are any.
pub(super) fn save_radii(radii: Option<&LocalRadii>, archive: &mut Archive) {
    if let Some(radii) = radii {
        archive.put(ORIGINAL_RADII, radii.original.as_slice());
        archive.put(EMBEDDING_RADII, radii.embedding.as_slice());
    }
}

/// Reads the local radii of `rows` rows from a model file, if its parameters ask for them. A single row has none.
pub(super) fn load_radii(archive: &Archive, rows: usize, wanted: bool) -> Result<Option<LocalRadii>> {
    if !wanted || rows < 2 {
        return Ok(None);
    }
    let read = |name| archive.finite(name).map(<[f64]>::to_vec);
    let radii = LocalRadii { original: read(ORIGINAL_RADII)?, embedding: read(EMBEDDING_RADII)? };
    if radii.original.len() != rows || radii.embedding.len() != rows {
        return Err(archive.invalid("its local radii are of other rows".into()));
    }
    Ok(Some(radii))
}
