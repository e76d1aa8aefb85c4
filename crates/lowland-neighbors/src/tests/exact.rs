//! The exact search, for every kind of rows and every metric.

use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use super::*;
use crate::exact::{PairSource, search_pairs};
use crate::inner_product::{
    CenterAndScale, DenseProductPairs, SparseProductPairs, TransformedRows, TransformedSparseRows,
};
use lowland_core::with_threads;

#[test]
fn the_exact_search_agrees_with_sorting_for_every_metric() {
    // More than two tiles of rows, the last one partial; with duplicates, zero rows and an extra column.
    let mut values = normal_rows(1100, 9, 3);
    for i in (0..1100).step_by(50) {
        let (from, to) = (i * 9, (i + 7) * 9);
        values.copy_within(from..from + 9, to);
        values[(i + 3) * 9..(i + 4) * 9].fill(0.0);
    }
    let positive: Vec<f32> = values.iter().map(|x| x.abs()).collect();
    for metric in numeric_metrics() {
        let values = if matches!(metric, Metric::Hellinger | Metric::BrayCurtis) { &positive } else { &values };
        assert_matches_sorting(&Data::dense(values.clone(), 9).unwrap(), 7, metric);
    }
}

#[test]
fn ties_are_broken_by_index() {
    let coarse: Vec<f32> = normal_rows(1300, 4, 5).into_iter().map(|x| x.round()).collect();
    for metric in [Metric::Euclidean, Metric::Cosine, Metric::Hamming, Metric::Manhattan] {
        assert_matches_sorting(&Data::dense(coarse.clone(), 4).unwrap(), 20, metric);
    }
    assert_matches_sorting(&Data::dense(vec![2.5; 3 * 1300], 3).unwrap(), 12, Metric::Euclidean);
}

/// Counts the distances that the exact search computes for the pairs of `rows` rows.
fn distances_computed(count: &AtomicUsize, rows: usize, k: usize, pairs: &impl PairSource) -> usize {
    search_pairs(pairs, rows, k, &mut quiet).unwrap();
    count.load(Ordering::Relaxed)
}

#[test]
fn ties_are_resolved_without_computing_most_distances() {
    const ROWS: usize = 1500;
    let count = AtomicUsize::new(0);
    let counted = |data: &Data, metric| {
        count.store(0, Ordering::Relaxed);
        let key = |i: usize, j: usize| {
            count.fetch_add(1, Ordering::Relaxed);
            distance(data, i, data, j, metric) as f32
        };
        match data {
            Data::Sparse(x) => {
                let transformed = TransformedSparseRows::new(x, metric, 1.0);
                distances_computed(&count, ROWS, 5, &SparseProductPairs::new(&transformed, &transformed, &key))
            }
            Data::Dense(x) => {
                let transformed = TransformedRows::new(x, metric, &CenterAndScale::new(x, x), false);
                distances_computed(
                    &count,
                    ROWS,
                    5,
                    &DenseProductPairs { queries: &transformed, points: &transformed, distance: &key },
                )
            }
            Data::Text(_) => unreachable!(),
        }
    };
    // Rows that mostly share no column (all at distance one), and rows that are all equal (all at distance zero).
    let columns: Vec<u32> = (0..ROWS).flat_map(|i| [(i % 700) as u32, 700 + i as u32]).collect();
    let sparse = Sparse::new((0..=ROWS).map(|i| 2 * i).collect(), columns, normal_rows(ROWS, 2, 4), 2200).unwrap();
    let absolute = Sparse::new(
        sparse.indptr().to_vec(),
        (0..ROWS).flat_map(|i| sparse.row(i).0.to_vec()).collect(),
        sparse.values().iter().map(|x| x.abs()).collect(),
        2200,
    );
    let (sparse, absolute) = (Data::Sparse(sparse), Data::Sparse(absolute.unwrap()));
    let equal = Data::dense(vec![0.7; ROWS * 3], 3).unwrap();
    for (data, metric) in [(&sparse, Metric::Cosine), (&absolute, Metric::Hellinger), (&equal, Metric::Euclidean)] {
        let computed = counted(data, metric);
        assert!(computed < 150 * ROWS, "{metric}: {computed} distances for {ROWS} rows");
        assert_matches_sorting(data, 5, metric);
    }
}

#[test]
fn nearly_orthogonal_sparse_rows_are_distinguished() {
    // Cosines from far below to far above what rounds to a distance of one.
    let indices: Vec<u32> = (0..300).flat_map(|i| [0, 1 + i]).collect();
    let values = (0..300).flat_map(|i| [2f32.powf(-18.0 + (i * 7 % 300) as f32 / 30.0), 1.0]).collect();
    let rows = Sparse::new((0..=300).map(|i| 2 * i).collect(), indices, values, 301).unwrap();
    assert_matches_sorting(&Data::Sparse(rows), 7, Metric::Cosine);
}

