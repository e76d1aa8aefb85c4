//! Compares the extension with a dense solver, and its weights with their definition.

use super::weights::MAX_DOUBLE_LEN;
use super::*;
use lowland_core::with_threads;
use lowland_linalg::dense::eigh;

fn no_progress(_: f64) -> Result<()> {
    Ok(())
}

fn rows(n: usize, dim: usize, seed: u64) -> Data {
    Data::dense(Seed(seed).normals(n * dim).iter().map(|&v| v as f32).collect(), dim).unwrap()
}

fn dense_rows(data: &Data) -> &[f32] {
    let Data::Dense(x) = data else { panic!("dense") };
    x.values()
}

/// Solves the least squares problem of eq 15 by the pseudo-inverse of the full normal matrix.
fn dense_extension(weights: &Csr, landmarks: &[usize], map: Points) -> Vec<f64> {
    let (n, dim) = (weights.rows(), map.dim());
    let m = |i: usize, j: usize| f64::from(u8::from(i == j)) - weights.get(i, j);
    let unknown: Vec<usize> = (0..n).filter(|i| !landmarks.contains(i)).collect();
    let u = unknown.len();
    let gram: Vec<f64> =
        (0..u * u).map(|at| (0..n).map(|r| m(r, unknown[at / u]) * m(r, unknown[at % u])).sum()).collect();
    let (values, vectors) = eigh(&gram, u).unwrap();
    let mut out = vec![0.0; u * dim];
    for c in 0..dim {
        let right: Vec<f64> = unknown
            .iter()
            .map(|&j| {
                let known =
                    |r: usize| landmarks.iter().enumerate().map(|(at, &k)| m(r, k) * map.row(at)[c]).sum::<f64>();
                -(0..n).map(|r| m(r, j) * known(r)).sum::<f64>()
            })
            .collect();
        for e in 0..u {
            let along: f64 = (0..u).map(|i| vectors[i * u + e] * right[i]).sum::<f64>() / values[e];
            (0..u).for_each(|i| out[i * dim + c] += along * vectors[i * u + e]);
        }
    }
    out
}

#[test]
fn extension_is_least_squares_solution() {
    let data = rows(80, 5, 1);
    let landmarks: Vec<usize> = (0..80).step_by(3).collect();
    let positions = Seed(2).normals(landmarks.len() * 2);
    let map = Points::new(&positions, 2).unwrap();
    for llx in [Llx::linear(2), Llx::affine(2, Metric::Euclidean)] {
        let weights = llx.weights(&data, Seed(0), &mut no_progress).unwrap();
        let (all, report) = extend(&weights, &landmarks, map, &mut no_progress).unwrap();
        assert!(report.converged, "{report:?}");
        let slow = dense_extension(&weights, &landmarks, map);
        let unknown = (0..80).filter(|i| i % 3 != 0);
        for (i, expected) in unknown.zip(slow.chunks_exact(2)) {
            let off = all.row(i).iter().zip(expected).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
            assert!(off < 1e-4, "{llx:?} row {i}: {off}");
        }
        landmarks.iter().enumerate().for_each(|(at, &i)| assert_eq!(all.row(i), map.row(at)));
    }
}

/// Short rows use double precision, long ones single precision.
const LENGTHS: [usize; 2] = [6, MAX_DOUBLE_LEN / 4];

#[test]
fn weights_minimize_their_cost() {
    for dim in LENGTHS {
        let data = rows(40, dim, 3);
        let llx = Llx { n_neighbors: 5, ridge: 0.01, ..Llx::linear(2) };
        let weights = llx.weights(&data, Seed(0), &mut no_progress).unwrap();
        let x = |i: usize, c: usize| f64::from(dense_rows(&data)[i * dim + c]);
        for i in 0..40 {
            let (near, w) = weights.row(i);
            let cost = |w: &[f64]| -> f64 {
                let miss: f64 = (0..dim)
                    .map(|c| (x(i, c) - near.iter().zip(w).map(|(&j, w)| w * x(j as usize, c)).sum::<f64>()).powi(2))
                    .sum();
                let size = |j: u32| (0..dim).map(|c| x(j as usize, c).powi(2)).sum::<f64>();
                miss + 0.01 * near.iter().zip(w).map(|(&j, w)| size(j) * w * w).sum::<f64>()
            };
            let best = cost(w);
            for at in 0..near.len() {
                for step in [-1e-3, 1e-3] {
                    let mut moved = w.to_vec();
                    moved[at] += step;
                    assert!(cost(&moved) > best, "row {i} of {dim}");
                }
            }
        }
        let affine = Llx::affine(2, Metric::Euclidean).weights(&data, Seed(0), &mut no_progress).unwrap();
        assert!(affine.row_sums().iter().all(|sum| (sum - 1.0).abs() < 1e-10));
    }
}

#[test]
fn weights_do_not_depend_on_units() {
    for dim in LENGTHS {
        let data = rows(40, dim, 3);
        // A power of two rounds nothing, and makes some numbers subnormal.
        let tiny = dense_rows(&data).iter().map(|v| v * 2f32.powi(-110)).collect();
        let tiny = Data::dense(tiny, dim).unwrap();
        for llx in [Llx::linear(2), Llx::affine(2, Metric::Euclidean)] {
            let [usual, small] = [&data, &tiny].map(|data| llx.weights(data, Seed(0), &mut no_progress).unwrap());
            assert_eq!(usual.indices(), small.indices(), "{dim}");
            let off = usual.values().iter().zip(small.values()).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
            assert!(off < 1e-6, "{llx:?}, {dim}: {off}");
        }
    }
}

