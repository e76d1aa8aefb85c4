//! The cost of the accuracy schedule, counted in the operations of the engine, and the error that an engine with a bound ends with.

use super::*;
use crate::affinity::{AffinityKind, Perplexities, affinities_from_distances, joint_affinities};
use crate::objective::{Accuracy, AccuracyController, VectorField};
use crate::optim::{Descent, Lbfgs};
use lowland_core::run::{Context, NoObserver, Stepper, StopRule, run};
use lowland_core::{Data, Embedding, Metric, Points, Seed};
use lowland_linalg::Csr;
use lowland_nbody::{Engine, Exact, FastGauss, Kernel, KernelSum, PotentialOutput, PotentialRequest, new_engine};
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

/// What a run needed and where it ended.
struct FitRecord {
    /// Cost of the sums.
    work: f64,
    /// The last value of the objective.
    value: f64,
    /// Relative error of the force at the last measurement.
    error: f64,
    /// Cost of a sum at the final map.
    last_work: f64,
    map: Embedding,
}

fn fit(energy: Energy, weights: &Csr, engine: Engine, control: AccuracyController, max_iter: usize) -> FitRecord {
    let engine = new_engine(engine, 2, energy.kernel()).unwrap();
    let objective = NeighborEmbeddingObjective::new(energy, weights.clone(), engine, control).unwrap();
    let start = Seed(3).normals(weights.rows() * 2).iter().map(|v| 1e-2 * v).collect();
    let mut descent = Descent::new(objective, Box::new(Lbfgs::default()), Embedding::new(start, 2).unwrap());
    let mut observer = NoObserver;
    let mut context = Context::new(&mut observer, Seed(0), None);
    let outcome = run(&mut descent, StopRule { max_iter, tol: 0.0 }, &mut context).unwrap();
    let (map, objective) = (descent.embedding(), descent.objective());
    let (work, error) = (objective.cost(), objective.controller().measured_error().unwrap());
    objective.evaluate(map.points(), false, &mut vec![0.0; map.points().values().len()]).unwrap();
    let last_work = objective.cost() - work;
    FitRecord { work, value: outcome.trace.last().unwrap().objective, error, last_work, map }
}

#[test]
fn the_schedule_costs_no_more_than_fixed_accuracy_and_ends_as_low() {
    for (name, data) in [("clusters", clusters()), ("sheet", rolled_sheet())] {
        let weights = affinities(&data);
        for energy in [Energy::Elastic { lambda: 0.1 / POINTS as f64 }, Energy::SymmetricSne] {
            for engine in [Engine::Fft, Engine::FastGauss, Engine::BarnesHut] {
                let run = |accuracy| fit(energy, &weights, engine, AccuracyController::new(accuracy, 1e-2), 120);
                let [fixed, schedule] = [run(Accuracy::Fixed), run(Accuracy::Schedule)];
                let (work, value) = (schedule.work / fixed.work, schedule.value / fixed.value);
                assert!(work <= 1.0, "{name} {energy:?} {engine:?}: work {work}");
                assert!(value <= 1.02, "{name} {energy:?} {engine:?}: value {value}");
            }
        }
    }
}

/// Returns the forces of unit charges on each other.
fn forces(engine: &mut dyn KernelSum, y: Points) -> (Vec<f64>, f64) {
    let ones = vec![1.0; y.rows()];
    let (mut values, mut gradients) = (vec![0.0; y.rows()], vec![0.0; y.values().len()]);
    let request = PotentialRequest { kernel: Kernel::Gaussian, targets: y, sources: y, charges: &ones };
    let report = engine.potential(request, PotentialOutput { values: &mut values, gradients: &mut gradients }).unwrap();
    (gradients, report.work)
}

/// Returns the cost of the cheapest transform whose relative error at this map is within the tolerance.
fn cheapest_work(y: Points, tolerance: f64) -> f64 {
    let (exact, _) = forces(&mut Exact, y);
    let size: f64 = exact.iter().map(|v| v * v).sum();
    let requests = std::iter::successors(Some(3.0), |&request| (request > 1e-8).then_some(request / 1.1));
    let works = requests.filter_map(|request| {
        let (found, work) = forces(&mut FastGauss::new(request), y);
        let wrong: f64 = found.iter().zip(&exact).map(|(a, b)| (a - b).powi(2)).sum();
        (wrong <= tolerance * tolerance * size).then_some(work)
    });
    works.fold(f64::INFINITY, f64::min)
}

/// The transform is asked for less than its bound says, until a coarser one would exceed the tolerance. Parameters are whole
/// numbers, and the cheapest transform within a tolerance can be far more accurate.
#[test]
fn fast_gauss_ends_within_the_tolerance_and_no_more_expensive_than_it_needs() {
    for (name, data) in [("clusters", clusters()), ("sheet", rolled_sheet())] {
        let weights = affinities(&data);
        for energy in [Energy::Elastic { lambda: 0.1 / POINTS as f64 }, Energy::SymmetricSne] {
            for tolerance in [1e-2, 1e-4] {
                let control = AccuracyController::new(Accuracy::Fixed, tolerance);
                // The error was measured, and the request chosen, at the last iteration.
                let FitRecord { error, last_work, map, .. } = fit(energy, &weights, Engine::FastGauss, control, 101);
                let work = last_work / cheapest_work(map.points(), tolerance);
                let case = format!("{name} {energy:?}: error {error:e} for {tolerance:e}, work {work}");
                assert!(error <= tolerance && work < 1.15, "{case}");
                assert!(tolerance < 1e-2 || error >= 0.1 * tolerance, "{case}");
            }
        }
    }
}
