//! Compares the bound and the updates with the definitions. The log joint is quadratic in the latent coordinates
//! given the maps, and in the maps given the latent coordinates, so its expectation under Gaussians is a finite sum
//! over points on their axes. The expected values use no function of the updates.

use super::*;
use lowland_linalg::dense::Cholesky;

/// The expectation of a quadratic function under a Gaussian: `f(m) + sum over the factor's columns s of [f(m + s) +
/// f(m - s) - 2 f(m)] / 2`.
fn expectation(mean: &[f64], covariance: &[f64], function: impl Fn(&[f64]) -> f64) -> f64 {
    let side = mean.len();
    let factor = Cholesky::new(covariance, side).expect("a covariance");
    let middle = function(mean);
    let along = |a: usize| {
        let mut unit = vec![0.0; side];
        unit[a] = 1.0;
        let step = factor.multiply(&unit);
        let moved = |sign: f64| -> Vec<f64> { mean.iter().zip(&step).map(|(m, s)| m + sign * s).collect() };
        0.5 * (function(&moved(1.0)) + function(&moved(-1.0))) - middle
    };
    middle + (0..side).map(along).sum::<f64>()
}

/// Repeats `covariance` for each of `columns` interleaved columns.
fn for_columns(covariance: &[f64], side: usize, columns: usize) -> Vec<f64> {
    let wide = side * columns;
    let entry = |at: usize| {
        let (a, b) = (at / wide, at % wide);
        if a % columns == b % columns { covariance[a / columns * side + b / columns] } else { 0.0 }
    };
    (0..wide * wide).map(entry).collect()
}

fn log_determinant(matrix: &[f64], side: usize) -> f64 {
    Cholesky::new(matrix, side).expect("a covariance").log_determinant()
}

/// Everything that the bound depends on.
#[derive(Clone)]
struct BoundState {
    latents: Vec<f64>,
    latent_covariance: Vec<f64>,
    maps: Vec<f64>,
    map_covariance: Vec<f64>,
    gamma: f64,
}

const POINTS: usize = 7;
const SIDE: usize = 14;
const COLUMNS: usize = 4;
const ALPHA: f64 = 0.2;
const EPSILON: f64 = 1e-3;

impl BoundState {
    /// The expected log joint plus entropies, in full.
    fn bound(&self, problem: &LllvmProblem) -> f64 {
        let (n, dim, columns) = (POINTS as f64, 2.0, COLUMNS as f64);
        let over_latents = |maps: &[f64]| {
            expectation(&self.latents, &self.latent_covariance, |latents| {
                log_joint(problem, maps, latents, self.gamma, ALPHA, EPSILON)
            })
        };
        let joint = expectation(&self.maps, &for_columns(&self.map_covariance, SIDE, COLUMNS), over_latents);
        // The terms that the log joint omits: normalizers, and the square of the data.
        let logs: f64 = problem.graph.eigenvalues().iter().map(|w| (2.0 * w).ln()).sum();
        let spread: f64 = problem.graph.eigenvalues().iter().map(|w| (ALPHA + 2.0 * w).ln()).sum();
        let values = &problem.rows.values;
        let data = -self.gamma * problem.graph.roughness(values, COLUMNS)
            - 0.5
                * EPSILON
                * (0..COLUMNS).map(|c| values.iter().skip(c).step_by(COLUMNS).sum::<f64>().powi(2)).sum::<f64>()
            + 0.5 * columns * (logs + (n - 1.0) * self.gamma.ln() + (n * EPSILON).ln());
        let priors = 0.5 * dim * (spread + ALPHA.ln()) + 0.5 * dim * columns * (logs + (n * EPSILON).ln());
        let entropies = 0.5 * log_determinant(&self.latent_covariance, SIDE)
            + 0.5 * columns * log_determinant(&self.map_covariance, SIDE)
            + 0.5 * n * dim * (1.0 + columns);
        joint + data + priors + entropies - 0.5 * n * columns * std::f64::consts::TAU.ln()
    }

    /// The derivative along `change`, by central differences.
    fn slope(&self, problem: &LllvmProblem, step: f64, change: impl Fn(&mut BoundState, f64)) -> f64 {
        let at = |h: f64| {
            let mut state = self.clone();
            change(&mut state, h);
            state.bound(problem)
        };
        (at(step) - at(-step)) / (2.0 * step)
    }

    /// Changes an entry of a covariance and its mirror_upper_triangle image.
    fn change_entry(covariance: &mut [f64], (a, b): (usize, usize), h: f64) {
        covariance[a * SIDE + b] += h;
        if a != b {
            covariance[b * SIDE + a] += h;
        }
    }
}

