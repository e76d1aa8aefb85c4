//! Block iteration for eigenpairs.
//!
//! LOBPCG (Knyazev, 2001) on an orthonormal basis `[X P W]`: the block of approximations `X`, the last search
//! directions `P` kept orthogonal to `X` in coefficient space (Hetmaniuk and Lehoucq, 2006), and the preconditioned
//! residuals `W`, orthogonalized with small directions dropped. Converged columns get no residual direction but stay in
//! the basis (soft locking). Small problems are solved densely.

mod dense_solve;
mod state;

use super::eigen::{EigenMethod, EigenOptions, EigenReport, Eigenpairs, SpectrumEnd, dense_memory};
use super::pcg::log_scale_progress;
use super::{Preconditioner, SymmetricOperator, block, dense};
use lowland_core::message::Remedy;
use lowland_core::run::Progress;
use lowland_core::{Error, Result, Seed};

/// State of the iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    Converged,
    /// At its limit or stalled, and too large for the fallback.
    GaveUp,
    Dense,
    DenseFallback,
}

/// Number of iterations without progress after which the solver gives up.
const MAX_STALLED_ITERATIONS: usize = 30;
/// Number of iterations after which images are recomputed, since combinations of combinations drift.
const REFRESH_INTERVAL: usize = 16;

/// The iteration, one step at a time. The operator and the preconditioner are passed to each step, so that the solver
/// is plain data.
#[derive(Debug, Clone)]
pub struct EigenSolver {
    options: EigenOptions,
    seed: Seed,
    rows: usize,
    norm: f64,
    deflated: Vec<f64>,
    deflated_columns: usize,
    width: usize,
    x: Vec<f64>,
    ax: Vec<f64>,
    p: Vec<f64>,
    ap: Vec<f64>,
    p_columns: usize,
    /// Ritz values of the operator times [`Self::sign`], ascending.
    ritz: Vec<f64>,
    residuals: Vec<f64>,
    iterations: usize,
    best: f64,
    since_best: usize,
    phase: Phase,
}

impl EigenSolver {
    /// Starts from a random block. `deflate` (dim x columns, row-major) holds vectors whose span is excluded, such as a
    /// known null space.
    pub fn new(
        operator: &dyn SymmetricOperator,
        options: EigenOptions,
        deflate: &[f64],
        deflate_columns: usize,
        seed: Seed,
    ) -> Result<Self> {
        let width = options.wanted + options.guard;
        let start = seed.stream("eigen start").normals(operator.dim() * width);
        Self::with_start(operator, options, deflate, deflate_columns, start, seed)
    }

    /// Starts from a given block (dim x (wanted + guard), row-major), such as the result for a similar operator.
    fn with_start(
        operator: &dyn SymmetricOperator,
        options: EigenOptions,
        deflate: &[f64],
        deflate_columns: usize,
        start: Vec<f64>,
        seed: Seed,
    ) -> Result<Self> {
        let rows = operator.dim();
        let width = options.wanted + options.guard;
        for (what, expected, found) in [
            ("values of the deflated vectors", rows * deflate_columns, deflate.len()),
            ("values of the starting block", rows * width, start.len()),
        ] {
            if expected != found {
                return Err(Error::Shape { what, expected, found });
            }
        }
        if options.wanted == 0 {
            return Err(Error::Parameter {
                name: "n_components",
                value: "0".into(),
                allowed: "at least one eigenvector".into(),
            });
        }
        let (deflated, deflated_columns) = block::orthonormalize(deflate.to_vec(), deflate_columns, &[], 0)?;
        if rows < options.wanted + deflated_columns {
            return Err(Error::TooFewPoints {
                what: format!("finding {} eigenvectors", options.wanted),
                needed: options.wanted + deflated_columns,
                found: rows,
                remedies: vec![Remedy::FewerComponents],
            });
        }
        let norm = operator.norm();
        if !norm.is_finite() {
            return Err(Error::Numerical { what: "eigenvectors", reason: format!("the operator's norm is {norm}") });
        }
        let mut solver = Self {
            options,
            seed,
            rows,
            norm,
            deflated,
            deflated_columns,
            width,
            x: start,
            ax: Vec::new(),
            p: Vec::new(),
            ap: Vec::new(),
            p_columns: 0,
            ritz: Vec::new(),
            residuals: vec![f64::INFINITY; width],
            iterations: 0,
            best: f64::INFINITY,
            since_best: 0,
            phase: Phase::Running,
        };
        // A basis of three blocks must fit in addition to the deflated vectors.
        if rows <= options.dense_up_to.max(3 * width + solver.deflated_columns) {
            solver.solve_densely(operator, Phase::Dense)?;
        } else {
            solver.refresh(operator)?;
            solver.check_convergence();
        }
        Ok(solver)
    }

    /// Sets the number of bytes that a dense decomposition may use if the iteration fails; `None` for no limit.
    pub fn set_max_memory(&mut self, max_memory: Option<u64>) {
        self.options.max_memory = max_memory;
    }

