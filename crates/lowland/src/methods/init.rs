//! Initial embeddings of iterative methods.

use std::cmp::Ordering;

use rayon::prelude::*;

use lowland_core::message::{Note, Remedy};
use lowland_core::params::param_enum;
use lowland_core::run::Context;
use lowland_core::{Data, DataShape, Embedding, Error, Metric, Points, Result, Seed};
use lowland_linalg::block::column_means;
use lowland_linalg::{Csr, LaplacianKind, SvdOptions, pca_memory, svd_with};
use lowland_neighbors::graph::{ConnectedComponents, Edge, SpectralCoordinates, add_edges, join_components_with};

param_enum! {
    /// Initial embedding of the iterations.
    pub enum Init ("auto, pca, spectral or random") {
        /// Principal components; spectral if rows are strings.
        Auto = "auto",
        /// Principal components.
        Pca = "pca",
        /// Laplacian eigenmaps of the affinity graph.
        Spectral = "spectral",
        /// Normally distributed random numbers.
        Random = "random",
    }
}

/// Noise relative to the size of the initial embedding. It separates equal rows and adds missing directions.
const JITTER: f64 = 0.01;
/// Distance below which points are at one place.
const MIN_DISTANCE: f64 = 1e-100;
/// Maximum number of iterations of the eigensolver; an initial embedding need not be more accurate.
const SPECTRAL_ITERATIONS: usize = 100;

/// Weight of the edges that join the components of a graph; what follows the initial embedding does without them.
const JOIN_WEIGHT: f64 = 0.01;

/// Bound of the coordinates of a given initial embedding. The kernels have width one, which further out is not much more than
/// the distance between adjacent numbers.
const MAX_COORDINATE: f64 = 1e12;

/// Estimates the bytes of [`initial_embedding`] for a graph with `edges` weights.
pub(super) fn initial_memory(init: Init, dim: usize, shape: DataShape, edges: f64) -> f64 {
    match init {
        Init::Random => 0.0,
        Init::Auto | Init::Pca if shape.dim > 0 => pca_memory(dim.min(shape.dim), shape) as f64,
        _ => SpectralCoordinates::memory(shape.rows, edges, dim),
    }
}

/// Computes an initial embedding whose first coordinate has standard deviation `size`.
pub(super) fn initial_embedding(
    data: &Data,
    weights: &Csr,
    init: Init,
    dim: usize,
    size: f64,
    context: &mut Context,
) -> Result<Embedding> {
    let n = data.rows();
    if let Some(embedding) = context.init() {
        return check(embedding, n, dim).map(|()| embedding.clone());
    }
    let text = matches!(data, Data::Text(_));
    let seed = context.seed.stream("start");
    let mut values = match init {
        Init::Pca if text => {
            let remedies =
                vec![Remedy::Set { name: "init", value: "spectral" }, Remedy::Set { name: "init", value: "random" }];
            return Err(Error::Kind { what: "init pca", kind: "text", remedies });
        }
        Init::Random => vec![0.0; n * dim],
        Init::Auto | Init::Pca if !text => {
            let available = dim.min(data.dim()).max(1);
            let options = SvdOptions { tolerance: 1e-7, ..SvdOptions::default() };
            let svd = context.with_progress(|progress| svd_with(data, available, true, options, seed, progress))?;
            svd.map().padded(dim).apply(data)?.into_values()
        }
        _ => {
            let wanted = dim.min(n.saturating_sub(1));
            let coordinates = SpectralCoordinates::new(weights, LaplacianKind::Normalized, wanted, 1e-4, seed)?;
            let max_memory = context.memory_left(weights.values().len() as f64 * 60.0);
            let mut coordinates = coordinates.with_max_iterations(SPECTRAL_ITERATIONS).with_max_memory(max_memory);
            context.with_progress(|progress| coordinates.run(progress))?;
            let vectors = coordinates.random_walk_vectors();
            let mut values = vec![0.0; n * dim];
            for (to, from) in values.chunks_exact_mut(dim).zip(vectors.chunks_exact(wanted.max(1))) {
                to[..wanted].copy_from_slice(from);
            }
            values
        }
    };
    let mean = column_means(&values, dim);
    values.chunks_exact_mut(dim).for_each(|row| row.iter_mut().zip(&mean).for_each(|(v, m)| *v -= m));
    // Scaled by the largest coordinate, so that squares neither underflow nor overflow.
    let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let deviation = if largest > 0.0 {
        let squares = values.iter().step_by(dim).map(|v| (v / largest).powi(2)).sum::<f64>();
        largest * (squares / n as f64).sqrt()
    } else {
        0.0
    };
    let scale = if deviation > 0.0 { size / deviation } else { 0.0 };
    let noise = if init == Init::Random || scale == 0.0 { size } else { JITTER * size };
    let jitter = row_noise(data, dim, seed);
    values.iter_mut().zip(&jitter).for_each(|(v, e)| *v = scale * *v + noise * e);
    Embedding::new(values, dim)
}

/// Returns the graph with its components joined at their closest points, for [`Init::Spectral`]; `None` if it is connected.
pub(super) fn joined_components(
    data: &Data,
    metric: Metric,
    weights: &Csr,
    context: &mut Context,
) -> Result<Option<Csr>> {
    let components = ConnectedComponents::from_matrix(weights);
    if components.count() < 2 {
        return Ok(None);
    }
    let joins = context.with_progress(|progress| join_components_with(data, metric, &components, progress))?;
    context.note(Note::ComponentsJoined { components: components.count() });
    let joins: Vec<Edge> = joins.into_iter().map(|join| Edge { length: JOIN_WEIGHT, ..join }).collect();
    add_edges(weights, &joins).map(Some)
}

