//! Compares the parts with dense implementations, and tests the whole on small data.

use super::*;
use lowland_core::message::SimilarityNote;
use lowland_core::run::Stepper;
use lowland_core::with_threads;
use lowland_core::{Data, Points, Seed};
use lowland_linalg::dense::eigh;

fn no_progress(_: f64) -> lowland_core::Result<()> {
    Ok(())
}

/// Rows in a few clusters of directions, with different norms.
fn direction_clusters(n: usize, dim: usize, seed: u64) -> Data {
    let (centers, noise) = (Seed(seed).normals(5 * dim), Seed(seed + 1).normals(n * dim));
    let row = |i: usize, c: usize| {
        let length = 1.0 + (i % 7) as f64 / 3.0;
        (length * (centers[i % 5 * dim + c] + 0.35 * noise[i * dim + c])) as f32
    };
    Data::dense((0..n * dim).map(|at| row(at / dim, at % dim)).collect(), dim).unwrap()
}

fn problem(data: &Data, tau: f64, dim: usize) -> TsmProblem {
    TsmProblem::new(data, tau, dim, Seed(0), &mut no_progress).unwrap().0
}

/// The updates with dense matrices and full decompositions; returns the costs and the final diagonal of `L`.
fn dense_updates(problem: &TsmProblem, momentum: f64, count: usize) -> (Vec<f64>, Vec<f64>) {
    let (n, d) = (problem.similarities.rows(), problem.dim());
    let similar = |at: usize| problem.similarities.get(at / n, at % n);
    let v = |i: usize| &problem.initial_coordinates[i * d..(i + 1) * d];
    let norm = |i: usize| v(i).iter().map(|v| v * v).sum::<f64>().sqrt();
    let mut low: Vec<f64> = (0..n * n)
        .map(|at| {
            let dot: f64 = v(at / n).iter().zip(v(at % n)).map(|(a, b)| a * b).sum();
            dot - problem.tau * norm(at / n) * norm(at % n)
        })
        .collect();
    let mut history: Vec<Vec<f64>> = Vec::new();
    let mut costs = Vec::new();
    for t in 0..count {
        let mut z: Vec<f64> =
            (0..n * n).map(|at| if similar(at) > 0.0 { similar(at) } else { low[at].min(0.0) }).collect();
        let sum: f64 = z.iter().sum();
        let zeros = (0..n * n).filter(|&at| similar(at) <= 0.0).count() as f64;
        if sum > problem.max_sum {
            (0..n * n).filter(|&at| similar(at) <= 0.0).for_each(|at| z[at] += (problem.max_sum - sum) / zeros);
        }
        if t >= 3 {
            (0..n * n).for_each(|at| z[at] += momentum * (history[t - 1][at] - history[t - 2][at]));
        }
        let (values, vectors) = eigh(&z, n).unwrap();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| values[b].abs().total_cmp(&values[a].abs()));
        low = (0..n * n)
            .map(|at| order[..d].iter().map(|&c| values[c] * vectors[at / n * n + c] * vectors[at % n * n + c]).sum())
            .collect();
        costs.push((z.iter().zip(&low).map(|(z, l)| (z - l).powi(2)).sum::<f64>() / (n * n) as f64).sqrt());
        history.push(z);
    }
    (costs, (0..n).map(|i| low[i * n + i]).collect())
}

#[test]
fn tiled_updates_match_dense_matrices() {
    // More rows than a tile, so that there are full and partial tiles on and off the diagonal.
    let data = direction_clusters(290, 6, 1);
    for (tau, double, close) in [(0.9, true, 1e-8), (0.8, false, 1e-3)] {
        let problem = problem(&data, tau, 3);
        let (expected, diagonal) = dense_updates(&problem, 0.9, 12);
        let options = AlternatingOptions {
            double_precision: double,
            tolerance: 1e-11,
            rounds: 60,
            ..AlternatingOptions::default()
        };
        let mut updates = AlternatingUpdates::new(problem, options, Seed(3)).unwrap();
        for (t, expected) in expected.iter().enumerate() {
            let cost = updates.update().unwrap();
            assert!((cost - expected).abs() < close * expected, "tau {tau}, update {t}: {cost} {expected}");
        }
        let largest = diagonal.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let off = updates.diagonal().iter().zip(&diagonal).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        assert!(off < 100.0 * close * largest, "tau {tau}: {off}");
    }
}

#[test]
fn without_momentum_factors_and_tiles_agree_and_cost_decreases() {
    let data = direction_clusters(270, 6, 4);
    let run = |dense: bool| {
        let options = AlternatingOptions {
            store_tiles: dense,
            momentum: 0.0,
            double_precision: true,
            tolerance: 1e-11,
            rounds: 60,
        };
        let mut updates = AlternatingUpdates::new(problem(&data, 0.85, 3), options, Seed(3)).unwrap();
        let costs: Vec<f64> = (0..15).map(|_| updates.update().unwrap()).collect();
        (costs, updates.diagonal())
    };
    let ((tiled, a), (factored, b)) = (run(true), run(false));
    for costs in [&tiled, &factored] {
        assert!(costs.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-9)), "{costs:?}");
    }
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-7), "the maps differ");
    // Tiles report the distance of Z to the new L, factors to the old one.
    assert!(tiled.iter().zip(&factored).all(|(after, before)| after <= before));
}

