//! Values, gradients and traces of the neighbor embeddings, compared with finite differences.

use super::*;
use crate::affinity::joint_affinities;
use crate::density::{DensityParams, DensityTerm};
use crate::objective::{Accuracy, AccuracyController, ObjectiveChange, VectorField};
use crate::similarity_curve::SimilarityCurve;
use lowland_core::{Points, Seed, with_threads};
use lowland_linalg::Csr;
use lowland_nbody::Exact;

/// Returns affinities of `n` points that are neither regular nor complete.
fn affinities(n: usize) -> Csr {
    let links =
        (0..n as u32).flat_map(|i| (1..=6).map(move |k| (i, (i * 5 + k * k + 1) % n as u32, 1.0 / f64::from(k))));
    joint_affinities(Csr::from_triplets(n, n, links.filter(|(i, j, _)| i != j)).unwrap()).unwrap()
}

fn embedding(energy: Energy, n: usize) -> NeighborEmbeddingObjective {
    NeighborEmbeddingObjective::new(
        energy,
        affinities(n),
        Box::new(Exact),
        AccuracyController::new(Accuracy::Fixed, 1e-3),
    )
    .unwrap()
}

const ENERGIES: [Energy; 5] = [
    Energy::Elastic { lambda: 0.02 },
    Energy::SymmetricSne,
    Energy::StudentSne { dof: 1.0 },
    Energy::StudentSne { dof: 0.5 },
    Energy::StudentSne { dof: 3.0 },
];

/// Returns value and gradient.
fn at(embedding: &mut NeighborEmbeddingObjective, y: &[f64], d: usize) -> (f64, Vec<f64>) {
    let mut gradient = vec![0.0; y.len()];
    let value = embedding.evaluate(Points::new(y, d).unwrap(), true, &mut gradient).unwrap();
    (value.unwrap(), gradient)
}

fn check_derivatives(embedding: &mut NeighborEmbeddingObjective, y: &[f64], d: usize, what: &str) {
    let (_, gradient) = at(embedding, y, d);
    let largest = gradient.iter().fold(0.0f64, |m, g| m.max(g.abs()));
    let h = f64::EPSILON.cbrt();
    let mut trace = 0.0;
    for i in 0..y.len() {
        let moved = |by: f64| {
            let mut y = y.to_vec();
            y[i] += by;
            y
        };
        let (above, below) = (at(embedding, &moved(h), d), at(embedding, &moved(-h), d));
        let difference = (above.0 - below.0) / (2.0 * h);
        assert!((difference - gradient[i]).abs() < 1e-6 * largest, "{what}: {difference} {}", gradient[i]);
        trace += (above.1[i] - below.1[i]) / (2.0 * h);
    }
    // Not at a stationary point, where a gradient of zero would pass.
    assert!(largest > 1e-3, "{what}: {largest}");
    let computed = embedding.hessian_trace(Points::new(y, d).unwrap()).unwrap();
    assert!(
        (computed - trace).abs() < 1e-6 * trace.abs().max(largest),
        "{what}: trace {computed}, differences {trace}"
    );
}

#[test]
fn gradients_and_traces_match_finite_differences_of_the_value() {
    let n = 24;
    for d in [1, 2, 3, 5] {
        let y: Vec<f64> = Seed(d as u64).normals(n * d).iter().map(|v| 0.7 * v + 0.3).collect();
        for energy in ENERGIES {
            let mut embedding = embedding(energy, n);
            check_derivatives(&mut embedding, &y, d, &format!("{energy:?}, d = {d}"));
            let schedule = EnergySchedule { early_exaggeration: 4.0, early_iter: 5, exaggeration: 2.5, homotopy: 3 };
            let mut changing = embedding.with_schedule(schedule);
            for (iteration, what) in [(1, "early exaggeration"), (6, "exaggeration")] {
                changing.begin_iteration(iteration, Points::new(&y, d).unwrap(), None).unwrap();
                check_derivatives(&mut changing, &y, d, &format!("{energy:?}, d = {d}, {what}"));
            }
        }
    }
}

