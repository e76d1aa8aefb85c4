//! The transform of new rows, with everything else fixed.
//!
//! A new point with `k` neighbors among the fitted ones adds a node to the graph. Given everything else, its row is
//! normal with mean `1/k sum_j [y_j + (C_j + C)(x - x_j) / 2]` and precision `2 gamma k`; its latent coordinates
//! have the precision `alpha + 2 k` and a mean near that of its neighbors; its map has the precision `2 k` and the
//! mean of theirs. The latent coordinates and maps of the neighbors have the posterior of the fit, including its
//! covariances.

use super::posterior::{PointCovariance, Posterior, average_std};
use super::problem::ScaledRows;
use lowland_core::run::{Progress, in_batches};
use lowland_core::{Data, Embedding, Result};
use lowland_linalg::dense::Cholesky;
use lowland_neighbors::NeighborGraph;

/// The posterior of new rows.
#[derive(Debug, Clone, PartialEq)]
pub struct LllvmTransformOutput {
    /// The means of their latent coordinates.
    pub embedding: Embedding,
    /// The covariance of each, `dim x dim`.
    pub covariances: Vec<f64>,
}

impl LllvmTransformOutput {
    /// The standard deviation of each point, averaged over the coordinates.
    pub fn std(&self) -> Vec<f64> {
        average_std(&self.covariances, self.embedding.dim())
    }
}

/// Maximum number of alternations between the latent coordinates and the map of a new point; most need about ten.
const MAX_ROUNDS: usize = 50;
/// A new point has converged when it moves by less than this fraction of its standard deviation.
const TOLERANCE: f64 = 1e-4;

impl Posterior {
    /// Computes `q(x)` and `q(C)` of new rows, each given only the fit. `graph` holds their neighbors among the
    /// fitted `rows`.
    pub fn transform(
        &self,
        new: &Data,
        rows: &ScaledRows,
        graph: &NeighborGraph,
        progress: &mut Progress,
    ) -> Result<LllvmTransformOutput> {
        let one = |i: usize| self.fit_new_row(&rows.scale_row(new, i), rows, graph.row(i).0);
        let results = in_batches(new.rows(), progress, one)?;
        let means = results.iter().flat_map(|(mean, _)| mean).copied().collect();
        let embedding = Embedding::new(means, self.hyperparameters.dim)?;
        Ok(LllvmTransformOutput {
            embedding,
            covariances: results.into_iter().flat_map(|(_, covariance)| covariance).collect(),
        })
    }

    /// Column `r` of the mean of the map of point `j`.
    pub(super) fn map_column(&self, r: usize, j: usize) -> &[f32] {
        let row = r * self.n + j;
        &self.maps[row * self.columns..(row + 1) * self.columns]
    }

