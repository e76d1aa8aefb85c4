//! Comparison with scikit-learn and scipy (golden/make.py creates the arrays).

use lowland::{Embedding, Seed};
use lowland_io::{ReadOptions, read_map};

fn golden(name: &str) -> Embedding {
    read_map(&path(name)).expect("a golden array").embedding
}

fn path(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn fit(method: &str, values: &[(&str, &str)]) -> Embedding {
    let table = lowland_io::read(&path("x.npy"), &ReadOptions::default()).expect("the golden input");
    lowland_testkit::fit(method, values, &table.data, Seed(0)).embedding().clone()
}

/// Asserts equality up to the sign of each coordinate, with a tolerance relative to its largest value.
fn assert_same_up_to_sign(ours: &Embedding, theirs: &Embedding, tolerance: f64) {
    assert_eq!((ours.rows(), ours.dim()), (theirs.rows(), theirs.dim()));
    for c in 0..ours.dim() {
        let column =
            |embedding: &Embedding| -> Vec<f64> { (0..embedding.rows()).map(|i| embedding.row(i)[c]).collect() };
        let (a, b) = (column(ours), column(theirs));
        let largest = b.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let sign = if a.iter().zip(&b).map(|(x, y)| x * y).sum::<f64>() < 0.0 { -1.0 } else { 1.0 };
        let worst = a.iter().zip(&b).map(|(x, y)| (sign * x - y).abs()).fold(0.0, f64::max);
        assert!(worst <= tolerance * largest, "coordinate {c}: off by {worst}, largest value {largest}");
    }
}

/// Checks the maps of the exact and the randomized solver of a linear method.
fn check_solvers(method: &str, golden: &Embedding) {
    assert_same_up_to_sign(&fit(method, &[("n_components", "3")]), golden, 1e-9);
    let randomized = [("n_components", "3"), ("solver", "randomized"), ("tol", "1e-12")];
    assert_same_up_to_sign(&fit(method, &randomized), golden, 1e-6);
}

#[test]
fn pca_matches_scikit_learn() {
    check_solvers("pca", &golden("pca.npy"));
}

#[test]
fn svd_matches_scikit_learn() {
    check_solvers("svd", &golden("svd.npy"));
}

#[test]
fn spectral_matches_a_dense_eigensolver() {
    let values = [("n_components", "3"), ("n_neighbors", "12"), ("tol", "1e-9")];
    assert_same_up_to_sign(&fit("spectral", &values), &golden("spectral.npy"), 1e-6);
}

#[test]
fn isomap_matches_scikit_learn_including_new_rows() {
    let values = [("n_components", "3"), ("n_neighbors", "12")];
    assert_same_up_to_sign(&fit("isomap", &values), &golden("isomap.npy"), 1e-5);
    let read = |name: &str| lowland_io::read(&path(name), &ReadOptions::default()).expect("a golden array").data;
    let model = lowland_testkit::fit("isomap", &values, &read("x.npy"), Seed(0));
    let transformed = model.transform(&read("x_new.npy")).expect("coordinates for every row");
    assert_same_up_to_sign(&transformed, &golden("isomap_new.npy"), 1e-5);
}

#[test]
fn lle_and_ltsa_match_scikit_learn() {
    let values = [("n_components", "3"), ("n_neighbors", "12")];
    for method in ["lle", "ltsa"] {
        assert_same_up_to_sign(&fit(method, &values), &golden(&format!("{method}.npy")), 1e-4);
    }
}
