//! The transformer of the tractable latent variable model.

use lowland_algorithms::lvm::{LvmPointLoss, LvmState, LvmTransformOptions, LvmTransformOutput};
use lowland_core::archive::Archive;
use lowland_core::run::Progress;
use lowland_core::{Data, Error, Points, Result};
use lowland_neighbors::{IndexedRows, QuerySearch};
use lowland_trust::MapLoss;

use super::lvm::Lvm;
use crate::method::{TransformOutput, Transformer, numeric_rows_remedies};

/// The training rows and the fitted model.
pub struct LvmTransformer {
    pub(super) params: Lvm,
    pub(super) rows: IndexedRows,
    pub(super) state: LvmState,
    pub(super) std: Vec<f64>,
}

impl Transformer for LvmTransformer {
    fn save(&self, archive: &mut Archive) {
        self.rows.save("training", archive);
        self.state.save(archive);
        archive.put("lvm/std", self.std.as_slice());
    }

    fn std(&self) -> Option<Vec<f64>> {
        Some(self.std.clone())
    }

    /// Only if all rows were fitted.
    fn point_loss(&self) -> Option<MapLoss<'_>> {
        (self.params.n_components == 2 && self.std.len() == self.state.points())
            .then(|| MapLoss::Lvm(LvmPointLoss::new(&self.state, self.rows.data(), self.params.metric, self.options())))
    }

    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        self.place(new, QuerySearch::Indexed, progress)
    }

    fn transform_exactly(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        self.place(new, QuerySearch::Exact, progress)
    }

    fn inverse(&self, points: Points, progress: &mut Progress) -> Result<Option<Data>> {
        let data = self.rows.data();
        if let Data::Text(_) = data {
            let remedies = numeric_rows_remedies();
            return Err(Error::Kind { what: "the inverse", kind: "text", remedies });
        }
        let values = self.state.inverse_transform(points, self.params.n_neighbors, data, progress)?;
        Data::dense(values, data.dim()).map(Some)
    }
}

impl LvmTransformer {
    fn place(&self, new: &Data, search: QuerySearch, progress: &mut Progress) -> Result<TransformOutput> {
        let LvmTransformOutput { embedding, std } =
            self.state.transform(new, &self.rows, search, self.options(), progress)?;
        Ok(TransformOutput { std: Some(std), ..embedding.into() })
    }

    fn options(&self) -> LvmTransformOptions {
        LvmTransformOptions {
            n_neighbors: self.params.n_neighbors,
            reach: self.params.reach,
            adjacency: self.params.adjacent,
        }
    }
}
