//! New rows against data, precomputed distances, and stopping.

use super::*;
use lowland_core::Error;

#[test]
fn the_result_of_a_query_does_not_depend_on_other_queries() {
    let data = Data::dense(normal_rows(900, 20, 6), 20).unwrap();
    let mut values = normal_rows(700, 20, 7);
    values[..20].fill(1e30);
    let queries = Data::dense(values, 20).unwrap();
    for metric in [Metric::Euclidean, Metric::Cosine, Metric::Chebyshev] {
        let together = nearest_to(&queries, &data, 8, metric).unwrap();
        for i in [0, 1, 350, 699] {
            let alone = nearest_to(&queries.select(&[i]), &data, 8, metric).unwrap();
            assert_eq!(edges(&alone, 0), edges(&together, i));
            assert_eq!(edges(&together, i), sorted_row(&queries, i, &data, 8, metric, false), "{metric} {i}");
        }
    }
}

#[test]
fn precomputed_distances_are_used() {
    let data = Data::dense(normal_rows(60, 3, 9), 3).unwrap();
    let matrix: Vec<f32> =
        (0..3600).map(|at| distance(&data, at / 60, &data, at % 60, Metric::Euclidean) as f32).collect();
    let matrix = Data::dense(matrix, 60).unwrap();
    let read = nearest(&matrix, &exact(4, Metric::Precomputed)).unwrap();
    let searched = nearest(&data, &exact(4, Metric::Euclidean)).unwrap();
    assert_eq!(read.graph.indices(), searched.graph.indices());
    assert_eq!(read.algorithm, SearchAlgorithm::Precomputed);

    let sparse = Sparse::new(vec![0, 3, 4, 5], vec![0, 1, 2, 0, 0], vec![0.0, 2.0, 1.0, 2.0, 1.0], 3).unwrap();
    let sparse = Data::Sparse(sparse);
    let one = nearest(&sparse, &exact(1, Metric::Precomputed)).unwrap();
    assert_eq!(edges(&one.graph, 0), [(1.0, 2)]);
    let error = nearest(&sparse, &exact(2, Metric::Precomputed)).unwrap_err().to_string();
    assert!(error.contains("row 1") && error.contains("found 1"), "{error}");
    let new = Data::dense(vec![3.0, 0.0, 1.0], 3).unwrap();
    let nearest_new = nearest_to(&new, &sparse, 2, Metric::Precomputed).unwrap();
    assert_eq!(edges(&nearest_new, 0), [(0.0, 1), (1.0, 2)]);
}

#[test]
fn an_error_from_progress_stops_the_search() {
    let data = Data::dense(normal_rows(2000, 4, 1), 4).unwrap();
    let mut calls = 0;
    let mut stop = |fraction: f64| {
        assert!((0.0..=1.0).contains(&fraction));
        calls += 1;
        if calls == 2 { Err(Error::Stopped { stage: "neighbors" }) } else { Ok(()) }
    };
    let stopped = nearest_with(&data, &exact(5, Metric::Euclidean), &mut stop);
    assert_eq!(stopped.unwrap_err(), Error::Stopped { stage: "neighbors" });
}
