//! The closed forms against plain sums, Monte Carlo and finite differences.

use super::posterior::Packed;
use super::*;
use lowland_core::run::Stepper;
use lowland_core::with_threads;
use lowland_core::{Data, Metric, Points, Seed};
use lowland_linalg::Csr;
use lowland_neighbors::{NeighborGraph, nearest_to};

fn quiet(_: f64) -> lowland_core::Result<()> {
    Ok(())
}

/// A ring of `n` points, each joined to the next three, with a chord.
fn network(n: usize) -> Network {
    let ring = (0..n).flat_map(|i| (1..4).map(move |step| (i, (i + step) % n)));
    let both = ring.chain([(0, n / 2)]).flat_map(|(i, j)| [(i, j), (j, i)]);
    let edges = Csr::from_triplets(n, n, both.map(|(i, j)| (i as u32, j as u32, 1.0))).unwrap();
    Network::new(&edges).unwrap()
}

/// A bent ring in four dimensions.
fn data(n: usize) -> Data {
    let noise = Seed(5).normals(4 * n);
    let row = |i: usize| {
        let angle = std::f64::consts::TAU * i as f64 / n as f64;
        let exact = [angle.cos(), angle.sin(), 0.3 * (2.0 * angle).cos(), 0.0];
        (0..4).map(|c| (exact[c] + 0.05 * noise[4 * i + c]) as f32).collect::<Vec<_>>()
    };
    Data::dense((0..n).flat_map(row).collect(), 4).unwrap()
}

pub(super) fn problem(n: usize) -> Problem {
    Problem::new(network(n), Rows::new(&data(n)).unwrap()).unwrap()
}

fn settings() -> Settings {
    Settings::new(2, Alpha::Fixed(1e-3))
}

fn em(problem: &Problem) -> Em<'_> {
    Em::new(problem, settings(), Start::random(problem, settings(), Seed(7))).unwrap()
}

pub(super) fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m, v| m.max(v.abs()))
}

#[test]
fn the_pseudo_inverse_and_resistances_are_those_of_the_laplacian() {
    let network = network(17);
    let laplacian = |i: usize, j: usize| match (i == j, network.near(i).contains(&(j as u32))) {
        (true, _) => network.near(i).len() as f64,
        (_, true) => -1.0,
        _ => 0.0,
    };
    for i in 0..17 {
        for j in 0..17 {
            let product: f64 = (0..17).map(|p| laplacian(i, p) * network.k[p * 17 + j]).sum();
            assert!((product - f64::from(u8::from(i == j)) + 1.0 / 17.0).abs() < 1e-12);
        }
    }
    // Foster: the resistances of all edges sum to n - 1.
    let total: f64 = network.edges().map(|(i, j)| network.resistance(i, j)).sum();
    assert!((total - 16.0).abs() < 1e-10);
    assert!((network.values().iter().sum::<f64>() - 2.0 * network.edges().count() as f64).abs() < 1e-10);
}

#[test]
fn a_graph_in_parts_or_in_one_direction_is_refused() {
    let parts = Csr::from_triplets(4, 4, [(0, 1, 1.0), (1, 0, 1.0), (2, 3, 1.0), (3, 2, 1.0)]).unwrap();
    assert!(Network::new(&parts).unwrap_err().to_string().contains("2 parts"));
    let directed = Csr::from_triplets(2, 2, [(0, 1, 1.0)]).unwrap();
    assert!(Network::new(&directed).is_err());
}

/// A few panels, whole and in part, and strips.
#[test]
fn the_quadratic_forms_are_their_fourfold_sums() {
    [13, 32, 70].into_iter().for_each(check_forms);
}

fn check_forms(n: usize) {
    let (n, dim) = (n, 2);
    let (network, side) = (network(n), n * dim);
    let half = Seed(2).normals(side * side);
    let moments: Vec<f64> = (0..side * side).map(|at| half[at] + half[at % side * side + at / side]).collect();
    for (sign, s) in [(Sign::Sum, 1.0), (Sign::Difference, -1.0)] {
        let mut form = moments.clone();
        contract(&network, dim, sign, 1.0, &mut form, &mut vec![f64::NAN; side * side]);
        for a in 0..side {
            for b in 0..side {
                let ((i, r), (j, q)) = ((a % n, a / n * n), (b % n, b / n * n));
                let k = |i: usize, j: usize| network.k[i * n + j];
                let m = |i: usize, j: usize| moments[(r + i) * side + q + j];
                let mut sum = 0.0;
                for &p in network.near(i) {
                    for &o in network.near(j) {
                        let (p, o) = (p as usize, o as usize);
                        sum +=
                            (k(i, j) - k(i, o) - k(p, j) + k(p, o)) * (m(i, j) + s * m(i, o) + s * m(p, j) + m(p, o));
                    }
                }
                assert!((form[a * side + b] - sum).abs() < 1e-10 * largest(&moments), "{a} {b}");
            }
        }
    }
}

