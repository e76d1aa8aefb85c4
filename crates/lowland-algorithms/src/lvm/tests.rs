//! Compares the fast implementation with the formulas of the paper, pair by pair.

use proptest::prelude::*;

use super::excluded_pairs::{ExcludedPairs, padded_len};
use super::kernel::{self, BlockInputs, PairSum};
use super::*;
use lowland_core::archive::{Archive, ArchiveKind};
use lowland_core::run::Stepper;
use lowland_core::with_threads;
use lowland_core::{Data, Metric, Seed};
use lowland_linalg::Csr;
use lowland_neighbors::graph::{
    ConnectedComponents, add_edges, edge_lengths, join_components_with, minimum_spanning_forest, mutual_reach,
    undirected_edges,
};
use lowland_neighbors::{NeighborParams, nearest_with};

pub(super) fn no_progress(_: f64) -> lowland_core::Result<()> {
    Ok(())
}

/// Points of three Gaussian clusters.
pub(super) fn clouds(n: usize, columns: usize, seed: u64) -> Data {
    let noise = Seed(seed).normals(n * columns);
    let values = noise.iter().enumerate().map(|(at, v)| (v + 3.0 * ((at / columns % 3) as f64)) as f32);
    Data::dense(values.collect(), columns).unwrap()
}

pub(super) fn edges(data: &Data, k: usize, reach: usize) -> Csr {
    let params = NeighborParams { n_neighbors: k, ..NeighborParams::default() };
    let graph = nearest_with(data, &params, &mut no_progress).unwrap().graph;
    let parts = ConnectedComponents::from_neighbors(&graph);
    let joins = join_components_with(data, Metric::Euclidean, &parts, &mut no_progress).unwrap();
    let near = add_edges(&edge_lengths(&graph).unwrap(), &joins).unwrap();
    let tree = minimum_spanning_forest(near.rows(), undirected_edges(&near)).unwrap();
    mutual_reach(&near, &tree, reach).unwrap()
}

fn training_pairs(n: usize, levels: usize, adjacency: AdjacencyRule, seed: u64) -> TrainingPairs {
    let data = clouds(n, 4, seed);
    let settings = PairOptions { levels, landmarks: None, adjacency, seed: Seed(seed) };
    TrainingPairs::new(&data, Metric::Euclidean, &edges(&data, 6, 1), settings, &mut no_progress).unwrap()
}

/// An EM iteration in a random state that has not converged.
fn random_em(n: usize, dim: usize, levels: usize, options: EmOptions, seed: u64) -> LvmEm {
    let pairs = training_pairs(n, levels, AdjacencyRule::Directed, seed);
    let means: Vec<f64> = Seed(seed).stream("means").normals(n * dim).iter().map(|v| 1.5 * v).collect();
    let variances = Seed(seed).stream("variances").normals(n).iter().map(|v| 0.3 * v.exp()).collect();
    LvmEm::new(pairs, means, variances, dim, options).unwrap()
}

/// Eqs 5 and 6 and the gradient with respect to the means, pair by pair.
fn likelihood_and_gradient(em: &LvmEm, dim: usize) -> (f64, Vec<f64>) {
    let (means, variances) = (em.means(), em.variances());
    let (mut likelihood, mut gradient) = (0.0, vec![0.0; means.len()]);
    let mut add = |i: u32, j: u32, weight: f64, scale2: f64, similar: bool| {
        let (i, j) = (i as usize, j as usize);
        let s = scale2 + variances[i] + variances[j];
        let q: f64 = (0..dim).map(|c| (means[i * dim + c] - means[j * dim + c]).powi(2)).sum();
        let p = (scale2 / s).powf(0.5 * dim as f64) * (-0.5 * q / s).exp();
        let factor = if similar { -weight / s } else { weight * p / (1.0 - p) / s };
        likelihood += weight * if similar { p.ln() } else { (1.0 - p).ln() };
        for c in 0..dim {
            let push = factor * (means[i * dim + c] - means[j * dim + c]);
            gradient[i * dim + c] += push;
            gradient[j * dim + c] -= push;
        }
    };
    em.pairs().similar_pairs().into_iter().for_each(|(i, j, w, near2)| add(i, j, w, near2, true));
    em.pairs().dissimilar_pairs().into_iter().for_each(|(i, j, w, scale)| add(i, j, w, scale * scale, false));
    (likelihood, gradient)
}

