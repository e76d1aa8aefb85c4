//! t-SNE, s-SNE and the elastic embedding as whole methods: what the suite of all methods does not ask for.

use std::ops::ControlFlow;

use lowland::message::{Note, RustTerms};
use lowland::neighbors::{NeighborGraph, NeighborParams, Search, nearest, nearest_points};
use lowland::quality::knn_recall;
use lowland::run::Event;
use lowland::{Data, FitOptions, Metric, Model, Seed};
use lowland_testkit::fixtures::{clouds, roll};

const METHODS: [&str; 3] = ["tsne", "ssne", "ee"];

fn fit(method: &str, values: &[(&str, &str)], data: &Data, graph: Option<&NeighborGraph>) -> Model {
    let options = FitOptions { neighbors: graph, ..FitOptions::default() };
    lowland_testkit::fit_with(method, values, data, options).expect("a map")
}

fn neighbors(data: &Data, k: usize) -> NeighborGraph {
    let params = NeighborParams { n_neighbors: k, metric: Metric::Euclidean, search: Search::Exact, seed: Seed(0) };
    nearest(data, &params).expect("neighbours").graph
}

fn recall(data: &Data, fitted: &Model) -> f64 {
    let map = nearest_points(fitted.embedding().points(), 10).expect("neighbours");
    knn_recall(&neighbors(data, 10), &map, 10).expect("graphs of one size")
}

#[test]
fn the_accuracy_schedule_ends_as_low_as_full_accuracy_with_default_settings() {
    // So many rows that `auto` sums on a grid.
    let data = clouds(5, 360, 8, 1.5, 3);
    for (method, dimensions) in [("ssne", "2"), ("ee", "2"), ("ssne", "3")] {
        let [fixed, scheduled] = ["fixed", "schedule"].map(|accuracy| {
            let fitted = fit(method, &[("accuracy", accuracy), ("n_components", dimensions)], &data, None);
            let is_fft = |note: &Note| matches!(note, Note::RepulsionError { engine, .. } if engine == "fft");
            assert!(fitted.notes().iter().any(is_fft), "{:?}", fitted.notes());
            let missed = |note: &Note| matches!(note, Note::RepulsionError { missed: Some(_), .. });
            assert!(!fitted.notes().iter().any(missed), "{:?}", fitted.notes());
            fitted.outcome().trace.last().expect("iterations").objective
        });
        assert!(scheduled < fixed * 1.001, "{method} {dimensions}: {scheduled} with the schedule, {fixed} without");
    }
}

#[test]
fn few_rows_land_near_themselves_too() {
    let data = clouds(3, 9, 4, 4.0, 5);
    for method in METHODS.into_iter().chain(["mapit"]) {
        // Neighbourhoods of ten would hold a third of these rows.
        let values: &[(&str, &str)] = if method == "mapit" { &[("n_neighbors", "4")] } else { &[] };
        let fitted = fit(method, values, &data, None);
        let again = fitted.transformer().transform(&data, &mut |_| Ok(())).expect("coordinates").embedding;
        let (map, again) = (fitted.embedding().values(), again.values());
        let size: f64 = map.iter().map(|v| v * v).sum();
        let error: f64 = map.iter().zip(again).map(|(a, b)| (a - b).powi(2)).sum();
        assert!(error < 0.1 * size, "{method}: {error} of {size}");
    }
}

#[test]
fn two_points_stay_on_the_map_though_every_distance_is_as_good() {
    // The objective is flat: what a search would take for curvature is the grid's error.
    let values = [("engine", "fft"), ("dof", "2"), ("optimizer", "lbfgs"), ("early_exaggeration", "1")];
    for seed in 0..12 {
        let fitted = fit("tsne", &values, &clouds(1, 2, 4, 0.0, seed), None);
        assert!(fitted.embedding().values().iter().all(|v| v.abs() < 1e4), "{seed}: {:?}", fitted.embedding());
    }
}

#[test]
fn four_and_more_dimensions_work_by_tree_and_by_pairs() {
    let data = roll(300, 4);
    for method in METHODS {
        for (dim, engine) in [("4", "barnes-hut"), ("8", "barnes-hut"), ("6", "exact"), ("12", "auto")] {
            let values = [("n_components", dim), ("engine", engine), ("max_iter", "60"), ("perplexity", "10")];
            let more = if method == "tsne" { &[("exaggeration_iter", "20")][..] } else { &[] };
            let fitted = fit(method, &[&values[..], more].concat(), &data, None);
            assert_eq!(fitted.embedding().dim().to_string(), dim);
            assert!(recall(&data, &fitted) > 0.4, "{method} {dim} {engine}: {}", recall(&data, &fitted));
        }
    }
}