/// `log p(y, C, x)` of eqs 3-5 and S24 but for what depends on nothing, straight from the definitions.
pub(super) fn log_joint(problem: &Problem, maps: &[f64], places: &[f64], gamma: f64, alpha: f64, epsilon: f64) -> f64 {
    let (n, columns, network) = (problem.points(), problem.columns(), &problem.network);
    let dim = places.len() / n;
    let map = |r: usize, i: usize| &maps[(r * n + i) * columns..(r * n + i + 1) * columns];
    let mut e = vec![0.0; n * columns];
    let mut total = 0.0;
    for i in 0..n {
        for &j in network.near(i) {
            let j = j as usize;
            for r in 0..dim {
                let step = places[r * n + j] - places[r * n + i];
                total -= 0.5 * step * step;
                for c in 0..columns {
                    e[i * columns + c] -= gamma * (map(r, i)[c] + map(r, j)[c]) * step;
                    total -= 0.5 * (map(r, i)[c] - map(r, j)[c]).powi(2);
                }
            }
        }
    }
    for c in 0..columns {
        for r in 0..dim {
            total -= 0.5 * epsilon * (0..n).map(|i| map(r, i)[c]).sum::<f64>().powi(2);
        }
        for i in 0..n {
            total += problem.rows.row(i)[c] * e[i * columns + c];
            for j in 0..n {
                total -= 0.5 * e[i * columns + c] * network.k[i * n + j] / (2.0 * gamma) * e[j * columns + c];
            }
        }
    }
    total - 0.5 * alpha * places.iter().map(|x| x * x).sum::<f64>()
}

#[test]
fn forms_and_drives_are_the_monte_carlo_means_of_the_joint() {
    let problem = problem(9);
    let (side, columns) = (18, 4);
    let mut rng = 0;
    let mut normals = |count: usize| {
        rng += 1;
        Seed(100).item(rng).normals(count)
    };
    // Independent maps with their own means and one variance; -x'(A + prior)x/2 + x'b is the mean of the joint over them.
    let (means, variance) = (normals(side * columns), 0.3);
    let covariance = (0..side * side).map(|at| if at / side == at % side { variance } else { 0.0 }).collect();
    let start = Start { means: means.clone(), covariance, gamma: 1.7, alpha: 0.2 };
    let mut em = Em::new(&problem, Settings::new(2, Alpha::Fixed(0.2)), start).unwrap();
    let (drive, form) = (em.place_drive(), em.place_form().to_vec());
    let places = normals(side);
    let draws = 4000;
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..draws {
        let noise = normals(side * columns);
        let maps: Vec<f64> = means.iter().zip(&noise).map(|(m, z)| m + variance.sqrt() * z).collect();
        let zero = vec![0.0; side];
        let value =
            log_joint(&problem, &maps, &places, 1.7, 0.2, 1e-3) - log_joint(&problem, &maps, &zero, 1.7, 0.2, 1e-3);
        sum += value;
        squares += value * value;
    }
    let (mean, count) = (sum / draws as f64, draws as f64);
    let error = ((squares / count - mean * mean) / count).sqrt();
    let mut expected = -0.5 * 0.2 * places.iter().map(|x| x * x).sum::<f64>();
    for r in 0..2 {
        expected -= problem.network.roughness(&places[r * 9..(r + 1) * 9], 1);
    }
    for a in 0..side {
        expected += places[a] * drive[a];
        expected -= 0.5 * (0..side).map(|b| places[a] * form[a * side + b] * places[b]).sum::<f64>();
    }
    assert!((mean - expected).abs() < 4.0 * error, "{mean} +- {error}, {expected}");
    assert!(error < 0.05 * mean.abs(), "too few draws to tell: {error} of {mean}");
}

