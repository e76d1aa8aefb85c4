//! The inverse transform: rows of the data for points of the map.

use super::posterior::Posterior;
use super::problem::ScaledRows;
use super::transform::add_scaled;
use lowland_core::run::{Progress, in_batches};
use lowland_core::{Data, Metric, Points, Result};
use lowland_neighbors::nearest_to_with;

/// Rows of the data for points of the map.
#[derive(Debug, Clone, PartialEq)]
pub struct Reconstruction {
    /// The rows, in the units of the data.
    pub rows: Vec<f32>,
    /// The standard deviation of every value, in the units of the data.
    pub std: Vec<f32>,
}

impl Posterior {
    /// Returns rows of the data for points of the map: the mean of `y_i + C_i (x - x_i)` over the `n_neighbors`
    /// nearest points, with the standard deviation that follows from their posterior and the precision of the data.
    pub fn inverse_transform(
        &self,
        points: Points,
        rows: &ScaledRows,
        n_neighbors: usize,
        progress: &mut Progress,
    ) -> Result<Reconstruction> {
        let single = |values: &[f64]| Data::dense(values.iter().map(|&v| v as f32).collect(), self.hyperparameters.dim);
        let (targets, latents) = (single(points.values())?, single(&self.latents)?);
        let k = n_neighbors.min(self.n);
        let graph = nearest_to_with(&targets, &latents, k, Metric::Euclidean, &mut |done| progress(0.2 * done))?;
        let one = |i: usize| self.reconstruct_row(points.row(i), rows, graph.row(i).0);
        let reconstructed = in_batches(points.rows(), &mut |done| progress(0.2 + 0.8 * done), one)?;
        let (mut values, mut std) = (Vec::new(), Vec::new());
        for (one, error) in reconstructed {
            values.extend(one);
            std.extend(error);
        }
        Ok(Reconstruction { rows: values, std })
    }

    fn reconstruct_row(&self, point: &[f64], rows: &ScaledRows, near: &[u32]) -> (Vec<f32>, Vec<f32>) {
        let (dim, columns, k) = (self.hyperparameters.dim, self.columns, near.len() as f64);
        let entries: Vec<(usize, usize)> = near.iter().flat_map(|&j| (0..dim).map(move |r| (j as usize, r))).collect();
        let step: Vec<f64> = entries.iter().map(|&(j, r)| point[r] - self.latents[j * dim + r]).collect();
        let index = |(j, r): (usize, usize)| r * self.n + j;
        // The part shared by all columns: noise, the covariance of the maps at these steps, and both covariances
        // together.
        let mut shared = 0.5 / (self.hyperparameters.gamma * k);
        for (a, &here) in entries.iter().enumerate() {
            for (b, &there) in entries.iter().enumerate() {
                let maps = self.map_covariance.get(index(here), index(there));
                let latents = self.latent_covariance.get(index(here), index(there));
                shared += maps * (step[a] * step[b] + latents) / (k * k);
            }
        }
        let (mut mean, mut own) = (vec![0.0; columns], vec![0.0; columns]);
        near.iter().for_each(|&j| add_scaled(&mut mean, 1.0 / k, rows.row(j as usize)));
        for (a, &here) in entries.iter().enumerate() {
            let map = self.map_column(here.1, here.0);
            mean.iter_mut().zip(map).for_each(|(m, &c)| *m += step[a] / k * f64::from(c));
            for &there in &entries {
                let latents = self.latent_covariance.get(index(here), index(there)) / (k * k);
                let other = self.map_column(there.1, there.0);
                own.iter_mut().zip(map.iter().zip(other)).for_each(|(v, (&p, &q))| *v += latents * f64::from(p * q));
            }
        }
        let units: Vec<f64> = rows.column_scales.iter().map(|s| rows.scale / s).collect();
        let value = |((m, center), unit): ((&f64, &f64), &f64)| (center + unit * m) as f32;
        let error = |(own, unit): (&f64, &f64)| (unit * (shared + own).max(0.0).sqrt()) as f32;
        (mean.iter().zip(&rows.center).zip(&units).map(value).collect(), own.iter().zip(&units).map(error).collect())
    }
}