fn max_abs(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m: f64, v| m.max(v.abs()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn e_step_equals_sum_over_pairs(n in 20usize..90, pick in 0usize..7, levels in 0usize..3, seed in 0u64..1000) {
        // Some dimensions have specialized loops.
        let dim = [1, 2, 3, 4, 5, 10, 11][pick];
        for (precision, tolerance) in [(Precision::Double, 1e-11), (Precision::Single, 1e-5)] {
            let em = random_em(n, dim, levels, EmOptions { precision, ..EmOptions::default() }, seed);
            let (likelihood, gradient) = likelihood_and_gradient(&em, dim);
            prop_assert!((em.likelihood() / likelihood - 1.0).abs() < tolerance, "{} {likelihood}", em.likelihood());
            let error = em.gradient().iter().zip(&gradient).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            prop_assert!(error < tolerance * max_abs(&gradient), "{error} of {}", max_abs(&gradient));
        }
    }

    #[test]
    fn gradient_matches_finite_differences(dim in 1usize..4, levels in 0usize..2, seed in 0u64..1000) {
        let em = random_em(30, dim, levels, EmOptions::default(), seed);
        prop_assert!(max_abs(&em.gradient()) > 0.1, "the fixture has converged");
        let h = f64::EPSILON.cbrt();
        let at = |index: usize, by: f64| {
            let mut means = em.means();
            means[index] += by;
            LvmEm::new(em.pairs().clone(), means, em.variances(), dim, EmOptions::default()).unwrap().likelihood()
        };
        for index in (0..30 * dim).step_by(7) {
            let slope = (at(index, h) - at(index, -h)) / (2.0 * h);
            prop_assert!((slope - em.gradient()[index]).abs() < 1e-6 * max_abs(&em.gradient()), "{slope}");
        }
    }

    #[test]
    fn both_half_steps_increase_likelihood_for_inexact_solves(
        n in 12usize..60, dim in 1usize..4, levels in 0usize..3, rough in 0usize..3, tied: bool, seed in 0u64..1000,
    ) {
        let variances = if tied { Variances::Tied } else { Variances::Free };
        let solve_iterations = [1, 3, 200][rough];
        let options = EmOptions { momentum: 0.0, variances, solve_iterations, solve_tolerance: 1e-12, ..EmOptions::default() };
        let mut em = random_em(n, dim, levels, options, seed);
        let mut last = em.likelihood();
        for _ in 0..15 {
            for next in [LvmEm::update_means, LvmEm::update_variances] {
                let now = next(&mut em);
                prop_assert!(now >= last - 1e-10 * last.abs(), "{last} -> {now}");
                last = now;
            }
        }
    }

    #[test]
    fn landmark_scales_are_maxima_over_cells(n in 20usize..60, seed in 0u64..1000) {
        // Two levels of eq 26: from points to landmarks, and on to landmarks of landmarks.
        let data = clouds(n, 3, seed);
        let distances = BoundedDistance { data: &data, metric: Metric::Euclidean, max: 1e9, min: 0.0 };
        let row_scales = Seed(seed).normals(n).iter().map(|v| v.abs()).collect();
        let mut group = DissimilarGroup {
            members: (0..n as u32).collect(), row_scales, column_scales: vec![0.0; n], counts: vec![1.0; n], of_points: true,
        };
        let mut scales: Vec<Vec<f64>> = (0..n).map(|i| vec![group.row_scales[i]; n]).collect();
        for every in [3, 2] {
            let landmarks: Vec<usize> = (0..group.members.len()).step_by(every).collect();
            let cells = LandmarkCells::new(&distances, &group, &landmarks, &mut no_progress).unwrap();
            let cell_scale = |i: usize, j: usize| {
                let pairs = cells.members[i].iter().flat_map(|&a| cells.members[j].iter().map(move |&b| (a, b)));
                pairs.map(|(a, b)| scales[a][b] + cells.distances[a] + cells.distances[b]).fold(0.0, f64::max)
            };
            let count = landmarks.len();
            let next: Vec<Vec<f64>> =
                (0..count).map(|i| (0..count).map(|j| if i == j { 0.0 } else { cell_scale(i, j) }).collect()).collect();
            group = cells.landmark_group(&group, &landmarks, |d| d);
            for (i, j) in (0..count).flat_map(|i| (0..count).map(move |j| (i, j))).filter(|(i, j)| i != j) {
                prop_assert!((group.row_scales[i] + group.column_scales[j] - next[i][j]).abs() < 1e-12 * next[i][j]);
            }
            prop_assert_eq!(group.counts.iter().sum::<f64>(), n as f64);
            scales = next;
        }
    }

    #[test]
    fn cells_are_disjoint_and_weights_balance(n in 8usize..120, levels in 0usize..4, either: bool, seed in 0u64..1000) {
        let adjacency = if either { AdjacencyRule::Either } else { AdjacencyRule::Directed };
        let pairs = training_pairs(n, levels, adjacency, seed);
        let dissimilar = pairs.dissimilar_pairs();
        let (near, far): (f64, f64) =
            (pairs.similar_pairs().iter().map(|p| p.2).sum(), dissimilar.iter().map(|p| p.2).sum());
        prop_assert!(dissimilar.is_empty() || (near / far - 1.0).abs() < 1e-9, "{near} {far}");
        let mut weight_sums = vec![0.0; n];
        for &(i, j, w, scale) in &dissimilar {
            weight_sums[i as usize] += w;
            weight_sums[j as usize] += w;
            prop_assert!(scale > 0.0 && scale.is_finite());
        }
        let found = pairs.dissimilar.weight_sums();
        prop_assert!(weight_sums.iter().zip(found).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + b)), "{weight_sums:?} {found:?}");
        let mut members = pairs.cells().tree.members().to_vec();
        members.sort_unstable();
        members.dedup();
        prop_assert_eq!(members.len(), pairs.cells().tree.members().len());
    }
}

