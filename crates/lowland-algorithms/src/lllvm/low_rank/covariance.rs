//! Covariances between all points, stored by eigenvectors.

use std::sync::Arc;

use rayon::prelude::*;

use super::super::graph::ModelGraph;
use super::laplacian_inverse::LaplacianInverse;
use super::modes::LaplacianModes;
use lowland_core::archive::Archive;
use lowland_core::{Result, Seed};
use lowland_linalg::dense;
use lowland_linalg::dense::Cholesky;

/// The eigenvectors, shared by the covariances of latent coordinates and maps.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct LowRankBasis {
    graph: ModelGraph,
    /// The columns of a row-major matrix.
    vectors: Vec<f64>,
    eigenvalues: Vec<f64>,
    /// The diagonal of `K' / 2`.
    rest_diagonal: Vec<f64>,
}

impl LowRankBasis {
    pub fn new(modes: &LaplacianModes) -> Self {
        let (graph, vectors, eigenvalues) = (modes.graph.clone(), modes.vectors.clone(), modes.eigenvalues.clone());
        Self { graph, vectors, eigenvalues, rest_diagonal: modes.rest_diagonal.iter().map(|v| 0.5 * v).collect() }
    }

    fn rank(&self) -> usize {
        self.eigenvalues.len()
    }

    fn points(&self) -> usize {
        self.graph.points()
    }

    fn vector(&self, i: usize) -> &[f64] {
        &self.vectors[i * self.rank()..(i + 1) * self.rank()]
    }

    /// `U' values`.
    fn project(&self, values: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.rank()];
        dense::product_tn_add(&self.vectors, values, values.len(), &mut out);
        out
    }

    /// `values += U coefficients`.
    fn add(&self, coefficients: &[f64], values: &mut [f64]) {
        dense::product_nn_add(&self.vectors, coefficients, self.rank(), values);
    }

    /// Removes what the eigenvectors represent.
    fn remove(&self, values: &mut [f64]) {
        let coefficients: Vec<f64> = self.project(values).iter().map(|v| -v).collect();
        self.add(&coefficients, values);
    }

    pub fn save(&self, name: &str, archive: &mut Archive) {
        self.graph.save(&format!("{name}/graph"), archive);
        archive.put(format!("{name}/vectors"), self.vectors.as_slice());
        archive.put(format!("{name}/eigenvalues"), self.eigenvalues.as_slice());
        archive.put(format!("{name}/rest_diagonal"), self.rest_diagonal.as_slice());
    }

    pub fn load(name: &str, archive: &Archive, n: usize) -> Result<Self> {
        let read = |part: &str| archive.finite(&format!("{name}/{part}")).map(<[f64]>::to_vec);
        let graph = ModelGraph::load(&format!("{name}/graph"), archive, n)?;
        let basis = Self {
            graph,
            vectors: read("vectors")?,
            eigenvalues: read("eigenvalues")?,
            rest_diagonal: read("rest_diagonal")?,
        };
        let fits = basis.rank() > 0 && Some(basis.vectors.len()) == n.checked_mul(basis.rank());
        if fits && basis.rest_diagonal.len() == n && basis.rest_diagonal.iter().all(|&v| v >= 0.0) {
            return Ok(basis);
        }
        Err(archive.invalid(format!("the parts of '{name}' differ in size")))
    }
}

/// A covariance `U Sigma U' + T (x) K' / 2`. Of the second term, [`Self::get`] has the diagonal only: what is left of it between two points
/// is small, and would need a factor of the Laplacian.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct LowRankCovariance {
    basis: Arc<LowRankBasis>,
    /// `Sigma`, row-major with `dim rank` rows.
    covariance: Vec<f64>,
    /// `T`.
    rest: Vec<f64>,
    /// `U Sigma`: row `r n + i` has `dim rank` entries.
    images: Vec<f64>,
}

impl LowRankCovariance {
    pub fn new(basis: Arc<LowRankBasis>, covariance: Vec<f64>, rest: Vec<f64>) -> Self {
        let (n, m) = (basis.points(), basis.rank());
        let dim = covariance.len().isqrt() / m;
        let side = m * dim;
        let mut images = vec![0.0; n * dim * side];
        images.par_chunks_mut(n * side).zip(covariance.par_chunks(m * side)).for_each(|(images, covariance)| {
            dense::product_nn(&basis.vectors, covariance, m, images);
        });
        Self { basis, covariance, rest, images }
    }

    pub fn basis(&self) -> &LowRankBasis {
        &self.basis
    }

    fn dim(&self) -> usize {
        self.rest.len().isqrt()
    }

