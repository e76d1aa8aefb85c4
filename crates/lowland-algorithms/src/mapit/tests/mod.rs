//! The field of MAP IT compared with a double loop over all pairs, and its costs with finite differences.

mod out_of_sample;

use super::neighborhoods::Neighborhoods;
use super::*;
use crate::affinity::joint_affinities;
use crate::objective::VectorField;
use crate::objective::edge_sums::PaddedPointsBuffer;
use lowland_core::simd::run_kernel_with;
use lowland_core::{Points, Seed, with_threads};
use lowland_linalg::Csr;
use lowland_nbody::{Engine, Exact, new_engine};

/// Returns affinities of `n` points that are neither regular nor complete.
fn affinities(n: usize, links: u32) -> Csr {
    let links = (0..n as u32)
        .flat_map(|i| (1..=links).map(move |k| (i, (i * 5 + k * k + 1) % n as u32, 1.0 / f64::from(k + i % 3))));
    joint_affinities(Csr::from_triplets(n, n, links.filter(|(i, j, _)| i != j)).unwrap()).unwrap()
}

const KINDS: [SimilarityKernel; 2] = [SimilarityKernel::Student, SimilarityKernel::Gaussian];

/// Returns the field of the released program and its value, summed pair by pair.
fn reference_field(
    p: &Csr,
    k: usize,
    reach: usize,
    kind: SimilarityKernel,
    entropy: EntropyWeights,
    y: Points,
) -> (Vec<f64>, f64) {
    let (n, d) = (y.rows(), y.dim());
    let pair = |i: usize, j: usize| {
        let s: f64 = y.row(i).iter().zip(y.row(j)).map(|(a, b)| (a - b) * (a - b)).sum();
        if kind == SimilarityKernel::Student {
            (1.0 / (1.0 + s), 1.0 / (1.0 + s).powi(2))
        } else {
            ((-s).exp(), (-s).exp())
        }
    };
    let near: Vec<Vec<usize>> = (0..n)
        .map(|i| {
            let mut row: Vec<usize> = (0..n).filter(|&j| p.get(i, j) > 0.0).collect();
            row.sort_by(|&a, &b| p.get(i, b).total_cmp(&p.get(i, a)).then(a.cmp(&b)));
            row.truncate(k);
            row
        })
        .collect();
    let sum_near = |j: usize, f: &dyn Fn(usize) -> f64| near[j].iter().map(|&l| f(l)).sum::<f64>();
    let pm: Vec<f64> = (0..n).map(|j| sum_near(j, &|l| p.get(l, j))).collect();
    let qm: Vec<f64> = (0..n).map(|j| sum_near(j, &|l| pair(l, j).0)).collect();
    let counts = |i: usize, j: usize| i != j && (entropy == EntropyWeights::All || near[i].contains(&j));
    let (mut c1, mut c2) = (0.0, 0.0);
    for (i, j) in (0..n * n).map(|at| (at / n, at % n)).filter(|&(i, j)| counts(i, j)) {
        c1 += p.get(i, j) * pair(i, j).0;
        c2 += pair(i, j).0.powi(2);
    }
    // Which points each one reaches, by repeated multiplication of the neighborhoods.
    let mut aligned: Vec<Vec<bool>> = (0..n).map(|i| (0..n).map(|j| near[i].contains(&j)).collect()).collect();
    for _ in 1..reach {
        let through = |i: usize, j: usize| aligned[i][j] || (0..n).any(|l| aligned[i][l] && near[l].contains(&j));
        aligned = (0..n).map(|i| (0..n).map(|j| through(i, j)).collect()).collect();
    }
    let mut out = vec![0.0; n * d];
    for (i, j) in (0..n * n).map(|at| (at / n, at % n)).filter(|(i, j)| i != j) {
        let (value, slope) = pair(i, j);
        let a = if aligned[i][j] { pm[j] / c1 - qm[j] / c2 } else { p.get(i, j) / c1 - value / c2 };
        (0..d).for_each(|c| out[i * d + c] += a * slope * (y.row(i)[c] - y.row(j)[c]));
    }
    (out, c2.ln() - c1.ln())
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m, v| m.max(v.abs()))
}

