//! Compares posteriors of low rank with the exact ones.

use super::*;
use lowland_linalg::dense;

fn modes(n: usize, rank: usize) -> LaplacianModes {
    let edges = graph(n).laplacian();
    LaplacianModes::new(ModelGraph::new(&edges).unwrap(), rank, None, Seed(3), &mut no_progress).unwrap()
}

fn low_rank_problem(n: usize, rank: usize) -> LowRankProblem {
    LowRankProblem::new(modes(n, rank), ScaledRows::new(&data(n)).unwrap()).unwrap()
}

fn bound(em: &impl EmRun) -> f64 {
    em.hyperparameters().bound
}

/// `U' M U` for the eigenvectors.
fn between(modes: &LaplacianModes, matrix: &[f64], n: usize) -> Vec<f64> {
    let m = modes.rank();
    let (mut half, mut out) = (vec![0.0; n * m], vec![0.0; m * m]);
    dense::product_nn(matrix, modes.vectors(), n, &mut half);
    dense::product_tn_add(modes.vectors(), &half, n, &mut out);
    out
}

#[test]
fn forms_between_eigenvectors_are_those_of_all_points() {
    let (n, m) = (33, 9);
    let (graph, modes) = (graph(n), modes(n, m));
    let forms = modes.forms();
    // Second moments within the eigenvectors, and those of the rest of the prior.
    let half = Seed(8).normals(m * m);
    let inner: Vec<f64> = (0..m * m).map(|at| half[at] + half[at % m * m + at / m]).collect();
    let mut outer = vec![0.0; n * n];
    let mut images = vec![0.0; n * m];
    dense::product_nn(modes.vectors(), &inner, m, &mut images);
    dense::product_nt(&images, modes.vectors(), m, &mut outer);
    let known: Vec<f64> = (0..n * n)
        .map(|at| {
            let (i, j) = (at / n, at % n);
            let term = |p: usize| modes.vectors()[i * m + p] * modes.vectors()[j * m + p] / modes.eigenvalues()[p];
            (1..m).map(term).sum()
        })
        .collect();
    let rest: Vec<f64> = graph.k.iter().zip(&known).map(|(k, v)| 0.5 * (k - v)).collect();
    let form = |kind: FormKind, matrix: &[f64]| {
        let mut form = matrix.to_vec();
        quadratic_form(&graph, 1, kind, 1.0, &mut form, &mut vec![0.0; n * n]);
        form
    };
    let near = |found: &[f64], expected: &[f64], what: &str| {
        let worst = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-9 * max_abs(expected), "{what}: {worst} of {}", max_abs(expected));
    };
    near(&forms.sums(&inner), &between(&modes, &form(FormKind::Sum, &outer), n), "sums");
    near(&forms.differences(&inner), &between(&modes, &form(FormKind::Difference, &outer), n), "differences");
    let sums = form(FormKind::Sum, &rest);
    near(&forms.rest_sums, &between(&modes, &sums, n), "sums of the rest");
    near(&forms.rest_differences, &between(&modes, &form(FormKind::Difference, &rest), n), "differences of the rest");
    let both: f64 = sums.iter().zip(&rest).map(|(a, b)| a * b).sum();
    near(&[forms.rest_both], &[both], "both");
    near(&[forms.rest_trace], &[(0..n).map(|i| rest[i * (n + 1)]).sum()], "trace");
}

#[test]
fn full_rank_is_the_exact_model() {
    let n = 24;
    let (problem, full) = (problem(n), low_rank_problem(n, n));
    for options in [
        options(),
        LllvmOptions::new(2, Alpha::Optimize),
        LllvmOptions { column_noise: ColumnNoise::Separate, ..options() },
    ] {
        let mut exact = LllvmEm::random(&problem, options, Seed(7)).unwrap();
        let mut low_rank = LowRankEm::new(&full, options, Seed(7)).unwrap();
        for iteration in 0..15 {
            exact.step().unwrap();
            low_rank.step().unwrap();
            let (a, b) = (exact.bound(), bound(&low_rank));
            assert!((a - b).abs() < 1e-7 * a.abs(), "{options:?}, iteration {iteration}: {a} {b}");
        }
        let difference = exact.latents().iter().zip(low_rank.latents()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(difference < 1e-6 * max_abs(exact.latents()), "{difference}");
        let (exact, low_rank) = (exact.into_posterior().unwrap(), low_rank.into_posterior().unwrap());
        let pairs = exact.covariances().iter().zip(low_rank.covariances());
        let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-5 * max_abs(exact.covariances()), "{worst}");
    }
}

#[test]
fn bound_never_decreases_at_low_rank() {
    for options in [
        options(),
        LllvmOptions::new(2, Alpha::Fixed(2.0)),
        LllvmOptions { column_noise: ColumnNoise::Separate, ..options() },
    ] {
        let problem = low_rank_problem(60, 12);
        let mut em = LowRankEm::new(&problem, options, Seed(3)).unwrap();
        em.step().unwrap();
        let first = bound(&em);
        for _ in 0..60 {
            let before = bound(&em);
            em.step().unwrap();
            assert!(bound(&em) >= before - 1e-9 * before.abs(), "{options:?}: {before} {}", bound(&em));
        }
        assert!(bound(&em) > first + 1.0);
    }
}

/// The exact EM, started from the posterior of the maps at low rank, can only raise the bound. So every bound at low rank is a lower bound.
#[test]
fn low_rank_bound_is_below_the_exact_one_and_converges_to_it() {
    let n = 60;
    let exact_problem = problem(n);
    let mut gaps = Vec::new();
    for rank in [4, 12, 30, 60] {
        let problem = low_rank_problem(n, rank);
        let mut em = LowRankEm::new(&problem, options(), Seed(7)).unwrap();
        (0..150).for_each(|_| em.step().unwrap());
        let (means, covariance) = em.point_maps();
        let hyperparameters = em.hyperparameters();
        let start = LllvmStart { means, covariance, gamma: hyperparameters.gamma, alpha: hyperparameters.alpha };
        let mut exact = LllvmEm::new(&exact_problem, options(), start).unwrap();
        exact.step().unwrap();
        let bound = bound(&em);
        assert!(exact.bound() >= bound - 1e-8 * bound.abs(), "rank {rank}: {} {bound}", exact.bound());
        (0..150).for_each(|_| exact.step().unwrap());
        gaps.push(exact.bound() - bound);
    }
    assert!(gaps[0] > 1.0, "the test cannot tell: {gaps:?}");
    assert!(gaps.windows(2).all(|pair| pair[1] < 0.9 * pair[0]), "{gaps:?}");
    assert!(gaps[3].abs() < 1e-6 * gaps[0], "{gaps:?}");
}
