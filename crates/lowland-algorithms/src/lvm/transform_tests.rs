//! Compares new points with what the same points are in a fit.

use super::coarse_graining::{CoarseGraining, Division, random_landmarks};
use super::new_edges::NewEdges;
use super::new_point::{NewPoint, UpdateSteps};
use super::tests::{clouds, edges, no_progress};
use super::*;
use crate::point_loss::PointLoss;
use crate::point_loss::tests::check_derivatives;
use lowland_core::run::Stepper;
use lowland_core::{Data, Metric, Points, Seed};
use lowland_neighbors::graph::{edge_lengths, minimum_spanning_forest, mutual_reach, undirected_edges};
use lowland_neighbors::{NeighborGraph, NeighborParams, distance, nearest_to_with, nearest_with};

const NEIGHBORS: usize = 6;

fn neighbor_graph(data: &Data) -> NeighborGraph {
    let params = NeighborParams { n_neighbors: NEIGHBORS, ..NeighborParams::default() };
    nearest_with(data, &params, &mut no_progress).unwrap().graph
}

fn fitted(data: &Data, levels: usize, reach: usize, iterations: usize) -> LvmState {
    let options = PairOptions { levels, landmarks: None, adjacency: AdjacencyRule::Directed, seed: Seed(1) };
    let graph = edges(data, NEIGHBORS, reach);
    let pairs = TrainingPairs::new(data, Metric::Euclidean, &graph, options, &mut no_progress).unwrap();
    let means = Seed(2).normals(2 * data.rows()).iter().map(|v| 0.1 * v).collect();
    let variances = pairs.initial_variances(2);
    let mut em = LvmEm::new(pairs, means, variances, 2, EmOptions::default()).unwrap();
    (0..iterations).for_each(|_| {
        em.step().unwrap();
    });
    LvmState::new(&em, &neighbor_graph(data), reach)
}

/// The edges of row `i` of `new` and its distances to the points.
fn new_edges(model: &LvmState, new: &Data, i: usize, data: &Data, reach: usize) -> NewEdges {
    let near = nearest_to_with(new, data, NEIGHBORS, Metric::Euclidean, &mut no_progress).unwrap();
    let (neighbors, distances) = near.row(i);
    NewEdges::new(model, neighbors, distances, reach, |j| distance(new, i, data, j as usize, Metric::Euclidean))
}

fn placed(model: &LvmState, new: &Data, i: usize, data: &Data, steps: UpdateSteps) -> NewPoint {
    let mut point = NewPoint::default();
    let edges = new_edges(model, new, i, data, 1);
    let to = |j: u32| distance(new, i, data, j as usize, Metric::Euclidean);
    point.set_pairs(model, &edges, AdjacencyRule::Directed, to);
    point.fit(model, steps);
    point
}

#[test]
fn mean_and_variance_of_new_points_are_stationary() {
    let (data, new) = (clouds(300, 4, 1), clouds(30, 4, 2));
    let iterations = 300;
    for levels in [0, 1, 2] {
        let model = fitted(&data, levels, 1, iterations);
        for i in 0..new.rows() {
            let mut point = placed(&model, &new, i, &data, UpdateSteps::Single);
            let (variance, weight) = (point.variance, point.total_weight());
            let h = 1e-4;
            // Changes of a coordinate by fractions of the standard deviation, and of the logarithm of the variance.
            let mut slope = |change: &dyn Fn(&mut NewPoint, f64)| {
                let (mean, mut at) = (point.mean.clone(), [0.0; 2]);
                for (value, by) in at.iter_mut().zip([h, -h]) {
                    change(&mut point, by);
                    *value = point.log_likelihood(&model);
                    (point.mean, point.variance) = (mean.clone(), variance);
                }
                (at[0] - at[1]) / (2.0 * h)
            };
            for c in 0..2 {
                let by_mean = slope(&|point, by| point.mean[c] += by * point.variance.sqrt());
                assert!(by_mean.abs() < 2e-3 * weight, "{levels} levels, row {i}: {by_mean} of {weight}");
            }
            // Where the likelihood has its supremum at a variance of zero, the variance is the inverse of the number of
            // updates and so is its relative change: 2 / d times this slope by the weight.
            let by_variance = slope(&|point, by| point.variance *= by.exp());
            let bound = 1.5 / iterations as f64 * weight;
            assert!(by_variance.abs() < bound, "{levels} levels, row {i}: {by_variance}, {bound}");
        }
    }
}

