//! The bound and the updates against the definitions: the log joint is quadratic in the places given the maps, and in the
//! maps given the places, so that its expectation under Gaussians is a finite sum over points on their axes. No function of
//! the updates is used on this side.

use super::tests::{joint_of_new, largest, log_joint, posterior, problem};
use super::*;
use lowland_core::Seed;
use lowland_linalg::dense::Cholesky;

/// The expectation of a function of degree two under a Gaussian: `f(m) + sum over the factor's columns s of
/// [f(m + s) + f(m - s) - 2 f(m)] / 2`.
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

/// `covariance` for each of so many columns, which lie side by side.
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

/// All that a bound is of.
#[derive(Clone)]
struct State {
    places: Vec<f64>,
    place_covariance: Vec<f64>,
    maps: Vec<f64>,
    map_covariance: Vec<f64>,
    gamma: f64,
}

const POINTS: usize = 7;
const SIDE: usize = 14;
const COLUMNS: usize = 4;
const ALPHA: f64 = 0.2;
const EPSILON: f64 = 1e-3;

impl State {
    /// Expected log joint plus entropies, in full.
    fn bound(&self, problem: &Problem) -> f64 {
        let (n, dim, columns) = (POINTS as f64, 2.0, COLUMNS as f64);
        let over_places = |maps: &[f64]| {
            expectation(&self.places, &self.place_covariance, |places| {
                log_joint(problem, maps, places, self.gamma, ALPHA, EPSILON)
            })
        };
        let joint = expectation(&self.maps, &for_columns(&self.map_covariance, SIDE, COLUMNS), over_places);
        // What the log joint leaves out: normalisers, and the data's own square.
        let logs: f64 = problem.network.values().iter().map(|w| (2.0 * w).ln()).sum();
        let spread: f64 = problem.network.values().iter().map(|w| (ALPHA + 2.0 * w).ln()).sum();
        let values = &problem.rows.values;
        let data = -self.gamma * problem.network.roughness(values, COLUMNS)
            - 0.5
                * EPSILON
                * (0..COLUMNS).map(|c| values.iter().skip(c).step_by(COLUMNS).sum::<f64>().powi(2)).sum::<f64>()
            + 0.5 * columns * (logs + (n - 1.0) * self.gamma.ln() + (n * EPSILON).ln());
        let priors = 0.5 * dim * (spread + ALPHA.ln()) + 0.5 * dim * columns * (logs + (n * EPSILON).ln());
        let entropies = 0.5 * log_determinant(&self.place_covariance, SIDE)
            + 0.5 * columns * log_determinant(&self.map_covariance, SIDE)
            + 0.5 * n * dim * (1.0 + columns);
        joint + data + priors + entropies - 0.5 * n * columns * std::f64::consts::TAU.ln()
    }

    /// The derivative by some of its numbers, by central differences.
    fn slope(&self, problem: &Problem, step: f64, change: impl Fn(&mut State, f64)) -> f64 {
        let at = |h: f64| {
            let mut state = self.clone();
            change(&mut state, h);
            state.bound(problem)
        };
        (at(step) - at(-step)) / (2.0 * step)
    }

    /// Moves an entry of a covariance, and the one across the diagonal with it.
    fn turn(covariance: &mut [f64], (a, b): (usize, usize), h: f64) {
        covariance[a * SIDE + b] += h;
        if a != b {
            covariance[b * SIDE + a] += h;
        }
    }
}

/// Some entries of a covariance: of the diagonal, of one coordinate, and across coordinates.
const ENTRIES: [(usize, usize); 8] = [(0, 0), (5, 5), (13, 13), (0, 1), (2, 6), (3, 10), (7, 13), (6, 8)];

/// `q(C)` of the model as it is: means, and the covariance behind the second moments.
fn maps_of(em: &Em) -> (Vec<f64>, Vec<f64>) {
    let (maps, moments) = (em.maps(), em.moments());
    let product = |a: usize, b: usize| (0..COLUMNS).map(|c| maps[a * COLUMNS + c] * maps[b * COLUMNS + c]).sum::<f64>();
    let covariance = (0..SIDE * SIDE).map(|at| (moments[at] - product(at / SIDE, at % SIDE)) / COLUMNS as f64);
    (maps.to_vec(), covariance.collect())
}

/// A model some steps from its start, and its state after the places, the maps and gamma of the next were updated in turn.
fn updates(problem: &Problem) -> (Em<'_>, [State; 3]) {
    let settings = Settings::new(2, Alpha::Fixed(ALPHA));
    let mut em = Em::new(problem, settings, Start::random(problem, settings, Seed(7))).unwrap();
    (0..3).for_each(|_| em.step().unwrap());
    let (maps, map_covariance) = maps_of(&em);
    let mut places = em.clone();
    places.posterior_of_places().unwrap();
    let gamma = em.gamma();
    em.step().unwrap();
    assert_eq!(places.places(), em.places());
    let (places, place_covariance) = (em.places().to_vec(), places.moments().to_vec());
    let first = State { places, place_covariance, maps, map_covariance, gamma };
    let (maps, map_covariance) = maps_of(&em);
    let second = State { maps, map_covariance, ..first.clone() };
    let third = State { gamma: em.gamma(), ..second.clone() };
    (em, [first, second, third])
}