    /// Sets the maximum number of block iterations.
    pub fn set_max_iterations(&mut self, limit: usize) {
        self.options.max_iterations = limit;
    }

    /// Performs one block iteration. Does nothing once [`Self::finished`].
    pub fn step(&mut self, operator: &dyn SymmetricOperator, preconditioner: &dyn Preconditioner) -> Result<()> {
        if self.finished() {
            return Ok(());
        }
        self.iterations += 1;
        let active: Vec<usize> = (0..self.width).filter(|&c| self.relative_residual(c) > 1.0).collect();
        let residuals = block::select_columns(&self.residual_block(), self.width, &active);
        let mut w = vec![0.0; residuals.len()];
        preconditioner.apply(&residuals, active.len(), &mut w);
        self.rayleigh_ritz(operator, w, &active)?;
        if self.iterations.is_multiple_of(REFRESH_INTERVAL) {
            self.refresh(operator)?;
        }
        self.check_convergence();
        if self.phase == Phase::Converged && !self.iterations.is_multiple_of(REFRESH_INTERVAL) {
            // Only residuals of recomputed images are trusted.
            self.phase = Phase::Running;
            self.refresh(operator)?;
            self.check_convergence();
        }
        if self.phase == Phase::GaveUp && self.rows <= self.options.fallback_up_to {
            self.check_dense_memory()?;
            self.solve_densely(operator, Phase::DenseFallback)?;
        }
        Ok(())
    }

    /// Fails if a dense decomposition would use more memory than allowed.
    fn check_dense_memory(&self) -> Result<()> {
        let needed = dense_memory(self.rows) as u64;
        match self.options.max_memory.filter(|&limit| needed > limit) {
            None => Ok(()),
            Some(limit) => Err(Error::Memory {
                what: "the dense eigensolver (the iteration did not converge)".into(),
                needed,
                limit,
                remedies: vec![Remedy::RaiseMaxMemory, Remedy::Raise("max_iter"), Remedy::FewerRows],
            }),
        }
    }

    /// Replaces the block by the best one in the span of the block, the last directions and `w`.
    fn rayleigh_ritz(&mut self, operator: &dyn SymmetricOperator, w: Vec<f64>, active: &[usize]) -> Result<()> {
        let (n, m) = (self.rows, self.width);
        let held = [(&self.deflated[..], self.deflated_columns), (&self.x, m), (&self.p, self.p_columns)];
        let fixed = block::concat_columns(&held, n);
        let (w, mw) = block::orthonormalize(w, active.len(), &fixed, self.deflated_columns + m + self.p_columns)?;
        let aw = self.image(operator, &w, mw);
        let size = m + self.p_columns + mw;
        let s = block::concat_columns(&[(&self.x, m), (&self.p, self.p_columns), (&w, mw)], n);
        let image = block::concat_columns(&[(&self.ax, m), (&self.ap, self.p_columns), (&aw, mw)], n);
        let (values, vectors) = dense::eigh(&block::gram(&s, size, &image, size), size)?;
        let first: Vec<usize> = (0..m).collect();
        let new = block::select_columns(&vectors, size, &first);
        // The part of each active column outside the old block, orthogonalized against the new block.
        let mut turn = block::select_columns(&new, m, active);
        turn[..m * active.len()].fill(0.0);
        let (turn, turns) = block::orthonormalize(turn, active.len(), &new, m)?;
        self.p = block::combine(&s, size, &turn, turns);
        self.ap = block::combine(&image, size, &turn, turns);
        self.p_columns = turns;
        self.x = block::combine(&s, size, &new, m);
        self.ax = block::combine(&image, size, &new, m);
        self.ritz = values[..m].to_vec();
        Ok(())
    }

    /// Orthonormalizes the block (replacing collapsed columns by random vectors), recomputes its images, and rotates it
    /// to Ritz vectors.
    fn refresh(&mut self, operator: &dyn SymmetricOperator) -> Result<()> {
        let (n, m) = (self.rows, self.width);
        let (mut x, mut have) =
            block::orthonormalize(std::mem::take(&mut self.x), m, &self.deflated, self.deflated_columns)?;
        let mut attempt = 0;
        while have < m {
            if attempt == 3 {
                return Err(Error::Numerical { what: "eigenvectors", reason: "the block collapsed".into() });
            }
            let extra = self.seed.stream("eigen restart").item(self.iterations * 4 + attempt).normals(n * (m - have));
            let fixed = block::concat_columns(&[(&self.deflated, self.deflated_columns), (&x, have)], n);
            let (extra, more) = block::orthonormalize(extra, m - have, &fixed, self.deflated_columns + have)?;
            x = block::concat_columns(&[(&x, have), (&extra, more)], n);
            have += more;
            attempt += 1;
        }
        let ax = self.image(operator, &x, m);
        let (values, vectors) = dense::eigh(&block::gram(&x, m, &ax, m), m)?;
        self.x = block::combine(&x, m, &vectors, m);
        self.ax = block::combine(&ax, m, &vectors, m);
        self.ritz = values;
        let fixed = block::concat_columns(&[(&self.deflated, self.deflated_columns), (&self.x, m)], n);
        let directions = std::mem::take(&mut self.p);
        (self.p, self.p_columns) =
            block::orthonormalize(directions, self.p_columns, &fixed, self.deflated_columns + m)?;
        self.ap = self.image(operator, &self.p, self.p_columns);
        Ok(())
    }

