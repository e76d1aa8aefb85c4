//! MAP IT against the double loop over all pairs, and its costs against finite differences.

use super::*;
use crate::affinity::joint;
use lowland_core::simd::run_kernel_with;
use lowland_core::{Seed, with_threads};
use lowland_nbody::{Engine, Exact, new_engine};

/// Affinities on `n` points that are neither regular nor complete.
fn affinities(n: usize, links: u32) -> Csr {
    let links = (0..n as u32)
        .flat_map(|i| (1..=links).map(move |k| (i, (i * 5 + k * k + 1) % n as u32, 1.0 / f64::from(k + i % 3))));
    joint(Csr::from_triplets(n, n, links.filter(|(i, j, _)| i != j)).unwrap()).unwrap()
}

const KINDS: [Similarity; 2] = [Similarity::Student, Similarity::Gaussian];

/// The program as the notes have it, pair by pair; with the entropy weights over neighbours if asked.
fn slow(p: &Csr, k: usize, kind: Similarity, entropy: EntropyWeights, y: Points) -> (Vec<f64>, f64) {
    let (n, d) = (y.rows(), y.dim());
    let pair = |i: usize, j: usize| {
        let s: f64 = y.row(i).iter().zip(y.row(j)).map(|(a, b)| (a - b) * (a - b)).sum();
        if kind == Similarity::Student { (1.0 / (1.0 + s), 1.0 / (1.0 + s).powi(2)) } else { ((-s).exp(), (-s).exp()) }
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
    let mut out = vec![0.0; n * d];
    for (i, j) in (0..n * n).map(|at| (at / n, at % n)).filter(|(i, j)| i != j) {
        let (value, slope) = pair(i, j);
        let a = if near[i].contains(&j) { pm[j] / c1 - qm[j] / c2 } else { p.get(i, j) / c1 - value / c2 };
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
fn the_program_is_the_double_loop_in_every_dimension() {
    // Few points, and enough for several parts of the sums over all pairs; neither a whole number of vectors.
    for (n, d) in [(60, 1), (60, 2), (301, 2), (60, 3), (60, 5), (301, 4)] {
        let p = affinities(n, 14);
        let values: Vec<f64> = Seed(d as u64).normals(n * d).iter().map(|v| 1.3 * v + 4.0).collect();
        let y = Points::new(&values, d).unwrap();
        for kind in KINDS {
            for entropy in [EntropyWeights::All, EntropyWeights::Neighbors] {
                let mut program = MapIt::new(&p, 7, kind, Box::new(Exact), 0.01).unwrap().with_entropy(entropy);
                let mut all_pairs = MapIt::exact(&p, 7, kind).unwrap().with_entropy(entropy);
                let (expected, slow_value) = slow(&p, 7, kind, entropy, y);
                for program in [&mut program, &mut all_pairs] {
                    let mut field = vec![f64::NAN; n * d];
                    let value = program.field(y, true, &mut field).unwrap().unwrap();
                    assert!(farthest(&field, &expected) < 1e-12 * largest(&expected), "{d} {kind:?} {entropy:?}");
                    assert!((value - slow_value).abs() < 1e-12, "{value} {slow_value}");
                }
            }
        }
    }
}

#[test]
fn sums_over_edges_have_the_same_bits_by_every_machine() {
    fn check<const D: usize, const T: bool>(d: usize) {
        let (n, k) = (61, 7);
        let graph = Neighborhoods::new(&affinities(n, 14), k).unwrap();
        let (values, map_marginals) = (Seed(9).normals(n * d), Seed(10).normals(n));
        let mut room = Room::default();
        let places = room.places(Points::new(&values, d).unwrap());
        let ([here, there], first) = ([&graph.marginals, &map_marginals], 0);
        let [plain, own] = [true, false].map(|plain| {
            let (mut program, mut weighted, mut marginals) = (vec![0.0; 2 * n * d], vec![0.0; n * d], vec![0.0; n]);
            let out = &mut program[..];
            let map_marginals = &map_marginals;
            let rows = program::Rows::<D, T> { graph: &graph, map_marginals, counted: true, places, first, out };
            let [value] = run_kernel_with(rows, plain);
            let (graph, others, out) = (&graph.near, &graph.others, &mut weighted[..]);
            let [sum] = run_kernel_with(edges::WeightedRows::<D, T> { graph, here, there, places, first, out }, plain);
            let (graph, out) = (others, &mut marginals[..]);
            let sums = run_kernel_with(edges::MarginalRows::<D, T> { graph, places, first, out }, plain);
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
        (Similarity::Student, 2, Engine::Fft),
        (Similarity::Student, 3, Engine::BarnesHut),
        (Similarity::Gaussian, 2, Engine::FastGauss),
    ] {
        let values: Vec<f64> = Seed(1).normals(n * d).iter().map(|v| 6.0 * v).collect();
        let y = Points::new(&values, d).unwrap();
        let mut exact = vec![0.0; n * d];
        MapIt::new(&p, 10, kind, Box::new(Exact), 0.01).unwrap().field(y, true, &mut exact).unwrap();
        for tolerance in [1e-2, 1e-5] {
            let sums = new_engine(which, d, kind.squared().0).unwrap();
            let mut program = MapIt::new(&p, 10, kind, sums, tolerance).unwrap();
            program.prepare(1, y, None).unwrap();
            let mut field = vec![0.0; n * d];
            program.field(y, true, &mut field).unwrap();
            let squares = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>();
            let wrong: Vec<f64> = field.iter().zip(&exact).map(|(a, b)| a - b).collect();
            let error = (squares(&wrong) / squares(&exact)).sqrt();
            let (_, measured) = program.measured().unwrap();
            assert!(error < 2.0 * tolerance && measured <= tolerance, "{which:?}: {error} {measured} of {tolerance}");
        }
    }
}

#[test]
fn all_non_neighbours_drawn_many_times_give_the_field() {
    let n = 50;
    let p = affinities(n, 8);
    let values = Seed(4).normals(n * 2);
    let y = Points::new(&values, 2).unwrap();
    for kind in KINDS {
        let (expected, _) = slow(&p, 5, kind, EntropyWeights::All, y);
        let mut field = vec![0.0; n * 2];
        MapIt::sampled(&p, 5, kind, Sampling::new(100_000, None, Seed(5))).unwrap().field(y, true, &mut field).unwrap();
        assert!(farthest(&field, &expected) < 0.02 * largest(&expected), "{kind:?}");
    }
}

#[test]
fn a_sample_is_drawn_anew_at_every_iteration_and_repeats_with_its_seed() {
    let n = 80;
    let p = affinities(n, 8);
    let values = Seed(4).normals(n * 2);
    let y = Points::new(&values, 2).unwrap();
    let field = |iteration: usize, seed: u64| {
        let mut program = MapIt::sampled(&p, 5, Similarity::Student, Sampling::new(15, None, Seed(seed))).unwrap();
        program.prepare(iteration, y, None).unwrap();
        let mut field = vec![0.0; n * 2];
        program.field(y, true, &mut field).unwrap();
        field
    };
    assert_eq!(field(3, 1), field(3, 1));
    assert_ne!(field(3, 1), field(4, 1));
    assert_ne!(field(3, 1), field(3, 2));
}

#[test]
fn gradients_of_the_costs_are_those_of_the_values() {
    let n = 24;
    let p = affinities(n, 6);
    let h = f64::EPSILON.cbrt();
    for (d, kind) in [1, 2, 3, 5].into_iter().flat_map(|d| KINDS.map(|kind| (d, kind))) {
        let y: Vec<f64> = Seed(d as u64).normals(n * d).iter().map(|v| 0.7 * v + 0.3).collect();
        for cost in [Cost::Pairs, Cost::Neighborhoods, Cost::Marginals] {
            let mut objective = CauchySchwarz::new(cost, p.clone(), 4, kind, Box::new(Exact), 0.01).unwrap();
            let mut at = |y: &[f64]| {
                let mut gradient = vec![0.0; y.len()];
                let value = objective.field(Points::new(y, d).unwrap(), true, &mut gradient).unwrap();
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
fn the_bytes_do_not_depend_on_the_number_of_threads() {
    let n = 3000;
    let p = affinities(n, 12);
    let values: Vec<f64> = Seed(6).normals(n * 2).iter().map(|v| 5.0 * v).collect();
    let run = || {
        let y = Points::new(&values, 2).unwrap();
        let mut bits = Vec::new();
        let mut look = |field: &mut dyn Field| {
            field.prepare(1, y, None).unwrap();
            let mut out = vec![0.0; n * 2];
            let value = field.field(y, true, &mut out).unwrap().unwrap();
            bits.extend(out.into_iter().chain([value]).map(f64::to_bits));
        };
        for kind in KINDS {
            let fast = || new_engine(Engine::Auto, 2, kind.squared().0).unwrap();
            look(&mut MapIt::new(&p, 10, kind, fast(), 0.01).unwrap());
            look(&mut MapIt::exact(&p, 10, kind).unwrap());
            look(&mut MapIt::sampled(&p, 10, kind, Sampling::new(30, None, Seed(2))).unwrap());
            for cost in [Cost::Pairs, Cost::Neighborhoods, Cost::Marginals] {
                look(&mut CauchySchwarz::new(cost, p.clone(), 10, kind, fast(), 0.01).unwrap());
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
fn points_in_one_place_or_far_apart_keep_the_fields_finite() {
    let n = 40;
    let p = affinities(n, 6);
    for size in [0.0, 1e-300, 1e3, 1e30] {
        let values: Vec<f64> = Seed(7).normals(n * 2).iter().map(|v| size * v).collect();
        let y = Points::new(&values, 2).unwrap();
        for kind in KINDS {
            let mut fields: Vec<Box<dyn Field>> = vec![
                Box::new(MapIt::new(&p, 5, kind, Box::new(Exact), 0.01).unwrap()),
                Box::new(MapIt::exact(&p, 5, kind).unwrap()),
                Box::new(MapIt::sampled(&p, 5, kind, Sampling::new(15, None, Seed(1))).unwrap()),
            ];
            for cost in [Cost::Pairs, Cost::Neighborhoods, Cost::Marginals] {
                fields.push(Box::new(CauchySchwarz::new(cost, p.clone(), 5, kind, Box::new(Exact), 0.01).unwrap()));
            }
            for field in &mut fields {
                let mut out = vec![f64::NAN; n * 2];
                field.field(y, true, &mut out).unwrap();
                assert!(out.iter().all(|v| v.is_finite()), "{kind:?} at size {size}");
            }
        }
    }
}

#[test]
fn a_placed_point_is_at_a_minimum_where_the_programs_field_on_it_is_zero() {
    let n = 200;
    let values: Vec<f64> = Seed(1).normals(n * 2).iter().map(|v| 2.0 * v).collect();
    let map = Points::new(&values, 2).unwrap();
    // Neighbours are near in the map, as they are once it is made.
    let entries = (0..30u32).flat_map(|row| {
        let here = map.row(row as usize * 6);
        let mut order: Vec<u32> = (0..n as u32).collect();
        let square = |j: u32| here.iter().zip(map.row(j as usize)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        order.sort_by(|&a, &b| square(a).total_cmp(&square(b)));
        order.into_iter().take(8).enumerate().map(move |(at, j)| (row, j, 0.05 + 0.02 * (8 - at) as f64))
    });
    let rows = Csr::from_triplets(30, n, entries.collect::<Vec<_>>()).unwrap();
    let (p, q) = (vec![0.004; n], vec![3.0; n]);
    for kind in KINDS {
        let entropies = [0.7, 6000.0];
        let frozen = MapItFrozen { marginals: [p.clone(), q.clone()], entropies };
        let placement = MapItPlacement { map, similarity: kind, frozen: &frozen, k: 5, cost: None };
        let placed = placement.place(&rows, &mut Exact, &mut |_| Ok(())).unwrap();
        for row in 0..30 {
            let here = &placed[2 * row..2 * row + 2];
            let (columns, weights) = rows.row(row);
            let mut order: Vec<usize> = (0..8).collect();
            order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
            let near: Vec<u32> = order[..5].iter().map(|&at| columns[at]).collect();
            let (mut field, mut size) = ([0.0; 2], 0.0);
            for j in 0..n {
                let s: f64 = here.iter().zip(map.row(j)).map(|(a, b)| (a - b) * (a - b)).sum();
                let (value, slope) = kind.value_and_slope(s);
                let affinity = columns.iter().position(|&c| c == j as u32).map_or(0.0, |at| weights[at] / n as f64);
                let a = if near.contains(&(j as u32)) {
                    p[j] / entropies[0] - q[j] / entropies[1]
                } else {
                    affinity / entropies[0] - value / entropies[1]
                };
                (0..2).for_each(|c| field[c] += a * slope * (here[c] - map.row(j)[c]));
                size += (a * slope).abs() * s.sqrt();
            }
            assert!(field[0].hypot(field[1]) < 1e-4 * size, "{kind:?} row {row}: {field:?} of {size}");
        }
        let one = Csr::from_triplets(1, n, rows.iter().filter(|e| e.0 == 7).map(|e| (0, e.1 as u32, e.2))).unwrap();
        assert_eq!(placement.place(&one, &mut Exact, &mut |_| Ok(())).unwrap(), placed[14..16]);
    }
}

#[test]
fn a_point_placed_by_a_cost_is_at_a_minimum_of_that_cost_of_one_point_more() {
    let n = 120;
    let values: Vec<f64> = Seed(2).normals(n * 2).iter().map(|v| 1.5 * v).collect();
    let map = Points::new(&values, 2).unwrap();
    let order = |here: &[f64]| {
        let mut order: Vec<usize> = (0..n).collect();
        let square = |j: usize| here.iter().zip(map.row(j)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        order.sort_by(|&a, &b| square(a).total_cmp(&square(b)));
        order
    };
    // Neighbours in the map are neighbours in the data, more or less.
    let links = (0..n).flat_map(|i| order(map.row(i))[1..13].to_vec().into_iter().map(move |j| (i as u32, j as u32)));
    let links: Vec<_> = links.map(|(i, j)| (i, j, 1.0 + f64::from((i * 7 + j) % 5))).collect();
    let p = joint(Csr::from_triplets(n, n, links).unwrap()).unwrap();
    let rows = (0..9u32).flat_map(|row| {
        let near = order(map.row(row as usize * 13))[..8].to_vec();
        near.into_iter().enumerate().map(move |(at, j)| (row, j as u32, (8 - at) as f64 / 36.0))
    });
    let rows = Csr::from_triplets(9, n, rows.collect::<Vec<_>>()).unwrap();
    let k = 5;
    for (kind, cost) in KINDS.into_iter().flat_map(|kind| [Cost::Pairs, Cost::Marginals].map(|cost| (kind, cost))) {
        let engine = || Box::new(Exact);
        let frozen = CauchySchwarz::new(cost, p.clone(), k, kind, engine(), 0.01).unwrap().frozen(map).unwrap();
        let placement = MapItPlacement { map, similarity: kind, frozen: &frozen, k, cost: Some(cost) };
        let placed = placement.place(&rows, &mut Exact, &mut |_| Ok(())).unwrap();
        for row in 0..9 {
            // The same cost with the new point as the last.
            let new = rows
                .iter()
                .filter(|e| e.0 == row)
                .flat_map(|(_, j, w)| [(n as u32, j as u32, w / n as f64), (j as u32, n as u32, w / n as f64)]);
            let old = p.iter().map(|(i, j, w)| (i as u32, j as u32, w));
            let all = Csr::from_triplets(n + 1, n + 1, old.chain(new).collect::<Vec<_>>()).unwrap();
            let mut whole = CauchySchwarz::new(cost, all, k, kind, engine(), 0.01).unwrap();
            let mut at = |place: &[f64]| {
                let y = [&values[..], place].concat();
                let mut gradient = vec![0.0; y.len()];
                let value = whole.field(Points::new(&y, 2).unwrap(), true, &mut gradient).unwrap().unwrap();
                (value, gradient[2 * n..].to_vec())
            };
            let here = &placed[2 * row..2 * row + 2];
            let (least, gradient) = at(here);
            let typical = largest(&at(&[here[0] + 0.3, here[1]]).1);
            assert!(largest(&gradient) < 1e-4 * typical, "{cost:?} {kind:?} row {row}: {gradient:?} of {typical}");
            for (x, y) in [(0.01, 0.0), (-0.01, 0.0), (0.0, 0.01), (0.0, -0.01)] {
                assert!(at(&[here[0] + x, here[1] + y]).0 > least, "{cost:?} {kind:?} row {row}");
            }
            let one = Csr::from_triplets(1, n, rows.iter().filter(|e| e.0 == row).map(|e| (0, e.1 as u32, e.2)));
            assert_eq!(placement.place(&one.unwrap(), &mut Exact, &mut |_| Ok(())).unwrap(), here);
        }
    }
}

#[test]
fn a_point_placed_by_its_neighbourhood_has_the_marginal_that_the_cost_asks_for_if_any_place_has() {
    let n = 60;
    let values: Vec<f64> = Seed(3).normals(n * 2);
    let map = Points::new(&values, 2).unwrap();
    let row = Csr::from_triplets(1, n, (0..8u32).map(|j| (0, j, f64::from(8 - j) / 36.0))).unwrap();
    let marginal: f64 = (4..9).map(|w| f64::from(w) / 36.0).sum::<f64>() / n as f64;
    for kind in KINDS {
        let similar = |place: &[f64]| {
            let square = |j: usize| place.iter().zip(map.row(j)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
            (0..5).map(|j| kind.value_and_slope(square(j)).0).sum::<f64>()
        };
        // With c2 / c1 so small, and so large, that the marginal wanted is within reach, and out of it.
        for (wanted, reach) in [(0.8, true), (100.0, false)] {
            let frozen =
                MapItFrozen { marginals: [vec![0.0; n], vec![0.0; n]], entropies: [marginal * 1e3, wanted * 1e3] };
            let cost = Some(Cost::Neighborhoods);
            let placement = MapItPlacement { map, similarity: kind, frozen: &frozen, k: 5, cost };
            let placed = placement.place(&row, &mut Exact, &mut |_| Ok(())).unwrap();
            let found = similar(&placed);
            if reach {
                assert!((found - wanted).abs() < 1e-3 * wanted, "{kind:?}: {found} of {wanted}");
            } else {
                // As much as there is to be had near by.
                let around = [(0.01, 0.0), (-0.01, 0.0), (0.0, 0.01), (0.0, -0.01)];
                assert!(around.iter().all(|(x, y)| similar(&[placed[0] + x, placed[1] + y]) < found), "{kind:?}");
            }
        }
    }
}
