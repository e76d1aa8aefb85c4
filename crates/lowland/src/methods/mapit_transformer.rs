//! The transformer of MAP IT.

use lowland_algorithms::affinity::{AffinityKind, neighbors_for};
use lowland_algorithms::mapit::{MapItFittedState, MapItLoss, MapItTransform};
use lowland_algorithms::out_of_sample::TrainingRows;
use lowland_core::archive::Archive;
use lowland_core::run::Progress;
use lowland_core::{Data, Embedding, Result};
use lowland_linalg::Csr;
use lowland_trust::MapLoss;

use super::mapit::{MapIt, MapItVariant};
use crate::method::{TransformOutput, Transformer};

/// The training rows with their embedding. New rows are transformed by the vector field or the cost of the fit.
pub struct MapItTransformer {
    pub(super) training: TrainingRows,
    pub(super) embedding: Embedding,
    pub(super) params: MapIt,
    pub(super) state: MapItFittedState,
}

impl Transformer for MapItTransformer {
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        Ok(self.training.transform(new, &self.objective(), progress)?.into())
    }

    fn transform_exactly(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        Ok(self.training.transform_exactly(new, &self.objective(), progress)?.into())
    }

    /// Only of the released program: the costs of the paper are not sums over points.
    fn point_loss(&self) -> Option<MapLoss<'_>> {
        let (params, perplexity) = (&self.params, &self.training.settings().perplexity);
        let fits = params.variant != MapItVariant::Objective && self.embedding.dim() == 2 && self.embedding.rows() > 1;
        fits.then(|| {
            MapLoss::MapIt(MapItLoss {
                map: self.embedding.points(),
                similarity: params.kernel,
                state: &self.state,
                k: params.n_neighbors,
                reach: params.reach,
                perplexity: perplexity.max(),
                n_affinities: neighbors_for(AffinityKind::Entropic, perplexity).max(params.n_neighbors),
            })
        })
    }

    fn save(&self, archive: &mut Archive) {
        self.training.save(&self.objective(), archive);
        archive.put("placement/marginals", self.state.marginals[0].as_slice());
        archive.put("placement/map_marginals", self.state.marginals[1].as_slice());
        archive.put("placement/entropies", self.state.entropies.as_slice());
        if let Some(neighborhoods) = &self.state.neighborhoods {
            let starts: Vec<u64> = neighborhoods.indptr().iter().map(|&start| start as u64).collect();
            archive.put("placement/neighborhoods/indptr", starts);
            archive.put("placement/neighborhoods/indices", neighborhoods.indices());
        }
    }
}

impl MapItTransformer {
    fn objective(&self) -> MapItTransform<'_> {
        let params = &self.params;
        MapItTransform {
            map: self.embedding.points(),
            similarity: params.kernel,
            state: &self.state,
            k: params.n_neighbors,
            reach: params.reach,
            cost: (params.variant == MapItVariant::Objective).then_some(params.cost),
        }
    }

    /// Reads the neighborhoods of the training rows; fits of fewer than two rows have none.
    pub(super) fn load_neighborhoods(archive: &Archive, rows: usize) -> Result<Option<Csr>> {
        if rows < 2 {
            return Ok(None);
        }
        let starts = archive.sizes("placement/neighborhoods/indptr")?;
        let indices = archive.u32s("placement/neighborhoods/indices")?.to_vec();
        let ones = vec![1.0; indices.len()];
        let neighborhoods = Csr::new(starts, indices, ones, rows)?;
        if neighborhoods.rows() != rows {
            return Err(archive.invalid("its parts differ in size".into()));
        }
        Ok(Some(neighborhoods))
    }
}
