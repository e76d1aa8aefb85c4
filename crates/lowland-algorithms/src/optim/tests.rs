//! Every optimiser on every objective, and the accuracy schedule.

use super::*;
use crate::affinity::{entropic, joint};
use crate::objective::{Accuracy, AccuracyControl, Energy, Field, NeighborEmbedding, Objective, Schedule};
use lowland_core::run::Stepper;
use lowland_core::{Data, Embedding, Metric, Points, Seed};
use lowland_linalg::Csr;
use lowland_nbody::{BarnesHut, Exact, FastGauss, Fft, KernelSum};
use lowland_neighbors::graph::edge_lengths;
use lowland_neighbors::{NeighborParams, Search, nearest};

/// Affinities of five clouds of points.
fn affinities(n: usize) -> Csr {
    let noise = Seed(1).normals(n * 6);
    let cell = |(at, e): (usize, &f64)| (e + if at % 6 == at / 6 % 5 { 4.0 } else { 0.0 }) as f32;
    let data = Data::dense(noise.iter().enumerate().map(cell).collect(), 6).unwrap();
    let params = NeighborParams { n_neighbors: 30, metric: Metric::Euclidean, search: Search::Exact, seed: Seed(0) };
    let graph = nearest(&data, &params).unwrap().graph;
    joint(entropic(edge_lengths(&graph).unwrap(), 10.0).rows).unwrap()
}

fn start(n: usize, dim: usize) -> Embedding {
    Embedding::new(Seed(2).normals(n * dim).iter().map(|v| 0.01 * v).collect(), dim).unwrap()
}

fn embedding(
    energy: Energy,
    n: usize,
    engine: Box<dyn KernelSum>,
    accuracy: Accuracy,
    tolerance: f64,
) -> NeighborEmbedding {
    NeighborEmbedding::new(energy, affinities(n), engine, AccuracyControl::new(accuracy, tolerance)).unwrap()
}

fn optimizers() -> [Box<dyn Optimizer<NeighborEmbedding>>; 4] {
    let params = GainsParams { learning_rate: None, momentum: 0.8, least_gain: 1e-4, longest: 5.0, longest_share: 0.2 };
    [
        Box::new(Gains::new(params)),
        Box::new(FixedPoint::new(LineSearch::new(1.5))),
        Box::new(SpectralDirection::new(LineSearch::new(1.5))),
        Box::new(Lbfgs::default()),
    ]
}

/// The objective at a map, every pair counted.
fn exact_value(energy: Energy, map: &Embedding) -> f64 {
    let mut embedding = embedding(energy, map.rows(), Box::new(Exact), Accuracy::Fixed, 1e-3);
    let mut gradient = vec![0.0; map.values().len()];
    embedding.field(map.points(), true, &mut gradient).unwrap().unwrap()
}

#[test]
fn every_optimiser_brings_every_objective_down_with_every_engine() {
    let n = 200;
    for energy in [Energy::Elastic { lambda: 0.1 / n as f64 }, Energy::SymmetricSne, Energy::StudentSne { dof: 1.0 }] {
        let begin = exact_value(energy, &start(n, 2));
        for which in 0..4 {
            let mut engines: Vec<Box<dyn KernelSum>> =
                vec![Box::new(Exact), Box::new(BarnesHut::default()), Box::new(Fft::default())];
            if energy != (Energy::StudentSne { dof: 1.0 }) {
                engines.push(Box::new(FastGauss::new(1e-3)));
            }
            for engine in engines {
                let name = engine.name();
                let optimizer = optimizers().into_iter().nth(which).unwrap();
                let objective = embedding(energy, n, engine, Accuracy::Fixed, 1e-3);
                let mut descent = Descent::new(objective, optimizer, start(n, 2));
                (0..40).for_each(|_| assert!(descent.step().unwrap().change.is_finite()));
                let end = exact_value(energy, &descent.embedding());
                assert!(end < begin - 0.2, "{energy:?}, optimiser {which}, {name}: from {begin} to {end}");
            }
        }
    }
}