#[test]
fn affinities_handed_in_are_used_as_they_are() {
    let data = roll(300, 6);
    let graph = neighbors(&data, 12);
    for method in METHODS {
        let values: &[(&str, &str)] = match method {
            "tsne" => &[("max_iter", "150"), ("exaggeration_iter", "50")],
            _ => &[("max_iter", "50")],
        };
        let uniform = fit(method, &[values, &[("affinity", "uniform"), ("perplexity", "12")]].concat(), &data, None);
        let equal = NeighborGraph::new(
            graph.indptr().to_vec(),
            graph.indices().to_vec(),
            vec![0.5; 3600],
            300,
            Metric::Precomputed,
        );
        let given = [values, &[("affinity", "precomputed")]].concat();
        let handed = fit(method, &given, &data, Some(&equal.expect("a graph")));
        assert_eq!(handed.embedding().values(), uniform.embedding().values(), "{method}");
        // Rows of different lengths, one of them with a single neighbour: all keep all they have, and near ones weigh most.
        let (mut indptr, mut indices, mut weights) = (vec![0], Vec::new(), Vec::new());
        for i in 0..300 {
            let (columns, lengths) = graph.row(i);
            let keep = if i == 7 { 1 } else { 12 - i % 3 };
            indices.extend_from_slice(&columns[..keep]);
            weights.extend(lengths[..keep].iter().map(|d| (-d * d).exp()));
            indptr.push(indices.len());
        }
        let ragged = NeighborGraph::new(indptr, indices, weights, 300, Metric::Precomputed).expect("a graph");
        let fitted = fit(method, &given, &data, Some(&ragged));
        assert!(recall(&data, &fitted) > 0.4, "{method}: {}", recall(&data, &fitted));
    }
}

#[test]
fn a_row_without_neighbours_in_a_graph_is_named() {
    let data = roll(40, 6);
    let graph = neighbors(&data, 5);
    let indptr: Vec<usize> =
        graph.indptr().iter().enumerate().map(|(i, &at)| if i > 11 { at - 5 } else { at }).collect();
    let (mut indices, mut distances) = (graph.indices().to_vec(), graph.distances().to_vec());
    indices.drain(55..60);
    distances.drain(55..60);
    let lonely = NeighborGraph::new(indptr, indices, distances, 40, Metric::Euclidean).expect("a graph");
    let options = FitOptions { neighbors: Some(&lonely), ..FitOptions::default() };
    let error = lowland_testkit::fit_with("tsne", &[], &data, options).err().expect("no neighbors");
    assert!(error.to_string().contains("row 11"), "{error}");
}

#[test]
fn a_run_that_ends_inside_its_schedule_says_so() {
    let data = clouds(3, 30, 5, 2.0, 8);
    let said = |method, values: &[(&str, &str)], words: &str| {
        fit(method, values, &data, None).notes().iter().any(|note| note.describe(&RustTerms).contains(words))
    };
    assert!(said("tsne", &[("max_iter", "20")], "exaggerated"));
    assert!(said("ee", &[("max_iter", "20"), ("homotopy", "9")], "lambda was still growing"));
    assert!(!said("tsne", &[("max_iter", "20"), ("exaggeration_iter", "10")], "iterations ended"));
}

#[test]
fn runs_resumed_around_looks_and_changes_go_on_alike() {
    let data = clouds(4, 100, 6, 2.0, 9);
    let cases: [(&str, &[(&str, &str)]); 4] = [
        ("tsne", &[("engine", "fft"), ("max_iter", "60"), ("exaggeration_iter", "30")]),
        ("tsne", &[("engine", "barnes-hut"), ("optimizer", "lbfgs"), ("max_iter", "60"), ("early_exaggeration", "1")]),
        ("ssne", &[("engine", "fast-gauss"), ("optimizer", "sd"), ("max_iter", "60"), ("tol", "0")]),
        ("ee", &[("engine", "fft"), ("homotopy", "3"), ("max_iter", "60"), ("tol", "0")]),
    ];
    for (method, values) in cases {
        let fit = |options: FitOptions| lowland_testkit::fit_with(method, values, &data, options).expect("a map");
        let mut checkpoints = Vec::new();
        let mut watch = |event: &Event| {
            if let Event::Step { step, checkpoint, .. } = event
                && [10, 24, 25, 26, 29, 30, 31, 50].contains(&step.iteration)
            {
                checkpoints.push((step.iteration, checkpoint()));
            }
            ControlFlow::Continue(())
        };
        let whole = fit(FitOptions { observer: Some(&mut watch), ..FitOptions::default() });
        assert!(checkpoints.len() > 4, "{method}");
        for (iteration, checkpoint) in checkpoints {
            let resumed = fit(FitOptions { resume: Some(&checkpoint), ..FitOptions::default() });
            assert_eq!(resumed.embedding().values(), whole.embedding().values(), "{method} from {iteration}");
        }
    }
}