#[test]
fn the_bound_is_that_of_the_definitions() {
    let problem = problem(POINTS);
    let (em, [_, _, state]) = updates(&problem);
    let expected = state.bound(&problem);
    assert!((em.bound() - expected).abs() < 1e-9 * expected.abs(), "{} {expected}", em.bound());
}

#[test]
fn the_gradient_of_the_full_bound_is_zero_at_each_update() {
    let problem = problem(POINTS);
    let (_, [by_places, by_maps, by_gamma]) = updates(&problem);
    // Beside each stationary point there is one that is not, by at least some of the numbers.
    let steepest = std::cell::Cell::new(0.0f64);
    let flat = |what: &str, at: &State, away: &State, step: f64, change: &dyn Fn(&mut State, f64)| {
        let (slope, elsewhere) = (at.slope(&problem, step, change), away.slope(&problem, step, change).abs());
        assert!(slope.abs() < 1e-5 * elsewhere.max(1.0), "{what}: {slope}, elsewhere {elsewhere}");
        steepest.set(steepest.get().max(elsewhere));
    };
    let told = |what: &str| assert!(steepest.take() > 0.1, "{what}: flat everywhere");
    // The bound is quadratic in means; by covariances it bends as fast as the least of their eigenvalues.
    let (coarse, fine) = (1e-4, 2e-6);
    let scaled = |values: &[f64]| values.iter().map(|v| 1.5 * v).collect::<Vec<f64>>();
    for a in 0..SIDE {
        let mut away = by_places.clone();
        away.places[a] += 0.3;
        flat("a place", &by_places, &away, coarse, &|state, h| state.places[a] += h);
    }
    told("places");
    let wide = State { place_covariance: scaled(&by_places.place_covariance), ..by_places.clone() };
    let unit = largest(&by_places.place_covariance);
    for entry in ENTRIES {
        let change = |state: &mut State, h: f64| State::turn(&mut state.place_covariance, entry, h * unit);
        flat("a covariance of places", &by_places, &wide, fine, &change);
    }
    told("covariances of places");
    for at in (0..SIDE * COLUMNS).step_by(5) {
        let mut away = by_maps.clone();
        away.maps[at] += 0.3;
        flat("a map", &by_maps, &away, coarse, &|state, h| state.maps[at] += h);
    }
    told("maps");
    let wide = State { map_covariance: scaled(&by_maps.map_covariance), ..by_maps.clone() };
    let unit = largest(&by_maps.map_covariance);
    for entry in ENTRIES {
        let change = |state: &mut State, h: f64| State::turn(&mut state.map_covariance, entry, h * unit);
        flat("a covariance of maps", &by_maps, &wide, fine, &change);
    }
    told("covariances of maps");
    let away = State { gamma: 1.5 * by_gamma.gamma, ..by_gamma.clone() };
    flat("gamma", &by_gamma, &away, coarse, &|state, h| state.gamma += h * by_gamma.gamma);
    told("gamma");
}

#[test]
fn gamma_and_h_are_the_monte_carlo_means_of_the_joint() {
    // Gamma and H by their definition: what is quadratic and what is linear in the maps in the mean over places.
    let problem = problem(POINTS);
    let (em, [state, ..]) = updates(&problem);
    let mut moments: Vec<f64> = (0..SIDE * SIDE)
        .map(|at| state.place_covariance[at] + state.places[at / SIDE] * state.places[at % SIDE])
        .collect();
    contract(&problem.network, 2, Sign::Difference, 1.0, &mut moments, &mut vec![0.0; SIDE * SIDE]);
    let maps = Seed(5).normals(SIDE * COLUMNS);
    let mut expected = 0.0;
    for c in 0..COLUMNS {
        for r in 0..2 {
            let column: Vec<f64> = (0..POINTS).map(|i| maps[(r * POINTS + i) * COLUMNS + c]).collect();
            expected -= 0.5 * EPSILON * column.iter().sum::<f64>().powi(2) + problem.network.roughness(&column, 1);
        }
        for a in 0..SIDE {
            expected += state.gamma * maps[a * COLUMNS + c] * em.pull()[a * COLUMNS + c];
            let across = |b: usize| moments[a * SIDE + b] * maps[b * COLUMNS + c];
            expected -= 0.25 * state.gamma * maps[a * COLUMNS + c] * (0..SIDE).map(across).sum::<f64>();
        }
    }
    let factor = Cholesky::new(&state.place_covariance, SIDE).unwrap();
    let none = vec![0.0; SIDE * COLUMNS];
    let draws = 20_000;
    let value = |draw: usize| {
        let noise = factor.multiply(&Seed(9).item(draw).normals(SIDE));
        let places: Vec<f64> = state.places.iter().zip(noise).map(|(m, z)| m + z).collect();
        let joint = |maps: &[f64]| log_joint(&problem, maps, &places, state.gamma, ALPHA, EPSILON);
        joint(&maps) - joint(&none)
    };
    let values: Vec<f64> = (0..draws).map(value).collect();
    let count = draws as f64;
    let mean = values.iter().sum::<f64>() / count;
    let error = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count / count).sqrt();
    assert!((mean - expected).abs() < 4.0 * error, "{mean} +- {error}, {expected}");
    assert!(error < 0.03 * mean.abs(), "too few draws to tell: {error} of {mean}");
}

