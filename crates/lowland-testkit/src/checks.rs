//! What every method must do. Each function fails by panicking, as tests do.

#![allow(missing_docs)] // The names are the documentation.

use std::ops::ControlFlow;

use lowland::message::Note;
use lowland::preprocessing::Preprocessing;
use lowland::quality::procrustes;
use lowland::run::{Archive, ArchiveKind, Event, Observer, StopReason};
use lowland::{Data, Embedding, Error, FitOptions, Model, Result, Seed, with_threads};
use lowland_core::archive::Array;

use crate::fixtures::{clouds, dense, roll, scaled, sparse_pair, wide_clouds, with_repeats};

use crate::fit_with;

type Values<'a> = &'a [(&'a str, &'a str)];

/// Options with the suite's seed.
fn options<'a>() -> FitOptions<'a> {
    FitOptions { seed: Seed(1), ..FitOptions::default() }
}

fn fit_observed(method: &str, values: Values, data: &Data, observer: &mut dyn Observer) -> Result<Model> {
    fit_with(method, values, data, FitOptions { observer: Some(observer), ..options() })
}

fn fit(method: &str, values: Values, data: &Data) -> Model {
    let model = fit_with(method, values, data, options());
    model.unwrap_or_else(|error| panic!("{method} on {data:?}: {error}"))
}

fn transform(model: &Model, data: &Data) -> Embedding {
    model.transform(data).expect("a transform of good rows")
}

fn assert_finite(map: &Embedding, rows: usize) {
    assert_eq!(map.rows(), rows);
    assert!(map.values().iter().all(|v| v.is_finite()), "a coordinate is not finite");
}

/// Root mean square distance of the points from their mean.
fn spread(map: &Embedding) -> f64 {
    let (n, dim) = (map.rows() as f64, map.dim());
    let mean = |c: usize| map.values().iter().skip(c).step_by(dim).sum::<f64>() / n;
    let means: Vec<f64> = (0..dim).map(mean).collect();
    let square: f64 = map.values().iter().enumerate().map(|(at, v)| (v - means[at % dim]).powi(2)).sum();
    (square / n).sqrt()
}

pub fn one_two_or_three_points_make_a_finite_map(method: &str, values: Values) {
    for n in 1..=3 {
        let data = clouds(1, n, 4, 0.0, 3);
        assert_finite(fit(method, values, &data).embedding(), n);
    }
}

pub fn duplicates_are_kept_and_do_no_harm(method: &str, values: Values) {
    let data = with_repeats(&clouds(2, 30, 5, 2.0, 4), &[0; 40]);
    let fitted = fit(method, values, &data);
    assert_finite(fitted.embedding(), 100);
    let duplicates = Note::DuplicateRows { count: 40, rows: 100 };
    assert!(fitted.notes().contains(&duplicates), "{:?}", fitted.notes());
    let same = data.select(&[0; 25]);
    assert_finite(fit(method, values, &same).embedding(), 25);
}

pub fn a_nan_is_refused_by_row_and_column(method: &str, values: Values) {
    let mut cells = dense(&clouds(2, 20, 5, 2.0, 5)).to_vec();
    cells[5 * 7 + 3] = f32::NAN;
    let data = Data::dense(cells, 5).expect("whole rows");
    let error = fit_with(method, values, &data, options()).err().expect("NaN must be refused");
    assert!(matches!(error, Error::NotFinite { row: 7, column: 3, count: 1, .. }), "{error}");
    let fitted = fit(method, values, &clouds(2, 20, 5, 2.0, 5));
    assert!(fitted.transform(&data).is_err(), "transform must refuse NaN too");
}

pub fn a_disconnected_graph_still_makes_one_finite_map(method: &str, values: Values) {
    let data = clouds(3, 60, 6, 1000.0, 6);
    let fitted = fit(method, values, &data);
    assert_finite(fitted.embedding(), 180);
    assert!(spread(fitted.embedding()) > 0.0, "all points fell onto one");
}

pub fn the_same_bytes_come_out_for_any_number_of_threads(method: &str, values: Values) {
    let data = clouds(5, 240, 12, 2.0, 7);
    let bytes = |threads| with_threads(Some(threads), || fit(method, values, &data).to_bytes()).expect("a pool");
    let first = bytes(1);
    for threads in [1, 2, 3] {
        assert!(bytes(threads) == first, "{threads} threads gave another model");
    }
}

pub fn it_takes_several_steps(method: &str, values: Values) {
    let steps = fit(method, values, &wide_clouds(8)).outcome().trace.len();
    assert!(steps > 3, "only {steps} steps: stopping and resuming would go untested");
}

