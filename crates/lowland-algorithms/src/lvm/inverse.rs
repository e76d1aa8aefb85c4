//! The inverse transform: rows of the data for points of the map.

use rayon::prelude::*;

use super::state::LvmState;
use crate::dense_rows::copy_dense_row;
use crate::llx::affine_weights;
use lowland_core::run::Progress;
use lowland_core::{Data, Metric, Points, Result};
use lowland_neighbors::nearest_to_with;

/// Ridge of the weights, relative to the trace of their Gram matrix.
const RIDGE: f64 = 1e-3;

impl LvmState {
    /// Returns a row of the data for each point of the map: the rows of its `n_neighbors` nearest points, combined
    /// with the weights that combine their means to the point (Saul and Roweis 2003). `data` holds the training
    /// rows. The result is row-major.
    pub fn inverse_transform(
        &self,
        points: Points,
        n_neighbors: usize,
        data: &Data,
        progress: &mut Progress,
    ) -> Result<Vec<f32>> {
        let single =
            |values: &[f64], unit: f64| Data::dense(values.iter().map(|v| (v / unit) as f32).collect(), self.dim);
        let (targets, means) = (single(points.values(), self.unit)?, single(&self.means, 1.0)?);
        let k = n_neighbors.min(self.points());
        let graph = nearest_to_with(&targets, &means, k, Metric::Euclidean, progress)?;
        let columns = data.dim();
        let rows: Vec<Vec<f32>> = (0..points.rows())
            .into_par_iter()
            .map(|i| {
                let neighbors = graph.row(i).0;
                let target: Vec<f64> = points.row(i).iter().map(|v| v / self.unit).collect();
                let weights = self.reconstruction_weights(&target, neighbors);
                let (mut sum, mut row) = (vec![0.0; columns], vec![0.0; columns]);
                for (&j, weight) in neighbors.iter().zip(weights) {
                    copy_dense_row(data, j as usize, &mut row);
                    sum.iter_mut().zip(&row).for_each(|(sum, v)| *sum += weight * v);
                }
                sum.into_iter().map(|v| v as f32).collect()
            })
            .collect();
        Ok(rows.concat())
    }

    /// Returns the weights with sum one that combine the means of `neighbors` to the target in the least-squares
    /// sense, with a ridge penalty.
    fn reconstruction_weights(&self, target: &[f64], neighbors: &[u32]) -> Vec<f64> {
        let k = neighbors.len();
        let offset = |j: u32, c: usize| target[c] - self.means[j as usize * self.dim + c];
        let gram = (0..k * k)
            .map(|at| (0..self.dim).map(|c| offset(neighbors[at / k], c) * offset(neighbors[at % k], c)).sum())
            .collect();
        affine_weights(gram, &vec![RIDGE; k])
    }
}