/// The inverse and the solution of what differences say of a function of degree two: where it is largest, and its curvature.
fn summit(at: &[f64], function: impl Fn(&[f64]) -> f64) -> Vec<f64> {
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
fn a_new_row_settles_where_its_part_of_the_bound_is_flat() {
    let (n, dim, columns) = (12, 2, 4);
    let (problem, posterior) = posterior(n);
    let near = [3u32, 4, 6];
    let row: Vec<f64> = (0..4).map(|c| 0.5 * problem.rows.row(4)[c] + 0.4 * problem.rows.row(5)[c]).collect();
    let (place, covariance) = posterior.settle(&row, &problem.rows, &near);
    let rows: Vec<&[f64]> = near.iter().map(|&j| problem.rows.row(j as usize)).collect();
    // The neighbours' posteriors, with all covariances between them.
    let at = |p: usize| p % dim * n + near[p / dim] as usize;
    let known = near.len() * dim;
    let square = |packed: &posterior::Packed| -> Vec<f64> {
        (0..known * known).map(|e| packed.get(at(e / known), at(e % known))).collect()
    };
    let (near_places, near_maps) = (square(&posterior.place_covariance), square(&posterior.map_covariance));
    assert!(near_places[1].abs() > 1e-3 * near_places[0] && near_maps[2].abs() > 1e-3 * near_maps[0]);
    let mean_places: Vec<f64> = (0..known).map(|p| posterior.places[near[p / dim] as usize * dim + p % dim]).collect();
    let mean_maps: Vec<f64> =
        (0..known).flat_map(|p| posterior.maps[at(p) * columns..][..columns].iter().map(|&v| f64::from(v))).collect();
    // One covariance of the new point and its neighbours: they are independent.
    let joined = |own: &[f64], others: &[f64]| -> Vec<f64> {
        let side = dim + known;
        let entry = |e: usize| match (e / side, e % side) {
            (a, b) if a < dim && b < dim => own[a * dim + b],
            (a, b) if a >= dim && b >= dim => others[(a - dim) * known + b - dim],
            _ => 0.0,
        };
        (0..side * side).map(entry).collect()
    };
    let expected = |place: &[f64], covariance: &[f64], map: &[f64], map_covariance: &[f64]| {
        let wide = for_columns(&joined(map_covariance, &near_maps), dim + known, columns);
        let (places, maps) = ([place, &mean_places].concat(), [map, &mean_maps].concat());
        expectation(&maps, &wide, |maps| {
            expectation(&places, &joined(covariance, &near_places), |places| {
                joint_of_new(posterior.numbers(), &rows, &row, places, maps)
            })
        })
    };
    // The best map for this place: its mean does not depend on its covariance, and that only on the place.
    let rough = [1e-2, 0.0, 0.0, 1e-2];
    let map = summit(&mean_maps[..dim * columns], |map| expected(&place, &covariance, map, &rough));
    // The bound is linear in a covariance but for half its log-determinant: the slopes are half the precision.
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
    let by_maps = precision(&|cov: &[f64]| expected(&place, &covariance, &map, cov), &rough, 1e-3);
    let per_column: Vec<f64> = by_maps.iter().map(|v| v / columns as f64).collect();
    let map_covariance = Cholesky::new(&per_column, dim).unwrap().inverse();
    let best = summit(&place, |place| expected(place, &covariance, &map, &map_covariance));
    let deviation = (covariance[0] + covariance[3]).sqrt();
    let moved = best.iter().zip(&place).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(moved < 1e-3 * deviation, "{place:?} {best:?}, one deviation is {deviation}");
    let size = 0.1 * covariance[0].min(covariance[3]);
    let by_places = precision(&|cov: &[f64]| expected(&place, cov, &map, &map_covariance), &covariance, size);
    let inverse = Cholesky::new(&by_places, dim).unwrap().inverse();
    for (found, wanted) in covariance.iter().zip(&inverse) {
        assert!((found - wanted).abs() < 1e-3 * largest(&inverse), "{covariance:?} {inverse:?}");
    }
    // It is not where it would be if its neighbours were certain.
    let sure = |map: &[f64]| {
        joint_of_new(
            posterior.numbers(),
            &rows,
            &row,
            &[&place[..], &mean_places].concat(),
            &[map, &mean_maps].concat(),
        )
    };
    let other = summit(&mean_maps[..dim * columns], sure);
    let apart = other.iter().zip(&map).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(apart > 1e-3 * largest(&map), "covariances make no difference here: {apart}");
}
