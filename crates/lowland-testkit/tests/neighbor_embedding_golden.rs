//! Comparison with the programs of Vladymyrov and Carreira-Perpiñán (golden/extract.py): elastic embedding, s-SNE and t-SNE
//! with the spectral direction, and entropic affinities.

use lowland::{Embedding, Points};
use lowland_algorithms::affinity::entropic_affinities;
use lowland_algorithms::neighbor_embedding::{Energy, NeighborEmbeddingObjective};
use lowland_algorithms::objective::{Accuracy, AccuracyController, VectorField};
use lowland_algorithms::optim::{LineSearch, Optimizer, SpectralDirection};
use lowland_linalg::Csr;
use lowland_nbody::Exact;

fn golden(name: &str) -> Embedding {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    lowland_io::read_map(&path).expect("a golden array").embedding
}

/// Converts a dense matrix without its diagonal.
fn off_diagonal(dense: &Embedding) -> Csr {
    let n = dense.rows();
    let entries = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|(i, j)| i != j);
    Csr::from_triplets(n, n, entries.map(|(i, j)| (i as u32, j as u32, dense.row(i)[j]))).expect("a square matrix")
}

#[test]
fn entropic_affinities_match_the_authors_program() {
    let (data, rows, widths) = (golden("ee/y.npy"), golden("ee/w_rows.npy"), golden("ee/bandwidth.npy"));
    let n = data.rows();
    let squares = |i: usize, j: usize| data.row(i).iter().zip(data.row(j)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    let all = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|(i, j)| i != j);
    let distances = Csr::from_triplets(n, n, all.map(|(i, j)| (i as u32, j as u32, squares(i, j).sqrt()))).unwrap();
    let found = entropic_affinities(distances, 20.0);
    for (i, j, p) in found.rows.iter() {
        assert!((p - rows.row(i)[j]).abs() < 1e-9, "{i} {j}: {p} {}", rows.row(i)[j]);
    }
    for (found, expected) in found.bandwidths.iter().zip(widths.values()) {
        assert!((found / expected - 1.0).abs() < 1e-8);
    }
}

/// Compares a run iteration by iteration: objective, step length, and the final embedding.
fn follow(mut objective: NeighborEmbeddingObjective, start: &str, values: &str, steps: &str, map: &str, constant: f64) {
    let (values, steps, map) = (golden(values), golden(steps), golden(map));
    let mut y = golden(start).into_values();
    let mut optimizer = SpectralDirection::new(LineSearch::new(1.0));
    let mut gradient = vec![0.0; y.len()];
    let first = objective.evaluate(Points::new(&y, 2).unwrap(), true, &mut gradient).unwrap().unwrap();
    assert!((first - constant - values.row(0)[0]).abs() < 1e-12 * first.abs(), "{first} {}", values.row(0)[0]);
    for iteration in 1..values.rows() {
        let moved = optimizer.step(&mut objective, &mut y, 2).unwrap();
        let (value, expected) = (moved.value.unwrap() - constant, values.row(iteration)[0]);
        assert!((value - expected).abs() < 1e-7 * expected.abs(), "{iteration}: {value} {expected}");
        let (step, expected) = (optimizer.last_step(), steps.row(iteration)[0]);
        assert!((step - expected).abs() < 1e-9, "{iteration}: step {step}, expected {expected}");
    }
    let size = map.values().iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let worst = y.iter().zip(map.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-5 * size, "the embeddings differ by {worst} of {size}");
}

fn embedding(energy: Energy) -> (NeighborEmbeddingObjective, f64) {
    let weights = off_diagonal(&golden("ee/w_plus.npy"));
    let constant = weights.values().iter().map(|p| p * p.ln()).sum();
    let control = AccuracyController::new(Accuracy::Fixed, 1e-3);
    (NeighborEmbeddingObjective::new(energy, weights, Box::new(Exact), control).unwrap(), constant)
}

#[test]
fn the_elastic_embedding_with_weighted_repulsion_follows_the_authors_run() {
    let (objective, _) = embedding(Energy::Elastic { lambda: 100.0 });
    let weights = golden("ee/w_minus.npy").into_values();
    let objective = objective.with_repulsion_weights(weights).unwrap();
    follow(objective, "ee/x0.npy", "ee/e_lambda100.npy", "ee/steps_lambda100.npy", "ee/x_lambda100.npy", 0.0);
}

#[test]
fn the_elastic_embedding_with_equal_repulsion_follows_the_authors_run() {
    let (objective, _) = embedding(Energy::Elastic { lambda: 1e-3 });
    follow(objective, "ee/x0.npy", "ee/e_uniform.npy", "ee/steps_uniform.npy", "ee/x_uniform.npy", 0.0);
}

#[test]
fn symmetric_sne_follows_the_authors_run() {
    let (objective, constant) = embedding(Energy::SymmetricSne);
    follow(objective, "ssne/x0.npy", "ssne/e.npy", "ssne/steps.npy", "ssne/x.npy", constant);
}

#[test]
fn student_sne_follows_the_authors_run() {
    let (objective, constant) = embedding(Energy::StudentSne { dof: 1.0 });
    follow(objective, "tsne/x0.npy", "tsne/e.npy", "tsne/steps.npy", "tsne/x.npy", constant);
}