#[test]
fn the_gradient_with_density_is_that_of_the_value() {
    let (n, d) = (24, 2);
    let y: Vec<f64> = Seed(12).normals(n * d);
    let weights = affinities(n);
    let lengths = weights.map(|i, j, _| 1.0 + ((i * j) % 5) as f64);
    for energy in ENERGIES {
        let params = DensityParams { weight: 0.7, share: 0.5, shift: 0.1 };
        let term = DensityTerm::new(&weights, &lengths, SimilarityCurve { a: 1.0, b: 1.0 }, params);
        let mut embedding = embedding(energy, n).with_density(term, 10);
        let (plain, _) = at(&mut embedding, &y, d);
        embedding.begin_iteration(5, Points::new(&y, d).unwrap(), None).unwrap();
        assert!(embedding.has_pending_changes());
        let change = embedding.begin_iteration(6, Points::new(&y, d).unwrap(), None).unwrap();
        assert_eq!(change, ObjectiveChange::Objective);
        assert!(!embedding.has_pending_changes());
        let (value, gradient) = at(&mut embedding, &y, d);
        let correlation = (plain - value) / 0.7;
        assert!((0.001..1.0).contains(&correlation.abs()), "{correlation}");
        let largest = gradient.iter().fold(0.0f64, |m, g| m.max(g.abs()));
        for i in 0..y.len() {
            let mut moved = |by: f64| {
                let mut y = y.clone();
                y[i] += by;
                at(&mut embedding, &y, d).0
            };
            let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((difference - gradient[i]).abs() < 1e-6 * largest, "{energy:?}, coordinate {i}");
        }
    }
}

#[test]
fn the_elastic_embedding_supports_a_weight_for_every_pair() {
    let (n, d) = (20, 2);
    let y = Seed(3).normals(n * d);
    let noise = Seed(4).normals(n * n);
    let weight = |at: usize| if at / n == at % n { 0.0 } else { (noise[at] + noise[at % n * n + at / n]).abs() };
    let weights: Vec<f64> = (0..n * n).map(weight).collect();
    let make = || embedding(Energy::Elastic { lambda: 0.05 }, n);
    let mut weighted = make().with_repulsion_weights(weights).unwrap();
    check_derivatives(&mut weighted, &y, d, "weighted");
    // Equal weights give the same result as an engine.
    let equal = (0..n * n).map(|at| f64::from(u8::from(at / n != at % n))).collect();
    let (a, b) = (at(&mut make().with_repulsion_weights(equal).unwrap(), &y, d), at(&mut make(), &y, d));
    assert!((a.0 - b.0).abs() < 1e-13 && a.1.iter().zip(&b.1).all(|(a, b)| (a - b).abs() < 1e-14));
    assert!(make().with_repulsion_weights(vec![1.0; 3]).is_err());
}

/// Theorem 2.1 of Carreira-Perpiñán & Vladymyrov (2014): a small isotropic perturbation raises the value by `variance * trace / 2` on average.
#[test]
fn noise_raises_the_value_by_half_the_trace_times_its_variance() {
    let (n, d, size) = (16, 2, 0.02);
    let y: Vec<f64> = Seed(8).normals(n * d);
    for energy in ENERGIES {
        let mut embedding = embedding(energy, n);
        let (start, _) = at(&mut embedding, &y, d);
        let trials = 3000;
        let mean = (0..trials).fold(0.0, |sum, trial| {
            let noise = Seed(9).item(trial).normals(n * d);
            // In both directions, so that odd powers, whose mean is zero, cancel.
            let mut value = |by: f64| {
                let moved: Vec<f64> = y.iter().zip(&noise).map(|(y, e)| y + by * e).collect();
                at(&mut embedding, &moved, d).0
            };
            sum + 0.5 * (value(size) + value(-size)) - start
        }) / f64::from(trials as u32);
        let expected = 0.5 * size * size * embedding.hessian_trace(Points::new(&y, d).unwrap()).unwrap();
        assert!((mean / expected - 1.0).abs() < 0.1, "{energy:?}: {mean} {expected}");
    }
}

