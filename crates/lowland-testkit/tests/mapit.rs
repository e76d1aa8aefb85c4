//! Tests of MAP IT: initializations, dimensions, kernels, optimizers, and transforms of its cost functions.

use lowland::message::Note;
use lowland::neighbors::nearest_points;
use lowland::quality::{classification_error, knn_recall};
use lowland::{Data, Model, Seed};
use lowland_testkit::fixtures::clouds;

fn fit(data: &Data, values: &[(&str, &str)]) -> Model {
    lowland_testkit::fit("mapit", values, data, Seed(1))
}

#[test]
fn clusters_are_separated_with_every_initialization_dimension_and_engine() {
    let data = clouds(3, 60, 8, 4.0, 5);
    let labels: Vec<u32> = (0..180).map(|i| i % 3).collect();
    for values in [
        [("init", "random"), ("n_components", "2"), ("engine", "fft"), ("kernel", "t"), ("variant", "fast")],
        [("init", "pca"), ("n_components", "2"), ("engine", "auto"), ("kernel", "gaussian"), ("variant", "fast")],
        [("init", "spectral"), ("n_components", "2"), ("engine", "barnes-hut"), ("kernel", "t"), ("variant", "fast")],
        [("init", "auto"), ("n_components", "1"), ("engine", "fft"), ("kernel", "t"), ("variant", "fast")],
        [("init", "random"), ("n_components", "3"), ("engine", "barnes-hut"), ("kernel", "t"), ("variant", "fast")],
        [("init", "pca"), ("n_components", "3"), ("engine", "fast-gauss"), ("kernel", "gaussian"), ("variant", "fast")],
        [("init", "spectral"), ("n_components", "5"), ("engine", "barnes-hut"), ("kernel", "t"), ("variant", "fast")],
        [("init", "random"), ("n_components", "4"), ("engine", "auto"), ("kernel", "t"), ("variant", "exact")],
        [("init", "random"), ("n_components", "3"), ("engine", "auto"), ("kernel", "gaussian"), ("variant", "sampled")],
    ] {
        // Enough neighbors for a connected graph, which the spectral initialization needs.
        let model = fit(&data, &[&values[..], &[("max_iter", "400"), ("perplexity", "25")]].concat());
        let near = nearest_points(model.embedding().points(), 1).unwrap();
        let error = classification_error(&near, &labels, 1).unwrap();
        assert!(error < 0.03, "{values:?}: {error}");
    }
}

#[test]
fn every_optimizer_decreases_every_cost_and_line_searches_do_so_at_every_step() {
    let data = clouds(3, 50, 8, 3.0, 6);
    for cost in ["pairs", "neighborhoods", "marginals"] {
        for optimizer in ["lbfgs", "sd", "fp", "gd"] {
            let values = [("variant", "objective"), ("cost", cost), ("optimizer", optimizer), ("max_iter", "40")];
            let fitted = fit(&data, &[&values[..], &[("engine", "exact")]].concat());
            let costs: Vec<f64> = fitted.outcome().trace.iter().map(|step| step.objective).collect();
            let (first, last) = (costs[0], costs[costs.len() - 1]);
            assert!(last < first && last > -1e-12, "{values:?}: {first} to {last}");
            let rises = costs.windows(2).filter(|pair| pair[1] > pair[0]).count();
            assert!(optimizer == "gd" || rises == 0, "{values:?}: {costs:?}");
        }
    }
}

#[test]
fn transforms_of_the_cost_functions_are_independent_of_the_batch_and_survive_saving() {
    for cost in ["neighborhoods", "marginals"] {
        let values = [("variant", "objective"), ("cost", cost), ("max_iter", "30")];
        lowland_testkit::a_transform_does_not_depend_on_the_batch("mapit", &values);
        lowland_testkit::a_saved_model_transforms_identically("mapit", &values);
    }
}

#[test]
fn training_rows_are_transformed_close_to_their_coordinates_with_every_cost() {
    for (cost, within) in [("pairs", 0.25), ("neighborhoods", 0.5), ("marginals", 0.5)] {
        let data = clouds(3, 60, 8, 3.0, 7);
        let fitted = fit(&data, &[("variant", "objective"), ("cost", cost), ("max_iter", "100")]);
        let again = fitted.transformer().transform(&data, &mut |_| Ok(())).unwrap().embedding;
        let fitted_values = fitted.embedding().values();
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / 180.0;
        let moved = mean(&mut fitted_values.iter().zip(again.values()).map(|(a, b)| (a - b).powi(2))).sqrt();
        let size = mean(&mut fitted_values.iter().map(|v| v * v)).sqrt();
        assert!(moved < within * size, "{cost}: moved by {moved}, size {size}");
    }
}

#[test]
fn duplicates_and_disconnected_graphs_work_in_other_dimensions_and_kernels() {
    for values in [
        &[("kernel", "gaussian"), ("n_components", "3"), ("max_iter", "60")][..],
        &[("n_components", "1"), ("entropy", "neighbors"), ("max_iter", "60")],
        &[("variant", "exact"), ("n_components", "4"), ("max_iter", "30")],
        &[("variant", "objective"), ("cost", "marginals"), ("max_iter", "20")],
        &[("variant", "objective"), ("cost", "neighborhoods"), ("max_iter", "20")],
    ] {
        lowland_testkit::duplicates_are_kept("mapit", values);
        lowland_testkit::a_disconnected_graph_has_a_finite_embedding("mapit", values);
        lowland_testkit::one_to_three_points_have_a_finite_embedding("mapit", values);
    }
}

#[test]
fn more_samples_than_points_are_reduced_to_the_number_of_other_points() {
    let data = clouds(3, 20, 5, 3.0, 4);
    let sampled = |samples: &str| fit(&data, &[("variant", "sampled"), ("samples", samples), ("max_iter", "5")]);
    let model = sampled("1e300");
    let reduced = |note: &Note| matches!(note, Note::SamplesReduced { used: 59, .. });
    assert!(model.notes().iter().any(reduced), "{:?}", model.notes());
    assert_eq!(model.embedding(), sampled("5.9").embedding());
}

#[test]
fn sampling_non_neighbors_preserves_most_neighbors() {
    let data = clouds(4, 60, 6, 2.0, 8);
    let neighbors = |values: &[(&str, &str)]| {
        let model = fit(&data, &[values, &[("max_iter", "500")]].concat());
        nearest_points(model.embedding().points(), 30).unwrap()
    };
    let (all, sampled) = (neighbors(&[]), neighbors(&[("variant", "sampled")]));
    let recall = knn_recall(&all, &sampled, 30).unwrap();
    assert!(recall > 0.6, "{recall}");
}

#[test]
fn a_collapsed_embedding_is_noted() {
    // One cluster in many dimensions: all distances are similar, and there are no groups.
    let collapsed = |data: &Data| {
        let fitted = fit(data, &[]);
        fitted.notes().iter().any(|note| matches!(note, Note::EmbeddingCollapsed { .. }))
    };
    assert!(collapsed(&clouds(1, 100, 100, 0.0, 9)));
    assert!(!collapsed(&clouds(3, 60, 8, 4.0, 5)));
}
