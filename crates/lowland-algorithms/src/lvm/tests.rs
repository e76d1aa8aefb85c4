//! The fast model against the formulae of the paper, pair by pair.

use proptest::prelude::*;

use super::kernel::{self, Frame, Skips, Wanted};
use super::*;
use lowland_core::archive::{Archive, Kind};
use lowland_core::run::Stepper;
use lowland_core::with_threads;
use lowland_core::{Data, Metric, Seed};
use lowland_linalg::Csr;
use lowland_neighbors::graph::{
    ConnectedComponents, add_edges, edge_lengths, join_components, minimum_spanning_forest, mutual_reach,
    undirected_edges,
};
use lowland_neighbors::{NeighborParams, nearest};

fn quiet(_: f64) -> lowland_core::Result<()> {
    Ok(())
}

/// A few Gaussian clouds.
fn clouds(n: usize, columns: usize, seed: u64) -> Data {
    let noise = Seed(seed).normals(n * columns);
    let values = noise.iter().enumerate().map(|(at, v)| (v + 3.0 * ((at / columns % 3) as f64)) as f32);
    Data::dense(values.collect(), columns).unwrap()
}

fn edges(data: &Data, k: usize, reach: usize) -> Csr {
    let params = NeighborParams { n_neighbors: k, ..NeighborParams::default() };
    let graph = nearest(data, &params).unwrap().graph;
    let parts = ConnectedComponents::from_neighbors(&graph);
    let joins = join_components(data, Metric::Euclidean, &parts).unwrap();
    let near = add_edges(&edge_lengths(&graph).unwrap(), &joins).unwrap();
    let tree = minimum_spanning_forest(near.rows(), undirected_edges(&near)).unwrap();
    mutual_reach(&near, &tree, reach).unwrap()
}

fn model(n: usize, levels: usize, adjacent: Adjacent, seed: u64) -> Structure {
    let data = clouds(n, 4, seed);
    let settings = Settings { levels, adjacent, seed: Seed(seed) };
    Structure::new(&data, Metric::Euclidean, &edges(&data, 6, 1), settings, &mut quiet).unwrap()
}

/// A model at a random state, not at rest.
fn started(n: usize, dim: usize, levels: usize, options: EmOptions, seed: u64) -> Em {
    let structure = model(n, levels, Adjacent::Directed, seed);
    let means: Vec<f64> = Seed(seed).stream("means").normals(n * dim).iter().map(|v| 1.5 * v).collect();
    let variances = Seed(seed).stream("variances").normals(n).iter().map(|v| 0.3 * v.exp()).collect();
    Em::new(structure, means, variances, dim, options).unwrap()
}