/// The same theorem: the mean and the standard deviation of the change, and the report of a run.
#[test]
fn predicted_noise_is_that_of_random_perturbations() {
    let (n, d, size) = (16, 2, 1e-3);
    let y: Vec<f64> = Seed(8).normals(n * d);
    for energy in ENERGIES {
        let mut embedding = embedding(energy, n);
        let (start, gradient) = at(&mut embedding, &y, d);
        let squared: f64 = gradient.iter().map(|g| g * g).sum();
        let trace = embedding.hessian_trace(Points::new(&y, d).unwrap()).unwrap();
        let predicted = PredictedNoise::new(size, start, squared, trace, n * d, embedding.curvature_bound());
        let changes: Vec<f64> = (0..4000)
            .map(|trial| {
                let noise = Seed(19).item(trial).normals(n * d);
                let moved: Vec<f64> = y.iter().zip(&noise).map(|(y, e)| y + size * e).collect();
                at(&mut embedding, &moved, d).0 - start
            })
            .collect();
        let deviation = (changes.iter().map(|c| c * c).sum::<f64>() / 4000.0).sqrt();
        assert!((deviation / predicted.change_deviation - 1.0).abs() < 0.05, "{energy:?}: {deviation} {predicted:?}");
        assert!((predicted.mean_change - 0.5 * size * size * trace).abs() < 1e-15);
        assert!((predicted.mean_curvature - trace / 32.0).abs() < 1e-12);
        // Eq 9, of the simulated changes.
        let relative = changes.iter().map(|c| (c / start).powi(2)).sum::<f64>() / 4000.0;
        assert!((relative.sqrt() / predicted.relative_deviation - 1.0).abs() < 0.05, "{energy:?}: {predicted:?}");
        assert!((predicted.relative_change * start / predicted.mean_change - 1.0).abs() < 1e-12, "{energy:?}");
        // Exact sums have no error, and so predict no change.
        let exact = embedding.predicted_noise(Points::new(&y, d).unwrap()).unwrap();
        assert!(exact.deviation < 1e-14 && exact.mean_change.abs() < 1e-14, "{energy:?}: {exact:?}");
        assert!((exact.mean_curvature - predicted.mean_curvature).abs() < 1e-9);
    }
}

/// Eq 10 of the same theorem: where the norm of the Hessian is bounded, so is the expected change, for noise of any size.
#[test]
fn the_curvature_and_the_expected_change_of_the_elastic_embedding_are_bounded() {
    let (n, d) = (16, 2);
    let mut elastic = embedding(Energy::Elastic { lambda: 0.02 }, n);
    let bound = elastic.curvature_bound().unwrap();
    let mut largest = 0.0f64;
    for width in [0.01, 0.3, 1.0, 3.0] {
        let y: Vec<f64> = Seed(8).normals(n * d).iter().map(|v| width * v).collect();
        let norm = hessian_norm(&mut elastic, &y, d);
        assert!(norm <= bound, "{norm} at width {width}, bound {bound}");
        largest = largest.max(norm);
        let (start, gradient) = at(&mut elastic, &y, d);
        let squared: f64 = gradient.iter().map(|g| g * g).sum();
        let trace = elastic.hessian_trace(Points::new(&y, d).unwrap()).unwrap();
        for size in [0.01, 0.3, 3.0] {
            let noise = PredictedNoise::new(size, start, squared, trace, n * d, Some(bound));
            let change_bound = noise.relative_bound.unwrap() * start;
            assert!((change_bound - 0.5 * size * size * 32.0 * bound).abs() < 1e-12 * change_bound);
            let changes: f64 = (0..500)
                .map(|trial| {
                    let noise = Seed(29).item(trial).normals(n * d);
                    // In both directions, so that odd powers, whose mean is zero, cancel.
                    let mut value = |by: f64| {
                        let moved: Vec<f64> = y.iter().zip(&noise).map(|(y, e)| y + by * e).collect();
                        at(&mut elastic, &moved, d).0
                    };
                    0.5 * (value(size) + value(-size)) - start
                })
                .sum();
            let change = changes.abs() / 500.0;
            assert!(change <= change_bound, "{change} over {change_bound} at width {width}, noise {size}");
        }
    }
    assert!(largest > 0.2 * bound, "the bound {bound} is of the size of the largest norm {largest}");
    for energy in [Energy::SymmetricSne, Energy::StudentSne { dof: 1.0 }] {
        assert_eq!(embedding(energy, n).curvature_bound(), None, "{energy:?}");
    }
    let weighted = embedding(Energy::Elastic { lambda: 0.05 }, n).with_repulsion_weights(vec![1.0; n * n]).unwrap();
    assert_eq!(weighted.curvature_bound(), None);
}

/// Returns the spectral norm of the Hessian by power iteration on differences of gradients.
fn hessian_norm(embedding: &mut NeighborEmbeddingObjective, y: &[f64], d: usize) -> f64 {
    let length = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    let mut direction = Seed(11).normals(y.len());
    let mut norm = 0.0;
    for _ in 0..200 {
        let size = length(&direction);
        let mut gradient = |by: f64| {
            let moved: Vec<f64> = y.iter().zip(&direction).map(|(y, v)| y + by * v / size).collect();
            at(embedding, &moved, d).1
        };
        let (above, below) = (gradient(1e-5), gradient(-1e-5));
        direction = above.iter().zip(&below).map(|(a, b)| (a - b) / 2e-5).collect();
        norm = length(&direction);
    }
    norm
}

