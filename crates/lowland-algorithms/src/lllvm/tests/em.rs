//! Compares the graph, the quadratic forms and the updates with plain sums, Monte Carlo and finite differences.

use super::*;
use lowland_core::run::Stepper;
use lowland_core::with_threads;

#[test]
fn pseudo_inverse_and_resistances_match_laplacian() {
    let graph = graph(17);
    let laplacian = |i: usize, j: usize| match (i == j, graph.neighbors(i).contains(&(j as u32))) {
        (true, _) => graph.neighbors(i).len() as f64,
        (_, true) => -1.0,
        _ => 0.0,
    };
    for i in 0..17 {
        for j in 0..17 {
            let product: f64 = (0..17).map(|p| laplacian(i, p) * graph.k[p * 17 + j]).sum();
            assert!((product - f64::from(u8::from(i == j)) + 1.0 / 17.0).abs() < 1e-12);
        }
    }
    // Foster's theorem: the resistances of all edges sum to n - 1.
    let total: f64 = graph.edges().map(|(i, j)| graph.resistance(i, j)).sum();
    assert!((total - 16.0).abs() < 1e-10);
    assert!((graph.eigenvalues().iter().sum::<f64>() - 2.0 * graph.edges().count() as f64).abs() < 1e-10);
}

#[test]
fn disconnected_and_directed_graphs_are_rejected() {
    let parts = Csr::from_triplets(4, 4, [(0, 1, 1.0), (1, 0, 1.0), (2, 3, 1.0), (3, 2, 1.0)]).unwrap();
    assert!(LaplacianGraph::new(&parts).unwrap_err().to_string().contains("2 parts"));
    let directed = Csr::from_triplets(2, 2, [(0, 1, 1.0)]).unwrap();
    assert!(LaplacianGraph::new(&directed).is_err());
}

/// The sizes cover full and partial panels and strips.
#[test]
fn quadratic_forms_match_fourfold_sums() {
    [13, 32, 70].into_iter().for_each(check_forms);
}

fn check_forms(n: usize) {
    let (n, dim) = (n, 2);
    let (graph, side) = (graph(n), n * dim);
    let half = Seed(2).normals(side * side);
    let moments: Vec<f64> = (0..side * side).map(|at| half[at] + half[at % side * side + at / side]).collect();
    for (sign, s) in [(FormKind::Sum, 1.0), (FormKind::Difference, -1.0)] {
        let mut form = moments.clone();
        quadratic_form(&graph, dim, sign, 1.0, &mut form, &mut vec![f64::NAN; side * side]);
        for a in 0..side {
            for b in 0..side {
                let ((i, r), (j, q)) = ((a % n, a / n * n), (b % n, b / n * n));
                let k = |i: usize, j: usize| graph.k[i * n + j];
                let m = |i: usize, j: usize| moments[(r + i) * side + q + j];
                let mut sum = 0.0;
                for &p in graph.neighbors(i) {
                    for &o in graph.neighbors(j) {
                        let (p, o) = (p as usize, o as usize);
                        sum +=
                            (k(i, j) - k(i, o) - k(p, j) + k(p, o)) * (m(i, j) + s * m(i, o) + s * m(p, j) + m(p, o));
                    }
                }
                assert!((form[a * side + b] - sum).abs() < 1e-10 * max_abs(&moments), "{a} {b}");
            }
        }
    }
}

