//! Charges onto the grid, and values from it.
//!
//! A grid is `[row][column of charges][node]`, so that a band of rows is one slice. `W` nodes on the axis of rows and `V`
//! on the other: as many in two dimensions, one in one dimension, where rows are all there is.

use multiversion::multiversion;
use rayon::prelude::*;

use super::places::{CHUNK, Frame, Places};
use super::spline::Spline;
use crate::nbody::Charges;
use crate::points::Points;

/// Rows of a band: no fewer than the rows a point touches beyond its own.
pub(super) const BAND: usize = 8;

/// The grid and the window, for points.
#[derive(Clone, Copy)]
pub(super) struct Window<const W: usize, const V: usize> {
    pub(super) frame: Frame,
    pub(super) rows: Spline<W>,
    pub(super) columns: Spline<V>,
    /// Nodes of a row.
    pub(super) width: usize,
}

/// Where a point touches the grid.
#[derive(Clone, Copy)]
struct Touch {
    row: usize,
    column: usize,
    fractions: [f64; 2],
}

impl<const W: usize, const V: usize> Window<W, V> {
    #[inline(always)]
    fn touch(&self, points: &[f64], i: usize) -> Touch {
        let dim = if V == 1 { 1 } else { 2 };
        let (row, down) = self.frame.place(0, points[i * dim]);
        let (column, across) = if V == 1 { (0, 0.0) } else { self.frame.place(1, points[i * dim + 1]) };
        Touch { row, column, fractions: [down, across] }
    }

    /// Adds the first `used` charges of the points to the grid, which is set to zero first.
    ///
    /// A band writes to its own rows and to those of the next one, so that first every second band is done, then the
    /// others: no two tasks meet, and the order of the additions is fixed.
    pub(super) fn spread(&self, places: &Places, points: Points, charges: Charges, used: usize, grid: &mut [f64]) {
        let band = BAND * used * self.width;
        let add = |band: usize, first_row: usize, grid: &mut [f64]| {
            for run in places.band(band) {
                spread_run(self, points.values(), charges.values, charges.per_point, used, run, first_row, grid);
            }
        };
        grid.par_chunks_mut(2 * band).enumerate().for_each(|(pair, grid)| {
            grid.fill(0.0);
            add(2 * pair, 2 * pair * BAND, grid);
        });
        let rest = grid.get_mut(band..).unwrap_or_default();
        rest.par_chunks_mut(2 * band).enumerate().for_each(|(pair, grid)| {
            // The last slice may hold only rows that the last band reaches into.
            if 2 * pair + 1 < places.bands() {
                add(2 * pair + 1, (2 * pair + 1) * BAND, grid);
            }
        });
    }

    /// The values of `count` columns of the grid at each point.
    pub(super) fn gather(&self, places: &Places, points: Points, grid: &[f64], count: usize, out: &mut [f64]) {
        let chunks = places.order().par_chunks(CHUNK).zip(out.par_chunks_mut(CHUNK * count)).enumerate();
        chunks.for_each(|(chunk, (order, out))| {
            gather_chunk(self, points.values(), order, chunk * CHUNK, grid, count, out);
        });
    }

    /// The values of the grid's one column at each point, and their gradients.
    pub(super) fn gather_gradient(
        &self,
        places: &Places,
        points: Points,
        grid: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
    ) {
        let out = values.par_chunks_mut(CHUNK).zip(gradients.par_chunks_mut(CHUNK * points.dim()));
        places.order().par_chunks(CHUNK).zip(out).enumerate().for_each(|(chunk, (order, (values, gradients)))| {
            gradient_chunk(self, points.values(), order, chunk * CHUNK, grid, values, gradients);
        });
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2", "aarch64+neon"))]
fn spread_run<const W: usize, const V: usize>(
    window: &Window<W, V>,
    points: &[f64],
    charges: &[f64],
    per_point: usize,
    used: usize,
    run: &[u32],
    first_row: usize,
    grid: &mut [f64],
) {
    let width = window.width;
    for &i in run {
        let i = i as usize;
        let Touch { row, column, fractions } = window.touch(points, i);
        let down = window.rows.weights(fractions[0]);
        let across = window.columns.weights(fractions[1]);
        for charge in 0..used {
            let q = charges[i * per_point + charge];
            let across = across.map(|weight| weight * q);
            for a in 0..W {
                let at = ((row - first_row + a) * used + charge) * width + column;
                let nodes = &mut grid[at..at + V];
                for b in 0..V {
                    nodes[b] += down[a] * across[b];
                }
            }
        }
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2", "aarch64+neon"))]
fn gather_chunk<const W: usize, const V: usize>(
    window: &Window<W, V>,
    points: &[f64],
    order: &[u32],
    first: usize,
    grid: &[f64],
    count: usize,
    out: &mut [f64],
) {
    for &i in order {
        let i = i as usize;
        let Touch { row, column, fractions } = window.touch(points, i);
        let down = window.rows.weights(fractions[0]);
        let across = window.columns.weights(fractions[1]);
        for (c, out) in out[(i - first) * count..][..count].iter_mut().enumerate() {
            let mut sums = [0.0; V];
            for a in 0..W {
                let at = ((row + a) * count + c) * window.width + column;
                let nodes = &grid[at..at + V];
                for b in 0..V {
                    sums[b] += down[a] * nodes[b];
                }
            }
            *out = dot(&sums, &across);
        }
    }
}

#[multiversion(targets("x86_64+avx512f+avx512vl+avx512bw+avx512dq", "x86_64+avx2", "aarch64+neon"))]
fn gradient_chunk<const W: usize, const V: usize>(
    window: &Window<W, V>,
    points: &[f64],
    order: &[u32],
    first: usize,
    grid: &[f64],
    values: &mut [f64],
    gradients: &mut [f64],
) {
    let dim = if V == 1 { 1 } else { 2 };
    for &i in order {
        let i = i as usize;
        let Touch { row, column, fractions } = window.touch(points, i);
        let (down, down_slopes) = window.rows.weights_and_slopes(fractions[0]);
        let (across, across_slopes) = window.columns.weights_and_slopes(fractions[1]);
        let (mut sums, mut slopes) = ([0.0; V], [0.0; V]);
        for a in 0..W {
            let at = (row + a) * window.width + column;
            let nodes = &grid[at..at + V];
            for b in 0..V {
                sums[b] += down[a] * nodes[b];
                slopes[b] += down_slopes[a] * nodes[b];
            }
        }
        values[i - first] = dot(&sums, &across);
        let gradient = &mut gradients[(i - first) * dim..][..dim];
        gradient[0] = dot(&slopes, &across) * window.frame.per_unit;
        if V > 1 {
            gradient[1] = dot(&sums, &across_slopes) * window.frame.per_unit;
        }
    }
}

#[inline(always)]
fn dot<const V: usize>(a: &[f64; V], b: &[f64; V]) -> f64 {
    (0..V).map(|k| a[k] * b[k]).sum()
}