/// The perturbation of the report is the error of the engine's gradient, in units of a fixed-point step.
#[test]
fn the_reported_perturbation_is_the_measured_error_of_the_gradient() {
    let (n, d) = (1500, 2);
    let y: Vec<f64> = Seed(6).normals(n * d).iter().map(|v| 3.0 * v).collect();
    for energy in [Energy::Elastic { lambda: 0.1 / n as f64 }, Energy::SymmetricSne] {
        let mut exact = embedding(energy, n);
        let engine = Box::new(lowland_nbody::FastGauss::new(1e-2));
        let control = AccuracyController::new(Accuracy::Fixed, 1e-2);
        let mut fast = NeighborEmbeddingObjective::new(energy, affinities(n), engine, control).unwrap();
        let (a, b) = (at(&mut exact, &y, d).1, at(&mut fast, &y, d).1);
        let error = a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / (n * d) as f64;
        let expected = error.sqrt() * n as f64 / 4.0;
        let found = fast.predicted_noise(Points::new(&y, d).unwrap()).unwrap().deviation;
        assert!((0.4..2.5).contains(&(found / expected)), "{energy:?}: {found} {expected}");
    }
}

#[test]
fn the_value_is_a_divergence_and_invariant_under_translations() {
    let (n, d) = (30, 2);
    let y = Seed(5).normals(n * d);
    for energy in ENERGIES {
        let mut embedding = embedding(energy, n);
        let (value, gradient) = at(&mut embedding, &y, d);
        assert!(value > 0.0, "{energy:?}");
        let shifted: Vec<f64> = y.iter().map(|v| v + 10.0).collect();
        let (other, other_gradient) = at(&mut embedding, &shifted, d);
        assert!((value - other).abs() < 1e-10, "{energy:?}: {value} {other}");
        assert!(gradient.iter().zip(&other_gradient).all(|(a, b)| (a - b).abs() < 1e-10));
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let (n, d) = (3000, 2);
    let y = Seed(6).normals(n * d);
    for energy in ENERGIES {
        let run = || {
            let mut embedding = embedding(energy, n);
            let (value, gradient) = at(&mut embedding, &y, d);
            let trace = embedding.hessian_trace(Points::new(&y, d).unwrap()).unwrap();
            gradient.into_iter().chain([value, trace]).map(f64::to_bits).collect::<Vec<_>>()
        };
        let one = with_threads(Some(1), run).unwrap();
        for threads in [2, 3] {
            assert_eq!(one, with_threads(Some(threads), run).unwrap(), "{energy:?}");
        }
    }
}

/// With exaggeration `rho` the gradient is `rho` times the attraction plus the repulsion, and a new point's repulsion, for
/// affinities that sum to one, is divided by `rho`.
#[test]
fn exaggeration_multiplies_the_attraction_and_divides_the_repulsion_of_new_points() {
    let (n, d) = (40, 2);
    let y = Seed(7).normals(n * d);
    let points = Points::new(&y, d).unwrap();
    for energy in ENERGIES {
        let with = |exaggeration: f64| {
            let schedule = EnergySchedule { exaggeration, ..EnergySchedule::default() };
            let mut objective = embedding(energy, n).with_schedule(schedule);
            let (value, gradient) = at(&mut objective, &y, d);
            (value, gradient, objective.repulsion_strength(points).unwrap())
        };
        let [one, two, five] = [1.0, 2.0, 5.0].map(with);
        // Both are linear in the factor.
        let is_linear =
            |one: f64, two: f64, five: f64| (one + 4.0 * (two - one) - five).abs() < 1e-12 * five.abs().max(1.0);
        assert!(is_linear(one.0, two.0, five.0), "{energy:?}");
        assert!((0..n * d).all(|i| is_linear(one.1[i], two.1[i], five.1[i])), "{energy:?}");
        assert!(two.0 > one.0 + 1e-3, "{energy:?}");
        assert!((one.2 / five.2 - 5.0).abs() < 1e-12, "{energy:?}");
        // The factor of one leaves no trace of the schedule.
        assert_eq!((one.0, one.1), at(&mut embedding(energy, n), &y, d), "{energy:?}");
    }
}