fn farthest(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

#[test]
fn the_field_equals_the_double_loop_in_every_dimension() {
    // Few points, and enough for several parts of the sums over all pairs; neither is a multiple of the vector length.
    for (n, d, reach) in
        [(60, 1, 1), (60, 2, 1), (60, 2, 2), (301, 2, 1), (60, 3, 1), (90, 3, 3), (60, 5, 1), (301, 4, 1)]
    {
        let p = affinities(n, 14);
        let values: Vec<f64> = Seed(d as u64).normals(n * d).iter().map(|v| 1.3 * v + 4.0).collect();
        let y = Points::new(&values, d).unwrap();
        for kind in KINDS {
            for entropy in [EntropyWeights::All, EntropyWeights::Neighbors] {
                let k = if reach == 1 { 7 } else { 3 };
                let set = |field: MapItField| field.with_entropy(entropy).with_reach(&p, reach).unwrap();
                let mut program = set(MapItField::new(&p, k, kind, Box::new(Exact), 0.01).unwrap());
                let mut all_pairs = set(MapItField::exact(&p, k, kind).unwrap());
                let (expected, reference_value) = reference_field(&p, k, reach, kind, entropy, y);
                for program in [&mut program, &mut all_pairs] {
                    let mut field = vec![f64::NAN; n * d];
                    let value = program.evaluate(y, true, &mut field).unwrap().unwrap();
                    assert!(farthest(&field, &expected) < 1e-12 * largest(&expected), "{d} {kind:?} {entropy:?}");
                    assert!((value - reference_value).abs() < 1e-12, "{value} {reference_value}");
                }
            }
        }
    }
}

#[test]
fn sums_over_edges_have_the_same_bits_on_every_instruction_set() {
    fn check<const D: usize, const T: bool>(d: usize) {
        let (n, k) = (61, 7);
        let graph = Neighborhoods::new(&affinities(n, 14), k).unwrap();
        let (values, map_marginals) = (Seed(9).normals(n * d), Seed(10).normals(n));
        let mut buffer = PaddedPointsBuffer::default();
        let points = buffer.pad(Points::new(&values, d).unwrap());
        let ([here, there], first) = ([&graph.marginals, &map_marginals], 0);
        let [plain, own] = [true, false].map(|plain| {
            let (mut program, mut weighted, mut marginals) = (vec![0.0; 2 * n * d], vec![0.0; n * d], vec![0.0; n]);
            let out = &mut program[..];
            let map_marginals = &map_marginals;
            let rows =
                field_edges::FieldSums::<D, T> { graph: &graph, map_marginals, counted: true, points, first, out };
            let [value] = run_kernel_with(rows, plain);
            let (graph, others, out) = (&graph.near, &graph.others, &mut weighted[..]);
            let [sum] = run_kernel_with(edges::WeightedSums::<D, T> { graph, here, there, points, first, out }, plain);
            let (graph, out) = (others, &mut marginals[..]);
            let sums = run_kernel_with(edges::MarginalSums::<D, T> { graph, points, first, out }, plain);
            let all = [program, weighted, marginals, vec![value, sum, sums[0], sums[1]]].concat();
            all.iter().map(|v| v.to_bits()).collect::<Vec<u64>>()
        });
        assert_eq!(plain, own, "{d} dimensions");
    }
    check::<1, true>(1);
    check::<2, true>(2);
    check::<3, true>(3);
    check::<0, true>(5);
    check::<1, false>(1);
    check::<2, false>(2);
    check::<3, false>(3);
    check::<0, false>(5);
}

#[test]
fn fast_engines_give_the_exact_field_within_the_tolerance() {
    let n = 3000;
    let p = affinities(n, 20);
    for (kind, d, which) in [
        (SimilarityKernel::Student, 2, Engine::Fft),
        (SimilarityKernel::Student, 3, Engine::BarnesHut),
        (SimilarityKernel::Gaussian, 2, Engine::FastGauss),
    ] {
        let values: Vec<f64> = Seed(1).normals(n * d).iter().map(|v| 6.0 * v).collect();
        let y = Points::new(&values, d).unwrap();
        let mut exact = vec![0.0; n * d];
        MapItField::new(&p, 10, kind, Box::new(Exact), 0.01).unwrap().evaluate(y, true, &mut exact).unwrap();
        for tolerance in [1e-2, 1e-5] {
            let sums = new_engine(which, d, kind.squared().0).unwrap();
            let mut program = MapItField::new(&p, 10, kind, sums, tolerance).unwrap();
            program.begin_iteration(1, y, None).unwrap();
            let mut field = vec![0.0; n * d];
            program.evaluate(y, true, &mut field).unwrap();
            let squares = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>();
            let wrong: Vec<f64> = field.iter().zip(&exact).map(|(a, b)| a - b).collect();
            let error = (squares(&wrong) / squares(&exact)).sqrt();
            let (_, measured) = program.measured_error().unwrap();
            assert!(error < 2.0 * tolerance && measured <= tolerance, "{which:?}: {error} {measured} of {tolerance}");
        }
    }
}

#[test]
fn many_samples_converge_to_the_field() {
    let n = 50;
    let p = affinities(n, 8);
    let values = Seed(4).normals(n * 2);
    let y = Points::new(&values, 2).unwrap();
    for (kind, reach, k) in KINDS.into_iter().flat_map(|kind| [(kind, 1, 5), (kind, 2, 3)]) {
        let (expected, _) = reference_field(&p, k, reach, kind, EntropyWeights::All, y);
        let mut field = vec![0.0; n * 2];
        MapItField::sampled(&p, k, kind, NonNeighborSampling::new(100_000, None, Seed(5)))
            .unwrap()
            .with_reach(&p, reach)
            .unwrap()
            .evaluate(y, true, &mut field)
            .unwrap();
        assert!(farthest(&field, &expected) < 0.02 * largest(&expected), "{kind:?}");
    }
}

#[test]
fn samples_differ_between_iterations_and_are_reproducible() {
    let n = 80;
    let p = affinities(n, 8);
    let values = Seed(4).normals(n * 2);
    let y = Points::new(&values, 2).unwrap();
    let field = |iteration: usize, seed: u64| {
        let mut program =
            MapItField::sampled(&p, 5, SimilarityKernel::Student, NonNeighborSampling::new(15, None, Seed(seed)))
                .unwrap();
        program.begin_iteration(iteration, y, None).unwrap();
        let mut field = vec![0.0; n * 2];
        program.evaluate(y, true, &mut field).unwrap();
        field
    };
    assert_eq!(field(3, 1), field(3, 1));
    assert_ne!(field(3, 1), field(4, 1));
    assert_ne!(field(3, 1), field(3, 2));
}

#[test]
fn gradients_of_the_costs_match_finite_differences() {
    let n = 24;
    let p = affinities(n, 6);
    let h = f64::EPSILON.cbrt();
    for (d, kind) in [1, 2, 3, 5].into_iter().flat_map(|d| KINDS.map(|kind| (d, kind))) {
        let y: Vec<f64> = Seed(d as u64).normals(n * d).iter().map(|v| 0.7 * v + 0.3).collect();
        for cost in [MapItCost::Pairs, MapItCost::Neighborhoods, MapItCost::Marginals] {
            let mut objective = CauchySchwarzDivergence::new(cost, p.clone(), 4, kind, Box::new(Exact), 0.01).unwrap();
            let mut at = |y: &[f64]| {
                let mut gradient = vec![0.0; y.len()];
                let value = objective.evaluate(Points::new(y, d).unwrap(), true, &mut gradient).unwrap();
                (value.unwrap(), gradient)
            };
            let (value, gradient) = at(&y);
            assert!(value > 0.0, "a divergence is not negative: {value}");
            for i in 0..y.len() {
                let mut moved = |by: f64| {
                    let mut y = y.clone();
                    y[i] += by;
                    at(&y).0
                };
                let difference = (moved(h) - moved(-h)) / (2.0 * h);
                let error = (difference - gradient[i]).abs();
                assert!(error < 1e-6 * largest(&gradient), "{cost:?} {kind:?} {d}: {difference} {}", gradient[i]);
            }
            // Not at a stationary point, where a gradient of zero would pass.
            assert!(largest(&gradient) > 1e-3, "{cost:?} {kind:?} {d}");
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let n = 3000;
    let p = affinities(n, 12);
    let values: Vec<f64> = Seed(6).normals(n * 2).iter().map(|v| 5.0 * v).collect();
    let run = || {
        let y = Points::new(&values, 2).unwrap();
        let mut bits = Vec::new();
        let mut evaluate = |field: &mut dyn VectorField| {
            field.begin_iteration(1, y, None).unwrap();
            let mut out = vec![0.0; n * 2];
            let value = field.evaluate(y, true, &mut out).unwrap().unwrap();
            bits.extend(out.into_iter().chain([value]).map(f64::to_bits));
        };
        for kind in KINDS {
            let fast = || new_engine(Engine::Auto, 2, kind.squared().0).unwrap();
            evaluate(&mut MapItField::new(&p, 10, kind, fast(), 0.01).unwrap());
            evaluate(&mut MapItField::exact(&p, 10, kind).unwrap());
            evaluate(&mut MapItField::sampled(&p, 10, kind, NonNeighborSampling::new(30, None, Seed(2))).unwrap());
            for cost in [MapItCost::Pairs, MapItCost::Neighborhoods, MapItCost::Marginals] {
                evaluate(&mut CauchySchwarzDivergence::new(cost, p.clone(), 10, kind, fast(), 0.01).unwrap());
            }
        }
        bits
    };
    let one = with_threads(Some(1), run).unwrap();
    for threads in [2, 3] {
        assert_eq!(one, with_threads(Some(threads), run).unwrap());
    }
}

#[test]
fn coinciding_and_distant_points_keep_the_fields_finite() {
    let n = 40;
    let p = affinities(n, 6);
    for size in [0.0, 1e-300, 1e3, 1e30] {
        let values: Vec<f64> = Seed(7).normals(n * 2).iter().map(|v| size * v).collect();
        let y = Points::new(&values, 2).unwrap();
        for kind in KINDS {
            let mut fields: Vec<Box<dyn VectorField>> = vec![
                Box::new(MapItField::new(&p, 5, kind, Box::new(Exact), 0.01).unwrap()),
                Box::new(MapItField::exact(&p, 5, kind).unwrap()),
                Box::new(MapItField::sampled(&p, 5, kind, NonNeighborSampling::new(15, None, Seed(1))).unwrap()),
            ];
            for cost in [MapItCost::Pairs, MapItCost::Neighborhoods, MapItCost::Marginals] {
                fields.push(Box::new(
                    CauchySchwarzDivergence::new(cost, p.clone(), 5, kind, Box::new(Exact), 0.01).unwrap(),
                ));
            }
            for field in &mut fields {
                let mut out = vec![f64::NAN; n * 2];
                field.evaluate(y, true, &mut out).unwrap();
                assert!(out.iter().all(|v| v.is_finite()), "{kind:?} at size {size}");
            }
        }
    }
}