    /// Returns the mean and the covariance of the latent coordinates of a row, which has the scaling of `rows`.
    pub(super) fn fit_new_row(&self, row: &[f64], rows: &ScaledRows, near: &[u32]) -> (Vec<f64>, Vec<f64>) {
        let (dim, columns, gamma) = (self.hyperparameters.dim, self.columns, self.hyperparameters.gamma);
        let neighbors = NeighborMoments::new(self, rows, near);
        let (k, column_count) = (near.len() as f64, columns as f64);
        let residual: Vec<f64> = row.iter().zip(&neighbors.row_mean).map(|(y, mean)| y - mean).collect();
        let (mut maps, mut map_covariance) = (neighbors.map_mean.clone(), neighbors.average_map_covariance.clone());
        let (mut latent, mut covariance) = (neighbors.latent_mean.clone(), vec![0.0; dim * dim]);
        for _ in 0..MAX_ROUNDS {
            let previous = std::mem::take(&mut latent);
            // q(x): the maps of the point and of its neighbors add up.
            let both: Vec<f64> = maps.iter().zip(&neighbors.map_mean).map(|(own, mean)| own + mean).collect();
            let own = gram(&maps, &maps, dim);
            let mean_own = gram(&neighbors.map_mean, &maps, dim);
            let mut precision = gram(&both, &both, dim);
            let mut linear_term = vec![0.0; dim];
            for r in 0..dim {
                for s in 0..dim {
                    let at = r * dim + s;
                    precision[at] = 0.5
                        * gamma
                        * k
                        * (precision[at] + column_count * (neighbors.map_mean_covariance[at] + map_covariance[at]));
                    let shared = mean_own[at] + own[at] + column_count * map_covariance[at];
                    linear_term[r] += 0.5 * gamma * k * shared * neighbors.latent_mean[s];
                }
                precision[r * (dim + 1)] += self.hyperparameters.alpha + 2.0 * k;
                let (map, residuals) = (&both[r * columns..(r + 1) * columns], &residual);
                let along: f64 = map.iter().zip(residuals).map(|(c, y)| c * y).sum();
                let map = &maps[r * columns..(r + 1) * columns];
                let mapped: f64 = map.iter().zip(&neighbors.mapped_latents).map(|(c, v)| c * v).sum();
                linear_term[r] += 2.0 * k * neighbors.latent_mean[r]
                    + gamma * k * along
                    + 0.5 * gamma * (neighbors.linear_term[r] + mapped);
            }
            // The row is so far from all others that the precision is lost: it keeps its last position.
            let Ok(found) = Cholesky::new(&precision, dim) else {
                latent = previous;
                break;
            };
            covariance = found.inverse();
            latent = multiply(&covariance, &linear_term, dim);
            let change: f64 = latent.iter().zip(&previous).map(|(a, b)| (a - b).powi(2)).sum();
            let size: f64 = covariance.iter().step_by(dim + 1).sum();
            if change <= TOLERANCE * TOLERANCE * size {
                break;
            }
            // q(C): the map's side of the same mean, with the offset from the neighbors' mean latent coordinates.
            let offset: Vec<f64> = latent.iter().zip(&neighbors.latent_mean).map(|(x, mean)| x - mean).collect();
            let mut precision = vec![0.0; dim * dim];
            let mut map_linear_term = vec![0.0; dim * columns];
            for r in 0..dim {
                let map_linear_term = &mut map_linear_term[r * columns..(r + 1) * columns];
                for s in 0..dim {
                    let at = r * dim + s;
                    precision[at] = 0.5
                        * gamma
                        * k
                        * (covariance[at] + neighbors.latent_mean_covariance[at] + offset[r] * offset[s]);
                    let moment = covariance[at] + latent[s] * offset[r];
                    let map = &neighbors.map_mean[s * columns..(s + 1) * columns];
                    map_linear_term.iter_mut().zip(map).for_each(|(p, c)| *p -= 0.5 * gamma * k * moment * c);
                }
                precision[r * (dim + 1)] += 2.0 * k;
                let (map, cross) = (&neighbors.map_mean[r * columns..], &neighbors.cross_covariance[r * columns..]);
                for c in 0..columns {
                    let mapped = offset[r] * neighbors.mapped_latents[c] - cross[c];
                    map_linear_term[c] += 2.0 * k * map[c] + gamma * k * offset[r] * residual[c] + 0.5 * gamma * mapped;
                }
            }
            let Ok(found) = Cholesky::new(&precision, dim) else { break };
            map_covariance = found.inverse();
            for c in 0..columns {
                for r in 0..dim {
                    let row = &map_covariance[r * dim..(r + 1) * dim];
                    maps[r * columns + c] =
                        row.iter().enumerate().map(|(s, v)| v * map_linear_term[s * columns + c]).sum();
                }
            }
        }
        (latent, covariance)
    }
}

/// Moments of the posterior over the neighbors of a new point.
struct NeighborMoments {
    /// The mean of their rows.
    row_mean: Vec<f64>,
    /// The mean of their latent coordinates.
    latent_mean: Vec<f64>,
    /// The covariance of that mean.
    latent_mean_covariance: Vec<f64>,
    /// The mean of their maps, column by column.
    map_mean: Vec<f64>,
    /// The covariance of that mean.
    map_mean_covariance: Vec<f64>,
    /// The mean of the covariances of their maps.
    average_map_covariance: Vec<f64>,
    /// `sum_j E[mean map' C_j] x_j`.
    linear_term: Vec<f64>,
    /// `sum_j C_j x_j`.
    mapped_latents: Vec<f64>,
    /// Row `r`: `sum_js C_j[s] cov(x_j[s], mean x[r])`.
    cross_covariance: Vec<f64>,
}

