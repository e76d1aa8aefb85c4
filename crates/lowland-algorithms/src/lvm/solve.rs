//! The M-step's linear system, `L x = b` with `L = diag - W` (Saul 2020, eqs 18-20): conjugate gradients with the
//! diagonal as preconditioner, all columns as one system, each iteration three fused walks over memory.
//!
//! The general solver in `linalg` does the same in some ten walks; here the solve is most of what is not the E-step.
//! Every iteration of conjugate gradients that starts from the present means raises the bound that the M-step
//! maximises, so that the likelihood rises however early the solve stops.

use rayon::prelude::*;

use lowland_core::simd::simd_dispatch;

/// Rows of a task.
const ROWS: usize = 1024;

/// The matrix: links with their weights, and the diagonal.
pub(super) struct System<'a> {
    pub indptr: &'a [usize],
    pub indices: &'a [u32],
    pub pulls: &'a [f64],
    pub diagonal: &'a [f64],
}

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Enough {
    /// Reduction of the residual, in the norm of the inverse diagonal.
    pub reduction: f64,
    /// Iterations at the most.
    pub iterations: usize,
}

/// Vectors kept between solves.
#[derive(Debug, Clone, Default)]
pub(super) struct Room {
    direction: Vec<f64>,
    image: Vec<f64>,
}

impl System<'_> {
    /// Solves for all `dim` columns of the row-major `residual`, which holds `b` and is left with `b - L x`.
    pub(super) fn solve(&self, dim: usize, residual: &mut [f64], x: &mut [f64], enough: Enough, room: &mut Room) {
        let width = ROWS * dim;
        x.fill(0.0);
        room.direction.resize(x.len(), 0.0);
        room.image.resize(x.len(), 0.0);
        let Room { direction, image } = room;
        let tasks = direction.par_chunks_mut(width).zip(residual.par_chunks(width)).zip(self.diagonal.par_chunks(ROWS));
        let mut size = ordered(tasks.map(|((direction, residual), diagonal)| {
            direction.fill(0.0);
            turn(dim, 0.0, direction, residual, diagonal)
        }));
        let goal = enough.reduction * enough.reduction * size;
        for _ in 0..enough.iterations {
            let curvature = ordered(image.par_chunks_mut(width).enumerate().map(|(task, image)| match dim {
                2 => apply::<2>(self, task * ROWS, direction, image, dim),
                3 => apply::<3>(self, task * ROWS, direction, image, dim),
                10 => apply::<10>(self, task * ROWS, direction, image, dim),
                _ => apply::<0>(self, task * ROWS, direction, image, dim),
            }));
            let step = size / curvature;
            // Nothing left to solve, or numbers out of range.
            if !(step > 0.0 && step.is_finite()) {
                return;
            }
            let tasks = x
                .par_chunks_mut(width)
                .zip(residual.par_chunks_mut(width))
                .zip(direction.par_chunks(width).zip(image.par_chunks(width)))
                .zip(self.diagonal.par_chunks(ROWS));
            let next = ordered(tasks.map(|(((x, residual), (direction, image)), diagonal)| {
                advance(dim, step, x, residual, direction, image, diagonal)
            }));
            if next <= goal {
                return;
            }
            let share = next / size;
            size = next;
            let tasks =
                direction.par_chunks_mut(width).zip(residual.par_chunks(width)).zip(self.diagonal.par_chunks(ROWS));
            tasks.for_each(|((direction, residual), diagonal)| {
                turn(dim, share, direction, residual, diagonal);
            });
        }
    }
}

/// The sum in the order of the tasks, whoever did them.
fn ordered(parts: impl IndexedParallelIterator<Item = f64>) -> f64 {
    parts.collect::<Vec<f64>>().iter().sum()
}

/// `image = L direction` for some rows; returns their part of the product of the two.
#[simd_dispatch]
fn apply<const D: usize>(system: &System, first: usize, direction: &[f64], image: &mut [f64], dim: usize) -> f64 {
    let dim = if D > 0 { D } else { dim };
    let mut product = 0.0;
    for (local, image) in image.chunks_exact_mut(dim).enumerate() {
        let i = first + local;
        let range = system.indptr[i]..system.indptr[i + 1];
        let own = &direction[i * dim..(i + 1) * dim];
        (0..dim).for_each(|c| image[c] = system.diagonal[i] * own[c]);
        for (&j, pull) in system.indices[range.clone()].iter().zip(&system.pulls[range]) {
            let other = &direction[j as usize * dim..(j as usize + 1) * dim];
            (0..dim).for_each(|c| image[c] -= pull * other[c]);
        }
        (0..dim).for_each(|c| product += own[c] * image[c]);
    }
    product
}

/// Sums are kept in as many parts as a vector is wide.
const LANES: usize = 8;

/// Adds the squares of a row's numbers, times a factor.
#[inline(always)]
fn add_squares(lanes: &mut [f64; LANES], row: &[f64], factor: f64) {
    for part in row.chunks(LANES) {
        lanes.iter_mut().zip(part).for_each(|(lane, r)| *lane += r * r * factor);
    }
}

/// `x += step direction`, `residual -= step image`; returns the residual's square in the norm of the inverse diagonal.
#[simd_dispatch]
fn advance(
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

/// `direction = residual / diagonal + share direction`; returns the product of the first term and the residual.
#[simd_dispatch]
fn turn(dim: usize, share: f64, direction: &mut [f64], residual: &[f64], diagonal: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    for ((direction, residual), d) in direction.chunks_exact_mut(dim).zip(residual.chunks_exact(dim)).zip(diagonal) {
        let inverse = 1.0 / d;
        direction.iter_mut().zip(residual).for_each(|(p, r)| *p = r * inverse + share * *p);
        add_squares(&mut lanes, residual, inverse);
    }
    lanes.iter().sum()
}