#[test]
fn quadratic_and_linear_terms_match_monte_carlo() {
    let problem = problem(9);
    let (side, columns) = (18, 4);
    let mut rng = 0;
    let mut normals = |count: usize| {
        rng += 1;
        Seed(100).item(rng).normals(count)
    };
    // Independent maps with their own means and one variance; the mean of the joint over them is -x'(A + prior)x/2 +
    // x'b.
    let (means, variance) = (normals(side * columns), 0.3);
    let covariance = (0..side * side).map(|at| if at / side == at % side { variance } else { 0.0 }).collect();
    let start = LllvmStart { means: means.clone(), covariance, gamma: 1.7, alpha: 0.2 };
    let mut em = LllvmEm::new(&problem, LllvmOptions::new(2, Alpha::Fixed(0.2)), start).unwrap();
    let (linear_term, form) = (em.latent_linear_term(), em.latent_form().to_vec());
    let latents = normals(side);
    let draws = 4000;
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..draws {
        let noise = normals(side * columns);
        let maps: Vec<f64> = means.iter().zip(&noise).map(|(m, z)| m + variance.sqrt() * z).collect();
        let zero = vec![0.0; side];
        let value =
            log_joint(&problem, &maps, &latents, 1.7, 0.2, 1e-3) - log_joint(&problem, &maps, &zero, 1.7, 0.2, 1e-3);
        sum += value;
        squares += value * value;
    }
    let (mean, count) = (sum / draws as f64, draws as f64);
    let error = ((squares / count - mean * mean) / count).sqrt();
    let mut expected = -0.5 * 0.2 * latents.iter().map(|x| x * x).sum::<f64>();
    for r in 0..2 {
        expected -= problem.graph.roughness(&latents[r * 9..(r + 1) * 9], 1);
    }
    for a in 0..side {
        expected += latents[a] * linear_term[a];
        expected -= 0.5 * (0..side).map(|b| latents[a] * form[a * side + b] * latents[b]).sum::<f64>();
    }
    assert!((mean - expected).abs() < 4.0 * error, "{mean} +- {error}, {expected}");
    assert!(error < 0.05 * mean.abs(), "too few draws to tell: {error} of {mean}");
}

#[test]
fn bound_never_decreases() {
    let problem = problem(40);
    for alpha in [Alpha::Fixed(1e-3), Alpha::Fixed(2.0), Alpha::Optimize] {
        let options = LllvmOptions::new(2, alpha);
        let start = LllvmStart::random(&problem, options, Seed(3));
        let mut em = LllvmEm::new(&problem, options, start).unwrap();
        em.step().unwrap();
        let first = em.bound();
        for _ in 0..40 {
            let before = em.bound();
            em.step().unwrap();
            assert!(em.bound() >= before - 1e-9 * before.abs(), "{alpha:?}: {before} {}", em.bound());
        }
        assert!(em.bound() > first + 1.0);
    }
}

fn separate_noise() -> LllvmOptions {
    LllvmOptions { column_noise: ColumnNoise::Separate, ..options() }
}

#[test]
fn column_scales_maximize_the_bound_given_the_posteriors() {
    let problem = problem(30);
    let start = LllvmStart::random(&problem, options(), Seed(7));
    let mut common = LllvmEm::new(&problem, options(), start.clone()).unwrap();
    let mut separate = LllvmEm::new(&problem, separate_noise(), start).unwrap();
    common.step().unwrap();
    separate.step().unwrap();
    assert_eq!((common.gamma(), common.maps()), (separate.gamma(), separate.maps()));
    // The bound at any scales, from the definitions: the rows enter it by the two sums and the change of variables.
    let (n, columns, gamma) = (30, 4, common.gamma());
    let bound_at = |scales: &[f64]| {
        let mut bound = common.bound();
        for c in 0..columns {
            let y = |i: usize| problem.rows.row(i)[c];
            let roughness: f64 = problem.graph.edges().map(|(i, j)| (y(i) - y(j)).powi(2)).sum();
            let linear: f64 = (0..60).map(|a| common.maps()[a * columns + c] * common.h()[a * columns + c]).sum();
            let s = scales[c];
            bound += n as f64 * s.ln() - gamma * (roughness * (s * s - 1.0) - linear * (s - 1.0));
        }
        bound
    };
    let scales = separate.rows.rows.column_scales();
    assert!((bound_at(scales) - separate.bound()).abs() < 1e-9 * separate.bound().abs());
    for c in 0..columns {
        for factor in [0.99, 1.01] {
            let mut other = scales.to_vec();
            other[c] *= factor;
            assert!(bound_at(&other) < separate.bound(), "column {c}");
        }
    }
}

