//! Embeddings whose repulsion is that of a sample of the pairs, in more than three dimensions.

use std::ops::ControlFlow;

use lowland::message::{Note, ToleranceMiss};
use lowland::neighbors::{NeighborParams, Search, nearest, nearest_points};
use lowland::quality::knn_recall;
use lowland::run::Event;
use lowland::{Data, FitOptions, Model, Result};
use lowland_testkit::fixtures::clouds;

const DIM: usize = 6;

/// Few enough rows for an exact fit beside, and more than a sample sums exactly.
fn data() -> Data {
    clouds(8, 800, DIM, 3.0, 5)
}

fn fit(method: &str, engine: &str, values: &[(&str, &str)], options: FitOptions) -> Result<Model> {
    let fixed = [("engine", engine), ("n_components", "5"), ("perplexity", "5"), ("tol", "0")];
    let values: Vec<_> = fixed.into_iter().chain(values.iter().copied()).collect();
    lowland_testkit::fit_with(method, &values, &data(), options)
}

#[test]
fn maps_keep_about_as_many_neighbors_as_with_all_pairs() {
    let params = NeighborParams { n_neighbors: 10, search: Search::Exact, ..NeighborParams::default() };
    let graph = nearest(&data(), &params).expect("neighbors").graph;
    for (method, values) in [("ssne", &[("max_iter", "50")]), ("tsne", &[("max_iter", "120")])] {
        let [sampled, exact] = ["sampled", "exact"].map(|engine| {
            let model = fit(method, engine, values, FitOptions::default()).expect("a model");
            let is_noted =
                |note: &Note| matches!(note, Note::RepulsionError { missed: Some(ToleranceMiss::Sample), .. });
            assert_eq!(model.notes().iter().any(is_noted), engine == "sampled", "{:?}", model.notes());
            let map = nearest_points(model.embedding().points(), 10).expect("neighbors");
            knn_recall(&graph, &map, 10).expect("graphs of one size")
        });
        assert!(exact > 0.25 && sampled > exact - 0.03, "{method}: {sampled} of {exact}");
    }
}

#[test]
fn resumed_runs_draw_the_same_samples() {
    let cases: [(&str, &[(&str, &str)]); 4] = [
        ("ssne", &[("max_iter", "12")]),
        ("ee", &[("max_iter", "12"), ("optimizer", "sd")]),
        ("tsne", &[("max_iter", "12"), ("exaggeration_iter", "6")]),
        ("mapit", &[("max_iter", "12"), ("n_neighbors", "5")]),
    ];
    for (method, values) in cases {
        let mut checkpoints = Vec::new();
        let mut observer = |event: &Event| {
            if let Event::Step { step, checkpoint, .. } = event
                && [9, 10, 12].contains(&step.iteration)
            {
                checkpoints.push((step.iteration, checkpoint()));
            }
            ControlFlow::Continue(())
        };
        let options = FitOptions { observer: Some(&mut observer), ..FitOptions::default() };
        let complete = fit(method, "sampled", values, options).expect("a model").to_bytes();
        assert_eq!(checkpoints.len(), 3, "{method}");
        for (iteration, checkpoint) in checkpoints {
            let options = FitOptions { resume: Some(&checkpoint), ..FitOptions::default() };
            let resumed = fit(method, "sampled", values, options).expect("a model");
            assert!(resumed.to_bytes() == complete, "{method} from {iteration}");
        }
    }
}

#[test]
fn the_error_of_a_sample_is_reported_by_every_method_with_repulsion() {
    for method in ["tsne", "ssne", "ee", "mapit"] {
        let values: &[(&str, &str)] = if method == "mapit" {
            &[("max_iter", "3"), ("n_neighbors", "5"), ("tolerance", "0.0001")]
        } else {
            &[("max_iter", "3"), ("tolerance", "0.0001")]
        };
        let model = fit(method, "sampled", values, FitOptions::default()).expect("a model");
        let missed = model.notes().iter().find_map(|note| match note {
            Note::RepulsionError { error, missed, .. } => Some((*error, *missed)),
            _ => None,
        });
        let (error, missed) = missed.expect("a note");
        assert!(error > 1e-4 && missed == Some(ToleranceMiss::Sample), "{method}: {error} {missed:?}");
    }
}
