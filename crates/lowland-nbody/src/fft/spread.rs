//! Charges onto the grid, and values from it.
//!
//! A grid is `[plane][column of charges][row][node]`, so that a band of planes is one slice. A point touches `W` planes, `M`
//! rows and `V` nodes of each: as many, or one where the map has no such axis.

use rayon::prelude::*;

use super::places::{CHUNK, Frame, Places};
use super::spline::Spline;
use crate::Charges;
use lowland_core::Points;
use lowland_core::simd::simd_dispatch;

/// Planes of a band: no fewer than the planes a point touches beyond its own.
pub(super) const BAND: usize = 8;

/// The grid and the window, for points.
#[derive(Clone, Copy)]
pub(super) struct Window<const W: usize, const M: usize, const V: usize> {
    frame: Frame,
    planes: Spline<W>,
    rows: Spline<M>,
    nodes: Spline<V>,
    /// Nodes of a row.
    width: usize,
    /// Nodes of a plane.
    area: usize,
}

/// Where a point touches the grid.
#[derive(Clone, Copy)]
struct Touch {
    plane: usize,
    /// In its plane.
    node: usize,
    fractions: [f64; 3],
}

impl<const W: usize, const M: usize, const V: usize> Window<W, M, V> {
    const DIM: usize = 1 + (M > 1) as usize + (V > 1) as usize;

    /// For a grid of so many planes, rows and nodes.
    pub(super) fn new(frame: Frame, [_, rows, width]: [usize; 3]) -> Self {
        Self { frame, planes: Spline::new(), rows: Spline::new(), nodes: Spline::new(), width, area: rows * width }
    }

    /// The transform of the spline at an angle, along each axis that there is.
    pub(super) fn symbol(&self, angle: f64) -> f64 {
        self.planes.symbol(angle)
    }

    #[inline(always)]
    fn touch(&self, points: &[f64], i: usize) -> Touch {
        let point = &points[i * Self::DIM..][..Self::DIM];
        let (plane, down) = self.frame.place(0, point[0]);
        let (row, across) = if M == 1 { (0, 0.0) } else { self.frame.place(1, point[1]) };
        let (column, along) = if V == 1 { (0, 0.0) } else { self.frame.place(2, point[Self::DIM - 1]) };
        Touch { plane, node: row * self.width + column, fractions: [down, across, along] }
    }

    /// Adds the first `used` charges of the points to the grid, which is set to zero first.
    ///
    /// A band writes to its own planes and to those of the next one, so that first every second band is done, then the
    /// others: no two tasks meet, and the order of the additions is fixed.
    pub(super) fn spread(&self, places: &Places, points: Points, charges: Charges, used: usize, grid: &mut [f64]) {
        let band = BAND * used * self.area;
        let add = |band: usize, grid: &mut [f64]| {
            for run in places.band(band) {
                spread_run(self, points.values(), charges.values, charges.per_point, used, run, band * BAND, grid);
            }
        };
        grid.par_chunks_mut(2 * band).enumerate().for_each(|(pair, grid)| {
            grid.fill(0.0);
            add(2 * pair, grid);
        });
        let rest = grid.get_mut(band..).unwrap_or_default();
        rest.par_chunks_mut(2 * band).enumerate().for_each(|(pair, grid)| {
            // The last slice may hold only planes that the last band reaches into.
            if 2 * pair + 1 < places.bands() {
                add(2 * pair + 1, grid);
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

#[simd_dispatch]
fn spread_run<const W: usize, const M: usize, const V: usize>(
    window: &Window<W, M, V>,
    points: &[f64],
    charges: &[f64],
    per_point: usize,
    used: usize,
    run: &[u32],
    first_plane: usize,
    grid: &mut [f64],
) {
    for &i in run {
        let i = i as usize;
        let Touch { plane, node, fractions } = window.touch(points, i);
        let down = window.planes.weights(fractions[0]);
        let across = window.rows.weights(fractions[1]);
        let along = window.nodes.weights(fractions[2]);
        for charge in 0..used {
            let q = charges[i * per_point + charge];
            let along = along.map(|weight| weight * q);
            for a in 0..W {
                let plane = ((plane - first_plane + a) * used + charge) * window.area;
                for m in 0..M {
                    let weight = down[a] * across[m];
                    let nodes = &mut grid[plane + m * window.width + node..][..V];
                    for b in 0..V {
                        nodes[b] += weight * along[b];
                    }
                }
            }
        }
    }
}

#[simd_dispatch]
fn gather_chunk<const W: usize, const M: usize, const V: usize>(
    window: &Window<W, M, V>,
    points: &[f64],
    order: &[u32],
    first: usize,
    grid: &[f64],
    count: usize,
    out: &mut [f64],
) {
    for &i in order {
        let i = i as usize;
        let Touch { plane, node, fractions } = window.touch(points, i);
        let down = window.planes.weights(fractions[0]);
        let across = window.rows.weights(fractions[1]);
        let along = window.nodes.weights(fractions[2]);
        for (c, out) in out[(i - first) * count..][..count].iter_mut().enumerate() {
            let mut sums = [0.0; V];
            for a in 0..W {
                let plane = ((plane + a) * count + c) * window.area;
                for m in 0..M {
                    let weight = down[a] * across[m];
                    let nodes = &grid[plane + m * window.width + node..][..V];
                    for b in 0..V {
                        sums[b] += weight * nodes[b];
                    }
                }
            }
            *out = dot(&sums, &along);
        }
    }
}

#[simd_dispatch]
fn gradient_chunk<const W: usize, const M: usize, const V: usize>(
    window: &Window<W, M, V>,
    points: &[f64],
    order: &[u32],
    first: usize,
    grid: &[f64],
    values: &mut [f64],
    gradients: &mut [f64],
) {
    let dim = Window::<W, M, V>::DIM;
    for &i in order {
        let i = i as usize;
        let Touch { plane, node, fractions } = window.touch(points, i);
        let (down, down_slopes) = window.planes.weights_and_slopes(fractions[0]);
        let (across, across_slopes) = window.rows.weights_and_slopes(fractions[1]);
        let (along, along_slopes) = window.nodes.weights_and_slopes(fractions[2]);
        // Summed over planes and rows, with the slopes of neither, of planes, of rows.
        let (mut sums, mut by_plane, mut by_row) = ([0.0; V], [0.0; V], [0.0; V]);
        for m in 0..M {
            let (mut of_row, mut slopes) = ([0.0; V], [0.0; V]);
            for a in 0..W {
                let nodes = &grid[(plane + a) * window.area + m * window.width + node..][..V];
                for b in 0..V {
                    of_row[b] += down[a] * nodes[b];
                    slopes[b] += down_slopes[a] * nodes[b];
                }
            }
            for b in 0..V {
                sums[b] += across[m] * of_row[b];
                by_plane[b] += across[m] * slopes[b];
                by_row[b] += across_slopes[m] * of_row[b];
            }
        }
        values[i - first] = dot(&sums, &along);
        let gradient = &mut gradients[(i - first) * dim..][..dim];
        gradient[0] = dot(&by_plane, &along) * window.frame.per_unit;
        if M > 1 {
            gradient[1] = dot(&by_row, &along) * window.frame.per_unit;
        }
        if V > 1 {
            gradient[dim - 1] = dot(&sums, &along_slopes) * window.frame.per_unit;
        }
    }
}

#[inline(always)]
fn dot<const V: usize>(a: &[f64; V], b: &[f64; V]) -> f64 {
    (0..V).map(|k| a[k] * b[k]).sum()
}