pub fn a_stop_at_step_three_keeps_the_map(method: &str, values: Values) {
    let data = wide_clouds(8);
    let mut seen = 0;
    let mut stop_at_three = |event: &Event| match event {
        Event::Step { step, .. } => {
            seen = step.iteration;
            if seen >= 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
        // Whoever wants to stop keeps saying so, as a pressed Ctrl-C does.
        _ if seen >= 3 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let fitted = fit_observed(method, values, &data, &mut stop_at_three).expect("stopping is not an error");
    assert_finite(fitted.embedding(), 420);
    if seen >= 3 {
        assert_eq!((seen, fitted.outcome().stop_reason), (3, StopReason::Stopped));
    }
    assert_finite(&transform(&fitted, &data.select(&[0, 1])), 2);
}

pub fn a_stop_before_there_is_a_map_is_said(method: &str, values: Values) {
    let mut stop = |event: &Event| match event {
        Event::StageStart(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let error = fit_observed(method, values, &roll(100, 8), &mut stop).err().expect("there is nothing to keep");
    assert!(matches!(error, Error::Stopped { .. }), "{error}");
}

/// The checkpoint after `iteration`, if the run gets there.
fn checkpoint_at(method: &str, values: Values, data: &Data, iteration: usize) -> Option<Archive> {
    let mut taken = None;
    let mut take = |event: &Event| {
        if let Event::Step { step, checkpoint, .. } = event
            && step.iteration == iteration
        {
            taken = Some(checkpoint());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    fit_observed(method, values, data, &mut take).expect("stopping is not an error");
    taken
}

fn resume(method: &str, values: Values, data: &Data, checkpoint: &Archive) -> Result<Model> {
    fit_with(method, values, data, FitOptions { resume: Some(checkpoint), ..options() })
}

pub fn a_resumed_run_gives_the_same_bytes(method: &str, values: Values) {
    let data = wide_clouds(9);
    let whole = fit(method, values, &data);
    for iteration in [1, 2, 3] {
        let Some(checkpoint) = checkpoint_at(method, values, &data, iteration) else {
            assert!(whole.outcome().trace.len() < iteration, "no checkpoint at iteration {iteration}");
            continue;
        };
        let stored = Archive::from_bytes(&checkpoint.to_bytes(), ArchiveKind::Checkpoint).expect("its own bytes");
        let resumed = resume(method, values, &data, &stored).expect("a good checkpoint");
        assert!(resumed.to_bytes() == whole.to_bytes(), "resumed at {iteration}");
        assert_eq!(resumed.outcome(), whole.outcome());
    }
}

pub fn a_checkpoint_of_other_data_or_with_parts_missing_is_refused(method: &str, values: Values) {
    let data = wide_clouds(9);
    let Some(checkpoint) = checkpoint_at(method, values, &data, 1) else { return };
    let error = resume(method, values, &wide_clouds(10), &checkpoint).err().expect("refused");
    assert!(error.to_string().contains("other data"), "{error}");
    for name in checkpoint.names() {
        for keep_half in [false, true] {
            let damaged = damaged(&checkpoint, name, keep_half);
            let refused = resume(method, values, &data, &damaged).is_err();
            assert!(refused, "a checkpoint with '{name}' missing or cut was taken");
        }
    }
}

pub fn a_saved_model_transforms_with_the_same_bytes(method: &str, values: Values) {
    let data = clouds(3, 50, 8, 2.0, 11);
    let new = clouds(3, 5, 8, 2.0, 12);
    let fitted = fit(method, values, &data);
    let bytes = fitted.to_bytes();
    let loaded = Model::from_bytes(&bytes).expect("its own bytes");
    assert_eq!(loaded.to_bytes(), bytes);
    assert_eq!(transform(&loaded, &new), transform(&fitted, &new));
    assert_eq!(loaded.embedding(), fitted.embedding());
}

/// A copy of an archive without an entry, or with only half of it.
fn damaged(archive: &Archive, name: &str, keep_half: bool) -> Archive {
    let mut copy = archive.clone();
    match (archive.get(name).expect("one of its names").clone(), keep_half) {
        (_, false) => copy.remove(name),
        (Array::F64(v), true) => copy.put(name, &v[..v.len() / 2]),
        (Array::F32(v), true) => copy.put(name, &v[..v.len() / 2]),
        (Array::U64(v), true) => copy.put(name, &v[..v.len() / 2]),
        (Array::U32(v), true) => copy.put(name, &v[..v.len() / 2]),
        (Array::Text(v), true) => copy.put(name, &v[..v.len() / 2]),
    }
    copy
}

pub fn a_model_with_parts_missing_or_not_finite_is_an_error(method: &str, values: Values) {
    let data = clouds(2, 20, 4, 2.0, 13);
    let limited = FitOptions {
        preprocessing: Preprocessing { standardize: true, normalize: true, pca: 3, ..Preprocessing::default() },
        feature_names: ["a", "b", "c", "d"].map(String::from).to_vec(),
        ..options()
    };
    let model = fit_with(method, values, &data, limited).expect("a fit");
    let whole = Archive::from_bytes(&model.to_bytes(), ArchiveKind::Model).expect("its own bytes");
    for name in whole.names() {
        for keep_half in [false, true] {
            let refused = Model::from_bytes(&damaged(&whole, name, keep_half).to_bytes()).is_err();
            assert!(refused, "a model with '{name}' missing or cut was taken");
        }
        if let Some(Array::F64(numbers)) = whole.get(name) {
            let mut bad = whole.clone();
            bad.put(name, vec![f64::NAN; numbers.len()]);
            assert!(Model::from_bytes(&bad.to_bytes()).is_err(), "a model with NaN in '{name}' was taken");
        }
    }
}

pub fn training_rows_land_near_themselves(method: &str, values: Values) {
    let data = roll(500, 15);
    let fitted = fit(method, values, &data);
    // The model keeps training rows where they are; its transformer does not know them.
    assert_eq!(&transform(&fitted, &data), fitted.embedding(), "training rows keep their coordinates");
    let again = fitted.transformer().transform(&data, &mut |_| Ok(())).expect("a transform of good rows").embedding;
    let squares = fitted.embedding().values().iter().zip(again.values()).map(|(a, b)| (a - b).powi(2));
    let error = (squares.sum::<f64>() / 500.0).sqrt();
    let spread = spread(fitted.embedding());
    assert!(error < 0.15 * spread, "typical error {error}, spread of the map {spread}");
}

pub fn a_rows_image_does_not_depend_on_its_batch(method: &str, values: Values) {
    let fitted = fit(method, values, &clouds(3, 60, 8, 2.0, 16));
    let new = clouds(3, 30, 8, 2.0, 17);
    let together = transform(&fitted, &new);
    for i in [0, 1, 44, 89] {
        assert_eq!(transform(&fitted, &new.select(&[i])).row(0), together.row(i), "row {i} alone");
        assert_eq!(transform(&fitted, &new.select(&[89, i])).row(1), together.row(i), "row {i} after row 89");
    }
}

pub fn extreme_scales_give_the_same_map(method: &str, values: Values) {
    let data = wide_clouds(18);
    let usual = fit(method, values, &data);
    // Powers of two round no value: some methods are chaotic, and what rounding changes they may change.
    for scale in [2f64.powi(-100), 2f64.powi(100)] {
        let other = fit(method, values, &scaled(&data, scale));
        assert_finite(other.embedding(), 420);
        let distance =
            procrustes(usual.embedding().points(), other.embedding().points()).expect("maps of one shape").disparity;
        assert!(distance < 1e-12, "scale {scale}: Procrustes distance {distance}");
    }
}

pub fn sparse_rows_map_as_the_same_dense_rows(method: &str, values: Values) {
    let (dense, sparse) = sparse_pair(&clouds(4, 60, 10, 2.0, 19), 1.0);
    let (on_dense, on_sparse) = (fit(method, values, &dense), fit(method, values, &sparse));
    let (a, b) = (on_dense.embedding(), on_sparse.embedding());
    // Preparation may have centred dense rows, which sparse ones cannot follow: mixing the two is refused.
    for (fitted, new) in [(&on_dense, &sparse), (&on_sparse, &dense)] {
        let error = fitted.transform(new).expect_err("rows of another kind");
        assert!(matches!(error, Error::Kind { .. }), "{error}");
    }
    let distance = procrustes(a.points(), b.points()).expect("maps of one shape").disparity;
    assert!(distance < 1e-3, "Procrustes distance {distance}");
}

pub fn too_little_memory_is_refused_in_time(method: &str, values: Values) {
    let mut work = false;
    let mut watch = |event: &Event| {
        work |= matches!(event, Event::StageStart(_));
        ControlFlow::Continue(())
    };
    let limited = FitOptions { max_memory: Some(1000), observer: Some(&mut watch), ..options() };
    let error = fit_with(method, values, &roll(100, 20), limited).err().expect("refused");
    assert!(matches!(error, Error::Memory { limit: 1000, .. }), "{error}");
    assert!(!work, "work began before the refusal");
}

pub fn absurd_sizes_are_refused(method: &str, values: Values) {
    for count in ["18446744073709551615", "4611686018427387904", "1000000000000"] {
        let values = [values, &[("n_components", count)]].concat();
        let limited = FitOptions { max_memory: Some(1 << 34), ..options() };
        let error = fit_with(method, &values, &roll(100, 20), limited).err().expect("refused");
        assert!(matches!(error, Error::Memory { .. } | Error::Parameter { .. }), "{error}");
    }
}
