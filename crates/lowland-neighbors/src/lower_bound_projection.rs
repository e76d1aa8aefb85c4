//! Short rows that stand for long ones.
//!
//! A row's shadow holds its coordinates along the few directions in which rows differ most, and the length of what those leave
//! of it, so that the distance between two shadows is never above that between their rows.

use rayon::prelude::*;

use lowland_core::run::Progress;
use lowland_core::{Data, Result, Seed};
use lowland_linalg::{Svd, SvdOptions, svd_with};

/// Rows that the directions are found by.
const SAMPLE_ROWS: usize = 4096;
/// The share of the sum of squares that the directions must hold: with less the shadows of rows say too little of them.
const REQUIRED_SHARE: f64 = 0.8;

/// The directions in which rows of `dim` values differ most, `count` of them or all, from rows evenly spread over the data.
/// `None` where these do not hold enough of the rows.
pub(super) fn principal_directions(
    values: &[f32],
    dim: usize,
    count: usize,
    seed: Seed,
    progress: &mut Progress,
) -> Result<Option<Svd>> {
    let rows = values.len() / dim;
    let sampled = rows.min(SAMPLE_ROWS);
    let row = |at: usize| &values[at * rows / sampled * dim..][..dim];
    let sample = Data::dense((0..sampled).flat_map(row).copied().collect(), dim)?;
    // Roughly is enough: any directions are right, these are only good.
    let options = SvdOptions { tolerance: 1e-3, max_iterations: 8, ..SvdOptions::default() };
    let directions = svd_with(&sample, count.min(dim), true, options, seed.stream("directions"), progress)?;
    Ok((directions_needed(&directions) <= directions.singular_values.len()).then_some(directions))
}

/// How many of the directions, the first ones, hold enough of the rows; one more than there are if all do not.
pub(super) fn directions_needed(directions: &Svd) -> usize {
    let mut held = 0.0;
    let enough = |square: f64| {
        held += square;
        held >= REQUIRED_SHARE * directions.total_squares
    };
    let squares = directions.singular_values.iter().map(|s| s * s);
    1 + squares.map(enough).position(|enough| enough).unwrap_or(directions.singular_values.len())
}

/// The shadows of rows of `dim` values, and the squared lengths of the rows as seen from their middle.
pub(super) fn project(values: &[f32], dim: usize, directions: &Svd) -> (Vec<f32>, Vec<f64>) {
    let map = directions.map();
    let count = map.output_dim();
    let rows = values.len() / dim;
    let (mut projections, mut squares) = (vec![0f32; rows * (count + 1)], vec![0f64; rows]);
    let each = projections.par_chunks_mut(count + 1).zip(&mut squares).zip(values.par_chunks(dim));
    each.for_each_init(
        || vec![0.0; count],
        |coordinates, ((projection, square), row)| {
            map.apply_dense(row, coordinates);
            *square = row.iter().zip(&directions.mean).map(|(&x, mean)| (f64::from(x) - mean).powi(2)).sum();
            let held: f64 = coordinates.iter().map(|c| c * c).sum();
            projection.iter_mut().zip(&*coordinates).for_each(|(out, &c)| *out = c as f32);
            projection[count] = (*square - held).max(0.0).sqrt() as f32;
        },
    );
    (projections, squares)
}
