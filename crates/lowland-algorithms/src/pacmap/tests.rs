use super::layout::Weights;
use super::*;
use lowland_core::run::Stepper;
use lowland_core::{Data, Embedding, Metric, Points, Seed};
use lowland_neighbors::{NeighborGraph, NeighborParams, Search, nearest};

const COUNTS: PairCounts = PairCounts { near: 10, mid: 5, further: 20 };

fn clouds(n: usize) -> Data {
    let noise = Seed(5).normals(6 * n);
    let values = noise.iter().enumerate().map(|(at, v)| (v + if (at / 6) % 3 == 0 { 8.0 } else { 0.0 }) as f32);
    Data::dense(values.collect(), 6).unwrap()
}

fn graph(data: &Data, k: usize) -> NeighborGraph {
    let params = NeighborParams { n_neighbors: k, metric: Metric::Euclidean, search: Search::Exact, seed: Seed(0) };
    nearest(data, &params).unwrap().graph
}

fn pairs(data: &Data, counts: PairCounts) -> PointPairs {
    let graph = graph(data, 60.min(data.rows() - 1));
    PointPairs::draw(data, Metric::Euclidean, &graph, counts, Seed(2), &mut |_| Ok(())).unwrap()
}

fn layout(data: &Data, dim: usize, local_distance: Option<f64>) -> PacmapLayout {
    let init = Embedding::new(Seed(3).normals(dim * data.rows()), dim).unwrap();
    let params = PacmapParams { phases: [20, 20, 40], learning_rate: 1.0, local_distance, seed: Seed(4) };
    PacmapLayout::new(pairs(data, COUNTS), &init, params, None).unwrap()
}

#[test]
fn the_gradient_is_the_derivative_of_the_loss() {
    let data = clouds(150);
    for dim in [2, 3, 5] {
        let mut layout = layout(&data, dim, Some(10.0));
        for is_local in [false, true] {
            let weights = Weights { near: 2.0, mid: 700.0, further: 1.5, is_local };
            let gradient = layout.gradient(weights);
            for at in [0, 7, 100, 150 * dim - 1] {
                let step = 4e-3f32;
                let mut loss_at = |offset: f32| {
                    layout.points_mut()[at] += offset;
                    let loss = layout.loss(weights);
                    layout.points_mut()[at] -= offset;
                    150.0 * loss
                };
                let slope = (loss_at(step) - loss_at(-step)) / (2.0 * f64::from(step));
                let found = f64::from(gradient[at]);
                assert!((slope - found).abs() < 2e-3 * (1.0 + found.abs()), "{dim} {at}: {slope} {found}");
            }
        }
    }
}

#[test]
fn near_pairs_are_the_neighbors_by_scaled_distance() {
    let data = clouds(200);
    let (graph, pairs) = (graph(&data, 60), pairs(&data, COUNTS));
    let scale = |i: usize| graph.row(i).1[3..6].iter().map(|&d| f64::from(d)).sum::<f64>() / 3.0;
    for i in 0..200 {
        let (neighbors, distances) = graph.row(i);
        let scaled: Vec<f64> = neighbors
            .iter()
            .zip(distances)
            .map(|(&j, &d)| f64::from(d).powi(2) / (scale(i) * scale(j as usize)))
            .collect();
        let of = |j: &u32| scaled[neighbors.iter().position(|found| found == j).expect("a neighbor")];
        let largest = pairs.near.row(i).iter().map(of).fold(0.0, f64::max);
        assert_eq!(pairs.near.row(i).len(), 10);
        assert_eq!(scaled.iter().filter(|&&value| value <= largest * (1.0 + 1e-12)).count(), 10, "row {i}");
    }
}

