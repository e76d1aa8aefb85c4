//! The cost of the accuracy schedule, counted in the operations of the engine.

use super::*;
use crate::affinity::{AffinityKind, Perplexities, affinities_from_distances, joint_affinities};
use crate::objective::{Accuracy, AccuracyController};
use crate::optim::{Descent, Lbfgs};
use lowland_core::run::{Context, NoObserver, StopRule, run};
use lowland_core::{Data, Embedding, Metric, Seed};
use lowland_linalg::Csr;
use lowland_nbody::{Engine, new_engine};
use lowland_neighbors::graph::edge_lengths;
use lowland_neighbors::{NeighborParams, Search, nearest};

const POINTS: usize = 1500;

/// Returns twelve clusters.
fn clusters() -> Data {
    let noise = Seed(1).normals(POINTS * 5);
    let centers = Seed(2).normals(12 * 5);
    let cluster = |at: usize| 4.0 * centers[at / 5 % 12 * 5 + at % 5];
    Data::dense((0..POINTS * 5).map(|at| (noise[at] + cluster(at)) as f32).collect(), 5).expect("whole rows")
}

/// Returns a sheet that is rolled up, with noise: no clusters, and neighbors in all directions.
fn rolled_sheet() -> Data {
    let noise = Seed(4).normals(POINTS * 3);
    let coordinates = |i: usize| {
        let angle = 4.7 + 9.4 * (i as f64 + 0.5) / POINTS as f64;
        [angle * angle.cos(), 21.0 * (i as f64 * 0.618_033_988_749_895).fract(), angle * angle.sin()]
    };
    let values = (0..POINTS).flat_map(coordinates).zip(&noise).map(|(v, e)| (v + 0.3 * e) as f32);
    Data::dense(values.collect(), 3).expect("whole rows")
}

fn affinities(data: &Data) -> Csr {
    let params = NeighborParams { n_neighbors: 30, metric: Metric::Euclidean, search: Search::Exact, seed: Seed(0) };
    let lengths = edge_lengths(&nearest(data, &params).unwrap().graph).unwrap();
    let perplexity = Perplexities::new(vec![10.0]).unwrap();
    joint_affinities(affinities_from_distances(lengths, AffinityKind::Entropic, &perplexity).unwrap()).unwrap()
}

/// Returns the cost of the sums and the last value of the objective.
fn cost(energy: Energy, weights: &Csr, engine: Engine, accuracy: Accuracy, max_iter: usize) -> (f64, f64) {
    let engine = new_engine(engine, 2, energy.kernel()).unwrap();
    let control = AccuracyController::new(accuracy, 1e-2);
    let objective = NeighborEmbeddingObjective::new(energy, weights.clone(), engine, control).unwrap();
    let start = Seed(3).normals(weights.rows() * 2).iter().map(|v| 1e-2 * v).collect();
    let mut descent = Descent::new(objective, Box::new(Lbfgs::default()), Embedding::new(start, 2).unwrap());
    let mut observer = NoObserver;
    let mut context = Context::new(&mut observer, Seed(0), None);
    let outcome = run(&mut descent, StopRule { max_iter, tol: 0.0 }, &mut context).unwrap();
    (descent.objective().cost(), outcome.trace.last().unwrap().objective)
}

#[test]
fn the_schedule_costs_no_more_than_fixed_accuracy_and_ends_as_low() {
    for (name, data) in [("clusters", clusters()), ("sheet", rolled_sheet())] {
        let weights = affinities(&data);
        for energy in [Energy::Elastic { lambda: 0.1 / POINTS as f64 }, Energy::SymmetricSne] {
            for engine in [Engine::Fft, Engine::FastGauss, Engine::BarnesHut] {
                let run = |accuracy| cost(energy, &weights, engine, accuracy, 120);
                let [fixed, schedule] = [run(Accuracy::Fixed), run(Accuracy::Schedule)];
                let (work, value) = (schedule.0 / fixed.0, schedule.1 / fixed.1);
                assert!(work <= 1.0, "{name} {energy:?} {engine:?}: work {work}");
                assert!(value <= 1.02, "{name} {energy:?} {engine:?}: value {value}");
            }
        }
    }
}