#[test]
fn the_bound_never_falls_and_ends_where_the_parameters_rest() {
    let problem = problem(40);
    for alpha in [Alpha::Fixed(1e-3), Alpha::Fixed(2.0), Alpha::Optimise] {
        let settings = Settings::new(2, alpha);
        let start = Start::random(&problem, settings, Seed(3));
        let mut em = Em::new(&problem, settings, start).unwrap();
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

#[test]
fn the_same_bytes_for_any_number_of_threads() {
    let problem = problem(150);
    let fit = |threads| {
        let work = || {
            let mut starts = Starts::new(&problem, settings(), 3, 0.0, Seed(1)).unwrap();
            for _ in 0..4 {
                starts.step().unwrap();
            }
            (starts.bounds(), starts.finish().unwrap())
        };
        with_threads(Some(threads), work).unwrap()
    };
    let first = fit(1);
    assert!([2, 3].into_iter().all(|threads| fit(threads) == first));
}

pub(super) fn posterior(n: usize) -> (Problem, Posterior) {
    let problem = problem(n);
    let mut em = em(&problem);
    for _ in 0..60 {
        em.step().unwrap();
    }
    let posterior = em.finish().unwrap();
    (problem, posterior)
}

#[test]
fn uncertainty_does_not_count_moving_or_turning_the_map() {
    let (_, posterior) = posterior(40);
    let (n, dim) = (40, 2);
    // A covariance that only moves and turns leaves nothing.
    let places = posterior.embedding();
    let turn: Vec<f64> =
        (0..n).map(|i| -places.row(i)[1] + 3.0).chain((0..n).map(|i| places.row(i)[0] - 1.0)).collect();
    let covariance: Vec<f64> = (0..80 * 80).map(|at| 5.0 * turn[at / 80] * turn[at % 80]).collect();
    let by_coordinate: Vec<f64> = (0..80).map(|a| places.row(a % n)[a / n]).collect();
    let maps = vec![0.0; 80 * 4];
    let rigid = Posterior::new(posterior.numbers(), &by_coordinate, &covariance, &maps, &vec![0.0; 80 * 80]).unwrap();
    let scale = largest(&covariance).sqrt();
    assert!(rigid.std().iter().all(|s| *s < 1e-3 * scale), "{:?}", rigid.std());
    // Of the fit, something is left, and less than the prior's translation has.
    assert!(posterior.std().iter().all(|s| *s > 0.0 && *s < (1.0 / (1e-3 * n as f64)).sqrt()));
    assert_eq!(posterior.covariances().len(), n * dim * dim);
}

#[test]
fn samples_have_the_posteriors_moments() {
    let (_, posterior) = posterior(15);
    let draws = posterior.samples(4000, Seed(3)).unwrap();
    assert_eq!(draws[7], posterior.samples(8, Seed(3)).unwrap()[7]);
    let mean = posterior.embedding();
    for a in [0, 7, 29] {
        let value = |map: &lowland_core::Embedding| map.values()[a];
        let average = draws.iter().map(value).sum::<f64>() / 4000.0;
        let variance = draws.iter().map(|map| (value(map) - average).powi(2)).sum::<f64>() / 3999.0;
        let index = a % 2 * 15 + a / 2;
        let expected = posterior.place_covariance.get(index, index);
        assert!((average - mean.values()[a]).abs() < 5.0 * (expected / 4000.0).sqrt());
        assert!((variance / expected - 1.0).abs() < 0.15, "{variance} {expected}");
    }
}

/// Each row's nearest, itself included.
fn nearest(new: &Data, data: &Data, k: usize) -> NeighborGraph {
    nearest_to(new, data, k, Metric::Euclidean).unwrap()
}

/// What a new point's place and map are worth together, with its neighbours' means alone.
fn worth(posterior: &Posterior, rows: &Rows, near: &[u32], row: &[f64], place: &[f64], map: &[f64]) -> f64 {
    let (n, columns) = (posterior.n, posterior.columns);
    let at = |j: &u32| *j as usize;
    let places: Vec<f64> = near.iter().flat_map(|j| posterior.places[at(j) * 2..][..2].to_vec()).collect();
    let wide = |j: &u32, r: usize| posterior.maps[(r * n + at(j)) * columns..][..columns].iter().map(|&v| f64::from(v));
    let maps: Vec<f64> = near.iter().flat_map(|j| (0..2).flat_map(|r| wide(j, r)).collect::<Vec<_>>()).collect();
    let rows: Vec<&[f64]> = near.iter().map(|j| rows.row(at(j))).collect();
    joint_of_new(posterior.numbers(), &rows, row, &[place, &places].concat(), &[map, &maps].concat())
}

/// The log joint of a new point and its neighbours as far as the new point is in it, from the definitions. `places` and
/// `maps` hold the new point's first, then each neighbour's; the rows of a map are its columns.
pub(super) fn joint_of_new(numbers: Numbers, near: &[&[f64]], row: &[f64], places: &[f64], maps: &[f64]) -> f64 {
    let (dim, columns, k) = (numbers.dim, row.len(), near.len() as f64);
    let (place, others) = places.split_at(dim);
    let (map, other_maps) = maps.split_at(dim * columns);
    let mut mean = vec![0.0; columns];
    let mut total = -0.5 * numbers.alpha * place.iter().map(|x| x * x).sum::<f64>();
    let neighbors = near.iter().zip(others.chunks_exact(dim)).zip(other_maps.chunks_exact(dim * columns));
    for ((theirs, other), other_map) in neighbors {
        for c in 0..columns {
            mean[c] += theirs[c] / k;
            for r in 0..dim {
                let (ours, theirs) = (map[r * columns + c], other_map[r * columns + c]);
                mean[c] += 0.5 * (theirs + ours) * (place[r] - other[r]) / k;
                total -= (ours - theirs).powi(2);
            }
        }
        total -= (0..dim).map(|r| (place[r] - other[r]).powi(2)).sum::<f64>();
    }
    total - numbers.gamma * k * row.iter().zip(&mean).map(|(y, m)| (y - m).powi(2)).sum::<f64>()
}

#[test]
fn without_uncertainty_a_new_place_is_where_its_joint_is_largest() {
    let (problem, mut posterior) = posterior(40);
    // With covariances of zero, and a precision so high that the new point's own hardly counts, the place is the mode.
    posterior.place_covariance = Packed::new(&vec![0.0; 80 * 80], 80);
    posterior.map_covariance = Packed::new(&vec![0.0; 80 * 80], 80);
    posterior.maps.iter_mut().for_each(|c| *c *= 30.0);
    let rows = &problem.rows;
    let near = [3u32, 4, 5, 6];
    let row: Vec<f64> = (0..4).map(|c| 0.4 * rows.row(4)[c] + 0.6 * rows.row(5)[c]).collect();
    let (place, _) = posterior.settle(&row, rows, &near);
    // The best map for a place is found by a few rounds of coordinate descent on a quadratic.
    let value = |place: &[f64]| {
        let mut map: Vec<f64> = (0..8)
            .map(|at| {
                let (r, c) = (at / 4, at % 4);
                near.iter().map(|&j| f64::from(posterior.maps[(r * 40 + j as usize) * 4 + c])).sum::<f64>() / 4.0
            })
            .collect();
        for _ in 0..200 {
            for at in 0..8 {
                let mut at_offset = |h: f64| {
                    let old = map[at];
                    map[at] += h;
                    let found = worth(&posterior, rows, &near, &row, place, &map);
                    map[at] = old;
                    found
                };
                let (low, here, high) = (at_offset(-1.0), at_offset(0.0), at_offset(1.0));
                map[at] -= 0.5 * (high - low) / (high - 2.0 * here + low);
            }
        }
        worth(&posterior, rows, &near, &row, place, &map)
    };
    let best = value(&place);
    let step = 0.2 * posterior.embedding().values().iter().map(|v| v.abs()).fold(0.0, f64::max);
    for (r, sign) in [(0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)] {
        let mut other = place.to_vec();
        other[r] += sign * step;
        assert!(value(&other) < best, "moving coordinate {r} by {step} is better: {} {best}", value(&other));
    }
}

#[test]
fn fitted_rows_land_near_themselves_and_are_rebuilt_within_their_error_bars() {
    let (problem, posterior) = posterior(60);
    let data = data(60);
    let graph = nearest(&data, &data, 6);
    let placing = posterior.place(&data, &problem.rows, &graph, &mut quiet).unwrap();
    let map = posterior.embedding();
    let spread = (map.values().iter().map(|v| v * v).sum::<f64>() / 60.0).sqrt();
    let errors = map.values().iter().zip(placing.embedding.values()).map(|(a, b)| (a - b).powi(2));
    assert!((errors.sum::<f64>() / 60.0).sqrt() < 0.2 * spread);
    assert!(placing.std().iter().all(|s| s.is_finite() && *s > 0.0));
    let rebuilt = posterior.rebuild(map.points(), &problem.rows, 4, &mut quiet).unwrap();
    let Data::Dense(rows) = &data else { panic!("dense") };
    let off = |at: usize| f64::from((rebuilt.rows[at] - rows.values()[at]) / rebuilt.std[at]);
    let within = (0..240).filter(|&at| off(at).abs() < 2.0).count();
    assert!(within > 200, "{within} of 240");
    let far = [1e6, -1e6];
    let away = posterior.rebuild(Points::new(&far, 2).unwrap(), &problem.rows, 4, &mut quiet).unwrap();
    assert!(away.rows.iter().chain(&away.std).all(|v| v.is_finite()) && away.std[0] > rebuilt.std[0]);
}
