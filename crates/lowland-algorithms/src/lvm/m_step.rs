//! The linear system of the M-step, `L x = b` with `L = diag - W` (Saul 2020, eqs 18-20): conjugate gradients with
//! the diagonal as preconditioner, all columns as one system, in three fused passes over memory per iteration.
//!
//! The general solver in `linalg` needs about ten passes; apart from the E-step, this solve takes most of the time.
//! Every iteration of conjugate gradients that starts at the current means increases the bound that the M-step
//! maximizes, so the likelihood increases however early the solver stops.

use lowland_core::simd::simd_dispatch;
use rayon::prelude::*;

/// Rows per task.
const ROWS: usize = 1024;

/// The matrix `L`: `W` on the links, and the diagonal.
pub(super) struct MStepSystem<'a> {
    pub indptr: &'a [usize],
    pub indices: &'a [u32],
    pub attraction: &'a [f64],
    pub diagonal: &'a [f64],
}

/// Stopping rule of the conjugate gradients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CgStop {
    /// Reduction of the residual, in the norm of the inverse diagonal.
    pub reduction: f64,
    /// Maximum number of iterations.
    pub iterations: usize,
}

/// Vectors reused between solves.
#[derive(Debug, Clone, Default)]
pub(super) struct CgWorkspace {
    direction: Vec<f64>,
    image: Vec<f64>,
}

impl MStepSystem<'_> {
    /// Solves for all `dim` columns of the row-major `residual`, which holds `b` on entry and `b - L x` on return.
    pub(super) fn solve(
        &self,
        dim: usize,
        residual: &mut [f64],
        x: &mut [f64],
        stop: CgStop,
        workspace: &mut CgWorkspace,
    ) {
        let width = ROWS * dim;
        x.fill(0.0);
        workspace.direction.resize(x.len(), 0.0);
        workspace.image.resize(x.len(), 0.0);
        let CgWorkspace { direction, image } = workspace;
        let tasks = direction.par_chunks_mut(width).zip(residual.par_chunks(width)).zip(self.diagonal.par_chunks(ROWS));
        let mut norm2 = sum_in_order(tasks.map(|((direction, residual), diagonal)| {
            direction.fill(0.0);
            update_direction(dim, 0.0, direction, residual, diagonal)
        }));
        let target = stop.reduction * stop.reduction * norm2;
        for _ in 0..stop.iterations {
            let curvature = sum_in_order(image.par_chunks_mut(width).enumerate().map(|(task, image)| match dim {
                2 => apply_rows::<2>(self, task * ROWS, direction, image, dim),
                3 => apply_rows::<3>(self, task * ROWS, direction, image, dim),
                10 => apply_rows::<10>(self, task * ROWS, direction, image, dim),
                _ => apply_rows::<0>(self, task * ROWS, direction, image, dim),
            }));
            let step = norm2 / curvature;
            // Nothing left to solve, or numbers out of range.
            if !(step > 0.0 && step.is_finite()) {
                return;
            }
            let tasks = x
                .par_chunks_mut(width)
                .zip(residual.par_chunks_mut(width))
                .zip(direction.par_chunks(width).zip(image.par_chunks(width)))
                .zip(self.diagonal.par_chunks(ROWS));
            let next_norm2 = sum_in_order(tasks.map(|(((x, residual), (direction, image)), diagonal)| {
                update_solution(dim, step, x, residual, direction, image, diagonal)
            }));
            if next_norm2 <= target {
                return;
            }
            let beta = next_norm2 / norm2;
            norm2 = next_norm2;
            let tasks =
                direction.par_chunks_mut(width).zip(residual.par_chunks(width)).zip(self.diagonal.par_chunks(ROWS));
            tasks.for_each(|((direction, residual), diagonal)| {
                update_direction(dim, beta, direction, residual, diagonal);
            });
        }
    }
}

/// Sums in the order of the tasks, independent of the number of threads.
fn sum_in_order(parts: impl IndexedParallelIterator<Item = f64>) -> f64 {
    parts.collect::<Vec<f64>>().iter().sum()
}

/// `image = L direction` for the rows of a task; returns their part of the inner product of the two.
#[simd_dispatch]
fn apply_rows<const D: usize>(
    system: &MStepSystem,
    first: usize,
    direction: &[f64],
    image: &mut [f64],
    dim: usize,
) -> f64 {
    let dim = if D > 0 { D } else { dim };
    let mut product = 0.0;
    for (local, image) in image.chunks_exact_mut(dim).enumerate() {
        let i = first + local;
        let range = system.indptr[i]..system.indptr[i + 1];
        let own = &direction[i * dim..(i + 1) * dim];
        (0..dim).for_each(|c| image[c] = system.diagonal[i] * own[c]);
        for (&j, weight) in system.indices[range.clone()].iter().zip(&system.attraction[range]) {
            let other = &direction[j as usize * dim..(j as usize + 1) * dim];
            (0..dim).for_each(|c| image[c] -= weight * other[c]);
        }
        (0..dim).for_each(|c| product += own[c] * image[c]);
    }
    product
}

/// Number of partial sums: as many as fill a vector.
const LANES: usize = 8;

/// Adds the squared values of a row, times a factor.
#[inline(always)]
fn add_squares(lanes: &mut [f64; LANES], row: &[f64], factor: f64) {
    for part in row.chunks(LANES) {
        lanes.iter_mut().zip(part).for_each(|(lane, r)| *lane += r * r * factor);
    }
}

/// `x += step direction`, `residual -= step image`; returns the squared residual in the norm of the inverse
/// diagonal.
#[simd_dispatch]
fn update_solution(
    dim: usize,
    step: f64,
    x: &mut [f64],
    residual: &mut [f64],
    direction: &[f64],
    image: &[f64],
    diagonal: &[f64],
) -> f64 {
    x.iter_mut().zip(direction).for_each(|(x, p)| *x += step * p);
    residual.iter_mut().zip(image).for_each(|(r, q)| *r -= step * q);
    let mut lanes = [0.0; LANES];
    for (residual, d) in residual.chunks_exact(dim).zip(diagonal) {
        add_squares(&mut lanes, residual, 1.0 / d);
    }
    lanes.iter().sum()
}

/// `direction = residual / diagonal + beta direction`; returns the inner product of the first term and the residual.
#[simd_dispatch]
fn update_direction(dim: usize, beta: f64, direction: &mut [f64], residual: &[f64], diagonal: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    for ((direction, residual), d) in direction.chunks_exact_mut(dim).zip(residual.chunks_exact(dim)).zip(diagonal) {
        let inverse = 1.0 / d;
        direction.iter_mut().zip(residual).for_each(|(p, r)| *p = r * inverse + beta * *p);
        add_squares(&mut lanes, residual, inverse);
    }
    lanes.iter().sum()
}