impl NeighborMoments {
    fn new(posterior: &Posterior, rows: &ScaledRows, near: &[u32]) -> Self {
        let (n, dim, columns) = (posterior.n, posterior.hyperparameters.dim, posterior.columns);
        let k = near.len() as f64;
        let mut neighbors = Self {
            row_mean: vec![0.0; columns],
            latent_mean: vec![0.0; dim],
            latent_mean_covariance: vec![0.0; dim * dim],
            map_mean: vec![0.0; dim * columns],
            map_mean_covariance: vec![0.0; dim * dim],
            average_map_covariance: vec![0.0; dim * dim],
            linear_term: vec![0.0; dim],
            mapped_latents: vec![0.0; columns],
            cross_covariance: vec![0.0; dim * columns],
        };
        for &j in near {
            let j = j as usize;
            add_scaled(&mut neighbors.row_mean, 1.0 / k, rows.row(j));
            add_scaled(&mut neighbors.latent_mean, 1.0 / k, &posterior.latents[j * dim..(j + 1) * dim]);
            for r in 0..dim {
                let (map, latent) = (posterior.map_column(r, j), posterior.latents[j * dim + r]);
                let mean = &mut neighbors.map_mean[r * columns..(r + 1) * columns];
                for ((mean, mapped), &c) in mean.iter_mut().zip(&mut neighbors.mapped_latents).zip(map) {
                    *mean += f64::from(c) / k;
                    *mapped += f64::from(c) * latent;
                }
            }
        }
        // Covariances with the mean over the neighbors, for each neighbor in turn.
        for &j in near {
            let j = j as usize;
            for r in 0..dim {
                for s in 0..dim {
                    let (a, at) = (s * n + j, r * dim + s);
                    let with_mean = |covariance: &PointCovariance| {
                        near.iter().map(|&l| covariance.get(r * n + l as usize, a)).sum::<f64>() / k
                    };
                    let (maps, latents) =
                        (with_mean(&posterior.map_covariance), with_mean(&posterior.latent_covariance));
                    neighbors.map_mean_covariance[at] += maps / k;
                    neighbors.latent_mean_covariance[at] += latents / k;
                    neighbors.average_map_covariance[at] += posterior.map_covariance.get(r * n + j, a) / k;
                    neighbors.linear_term[r] += columns as f64 * maps * posterior.latents[j * dim + s];
                    let cross = &mut neighbors.cross_covariance[r * columns..(r + 1) * columns];
                    let map = posterior.map_column(s, j);
                    cross.iter_mut().zip(map).for_each(|(v, &c)| *v += latents * f64::from(c));
                }
            }
        }
        for r in 0..dim {
            let mean = &neighbors.map_mean[r * columns..(r + 1) * columns];
            neighbors.linear_term[r] += mean.iter().zip(&neighbors.mapped_latents).map(|(c, v)| c * v).sum::<f64>();
        }
        neighbors
    }
}

/// `out += factor values`.
pub(super) fn add_scaled(out: &mut [f64], factor: f64, values: &[f64]) {
    out.iter_mut().zip(values).for_each(|(out, v)| *out += factor * v);
}

/// `a b'` for `dim` rows each.
fn gram(a: &[f64], b: &[f64], dim: usize) -> Vec<f64> {
    let columns = a.len() / dim;
    let entry = |at: usize| {
        let (a, b) = (&a[at / dim * columns..], &b[at % dim * columns..]);
        a[..columns].iter().zip(&b[..columns]).map(|(a, b)| a * b).sum()
    };
    (0..dim * dim).map(entry).collect()
}

/// The product of a square matrix and a vector.
fn multiply(matrix: &[f64], vector: &[f64], dim: usize) -> Vec<f64> {
    matrix.chunks_exact(dim).map(|row| row.iter().zip(vector).map(|(m, v)| m * v).sum()).collect()
}
