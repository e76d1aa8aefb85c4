//! Preconditioners: cheap approximate inverses.

use approx_chol::input::{Laplacian as Edges, Sddm};
use approx_chol::{Config, CsrRef, Factor, ScalingPolicy, factorize_with};
use rayon::prelude::*;

use super::{Csr, Laplacian, LaplacianKind, dense};
use lowland_core::{Error, Result, Seed};

/// An approximate inverse, symmetric and positive (semi)definite.
pub trait Preconditioner: Sync {
    /// Computes `out = M r` for a row-major block `r` (dim x columns). The result must not depend on the number of
    /// threads.
    fn apply(&self, r: &[f64], columns: usize, out: &mut [f64]);

    /// Name for reports.
    fn name(&self) -> &'static str;
}

/// The identity: no preconditioning.
#[derive(Debug, Clone, Copy, Default)]
pub struct Identity;

impl Preconditioner for Identity {
    fn apply(&self, r: &[f64], _columns: usize, out: &mut [f64]) {
        out.copy_from_slice(r);
    }

    fn name(&self) -> &'static str {
        "none"
    }
}

/// The inverse of the diagonal.
#[derive(Debug, Clone)]
pub struct Jacobi {
    inverse: Vec<f64>,
}

impl Jacobi {
    /// Creates the preconditioner; rows whose diagonal is not positive (points without edges) are left unchanged.
    pub fn new(diagonal: &[f64]) -> Self {
        let inverse = diagonal.iter().map(|d| if *d > 0.0 && (1.0 / d).is_finite() { 1.0 / d } else { 1.0 });
        Self { inverse: inverse.collect() }
    }
}

impl Preconditioner for Jacobi {
    fn apply(&self, r: &[f64], columns: usize, out: &mut [f64]) {
        let rows = out.chunks_exact_mut(columns.max(1)).zip(r.chunks_exact(columns.max(1)));
        for ((out, r), d) in rows.zip(&self.inverse) {
            out.iter_mut().zip(r).for_each(|(o, r)| *o = d * r);
        }
    }

    fn name(&self) -> &'static str {
        "jacobi"
    }
}

/// A randomized approximate Cholesky factor (Gao, Kyng and Spielman, 2023) of a Laplacian or of a symmetric diagonally
/// dominant matrix. The same seed gives the same factor.
pub struct ApproxCholesky {
    factor: Factor,
    /// `D^(1/2)` for a normalized Laplacian: `(D^(-1/2) L D^(-1/2))^+` is taken as `D^(1/2) L^+ D^(1/2)`.
    scale: Option<Vec<f64>>,
}

impl ApproxCholesky {
    /// Factors a Laplacian. Each connected component has its own constant null vector.
    pub fn laplacian(laplacian: &Laplacian, seed: Seed) -> Result<Self> {
        let n = laplacian.degrees().len();
        let degrees = laplacian.degrees();
        let weight = |i: usize, j: usize, w: f64| match laplacian.kind() {
            LaplacianKind::Plain => w,
            LaplacianKind::Normalized => w * degrees[i].sqrt() * degrees[j].sqrt(),
        };
        let largest = laplacian.links().iter().map(|(i, j, w)| weight(i, j, w)).fold(0.0, f64::max);
        let unit = dense::power_of_two_near(largest);
        let half = || laplacian.links().iter().filter(|(i, j, _)| i < j);
        let from: Vec<u32> = half().map(|(i, _, _)| i as u32).collect();
        let to: Vec<u32> = half().map(|(_, j, _)| j as u32).collect();
        // The factorization rejects weights near the end of the range; raising them keeps the graph connected.
        let weights: Vec<f64> = half().map(|(i, j, w)| (weight(i, j, w) / unit).max(1e-100)).collect();
        let edges = Edges::weighted(n, &from, &to, &weights).map_err(|e| failed(&e))?;
        let factor = factorize_with(edges, config(seed), ScalingPolicy::default()).map_err(|e| failed(&e))?;
        let scale = (laplacian.kind() == LaplacianKind::Normalized)
            .then(|| degrees.iter().map(|d| (d / unit).sqrt()).collect());
        Ok(Self { factor, scale })
    }

