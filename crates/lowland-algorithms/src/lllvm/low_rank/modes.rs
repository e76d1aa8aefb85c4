//! The lowest eigenvectors of the Laplacian, with everything that the iterations need of the graph.

use rayon::prelude::*;

use super::super::graph::ModelGraph;
use super::laplacian_inverse::{BLOCK, LaplacianInverse};
use super::mode_forms::ModeForms;
use lowland_core::run::Progress;
use lowland_core::{Error, Result, Seed};
use lowland_linalg::{EigenOptions, SpectrumEnd, dense, eigenpairs};

/// The lowest eigenvectors of the Laplacian of a graph, the constant one first.
pub struct LaplacianModes {
    pub(super) graph: ModelGraph,
    /// Number of eigenvectors.
    pub(super) rank: usize,
    /// The eigenvectors: the columns of a row-major `n x rank` matrix.
    pub(super) vectors: Vec<f64>,
    /// Their eigenvalues; the first is zero.
    pub(super) eigenvalues: Vec<f64>,
    /// Sum of the logarithms of the other eigenvalues.
    pub(super) rest_log_determinant: f64,
    /// The diagonal of `K'`, the pseudo-inverse on the other eigenvectors.
    pub(super) rest_diagonal: Vec<f64>,
    pub(super) forms: ModeForms,
}

impl LaplacianModes {
    /// Computes the `rank` lowest eigenvectors (at most as many as there are points), and the forms. Fails if the factor of the
    /// Laplacian needs more than `max_memory` bytes.
    pub fn new(
        graph: ModelGraph,
        rank: usize,
        max_memory: Option<u64>,
        seed: Seed,
        progress: &mut Progress,
    ) -> Result<Self> {
        let n = graph.points();
        let rank = rank.clamp(1, n);
        let inverse = LaplacianInverse::new(&graph, max_memory)?;
        progress(0.1)?;
        let (vectors, eigenvalues) = lowest(&graph, &inverse, rank, seed, &mut |done| progress(0.1 + 0.2 * done))?;
        let local = LocalInverse::new(&graph, &inverse, &vectors, rank, &mut |done| progress(0.3 + 0.3 * done))?;
        let known: f64 = eigenvalues[1..].iter().map(|w| w.ln()).sum();
        // No eigenvalue is left at full rank, up to rounding.
        let rest_log_determinant = if rank == n { 0.0 } else { inverse.log_determinant() - known };
        let rest_diagonal = vectors.chunks_exact(rank).zip(&local.diagonal).map(|(vector, k)| {
            let known: f64 = vector[1..].iter().zip(&eigenvalues[1..]).map(|(v, w)| v * v / w).sum();
            if rank == n { 0.0 } else { (k - known).max(0.0) }
        });
        let rest_diagonal = rest_diagonal.collect();
        let forms =
            ModeForms::new(&graph, (&vectors, &eigenvalues), &inverse, &local, &mut |done| progress(0.6 + 0.4 * done))?;
        Ok(Self { graph, rank, vectors, eigenvalues, rest_log_determinant, rest_diagonal, forms })
    }

    /// Estimates the bytes that [`Self::new`] needs for `n` points, apart from the factor, which is checked when its size is known.
    pub fn memory(n: usize, rank: usize) -> f64 {
        let (n, m) = (n as f64, rank.min(n) as f64);
        let pairs = 0.5 * m * (m + 1.0);
        let eigenvectors = EigenOptions::new(SpectrumEnd::Smallest, rank).memory(n as usize);
        // The products of eigenvectors, three Gram matrices and the tensor.
        let forms = 8.0 * (n * pairs + 3.0 * pairs * pairs + m.powi(4))
            + 8.0 * 3.0 * n * 64.0 * rayon::current_num_threads() as f64;
        eigenvectors.max(forms) + 24.0 * n * m
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.graph.points()
    }

    /// Number of eigenvectors.
    pub fn rank(&self) -> usize {
        self.rank
    }

    #[cfg(test)]
    pub(in super::super) fn vectors(&self) -> &[f64] {
        &self.vectors
    }

    #[cfg(test)]
    pub(in super::super) fn eigenvalues(&self) -> &[f64] {
        &self.eigenvalues
    }

    #[cfg(test)]
    pub(in super::super) fn forms(&self) -> &ModeForms {
        &self.forms
    }

    /// Number of the other eigenvectors.
    pub(super) fn rest(&self) -> usize {
        self.points() - self.rank
    }

    /// `U values` for every coordinate: the values of all points, of `columns` columns.
    pub(super) fn to_points(&self, values: &[f64], columns: usize, out: &mut [f64]) {
        let (n, m) = (self.points(), self.rank);
        let coordinates = out.chunks_exact_mut(n * columns).zip(values.chunks_exact(m * columns));
        for (out, values) in coordinates {
            let panels = out.par_chunks_mut(PANEL * columns).zip(self.vectors.par_chunks(PANEL * m));
            panels.for_each(|(out, vectors)| dense::product_nn(vectors, values, m, out));
        }
    }

