//! What depends on the neighbour graph alone.

use rayon::prelude::*;

use lowland_core::{Error, Result};
use lowland_linalg::{Csr, dense, spd_inverse};
use lowland_neighbors::graph::ConnectedComponents;

/// A connected symmetric graph without weights: its Laplacian's eigenvalues and pseudo-inverse, and products of that
/// with the adjacency matrix `G`. Matrices are row-major, `n x n`.
#[derive(Debug, Clone)]
pub struct Network {
    n: usize,
    starts: Vec<usize>,
    near: Vec<u32>,
    /// Eigenvalues of the Laplacian but the zero.
    values: Vec<f64>,
    /// The pseudo-inverse `K` of the Laplacian.
    pub(super) k: Vec<f64>,
    /// `G K`.
    pub(super) gk: Vec<f64>,
    /// `G K G`.
    pub(super) gkg: Vec<f64>,
}

impl Network {
    /// Of a symmetric matrix, whose pattern off the diagonal counts.
    pub fn new(edges: &Csr) -> Result<Self> {
        let n = edges.rows();
        let graph = edges.filter(|i, j, _| i != j).map(|_, _, _| 1.0);
        if !graph.is_symmetric() {
            return Err(Error::Format { what: "neighbour graph", reason: "it is not symmetric".into() });
        }
        let parts = ConnectedComponents::from_matrix(&graph).count();
        if parts != 1 {
            let reason = format!("it has {n} points in {parts} parts; one part is needed");
            return Err(Error::Format { what: "neighbour graph", reason });
        }
        let mut network = Self {
            n,
            starts: graph.indptr().to_vec(),
            near: graph.indices().to_vec(),
            values: Vec::new(),
            k: vec![0.0; n * n],
            gk: Vec::new(),
            gkg: Vec::new(),
        };
        let mut laplacian = vec![0.0; n * n];
        network.add_laplacian(1.0, &mut laplacian, n);
        network.values = dense::eigenvalues(&laplacian, n)?.split_off(1);
        // The inverse of L + 11'/n is the pseudo-inverse + 11'/n.
        let share = 1.0 / n as f64;
        laplacian.iter_mut().for_each(|v| *v += share);
        spd_inverse(&mut laplacian, n, &mut network.k)?;
        network.k.iter_mut().for_each(|v| *v -= share);
        network.gk = network.sums_of_neighbors(&network.k);
        let kg: Vec<f64> = (0..n * n).map(|at| network.gk[at % n * n + at / n]).collect();
        network.gkg = network.sums_of_neighbors(&kg);
        Ok(network)
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.n
    }

    /// The neighbours of a point, ascending.
    pub fn near(&self, i: usize) -> &[u32] {
        &self.near[self.starts[i]..self.starts[i + 1]]
    }

    /// Each edge once, the smaller point first.
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.n).flat_map(move |i| self.near(i).iter().map(move |&j| (i, j as usize)).filter(|(i, j)| i < j))
    }

    /// Eigenvalues of the Laplacian, the zero left out.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The effective resistance between two points: of an edge, one less the share of its current that other paths take.
    pub fn resistance(&self, i: usize, j: usize) -> f64 {
        let k = |i: usize, j: usize| self.k[i * self.n + j];
        k(i, i) + k(j, j) - 2.0 * k(i, j)
    }

    /// Adds `factor` times the Laplacian to the top left corner of a matrix whose rows begin `stride` apart.
    pub(super) fn add_laplacian(&self, factor: f64, matrix: &mut [f64], stride: usize) {
        for i in 0..self.n {
            let row = &mut matrix[i * stride..];
            row[i] += factor * self.near(i).len() as f64;
            self.near(i).iter().for_each(|&j| row[j as usize] -= factor);
        }
    }

    /// `tr(L M)` for the block of a symmetric matrix that begins at `matrix[0]`, its rows `stride` apart.
    pub(super) fn laplacian_trace(&self, matrix: &[f64], stride: usize) -> f64 {
        let row = |i: usize| {
            let other: f64 = self.near(i).iter().map(|&j| matrix[i * stride + j as usize]).sum();
            self.near(i).len() as f64 * matrix[i * stride + i] - other
        };
        (0..self.n).map(row).sum()
    }

    /// `tr(L Z Z')` for rows `z`: the sum over edges of squared differences.
    pub(super) fn roughness(&self, z: &[f64], columns: usize) -> f64 {
        let difference = |(i, j): (usize, usize)| -> f64 {
            let (a, b) = (&z[i * columns..(i + 1) * columns], &z[j * columns..(j + 1) * columns]);
            a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
        };
        self.edges().map(difference).sum()
    }

    /// `G M` for a square matrix.
    fn sums_of_neighbors(&self, matrix: &[f64]) -> Vec<f64> {
        let n = self.n;
        let mut out = vec![0.0; n * n];
        out.par_chunks_mut(n).enumerate().for_each(|(i, out)| {
            for &p in self.near(i) {
                out.iter_mut().zip(&matrix[p as usize * n..]).for_each(|(out, v)| *out += v);
            }
        });
        out
    }
}