    /// Factors a symmetric diagonally dominant matrix with a non-negative diagonal.
    pub fn dominant(matrix: &Csr, seed: Seed) -> Result<Self> {
        let n = matrix.rows();
        if !matrix.is_symmetric() {
            return Err(Error::Format { what: "diagonally dominant matrix", reason: "it is not symmetric".into() });
        }
        let off_diagonal = || matrix.iter().filter(|&(i, j, v)| i != j && v != 0.0);
        let mut surplus = matrix.diagonal();
        let scale: Vec<f64> = surplus.clone();
        off_diagonal().for_each(|(i, _, v)| surplus[i] -= v.abs());
        if let Some(i) = (0..n).find(|&i| surplus[i].is_nan() || surplus[i] < -1e-9 * scale[i]) {
            return Err(Error::Format {
                what: "diagonally dominant matrix",
                reason: format!("row {i} is not dominated by its diagonal {}", scale[i]),
            });
        }
        // A surplus at the level of rounding is treated as zero, since the row sums of a Laplacian never cancel
        // exactly.
        surplus.iter_mut().zip(&scale).filter(|(s, scale)| **s < 1e-14 * **scale).for_each(|(s, _)| *s = 0.0);
        let factor = if off_diagonal().all(|(_, _, v)| v < 0.0) {
            let half = || off_diagonal().filter(|(i, j, _)| i < j);
            let from: Vec<u32> = half().map(|(i, _, _)| i as u32).collect();
            let to: Vec<u32> = half().map(|(_, j, _)| j as u32).collect();
            let weights: Vec<f64> = half().map(|(_, _, v)| -v).collect();
            let edges = Edges::weighted(n, &from, &to, &weights).map_err(|e| failed(&e))?;
            if surplus.iter().all(|s| *s == 0.0) {
                factorize_with(edges, config(seed), ScalingPolicy::default())
            } else {
                let grounded = Sddm::new(edges, &surplus).map_err(|e| failed(&e))?;
                factorize_with(grounded, config(seed), ScalingPolicy::default())
            }
        } else {
            let indptr: Vec<u32> = matrix
                .indptr()
                .iter()
                .map(|&start| u32::try_from(start).map_err(|_| failed(&"more than 2^32 entries")))
                .collect::<Result<_>>()?;
            let view = CsrRef::new(&indptr, matrix.indices(), matrix.values(), n as u32).map_err(|e| failed(&e))?;
            factorize_with(view, config(seed), ScalingPolicy::default())
        };
        Ok(Self { factor: factor.map_err(|e| failed(&e))?, scale: None })
    }
}

fn config(seed: Seed) -> Config {
    Config { seed: seed.stream("approximate cholesky").0, ..Config::default() }
}

fn failed(reason: &dyn std::fmt::Display) -> Error {
    Error::Numerical { what: "approximate Cholesky", reason: reason.to_string() }
}

impl Preconditioner for ApproxCholesky {
    fn apply(&self, r: &[f64], columns: usize, out: &mut [f64]) {
        let scale = |i: usize| self.scale.as_ref().map_or(1.0, |scale| scale[i]);
        let solved: Vec<Vec<f64>> = (0..columns)
            .into_par_iter()
            .map(|c| {
                let rhs = r.iter().skip(c).step_by(columns).enumerate();
                let mut x: Vec<f64> = rhs.map(|(i, r)| scale(i) * r).collect();
                let mut scratch = vec![0.0; self.factor.scratch_len()];
                // The only errors are wrong lengths, which a block of `dim` rows cannot have.
                if self.factor.solve_in_place(&mut x, &mut scratch).is_err() {
                    x.fill(0.0);
                }
                x
            })
            .collect();
        for (i, row) in out.chunks_exact_mut(columns.max(1)).enumerate() {
            row.iter_mut().zip(&solved).for_each(|(out, x)| *out = scale(i) * x[i]);
        }
    }

    fn name(&self) -> &'static str {
        "approximate cholesky"
    }
}

/// Returns the best available preconditioner of a Laplacian: approximate Cholesky, otherwise its diagonal.
pub fn laplacian_preconditioner(laplacian: &Laplacian, seed: Seed) -> Box<dyn Preconditioner + Send> {
    match ApproxCholesky::laplacian(laplacian, seed) {
        Ok(factor) => Box::new(factor),
        Err(_) => Box::new(Jacobi::new(laplacian.diagonal())),
    }
}
