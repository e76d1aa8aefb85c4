//! The transformer of UMAP, which places new rows and computes rows for points of the map.

use rayon::prelude::*;

use lowland_algorithms::dense_rows::copy_dense_row;
use lowland_algorithms::density::LocalRadii;
use lowland_algorithms::llx::Llx;
use lowland_algorithms::umap::{FuzzyGraphParams, LayoutParams, UmapLoss, UmapTransform, fuzzy_graph};
use lowland_core::archive::Archive;
use lowland_core::message::Remedy;
use lowland_core::run::Progress;
use lowland_core::{Data, Embedding, Error, Metric, Points, Result, Seed};
use lowland_linalg::Csr;
use lowland_neighbors::{IndexedRows, NeighborGraph, NeighborParams, QuerySearch, nearest_with};
use lowland_trust::MapLoss;

use super::neighbor_embedding_transformer::save_radii;
use super::umap::{Affinity, Umap};
use crate::method::{Method, TransformOutput, Transformer};

/// Number of epochs for new rows. Their number of rows does not matter: each is placed on its own.
pub(super) const TRANSFORM_EPOCHS: usize = 100;
/// New rows start close to their place.
pub(super) const TRANSFORM_RATE: f64 = 0.25;

/// The training rows with their embedding.
pub struct UmapTransformer {
    pub(super) params: Umap,
    pub(super) rows: IndexedRows,
    pub(super) embedding: Embedding,
    pub(super) mean_distance: f64,
    pub(super) seed: Seed,
    /// Local radii, if density is preserved.
    pub(super) radii: Option<LocalRadii>,
}

impl Transformer for UmapTransformer {
    fn transform(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        self.place(new, QuerySearch::Indexed, progress)
    }

    fn transform_exactly(&self, new: &Data, progress: &mut Progress) -> Result<TransformOutput> {
        self.place(new, QuerySearch::Exact, progress)
    }

    /// Combines the rows of the nearest points of the map with the weights that reproduce the position best, and sum to one.
    fn inverse(&self, points: Points, progress: &mut Progress) -> Result<Option<Data>> {
        let data = self.rows.data();
        if let Data::Text(_) = data {
            let remedies = vec![Remedy::Other("fit numeric rows")];
            return Err(Error::Kind { what: "the inverse of umap", kind: "text", remedies });
        }
        if self.params.metric == Metric::Precomputed {
            let allowed = "the inverse combines rows, of which only distances are known".into();
            return Err(Error::Parameter { name: "metric", value: self.params.metric.to_string(), allowed });
        }
        let as_rows = |points: Points| {
            let values = points.values().iter().map(|&v| v as f32).collect();
            Data::dense(values, points.dim())
        };
        let llx = Llx::affine(points.dim(), Metric::Euclidean);
        let weights = llx.weights_of_new_rows(&as_rows(points)?, &as_rows(self.embedding.points())?, progress)?;
        let dim = data.dim();
        let mut values = vec![0.0f32; points.rows() * dim];
        values.par_chunks_mut(dim.max(1)).enumerate().for_each(|(i, out)| {
            let (mut sum, mut row) = (vec![0.0f64; dim], vec![0.0f64; dim]);
            let (columns, weights) = weights.row(i);
            for (&j, weight) in columns.iter().zip(weights) {
                copy_dense_row(data, j as usize, &mut row);
                sum.iter_mut().zip(&row).for_each(|(sum, v)| *sum += weight * v);
            }
            out.iter_mut().zip(sum).for_each(|(out, v)| *out = v as f32);
        });
        Data::dense(values, dim).map(Some)
    }

    fn membership_graph(&self, known: Option<&NeighborGraph>, progress: &mut Progress) -> Result<Option<Csr>> {
        let (params, data) = (&self.params, self.rows.data());
        let n = data.rows();
        if params.affinity == Affinity::Precomputed || n < 2 {
            return Ok(None);
        }
        let k = params.required_neighbors(n);
        let graph = match known.filter(|graph| graph.min_degree() >= k) {
            Some(graph) => graph.truncate(k),
            None => {
                let seed = self.seed.stream("neighbors");
                let search = NeighborParams { n_neighbors: k, metric: params.metric, search: params.search, seed };
                nearest_with(data, &search, progress)?.graph
            }
        };
        let Umap { local_connectivity, set_op_mix_ratio, .. } = *params;
        fuzzy_graph(&graph, FuzzyGraphParams { local_connectivity, set_op_mix_ratio }).map(Some)
    }

    fn point_loss(&self) -> Option<MapLoss<'_>> {
        let (params, n) = (&self.params, self.embedding.rows());
        if self.embedding.dim() != 2 || n < 2 {
            return None;
        }
        Some(MapLoss::Umap(UmapLoss {
            map: self.embedding.points(),
            curve: params.curve().ok()?,
            repulsion: params.repulsion_strength,
            negative_samples: params.negative_sample_rate,
            n_neighbors: params.required_neighbors(n),
            local_connectivity: params.local_connectivity,
            mean_distance: self.mean_distance,
        }))
    }

    fn save(&self, archive: &mut Archive) {
        self.rows.save("training", archive);
        archive.put("placement/mean_distance", [self.mean_distance].as_slice());
        archive.put("placement/seed", vec![self.seed.0]);
        save_radii(self.radii.as_ref(), archive);
    }

    fn local_radii(&self) -> Option<&LocalRadii> {
        self.radii.as_ref()
    }
}

impl UmapTransformer {
    fn place(&self, new: &Data, search: QuerySearch, progress: &mut Progress) -> Result<TransformOutput> {
        let n = self.rows.data().rows();
        let k = self.params.n_neighbors.min(n);
        let graph = self.rows.nearest(new, k, search, &mut |done| progress(0.7 * done))?;
        let epochs = self.params.n_epochs.value().map_or(TRANSFORM_EPOCHS, |epochs| epochs.div_ceil(3));
        let params = self.params.layout_params(n, self.seed)?;
        let transform = UmapTransform {
            map: self.embedding.points(),
            params: LayoutParams { epochs, learning_rate: TRANSFORM_RATE * self.params.learning_rate, ..params },
            local_connectivity: self.params.local_connectivity,
            mean_distance: self.mean_distance,
        };
        let coordinates = transform.coordinates(&graph, &mut |done| progress(0.7 + 0.3 * done))?;
        Ok(Embedding::new(coordinates, self.embedding.dim())?.into())
    }
}
