//! Starts of iterative methods that no run can use: one place, extreme coordinates, forged checkpoints, very few rows.

use std::ops::ControlFlow;

use lowland::message::Note;
use lowland::run::Event;
use lowland::{Data, Embedding, Error, FitOptions, Model, Result, Seed};
use lowland_core::archive::Archive;
use lowland_testkit::fixtures::{clouds, with_repeats};

/// Every method that takes an initial embedding, with each of its optimizers.
const RUNS: [(&str, &[(&str, &str)]); 11] = [
    ("tsne", &[("exaggeration_iter", "3")]),
    ("tsne", &[("early_exaggeration", "1"), ("optimizer", "lbfgs")]),
    ("tsne", &[("early_exaggeration", "1"), ("optimizer", "sd"), ("engine", "fft")]),
    ("ssne", &[]),
    ("ssne", &[("optimizer", "gd")]),
    ("ssne", &[("optimizer", "fp"), ("engine", "fast-gauss")]),
    ("ee", &[]),
    ("ee", &[("optimizer", "sd"), ("engine", "barnes-hut")]),
    ("mapit", &[]),
    ("mapit", &[("variant", "sampled"), ("kernel", "gaussian")]),
    ("mapit", &[("variant", "objective")]),
];

fn fit(method: &str, values: &[(&str, &str)], data: &Data, options: FitOptions) -> Result<Model> {
    lowland_testkit::fit_with(method, &[values, &[("max_iter", "8")]].concat(), data, options)
}

fn fit_from(method: &str, values: &[(&str, &str)], data: &Data, init: Vec<f64>) -> Result<Model> {
    let init = Embedding::new(init, 2).expect("whole rows");
    fit(method, values, data, FitOptions { init: Some(&init), ..FitOptions::default() })
}

#[test]
fn an_initial_embedding_at_one_place_is_refused() {
    let data = clouds(3, 10, 4, 2.0, 1);
    for (method, values) in RUNS {
        for place in [0.0, 1e-300, 7.25, -1e9] {
            let error = fit_from(method, values, &data, vec![place; 60]).err();
            assert_eq!(error, Some(Error::InitAtOnePoint { rows: 30 }), "{method} {values:?} at {place}");
        }
        let mut nearly = vec![1e-300; 60];
        nearly[7] = -1e-300;
        let error = fit_from(method, values, &data, nearly).err();
        assert_eq!(error, Some(Error::InitAtOnePoint { rows: 30 }), "{method} {values:?}");
    }
}

#[test]
fn an_initial_embedding_of_any_other_size_gives_finite_coordinates_or_an_error() {
    let data = clouds(3, 10, 4, 2.0, 1);
    for (method, values) in RUNS {
        for size in [1e-90, 1e-12, 1.0, 1e4, 1e8, 9e10] {
            let init: Vec<f64> = Seed(3).normals(60).iter().map(|v| v * size).collect();
            let model = match fit_from(method, values, &data, init) {
                Ok(model) => model,
                // A grid cannot cover every map, and says so.
                Err(Error::Numerical { reason, .. }) if reason.contains("barnes-hut") => continue,
                Err(error) => panic!("{method} {values:?} {size}: {error}"),
            };
            assert!(model.embedding().values().iter().all(|v| v.is_finite()), "{method} {values:?} {size}");
            assert!(Model::from_bytes(&model.to_bytes()).is_ok(), "{method} {values:?} {size}");
        }
        let mut init = Seed(3).normals(60);
        init[31] = 1e200;
        let error = fit_from(method, values, &data, init).err();
        let expected = Error::InitTooLarge { row: 15, column: 1, value: 1e200, limit: 1e12 };
        assert_eq!(error, Some(expected), "{method} {values:?}");
    }
}

fn checkpoint_after(method: &str, values: &[(&str, &str)], data: &Data, iteration: usize) -> Archive {
    let mut saved = None;
    let mut observer = |event: &Event| {
        if let Event::Step { step, checkpoint, .. } = event
            && step.iteration == iteration
        {
            saved = Some(checkpoint());
        }
        ControlFlow::Continue(())
    };
    fit(method, values, data, FitOptions { observer: Some(&mut observer), ..FitOptions::default() }).expect("a model");
    saved.expect("a checkpoint")
}