/// Evaluates a block of two points, the second at the origin.
fn evaluate_pair(requested: PairSum, mean: [f64; 3], variances: [f64; 2], scale: f64) -> (Vec<f64>, f64) {
    let padded = padded_len(2);
    let column = |values: &[f64], rest: f64| {
        let mut column = vec![rest; padded];
        column[..values.len()].copy_from_slice(values);
        column
    };
    let coordinates: Vec<f64> = mean.iter().flat_map(|&x| column(&[x], 0.0)).collect();
    // Only the pair from the first to the second point is included.
    let mut excluded = ExcludedPairs::default();
    excluded.add(0, 1, 1);
    (0..padded).for_each(|_| excluded.end_point());
    let mut out = vec![0.0; requested.columns(3) * padded];
    let inputs = BlockInputs {
        coordinates: &coordinates,
        variances: &column(&variances, 1.0),
        row_scales: &column(&[scale; 2], 1.0),
        column_scales: &column(&[], 0.0),
        weights: &column(&[1.0, 1.0], 0.0),
        excluded_starts: &excluded.starts,
        excluded_tiles: &excluded.tiles,
        len: 2,
        uniform: true,
        dim: 3,
    };
    let likelihood = kernel::sum_rows(requested, &inputs, 0, 2, &mut out);
    ((0..requested.columns(3)).map(|c| out[c * padded]).collect(), likelihood)
}

#[test]
fn posterior_moments_of_dissimilar_pair_match_simulation() {
    let (mean, variances, scale) = ([0.7, -0.4, 0.5], [0.6f64, 0.9], 1.1f64);
    let draws = 400_000;
    let normals = Seed(5).normals(6 * draws);
    let (mut total, mut square, mut first) = (0.0, 0.0, [0.0; 3]);
    for draw in normals.chunks_exact(6) {
        let shift: [f64; 3] = std::array::from_fn(|c| draw[c] * variances[0].sqrt());
        let gap: f64 = (0..3).map(|c| (mean[c] + shift[c] - draw[3 + c] * variances[1].sqrt()).powi(2)).sum();
        // Eq 4: the probability that the two do not coincide.
        let weight = -(-0.5 * gap / (scale * scale)).exp_m1();
        total += weight;
        square += weight * shift.iter().map(|v| v * v).sum::<f64>();
        (0..3).for_each(|c| first[c] += weight * shift[c]);
    }
    let (push, likelihood) = evaluate_pair(PairSum::MeanGradient, mean, variances, scale);
    assert!((likelihood - (total / draws as f64).ln()).abs() < 2e-3, "{likelihood}");
    for c in 0..3 {
        // Eq 11: E[h] - mu = sigma^2 nu / s (mu_i - mu_j).
        let moved = variances[0] * push[c];
        assert!((moved - first[c] / total).abs() < 3e-3, "{moved} {}", first[c] / total);
        assert!(moved.abs() > 0.02);
    }
    // Eq 17: E|h - mu|^2 = sigma^2 (d - sigma^2 nu / s (q / s - d)).
    let (spread, _) = evaluate_pair(PairSum::VarianceGradient, mean, variances, scale);
    let expected = variances[0] * (3.0 - variances[0] * spread[0]);
    assert!((expected - square / total).abs() < 6e-3, "{expected} {}", square / total);
    assert!((expected - 3.0 * variances[0]).abs() > 0.05);
}

