//! MAP IT's recipe by itself: starts, dimensions, kernels, optimisers, and new rows on maps of its costs.

use lowland::message::Note;
use lowland::neighbors::nearest_points;
use lowland::quality::{classification_error, knn_recall};
use lowland::{Data, Model, Seed};
use lowland_testkit::fixtures::clouds;

fn fit(data: &Data, values: &[(&str, &str)]) -> Model {
    lowland_testkit::fit("mapit", values, data, Seed(1))
}

#[test]
fn clouds_stay_apart_from_every_start_in_every_dimension_by_every_engine() {
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
        // So many neighbours that the graph is whole, which a spectral start asks for.
        let map = fit(&data, &[&values[..], &[("max_iter", "400"), ("perplexity", "25")]].concat());
        let near = nearest_points(map.embedding().points(), 1).unwrap();
        let error = classification_error(&near, &labels, 1).unwrap();
        assert!(error < 0.03, "{values:?}: {error}");
    }
}

#[test]
fn every_optimizer_lowers_every_cost_and_those_with_a_line_search_at_every_step() {
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
fn new_rows_on_maps_of_the_costs_are_placed_row_by_row_and_by_a_saved_model_too() {
    for cost in ["neighborhoods", "marginals"] {
        let values = [("variant", "objective"), ("cost", cost), ("max_iter", "30")];
        lowland_testkit::a_rows_image_does_not_depend_on_its_batch("mapit", &values);
        lowland_testkit::a_saved_model_transforms_with_the_same_bytes("mapit", &values);
    }
}

#[test]
fn rows_seen_before_land_about_where_they_were_on_maps_of_the_costs() {
    for (cost, within) in [("pairs", 0.25), ("neighborhoods", 0.5), ("marginals", 0.5)] {
        let data = clouds(3, 60, 8, 3.0, 7);
        let fitted = fit(&data, &[("variant", "objective"), ("cost", cost), ("max_iter", "100")]);
        let again = fitted.transformer().transform(&data, &mut |_| Ok(())).unwrap().embedding;
        let map = fitted.embedding().values();
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / 180.0;
        let moved = mean(&mut map.iter().zip(again.values()).map(|(a, b)| (a - b).powi(2))).sqrt();
        let size = mean(&mut map.iter().map(|v| v * v)).sqrt();
        assert!(moved < within * size, "{cost}: moved by {moved}, map of {size}");
    }
}

#[test]
fn duplicates_and_graphs_in_pieces_do_no_harm_in_other_dimensions_and_kernels() {
    for values in [
        &[("kernel", "gaussian"), ("n_components", "3"), ("max_iter", "60")][..],
        &[("n_components", "1"), ("entropy", "neighbors"), ("max_iter", "60")],
        &[("variant", "exact"), ("n_components", "4"), ("max_iter", "30")],
        &[("variant", "objective"), ("cost", "marginals"), ("max_iter", "20")],
        &[("variant", "objective"), ("cost", "neighborhoods"), ("max_iter", "20")],
    ] {
        lowland_testkit::duplicates_are_kept_and_do_no_harm("mapit", values);
        lowland_testkit::a_disconnected_graph_still_makes_one_finite_map("mapit", values);
        lowland_testkit::one_two_or_three_points_make_a_finite_map("mapit", values);
    }
}

#[test]
fn a_sample_of_the_non_neighbours_keeps_the_neighbours_that_the_whole_keeps() {
    let data = clouds(4, 60, 6, 2.0, 8);
    let map = |values: &[(&str, &str)]| {
        let map = fit(&data, &[values, &[("max_iter", "500")]].concat());
        nearest_points(map.embedding().points(), 30).unwrap()
    };
    let (whole, sampled) = (map(&[]), map(&[("variant", "sampled")]));
    let kept = knn_recall(&whole, &sampled, 30).unwrap();
    assert!(kept > 0.6, "{kept}");
}

#[test]
fn a_map_whose_points_fell_together_is_said() {
    // One cloud in many dimensions: every row is about as far from every other, and there are no groups to tell apart.
    let said = |data: &Data| {
        let fitted = fit(data, &[]);
        fitted.notes().iter().any(|note| matches!(note, Note::EmbeddingCollapsed { .. }))
    };
    assert!(said(&clouds(1, 100, 100, 0.0, 9)));
    assert!(!said(&clouds(3, 60, 8, 4.0, 5)));
}
