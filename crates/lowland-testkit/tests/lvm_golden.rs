//! Comparison of the latent variable model with an independent numpy program: the exact model on 150 digits, and one level of
//! coarse-graining on the same points (golden/extract.py creates the arrays); and all pairs of two levels (golden/make_lvm_levels.py).

use lowland::run::Stepper;
use lowland::{Data, Embedding, Metric, Seed};
use lowland_algorithms::lvm::{
    AdjacencyRule, BoundedDistance, DissimilarGroup, EmOptions, LandmarkCells, LvmEm, PairOptions, TrainingPairs,
    landmark_count,
};
use lowland_linalg::Csr;
use lowland_neighbors::graph::{minimum_spanning_forest, mutual_reach, undirected_edges};

fn golden(name: &str) -> Embedding {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/lvm").join(format!("{name}.npy"));
    lowland_io::read_map(&path).expect("a golden array").embedding
}

fn data() -> Data {
    let x = golden("x");
    Data::dense(x.values().iter().map(|&v| v as f32).collect(), x.dim()).expect("complete rows")
}

/// Converts a matrix of zeros and ones to a graph with distances.
fn graph(pattern: &Embedding, data: &Data) -> Csr {
    let n = pattern.rows();
    let edges = (0..n * n).filter(|&at| pattern.values()[at] > 0.0).map(|at| (at / n, at % n));
    let length = |i, j| lowland::neighbors::distance(data, i, data, j, Metric::Euclidean);
    Csr::from_triplets(n, n, edges.map(|(i, j)| (i as u32, j as u32, length(i, j)))).expect("within the matrix")
}

fn pairs(levels: usize) -> TrainingPairs {
    let data = data();
    let options = PairOptions { levels, landmarks: None, adjacency: AdjacencyRule::Directed, seed: Seed(0) };
    TrainingPairs::new(&data, Metric::Euclidean, &graph(&golden("edges"), &data), options, &mut |_| Ok(()))
        .expect("valid pairs")
}

/// Plain EM with exactly solved linear systems.
fn start(momentum: f64) -> LvmEm {
    let pairs = pairs(0);
    let unit = pairs.unit();
    let means = golden("mu_start").values().iter().map(|v| v / unit).collect();
    let variances = pairs.initial_variances(2);
    let options = EmOptions { momentum, solve_tolerance: 1e-13, solve_iterations: 200, ..EmOptions::default() };
    LvmEm::new(pairs, means, variances, 2, options).expect("a start")
}

fn assert_close(what: &str, ours: impl IntoIterator<Item = f64>, theirs: &[f64], tolerance: f64) {
    let ours: Vec<f64> = ours.into_iter().collect();
    assert_eq!(ours.len(), theirs.len(), "{what}");
    let largest = theirs.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let worst = ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst <= tolerance * largest, "{what}: off by {worst}, largest value {largest}");
}

fn assert_state(em: &LvmEm, means: &str, variances: &str, tolerance: f64) {
    let unit = em.pairs().unit();
    assert_close(means, em.means().iter().map(|v| v * unit), golden(means).values(), tolerance);
    let found = em.variances().into_iter().map(|v| v * unit * unit);
    assert_close(variances, found, golden(variances).values(), tolerance);
}

#[test]
fn the_edges_of_the_graph_match() {
    let data = data();
    let neighbors = graph(&golden("neighbors"), &data);
    let tree = minimum_spanning_forest(150, undirected_edges(&neighbors)).expect("edges among the points");
    let kept = mutual_reach(&neighbors, &tree, 1).expect("a square matrix");
    assert_eq!(kept, graph(&golden("edges"), &data));
}