#[test]
fn coinciding_points_and_zero_variances_stay_finite() {
    for dim in [1, 2, 5] {
        for precision in [Precision::Single, Precision::Double] {
            let pairs = training_pairs(40, 1, AdjacencyRule::Directed, 3);
            let options = EmOptions { precision, ..EmOptions::default() };
            let mut em = LvmEm::new(pairs, vec![0.0; 40 * dim], vec![0.0; 40], dim, options).unwrap();
            for _ in 0..5 {
                let step = em.step().unwrap();
                assert!(step.objective.is_finite(), "{step:?}");
            }
            assert!(em.means().iter().chain(&em.variances()).all(|v| v.is_finite()));
        }
    }
    let pairs = training_pairs(10, 0, AdjacencyRule::Directed, 3);
    assert!(LvmEm::new(pairs.clone(), vec![f64::NAN; 20], vec![1.0; 10], 2, EmOptions::default()).is_err());
    assert!(LvmEm::new(pairs, vec![0.0; 10], vec![1.0; 10], 2, EmOptions::default()).is_err());
}

#[test]
fn result_does_not_depend_on_number_of_threads() {
    let run = || {
        let mut em = random_em(700, 2, 2, EmOptions { precision: Precision::Single, ..EmOptions::default() }, 4);
        (0..5).for_each(|_| {
            em.step().unwrap();
        });
        em.means().iter().chain(&em.variances()).map(|v| v.to_bits()).collect::<Vec<_>>()
    };
    let one = with_threads(Some(1), run).unwrap();
    for threads in [2, 3] {
        assert_eq!(one, with_threads(Some(threads), run).unwrap());
    }
}

#[test]
fn row_order_changes_iteration_by_rounding_only() {
    let (n, dim) = (90, 3);
    for levels in [0, 1, 2] {
        let mut natural = random_em(n, dim, levels, EmOptions::default(), 5);
        natural.step().unwrap();
        let mut archive = Archive::new(ArchiveKind::Checkpoint);
        natural.save(&mut archive);
        archive.put("numbering", (0..n as u32).map(|i| i * 37 % n as u32).collect::<Vec<u32>>());
        let mut moved = random_em(n, dim, levels, EmOptions::default(), 5);
        moved.restore(&archive).unwrap();
        assert_eq!((moved.means(), moved.variances()), (natural.means(), natural.variances()));
        let sorted = |em: &LvmEm| {
            let mut pairs = [em.pairs().similar_pairs(), em.pairs().dissimilar_pairs()].concat();
            pairs.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.3.total_cmp(&b.3)));
            pairs
        };
        assert_eq!(sorted(&moved), sorted(&natural));
        for _ in 0..3 {
            let steps = [natural.step().unwrap(), moved.step().unwrap()];
            assert!((steps[0].objective / steps[1].objective - 1.0).abs() < 1e-12);
        }
        let error = natural.means().iter().zip(moved.means()).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
        assert!(error < 1e-9 * max_abs(&natural.means()), "{error}");
        // The saved state contains the row order.
        let mut archive = Archive::new(ArchiveKind::Checkpoint);
        moved.save(&mut archive);
        let mut again = random_em(n, dim, levels, EmOptions::default(), 5);
        again.restore(&archive).unwrap();
        assert_eq!(again.step().unwrap(), moved.step().unwrap());
        assert_eq!(again.means(), moved.means());
    }
}

#[test]
fn landmark_count_minimizes_pairs() {
    assert_eq!(landmark_count(150), 22);
    assert_eq!(landmark_count(70_000), 1348);
}
