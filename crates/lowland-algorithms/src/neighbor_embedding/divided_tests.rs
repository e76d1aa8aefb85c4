//! A divided embedding against the objective and optimizer of one process.

use super::*;
use crate::affinity::{AffinityKind, Perplexities, affinities_from_distances, joint_affinities};
use crate::neighbor_embedding::NeighborEmbeddingObjective;
use crate::objective::{Accuracy, AccuracyController};
use crate::optim::{Descent, GradientDescent};
use lowland_core::run::Stepper;
use lowland_core::{Data, Embedding, Metric, Seed};
use lowland_linalg::Csr;
use lowland_nbody::{Engine, new_engine};
use lowland_neighbors::{NeighborParams, nearest};

const N: usize = 700;
const TOLERANCE: f64 = 1e-9;

fn affinities() -> Csr {
    let clusters =
        Seed(3).normals(N * 8).iter().enumerate().map(|(i, v)| (v + (i / 8 % 4) as f64 * 4.0) as f32).collect();
    let data = Data::dense(clusters, 8).unwrap();
    let params = NeighborParams { n_neighbors: 30, metric: Metric::Euclidean, ..NeighborParams::default() };
    let graph = nearest(&data, &params).unwrap().graph;
    let edges = (0..N).flat_map(|i| {
        let (columns, distances) = graph.row(i);
        columns.iter().zip(distances).map(move |(&j, &d)| (i as u32, j, f64::from(d))).collect::<Vec<_>>()
    });
    let distances = Csr::from_triplets(N, N, edges).unwrap();
    let rows = affinities_from_distances(distances, AffinityKind::Entropic, &Perplexities::of(10.0, &[])).unwrap();
    joint_affinities(rows).unwrap()
}

fn settings(energy: Energy) -> DividedSettings {
    let descent = GradientDescentParams {
        learning_rate: None,
        min_learning_rate: 50.0,
        momentum: 0.8,
        min_gain: 0.01,
        max_step: 5.0,
        max_relative_step: if matches!(energy, Energy::StudentSne { .. }) { f64::INFINITY } else { 0.2 },
    };
    let descent = match energy {
        Energy::Elastic { .. } => GradientDescentParams { learning_rate: Some(2.0), ..descent },
        _ => descent,
    };
    let schedule = EnergySchedule { early_exaggeration: 4.0, early_iter: 20, ..EnergySchedule::default() };
    DividedSettings { energy, schedule, descent, points: N, dim: 2 }
}

/// The parts, the points that each has copies of (by part), and the points of each.
fn divide(
    settings: DividedSettings,
    joint: &Csr,
    start: &[f64],
    part_of: impl Fn(usize) -> usize,
    parts: usize,
) -> (Vec<DividedEmbedding>, Vec<Vec<usize>>, Vec<Vec<usize>>) {
    let points: Vec<Vec<usize>> = (0..parts).map(|part| (0..N).filter(|&i| part_of(i) == part).collect()).collect();
    let mut copies = Vec::new();
    let made = points.iter().enumerate().map(|(part, own)| {
        let mut others: Vec<usize> =
            own.iter().flat_map(|&i| joint.row(i).0).map(|&j| j as usize).filter(|&j| part_of(j) != part).collect();
        others.sort();
        others.dedup();
        let local = |j: usize| match own.binary_search(&j) {
            Ok(at) => at as u32,
            Err(_) => (own.len() + others.binary_search(&j).unwrap()) as u32,
        };
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for &i in own {
            columns.extend(joint.row(i).0.iter().map(|&j| local(j as usize)));
            values.extend_from_slice(joint.row(i).1);
            starts.push(columns.len());
        }
        let affinities = DividedAffinities { starts, columns, values, copies: others.len() };
        let start = own.iter().flat_map(|&i| &start[2 * i..2 * i + 2]).copied().collect();
        copies.push(others);
        DividedEmbedding::new(settings, affinities, start).unwrap()
    });
    let made = made.collect();
    (made, copies, points)
}

fn add(total: &mut ForceSums, part: &ForceSums) {
    let add = |a: &mut Vec<f64>, b: &[f64]| {
        a.resize(b.len(), 0.0);
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
    };
    total.potential += part.potential;
    add(&mut total.attraction, &part.attraction);
    add(&mut total.repulsion, &part.repulsion);
    total.attraction_value += part.attraction_value;
    total.constant += part.constant;
    total.size += part.size;
}