#[test]
fn steps_over_several_updates_end_where_single_updates_end() {
    let (data, new) = (clouds(300, 4, 1), clouds(60, 4, 2));
    for (levels, iterations) in [(0, 300), (1, 1000), (2, 40)] {
        let model = fitted(&data, levels, 1, iterations);
        let mut differences = Vec::new();
        for i in 0..new.rows() {
            let [single, growing] =
                [UpdateSteps::Single, UpdateSteps::Growing].map(|steps| placed(&model, &new, i, &data, steps));
            let moved: f64 = single.mean.iter().zip(&growing.mean).map(|(a, b)| (a - b).powi(2)).sum();
            assert!((single.variance / growing.variance).ln().abs() < 0.05, "row {i}");
            differences.push((moved / single.variance).sqrt());
        }
        differences.sort_unstable_by(f64::total_cmp);
        assert!(differences[30] < 0.02 && differences[57] < 0.2, "{levels} levels: {differences:?}");
    }
}

#[test]
fn gradients_of_new_points_match_finite_differences() {
    let (data, new) = (clouds(200, 4, 1), clouds(10, 4, 2));
    // Few iterations, so that the points are not stationary.
    let model = fitted(&data, 2, 1, 3);
    for i in 0..new.rows() {
        let mut point = placed(&model, &new, i, &data, UpdateSteps::Single);
        let (gradient, _) = point.mean_gradient(&model);
        let by_variance = point.variance_change(&model) * point.total_weight();
        let mut slope = |change: &dyn Fn(&mut NewPoint, f64)| {
            let (start, mut at) = ((point.mean.clone(), point.variance), [0.0; 2]);
            for (value, by) in at.iter_mut().zip([1e-5, -1e-5]) {
                change(&mut point, by);
                *value = point.log_likelihood(&model);
                (point.mean, point.variance) = start.clone();
            }
            (at[0] - at[1]) / 2e-5
        };
        for (c, expected) in gradient.iter().enumerate() {
            let found = slope(&|point, by| point.mean[c] += by);
            assert!((found - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{found} {expected}");
        }
        let found = slope(&|point, by| point.variance *= by.exp());
        assert!((found - by_variance).abs() < 1e-5 * (1.0 + found.abs()), "{found} {by_variance}");
        assert!(found.abs() > 1e-2, "the fixture is stationary");
    }
}

#[test]
fn new_points_have_the_edges_they_have_in_a_fit() {
    let all = clouds(121, 4, 3);
    let others: Vec<usize> = (0..120).collect();
    let mut longer = 0;
    for row in 0..40 {
        // One row at a time is new.
        let mut rows = others.clone();
        rows[row] = 120;
        let (data, new) = (all.select(&rows), all.select(&[row]));
        let complete = all.select(&[rows.as_slice(), &[row]].concat());
        let graph = neighbor_graph(&complete);
        let lengths = edge_lengths(&graph).unwrap();
        let tree = minimum_spanning_forest(121, undirected_edges(&lengths)).unwrap();
        for reach in 1..4 {
            let expected = mutual_reach(&lengths, &tree, reach).unwrap();
            let in_tree = |j: u32| tree.iter().any(|edge| (edge.from.min(edge.to), edge.from.max(edge.to)) == (j, 120));
            let nearest = graph.row(120).0[0];
            // The tree is known only as far as the nearest neighbor.
            let is_known = |j: &u32| j == &nearest || !in_tree(*j);
            let model = fitted(&data, 1, reach, 1);
            let found = new_edges(&model, &new, 0, &data, reach);
            let mut outgoing: Vec<u32> = found.outgoing.iter().map(|edge| edge.0).filter(is_known).collect();
            outgoing.sort_unstable();
            let kept: Vec<u32> = expected.row(120).0.iter().copied().filter(is_known).collect();
            assert_eq!(outgoing, kept, "row {row}, reach {reach}");
            let incoming: Vec<u32> = found.incoming.iter().map(|edge| edge.0).filter(|&j| !in_tree(j)).collect();
            let kept: Vec<u32> = (0..120).filter(|&j| !in_tree(j) && expected.get(j as usize, 120) > 0.0).collect();
            assert_eq!(incoming, kept, "row {row}, reach {reach}");
            let at_one = new_edges(&model, &new, 0, &data, 1);
            longer += usize::from(found != at_one);
        }
    }
    assert!(longer > 40, "the reach makes a difference for {longer}");
}

#[test]
fn new_points_have_the_landmarks_of_fitted_points() {
    let n = 400;
    let data = clouds(n, 4, 5);
    let distances = BoundedDistance { data: &data, metric: Metric::Euclidean, max: 1e9, min: 0.0 };
    for levels in 0..4 {
        let points = DissimilarGroup {
            members: (0..n as u32).collect(),
            row_scales: vec![1.0; n],
            column_scales: vec![0.0; n],
            counts: vec![1.0; n],
            of_points: true,
        };
        let division = Division { distances, landmark_ratio: 0.3, choose: &random_landmarks, unit: 1.0 };
        let mut coarse = CoarseGraining::default();
        coarse.divide(points, levels, &division, Seed(3), &mut no_progress).unwrap();
        let mut several = 0;
        for i in 0..n as u32 {
            let mut found = Vec::new();
            let to = |j: u32| distance(&data, i as usize, &data, j as usize, Metric::Euclidean);
            let cell = coarse.tree.descend(to, |landmark, length| found.push((landmark, length)));
            assert!(cell.contains(&i));
            // A landmark also has links to landmarks of landmarks.
            if found.iter().any(|entry| entry.0 == i) {
                continue;
            }
            let links = coarse.links.iter().filter(|link| link.member == i);
            assert_eq!(found, links.map(|link| (link.landmark, link.distance)).collect::<Vec<_>>(), "{levels} {i}");
            several += usize::from(found.len() > 1);
        }
        assert_eq!(several > 50, levels > 1, "{several} points with several landmarks at {levels} levels");
    }
}

#[test]
fn losses_of_fitted_points_have_their_derivatives_and_minima_near_the_means() {
    let data = clouds(300, 4, 1);
    for (levels, reach) in [(0, 1), (1, 1), (2, 2)] {
        let model = fitted(&data, levels, reach, 400);
        let map: Vec<f64> = model.means.iter().map(|v| v * model.unit).collect();
        let map = Points::new(&map, 2).unwrap();
        let adjacency = AdjacencyRule::Directed;
        let options = LvmTransformOptions { n_neighbors: NEIGHBORS, reach, adjacency };
        let loss = LvmPointLoss::new(&model, &data, Metric::Euclidean, options);
        let params = NeighborParams { n_neighbors: 20, ..NeighborParams::default() };
        let graph = nearest_with(&data, &params, &mut no_progress).unwrap().graph;
        let (mut row, mut steps) = (LvmRow::default(), Vec::new());
        for i in 0..data.rows() {
            let lengths: Vec<f64> = graph.row(i).1.iter().map(|&d| f64::from(d)).collect();
            loss.set_row(&mut row, i, graph.row(i).0, &lengths);
            let place = [map.row(i)[0], map.row(i)[1]];
            let jet = loss.at(&row, place, &Default::default());
            let ([_, least], _) = jet.curvatures();
            let slope = jet.gradient[0].hypot(jet.gradient[1]);
            steps.push(if least > 0.0 { slope / least / model.unit } else { f64::INFINITY });
            if i < 10 {
                let away = [place[0] + 0.7 * model.unit, place[1] - 0.4 * model.unit];
                check_derivatives(&loss, &row, &[place, away], 1e-4 * model.unit);
                // A move that makes the last of the candidates the nearest brings it among the similar pairs.
                let mut moved = lengths.clone();
                moved[19] = 0.5 * lengths[0];
                loss.move_row(&mut row, &moved);
                check_derivatives(&loss, &row, &[away], 1e-4 * model.unit);
                assert!(loss.at(&row, place, &Default::default()) != jet);
            }
        }
        steps.sort_unstable_by(f64::total_cmp);
        // The pairs of the fit also contain spanning trees, so that some points are held by others than these.
        assert!(steps[150] < 0.1, "{levels} levels, reach {reach}: {:?}", &steps[145..155]);
    }
}