/// Returns `dim` normally distributed numbers for each row. They depend on the rank of the row among the sorted rows and not on
/// its place, so that the same rows in another order, in another unit, or stored as a sparse matrix start at the same points.
fn row_noise(data: &Data, dim: usize, seed: Seed) -> Vec<f64> {
    let mut sorted: Vec<u32> = (0..data.rows() as u32).collect();
    // Equal rows are ranked by their place.
    sorted.par_sort_unstable_by(|&a, &b| compare_rows(data, a as usize, b as usize).then(a.cmp(&b)));
    let mut noise = vec![0.0; data.rows() * dim];
    for (&row, numbers) in sorted.iter().zip(seed.normals(data.rows() * dim).chunks_exact(dim)) {
        noise[row as usize * dim..][..dim].copy_from_slice(numbers);
    }
    noise
}

/// Compares two rows column by column.
fn compare_rows(data: &Data, a: usize, b: usize) -> Ordering {
    let by_value = |(a, b): (&f32, &f32)| a.partial_cmp(b).filter(|order| order.is_ne());
    match data {
        Data::Dense(rows) => rows.row(a).iter().zip(rows.row(b)).find_map(by_value).unwrap_or(Ordering::Equal),
        Data::Sparse(rows) => {
            let (mut a, mut b) = (rows.row(a), rows.row(b));
            loop {
                let column = |row: &(&[u32], &[f32])| row.0.first().copied().unwrap_or(u32::MAX);
                let next = column(&a).min(column(&b));
                if next == u32::MAX {
                    return Ordering::Equal;
                }
                let [left, right] = [&mut a, &mut b].map(|row| match column(row) == next {
                    true => {
                        let value = row.1[0];
                        *row = (&row.0[1..], &row.1[1..]);
                        value
                    }
                    false => 0.0,
                });
                if let Some(order) = by_value((&left, &right)) {
                    return order;
                }
            }
        }
        Data::Text(lines) => lines[a].cmp(&lines[b]),
    }
}

/// Returns an error if the embedding has the wrong size, is not finite or too large, or if all of its points coincide.
fn check(embedding: &Embedding, n: usize, dim: usize) -> Result<()> {
    for (what, expected, found) in [
        ("points of the initial embedding", n, embedding.rows()),
        ("dimensions of the initial embedding", dim, embedding.dim()),
    ] {
        if expected != found {
            return Err(Error::Shape { what, expected, found });
        }
    }
    embedding.points().check_finite()?;
    if let Some(at) = embedding.values().iter().position(|v| v.abs() > MAX_COORDINATE) {
        let (row, column, value) = (at / dim, at % dim, embedding.values()[at]);
        return Err(Error::InitTooLarge { row, column, value, limit: MAX_COORDINATE });
    }
    if coincide(embedding.points()) {
        return Err(Error::InitAtOnePoint { rows: n });
    }
    Ok(())
}

/// Returns whether all points are at one place, up to rounding.
pub(super) fn coincide(points: Points) -> bool {
    let d = points.dim();
    let largest = points.values().iter().fold(0.0f64, |most, v| most.max(v.abs()));
    let first = points.values().chunks_exact(d).next().unwrap_or(&[]);
    // Squares of distances below the second bound vanish.
    let limit = (4.0 * f64::EPSILON * largest).max(MIN_DISTANCE);
    points.rows() > 1
        && points.values().chunks_exact(d).all(|row| row.iter().zip(first).all(|(a, b)| (a - b).abs() <= limit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_core::Sparse;

    #[test]
    fn noise_follows_the_rows_and_separates_equal_ones() {
        let values = [[1.0f32, 2.0], [3.0, 4.0], [1.0, 2.0], [5.0, 6.0], [1.0, 2.0]];
        let noise = |rows: &[usize]| {
            let data = Data::dense(rows.iter().flat_map(|&i| values[i]).collect(), 2).unwrap();
            row_noise(&data, 3, Seed(7))
        };
        let (given, moved) = (noise(&[0, 1, 2, 3, 4]), noise(&[3, 4, 1, 0, 2]));
        let row = |noise: &[f64], i: usize| noise[3 * i..3 * i + 3].to_vec();
        assert_eq!([row(&given, 3), row(&given, 1)], [row(&moved, 0), row(&moved, 2)]);
        // Equal rows are numbered in order.
        assert_eq!([0, 2, 4].map(|i| row(&given, i)), [1, 3, 4].map(|i| row(&moved, i)));
        assert!(row(&given, 0) != row(&given, 2) && row(&given, 2) != row(&given, 4));
    }

    #[test]
    fn sparse_rows_are_ranked_like_dense_ones() {
        let dense = Data::dense(vec![0.0, 2.0, 0.0, -1.0, 0.0, 0.0, 0.0, 2.0, -3.0, 0.0, 0.0, 0.0], 3).unwrap();
        let (starts, columns) = (vec![0, 1, 2, 4, 4], vec![1, 0, 1, 2]);
        let sparse = Data::Sparse(Sparse::new(starts, columns, vec![2.0, -1.0, 2.0, -3.0], 3).unwrap());
        assert_eq!(row_noise(&dense, 2, Seed(3)), row_noise(&sparse, 2, Seed(3)));
    }
}
