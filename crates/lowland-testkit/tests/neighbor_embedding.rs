//! Tests of t-SNE, s-SNE and the elastic embedding beyond the suite of all methods.

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
    lowland_testkit::fit_with(method, values, data, options).expect("a model")
}

fn neighbors(data: &Data, k: usize) -> NeighborGraph {
    let params = NeighborParams { n_neighbors: k, metric: Metric::Euclidean, search: Search::Exact, seed: Seed(0) };
    nearest(data, &params).expect("neighbors").graph
}

fn recall(data: &Data, fitted: &Model) -> f64 {
    let map = nearest_points(fitted.embedding().points(), 10).expect("neighbors");
    knn_recall(&neighbors(data, 10), &map, 10).expect("graphs of one size")
}

#[test]
fn the_accuracy_schedule_reaches_the_objective_of_full_accuracy() {
    // Enough rows for `auto` to choose the FFT engine.
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
fn few_training_rows_are_transformed_close_to_their_coordinates() {
    let data = clouds(3, 9, 4, 4.0, 5);
    for method in METHODS.into_iter().chain(["mapit"]) {
        // Neighborhoods of ten would contain a third of these rows.
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
fn two_points_do_not_diverge_although_the_objective_is_flat() {
    // The objective is flat, so that the error of the grid could be mistaken for curvature.
    let values = [("engine", "fft"), ("dof", "2"), ("optimizer", "lbfgs"), ("early_exaggeration", "1")];
    for seed in 0..12 {
        let fitted = fit("tsne", &values, &clouds(1, 2, 4, 0.0, seed), None);
        assert!(fitted.embedding().values().iter().all(|v| v.abs() < 1e4), "{seed}: {:?}", fitted.embedding());
    }
}

#[test]
fn four_and_more_dimensions_work_with_barnes_hut_and_exact_engines() {
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
fn precomputed_affinities_are_used_unchanged() {
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
        let precomputed = [values, &[("affinity", "precomputed")]].concat();
        let fitted = fit(method, &precomputed, &data, Some(&equal.expect("a graph")));
        assert_eq!(fitted.embedding().values(), uniform.embedding().values(), "{method}");
        // Rows with different numbers of neighbors, one of them with a single one; closer neighbors have larger weights.
        let (mut indptr, mut indices, mut weights) = (vec![0], Vec::new(), Vec::new());
        for i in 0..300 {
            let (columns, lengths) = graph.row(i);
            let keep = if i == 7 { 1 } else { 12 - i % 3 };
            indices.extend_from_slice(&columns[..keep]);
            weights.extend(lengths[..keep].iter().map(|d| (-d * d).exp()));
            indptr.push(indices.len());
        }
        let ragged = NeighborGraph::new(indptr, indices, weights, 300, Metric::Precomputed).expect("a graph");
        let fitted = fit(method, &precomputed, &data, Some(&ragged));
        assert!(recall(&data, &fitted) > 0.4, "{method}: {}", recall(&data, &fitted));
    }
}

#[test]
fn a_row_without_neighbors_is_reported() {
    let data = roll(40, 6);
    let graph = neighbors(&data, 5);
    let indptr: Vec<usize> =
        graph.indptr().iter().enumerate().map(|(i, &at)| if i > 11 { at - 5 } else { at }).collect();
    let (mut indices, mut distances) = (graph.indices().to_vec(), graph.distances().to_vec());
    indices.drain(55..60);
    distances.drain(55..60);
    let isolated = NeighborGraph::new(indptr, indices, distances, 40, Metric::Euclidean).expect("a graph");
    let options = FitOptions { neighbors: Some(&isolated), ..FitOptions::default() };
    let error = lowland_testkit::fit_with("tsne", &[], &data, options).err().expect("no neighbors");
    assert!(error.to_string().contains("row 11"), "{error}");
}

#[test]
fn a_run_that_ends_before_its_schedule_is_noted() {
    let data = clouds(3, 30, 5, 2.0, 8);
    let is_noted = |method, values: &[(&str, &str)], text: &str| {
        fit(method, values, &data, None).notes().iter().any(|note| note.describe(&RustTerms).contains(text))
    };
    assert!(is_noted("tsne", &[("max_iter", "20")], "exaggerated"));
    assert!(is_noted("ee", &[("max_iter", "20"), ("homotopy", "9")], "lambda was still growing"));
    assert!(!is_noted("tsne", &[("max_iter", "20"), ("exaggeration_iter", "10")], "iterations ended"));
}

#[test]
fn runs_resumed_around_schedule_changes_are_identical() {
    let data = clouds(4, 100, 6, 2.0, 9);
    let cases: [(&str, &[(&str, &str)]); 5] = [
        ("tsne", &[("exaggeration", "3"), ("max_iter", "60"), ("exaggeration_iter", "30")]),
        ("tsne", &[("engine", "fft"), ("max_iter", "60"), ("exaggeration_iter", "30")]),
        ("tsne", &[("engine", "barnes-hut"), ("optimizer", "lbfgs"), ("max_iter", "60"), ("early_exaggeration", "1")]),
        ("ssne", &[("engine", "fast-gauss"), ("optimizer", "sd"), ("max_iter", "60"), ("tol", "0")]),
        ("ee", &[("engine", "fft"), ("homotopy", "3"), ("max_iter", "60"), ("tol", "0")]),
    ];
    for (method, values) in cases {
        let fit = |options: FitOptions| lowland_testkit::fit_with(method, values, &data, options).expect("a model");
        let mut checkpoints = Vec::new();
        let mut observer = |event: &Event| {
            if let Event::Step { step, checkpoint, .. } = event
                && [10, 24, 25, 26, 29, 30, 31, 50].contains(&step.iteration)
            {
                checkpoints.push((step.iteration, checkpoint()));
            }
            ControlFlow::Continue(())
        };
        let complete = fit(FitOptions { observer: Some(&mut observer), ..FitOptions::default() });
        assert!(checkpoints.len() > 4, "{method}");
        for (iteration, checkpoint) in checkpoints {
            let resumed = fit(FitOptions { resume: Some(&checkpoint), ..FitOptions::default() });
            assert_eq!(resumed.embedding().values(), complete.embedding().values(), "{method} from {iteration}");
        }
    }
}

/// Mean distance to the ten nearest points relative to the size of the map.
fn relative_neighbor_distance(fitted: &Model) -> f64 {
    let points = fitted.embedding().points();
    let graph = nearest_points(points, 10).expect("neighbors");
    let mean = graph.distances().iter().map(|&d| f64::from(d)).sum::<f64>() / graph.distances().len() as f64;
    let size = points.values().iter().map(|v| v * v).sum::<f64>() / points.rows() as f64;
    mean / size.sqrt()
}

#[test]
fn exaggeration_gives_more_compact_clusters_and_converges() {
    // The clusters overlap: where nothing connects them, the attraction contracts each to one place.
    let data = clouds(6, 80, 8, 1.0, 3);
    let mut previous = f64::INFINITY;
    for exaggeration in ["1", "2", "4", "30"] {
        let fitted = fit("tsne", &[("exaggeration", exaggeration), ("perplexity", "10")], &data, None);
        let compactness = relative_neighbor_distance(&fitted);
        // A very large factor changes the map as a whole.
        assert!(
            exaggeration == "30" || compactness < 0.95 * previous,
            "{exaggeration}: {compactness}, before {previous}"
        );
        previous = compactness;
        // With steps too long for the attraction the objective would oscillate: it goes down in the last hundred iterations.
        let trace: Vec<f64> = fitted.outcome().trace.iter().map(|step| step.objective).collect();
        let last = &trace[trace.len() - 100..];
        assert!(last.windows(2).all(|pair| pair[1] <= pair[0] + 1e-3 * pair[0].abs()), "{exaggeration}: {last:?}");
    }
}

#[test]
fn an_exaggeration_of_one_is_the_default_and_invalid_ones_are_rejected() {
    let data = clouds(3, 30, 5, 2.0, 8);
    let [default, one] = [&[][..], &[("exaggeration", "1")]].map(|values| fit("tsne", values, &data, None));
    assert_eq!(default.embedding().values(), one.embedding().values());
    for value in ["0.5", "0", "-1", "NaN", "inf", "1001"] {
        let error = lowland_testkit::fit_with("tsne", &[("exaggeration", value)], &data, FitOptions::default());
        let message = error.err().expect("an invalid value").to_string();
        assert!(message.starts_with("exaggeration = ") && message.contains("from 1 to 1000"), "{message}");
    }
}

/// New rows are placed on the map of the exaggerated objective, not of t-SNE's.
#[test]
fn new_rows_of_an_exaggerated_map_are_placed_at_its_scale() {
    let data = clouds(5, 60, 6, 2.0, 4);
    let fitted = fit("tsne", &[("exaggeration", "8")], &data, None);
    let again = fitted.transformer().transform(&data, &mut |_| Ok(())).expect("coordinates").embedding;
    let map = fitted.embedding().values();
    let size: f64 = map.iter().map(|v| v * v).sum();
    let error: f64 = map.iter().zip(again.values()).map(|(a, b)| (a - b).powi(2)).sum();
    assert!(error < 0.01 * size, "{}", error / size);
}