#[test]
fn few_rounds_match_exact_eigenpairs() {
    let data = direction_clusters(400, 8, 6);
    let costs = |rounds: usize| {
        let options =
            AlternatingOptions { rounds, tolerance: 1e-10, double_precision: true, ..AlternatingOptions::default() };
        let mut updates = AlternatingUpdates::new(problem(&data, 0.85, 4), options, Seed(3)).unwrap();
        (0..40).map(|_| updates.update().unwrap()).collect::<Vec<_>>()
    };
    let (exact, quick) = (costs(80), costs(2));
    let off = exact.iter().zip(&quick).fold(0.0f64, |m, (a, b)| m.max((a - b).abs() / a));
    assert!(off < 1e-3, "{off}");
}

#[test]
fn exact_map_is_recovered_with_norms_and_angles() {
    // Rows of a plane, rotated into six dimensions. `L` of a plane has rank three (eq 2), so three dimensions are
    // exact.
    let angles: Vec<f64> = (0..200).map(|i| i as f64 * 0.0314).collect();
    let values: Vec<f32> = angles
        .iter()
        .enumerate()
        .flat_map(|(i, a)| {
            let length = 1.0 + (i % 5) as f64;
            [a.cos(), 0.0, 0.6 * a.sin(), 0.0, 0.8 * a.sin(), 0.0].map(|v| (length * v) as f32)
        })
        .collect();
    let data = Data::dense(values, 6).unwrap();
    let options = AlternatingOptions { double_precision: true, ..AlternatingOptions::default() };
    let mut updates = AlternatingUpdates::new(problem(&data, 0.95, 3), options, Seed(0)).unwrap();
    (0..150).for_each(|_| assert!(updates.step().is_ok()));
    let map = updates.embedding();
    let scores = lowland_quality::angle_scores(&data, map.points(), 0.95).unwrap();
    assert!(scores.deviation < 1.5 && scores.jaccard > 0.9 && scores.norm_error < 0.02, "{scores:?}");
}

#[test]
fn zero_rows_map_to_zero_and_isolated_rows_get_virtual_neighbors() {
    let mut values = vec![0.0f32; 3 * 12];
    for (i, row) in values.chunks_exact_mut(3).enumerate().skip(2) {
        row.copy_from_slice(&[1.0, 0.02 * i as f32, 0.0]);
    }
    // Row 1 is at 53 degrees to the others; row 0 is zero.
    values[3..6].copy_from_slice(&[1.5, 0.0, 2.0]);
    let data = Data::dense(values, 3).unwrap();
    let (problem, found) = TsmProblem::new(&data, 0.9, 2, Seed(0), &mut no_progress).unwrap();
    let SimilarityNote::SimilarRows { zero_rows, isolated, virtual_rows, .. } = found else { panic!("{found:?}") };
    assert_eq!((zero_rows, isolated), (1, 1));
    // 53 degrees in steps of at most 25.8.
    assert_eq!((virtual_rows, problem.similarities.rows()), (2, 13));
    let lone = problem.similarities.row(0).0;
    assert!(lone.len() >= 2, "{lone:?}");
    let options = AlternatingOptions { double_precision: true, ..AlternatingOptions::default() };
    let mut updates = AlternatingUpdates::new(problem, options, Seed(0)).unwrap();
    (0..30).for_each(|_| assert!(updates.step().is_ok()));
    let map = updates.embedding();
    assert_eq!(map.rows(), 12);
    assert_eq!(map.row(0), [0.0, 0.0]);
    let norm = |i: usize| map.row(i).iter().map(|v| v * v).sum::<f64>().sqrt();
    assert!((norm(1) - 2.5).abs() < 0.4 && (norm(5) - 1.0).abs() < 0.1, "{} {}", norm(1), norm(5));
}