/// Some entries of a covariance: on the diagonal, within one coordinate, and across coordinates.
const ENTRIES: [(usize, usize); 8] = [(0, 0), (5, 5), (13, 13), (0, 1), (2, 6), (3, 10), (7, 13), (6, 8)];

/// The current `q(C)`: its means, and the covariance computed from the second moments.
fn maps_of(em: &LllvmEm) -> (Vec<f64>, Vec<f64>) {
    let (maps, moments) = (em.maps(), em.moments());
    let product = |a: usize, b: usize| (0..COLUMNS).map(|c| maps[a * COLUMNS + c] * maps[b * COLUMNS + c]).sum::<f64>();
    let covariance = (0..SIDE * SIDE).map(|at| (moments[at] - product(at / SIDE, at % SIDE)) / COLUMNS as f64);
    (maps.to_vec(), covariance.collect())
}

/// Takes a few steps, and returns the states after the next updates of the latent coordinates, the maps and gamma.
fn updates(problem: &LllvmProblem) -> (LllvmEm<'_>, [BoundState; 3]) {
    let options = LllvmOptions::new(2, Alpha::Fixed(ALPHA));
    let mut em = LllvmEm::new(problem, options, LllvmStart::random(problem, options, Seed(7))).unwrap();
    (0..3).for_each(|_| em.step().unwrap());
    let (maps, map_covariance) = maps_of(&em);
    let mut latents = em.clone();
    latents.update_latent_posterior().unwrap();
    let gamma = em.gamma();
    em.step().unwrap();
    assert_eq!(latents.latents(), em.latents());
    let (latents, latent_covariance) = (em.latents().to_vec(), latents.moments().to_vec());
    let first = BoundState { latents, latent_covariance, maps, map_covariance, gamma };
    let (maps, map_covariance) = maps_of(&em);
    let second = BoundState { maps, map_covariance, ..first.clone() };
    let third = BoundState { gamma: em.gamma(), ..second.clone() };
    (em, [first, second, third])
}

#[test]
fn bound_matches_definition() {
    let problem = problem(POINTS);
    let (em, [_, _, state]) = updates(&problem);
    let expected = state.bound(&problem);
    assert!((em.bound() - expected).abs() < 1e-9 * expected.abs(), "{} {expected}", em.bound());
}

#[test]
fn gradient_of_full_bound_vanishes_after_each_update() {
    let problem = problem(POINTS);
    let (_, [by_latents, by_maps, by_gamma]) = updates(&problem);
    // For every stationary point, a nearby point must not be stationary with respect to at least some of the
    // variables.
    let steepest = std::cell::Cell::new(0.0f64);
    let check_stationary =
        |what: &str, at: &BoundState, away: &BoundState, step: f64, change: &dyn Fn(&mut BoundState, f64)| {
            let (slope, elsewhere) = (at.slope(&problem, step, change), away.slope(&problem, step, change).abs());
            assert!(slope.abs() < 1e-5 * elsewhere.max(1.0), "{what}: {slope}, elsewhere {elsewhere}");
            steepest.set(steepest.get().max(elsewhere));
        };
    let check_steepness = |what: &str| assert!(steepest.take() > 0.1, "{what}: flat everywhere");
    // The bound is quadratic in the means; in the covariances its curvature grows with their inverse eigenvalues.
    let (coarse, fine) = (1e-4, 2e-6);
    let scaled = |values: &[f64]| values.iter().map(|v| 1.5 * v).collect::<Vec<f64>>();
    for a in 0..SIDE {
        let mut away = by_latents.clone();
        away.latents[a] += 0.3;
        check_stationary("a latent coordinate", &by_latents, &away, coarse, &|state, h| state.latents[a] += h);
    }
    check_steepness("latent coordinates");
    let wide = BoundState { latent_covariance: scaled(&by_latents.latent_covariance), ..by_latents.clone() };
    let unit = max_abs(&by_latents.latent_covariance);
    for entry in ENTRIES {
        let change =
            |state: &mut BoundState, h: f64| BoundState::change_entry(&mut state.latent_covariance, entry, h * unit);
        check_stationary("a covariance of latent coordinates", &by_latents, &wide, fine, &change);
    }
    check_steepness("covariances of latent coordinates");
    for at in (0..SIDE * COLUMNS).step_by(5) {
        let mut away = by_maps.clone();
        away.maps[at] += 0.3;
        check_stationary("a map", &by_maps, &away, coarse, &|state, h| state.maps[at] += h);
    }
    check_steepness("maps");
    let wide = BoundState { map_covariance: scaled(&by_maps.map_covariance), ..by_maps.clone() };
    let unit = max_abs(&by_maps.map_covariance);
    for entry in ENTRIES {
        let change =
            |state: &mut BoundState, h: f64| BoundState::change_entry(&mut state.map_covariance, entry, h * unit);
        check_stationary("a covariance of maps", &by_maps, &wide, fine, &change);
    }
    check_steepness("covariances of maps");
    let away = BoundState { gamma: 1.5 * by_gamma.gamma, ..by_gamma.clone() };
    check_stationary("gamma", &by_gamma, &away, coarse, &|state, h| state.gamma += h * by_gamma.gamma);
    check_steepness("gamma");
}

