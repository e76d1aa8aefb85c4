//! The pairs of points that are always summed.

use rayon::prelude::*;

use lowland_core::simd::simd_dispatch;

use crate::Kernel;
use crate::fused::{LANES, Lane, kernel_values, padded_width};
use lowland_core::Points;

/// For every point the others it is near: a symmetric relation, by row. Sums over a sample of the points contain these pairs
/// exactly, because few of them may have most of the repulsion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearPairs {
    starts: Vec<usize>,
    points: Vec<u32>,
}

impl NearPairs {
    /// Creates the pairs from the rows of a symmetric sparse matrix without a diagonal: those of row `i` are
    /// `points[starts[i]..starts[i + 1]]`.
    pub fn new(starts: Vec<usize>, points: Vec<u32>) -> Self {
        Self { starts, points }
    }

    /// Number of points.
    pub fn rows(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The points near point `i`.
    pub fn of(&self, i: usize) -> &[u32] {
        &self.points[self.starts[i]..self.starts[i + 1]]
    }
}

/// Points by row in single precision, padded like those of blocks.
#[derive(Default)]
pub(super) struct PaddedRows {
    values: Vec<f32>,
    width: usize,
}

impl PaddedRows {
    pub(super) fn fill(&mut self, points: Points) {
        let d = points.dim();
        self.width = padded_width(d);
        self.values.resize(points.rows() * self.width, 0.0);
        let rows = self.values.par_chunks_exact_mut(self.width).zip(points.values().par_chunks_exact(d));
        rows.with_min_len(1024).for_each(|(out, row)| {
            out[d..].fill(0.0);
            out.iter_mut().zip(row).for_each(|(out, &x)| *out = x as f32);
        });
    }

    /// Adds to the sums of point `i` (gradient without its factor, then potential) those over pairs with the given factors.
    pub(super) fn add_pairs(&self, kernel: Kernel, i: usize, pairs: &[(u32, f32)], sums: &mut [f64]) {
        match self.width {
            4 => add_pairs::<4>(kernel, &self.values, i, pairs, sums),
            6 => add_pairs::<6>(kernel, &self.values, i, pairs, sums),
            8 => add_pairs::<8>(kernel, &self.values, i, pairs, sums),
            10 => add_pairs::<10>(kernel, &self.values, i, pairs, sums),
            16 => add_pairs::<16>(kernel, &self.values, i, pairs, sums),
            width => add_wide_pairs(width, kernel, &self.values, i, pairs, sums),
        }
    }
}

#[simd_dispatch]
fn add_pairs<const D: usize>(kernel: Kernel, rows: &[f32], i: usize, pairs: &[(u32, f32)], sums: &mut [f64]) {
    let (rows, _) = rows.as_chunks::<D>();
    let here = rows[i];
    let (mut gradients, mut potentials) = ([[0.0f32; LANES]; D], [0.0f32; LANES]);
    for pairs in pairs.chunks(LANES) {
        let (mut differences, mut factors) = ([[0.0f32; LANES]; D], [0.0f32; LANES]);
        for (l, &(j, factor)) in pairs.iter().enumerate() {
            let there = &rows[j as usize];
            for k in 0..D {
                differences[k][l] = here[k] - there[k];
            }
            factors[l] = factor;
        }
        let mut squared = [0.0f32; LANES];
        for k in 0..D {
            for l in 0..LANES {
                squared[l] += differences[k][l] * differences[k][l];
            }
        }
        let [values, next] = kernel_values(kernel, squared);
        for l in 0..LANES {
            potentials[l] += factors[l] * values[l];
        }
        for l in 0..LANES {
            factors[l] *= next[l];
        }
        for k in 0..D {
            for l in 0..LANES {
                gradients[k][l] += factors[l] * differences[k][l];
            }
        }
    }
    let dim = sums.len() - 1;
    for k in 0..dim {
        sums[k] += total(&gradients[k]);
    }
    sums[dim] += total(&potentials);
}

fn add_wide_pairs(width: usize, kernel: Kernel, rows: &[f32], i: usize, pairs: &[(u32, f32)], sums: &mut [f64]) {
    let dim = sums.len() - 1;
    let row = |i: usize| &rows[i * width..][..width];
    for pairs in pairs.chunks(LANES) {
        let mut squared = [0.0f32; LANES];
        for (squared, &(j, _)) in squared.iter_mut().zip(pairs) {
            *squared = row(i).iter().zip(row(j as usize)).map(|(a, b)| (a - b) * (a - b)).sum();
        }
        let [values, next] = kernel_values(kernel, squared);
        for (l, &(j, factor)) in pairs.iter().enumerate() {
            for k in 0..dim {
                sums[k] += f64::from(factor * next[l] * (row(i)[k] - row(j as usize)[k]));
            }
            sums[dim] += f64::from(factor * values[l]);
        }
    }
}

#[inline(always)]
fn total(lane: &Lane) -> f64 {
    lane.iter().map(|&value| f64::from(value)).sum()
}