#[test]
fn linear_map_is_extended_exactly() {
    let data = rows(300, 3, 5);
    let image = |i: usize| {
        let x: Vec<f64> = dense_rows(&data)[i * 3..(i + 1) * 3].iter().map(|&v| f64::from(v)).collect();
        [x[0] - 2.0 * x[1], 0.5 * x[2] + x[0]]
    };
    let landmarks: Vec<usize> = (0..300).step_by(2).collect();
    let positions: Vec<f64> = landmarks.iter().flat_map(|&i| image(i)).collect();
    let llx = Llx { ridge: 1e-9, ..Llx::linear(2) };
    let map = Points::new(&positions, 2).unwrap();
    let (all, _) = llx.extend(&data, &landmarks, map, Seed(0), &mut no_progress).unwrap();
    let transformed = llx.transform(&data, &data, all.points(), &mut no_progress).unwrap();
    for i in 0..300 {
        (0..2).for_each(|c| assert!((all.row(i)[c] - image(i)[c]).abs() < 1e-4, "row {i}"));
        (0..2).for_each(|c| assert!((transformed.row(i)[c] - image(i)[c]).abs() < 1e-4, "row {i} transformed"));
    }
}

#[test]
fn collinear_neighbors_are_combined() {
    // Every row at three lengths; short rows use double precision, long ones single precision.
    for dim in [30, 300] {
        let base = rows(40, dim, 13);
        let scaled = [1.0f32, 3.0, 0.7].map(|factor| dense_rows(&base).iter().map(|v| v * factor).collect::<Vec<_>>());
        let data = Data::dense(scaled.concat(), dim).unwrap();
        let positions: Vec<f64> =
            dense_rows(&data).chunks(dim).flat_map(|x| [f64::from(x[0]), f64::from(x[1])]).collect();
        let new = Data::dense(dense_rows(&base).iter().map(|v| v * 2.0).collect(), dim).unwrap();
        let map = Points::new(&positions, 2).unwrap();
        let transformed =
            Llx { n_neighbors: 32, ..Llx::linear(2) }.transform(&new, &data, map, &mut no_progress).unwrap();
        for i in 0..40 {
            for c in 0..2 {
                let off = (transformed.row(i)[c] - 2.0 * map.row(i)[c]).abs();
                assert!(off < 1e-3, "row {i} of {dim}: {off}");
            }
        }
    }
}

#[test]
fn a_training_row_is_closer_to_its_position_with_a_penalty_by_distance() {
    // More neighbors than columns: they can express a row as exactly as the row itself can.
    let data = rows(200, 5, 21);
    let positions = Seed(4).normals(200 * 2);
    let map = Points::new(&positions, 2).unwrap();
    for llx in [Llx::linear(2), Llx::affine(2, Metric::Euclidean)] {
        let graph = nearest_to_with(&data, &data, llx.n_neighbors, llx.metric, &mut no_progress).unwrap();
        let off = |ridge: RidgePenalty| {
            let weights = llx.weights_to(&data, &data, &graph, ridge, &mut no_progress).unwrap();
            let mut placed = vec![0.0; positions.len()];
            weights.multiply(map.values(), 2, &mut placed);
            placed.iter().zip(&positions).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()))
        };
        let (uniform, by_distance) = (off(RidgePenalty::Uniform), off(RidgePenalty::ByDistance));
        assert!(by_distance < 0.25 * uniform, "{llx:?}: {by_distance} {uniform}");
    }
}

#[test]
fn rows_without_a_chain_to_a_landmark_are_unreached() {
    // 0 - 1 - 2 and 3 - 4, with edges of both directions.
    let weights = Csr::from_triplets(6, 6, [(1, 0, 0.5), (1, 2, 0.5), (4, 3, 1.0)]).unwrap();
    assert_eq!(Llx::unreached_rows(&weights, &[2]), [3, 4, 5]);
    assert_eq!(Llx::unreached_rows(&weights, &[0, 3, 5]), [0usize; 0]);
}

#[test]
fn degenerate_input_is_rejected_or_finite() {
    let data = Data::dense(vec![0.0, 0.0, 0.0, 0.0, 1e-30, 0.0, 1e30, 1e30, 1.0, 1.0, 1.0, 1.0], 2).unwrap();
    for llx in [Llx::linear(1), Llx::affine(1, Metric::Euclidean)] {
        let map = Points::new(&[0.0, 1.0], 1).unwrap();
        let (all, _) = llx.extend(&data, &[0, 4], map, Seed(0), &mut no_progress).unwrap();
        assert!(all.values().iter().all(|v| v.is_finite()), "{all:?}");
    }
    let weights = Csr::from_triplets(3, 3, []).unwrap();
    let map = Points::new(&[0.0], 1).unwrap();
    assert!(extend(&weights, &[5], map, &mut no_progress).is_err());
    assert!(extend(&weights, &[0, 1], map, &mut no_progress).is_err());
    assert!(Llx::linear(1).check(&Data::text(vec!["a".into()])).is_err());
    assert!(Llx::affine(1, Metric::Precomputed).check(&data).is_err());
}

#[test]
fn result_does_not_depend_on_number_of_threads() {
    let data = rows(700, 8, 7);
    let landmarks: Vec<usize> = (0..700).step_by(4).collect();
    let positions = Seed(2).normals(landmarks.len() * 3);
    let run = || {
        let map = Points::new(&positions, 3).unwrap();
        Llx::linear(3).extend(&data, &landmarks, map, Seed(0), &mut no_progress).unwrap().0
    };
    let one = with_threads(Some(1), run).unwrap();
    for threads in [2, 3] {
        assert_eq!(one, with_threads(Some(threads), run).unwrap());
    }
}