/// Eqs 5 and 6 and the gradient by the means, one pair after another.
fn by_pairs(em: &Em, dim: usize) -> (f64, Vec<f64>) {
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
    em.structure().similar().into_iter().for_each(|(i, j, w, near2)| add(i, j, w, near2, true));
    em.structure().dissimilar().into_iter().for_each(|(i, j, w, far)| add(i, j, w, far * far, false));
    (likelihood, gradient)
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m: f64, v| m.max(v.abs()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_e_step_is_the_sum_over_pairs(n in 20usize..90, pick in 0usize..7, levels in 0usize..3, seed in 0u64..1000) {
        // Some dimensions have loops of their own.
        let dim = [1, 2, 3, 4, 5, 10, 11][pick];
        for (precision, tolerance) in [(Precision::Double, 1e-11), (Precision::Single, 1e-5)] {
            let em = started(n, dim, levels, EmOptions { precision, ..EmOptions::default() }, seed);
            let (likelihood, gradient) = by_pairs(&em, dim);
            prop_assert!((em.likelihood() / likelihood - 1.0).abs() < tolerance, "{} {likelihood}", em.likelihood());
            let error = em.gradient().iter().zip(&gradient).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            prop_assert!(error < tolerance * largest(&gradient), "{error} of {}", largest(&gradient));
        }
    }

    #[test]
    fn the_gradient_is_that_of_the_likelihood(dim in 1usize..4, levels in 0usize..2, seed in 0u64..1000) {
        let em = started(30, dim, levels, EmOptions::default(), seed);
        prop_assert!(largest(&em.gradient()) > 0.1, "the fixture is at rest");
        let h = f64::EPSILON.cbrt();
        let at = |place: usize, by: f64| {
            let mut means = em.means();
            means[place] += by;
            Em::new(em.structure().clone(), means, em.variances(), dim, EmOptions::default()).unwrap().likelihood()
        };
        for place in (0..30 * dim).step_by(7) {
            let slope = (at(place, h) - at(place, -h)) / (2.0 * h);
            prop_assert!((slope - em.gradient()[place]).abs() < 1e-6 * largest(&em.gradient()), "{slope}");
        }
    }

    #[test]
    fn both_half_steps_raise_the_likelihood_however_roughly_systems_are_solved(
        n in 12usize..60, dim in 1usize..4, levels in 0usize..3, rough in 0usize..3, tied: bool, seed in 0u64..1000,
    ) {
        let variances = if tied { Variances::Tied } else { Variances::Free };
        let solve_iterations = [1, 3, 200][rough];
        let options = EmOptions { momentum: 0.0, variances, solve_iterations, solve: 1e-12, ..EmOptions::default() };
        let mut em = started(n, dim, levels, options, seed);
        let mut last = em.likelihood();
        for _ in 0..15 {
            for next in [Em::update_means, Em::update_variances] {
                let now = next(&mut em);
                prop_assert!(now >= last - 1e-10 * last.abs(), "{last} -> {now}");
                last = now;
            }
        }
    }

    #[test]
    fn scales_of_landmarks_are_the_maxima_over_their_cells(n in 20usize..60, seed in 0u64..1000) {
        // Two levels of eq 26: from points to landmarks, and on to landmarks of landmarks.
        let data = clouds(n, 3, seed);
        let space = Space { data: &data, metric: Metric::Euclidean, cap: 1e9, floor: 0.0 };
        let reach = Seed(seed).normals(n).iter().map(|v| v.abs()).collect();
        let mut group = Group {
            members: (0..n as u32).collect(), reach, extent: vec![0.0; n], votes: vec![1.0; n], of_points: true,
        };
        let mut scales: Vec<Vec<f64>> = (0..n).map(|i| vec![group.reach[i]; n]).collect();
        for every in [3, 2] {
            let landmarks: Vec<usize> = (0..group.members.len()).step_by(every).collect();
            let cells = Cells::new(&space, &group, &landmarks, &mut quiet).unwrap();
            let cell_scale = |i: usize, j: usize| {
                let pairs = cells.members[i].iter().flat_map(|&a| cells.members[j].iter().map(move |&b| (a, b)));
                pairs.map(|(a, b)| scales[a][b] + cells.lengths[a] + cells.lengths[b]).fold(0.0, f64::max)
            };
            let count = landmarks.len();
            let next: Vec<Vec<f64>> =
                (0..count).map(|i| (0..count).map(|j| if i == j { 0.0 } else { cell_scale(i, j) }).collect()).collect();
            group = cells.landmarks(&group, &landmarks, |d| d);
            for (i, j) in (0..count).flat_map(|i| (0..count).map(move |j| (i, j))).filter(|(i, j)| i != j) {
                prop_assert!((group.reach[i] + group.extent[j] - next[i][j]).abs() < 1e-12 * next[i][j]);
            }
            prop_assert_eq!(group.votes.iter().sum::<f64>(), n as f64);
            scales = next;
        }
    }

    #[test]
    fn every_point_is_in_one_cell_and_weights_balance(n in 8usize..120, levels in 0usize..4, either: bool, seed in 0u64..1000) {
        let adjacent = if either { Adjacent::Either } else { Adjacent::Directed };
        let structure = model(n, levels, adjacent, seed);
        let pairs = structure.dissimilar();
        let (near, far): (f64, f64) =
            (structure.similar().iter().map(|p| p.2).sum(), pairs.iter().map(|p| p.2).sum());
        prop_assert!(pairs.is_empty() || (near / far - 1.0).abs() < 1e-9, "{near} {far}");
        let mut masses = vec![0.0; n];
        for &(i, j, w, far) in &pairs {
            masses[i as usize] += w;
            masses[j as usize] += w;
            prop_assert!(far > 0.0 && far.is_finite());
        }
        let found = structure.blocks.masses();
        prop_assert!(masses.iter().zip(found).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + b)), "{masses:?} {found:?}");
        let mut members = structure.frame().members.clone();
        members.sort_unstable();
        members.dedup();
        prop_assert_eq!(members.len(), structure.frame().members.len());
    }
}

/// A block of two points, the second at the origin.
fn pair(wanted: Wanted, mean: [f64; 3], widths: [f64; 2], far: f64) -> (Vec<f64>, f64) {
    let padded = kernel::padded(2);
    let column = |values: &[f64], rest: f64| {
        let mut column = vec![rest; padded];
        column[..values.len()].copy_from_slice(values);
        column
    };
    let coordinates: Vec<f64> = mean.iter().flat_map(|&x| column(&[x], 0.0)).collect();
    // Only the pair from the first to the second counts.
    let mut skips = Skips::default();
    skips.add(0, 1, 1);
    (0..padded).for_each(|_| skips.end_point());
    let mut out = vec![0.0; wanted.columns(3) * padded];
    let frame = Frame {
        coordinates: &coordinates,
        widths: &column(&widths, 1.0),
        reach: &column(&[far; 2], 1.0),
        extent: &column(&[], 0.0),
        votes: &column(&[1.0, 1.0], 0.0),
        skips: &skips.starts,
        skipped: &skips.tiles,
        len: 2,
        even: true,
        dim: 3,
    };
    let likelihood = kernel::rows(wanted, &frame, 0, 2, &mut out);
    ((0..wanted.columns(3)).map(|c| out[c * padded]).collect(), likelihood)
}

