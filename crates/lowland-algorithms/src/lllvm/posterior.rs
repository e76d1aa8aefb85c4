//! The fitted posterior: uncertainties, samples, and the saved state of a model.

use std::sync::Arc;

use rayon::prelude::*;

use super::low_rank::{LowRankBasis, LowRankCovariance};

use lowland_core::archive::Archive;
use lowland_core::{Embedding, Result, Seed};
use lowland_linalg::dense::Cholesky;

/// A symmetric matrix in single precision: its upper triangle, row by row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PackedSymmetric {
    side: usize,
    values: Vec<f32>,
}

impl PackedSymmetric {
    pub fn new(matrix: &[f64], side: usize) -> Self {
        let rows = matrix.chunks_exact(side.max(1)).enumerate();
        Self { side, values: rows.flat_map(|(a, row)| row[a..].iter().map(|&v| v as f32)).collect() }
    }

    pub fn get(&self, a: usize, b: usize) -> f64 {
        let (a, b) = (a.min(b), a.max(b));
        // Rows before a have side, side - 1, ... entries.
        f64::from(self.values[a * (2 * self.side + 1 - a) / 2 + b - a])
    }

    fn load(name: &str, archive: &Archive, side: usize) -> Result<Self> {
        let values = archive.f32s(name)?.to_vec();
        let fits = side.checked_mul(side + 1).is_some_and(|twice| values.len() == twice / 2);
        let good = fits && values.iter().all(|v| v.is_finite());
        let packed = Self { side, values };
        if good && (0..side).all(|a| packed.get(a, a) >= 0.0) {
            return Ok(packed);
        }
        Err(archive.invalid(format!("'{name}' is not a covariance")))
    }
}

/// A covariance between all points, coordinate by coordinate.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PointCovariance {
    /// All entries.
    Full(PackedSymmetric),
    /// Low rank, plus a multiple of the prior.
    LowRank(LowRankCovariance),
}

impl PointCovariance {
    /// The entry of two coordinates.
    pub fn get(&self, a: usize, b: usize) -> f64 {
        match self {
            Self::Full(packed) => packed.get(a, b),
            Self::LowRank(covariance) => covariance.get(a, b),
        }
    }

    /// The product with a vector.
    fn multiply(&self, vector: &[f64]) -> Result<Vec<f64>> {
        let side = vector.len();
        match self {
            Self::Full(packed) => {
                let row = |a: usize| (0..side).map(|b| packed.get(a, b) * vector[b]).sum();
                Ok((0..side).into_par_iter().map(row).collect())
            }
            Self::LowRank(covariance) => covariance.multiply(vector),
        }
    }
}

/// The hyperparameters of a posterior, and its bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hyperparameters {
    /// Number of dimensions of the map.
    pub dim: usize,
    /// The precision of the data.
    pub gamma: f64,
    /// The precision of the prior of the latent coordinates.
    pub alpha: f64,
    /// The bound on the evidence.
    pub bound: f64,
}

/// Gaussian posteriors of the latent coordinates and of the maps. The covariance of the latent coordinates is
/// conditional on their common mean, which the data do not determine.
#[derive(Debug, Clone, PartialEq)]
pub struct Posterior {
    pub(super) hyperparameters: Hyperparameters,
    pub(super) n: usize,
    pub(super) columns: usize,
    /// The means of the latent coordinates, point by point.
    pub(super) latents: Vec<f64>,
    /// The means of the maps: row `r n + i` is column `r` of `C_i`.
    pub(super) maps: Vec<f32>,
    pub(super) latent_covariance: PointCovariance,
    pub(super) map_covariance: PointCovariance,
    /// The covariance of each point's latent coordinates, with rotations of the whole map removed as well.
    point_covariances: Vec<f64>,
}

impl Posterior {
    /// Builds the posterior from means and covariances, coordinate by coordinate.
    pub(super) fn new(
        hyperparameters: Hyperparameters,
        latents: &[f64],
        latent_covariance: &[f64],
        maps: &[f64],
        map_covariance: &[f64],
    ) -> Result<Self> {
        let side = latents.len();
        let n = side / hyperparameters.dim;
        let mut centered = latent_covariance.to_vec();
        remove_translation(&mut centered, n);
        let full = |covariance: &[f64]| PointCovariance::Full(PackedSymmetric::new(covariance, side));
        Self::assemble(hyperparameters, latents, full(&centered), maps, full(map_covariance))
    }