#[test]
fn line_searches_never_go_up() {
    let n = 200;
    for optimizer in optimizers().into_iter().skip(1) {
        let objective = embedding(Energy::StudentSne { dof: 2.0 }, n, Box::new(Exact), Accuracy::Fixed, 1e-3);
        let mut descent = Descent::new(objective, optimizer, start(n, 3));
        let values: Vec<f64> = (0..30).map(|_| descent.step().unwrap().objective).collect();
        assert!(values.is_sorted_by(|a, b| a >= b), "{values:?}");
    }
}

#[test]
fn nothing_has_converged_while_the_objective_still_changes() {
    let n = 100;
    let schedule = Schedule { exaggeration: 4.0, exaggeration_iter: 12, homotopy: 0 };
    let objective = embedding(Energy::StudentSne { dof: 1.0 }, n, Box::new(Exact), Accuracy::Fixed, 1e-3);
    let mut descent =
        Descent::new(objective.with_schedule(schedule), optimizers().into_iter().nth(3).unwrap(), start(n, 2));
    let changes: Vec<f64> = (0..13).map(|_| descent.step().unwrap().change).collect();
    assert!(changes[..12].iter().all(|change| *change >= 1.0) && changes[12] < 1.0, "{changes:?}");
}

#[test]
fn a_schedule_ends_within_a_thousandth_of_the_accurate_run_at_less_cost() {
    let n = 600;
    let energy = Energy::StudentSne { dof: 1.0 };
    let run = |accuracy| {
        let schedule = Schedule { exaggeration: 4.0, exaggeration_iter: 50, homotopy: 0 };
        let objective = embedding(energy, n, Box::new(BarnesHut::default()), accuracy, 1e-4).with_schedule(schedule);
        let params = GainsParams {
            learning_rate: None,
            momentum: 0.8,
            least_gain: 1e-4,
            longest: 5.0,
            longest_share: f64::INFINITY,
        };
        let mut descent = Descent::new(objective, Box::new(Gains::new(params)), start(n, 2));
        (0..400).for_each(|_| assert!(descent.step().unwrap().change.is_finite()));
        let cost = descent.objective().cost();
        (exact_value(energy, &descent.embedding()), cost)
    };
    let (fixed, scheduled) = (run(Accuracy::Fixed), run(Accuracy::Schedule));
    assert!((scheduled.0 / fixed.0 - 1.0).abs() < 1e-3, "{} against {}", scheduled.0, fixed.0);
    assert!(scheduled.1 < 0.9 * fixed.1, "cost {} against {}", scheduled.1, fixed.1);
}

/// Run as methods are: to a change of a millionth, or 300 iterations.
fn settle(
    objective: NeighborEmbedding,
    optimizer: Box<dyn Optimizer<NeighborEmbedding>>,
    from: &Embedding,
) -> Embedding {
    let mut descent = Descent::new(objective, optimizer, from.clone());
    for _ in 0..300 {
        if descent.step().unwrap().change < 1e-6 {
            let control = descent.objective().control();
            assert!(!control.coarse() && control.measured().unwrap() <= 1e-3, "{control:?}");
            break;
        }
    }
    descent.embedding()
}

#[test]
fn searches_go_on_where_the_accuracy_changes_and_end_as_low_as_accurate_ones() {
    let n = 400;
    for energy in [Energy::Elastic { lambda: 1.0 / n as f64 }, Energy::SymmetricSne] {
        // Unfolded, but not at rest: from a small start, noise decides which of many rests is found.
        let exact = embedding(energy, n, Box::new(Exact), Accuracy::Fixed, 1e-3);
        let mut unfolding = Descent::new(exact, Box::new(Lbfgs::default()), start(n, 2));
        (0..25).for_each(|_| assert!(unfolding.step().unwrap().change > 0.0));
        let from = unfolding.embedding();
        for which in 1..4 {
            let engines: [fn() -> Box<dyn KernelSum>; 3] =
                [|| Box::new(BarnesHut::default()), || Box::new(Fft::default()), || Box::new(FastGauss::new(1e-3))];
            for engine in engines {
                let [fixed, scheduled] = [Accuracy::Fixed, Accuracy::Schedule].map(|accuracy| {
                    let objective = embedding(energy, n, engine(), accuracy, 1e-3);
                    exact_value(energy, &settle(objective, optimizers().into_iter().nth(which).unwrap(), &from))
                });
                let name = engine().name();
                assert!(scheduled <= fixed * 1.001, "{energy:?} {which} {name}: {scheduled} against {fixed}");
            }
        }
    }
}