    /// `U' values` for every coordinate.
    pub(super) fn to_modes(&self, values: &[f64], columns: usize) -> Vec<f64> {
        let (n, m) = (self.points(), self.rank);
        let coordinate = |values: &[f64]| {
            let panels = values.par_chunks(PANEL * columns).zip(self.vectors.par_chunks(PANEL * m));
            let parts = panels.map(|(values, vectors)| {
                let mut part = vec![0.0; m * columns];
                dense::product_tn_add(vectors, values, vectors.len() / m, &mut part);
                part
            });
            add_parts(parts.collect())
        };
        values.chunks_exact(n * columns).flat_map(coordinate).collect()
    }
}

/// Residual of an eigenvector relative to its eigenvalue that is still good enough, if the solver stops before its own tolerance.
const MAX_RESIDUAL: f64 = 1e-5;
/// Rows per matrix product.
const PANEL: usize = 512;

/// The sum of vectors, in order.
pub(super) fn add_parts(parts: Vec<Vec<f64>>) -> Vec<f64> {
    let mut parts = parts.into_iter();
    let mut total = parts.next().unwrap_or_default();
    parts.for_each(|part| total.iter_mut().zip(part).for_each(|(t, v)| *t += v));
    total
}

/// The lowest eigenvectors, as columns, and eigenvalues, both with the constant one first.
fn lowest(
    graph: &ModelGraph,
    inverse: &LaplacianInverse,
    rank: usize,
    seed: Seed,
    progress: &mut Progress,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let n = graph.points();
    let constant = vec![1.0 / (n as f64).sqrt(); n];
    let mut eigenvalues = vec![0.0];
    let mut vectors = vec![0.0; n * rank];
    if rank > 1 {
        // The forms are those of exact eigenvectors.
        let options = EigenOptions { tolerance: 1e-9, ..EigenOptions::new(SpectrumEnd::Smallest, rank - 1) };
        let found = eigenpairs(&graph.laplacian(), inverse, options, &constant, 1, seed, progress)?;
        let accurate = |(residual, value): (&f64, &f64)| *residual <= MAX_RESIDUAL * value;
        if !found.report.converged && !found.report.residuals.iter().zip(&found.values).all(accurate) {
            let residual = found.report.residuals.iter().copied().fold(0.0, f64::max);
            let reason = format!("the eigenvectors of the Laplacian did not converge (residual {residual:.1e})");
            return Err(Error::Numerical { what: "low-rank model", reason });
        }
        eigenvalues.extend(&found.values);
        let rows = vectors.chunks_exact_mut(rank).zip(found.vectors.chunks_exact(rank - 1));
        rows.for_each(|(row, found)| row[1..].copy_from_slice(found));
    }
    vectors.chunks_exact_mut(rank).zip(constant).for_each(|(row, v)| row[0] = v);
    Ok((vectors, eigenvalues))
}

/// Entries of `K` on the graph, and the squares of all of them between eigenvectors.
pub(in super::super) struct LocalInverse {
    /// The diagonal.
    pub diagonal: Vec<f64>,
    /// The entries of the edges, for every point in the order of its neighbors.
    pub edges: Vec<Vec<f64>>,
    /// `U' (K o K) U`.
    pub squares: Vec<f64>,
}

impl LocalInverse {
    /// Computes `K` a block of columns at a time, and keeps of it what is needed.
    fn new(
        graph: &ModelGraph,
        inverse: &LaplacianInverse,
        vectors: &[f64],
        rank: usize,
        progress: &mut Progress,
    ) -> Result<Self> {
        let n = graph.points();
        let one = |block: usize| {
            let (first, count) = (block * BLOCK, BLOCK.min(n - block * BLOCK));
            let mut k = inverse.columns(first, count);
            let diagonal: Vec<f64> = (0..count).map(|at| k[(first + at) * count + at]).collect();
            let row = |at: usize| graph.neighbors(first + at).iter().map(|&j| k[j as usize * count + at]).collect();
            let edges: Vec<Vec<f64>> = (0..count).map(row).collect();
            k.iter_mut().for_each(|v| *v *= *v);
            let mut squared = vec![0.0; count * rank];
            dense::product_tn_add(&k, vectors, n, &mut squared);
            let mut squares = vec![0.0; rank * rank];
            dense::product_tn_add(&vectors[first * rank..][..count * rank], &squared, count, &mut squares);
            (diagonal, edges, squares)
        };
        let blocks = lowland_core::run::in_batches(n.div_ceil(BLOCK), progress, one)?;
        let mut local =
            Self { diagonal: Vec::with_capacity(n), edges: Vec::with_capacity(n), squares: vec![0.0; rank * rank] };
        for (diagonal, edges, squares) in blocks {
            local.diagonal.extend(diagonal);
            local.edges.extend(edges);
            local.squares.iter_mut().zip(squares).for_each(|(total, v)| *total += v);
        }
        Ok(local)
    }
}