    /// Builds the posterior from means of all points and low-rank covariances; the one of the latent coordinates is centered.
    pub(super) fn low_rank(
        hyperparameters: Hyperparameters,
        latents: &[f64],
        latent_covariance: LowRankCovariance,
        maps: &[f64],
        map_covariance: LowRankCovariance,
    ) -> Result<Self> {
        let [latent_covariance, map_covariance] = [latent_covariance, map_covariance].map(PointCovariance::LowRank);
        Self::assemble(hyperparameters, latents, latent_covariance, maps, map_covariance)
    }

    fn assemble(
        hyperparameters: Hyperparameters,
        latents: &[f64],
        latent_covariance: PointCovariance,
        maps: &[f64],
        map_covariance: PointCovariance,
    ) -> Result<Self> {
        let (side, dim) = (latents.len(), hyperparameters.dim);
        let n = side / dim;
        let mut posterior = Self {
            hyperparameters,
            n,
            columns: maps.len() / side,
            latents: (0..side).map(|at| latents[at % dim * n + at / dim]).collect(),
            maps: maps.iter().map(|&v| v as f32).collect(),
            latent_covariance,
            map_covariance,
            point_covariances: Vec::new(),
        };
        posterior.point_covariances = posterior.compute_point_covariances()?;
        Ok(posterior)
    }

    /// The posterior of equal rows: all points coincide, without uncertainty.
    pub fn constant(n: usize, columns: usize, dim: usize) -> Self {
        let side = n * dim;
        let zeros = PointCovariance::Full(PackedSymmetric { side, values: vec![0.0; side * (side + 1) / 2] });
        Self {
            hyperparameters: Hyperparameters { dim, gamma: 1.0, alpha: 1.0, bound: 0.0 },
            n,
            columns,
            latents: vec![0.0; side],
            maps: vec![0.0; side * columns],
            latent_covariance: zeros.clone(),
            map_covariance: zeros,
            point_covariances: vec![0.0; side * dim],
        }
    }

    /// The means of the latent coordinates.
    pub fn embedding(&self) -> Embedding {
        Embedding::new(self.latents.clone(), self.hyperparameters.dim).expect("whole rows")
    }

    /// The covariance of each point, `dim x dim`, point by point; translations and rotations of the whole map are
    /// removed.
    pub fn covariances(&self) -> &[f64] {
        &self.point_covariances
    }

    /// Number of latent coordinates and map entries per point.
    pub fn degrees_of_freedom(&self) -> usize {
        self.hyperparameters.dim * (1 + self.columns)
    }

    /// `E|x_i - x_j|^2 + E|C_i - C_j|^2`.
    pub fn expected_difference(&self, i: usize, j: usize) -> f64 {
        let (n, dim) = (self.n, self.hyperparameters.dim);
        let coordinate = |r: usize| {
            let (a, b) = (r * n + i, r * n + j);
            let variance =
                |covariance: &PointCovariance| covariance.get(a, a) + covariance.get(b, b) - 2.0 * covariance.get(a, b);
            let latents =
                (self.latents[i * dim + r] - self.latents[j * dim + r]).powi(2) + variance(&self.latent_covariance);
            let rows = self.maps[a * self.columns..][..self.columns].iter().zip(&self.maps[b * self.columns..]);
            let maps: f64 = rows.map(|(p, q)| f64::from(p - q).powi(2)).sum();
            latents + maps + self.columns as f64 * variance(&self.map_covariance)
        };
        (0..dim).map(coordinate).sum()
    }

    /// The standard deviation of each point, averaged over the coordinates.
    pub fn std(&self) -> Vec<f64> {
        average_std(&self.point_covariances, self.hyperparameters.dim)
    }