#[test]
fn a_line_search_takes_steps_within_the_engines_error_and_no_others() {
    /// `y^2`, off by up to the noise it admits to.
    struct Noisy {
        offset: f64,
        noise: f64,
    }
    impl Field for Noisy {
        fn field(&mut self, y: Points, _: bool, out: &mut [f64]) -> Result<Option<f64>> {
            out[0] = 2.0 * y.values()[0];
            // The first value is too low: every later one looks like a step up.
            let offset = std::mem::replace(&mut self.offset, 0.0);
            Ok(Some(y.values()[0].powi(2) - offset))
        }
        fn save(&self, _: &mut Archive) {}
        fn restore(&mut self, _: &Archive) -> Result<()> {
            Ok(())
        }
    }
    impl Objective for Noisy {
        fn attraction(&self) -> Csr {
            Csr::from_triplets(1, 1, []).unwrap()
        }
        fn degrees(&self) -> Vec<f64> {
            vec![1.0]
        }
        fn noise(&self) -> f64 {
            self.noise
        }
    }
    // The slope along the step is -8. It promises more than a noise of 3; where it promises less than the noise, the point
    // moves by no more than one.
    for (noise, end) in [(3.0, 0.0), (0.5, 2.0), (9.0, 1.0)] {
        let (mut y, mut search) = (vec![2.0], LineSearch::new(1.0));
        let (moved, paid) = search.along(&mut Noisy { offset: 6.0, noise }, &mut y, 1, &[-2.0], None).unwrap();
        assert_eq!((y[0], paid, moved.change > 0.0), (end, end < 2.0, end < 2.0), "noise {noise}");
    }
}

#[test]
fn the_error_allowed_is_kept() {
    let n = 1500;
    let energy = Energy::StudentSne { dof: 1.0 };
    for tolerance in [1e-2, 1e-3] {
        let mut objective = embedding(energy, n, Box::new(BarnesHut::default()), Accuracy::Fixed, tolerance);
        let y: Vec<f64> = Seed(4).normals(n * 2).iter().map(|v| 8.0 * v).collect();
        objective.prepare(1, Points::new(&y, 2).unwrap(), None).unwrap();
        let (mut found, mut exact) = (vec![0.0; n * 2], vec![0.0; n * 2]);
        let mut oracle = embedding(energy, n, Box::new(Exact), Accuracy::Fixed, tolerance);
        objective.field(Points::new(&y, 2).unwrap(), false, &mut found).unwrap();
        oracle.field(Points::new(&y, 2).unwrap(), false, &mut exact).unwrap();
        let wrong = found.iter().zip(&exact).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        let measured = objective.control().measured().unwrap();
        assert!(measured <= tolerance && measured > 0.0, "{measured}");
        // The gradient is the difference of attraction and repulsion, and the error is the repulsion's alone.
        let mut springs = vec![0.0; n * 2];
        let weights = oracle.attraction();
        for (i, j, w) in weights.iter() {
            let apart: [f64; 2] = std::array::from_fn(|c| y[i * 2 + c] - y[j * 2 + c]);
            let pull = 4.0 * w / (1.0 + apart[0].powi(2) + apart[1].powi(2));
            (0..2).for_each(|c| springs[i * 2 + c] += pull * apart[c]);
        }
        let repulsion = exact.iter().zip(&springs).map(|(all, pull)| (all - pull).powi(2)).sum::<f64>().sqrt();
        assert!(wrong < 3.0 * tolerance * repulsion, "{wrong} of {repulsion}");
    }
}