    /// Returns `sign * A x`: the solver always computes the smallest eigenvalues.
    fn image(&self, operator: &dyn SymmetricOperator, x: &[f64], columns: usize) -> Vec<f64> {
        let mut out = vec![0.0; x.len()];
        if columns > 0 {
            operator.apply(x, columns, &mut out);
        }
        if self.sign() < 0.0 {
            out.iter_mut().for_each(|v| *v = -*v);
        }
        out
    }

    fn sign(&self) -> f64 {
        match self.options.which {
            SpectrumEnd::Smallest => 1.0,
            SpectrumEnd::Largest => -1.0,
        }
    }

    /// Returns `A X - X Lambda`, projected off the deflated space.
    fn residual_block(&self) -> Vec<f64> {
        let mut r = self.ax.clone();
        for (r, x) in r.chunks_exact_mut(self.width).zip(self.x.chunks_exact(self.width)) {
            (0..self.width).for_each(|c| r[c] -= self.ritz[c] * x[c]);
        }
        block::project_out(&mut r, self.width, &self.deflated, self.deflated_columns);
        r
    }

    /// Residual of column `c` as a multiple of its goal.
    fn relative_residual(&self, c: usize) -> f64 {
        let goal = self.options.tolerance * self.ritz[c].abs() + self.options.floor * self.norm;
        if self.residuals[c] == 0.0 { 0.0 } else { self.residuals[c] / goal }
    }

    /// Largest residual of the wanted pairs, as a multiple of its goal.
    fn worst(&self) -> f64 {
        (0..self.options.wanted).map(|c| self.relative_residual(c)).fold(0.0, f64::max)
    }

    /// Computes the residuals and decides whether to continue.
    fn check_convergence(&mut self) {
        let r = self.residual_block();
        self.residuals = block::column_dots(&r, &r, self.width).into_iter().map(f64::sqrt).collect();
        let worst = self.worst();
        if worst < 0.9 * self.best {
            self.best = worst;
            self.since_best = 0;
        } else {
            self.since_best += 1;
        }
        if worst <= 1.0 {
            self.phase = Phase::Converged;
        } else if self.iterations >= self.options.max_iterations || self.since_best >= MAX_STALLED_ITERATIONS {
            self.phase = Phase::GaveUp;
        }
    }

    /// Returns whether the iteration has ended: it converged or gave up.
    pub fn finished(&self) -> bool {
        self.phase != Phase::Running
    }

    /// Returns whether all wanted pairs meet the tolerance (a dense decomposition always counts).
    pub fn converged(&self) -> bool {
        matches!(self.phase, Phase::Converged | Phase::Dense | Phase::DenseFallback)
    }

    /// Number of block iterations so far.
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// Eigenvalues, in the requested order.
    pub fn values(&self) -> Vec<f64> {
        self.ritz[..self.options.wanted].iter().map(|v| self.sign() * v).collect()
    }

    /// Eigenvectors: unit columns of a row-major matrix (dim x wanted), with the largest entry of each positive.
    pub fn vectors(&self) -> Vec<f64> {
        let first: Vec<usize> = (0..self.options.wanted).collect();
        let mut vectors = block::select_columns(&self.x, self.width, &first);
        block::fix_signs(&mut vectors, self.options.wanted);
        vectors
    }

    /// `|A v - lambda v|` of each pair.
    pub fn residuals(&self) -> &[f64] {
        &self.residuals[..self.options.wanted]
    }

    /// Convergence report.
    pub fn report(&self) -> EigenReport {
        EigenReport {
            iterations: self.iterations,
            residuals: self.residuals().to_vec(),
            converged: self.converged(),
            solver: match self.phase {
                Phase::Dense => EigenMethod::Dense,
                Phase::DenseFallback => EigenMethod::DenseFallback,
                _ => EigenMethod::Lobpcg,
            },
        }
    }

    /// Returns the current result.
    pub fn result(&self) -> Eigenpairs {
        Eigenpairs { values: self.values(), vectors: self.vectors(), report: self.report() }
    }

    /// Iterates until [`Self::finished`]; reports the progress of the worst residual.
    pub fn run(
        &mut self,
        operator: &dyn SymmetricOperator,
        preconditioner: &dyn Preconditioner,
        progress: &mut Progress,
    ) -> Result<Eigenpairs> {
        let first = self.worst();
        while !self.finished() {
            self.step(operator, preconditioner)?;
            let by_residual = log_scale_progress(first, self.best.max(1.0), 1.0);
            progress(by_residual.max(self.iterations as f64 / self.options.max_iterations as f64).min(1.0))?;
        }
        Ok(self.result())
    }
}
