//! Local tangent space alignment (Zhang & Zha 2004): the tangent coordinates of each neighborhood, aligned.

use lowland_algorithms::dense_rows::copy_dense_row;
use lowland_algorithms::llx::Llx;
use lowland_core::archive::Archive;
use lowland_core::params::{at_least_one, invalid_parameter, params};
use lowland_core::run::{Context, Stage, in_batches};
use lowland_core::{Data, DataShape, Metric, Result};
use lowland_linalg::Csr;
use lowland_linalg::dense::{eigh, power_of_two_near, product_nt};
use lowland_neighbors::{NeighborGraph, Search};

use super::bottom_eigenvectors::{fit, memory, stages};
use crate::landmarks::LlxTransformer;
use crate::method::{FitInput, FitOutput, Method};

params! {
    /// Local tangent space alignment.
    pub struct Ltsa {
    /// Number of dimensions of the embedding.
        n_components: usize = 2,
        /// Number of neighbors of each point, not counting the point itself; more than n_components.
        n_neighbors: usize = 12,
    /// Distance metric between rows.
        metric: Metric = Metric::Euclidean,
        /// Algorithm of the neighbor search.
        search: Search = Search::Auto,
    }
}

/// Regularization of the weights of training rows when new rows are transformed.
const TRANSFORM_REGULARIZATION: f64 = 1e-3;

impl Method for Ltsa {
    const NAME: &'static str = "ltsa";
    const CLASS_NAME: &'static str = "LTSA";
    const SUMMARY: &'static str =
        "Local tangent space alignment: the tangent coordinates of all neighborhoods, aligned.";
    const ADVICE: &'static str = "A classic method for one smooth, well-sampled manifold; more stable than lle where the manifold is curved. Useful for comparison with newer methods.";
    type Transformer = LlxTransformer;

    fn validate(&self) -> Result<()> {
        at_least_one("n_components", self.n_components)?;
        if self.n_neighbors <= self.n_components {
            return invalid_parameter("n_neighbors", &self.n_neighbors, "more than n_components");
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

impl Ltsa {
    fn llx(&self) -> Llx {
        Llx {
            n_neighbors: self.n_neighbors,
            metric: self.metric,
            affine: true,
            ridge: TRANSFORM_REGULARIZATION,
            search: self.search,
        }
    }

    /// Returns the sum of the alignment costs of all neighborhoods.
    pub(super) fn matrix(&self, data: &Data, graph: &NeighborGraph, context: &mut Context) -> Result<Csr> {
        let n = graph.rows();
        let mut has_neighborhood = vec![false; n];
        graph.indices().iter().for_each(|&j| has_neighborhood[j as usize] = true);
        let parts = context.with_progress(|progress| {
            in_batches(n, progress, |i| {
                let mut near = graph.row(i).0.to_vec();
                // A point that is in no neighborhood would be undetermined, so it is added to its own.
                if !has_neighborhood[i] {
                    near.push(i as u32);
                }
                alignment_cost(data, &near, self.n_components)
            })
        })?;
        Csr::from_triplets(n, n, parts.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten())
    }
}

/// Returns the cost of coordinates of a neighborhood that are not an affine map of its tangent coordinates: `I - G G'`,
/// where `G` contains the constant vector and the top left singular vectors of the centered neighbors.
fn alignment_cost(data: &Data, near: &[u32], dim: usize) -> Result<Vec<(u32, u32, f64)>> {
    let (k, columns) = (near.len(), data.dim());
    let mut rows = vec![0.0; k * columns];
    rows.chunks_exact_mut(columns.max(1)).zip(near).for_each(|(row, &j)| copy_dense_row(data, j as usize, row));
    let means = lowland_linalg::block::column_means(&rows, columns);
    rows.chunks_exact_mut(columns.max(1)).for_each(|row| row.iter_mut().zip(&means).for_each(|(v, m)| *v -= m));
    // Scaled so that squares neither overflow nor underflow.
    let unit = power_of_two_near(rows.iter().fold(0.0f64, |m, v| m.max(v.abs())));
    rows.iter_mut().for_each(|v| *v /= unit);
    let mut gram = vec![0.0; k * k];
    product_nt(&rows, &rows, columns, &mut gram);
    let (values, vectors) = eigh(&gram, k)?;
    let tangent = |i: usize, c: usize| vectors[i * k + k - 1 - c];
    // If the neighbors span fewer dimensions, the remaining vectors are arbitrary and may include the constant one.
    let spanned = values.iter().rev().take(dim).take_while(|&&value| value > 1e-12 * values[k - 1]).count();
    let mut out = Vec::with_capacity(k * k);
    for i in 0..k {
        for j in 0..k {
            let shared: f64 = (0..spanned).map(|c| tangent(i, c) * tangent(j, c)).sum();
            out.push((near[i], near[j], f64::from(u8::from(i == j)) - 1.0 / k as f64 - shared));
        }
    }
    Ok(out)
}
