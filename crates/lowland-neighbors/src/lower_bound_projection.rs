//! Projections of long rows to short ones whose distances are lower bounds.
//!
//! A projection holds the coordinates of a row along the principal directions and the norm of the remainder, so the
//! distance between two projections never exceeds that between the rows.

use rayon::prelude::*;

use lowland_core::run::Progress;
use lowland_core::{Data, Result, Seed};
use lowland_linalg::{Svd, SvdOptions, svd_with};

/// Number of rows from which the directions are computed.
const SAMPLE_ROWS: usize = 4096;
/// Share of the total sum of squares that the directions must capture; with less, the bounds are too loose to be
/// useful.
const REQUIRED_SHARE: f64 = 0.8;

/// Computes the principal directions of rows of `dim` values, `count` of them or all, from rows evenly spread over the
/// data. Returns `None` if they do not capture enough of the variance.
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
    // A rough result is enough: any directions give correct bounds.
    let options = SvdOptions { tolerance: 1e-3, max_iterations: 8, ..SvdOptions::default() };
    let directions = svd_with(&sample, count.min(dim), true, options, seed.stream("directions"), progress)?;
    Ok((directions_needed(&directions) <= directions.singular_values.len()).then_some(directions))
}

/// Number of leading directions that capture enough of the variance; one more than there are if all do not.
pub(super) fn directions_needed(directions: &Svd) -> usize {
    let mut held = 0.0;
    let enough = |square: f64| {
        held += square;
        held >= REQUIRED_SHARE * directions.total_squares
    };
    let squares = directions.singular_values.iter().map(|s| s * s);
    1 + squares.map(enough).position(|enough| enough).unwrap_or(directions.singular_values.len())
}

/// Returns the projections of rows of `dim` values, and the squared norms of the rows about their mean.
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
