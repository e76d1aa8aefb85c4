//! The approximate search, its recall, and the choice between the searches.

use super::*;
use crate::strategy;
use lowland_core::{DataShape, with_threads};

/// Clusters of rows.
fn clusters(rows: usize, dim: usize) -> Vec<f32> {
    let centres = normal_rows(20, dim, 77);
    let mut values = normal_rows(rows, dim, 78);
    for (i, row) in values.chunks_exact_mut(dim).enumerate() {
        row.iter_mut().zip(&centres[(i % 20) * dim..]).for_each(|(x, c)| *x = 0.7 * *x + 2.0 * c);
    }
    values
}

fn approximate(k: usize, metric: Metric) -> NeighborParams {
    NeighborParams { search: Search::Approximate, ..exact(k, metric) }
}

/// Share of the neighbors found that are as near as the exact last one, over all rows.
fn true_recall(data: &Data, found: &NeighborGraph, k: usize, metric: Metric) -> f64 {
    let exact = nearest(data, &exact(k, metric)).unwrap().graph;
    let hits = |i: usize| found.row(i).1.iter().filter(|&&d| d <= exact.row(i).1[k - 1]).count();
    (0..data.rows()).map(hits).sum::<usize>() as f64 / (data.rows() * k) as f64
}

#[test]
fn the_approximate_search_finds_nearly_all_neighbors_and_measures_its_recall() {
    let dense = Data::dense(clusters(2000, 16), 16).unwrap();
    let sparse = Data::Sparse(sparse_rows(1000, 30, 12, true));
    let lines = (0..800).map(|i| format!("{:b}-{}", Seed(1).item(i).0 >> 44, i % 50)).collect();
    let text = Data::text(lines);
    let cases = [
        (&dense, 10, Metric::Euclidean),
        (&dense, 60, Metric::Euclidean),
        (&dense, 10, Metric::Cosine),
        (&dense, 40, Metric::Manhattan),
        (&sparse, 10, Metric::Cosine),
        (&sparse, 10, Metric::Hellinger),
        (&text, 8, Metric::Levenshtein),
    ];
    for (data, k, metric) in cases {
        let found = nearest(data, &approximate(k, metric)).unwrap();
        assert_eq!(found.algorithm, SearchAlgorithm::Descent);
        let recall = found.recall.unwrap();
        let truth = true_recall(data, &found.graph, k, metric);
        assert!(truth > 0.95, "{} {metric} k {k}: {truth}", data.kind());
        assert!((recall.value - truth).abs() < 0.02, "{} {metric} {truth} {}", data.kind(), recall.value);
        for i in 0..data.rows() {
            let row = edges(&found.graph, i);
            assert_eq!(row.len(), k);
            let mut distinct: Vec<u32> = row.iter().map(|edge| edge.1).filter(|&j| j as usize != i).collect();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(distinct.len(), k, "row {i} names itself or a row twice");
            let true_lengths = row.iter().all(|&(d, j)| d == distance(data, i, data, j as usize, metric) as f32);
            assert!(true_lengths, "row {i}");
        }
    }
}

#[test]
fn the_approximate_search_does_not_depend_on_the_number_of_threads() {
    let data = Data::dense(clusters(1500, 10), 10).unwrap();
    for (k, metric) in [(8, Metric::Euclidean), (50, Metric::Euclidean), (40, Metric::Chebyshev)] {
        let run = |threads| with_threads(Some(threads), || nearest(&data, &approximate(k, metric)).unwrap()).unwrap();
        let one = run(1);
        for threads in [2, 3] {
            let more = run(threads);
            assert!(more.graph == one.graph && more.recall == one.recall, "k {k}, {metric}, {threads} threads");
        }
    }
}

#[test]
fn the_approximate_search_handles_equal_rows_and_small_components() {
    let mut values = vec![0.5; 4000];
    values[3000..].iter_mut().enumerate().for_each(|(at, x)| *x = (at % 7) as f32);
    let equal = Data::dense(values, 4).unwrap();
    let found = nearest(&equal, &approximate(12, Metric::Euclidean)).unwrap();
    assert_eq!(found.graph.min_degree(), 12);
    assert_eq!(found.graph.row(0).1[11], 0.0);
    // Components of 30 rows, each asking for 45 neighbors.
    let islands: Vec<f32> = (0..900).map(|i| (i / 30) as f32 * 1000.0 + (i % 30) as f32).collect();
    for metric in [Metric::Euclidean, Metric::Manhattan] {
        let data = Data::dense(islands.clone(), 1).unwrap();
        let found = nearest(&data, &approximate(45, metric)).unwrap();
        assert_eq!(found.graph.min_degree(), 45);
    }
}