#[test]
fn separate_noise_is_found_and_its_bound_never_decreases() {
    let noise = Seed(9).normals(4 * 80);
    let row = |i: usize| {
        let angle = std::f64::consts::TAU * i as f64 / 80.0;
        let exact = [angle.cos(), angle.sin(), angle.cos(), angle.sin()];
        (0..4).map(|c| (exact[c] + [0.02, 0.02, 0.3, 0.3][c] * noise[4 * i + c]) as f32).collect::<Vec<_>>()
    };
    let data = Data::dense((0..80).flat_map(row).collect(), 4).unwrap();
    let problem = LllvmProblem::new(graph(80), ScaledRows::new(&data).unwrap()).unwrap();
    let fit = |options: LllvmOptions| {
        let mut em = LllvmEm::new(&problem, options, LllvmStart::random(&problem, options, Seed(7))).unwrap();
        for _ in 0..60 {
            let before = em.bound();
            em.step().unwrap();
            assert!(em.bound() >= before - 1e-9 * before.abs(), "{before} {}", em.bound());
        }
        em
    };
    let (common, separate) = (fit(options()), fit(separate_noise()));
    assert!(separate.bound() > common.bound() + 20.0, "{} {}", separate.bound(), common.bound());
    // The standard deviation of a column's noise is proportional to the inverse of its scale.
    let scales = separate.rows.rows.column_scales();
    assert!((0..2).all(|c| (2..4).all(|d| scales[c] > 2.0 * scales[d])), "{scales:?}");
}

/// Rows that the model can fit without noise.
fn noiseless_rows() -> Vec<(&'static str, Vec<f32>)> {
    let normals: Vec<f32> = Seed(6).normals(4 * 40).into_iter().map(|v| v as f32).collect();
    let repeat = |distinct: usize| (0..160).map(|at| normals[at / 4 % distinct * 4 + at % 4]).collect();
    let clusters = (0..160).map(|at| normals[at] + if at < 80 { 0.0 } else { 1e6 }).collect();
    let outlier = (0..160).map(|at| normals[at % 4 + if at < 4 { 4 } else { 0 }]).collect();
    vec![("2 rows", repeat(2)), ("3 rows", repeat(3)), ("clusters", clusters), ("outlier", outlier)]
}

#[test]
fn bound_of_repeated_rows_and_of_distant_clusters_is_finite_and_rises() {
    for (name, values) in noiseless_rows() {
        let data = Data::dense(values, 4).unwrap();
        let nearest = nearest(&data, &data, 6);
        let near = (0..40).flat_map(|i| nearest.row(i).0.iter().map(move |&j| (i as u32, j)));
        let ring = (0..40).map(|i| (i, (i + 1) % 40));
        let both = near.chain(ring).flat_map(|(i, j)| [(i, j, 1.0), (j, i, 1.0)]);
        let graph = LaplacianGraph::new(&Csr::from_triplets(40, 40, both).unwrap()).unwrap();
        let problem = LllvmProblem::new(graph, ScaledRows::new(&data).unwrap()).unwrap();
        let mut em = em(&problem);
        let mut before = f64::NEG_INFINITY;
        for iteration in 0..150 {
            em.step().unwrap();
            let bound = em.bound();
            assert!(bound.is_finite(), "{name}, iteration {iteration}");
            assert!(bound >= before - 1e-4 * before.abs(), "{name}, iteration {iteration}: {before} {bound}");
            before = bound;
        }
    }
}

#[test]
fn result_does_not_depend_on_number_of_threads() {
    let problem = problem(150);
    let fit = |threads| {
        let work = || {
            let mut starts =
                MultiStartEm::new(3, 0.0, Seed(1), |seed| LllvmEm::random(&problem, options(), seed)).unwrap();
            for _ in 0..4 {
                starts.step().unwrap();
            }
            (starts.bounds(), starts.into_posterior().unwrap())
        };
        with_threads(Some(threads), work).unwrap()
    };
    let first = fit(1);
    assert!([2, 3].into_iter().all(|threads| fit(threads) == first));
}
