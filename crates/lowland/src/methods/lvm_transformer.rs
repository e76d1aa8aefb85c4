//! The transformer of the tractable latent variable model.

use lowland_algorithms::lvm::{LvmState, LvmTransformOptions, LvmTransformOutput};
use lowland_core::archive::Archive;
use lowland_core::run::Progress;
use lowland_core::{Data, Error, Points, Result};

use super::lvm::Lvm;
use crate::method::{TransformOutput, Transformer, numeric_rows_remedies};

/// The training rows and the fitted model.
pub struct LvmTransformer {
    pub(super) params: Lvm,
    pub(super) data: Data,
    pub(super) state: LvmState,
    pub(super) std: Vec<f64>,
}

impl Transformer for LvmTransformer {
    fn save(&self, archive: &mut Archive) {
        self.data.save("training", archive);
        self.state.save(archive);
        archive.put("lvm/std", self.std.as_slice());
    }

    fn std(&self) -> Option<Vec<f64>> {
        Some(self.std.clone())
    }

    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        let options = LvmTransformOptions {
            metric: self.params.metric,
            n_neighbors: self.params.n_neighbors,
            reach: self.params.reach,
            adjacency: self.params.adjacent,
        };
        let LvmTransformOutput { embedding, std } = self.state.transform(new, &self.data, options, progress)?;
        Ok(TransformOutput { std: Some(std), ..embedding.into() })
    }

    fn inverse(&self, points: Points, progress: &mut Progress) -> Result<Option<Data>> {
        if let Data::Text(_) = self.data {
            let remedies = numeric_rows_remedies();
            return Err(Error::Kind { what: "the inverse", kind: "text", remedies });
        }
        let values = self.state.inverse_transform(points, self.params.n_neighbors, &self.data, progress)?;
        Data::dense(values, self.data.dim()).map(Some)
    }
}
