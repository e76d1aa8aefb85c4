//! Comparison of the locally linear latent variable model with the authors' program on a Swiss roll of a hundred points: all
//! parts of the first iteration, and forty iterations from two starts (golden/extract.py creates the arrays).

use lowland::Embedding;
use lowland_algorithms::lllvm::{
    Alpha, FormKind, LaplacianGraph, LllvmEm, LllvmOptions, LllvmProblem, LllvmStart, ScaledRows, quadratic_form,
};
use lowland_linalg::{Csr, spd_inverse};

const DIM: usize = 2;

fn golden(name: &str) -> Embedding {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/lllvm").join(format!("{name}.npy"));
    lowland_io::read_map(&path).expect("a golden array").embedding
}

fn problem() -> LllvmProblem {
    let (graph, y) = (golden("graph"), golden("y"));
    let n = graph.rows();
    let edges = (0..n * n).filter(|&at| graph.values()[at] > 0.0).map(|at| ((at / n) as u32, (at % n) as u32, 1.0));
    let graph_laplacian = LaplacianGraph::new(&Csr::from_triplets(n, n, edges).expect("a graph")).expect("connected");
    // The golden array has one column per point.
    let values = (0..n * y.rows()).map(|at| y.row(at % y.rows())[at / y.rows()]).collect();
    let (center, column_scales) = (vec![0.0; y.rows()], vec![1.0; y.rows()]);
    LllvmProblem::new(graph_laplacian, ScaledRows { values, center, scale: 1.0, column_scales, missing: Vec::new() })
        .expect("rows of the graph")
}

/// Converts an index: the golden vectors are grouped by point, ours by coordinate.
fn ours(theirs: usize) -> usize {
    theirs % DIM * 100 + theirs / DIM
}

/// Converts golden linear maps of shape `d_y x (n d)`.
fn maps(theirs: &Embedding) -> Vec<f64> {
    let (rows, columns) = (theirs.dim(), theirs.rows());
    let mut out = vec![0.0; rows * columns];
    for a in 0..rows {
        (0..columns).for_each(|c| out[ours(a) * columns + c] = theirs.row(c)[a]);
    }
    out
}

fn matrix(theirs: &Embedding) -> Vec<f64> {
    let side = theirs.rows();
    let mut out = vec![0.0; side * side];
    (0..side * side).for_each(|at| out[ours(at / side) * side + ours(at % side)] = theirs.values()[at]);
    out
}

fn vector(theirs: &Embedding) -> Vec<f64> {
    let mut out = vec![0.0; theirs.values().len()];
    theirs.values().iter().enumerate().for_each(|(at, v)| out[ours(at)] = *v);
    out
}

fn identity(side: usize) -> Vec<f64> {
    (0..side * side).map(|at| f64::from(u8::from(at / side == at % side))).collect()
}

/// The authors' program uses alpha = 1 in the first iteration, even if alpha is fixed to another value.
fn start(means: Vec<f64>, covariance: Vec<f64>) -> LllvmStart {
    LllvmStart { means, covariance, gamma: 1.0, alpha: 1.0 }
}

fn identity_start() -> LllvmStart {
    start(maps(&golden("start_maps")), identity(200))
}

fn options(alpha: Alpha) -> LllvmOptions {
    LllvmOptions::new(DIM, alpha)
}

fn assert_close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let worst = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst <= tolerance * largest, "{what}: off by {worst}, largest value {largest}");
}

/// Returns the covariance of the linear maps from their second moments.
fn map_covariance(em: &LllvmEm) -> Vec<f64> {
    let side = em.latents().len();
    let row = |a: usize| &em.maps()[a * 3..(a + 1) * 3];
    let product = |at: usize| row(at / side).iter().zip(row(at % side)).map(|(p, q)| p * q).sum::<f64>();
    (0..side * side).map(|at| (em.moments()[at] - product(at)) / 3.0).collect()
}

#[test]
fn the_first_iteration_matches_the_golden_arrays() {
    let problem = problem();
    let mut em = LllvmEm::new(&problem, options(Alpha::Fixed(1e-3)), identity_start()).expect("a start");
    assert_close("b", &em.latent_linear_term(), &vector(&golden("b1")), 1e-9);
    let mut precision = em.clone().latent_form().to_vec();
    assert_close("A", &precision, &matrix(&golden("a1")), 1e-9);
    // Sigma_x follows with the prior of eq 9.
    let graph = golden("graph");
    for a in 0..200 {
        let (block, i) = (a / 100 * 100, a % 100);
        precision[a * 200 + a] += 1.0 + 2.0 * graph.row(i).iter().sum::<f64>();
        (0..100).for_each(|j| precision[a * 200 + block + j] -= 2.0 * graph.row(i)[j]);
    }
    let mut covariance = vec![0.0; 200 * 200];
    spd_inverse(&mut precision, 200, &mut covariance).expect("positive");
    assert_close("Sigma_x", &covariance, &matrix(&golden("place_covariance1")), 1e-9);

    em.step().expect("a step");
    assert_close("mu_x", em.latents(), &vector(&golden("places1")), 1e-9);
    assert_close("H", em.h(), &maps(&golden("h1")), 1e-9);
    assert_close("mu_C", em.maps(), &maps(&golden("maps1")), 1e-9);
    assert_close("Sigma_C", &map_covariance(&em), &matrix(&golden("map_covariance1")), 1e-9);
    assert_close("gamma", &[em.gamma()], golden("gamma1").values(), 1e-9);
}