#[test]
fn gamma_and_h_match_monte_carlo() {
    // Gamma and H by definition: the quadratic and the linear part in the maps of the mean over the latent
    // coordinates.
    let problem = problem(POINTS);
    let (em, [state, ..]) = updates(&problem);
    let mut moments: Vec<f64> = (0..SIDE * SIDE)
        .map(|at| state.latent_covariance[at] + state.latents[at / SIDE] * state.latents[at % SIDE])
        .collect();
    quadratic_form(&problem.graph, 2, FormKind::Difference, 1.0, &mut moments, &mut vec![0.0; SIDE * SIDE]);
    let maps = Seed(5).normals(SIDE * COLUMNS);
    let mut expected = 0.0;
    for c in 0..COLUMNS {
        for r in 0..2 {
            let column: Vec<f64> = (0..POINTS).map(|i| maps[(r * POINTS + i) * COLUMNS + c]).collect();
            expected -= 0.5 * EPSILON * column.iter().sum::<f64>().powi(2) + problem.graph.roughness(&column, 1);
        }
        for a in 0..SIDE {
            expected += state.gamma * maps[a * COLUMNS + c] * em.h()[a * COLUMNS + c];
            let across = |b: usize| moments[a * SIDE + b] * maps[b * COLUMNS + c];
            expected -= 0.25 * state.gamma * maps[a * COLUMNS + c] * (0..SIDE).map(across).sum::<f64>();
        }
    }
    let factor = Cholesky::new(&state.latent_covariance, SIDE).unwrap();
    let none = vec![0.0; SIDE * COLUMNS];
    let draws = 20_000;
    let value = |draw: usize| {
        let noise = factor.multiply(&Seed(9).item(draw).normals(SIDE));
        let latents: Vec<f64> = state.latents.iter().zip(noise).map(|(m, z)| m + z).collect();
        let joint = |maps: &[f64]| log_joint(&problem, maps, &latents, state.gamma, ALPHA, EPSILON);
        joint(&maps) - joint(&none)
    };
    let values: Vec<f64> = (0..draws).map(value).collect();
    let count = draws as f64;
    let mean = values.iter().sum::<f64>() / count;
    let error = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count / count).sqrt();
    assert!((mean - expected).abs() < 4.0 * error, "{mean} +- {error}, {expected}");
    assert!(error < 0.03 * mean.abs(), "too few draws to tell: {error} of {mean}");
}

/// The maximizer of a quadratic function, from finite differences.
fn maximizer(at: &[f64], function: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let side = at.len();
    let value = |moves: &[(usize, f64)]| {
        let mut there = at.to_vec();
        moves.iter().for_each(|&(a, h)| there[a] += h);
        function(&there)
    };
    let curvature = |a: usize, b: usize| {
        let corner = |p: f64, q: f64| value(&[(a, p), (b, q)]);
        -(corner(0.5, 0.5) - corner(0.5, -0.5) - corner(-0.5, 0.5) + corner(-0.5, -0.5))
    };
    let hessian: Vec<f64> = (0..side * side).map(|at| curvature(at / side, at % side)).collect();
    let mut step: Vec<f64> = (0..side).map(|a| value(&[(a, 0.5)]) - value(&[(a, -0.5)])).collect();
    Cholesky::new(&hessian, side).unwrap().solve(&mut step, 1);
    at.iter().zip(step).map(|(a, s)| a + s).collect()
}