#[test]
fn gram_matrix_matches_equation_8_and_negative_eigenvalues_are_reported() {
    let (n, d, tau) = (30, 3, 0.7);
    let (vectors, count) = lowland_linalg::block::orthonormalize(Seed(1).normals(n * d), d, &[], 0).unwrap();
    assert_eq!(count, d);
    for values in [[5.0, 3.0, 1.0], [5.0, -3.0, -4.0]] {
        let mut left = vectors.clone();
        lowland_linalg::block::multiply_columns(&mut left, &values);
        let low = |i: usize, j: usize| (0..d).map(|c| left[i * d + c] * vectors[j * d + c]).sum::<f64>();
        let u = |i: usize| low(i, i).max(0.0).sqrt();
        let full: Vec<f64> =
            (0..n * n).map(|at| low(at / n, at % n) + tau / (1.0 - tau) * u(at / n) * u(at % n)).collect();
        let (slow, _) = eigh(&full, n).unwrap();
        let gram = GramEigenpairs::new(&left, &vectors, d, tau, d).unwrap();
        // Of n eigenvalues all but d + 1 are zero.
        let mut expected: Vec<f64> = slow.iter().copied().filter(|v| v.abs() > 1e-10).collect();
        expected.reverse();
        assert_eq!(gram.values.len(), expected.len());
        assert!(
            gram.values.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-10),
            "{:?} {expected:?}",
            gram.values
        );
        let least = expected.last().copied().unwrap();
        for (most, suggestion) in [(50, Some(6)), (4, Some(4)), (3, None)] {
            let note = gram.negative_eigenvalues(most);
            assert_eq!(note.is_some(), least < 0.0, "{note:?}");
            let Some(SimilarityNote::NegativeEigenvalues { share, positive, suggested, .. }) = note else { continue };
            assert!((share + least / expected[0]).abs() < 1e-10 && suggested == suggestion, "{note:?}");
            assert_eq!(positive, expected.iter().take(d).filter(|v| **v > 0.0).count());
        }
        let y = gram.coordinates();
        let total: f64 = y.iter().map(|v| v * v).sum();
        let positive: f64 = expected.iter().take(d).filter(|v| **v > 0.0).sum();
        assert!((total - positive).abs() < 1e-9);
    }
}

#[test]
fn threshold_has_requested_density() {
    let data = direction_clusters(600, 8, 9);
    let cosines = CosineSimilarity::new(&data).unwrap();
    let histogram = AngleHistogram::new(&cosines, Seed(0), &mut no_progress).unwrap();
    assert_eq!(histogram.nearest.iter().sum::<u64>(), 600);
    assert_eq!(histogram.others.iter().sum::<u64>(), 600 * 598);
    for density in [0.02, 0.05, 0.1] {
        let tau = histogram.threshold(density);
        let pairs = cosines.similar_pairs(tau, 0).unwrap().len();
        let found = (2 * pairs + 600) as f64 / 360_000.0;
        assert!((found - density).abs() < 0.002, "{density}: {found}");
        assert!((histogram.fraction_above(tau) - found).abs() < 0.001, "{density}: {found}");
    }
    assert!(histogram.to_text(0.9).contains(" <"));
}

#[test]
fn relu_transform_preserves_similarities() {
    let data = direction_clusters(300, 6, 11);
    let rows: Vec<usize> = (0..300).filter(|i| i % 3 != 0).collect();
    let left: Vec<usize> = (0..300).filter(|i| i % 3 == 0).collect();
    let (fitted, new) = (data.select(&rows), data.select(&left));
    // A perfect map: the rows themselves.
    let Data::Dense(x) = &fitted else { panic!("dense") };
    let map: Vec<f64> = x.values().iter().map(|&v| f64::from(v)).collect();
    let map = Points::new(&map, 6).unwrap();
    let start = lowland_core::Embedding::new(vec![0.1; left.len() * 6], 6).unwrap();
    let transformed = relu_transform(&new, &fitted, map, 0.8, &start, &mut no_progress).unwrap();
    let (rows, prototypes) = (CosineSimilarity::new(&new).unwrap(), CosineSimilarity::new(&fitted).unwrap());
    let norm = |y: &[f64]| y.iter().map(|v| v * v).sum::<f64>().sqrt();
    for i in 0..left.len() {
        for j in 0..map.rows() {
            let lengths = rows.norms()[i] * prototypes.norms()[j];
            let expected = (prototypes.dot_with(&new, i, j) - 0.8 * lengths).max(0.0);
            let dot: f64 = map.row(j).iter().zip(transformed.row(i)).map(|(a, b)| a * b).sum();
            let found = (dot - 0.8 * rows.norms()[i] * norm(map.row(j))).max(0.0);
            assert!((found - expected).abs() < 1e-3 * lengths, "row {i}, prototype {j}: {found} {expected}");
        }
    }
}

#[test]
fn result_does_not_depend_on_number_of_threads() {
    let data = direction_clusters(600, 6, 13);
    for dense in [true, false] {
        let run = || {
            let options = AlternatingOptions { store_tiles: dense, ..AlternatingOptions::default() };
            let mut updates = AlternatingUpdates::new(problem(&data, 0.9, 2), options, Seed(3)).unwrap();
            (0..8).for_each(|_| assert!(updates.step().is_ok()));
            updates.embedding()
        };
        let one = with_threads(Some(1), run).unwrap();
        for threads in [2, 3] {
            assert_eq!(one, with_threads(Some(threads), run).unwrap());
        }
    }
}