#[test]
fn posterior_moments_of_a_dissimilar_pair_are_those_of_a_simulation() {
    let (mean, widths, far) = ([0.7, -0.4, 0.5], [0.6f64, 0.9], 1.1f64);
    let draws = 400_000;
    let normals = Seed(5).normals(6 * draws);
    let (mut total, mut square, mut first) = (0.0, 0.0, [0.0; 3]);
    for draw in normals.chunks_exact(6) {
        let shift: [f64; 3] = std::array::from_fn(|c| draw[c] * widths[0].sqrt());
        let gap: f64 = (0..3).map(|c| (mean[c] + shift[c] - draw[3 + c] * widths[1].sqrt()).powi(2)).sum();
        // Eq 4: the probability that the two do not coincide.
        let weight = -(-0.5 * gap / (far * far)).exp_m1();
        total += weight;
        square += weight * shift.iter().map(|v| v * v).sum::<f64>();
        (0..3).for_each(|c| first[c] += weight * shift[c]);
    }
    let (push, likelihood) = pair(Wanted::Push, mean, widths, far);
    assert!((likelihood - (total / draws as f64).ln()).abs() < 2e-3, "{likelihood}");
    for c in 0..3 {
        // Eq 11: E[h] - mu = sigma^2 nu / s (mu_i - mu_j).
        let moved = widths[0] * push[c];
        assert!((moved - first[c] / total).abs() < 3e-3, "{moved} {}", first[c] / total);
        assert!(moved.abs() > 0.02);
    }
    // Eq 17: E|h - mu|^2 = sigma^2 (d - sigma^2 nu / s (q / s - d)).
    let (spread, _) = pair(Wanted::Spread, mean, widths, far);
    let expected = widths[0] * (3.0 - widths[0] * spread[0]);
    assert!((expected - square / total).abs() < 6e-3, "{expected} {}", square / total);
    assert!((expected - 3.0 * widths[0]).abs() > 0.05);
}

#[test]
fn coinciding_points_and_vanishing_variances_stay_finite() {
    for dim in [1, 2, 5] {
        for precision in [Precision::Single, Precision::Double] {
            let structure = model(40, 1, Adjacent::Directed, 3);
            let options = EmOptions { precision, ..EmOptions::default() };
            let mut em = Em::new(structure, vec![0.0; 40 * dim], vec![0.0; 40], dim, options).unwrap();
            for _ in 0..5 {
                let step = em.step().unwrap();
                assert!(step.objective.is_finite(), "{step:?}");
            }
            assert!(em.means().iter().chain(&em.variances()).all(|v| v.is_finite()));
        }
    }
    let structure = model(10, 0, Adjacent::Directed, 3);
    assert!(Em::new(structure.clone(), vec![f64::NAN; 20], vec![1.0; 10], 2, EmOptions::default()).is_err());
    assert!(Em::new(structure, vec![0.0; 10], vec![1.0; 10], 2, EmOptions::default()).is_err());
}

#[test]
fn the_bytes_do_not_depend_on_the_number_of_threads() {
    let run = || {
        let mut em = started(700, 2, 2, EmOptions { precision: Precision::Single, ..EmOptions::default() }, 4);
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
fn another_numbering_of_the_rows_changes_the_iteration_by_rounding_only() {
    let (n, dim) = (90, 3);
    for levels in [0, 1, 2] {
        let mut natural = started(n, dim, levels, EmOptions::default(), 5);
        natural.step().unwrap();
        let mut archive = Archive::new(Kind::Checkpoint);
        natural.save(&mut archive);
        archive.put("numbering", (0..n as u32).map(|i| i * 37 % n as u32).collect::<Vec<u32>>());
        let mut moved = started(n, dim, levels, EmOptions::default(), 5);
        moved.restore(&archive).unwrap();
        assert_eq!((moved.means(), moved.variances()), (natural.means(), natural.variances()));
        let sorted = |em: &Em| {
            let mut pairs = [em.structure().similar(), em.structure().dissimilar()].concat();
            pairs.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(a.3.total_cmp(&b.3)));
            pairs
        };
        assert_eq!(sorted(&moved), sorted(&natural));
        for _ in 0..3 {
            let steps = [natural.step().unwrap(), moved.step().unwrap()];
            assert!((steps[0].objective / steps[1].objective - 1.0).abs() < 1e-12);
        }
        let error = natural.means().iter().zip(moved.means()).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
        assert!(error < 1e-9 * largest(&natural.means()), "{error}");
        // What is saved says which row is which point.
        let mut archive = Archive::new(Kind::Checkpoint);
        moved.save(&mut archive);
        let mut again = started(n, dim, levels, EmOptions::default(), 5);
        again.restore(&archive).unwrap();
        assert_eq!(again.step().unwrap(), moved.step().unwrap());
        assert_eq!(again.means(), moved.means());
    }
}

#[test]
fn landmarks_are_as_many_as_leave_the_fewest_pairs() {
    assert_eq!(landmark_count(150), 22);
    assert_eq!(landmark_count(70_000), 1348);
}