/// Runs the parts; returns the map, and the value at the last iteration.
fn run(
    parts: &mut [DividedEmbedding],
    copies: &[Vec<usize>],
    points: &[Vec<usize>],
    iterations: std::ops::RangeInclusive<usize>,
) -> (Vec<f64>, f64) {
    let mut value = f64::NAN;
    let map = |parts: &[DividedEmbedding]| {
        let mut all = vec![0.0; 2 * N];
        for (part, own) in parts.iter().zip(points) {
            own.iter()
                .zip(part.points().positions().chunks_exact(2))
                .for_each(|(&i, y)| all[2 * i..2 * i + 2].copy_from_slice(y));
        }
        all
    };
    for iteration in iterations {
        let (mut mean, mut bounds) = (vec![0.0; 2], vec![[f64::INFINITY, f64::NEG_INFINITY]; 2]);
        for part in parts.iter() {
            let (sums, own) = part.points().sums_and_bounds();
            for c in 0..2 {
                mean[c] += sums[c];
                bounds[c] = [bounds[c][0].min(own[c][0]), bounds[c][1].max(own[c][1])];
            }
        }
        mean.iter_mut().for_each(|mean| *mean /= N as f64);
        let mut grid: Vec<f64> = Vec::new();
        for part in parts.iter_mut() {
            let own = part.points_mut().begin(&mean, &bounds, TOLERANCE).unwrap();
            grid.resize(own.len(), 0.0);
            grid.iter_mut().zip(own).for_each(|(grid, own)| *grid += own);
        }
        let all = map(parts);
        let mut total = ForceSums::default();
        for (part, copies) in parts.iter_mut().zip(copies) {
            let copies: Vec<f64> = copies.iter().flat_map(|&j| &all[2 * j..2 * j + 2]).copied().collect();
            part.points_mut().set_copies(&copies).unwrap();
            add(&mut total, &part.forces(&grid, true).unwrap());
        }
        value = parts[0].value(iteration, &total);
        for part in parts.iter_mut() {
            part.step(iteration, &total).unwrap();
        }
    }
    (map(parts), value)
}

fn width(y: &[f64]) -> f64 {
    y.iter().copied().fold(f64::NEG_INFINITY, f64::max) - y.iter().copied().fold(f64::INFINITY, f64::min)
}

#[test]
fn parts_follow_the_descent_of_one_process() {
    let joint = affinities();
    // Of unit size: while it unfolds from a small start, t-SNE amplifies the rounding errors of any two computations. Centered, since the size of
    // the map limits the first step.
    let mut start: Vec<f64> = Seed(9).normals(2 * N);
    let mean = [0, 1].map(|c| start[c..].iter().step_by(2).sum::<f64>() / N as f64);
    start.iter_mut().enumerate().for_each(|(i, y)| *y -= mean[i % 2]);
    for energy in [
        Energy::StudentSne { dof: 1.0 },
        Energy::StudentSne { dof: 0.7 },
        Energy::SymmetricSne,
        Energy::Elastic { lambda: 0.1 / N as f64 },
    ] {
        let settings = settings(energy);
        let engine = new_engine(Engine::Fft, 2, energy.kernel()).unwrap();
        let controller = AccuracyController::new(Accuracy::Fixed, TOLERANCE);
        let objective = NeighborEmbeddingObjective::new(energy, joint.clone(), engine, controller).unwrap();
        let objective = objective.with_schedule(settings.schedule);
        let embedding = Embedding::new(start.clone(), 2).unwrap();
        let mut whole = Descent::new(objective, Box::new(GradientDescent::new(settings.descent)), embedding);
        for _ in 0..50 {
            whole.step().unwrap();
        }
        let expected = whole.embedding().into_values();
        for parts in [1, 2, 3] {
            let part_of = |i: usize| (i * 7 / 5) % parts;
            let (mut made, copies, points) = divide(settings, &joint, &start, part_of, parts);
            let (mut found, _) = run(&mut made, &copies, &points, 1..=50);
            let mean = [0, 1].map(|c| found[c..].iter().step_by(2).sum::<f64>() / N as f64);
            found.iter_mut().enumerate().for_each(|(i, y)| *y -= mean[i % 2]);
            let error = found.iter().zip(&expected).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
            assert!(error < 1e-6 * width(&expected), "{energy:?}, {parts} parts: {error} of {}", width(&expected));
        }
    }
}

