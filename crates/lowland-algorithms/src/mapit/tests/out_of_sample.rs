//! Transformed points are at a minimum of their criterion.

use super::super::*;
use super::{KINDS, largest};
use crate::affinity::joint_affinities;
use crate::objective::VectorField;
use crate::out_of_sample::{MapSums, OutOfSampleObjective};
use lowland_core::{Points, Seed};
use lowland_linalg::Csr;
use lowland_nbody::Exact;

#[test]
fn the_field_vanishes_at_a_transformed_point() {
    let n = 200;
    let values: Vec<f64> = Seed(1).normals(n * 2).iter().map(|v| 2.0 * v).collect();
    let map = Points::new(&values, 2).unwrap();
    // Neighbors are close in the map, as in a fitted one.
    let entries = (0..30u32).flat_map(|row| {
        let here = map.row(row as usize * 6);
        let mut order: Vec<u32> = (0..n as u32).collect();
        let square = |j: u32| here.iter().zip(map.row(j as usize)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        order.sort_by(|&a, &b| square(a).total_cmp(&square(b)));
        order.into_iter().take(8).enumerate().map(move |(at, j)| (row, j, 0.05 + 0.02 * (8 - at) as f64))
    });
    let rows = Csr::from_triplets(30, n, entries.collect::<Vec<_>>()).unwrap();
    let (p, q) = (vec![0.004; n], vec![3.0; n]);
    let pairs = (0..n as u32).flat_map(|i| [(i, (i + 1) % n as u32, 1.0), (i, (i + 7) % n as u32, 1.0)]);
    let neighborhoods = Csr::from_triplets(n, n, pairs).unwrap();
    for (kind, reach) in KINDS.into_iter().flat_map(|kind| [(kind, 1), (kind, 2)]) {
        let entropies = [0.7, 6000.0];
        let neighborhoods = (reach > 1).then(|| neighborhoods.clone());
        let state = MapItFittedState { marginals: [p.clone(), q.clone()], entropies, neighborhoods };
        let transform = MapItTransform { map, similarity: kind, state: &state, k: 5, reach, cost: None };
        let transformed = transform.coordinates(&rows, MapSums::Exact, &mut |_| Ok(())).unwrap();
        for row in 0..30 {
            let here = &transformed[2 * row..2 * row + 2];
            let (columns, weights) = rows.row(row);
            let mut order: Vec<usize> = (0..8).collect();
            order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
            let mut near: Vec<u32> = order[..5].iter().map(|&at| columns[at]).collect();
            if reach == 2 {
                let size = n as u32;
                near = near.into_iter().flat_map(|j| [j, (j + 1) % size, (j + 7) % size]).collect();
            }
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
            assert!(field[0].hypot(field[1]) < 1e-4 * size, "{kind:?} reach {reach} row {row}: {field:?} of {size}");
        }
        let one = Csr::from_triplets(1, n, rows.iter().filter(|e| e.0 == 7).map(|e| (0, e.1 as u32, e.2))).unwrap();
        assert_eq!(transform.coordinates(&one, MapSums::Exact, &mut |_| Ok(())).unwrap(), transformed[14..16]);
    }
}

#[test]
fn a_transformed_point_minimizes_the_cost_of_the_map_with_one_more_point() {
    let n = 120;
    let values: Vec<f64> = Seed(2).normals(n * 2).iter().map(|v| 1.5 * v).collect();
    let map = Points::new(&values, 2).unwrap();
    let order = |here: &[f64]| {
        let mut order: Vec<usize> = (0..n).collect();
        let square = |j: usize| here.iter().zip(map.row(j)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        order.sort_by(|&a, &b| square(a).total_cmp(&square(b)));
        order
    };
    // Neighbors in the map are approximately the neighbors in the data.
    let links = (0..n).flat_map(|i| order(map.row(i))[1..13].to_vec().into_iter().map(move |j| (i as u32, j as u32)));
    let links: Vec<_> = links.map(|(i, j)| (i, j, 1.0 + f64::from((i * 7 + j) % 5))).collect();
    let p = joint_affinities(Csr::from_triplets(n, n, links).unwrap()).unwrap();
    let rows = (0..9u32).flat_map(|row| {
        let near = order(map.row(row as usize * 13))[..8].to_vec();
        near.into_iter().enumerate().map(move |(at, j)| (row, j as u32, (8 - at) as f64 / 36.0))
    });
    let rows = Csr::from_triplets(9, n, rows.collect::<Vec<_>>()).unwrap();
    let k = 5;
    for (kind, cost) in
        KINDS.into_iter().flat_map(|kind| [MapItCost::Pairs, MapItCost::Marginals].map(|cost| (kind, cost)))
    {
        let engine = || Box::new(Exact);
        let state =
            CauchySchwarzDivergence::new(cost, p.clone(), k, kind, engine(), 0.01).unwrap().fitted_state(map).unwrap();
        let transform = MapItTransform { map, similarity: kind, state: &state, k, reach: 1, cost: Some(cost) };
        let transformed = transform.coordinates(&rows, MapSums::Exact, &mut |_| Ok(())).unwrap();
        for row in 0..9 {
            // The same cost with the new point as the last.
            let new = rows
                .iter()
                .filter(|e| e.0 == row)
                .flat_map(|(_, j, w)| [(n as u32, j as u32, w / n as f64), (j as u32, n as u32, w / n as f64)]);
            let old = p.iter().map(|(i, j, w)| (i as u32, j as u32, w));
            let all = Csr::from_triplets(n + 1, n + 1, old.chain(new).collect::<Vec<_>>()).unwrap();
            let mut whole = CauchySchwarzDivergence::new(cost, all, k, kind, engine(), 0.01).unwrap();
            let mut at = |point: &[f64]| {
                let y = [&values[..], point].concat();
                let mut gradient = vec![0.0; y.len()];
                let value = whole.evaluate(Points::new(&y, 2).unwrap(), true, &mut gradient).unwrap().unwrap();
                (value, gradient[2 * n..].to_vec())
            };
            let here = &transformed[2 * row..2 * row + 2];
            let (least, gradient) = at(here);
            let typical = largest(&at(&[here[0] + 0.3, here[1]]).1);
            assert!(largest(&gradient) < 1e-4 * typical, "{cost:?} {kind:?} row {row}: {gradient:?} of {typical}");
            for (x, y) in [(0.01, 0.0), (-0.01, 0.0), (0.0, 0.01), (0.0, -0.01)] {
                assert!(at(&[here[0] + x, here[1] + y]).0 > least, "{cost:?} {kind:?} row {row}");
            }
            let one = Csr::from_triplets(1, n, rows.iter().filter(|e| e.0 == row).map(|e| (0, e.1 as u32, e.2)));
            assert_eq!(transform.coordinates(&one.unwrap(), MapSums::Exact, &mut |_| Ok(())).unwrap(), here);
        }
    }
}

#[test]
fn a_point_transformed_by_the_neighborhood_cost_has_the_optimal_marginal_if_it_is_attainable() {
    let n = 60;
    let values: Vec<f64> = Seed(3).normals(n * 2);
    let map = Points::new(&values, 2).unwrap();
    let row = Csr::from_triplets(1, n, (0..8u32).map(|j| (0, j, f64::from(8 - j) / 36.0))).unwrap();
    let marginal: f64 = (4..9).map(|w| f64::from(w) / 36.0).sum::<f64>() / n as f64;
    for kind in KINDS {
        let similar = |point: &[f64]| {
            let square = |j: usize| point.iter().zip(map.row(j)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
            (0..5).map(|j| kind.value_and_slope(square(j)).0).sum::<f64>()
        };
        // With c2 / c1 so small, and so large, that the optimal marginal is attainable, and not.
        for (wanted, reach) in [(0.8, true), (100.0, false)] {
            let state = MapItFittedState {
                marginals: [vec![0.0; n], vec![0.0; n]],
                entropies: [marginal * 1e3, wanted * 1e3],
                neighborhoods: None,
            };
            let cost = Some(MapItCost::Neighborhoods);
            let transform = MapItTransform { map, similarity: kind, state: &state, k: 5, reach: 1, cost };
            let transformed = transform.coordinates(&row, MapSums::Exact, &mut |_| Ok(())).unwrap();
            let found = similar(&transformed);
            if reach {
                assert!((found - wanted).abs() < 1e-3 * wanted, "{kind:?}: {found} of {wanted}");
            } else {
                // A local maximum of the marginal.
                let around = [(0.01, 0.0), (-0.01, 0.0), (0.0, 0.01), (0.0, -0.01)];
                assert!(
                    around.iter().all(|(x, y)| similar(&[transformed[0] + x, transformed[1] + y]) < found),
                    "{kind:?}"
                );
            }
        }
    }
}