#[test]
fn pairs_are_distinct_and_further_pairs_are_no_neighbors() {
    let data = clouds(200);
    let pairs = pairs(&data, COUNTS);
    for i in 0..200 {
        for (row, count) in [(pairs.near.row(i), 10), (pairs.mid.row(i), 5), (pairs.further.row(i), 20)] {
            let mut sorted = row.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!((sorted.len(), row.len()), (count, count));
            assert!(!row.contains(&(i as u32)));
        }
        assert!(pairs.further.row(i).iter().all(|j| !pairs.near.row(i).contains(j)), "row {i}");
    }
    // Mid-near pairs are nearer than random ones: the second of six.
    let mean = |pairs: &Pairs| -> f64 {
        let distance = |i: usize, j: u32| lowland_neighbors::distance(&data, i, &data, j as usize, Metric::Euclidean);
        let all: Vec<f64> = (0..200).flat_map(|i| pairs.row(i).iter().map(move |&j| distance(i, j))).collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    assert!(mean(&pairs.mid) < 0.8 * mean(&pairs.further));
}

#[test]
fn few_rows_have_as_many_pairs_as_there_are() {
    for n in [2, 3, 8, 12, 30] {
        let pairs = pairs(&clouds(n), COUNTS);
        for i in 0..n {
            assert_eq!(pairs.near.row(i).len(), 10.min(n - 1));
            assert_eq!(pairs.mid.row(i).len(), 5.min(n - 1));
            assert!(!pairs.further.row(i).is_empty());
        }
    }
}

#[test]
fn the_weights_are_those_of_the_three_phases() {
    let params =
        PacmapParams { phases: [100, 100, 250], learning_rate: 1.0, local_distance: Some(10.0), seed: Seed(0) };
    let weights = |iteration| {
        let Weights { near, mid, further, is_local } = params.weights(iteration);
        ((near * 1e6).round() / 1e6, (mid * 1e6).round() / 1e6, further, is_local)
    };
    assert_eq!(weights(0), (2.0, 1000.0, 1.0, false));
    assert_eq!(weights(50), (2.0, 501.5, 1.0, false));
    assert_eq!(weights(100), (3.0, 3.0, 1.0, false));
    assert_eq!(weights(200), (1.0, 0.0, 1.0, false));
    assert_eq!(weights(201), (1.0, 0.0, 1.0, true));
}

#[test]
fn clusters_separate_and_the_result_does_not_depend_on_the_number_of_threads() {
    let data = clouds(300);
    for (dim, local) in [(2, None), (2, Some(10.0)), (4, None)] {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut layout = layout(&data, dim, local);
                (0..80).for_each(|_| _ = layout.step().unwrap());
                layout.embedding()
            })
        };
        let map = run(1);
        assert_eq!(map, run(3));
        let distance = |i: usize, j: usize| -> f64 {
            map.row(i).iter().zip(map.row(j)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
        };
        let mean = |offset: usize| (0..97).map(|i| distance(3 * i, 3 * i + offset)).sum::<f64>() / 97.0;
        assert!(mean(1) > 2.0 * mean(3), "{dim}: {} {}", mean(1), mean(3));
    }
}

#[test]
fn local_pairs_are_close_in_the_embedding() {
    let data = clouds(300);
    let share = |local: Option<f64>| {
        let mut layout = layout(&data, 2, local);
        (0..80).for_each(|_| _ = layout.step().unwrap());
        let mut archive = lowland_core::archive::Archive::new(lowland_core::archive::ArchiveKind::Checkpoint);
        layout.save(&mut archive);
        let Ok(ends) = archive.u32s("layout/further") else { return 0.0 };
        let map = layout.embedding();
        let close = ends.iter().enumerate().filter(|&(at, &j)| {
            let (a, b) = (map.row(at / 20), map.row(j as usize));
            (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2) < 1.5 * 36.0
        });
        close.count() as f64 / ends.len() as f64
    };
    assert!(share(Some(6.0)) > 0.9, "{}", share(Some(6.0)));
}

#[test]
fn a_new_row_is_where_its_pairs_have_the_smallest_loss() {
    let map = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 40.0, 40.0];
    let transform = PacmapTransform { map: Points::new(&map, 2).unwrap() };
    let found = transform.place(&[0, 1, 2, 3]);
    let loss = |point: &[f64]| -> f64 {
        let d = |j: usize| 1.0 + (point[0] - map[2 * j]).powi(2) + (point[1] - map[2 * j + 1]).powi(2);
        (0..4).map(|j| d(j) / (10.0 + d(j))).sum()
    };
    for [dx, dy] in [[1e-3, 0.0], [-1e-3, 0.0], [0.0, 1e-3], [0.0, -1e-3]] {
        assert!(loss(&[found[0] + dx, found[1] + dy]) > loss(&found));
    }
    // With the three that are together, and not between them and the fourth.
    assert!(found[0] < 1.0 && found[1] < 1.0);
}
