//! The neighbor graph with the matrices that the exact posteriors need.

use std::ops::Deref;

use rayon::prelude::*;

use super::graph::ModelGraph;
use lowland_core::Result;
use lowland_linalg::{Csr, dense, spd_inverse};

/// A graph with the eigenvalues and the pseudo-inverse of its Laplacian, and products of the latter with the adjacency
/// matrix `G`. Matrices are row-major, `n x n`.
#[derive(Debug, Clone)]
pub struct LaplacianGraph {
    graph: ModelGraph,
    /// The eigenvalues of the Laplacian except the zero.
    eigenvalues: Vec<f64>,
    /// The pseudo-inverse `K` of the Laplacian.
    pub(super) k: Vec<f64>,
    /// `G K`.
    pub(super) gk: Vec<f64>,
    /// `G K G`.
    pub(super) gkg: Vec<f64>,
}

impl LaplacianGraph {
    /// Builds the graph from the off-diagonal pattern of a symmetric matrix.
    pub fn new(edges: &Csr) -> Result<Self> {
        let graph = ModelGraph::new(edges)?;
        let n = graph.points();
        let (eigenvalues, k, gk, gkg) = (Vec::new(), vec![0.0; n * n], Vec::new(), Vec::new());
        let mut graph = Self { graph, eigenvalues, k, gk, gkg };
        let mut laplacian = vec![0.0; n * n];
        graph.add_laplacian(1.0, &mut laplacian, n);
        graph.eigenvalues = dense::eigenvalues(&laplacian, n)?.split_off(1);
        // The inverse of L + 11'/n is the pseudo-inverse + 11'/n.
        let share = 1.0 / n as f64;
        laplacian.iter_mut().for_each(|v| *v += share);
        spd_inverse(&mut laplacian, n, &mut graph.k)?;
        graph.k.iter_mut().for_each(|v| *v -= share);
        graph.gk = graph.multiply_adjacency(&graph.k);
        let kg: Vec<f64> = (0..n * n).map(|at| graph.gk[at % n * n + at / n]).collect();
        graph.gkg = graph.multiply_adjacency(&kg);
        Ok(graph)
    }

    /// The eigenvalues of the Laplacian except the zero.
    pub fn eigenvalues(&self) -> &[f64] {
        &self.eigenvalues
    }

    /// The effective resistance between two points. For an edge, it is one minus the fraction of the current that
    /// takes other paths.
    pub fn resistance(&self, i: usize, j: usize) -> f64 {
        let k = |i: usize, j: usize| self.k[i * self.points() + j];
        k(i, i) + k(j, j) - 2.0 * k(i, j)
    }

    /// Adds `factor` times the Laplacian to the top left block of a matrix whose rows start `stride` apart.
    pub(super) fn add_laplacian(&self, factor: f64, matrix: &mut [f64], stride: usize) {
        for i in 0..self.points() {
            let row = &mut matrix[i * stride..];
            row[i] += factor * self.neighbors(i).len() as f64;
            self.neighbors(i).iter().for_each(|&j| row[j as usize] -= factor);
        }
    }

    /// `tr(L M)` for the block of a symmetric matrix that starts at `matrix[0]`, with rows `stride` apart.
    pub(super) fn laplacian_trace(&self, matrix: &[f64], stride: usize) -> f64 {
        let row = |i: usize| {
            let other: f64 = self.neighbors(i).iter().map(|&j| matrix[i * stride + j as usize]).sum();
            self.neighbors(i).len() as f64 * matrix[i * stride + i] - other
        };
        (0..self.points()).map(row).sum()
    }

    /// `G M` for a square matrix.
    fn multiply_adjacency(&self, matrix: &[f64]) -> Vec<f64> {
        let n = self.points();
        let mut out = vec![0.0; n * n];
        out.par_chunks_mut(n).enumerate().for_each(|(i, out)| {
            for &p in self.neighbors(i) {
                out.iter_mut().zip(&matrix[p as usize * n..]).for_each(|(out, v)| *out += v);
            }
        });
        out
    }
}

impl Deref for LaplacianGraph {
    type Target = ModelGraph;

    fn deref(&self) -> &ModelGraph {
        &self.graph
    }
}