#[test]
fn few_rows_are_searched_exactly_and_many_by_the_cheaper_search() {
    let none = strategy::ApproximatePlan { projection: false, descent: false };
    let chosen = |data: &Data, k, metric| {
        strategy::plan_approximate(
            data.shape(),
            &NeighborParams { n_neighbors: k, metric, ..NeighborParams::default() },
        )
    };
    let auto = |data: &Data, k, metric| chosen(data, k, metric) != none;
    let zeros = |rows: usize, dim: usize| Data::dense(vec![0.0; rows * dim], dim).unwrap();
    assert!(!auto(&zeros(5_000, 1), 15, Metric::Minkowski(2.5)));
    assert!(!auto(&zeros(70_000, 50), 15, Metric::Euclidean));
    assert!(!auto(&zeros(70_000, 50), 90, Metric::Euclidean));
    assert!(auto(&zeros(1_000_000, 10), 15, Metric::Euclidean));
    assert!(auto(&zeros(60_000, 50), 15, Metric::Minkowski(2.5)));
    let small = zeros(100, 3);
    assert_eq!(strategy::plan_approximate(small.shape(), &approximate(5, Metric::Euclidean)), none);
    // Long rows use the projection if the exact search would take several times as long.
    assert_eq!(chosen(&zeros(6_000, 300), 15, Metric::Cosine), none);
    assert!(chosen(&zeros(60_000, 1_000), 15, Metric::Cosine).projection);
    assert!(!chosen(&zeros(60_000, 1_000), 15, Metric::Manhattan).projection);
}

/// Long rows that vary in a few directions, and a little in all others.
fn long_rows(rows: usize, dim: usize, directions: usize) -> Data {
    let (axes, places) = (normal_rows(directions, dim, 80), clusters(rows, directions));
    let mut values = normal_rows(rows, dim, 81);
    for (row, place) in values.chunks_exact_mut(dim).zip(places.chunks_exact(directions)) {
        row.iter_mut().for_each(|x| *x *= 0.5);
        for (p, axis) in place.iter().zip(axes.chunks_exact(dim)) {
            row.iter_mut().zip(axis).for_each(|(x, a)| *x += p * a);
        }
    }
    Data::dense(values, dim).unwrap()
}

#[test]
fn long_rows_that_vary_in_few_directions_are_searched_by_projection() {
    let data = long_rows(1200, 600, 12);
    for metric in [Metric::Euclidean, Metric::Cosine, Metric::Correlation] {
        let run = |threads| with_threads(Some(threads), || nearest(&data, &approximate(10, metric)).unwrap()).unwrap();
        let found = run(1);
        assert_eq!(found.algorithm, SearchAlgorithm::Projection, "{metric}");
        let truth = true_recall(&data, &found.graph, 10, metric);
        assert!(truth > 0.97 && (found.recall.unwrap().value - truth).abs() < 0.02, "{metric}: {truth}");
        assert!(run(2).graph == found.graph, "{metric}");
    }
    let noise = Data::dense(normal_rows(1200, 600, 82), 600).unwrap();
    let found = nearest(&noise, &approximate(10, Metric::Euclidean)).unwrap();
    assert_eq!(found.algorithm, SearchAlgorithm::Descent);
}

fn dense_shape(rows: usize, dim: usize) -> DataShape {
    DataShape { rows, dim, sparse: false, bytes: (rows as u64).saturating_mul(dim as u64).saturating_mul(4) }
}

#[test]
fn estimated_memory_grows_with_rows_and_neighbors() {
    let named = |rows, k, search| search_memory(dense_shape(rows, 50), Metric::Euclidean, k, search);
    for search in [Search::Auto, Search::Exact, Search::Approximate] {
        let bytes = named(70_000, 15, search);
        assert!((20 << 20..400 << 20).contains(&bytes), "{search}: {bytes}");
        assert!(named(70_000, 90, search) > bytes && named(140_000, 15, search) > bytes);
    }
}

#[test]
fn estimated_memory_follows_the_stored_entries_not_the_columns() {
    // 20,000 rows of 100 entries among 200,000 columns: some 120 MB, and not the 15 GiB of a dense matrix.
    let sparse = DataShape { rows: 20_000, dim: 200_000, sparse: true, bytes: 20_000 * (100 * 8 + 8) };
    let exact = |shape, metric| search_memory(shape, metric, 15, Search::Exact);
    assert!((60 << 20..240 << 20).contains(&exact(sparse, Metric::Cosine)), "{}", exact(sparse, Metric::Cosine));
    assert!(exact(sparse, Metric::Manhattan) < exact(sparse, Metric::Cosine));
    // Metrics that compare the rows directly make no copy of them, and precomputed distances are only read.
    let wide = dense_shape(20_000, 20_000);
    assert!(exact(wide, Metric::Euclidean) > wide.bytes);
    assert!(exact(wide, Metric::Manhattan) < wide.bytes / 10);
    assert!(search_memory(wide, Metric::Precomputed, 15, Search::Auto) < wide.bytes / 100);
    // Characters become numbers of four bytes each.
    let text = DataShape { rows: 1000, dim: 0, sparse: false, bytes: 1000 * (24 + 100_000) };
    assert!((2 * text.bytes..10 * text.bytes).contains(&exact(text, Metric::Levenshtein)));
    for metric in Metric::ALL {
        let endless = DataShape { rows: usize::MAX, dim: usize::MAX, sparse: false, bytes: u64::MAX };
        assert_eq!(search_memory(endless, metric, usize::MAX, Search::Auto), u64::MAX, "{metric}");
    }
}
