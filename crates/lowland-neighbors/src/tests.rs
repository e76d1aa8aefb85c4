//! Compares every search with a plain one: all distances by [`distance`], sorted.

mod approximate;
mod distance;
mod exact;
mod invalid_input;
mod nearest_points;
mod queries;
mod two_stage_exact;

use crate::*;
use lowland_core::{Data, Dense, Metric, Result, Seed, Sparse};

fn quiet(_: f64) -> Result<()> {
    Ok(())
}

/// All distances from row `i` of `queries`, sorted by the rounded distance, then by index.
fn sorted_row(queries: &Data, i: usize, data: &Data, k: usize, metric: Metric, within: bool) -> Vec<(f32, u32)> {
    let mut row: Vec<(f32, u32)> = (0..data.rows())
        .filter(|&j| !(within && i == j))
        .map(|j| (distance(queries, i, data, j, metric) as f32, j as u32))
        .collect();
    row.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    row.truncate(k);
    row
}

fn edges(graph: &NeighborGraph, i: usize) -> Vec<(f32, u32)> {
    let (columns, lengths) = graph.row(i);
    lengths.iter().copied().zip(columns.iter().copied()).collect()
}

fn exact(k: usize, metric: Metric) -> NeighborParams {
    NeighborParams { n_neighbors: k, metric, search: Search::Exact, seed: Seed(1) }
}

fn assert_matches_sorting(data: &Data, k: usize, metric: Metric) {
    let found = nearest(data, &exact(k, metric)).unwrap();
    for i in 0..data.rows() {
        assert_eq!(edges(&found.graph, i), sorted_row(data, i, data, k, metric, true), "{metric}, row {i}, k {k}");
    }
}

fn normal_rows(rows: usize, dim: usize, seed: u64) -> Vec<f32> {
    Seed(seed).normals(rows * dim).into_iter().map(|x| x as f32).collect()
}

/// Rows with about a tenth of the entries nonzero; some rows are empty.
fn sparse_rows(rows: usize, dim: usize, seed: u64, positive: bool) -> Sparse {
    let values = normal_rows(rows, dim, seed);
    let (mut indptr, mut indices, mut kept) = (vec![0], Vec::new(), Vec::new());
    for (i, row) in values.chunks_exact(dim).enumerate() {
        for (c, &x) in row.iter().enumerate().filter(|(_, x)| x.abs() > 1.6 && i % 37 != 5) {
            indices.push(c as u32);
            kept.push(if positive { x.abs() } else { x });
        }
        indptr.push(indices.len());
    }
    Sparse::new(indptr, indices, kept, dim).unwrap()
}

fn to_dense(x: &Sparse) -> Data {
    let mut values = vec![0.0; x.rows() * x.dim()];
    for i in 0..x.rows() {
        let (columns, entries) = x.row(i);
        columns.iter().zip(entries).for_each(|(&c, &v)| values[i * x.dim() + c as usize] = v);
    }
    Data::Dense(Dense::new(values, x.dim()).unwrap())
}

/// The metrics of numeric rows of any length; Minkowski also with a power that is not an integer.
fn numeric_metrics() -> Vec<Metric> {
    let is_numeric = |metric: &Metric| !matches!(metric, Metric::Levenshtein | Metric::Precomputed | Metric::Haversine);
    Metric::ALL.into_iter().filter(is_numeric).chain([Metric::Minkowski(2.5)]).collect()
}