    /// `(I - QQ') Sigma (I - QQ')` for each point, with `Q` the directions in which the map rotates.
    fn compute_point_covariances(&self) -> Result<Vec<f64>> {
        let (n, dim) = (self.n, self.hyperparameters.dim);
        let side = n * dim;
        let rotations = self.rotations();
        let sigma = &self.latent_covariance;
        let rotated: Vec<Vec<f64>> =
            rotations.iter().map(|rotation| sigma.multiply(rotation)).collect::<Result<_>>()?;
        let inner: Vec<Vec<f64>> =
            rotations.iter().map(|rotation| rotated.iter().map(|other| dot(rotation, other)).collect()).collect();
        let entry = |at: usize| {
            let (i, r, s) = (at / (dim * dim), at / dim % dim, at % dim);
            let (a, b) = (r * n + i, s * n + i);
            let mut value = sigma.get(a, b);
            for (p, rotation) in rotations.iter().enumerate() {
                value -= rotation[a] * rotated[p][b] + rotated[p][a] * rotation[b];
                value +=
                    rotations.iter().zip(&inner[p]).map(|(other, inner)| rotation[a] * inner * other[b]).sum::<f64>();
            }
            value
        };
        Ok((0..side * dim).into_par_iter().map(entry).collect())
    }

    /// Orthonormal directions of infinitesimal rotations of the map, one for each pair of coordinates.
    fn rotations(&self) -> Vec<Vec<f64>> {
        let (n, dim) = (self.n, self.hyperparameters.dim);
        let mut rotations: Vec<Vec<f64>> = Vec::new();
        for r in 0..dim {
            for s in r + 1..dim {
                let mut rotation = vec![0.0; n * dim];
                for i in 0..n {
                    rotation[r * n + i] = -self.latents[i * dim + s];
                    rotation[s * n + i] = self.latents[i * dim + r];
                }
                let initial_norm2 = dot(&rotation, &rotation);
                for other in &rotations {
                    let projection = dot(&rotation, other);
                    rotation.iter_mut().zip(other).for_each(|(t, o)| *t -= projection * o);
                }
                let norm2 = dot(&rotation, &rotation);
                if norm2 > 1e-12 * initial_norm2 && norm2 > 0.0 {
                    rotation.iter_mut().for_each(|t| *t /= norm2.sqrt());
                    rotations.push(rotation);
                }
            }
        }
        rotations
    }

    /// Bytes that [`Posterior::samples`] needs: the full covariance and its factor, and the maps.
    pub fn samples_memory(&self, count: usize) -> u64 {
        let side = (self.n * self.hyperparameters.dim) as u64;
        if let PointCovariance::LowRank(_) = self.latent_covariance {
            return (count as u64).saturating_mul(side * 64);
        }
        side.saturating_mul(side).saturating_mul(16).saturating_add((count as u64).saturating_mul(side * 24))
    }

    /// Draws maps from the posterior, all with the same mean.
    pub fn samples(&self, count: usize, seed: Seed) -> Result<Vec<Embedding>> {
        let (n, dim) = (self.n, self.hyperparameters.dim);
        let side = n * dim;
        if let PointCovariance::LowRank(covariance) = &self.latent_covariance {
            let add = |values: Vec<f64>| {
                let coordinate = |at: usize| self.latents[at] + values[at % dim * n + at / dim];
                Embedding::new((0..side).map(coordinate).collect(), dim)
            };
            return covariance.samples(count, seed)?.into_iter().map(add).collect();
        }
        // The removed direction must not have zero variance; it is removed from the samples again.
        let fill = (0..side).map(|a| self.latent_covariance.get(a, a)).sum::<f64>() / side as f64;
        // All rows are equal, or there is only one: there is no uncertainty.
        if fill == 0.0 {
            return vec![self.embedding(); count].into_iter().map(Ok).collect();
        }
        let entry = |at: usize| {
            let (a, b) = (at / side, at % side);
            self.latent_covariance.get(a, b) + if a / n == b / n { fill / n as f64 } else { 0.0 }
        };
        let factor = Cholesky::new(&(0..side * side).map(entry).collect::<Vec<_>>(), side)?;
        let sample = |index: usize| {
            let mut values = factor.multiply(&seed.item(index).normals(side));
            values.chunks_exact_mut(n).for_each(|part| {
                let mean = part.iter().sum::<f64>() / n as f64;
                part.iter_mut().for_each(|v| *v -= mean);
            });
            let coordinate = |at: usize| self.latents[at] + values[at % dim * n + at / dim];
            Embedding::new((0..side).map(coordinate).collect(), dim)
        };
        (0..count).into_par_iter().map(sample).collect()
    }

