//! Charges onto the grid and values from it, in parallel.

use rayon::prelude::*;

use super::binning::{BinnedPoints, CHUNK};
use super::window::{GridWindow, PointChunk};
use crate::{Charges, PotentialOutput};
use lowland_core::Points;

/// Planes of a band: no fewer than the planes a window reaches beyond that of its point.
pub(super) const BAND: usize = 8;

/// Adds the first `used` charges of the points to the grid, which is set to zero first. `area` is the number of nodes of a plane.
///
/// A band writes to its own planes and to those of the next one, so that first every second band is done, then the
/// others: no two tasks meet, and the order of the additions is fixed.
pub(super) fn spread(
    window: &dyn GridWindow,
    bins: &BinnedPoints,
    points: Points,
    charges: Charges,
    used: usize,
    area: usize,
    grid: &mut [f64],
) {
    let band = BAND * used * area;
    let add = |band: usize, grid: &mut [f64]| {
        for run in bins.band(band) {
            window.spread(points.values(), charges, used, run, band * BAND, grid);
        }
    };
    grid.par_chunks_mut(2 * band).enumerate().for_each(|(pair, grid)| {
        grid.fill(0.0);
        add(2 * pair, grid);
    });
    let rest = grid.get_mut(band..).unwrap_or_default();
    rest.par_chunks_mut(2 * band).enumerate().for_each(|(pair, grid)| {
        // The last slice may hold only planes that the last band reaches into.
        if 2 * pair + 1 < bins.bands() {
            add(2 * pair + 1, grid);
        }
    });
}

/// Reads the values of `count` columns of the grid at each point.
pub(super) fn gather(
    window: &dyn GridWindow,
    bins: &BinnedPoints,
    points: Points,
    grid: &[f64],
    count: usize,
    out: &mut [f64],
) {
    let chunks = bins.order().par_chunks(CHUNK).zip(out.par_chunks_mut(CHUNK * count)).enumerate();
    chunks.for_each(|(chunk, (order, out))| {
        let points = PointChunk { points: points.values(), order, first: chunk * CHUNK };
        window.gather(points, grid, count, out);
    });
}

/// Reads the values of the grid's only column at each point, and their gradients.
pub(super) fn gather_gradient(
    window: &dyn GridWindow,
    bins: &BinnedPoints,
    points: Points,
    grid: &[f64],
    out: PotentialOutput,
) {
    let out = out.values.par_chunks_mut(CHUNK).zip(out.gradients.par_chunks_mut(CHUNK * points.dim()));
    bins.order().par_chunks(CHUNK).zip(out).enumerate().for_each(|(chunk, (order, (values, gradients)))| {
        let points = PointChunk { points: points.values(), order, first: chunk * CHUNK };
        window.gather_gradient(points, grid, values, gradients);
    });
}