#[test]
fn weights_and_length_scales_match() {
    let pairs = pairs(0);
    let unit = pairs.unit();
    let (similar, dissimilar) = (golden("similar"), golden("dissimilar"));
    let (near2, far2) = (golden("near_scale2"), golden("far_scale2"));
    let mut seen = 0.0;
    for (i, j, weight, scale2) in pairs.similar_pairs() {
        let (i, j) = (i as usize, j as usize);
        assert_eq!(weight, similar.row(i)[j] + similar.row(j)[i]);
        seen += weight;
        assert!((scale2 * unit * unit / near2.row(i)[j] - 1.0).abs() < 1e-6);
    }
    assert_eq!(seen, similar.values().iter().sum::<f64>());
    let mut seen = 0.0;
    for (i, j, weight, scale) in pairs.dissimilar_pairs() {
        let (i, j) = (i as usize, j as usize);
        assert!((weight / dissimilar.row(i)[j] - 1.0).abs() < 1e-12);
        seen += weight;
        assert!(((scale * unit).powi(2) / far2.row(i)[j] - 1.0).abs() < 1e-6);
    }
    assert!((seen / dissimilar.values().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    let variances = pairs.initial_variances(2).into_iter().map(|v| v * unit * unit);
    assert_close("the start", variances, golden("variance_start").values(), 1e-12);
}

#[test]
fn thirty_rounds_of_plain_em_follow_the_golden_trace() {
    let golden = golden("loglik");
    let mut em = start(0.0);
    let mut trace = vec![em.likelihood()];
    for round in 0..30 {
        trace.push(em.update_means());
        trace.push(em.update_variances());
        if round == 0 {
            assert_state(&em, "mu_after1", "variance_after1", 1e-10);
        }
    }
    assert_close("log-likelihood", trace, golden.values(), 1e-11);
    assert_state(&em, "mu_after30", "variance_after30", 1e-8);
}

#[test]
fn a_hundred_rounds_with_momentum_follow_the_golden_trace() {
    let mut em = start(0.9);
    let trace: Vec<f64> = (0..100).map(|_| em.step().expect("a step").objective).collect();
    assert_close("log-likelihood", trace, golden("loglik_momentum").values(), 1e-8);
    assert_state(&em, "mu_momentum100", "variance_momentum100", 1e-5);
}

#[test]
fn cells_counts_and_scales_of_landmarks_match() {
    let data = data();
    let landmarks: Vec<usize> = golden("landmarks").values().iter().map(|&v| v as usize).collect();
    assert_eq!(landmarks.len(), landmark_count(150));
    let far2 = golden("far_scale2");
    let all_points = DissimilarGroup {
        members: (0..150).collect(),
        row_scales: (0..150).map(|i| far2.row(i).iter().fold(0.0, |m: f64, v| m.max(*v)).sqrt()).collect(),
        column_scales: vec![0.0; 150],
        counts: vec![1.0; 150],
        of_points: true,
    };
    let distances = BoundedDistance { data: &data, metric: Metric::Euclidean, max: f64::INFINITY, min: 0.0 };
    let cells = LandmarkCells::new(&distances, &all_points, &landmarks, &mut |_| Ok(())).expect("cells");
    let assignment = golden("assignment");
    for (cell, landmark) in cells.members.iter().zip(&landmarks) {
        assert!(cell.iter().all(|&i| assignment.row(i)[0] == *landmark as f64));
    }
    let above = cells.landmark_group(&all_points, &landmarks, |d| d * (0.5 / std::f64::consts::LN_2).sqrt());
    assert_close("A", above.row_scales.clone(), golden("landmark_a").values(), 1e-12);
    assert_close("B", above.column_scales.clone(), golden("landmark_b").values(), 1e-12);
    // Eq 26 by brute force, and eq 25.
    let (scales, weights) = (golden("landmark_far_scale"), golden("landmark_dissimilar"));
    for i in 0..landmarks.len() {
        for j in (0..landmarks.len()).filter(|&j| j != i) {
            assert!((above.row_scales[i] + above.column_scales[j] - scales.row(i)[j]).abs() < 1e-11);
            assert_eq!(above.counts[i] * above.counts[j], weights.row(i)[j]);
        }
    }
}

/// The landmarks of golden/make_lvm_levels.py.
fn chosen_landmarks(group: &DissimilarGroup, count: usize, _: Seed) -> Vec<usize> {
    let size = group.members.len();
    let mut order: Vec<usize> = (0..size).collect();
    order.sort_by_key(|&at| (37 * group.members[at] as usize + 11 * size) % 307);
    order.truncate(count);
    order.sort_unstable();
    order
}

#[test]
fn pairs_of_two_levels_match() {
    let x = golden("two_levels_x");
    let data = Data::dense(x.values().iter().map(|&v| v as f32).collect(), x.dim()).expect("complete rows");
    let length = |i, j| lowland::neighbors::distance(&data, i, &data, j, Metric::Euclidean);
    let listed = golden("two_levels_edges");
    let edges = (0..listed.rows()).map(|at| [listed.row(at)[0] as usize, listed.row(at)[1] as usize]);
    let edges = Csr::from_triplets(300, 300, edges.map(|[i, j]| (i as u32, j as u32, length(i, j))));
    let landmarks = Some(landmark_count(300) / 2);
    let options = PairOptions { levels: 2, landmarks, adjacency: AdjacencyRule::Directed, seed: Seed(0) };
    let edges = edges.expect("within the matrix");
    let pairs =
        TrainingPairs::with_landmarks(&data, Metric::Euclidean, &edges, options, &chosen_landmarks, &mut |_| Ok(()))
            .expect("valid pairs");
    let unit = pairs.unit();
    let (mut similar, mut dissimilar) = (pairs.similar_pairs(), pairs.dissimilar_pairs());
    similar.sort_by_key(|pair| (pair.0, pair.1));
    dissimilar.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.3.total_cmp(&b.3)));
    for (name, found, power) in [("two_levels_similar", similar, 2), ("two_levels_dissimilar", dissimilar, 1)] {
        let expected = golden(name);
        assert_eq!(found.len(), expected.rows(), "{name}");
        for (at, (i, j, weight, scale)) in found.into_iter().enumerate() {
            let row = expected.row(at);
            assert_eq!([f64::from(i), f64::from(j)], row[..2], "{name} {at}");
            assert!((weight / row[2] - 1.0).abs() < 1e-12, "{name} {at}: {weight} {row:?}");
            assert!((scale * f64::powi(unit, power) / row[3] - 1.0).abs() < 1e-6, "{name} {at}: {scale} {row:?}");
        }
    }
}