    /// Writes the posterior under `lllvm/`.
    pub fn save(&self, archive: &mut Archive) {
        let Hyperparameters { gamma, alpha, bound, .. } = self.hyperparameters;
        archive.put("lllvm/numbers", vec![gamma, alpha, bound]);
        archive.put("lllvm/places", self.latents.as_slice());
        archive.put("lllvm/maps", self.maps.as_slice());
        match (&self.latent_covariance, &self.map_covariance) {
            (PointCovariance::LowRank(latents), PointCovariance::LowRank(maps)) => {
                latents.basis().save("lllvm/basis", archive);
                latents.save("lllvm/places_by_eigenvector", archive);
                maps.save("lllvm/maps_by_eigenvector", archive);
                archive.put("lllvm/point_covariances", self.point_covariances.as_slice());
            }
            (PointCovariance::Full(latents), PointCovariance::Full(maps)) => {
                archive.put("lllvm/place_covariance", latents.values.as_slice());
                archive.put("lllvm/map_covariance", maps.values.as_slice());
            }
            _ => unreachable!("both covariances have the same form"),
        }
    }

    /// Reads the posterior of a model of `n` points with `columns` columns in `dim` dimensions, of low rank or not.
    pub fn load(archive: &Archive, low_rank: bool, n: usize, columns: usize, dim: usize) -> Result<Self> {
        let bad = |reason: &str| archive.invalid(reason.into());
        let &[gamma, alpha, bound] = archive.finite("lllvm/numbers")? else {
            return Err(bad("'lllvm/numbers' should hold three numbers"));
        };
        let (latents, maps) = (archive.finite("lllvm/places")?.to_vec(), archive.f32s("lllvm/maps")?.to_vec());
        let side = latents.len();
        let fits = Some(side) == n.checked_mul(dim) && Some(maps.len()) == side.checked_mul(columns) && side > 0;
        if !(fits && gamma > 0.0 && alpha > 0.0 && maps.iter().all(|v| v.is_finite())) {
            return Err(bad("the parts of the model differ in size"));
        }
        let (latent_covariance, map_covariance) = if low_rank {
            let basis = Arc::new(LowRankBasis::load("lllvm/basis", archive, n)?);
            let load = |name| LowRankCovariance::load(name, archive, basis.clone(), dim).map(PointCovariance::LowRank);
            (load("lllvm/places_by_eigenvector")?, load("lllvm/maps_by_eigenvector")?)
        } else {
            let load = |name| PackedSymmetric::load(name, archive, side).map(PointCovariance::Full);
            (load("lllvm/place_covariance")?, load("lllvm/map_covariance")?)
        };
        let mut posterior = Self {
            hyperparameters: Hyperparameters { dim, gamma, alpha, bound },
            n,
            columns,
            latents,
            maps,
            latent_covariance,
            map_covariance,
            point_covariances: Vec::new(),
        };
        posterior.point_covariances = if low_rank {
            // Computing them again would need a factor of the Laplacian.
            archive.finite("lllvm/point_covariances")?.to_vec()
        } else {
            posterior.compute_point_covariances()?
        };
        if posterior.point_covariances.len() != side * dim {
            return Err(bad("the parts of the model differ in size"));
        }
        Ok(posterior)
    }
}

/// Converts `dim x dim` covariances to standard deviations, averaged over the coordinates.
pub(super) fn average_std(covariances: &[f64], dim: usize) -> Vec<f64> {
    let one = |cov: &[f64]| (cov.iter().step_by(dim + 1).sum::<f64>().max(0.0) / dim as f64).sqrt();
    covariances.chunks_exact(dim * dim).map(one).collect()
}

/// Removes the mean of all points from their covariance: its variance, `1 / alpha`, is that of the prior.
fn remove_translation(covariance: &mut [f64], n: usize) {
    let side = (covariance.len() as f64).sqrt().round() as usize;
    let row_means: Vec<f64> = covariance.par_chunks(n).map(|part| part.iter().sum::<f64>() / n as f64).collect();
    let blocks = side / n;
    // The mean of each block's rows, by block and column, which by symmetry is that of its columns.
    let block_means: Vec<f64> = (0..blocks * blocks)
        .map(|at| (0..n).map(|i| row_means[(at / blocks * n + i) * blocks + at % blocks]).sum::<f64>() / n as f64)
        .collect();
    covariance.par_chunks_mut(side).enumerate().for_each(|(a, row)| {
        for (b, value) in row.iter_mut().enumerate() {
            let (block, other) = (a / n, b / n);
            *value +=
                block_means[block * blocks + other] - row_means[a * blocks + other] - row_means[b * blocks + block];
        }
    });
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
