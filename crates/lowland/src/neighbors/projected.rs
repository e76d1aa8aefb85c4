//! Approximate search among long rows: candidates are the nearest along the few directions in which the rows differ most, and the
//! distance itself decides among them.
//!
//! A row's shadow holds its coordinates along those directions and the length of what they leave of it, so that the distance
//! between shadows is never above that between rows.

use rayon::prelude::*;

use super::{NeighborParams, Search, inner, nearest};
use crate::linalg::{Svd, SvdOptions, svd};
use crate::points::{Data, Dense, Metric, Result, Seed};
use crate::run::Progress;

/// Shorter rows are compared as they are.
pub(super) const LONG: usize = 256;
/// Columns of a shadow, the length of the rest included.
pub(super) const SHADOW: usize = 64;
/// Rows that the directions are found by.
const SAMPLE: usize = 4096;
/// The share of the sum of squares that the directions must hold: with less the shadows of rows say too little of them.
const ENOUGH: f64 = 0.8;

/// Whether rows have shadows.
pub(super) fn applies(data: &Data, metric: Metric) -> bool {
    matches!(data, Data::Dense(x) if x.dim() >= LONG) && inner::applies(metric)
}

/// Candidates for the `k` nearest: on MNIST's pixels the nearest 64 are among the 160 of nearest shadow in 99 cases of 100.
pub(super) fn candidate_count(k: usize, rows: usize) -> usize {
    k.saturating_mul(2).saturating_add(32).min(rows.saturating_sub(1))
}

/// For each row the rows of nearest shadow; `None` where a few directions do not hold enough of the rows.
pub(super) fn candidates(
    data: &Dense,
    params: &NeighborParams,
    progress: &mut Progress,
) -> Result<Option<Vec<Vec<u32>>>> {
    let NeighborParams { n_neighbors, metric, seed, .. } = *params;
    let flat = inner::Flat::new(data, metric, &inner::Frame::new(data, data), false);
    let rows = Data::dense(flat.values, flat.dim)?;
    let directions = directions(&rows, seed, &mut |part| progress(0.1 * part))?;
    let held: f64 = directions.singular_values.iter().map(|s| s * s).sum();
    if held < ENOUGH * directions.total_squares {
        return Ok(None);
    }
    let shadows = shadows(&rows, &directions)?;
    drop(rows);
    let n_neighbors = candidate_count(n_neighbors, data.rows());
    let params = NeighborParams { n_neighbors, metric: Metric::Euclidean, search: Search::Auto, seed };
    let graph = nearest(&shadows, &params, &mut |part| progress(0.2 + 0.8 * part))?.graph;
    Ok(Some((0..data.rows()).map(|i| graph.row(i).0.to_vec()).collect()))
}

/// The directions in which rows differ most, from rows evenly spread over the data.
fn directions(rows: &Data, seed: Seed, progress: &mut Progress) -> Result<Svd> {
    let (n, count) = (rows.rows(), rows.rows().min(SAMPLE));
    let sample: Vec<usize> = (0..count).map(|at| at * n / count).collect();
    // Roughly is enough: any directions are right, these are only good.
    let options = SvdOptions { tolerance: 1e-3, max_iterations: 8, ..SvdOptions::default() };
    svd(&rows.select(&sample), SHADOW - 1, true, options, seed.stream("directions"), progress)
}

fn shadows(rows: &Data, directions: &Svd) -> Result<Data> {
    let along = directions.map().apply(rows)?;
    let Data::Dense(rows) = rows else { unreachable!("they were made dense") };
    let mut values = vec![0f32; rows.rows() * SHADOW];
    values.par_chunks_mut(SHADOW).enumerate().for_each(|(i, shadow)| {
        let coordinates = along.row(i);
        let off = |(x, mean): (&f32, &f64)| (f64::from(*x) - mean).powi(2);
        let square: f64 = rows.row(i).iter().zip(&directions.mean).map(off).sum();
        let held: f64 = coordinates.iter().map(|c| c * c).sum();
        shadow.iter_mut().zip(coordinates).for_each(|(out, &c)| *out = c as f32);
        shadow[SHADOW - 1] = (square - held).max(0.0).sqrt() as f32;
    });
    Data::dense(values, SHADOW)
}