#[test]
fn forged_checkpoints_give_finite_coordinates_or_an_error() {
    let data = clouds(3, 8, 4, 2.0, 1);
    for (method, values) in RUNS {
        let checkpoint = checkpoint_after(method, values, &data, 4);
        for name in checkpoint.names() {
            // The graph and the fingerprint are the same for all methods, and tested there.
            if name.starts_with("graph/") || name.starts_with("data/") || name.starts_with("job/") {
                continue;
            }
            for value in [0.0, -1.0, 1e-200, 1e12, 1e90, 1e200, 1e308, f64::NAN, f64::INFINITY] {
                let mut forged = checkpoint.clone();
                if let Ok(numbers) = checkpoint.f64s(name) {
                    forged.put(name, vec![value; numbers.len()]);
                } else if let Ok(numbers) = checkpoint.f32s(name) {
                    forged.put(name, vec![value as f32; numbers.len()]);
                } else if let Ok(numbers) = checkpoint.u64s(name) {
                    forged.put(name, vec![u64::MAX - value as u64; numbers.len()]);
                } else {
                    continue;
                }
                let options = FitOptions { resume: Some(&forged), ..FitOptions::default() };
                if let Ok(model) = fit(method, values, &data, options) {
                    let finite = model.embedding().values().iter().all(|v| v.is_finite());
                    assert!(finite, "{method} {values:?}: '{name}' = {value}");
                    let saved = Model::from_bytes(&model.to_bytes());
                    assert!(saved.is_ok(), "{method} {values:?}: '{name}' = {value}: {:?}", saved.err());
                }
            }
        }
    }
}

#[test]
fn a_map_that_collapsed_says_so() {
    let data = clouds(3, 8, 4, 2.0, 1);
    for (method, values) in RUNS {
        let mut checkpoint = checkpoint_after(method, values, &data, 4);
        for name in ["descent/map", "gains/update", "momentum/update", "search/gradient"] {
            if let Ok(length) = checkpoint.f64s(name).map(<[f64]>::len) {
                checkpoint.put(name, vec![0.0; length]);
            }
        }
        let options = FitOptions { resume: Some(&checkpoint), ..FitOptions::default() };
        let Ok(model) = fit(method, values, &data, options) else { continue };
        let said = |note: &Note| matches!(note, Note::PointsCoincide | Note::EmbeddingCollapsed { .. });
        let first = model.embedding().row(0);
        let collapsed = (0..24).all(|i| model.embedding().row(i) == first);
        assert!(!collapsed || model.notes().iter().any(said), "{method} {values:?}: {:?}", model.notes());
    }
}

#[test]
fn models_of_two_to_six_rows_can_be_saved_and_transform_rows() {
    for rows in 2..=6 {
        for seed in 0..4 {
            let data = clouds(1, rows, 4, 0.0, seed);
            let new = clouds(1, 3, 4, 0.0, 100 + seed);
            for (method, values) in RUNS.into_iter().filter(|(_, values)| !values.contains(&("engine", "fft"))) {
                let model = lowland_testkit::fit(method, values, &data, Seed(0));
                let what = format!("{method} {values:?}, {rows} rows, seed {seed}");
                let read = Model::from_bytes(&model.to_bytes()).unwrap_or_else(|e| panic!("{what}: {e}"));
                for rows in [&data, &new] {
                    let placed = read.transform(rows).unwrap_or_else(|e| panic!("{what}: {e}"));
                    assert!(placed.values().iter().all(|v| v.is_finite()), "{what}: {placed:?}");
                }
            }
        }
    }
}

#[test]
fn the_same_rows_in_another_order_start_at_the_same_points() {
    // Some rows occur twice.
    let data = with_repeats(&clouds(3, 40, 6, 2.0, 4), &[3, 50]);
    let order: Vec<usize> = (0..data.rows()).map(|i| (i * 37 + 11) % data.rows()).collect();
    let moved = data.select(&order);
    for (method, values) in [
        ("tsne", [("init", "pca"), ("max_iter", "3")]),
        ("tsne", [("init", "random"), ("max_iter", "3")]),
        ("ssne", [("init", "random"), ("max_iter", "2")]),
        ("ee", [("init", "pca"), ("max_iter", "2")]),
        ("mapit", [("init", "random"), ("max_iter", "3")]),
    ] {
        let [here, there] = [&data, &moved].map(|rows| lowland_testkit::fit(method, &values, rows, Seed(5)));
        let size = here.embedding().values().iter().fold(0.0f64, |most, v| most.max(v.abs()));
        for (i, &row) in order.iter().enumerate() {
            // Of two equal rows, either may be first.
            if [3, 50, 120, 121].contains(&row) {
                continue;
            }
            let difference = |c: usize| (there.embedding().row(i)[c] - here.embedding().row(row)[c]).abs();
            assert!(difference(0).max(difference(1)) < 1e-6 * size, "{method} {values:?}, row {row}");
        }
    }
}