#[test]
fn new_row_maximizes_its_part_of_the_bound() {
    let (n, dim, columns) = (12, 2, 4);
    let (problem, posterior) = posterior(n);
    let near = [3u32, 4, 6];
    let row: Vec<f64> = (0..4).map(|c| 0.5 * problem.rows.row(4)[c] + 0.4 * problem.rows.row(5)[c]).collect();
    let (latent, covariance) = posterior.fit_new_row(&row, &problem.rows, &near);
    let rows: Vec<&[f64]> = near.iter().map(|&j| problem.rows.row(j as usize)).collect();
    // The posteriors of the neighbors, with all covariances between them.
    let at = |p: usize| p % dim * n + near[p / dim] as usize;
    let known = near.len() * dim;
    let square = |packed: &crate::lllvm::posterior::PointCovariance| -> Vec<f64> {
        (0..known * known).map(|e| packed.get(at(e / known), at(e % known))).collect()
    };
    let (near_latents, near_maps) = (square(&posterior.latent_covariance), square(&posterior.map_covariance));
    assert!(near_latents[1].abs() > 1e-3 * near_latents[0] && near_maps[2].abs() > 1e-3 * near_maps[0]);
    let mean_latents: Vec<f64> =
        (0..known).map(|p| posterior.latents[near[p / dim] as usize * dim + p % dim]).collect();
    let mean_maps: Vec<f64> =
        (0..known).flat_map(|p| posterior.maps[at(p) * columns..][..columns].iter().map(|&v| f64::from(v))).collect();
    // The joint covariance of the new point and its neighbors, which are independent.
    let joined = |own: &[f64], others: &[f64]| -> Vec<f64> {
        let side = dim + known;
        let entry = |e: usize| match (e / side, e % side) {
            (a, b) if a < dim && b < dim => own[a * dim + b],
            (a, b) if a >= dim && b >= dim => others[(a - dim) * known + b - dim],
            _ => 0.0,
        };
        (0..side * side).map(entry).collect()
    };
    let expected = |latent: &[f64], covariance: &[f64], map: &[f64], map_covariance: &[f64]| {
        let wide = for_columns(&joined(map_covariance, &near_maps), dim + known, columns);
        let (latents, maps) = ([latent, &mean_latents].concat(), [map, &mean_maps].concat());
        expectation(&maps, &wide, |maps| {
            expectation(&latents, &joined(covariance, &near_latents), |latents| {
                joint_of_new(posterior.hyperparameters, &rows, &row, latents, maps)
            })
        })
    };
    // The best map for these latent coordinates: its mean does not depend on its covariance.
    let rough = [1e-2, 0.0, 0.0, 1e-2];
    let map = maximizer(&mean_maps[..dim * columns], |map| expected(&latent, &covariance, map, &rough));
    // Apart from half its log-determinant, the bound is linear in a covariance: the slopes are half the precision.
    let precision = |of: &dyn Fn(&[f64]) -> f64, from: &[f64], size: f64| -> Vec<f64> {
        let slope = |e: usize| {
            let (a, b) = (e / dim, e % dim);
            let moved = |h: f64| {
                let mut there = from.to_vec();
                there[a * dim + b] += h;
                if a != b {
                    there[b * dim + a] += h;
                }
                of(&there)
            };
            -(moved(size) - moved(-size)) / size * if a == b { 1.0 } else { 0.5 }
        };
        (0..dim * dim).map(slope).collect()
    };
    let by_maps = precision(&|cov: &[f64]| expected(&latent, &covariance, &map, cov), &rough, 1e-3);
    let per_column: Vec<f64> = by_maps.iter().map(|v| v / columns as f64).collect();
    let map_covariance = Cholesky::new(&per_column, dim).unwrap().inverse();
    let best = maximizer(&latent, |latent| expected(latent, &covariance, &map, &map_covariance));
    let deviation = (covariance[0] + covariance[3]).sqrt();
    let moved = best.iter().zip(&latent).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(moved < 1e-3 * deviation, "{latent:?} {best:?}, one deviation is {deviation}");
    let size = 0.1 * covariance[0].min(covariance[3]);
    let by_latents = precision(&|cov: &[f64]| expected(&latent, cov, &map, &map_covariance), &covariance, size);
    let inverse = Cholesky::new(&by_latents, dim).unwrap().inverse();
    for (found, wanted) in covariance.iter().zip(&inverse) {
        assert!((found - wanted).abs() < 1e-3 * max_abs(&inverse), "{covariance:?} {inverse:?}");
    }
    // The result differs from the one with certain neighbors.
    let sure = |map: &[f64]| {
        joint_of_new(
            posterior.hyperparameters,
            &rows,
            &row,
            &[&latent[..], &mean_latents].concat(),
            &[map, &mean_maps].concat(),
        )
    };
    let other = maximizer(&mean_maps[..dim * columns], sure);
    let apart = other.iter().zip(&map).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(apart > 1e-3 * max_abs(&map), "covariances make no difference here: {apart}");
}