#[test]
fn gamma_of_the_golden_coordinates_matches() {
    let problem = problem();
    let (coordinates, mut moments) = (vector(&golden("places1")), matrix(&golden("place_covariance1")));
    (0..200 * 200).for_each(|at| moments[at] += coordinates[at / 200] * coordinates[at % 200]);
    // The golden gamma is 1 in the first iteration.
    quadratic_form(&problem.graph, DIM, FormKind::Difference, 0.5, &mut moments, &mut vec![0.0; 200 * 200]);
    assert_close("Gamma", &moments, &matrix(&golden("gamma_form1")), 1e-9);
}

/// Returns the bounds and gammas of forty iterations.
fn forty_iterations(em: &mut LllvmEm) -> (Vec<f64>, Vec<f64>) {
    let step = |_| {
        em.step().expect("a step");
        (em.bound(), em.gamma())
    };
    (0..40).map(step).unzip()
}

#[test]
fn forty_iterations_from_the_identity_follow_the_golden_trace() {
    let problem = problem();
    let mut em = LllvmEm::new(&problem, options(Alpha::Fixed(1e-3)), identity_start()).expect("a start");
    let (bounds, gammas) = forty_iterations(&mut em);
    assert_close("bounds", &bounds, golden("bounds").values(), 1e-9);
    assert_close("gammas", &gammas, golden("gammas").values(), 1e-9);
    assert_close("coordinates", em.latents(), &vector(&golden("places40")), 1e-6);
    assert_close("maps", em.maps(), &maps(&golden("maps40")), 1e-6);
    let variances: Vec<f64> = map_covariance(&em).iter().step_by(201).copied().collect();
    assert_close("variances of the maps", &variances, &vector(&golden("map_variances40")), 1e-6);
}

#[test]
fn forty_iterations_from_the_prior_follow_the_golden_trace() {
    let problem = problem();
    // The covariance of the prior, (epsilon JJ' + 2 L)^-1 for each coordinate, times random numbers.
    let graph = golden("graph");
    let mut precision = vec![0.0; 200 * 200];
    for a in 0..200 {
        let (block, i) = (a / 100 * 100, a % 100);
        (0..100).for_each(|j| precision[a * 200 + block + j] = 1e-3 - 2.0 * graph.row(i)[j]);
        precision[a * 200 + a] += 2.0 * graph.row(i).iter().sum::<f64>();
    }
    let mut covariance = vec![0.0; 200 * 200];
    spd_inverse(&mut precision, 200, &mut covariance).expect("positive");
    let normals = maps(&golden("prior_normals"));
    let mean = |at: usize| (0..200).map(|b| covariance[at / 3 * 200 + b] * normals[b * 3 + at % 3]).sum::<f64>();
    let means = (0..600).map(mean).collect();
    let mut em = LllvmEm::new(&problem, options(Alpha::Fixed(1e-3)), start(means, covariance)).expect("a start");
    let (bounds, gammas) = forty_iterations(&mut em);
    assert_close("bounds", &bounds, golden("prior_bounds").values(), 1e-9);
    assert_close("gammas", &gammas, golden("prior_gammas").values(), 1e-9);
    assert_close("coordinates", em.latents(), &vector(&golden("prior_places40")), 1e-6);
}

#[test]
fn optimizing_alpha_collapses_the_embedding_like_the_golden_run() {
    let problem = problem();
    let mut em = LllvmEm::new(&problem, options(Alpha::Optimize), identity_start()).expect("a start");
    let theirs = golden("optimised_trace");
    for i in 0..theirs.rows() {
        em.step().expect("a step");
        let [bound, gamma, alpha] = theirs.row(i) else { panic!("three columns") };
        // The optimizer of alpha in the authors' program has its own tolerance.
        assert!((em.bound() - bound).abs() < 1e-4 && (em.gamma() / gamma - 1.0).abs() < 1e-4, "{i}: {}", em.bound());
        assert!((em.alpha() / alpha - 1.0).abs() < 1e-3, "{i}: {} {alpha}", em.alpha());
    }
    assert!(em.latents().iter().all(|x| x.abs() < 1e-6));
}