    /// The entry of two coordinates.
    pub fn get(&self, a: usize, b: usize) -> f64 {
        let (n, m, dim) = (self.basis.points(), self.basis.rank(), self.dim());
        let image = &self.images[a * m * dim + b / n * m..][..m];
        let low_rank: f64 = image.iter().zip(self.basis.vector(b % n)).map(|(s, u)| s * u).sum();
        low_rank + if a % n == b % n { self.rest[a / n * dim + b / n] * self.basis.rest_diagonal[a % n] } else { 0.0 }
    }

    /// The product with a vector, with the second term in full.
    pub fn multiply(&self, vector: &[f64]) -> Result<Vec<f64>> {
        let (n, m, dim) = (self.basis.points(), self.basis.rank(), self.dim());
        let inverse = LaplacianInverse::new(&self.basis.graph, None)?;
        let projected: Vec<f64> = vector.chunks_exact(n).flat_map(|part| self.basis.project(part)).collect();
        let mut coefficients = vec![0.0; m * dim];
        dense::product_nn(&self.covariance, &projected, m * dim, &mut coefficients);
        let solved: Vec<Vec<f64>> = vector
            .chunks_exact(n)
            .map(|part| {
                let mut part = part.to_vec();
                self.basis.remove(&mut part);
                inverse.multiply(&mut part, 1);
                self.basis.remove(&mut part);
                part
            })
            .collect();
        let mut out = vec![0.0; n * dim];
        for (r, out) in out.chunks_exact_mut(n).enumerate() {
            self.basis.add(&coefficients[r * m..(r + 1) * m], out);
            for (solved, rest) in solved.iter().zip(&self.rest[r * dim..]) {
                out.iter_mut().zip(solved).for_each(|(out, v)| *out += 0.5 * rest * v);
            }
        }
        Ok(out)
    }

    /// Draws vectors with this covariance.
    pub fn samples(&self, count: usize, seed: Seed) -> Result<Vec<Vec<f64>>> {
        let (n, m, dim) = (self.basis.points(), self.basis.rank(), self.dim());
        let inverse = LaplacianInverse::new(&self.basis.graph, None)?;
        // The translations have no variance. Their diagonal is only for the factor: what it adds is removed below.
        let mut covariance = self.covariance.clone();
        (0..dim).for_each(|r| covariance[r * m * (m * dim + 1)] += 1.0);
        let factor = Cholesky::new(&covariance, m * dim)?;
        let has_rest = m < n;
        let rest = if has_rest { Some(Cholesky::new(&self.rest, dim)?) } else { None };
        let edges: Vec<(usize, usize)> = self.basis.graph.edges().collect();
        let sample = |index: usize| {
            let mut coefficients = factor.multiply(&seed.item(index).normals(m * dim));
            (0..dim).for_each(|r| coefficients[r * m] = 0.0);
            let mut values = vec![0.0; n * dim];
            let parts = values.chunks_exact_mut(n).zip(coefficients.chunks_exact(m));
            parts.for_each(|(values, coefficients)| self.basis.add(coefficients, values));
            let Some(rest) = &rest else { return values };
            // K B' z, with B the differences along the edges, has the covariance K L K = K.
            let normals = seed.stream("rest").item(index).normals(dim * edges.len());
            let independent: Vec<Vec<f64>> = normals
                .chunks_exact(edges.len())
                .map(|normals| {
                    let mut part = vec![0.0; n];
                    for (&(i, j), z) in edges.iter().zip(normals) {
                        part[i] += z;
                        part[j] -= z;
                    }
                    inverse.multiply(&mut part, 1);
                    self.basis.remove(&mut part);
                    part
                })
                .collect();
            for i in 0..n {
                let own: Vec<f64> = independent.iter().map(|part| part[i]).collect();
                let step = rest.multiply(&own);
                (0..dim).for_each(|r| values[r * n + i] += std::f64::consts::FRAC_1_SQRT_2 * step[r]);
            }
            values
        };
        Ok((0..count).into_par_iter().map(sample).collect())
    }

    pub fn save(&self, name: &str, archive: &mut Archive) {
        archive.put(format!("{name}/covariance"), self.covariance.as_slice());
        archive.put(format!("{name}/rest"), self.rest.as_slice());
    }

    pub fn load(name: &str, archive: &Archive, basis: Arc<LowRankBasis>, dim: usize) -> Result<Self> {
        let read = |part: &str| archive.finite(&format!("{name}/{part}")).map(<[f64]>::to_vec);
        let (covariance, rest) = (read("covariance")?, read("rest")?);
        let side = basis.rank().checked_mul(dim);
        let positive = |matrix: &[f64], side: usize| (0..side).all(|a| matrix[a * (side + 1)] >= 0.0);
        if side.and_then(|side| side.checked_mul(side)) == Some(covariance.len())
            && Some(rest.len()) == dim.checked_mul(dim)
            && positive(&covariance, basis.rank() * dim)
            && positive(&rest, dim)
        {
            return Ok(Self::new(basis, covariance, rest));
        }
        Err(archive.invalid(format!("'{name}' is not a covariance")))
    }
}