#[test]
fn sparse_search_agrees_with_sorting() {
    for metric in numeric_metrics().into_iter().filter(|metric| *metric != Metric::Mahalanobis) {
        let positive = matches!(metric, Metric::Hellinger | Metric::BrayCurtis);
        let rows = sparse_rows(600, 40, 11, positive);
        assert_matches_sorting(&Data::Sparse(rows.clone()), 6, metric);
        let (sparse, dense) = (Data::Sparse(rows.clone()), to_dense(&rows));
        for i in (0..600).step_by(71) {
            let (a, b) = (distance(&sparse, i, &sparse, 9, metric), distance(&dense, i, &dense, 9, metric));
            assert!((a - b).abs() <= 1e-12 * b.max(1e-3), "{metric} {a} {b}");
        }
    }
}

#[test]
fn string_search_agrees_with_sorting() {
    let letters = ["a", "b", "ß", "ab", "漢", ""];
    let lines: Vec<String> = (0..700)
        .map(|i| {
            let length = if i % 90 == 7 { 80 } else { i % 13 };
            (0..length).map(|at| letters[(Seed(3).item(i).item(at).0 % 6) as usize]).collect()
        })
        .collect();
    assert_matches_sorting(&Data::text(lines), 5, Metric::Levenshtein);
}

#[test]
fn scaling_the_data_only_scales_the_distances() {
    let values = normal_rows(400, 5, 8);
    let at = |power: i32| {
        let scaled = values.iter().map(|x| x * 2f32.powi(power)).collect();
        nearest(&Data::dense(scaled, 5).unwrap(), &exact(5, Metric::Euclidean)).unwrap().graph
    };
    let plain = at(0);
    for power in [-100, 100] {
        let scaled = at(power);
        assert_eq!(scaled.indices(), plain.indices());
        let expected: Vec<f32> = plain.distances().iter().map(|d| d * 2f32.powi(power)).collect();
        assert_eq!(scaled.distances(), expected);
    }
}

#[test]
fn near_duplicates_far_from_the_origin_are_distinguished() {
    // Steps of one unit in the last place around 1000, which |a|^2 + |b|^2 - 2ab cannot resolve.
    let mut values = Vec::new();
    for i in 0..900u32 {
        let jitter = (Seed(2).item(i as usize).0 % 64) as f32 * 2f32.powi(-14);
        values.extend([1000.0 + jitter, -1000.0 + (i % 7) as f32 * 2f32.powi(-14), (i % 3) as f32 * 1000.0]);
    }
    assert_matches_sorting(&Data::dense(values, 3).unwrap(), 10, Metric::Euclidean);
}

#[test]
fn the_exact_search_does_not_depend_on_the_number_of_threads() {
    let data = Data::dense(normal_rows(1700, 12, 4), 12).unwrap();
    for metric in [Metric::Euclidean, Metric::Manhattan] {
        let run = |threads| with_threads(Some(threads), || nearest(&data, &exact(9, metric)).unwrap().graph).unwrap();
        let one = run(1);
        assert!(run(2) == one && run(3) == one);
    }
}

#[test]
fn slow_distances_are_searched_in_small_tiles_with_the_same_result() {
    // Each would be a single tile of 512 rows, which could only be stopped at the end.
    let wide = Data::dense(normal_rows(200, 400, 2), 400).unwrap();
    let letter = |i: usize, at: usize| char::from(b'a' + (Seed(7).item(i).item(at).0 % 4) as u8);
    let long = Data::text((0..150).map(|i| (0..90 + i).map(|at| letter(i, at)).collect()).collect());
    for (data, metric) in [(&wide, Metric::Minkowski(2.5)), (&long, Metric::Levenshtein)] {
        let mut calls = 0;
        let mut count = |_| {
            calls += 1;
            Ok(())
        };
        with_threads(Some(1), || nearest_with(data, &exact(4, metric), &mut count).unwrap()).unwrap();
        assert!(calls > 3, "{metric}: {calls} looks");
        assert_matches_sorting(data, 4, metric);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_exact_search_handles_extreme_values(
        values in prop::collection::vec(
            prop_oneof![4 => -3.0f32..3.0, 1 => Just(0.0f32), 1 => Just(1e-38f32), 1 => Just(-1e18f32), 1 => Just(1e19f32), 1 => Just(1e-20f32)],
            4..120,
        ),
        dim in 1usize..4,
        k in 1usize..5,
        which in 0usize..12,
    ) {
        let rows = values.len() / dim;
        let metric = numeric_metrics()[which];
        let values: Vec<f32> = values[..rows * dim].iter().map(|x| x.abs()).collect();
        let data = Data::dense(values, dim).unwrap();
        let found = nearest(&data, &exact(k, metric));
        prop_assert_eq!(found.is_ok(), k < rows);
        if let Ok(found) = found {
            for i in 0..rows {
                prop_assert_eq!(edges(&found.graph, i), sorted_row(&data, i, &data, k, metric, true));
            }
        }
    }
}
