//! Locally linear embedding (Roweis & Saul 2000): each point is the same combination of its neighbors in the embedding.

use lowland_algorithms::llx::Llx;
use lowland_core::archive::Archive;
use lowland_core::params::{at_least_one, invalid_parameter, params};
use lowland_core::run::{Context, Stage};
use lowland_core::{Data, DataShape, Metric, Result};
use lowland_linalg::Csr;
use lowland_neighbors::{NeighborGraph, Search};

use super::bottom_eigenvectors::{fit, memory, stages};
use crate::landmarks::LlxTransformer;
use crate::method::{FitInput, FitOutput, Method};

params! {
    /// Locally linear embedding.
    pub struct Lle {
    /// Number of dimensions of the embedding.
        n_components: usize = 2,
        /// Number of neighbors of each point, not counting the point itself.
        n_neighbors: usize = 12,
    /// Distance metric between rows.
        metric: Metric = Metric::Euclidean,
        /// Algorithm of the neighbor search.
        search: Search = Search::Auto,
        /// Regularization of the weights, relative to the squared distances of the neighbors.
        reg: f64 = 1e-3,
    }
}

impl Method for Lle {
    const NAME: &'static str = "lle";
    const CLASS_NAME: &'static str = "LocallyLinearEmbedding";
    const SUMMARY: &'static str = "Locally linear embedding: each point is the same combination of its neighbors in the embedding as in the data.";
    const ADVICE: &'static str = "A classic method for one smooth, well-sampled manifold. Fast, but embeddings are often squeezed and do not show \
        clusters. Useful for comparison with newer methods.";
    type Transformer = LlxTransformer;

    fn validate(&self) -> Result<()> {
        at_least_one("n_components", self.n_components)?;
        at_least_one("n_neighbors", self.n_neighbors)?;
        if !(self.reg > 0.0 && self.reg.is_finite()) {
            return invalid_parameter("reg", &self.reg, "a positive number");
        }
        Ok(())
    }

    fn n_components(&self) -> usize {
        self.n_components
    }

    fn metric(&self) -> Option<Metric> {
        Some(self.metric)
    }

    fn stages(&self, shape: DataShape) -> Vec<Stage> {
        stages(shape, self.n_neighbors)
    }

    fn memory(&self, shape: DataShape) -> u64 {
        memory(shape, self.n_neighbors, self.n_components, self.metric, self.search)
    }

    fn required_neighbors(&self, rows: usize) -> usize {
        self.n_neighbors.min(rows.saturating_sub(1))
    }

    fn fit_with_context(&self, input: FitInput, context: &mut Context) -> Result<FitOutput<LlxTransformer>> {
        fit(self.llx(), self.n_components, input, context, |graph, context| self.matrix(input.data, graph, context))
    }

    fn load(&self, archive: &Archive, dim: usize) -> Result<LlxTransformer> {
        LlxTransformer::load(self.llx(), archive, dim)
    }
}

impl Lle {
    fn llx(&self) -> Llx {
        Llx { n_neighbors: self.n_neighbors, metric: self.metric, affine: true, ridge: self.reg, search: self.search }
    }

    /// Returns `(I - W)'(I - W)`, where `W` contains the weights of each row's neighbors.
    pub(super) fn matrix(&self, data: &Data, graph: &NeighborGraph, context: &mut Context) -> Result<Csr> {
        let weights = context.with_progress(|progress| self.llx().weights_on_graph(data, graph, progress))?;
        let entries = (0..weights.rows()).flat_map(|i| {
            let (near, values) = weights.row(i);
            let row: Vec<(u32, f64)> =
                near.iter().copied().zip(values.iter().map(|w| -w)).chain([(i as u32, 1.0)]).collect();
            outer_product(&row)
        });
        Csr::from_triplets(weights.rows(), weights.rows(), entries)
    }
}

/// Returns the outer product of a sparse vector with itself.
fn outer_product(row: &[(u32, f64)]) -> Vec<(u32, u32, f64)> {
    row.iter().flat_map(|&(i, a)| row.iter().map(move |&(j, b)| (i, j, a * b))).collect()
}