#[test]
fn a_restored_part_continues_with_the_same_bytes() {
    let joint = affinities();
    let start: Vec<f64> = Seed(9).normals(2 * N).iter().map(|v| 1e-4 * v).collect();
    let settings = settings(Energy::StudentSne { dof: 1.0 });
    let divided = || divide(settings, &joint, &start, |i| i % 2, 2);
    let (mut made, copies, points) = divided();
    run(&mut made, &copies, &points, 1..=10);
    let saved: Vec<[Vec<f64>; 3]> = made.iter().map(|part| part.state().map(<[f64]>::to_vec)).collect();
    let (expected, value) = run(&mut made, &copies, &points, 11..=20);
    let (mut again, copies, points) = divided();
    for (part, [positions, update, gains]) in again.iter_mut().zip(&saved) {
        part.restore([positions, update, gains]).unwrap();
    }
    let (found, other) = run(&mut again, &copies, &points, 11..=20);
    assert!(found == expected && value == other && value.is_finite());
    assert!(again[0].restore([&[], &[], &[]]).is_err());
}

#[test]
fn the_error_of_the_grid_is_measured_across_parts() {
    let joint = affinities();
    let start: Vec<f64> = Seed(9).normals(2 * N).iter().map(|v| 5.0 * v).collect();
    let settings = settings(Energy::StudentSne { dof: 1.0 });
    let (mut made, copies, points) = divide(settings, &joint, &start, |i| i % 3, 3);
    run(&mut made, &copies, &points, 1..=1);
    let [targets, _, found] = made[1].points().grid_sums(&[0, 5, 100]).unwrap();
    let mut exact = vec![0.0; 6];
    for part in &made {
        exact.iter_mut().zip(part.points().exact_sums(&targets).unwrap().1).for_each(|(sum, own)| *sum += own);
    }
    let error = exact.iter().zip(&found).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
    assert!(error > 0.0 && error < 1e-6 * width(&exact), "{error}");
}

#[test]
fn invalid_parts_are_rejected() {
    let settings = settings(Energy::SymmetricSne);
    let part = |columns: Vec<u32>, values: Vec<f64>, start: Vec<f64>| {
        let affinities = DividedAffinities { starts: vec![0, columns.len()], columns, values, copies: 1 };
        DividedEmbedding::new(settings, affinities, start)
    };
    assert!(part(vec![1], vec![0.5], vec![0.0, 0.0]).is_ok());
    assert!(part(vec![2], vec![0.5], vec![0.0, 0.0]).is_err());
    assert!(part(vec![1], vec![f64::NAN], vec![0.0, 0.0]).is_err());
    assert!(part(vec![1], vec![0.5, 0.5], vec![0.0, 0.0]).is_err());
    assert!(part(vec![1], vec![0.5], vec![0.0]).is_err());
    let mut made = part(vec![1], vec![0.5], vec![0.0, 0.0]).unwrap();
    assert!(made.points_mut().begin(&[0.0], &[[0.0, 1.0]], 1e-2).is_err());
    let grid = made.points_mut().begin(&[0.0, 0.0], &[[-1.0, 1.0], [-1.0, 1.0]], 1e-2).unwrap();
    let points = made.points_mut();
    assert!(points.set_copies(&[]).is_err() && points.set_copies(&[1.0, 1.0]).is_ok());
    assert!(points.positions_of(&[0]).is_ok() && points.positions_of(&[1]).is_err());
    assert!(made.forces(&grid[1..], false).is_err() && made.forces(&grid, false).is_ok());
}

#[test]
fn a_map_that_is_too_wide_for_a_grid_is_an_error_with_a_remedy() {
    let affinities = DividedAffinities { starts: vec![0, 1], columns: vec![1], values: vec![0.5], copies: 1 };
    let mut made = DividedEmbedding::new(settings(Energy::StudentSne { dof: 1.0 }), affinities, vec![0.0; 2]).unwrap();
    let error = made.points_mut().begin(&[0.0, 0.0], &[[-1e5, 1e5], [-1.0, 1.0]], 1e-2).unwrap_err().to_string();
    assert!(error.contains("200000 wide") && error.contains("raise tolerance"), "{error}");
    let error = made.points_mut().begin(&[0.0, 0.0], &[[0.0, f64::NAN], [-1.0, 1.0]], 1e-2).unwrap_err().to_string();
    assert!(error.contains("not finite"), "{error}");
}
