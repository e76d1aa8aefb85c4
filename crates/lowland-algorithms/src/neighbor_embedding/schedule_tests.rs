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

/// Clusters, a curved surface and noise without structure.
fn data_sets() -> [(&'static str, Data); 3] {
    let noise = Seed(1).normals(POINTS * 5);
    let centers = Seed(2).normals(12 * 5);
    let cluster = |at: usize| 4.0 * centers[at / 5 % 12 * 5 + at % 5];
    let surface = |at: usize| {
        let (u, v) = (noise[at / 5 * 5], noise[at / 5 * 5 + 1]);
        [4.0 * u, 4.0 * v, (2.0 * u).sin(), u * v, (3.0 * v).cos()][at % 5]
    };
    let rows = |value: &dyn Fn(usize) -> f64| {
        Data::dense((0..POINTS * 5).map(|at| value(at) as f32).collect(), 5).expect("whole rows")
    };
    [("clusters", rows(&|at| noise[at] + cluster(at))), ("surface", rows(&surface)), ("noise", rows(&|at| noise[at]))]
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
    let n = POINTS as f64;
    for (name, data) in data_sets() {
        let weights = affinities(&data);
        for energy in [Energy::Elastic { lambda: 0.1 / n }, Energy::SymmetricSne, Energy::StudentSne { dof: 1.0 }] {
            for engine in [Engine::Fft, Engine::FastGauss, Engine::BarnesHut] {
                if new_engine(engine, 2, energy.kernel()).is_err() {
                    continue;
                }
                let run = |accuracy| cost(energy, &weights, engine, accuracy, 120);
                let [fixed, schedule] = [run(Accuracy::Fixed), run(Accuracy::Schedule)];
                println!("{name} {energy:?} {engine:?}: {:.3} {:.5}", schedule.0 / fixed.0, schedule.1 / fixed.1);
                assert!(schedule.0 <= fixed.0 * 1.02, "{name} {energy:?} {engine:?}: {schedule:?} {fixed:?}");
                assert!(schedule.1 <= fixed.1 * 1.02, "{name} {energy:?} {engine:?}: {schedule:?} {fixed:?}");
            }
        }
    }
}
