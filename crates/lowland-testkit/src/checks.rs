//! Checks that every method must pass. A check panics if it fails.

#![allow(missing_docs)] // The function names describe the checks.

use std::ops::ControlFlow;

use lowland::message::Note;
use lowland::preprocessing::Preprocessing;
use lowland::quality::procrustes;
use lowland::run::{Archive, ArchiveKind, Event, Observer, StopReason};
use lowland::{Data, Embedding, Error, FitOptions, MemoryBudget, Model, Result, Seed, with_threads};
use lowland_core::archive::Array;

use crate::fixtures::{clouds, dense, roll, scaled, sparse_pair, wide_clouds, with_repeats};

use crate::fit_with;

type Values<'a> = &'a [(&'a str, &'a str)];

/// Returns the default options with the seed of the suite.
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
    model.transform(data).expect("a transform of valid rows")
}

fn assert_finite(embedding: &Embedding, rows: usize) {
    assert_eq!(embedding.rows(), rows);
    assert!(embedding.values().iter().all(|v| v.is_finite()), "a coordinate is not finite");
}

/// Returns the root mean square distance of the points from their mean.
fn spread(embedding: &Embedding) -> f64 {
    let (n, dim) = (embedding.rows() as f64, embedding.dim());
    let mean = |c: usize| embedding.values().iter().skip(c).step_by(dim).sum::<f64>() / n;
    let means: Vec<f64> = (0..dim).map(mean).collect();
    let square: f64 = embedding.values().iter().enumerate().map(|(at, v)| (v - means[at % dim]).powi(2)).sum();
    (square / n).sqrt()
}

pub fn one_to_three_points_have_a_finite_embedding(method: &str, values: Values) {
    for n in 1..=3 {
        let data = clouds(1, n, 4, 0.0, 3);
        assert_finite(fit(method, values, &data).embedding(), n);
    }
}

pub fn duplicates_are_kept(method: &str, values: Values) {
    let data = with_repeats(&clouds(2, 30, 5, 2.0, 4), &[0; 40]);
    let fitted = fit(method, values, &data);
    assert_finite(fitted.embedding(), 100);
    let duplicates = Note::DuplicateRows { count: 40, rows: 100 };
    assert!(fitted.notes().contains(&duplicates), "{:?}", fitted.notes());
    let same = data.select(&[0; 25]);
    assert_finite(fit(method, values, &same).embedding(), 25);
}

pub fn nan_is_reported_by_row_and_column(method: &str, values: Values) {
    let mut cells = dense(&clouds(2, 20, 5, 2.0, 5)).to_vec();
    cells[5 * 7 + 3] = f32::NAN;
    let data = Data::dense(cells, 5).expect("complete rows");
    let error = fit_with(method, values, &data, options()).err().expect("NaN must be rejected");
    assert!(matches!(error, Error::NotFinite { row: 7, column: 3, count: 1, .. }), "{error}");
    let fitted = fit(method, values, &clouds(2, 20, 5, 2.0, 5));
    assert!(fitted.transform(&data).is_err(), "transform must reject NaN too");
}

pub fn a_disconnected_graph_has_a_finite_embedding(method: &str, values: Values) {
    let data = clouds(3, 60, 6, 1000.0, 6);
    let fitted = fit(method, values, &data);
    assert_finite(fitted.embedding(), 180);
    assert!(spread(fitted.embedding()) > 0.0, "all points coincide");
}

pub fn models_are_identical_for_any_number_of_threads(method: &str, values: Values) {
    let data = clouds(5, 240, 12, 2.0, 7);
    let bytes = |threads| with_threads(Some(threads), || fit(method, values, &data).to_bytes()).expect("a pool");
    let first = bytes(1);
    for threads in [1, 2, 3] {
        assert!(bytes(threads) == first, "the model differs with {threads} threads");
    }
}

pub fn the_fit_takes_several_steps(method: &str, values: Values) {
    let steps = fit(method, values, &wide_clouds(8)).outcome().trace.len();
    assert!(steps > 3, "only {steps} steps: stopping and resuming are not tested");
}

pub fn a_stop_at_step_three_keeps_the_embedding(method: &str, values: Values) {
    let data = wide_clouds(8);
    let mut seen = 0;
    let mut stop_at_three = |event: &Event| match event {
        Event::Step { step, .. } => {
            seen = step.iteration;
            if seen >= 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
        // Keep requesting a stop, as Ctrl-C does.
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

pub fn a_stop_before_the_first_embedding_is_an_error(method: &str, values: Values) {
    let mut stop = |event: &Event| match event {
        Event::StageStart(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let error =
        fit_observed(method, values, &roll(100, 8), &mut stop).err().expect("a stop without an embedding is an error");
    assert!(matches!(error, Error::Stopped { .. }), "{error}");
}

/// Returns the checkpoint after `iteration`, if the run has as many iterations.
fn checkpoint_at(method: &str, values: Values, data: &Data, iteration: usize) -> Option<Archive> {
    let mut saved = None;
    let mut save = |event: &Event| {
        if let Event::Step { step, checkpoint, .. } = event
            && step.iteration == iteration
        {
            saved = Some(checkpoint());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    fit_observed(method, values, data, &mut save).expect("stopping is not an error");
    saved
}

fn resume(method: &str, values: Values, data: &Data, checkpoint: &Archive) -> Result<Model> {
    fit_with(method, values, data, FitOptions { resume: Some(checkpoint), ..options() })
}

pub fn a_resumed_run_is_identical(method: &str, values: Values) {
    let data = wide_clouds(9);
    let complete = fit(method, values, &data);
    for iteration in [1, 2, 3] {
        let Some(checkpoint) = checkpoint_at(method, values, &data, iteration) else {
            assert!(complete.outcome().trace.len() < iteration, "no checkpoint at iteration {iteration}");
            continue;
        };
        let restored = Archive::from_bytes(&checkpoint.to_bytes(), ArchiveKind::Checkpoint).expect("valid bytes");
        let resumed = resume(method, values, &data, &restored).expect("a valid checkpoint");
        assert!(resumed.to_bytes() == complete.to_bytes(), "resumed at {iteration}");
        assert_eq!(resumed.outcome(), complete.outcome());
    }
}

pub fn a_checkpoint_of_other_data_or_with_missing_parts_is_rejected(method: &str, values: Values) {
    let data = wide_clouds(9);
    let Some(checkpoint) = checkpoint_at(method, values, &data, 1) else { return };
    let error = resume(method, values, &wide_clouds(10), &checkpoint).err().expect("must be rejected");
    assert!(error.to_string().contains("other data"), "{error}");
    for name in checkpoint.names() {
        for keep_half in [false, true] {
            let damaged = damaged(&checkpoint, name, keep_half);
            let rejected = resume(method, values, &data, &damaged).is_err();
            assert!(rejected, "a checkpoint with '{name}' missing or truncated was accepted");
        }
    }
}

pub fn a_saved_model_transforms_identically(method: &str, values: Values) {
    let data = clouds(3, 50, 8, 2.0, 11);
    let new = clouds(3, 5, 8, 2.0, 12);
    let fitted = fit(method, values, &data);
    let bytes = fitted.to_bytes();
    let loaded = Model::from_bytes(&bytes).expect("valid bytes");
    assert_eq!(loaded.to_bytes(), bytes);
    assert_eq!(transform(&loaded, &new), transform(&fitted, &new));
    assert_eq!(loaded.embedding(), fitted.embedding());
}

/// Returns a copy of an archive without an entry, or with only half of it.
fn damaged(archive: &Archive, name: &str, keep_half: bool) -> Archive {
    let mut copy = archive.clone();
    match (archive.get(name).expect("an existing entry").clone(), keep_half) {
        (_, false) => copy.remove(name),
        (Array::F64(v), true) => copy.put(name, &v[..v.len() / 2]),
        (Array::F32(v), true) => copy.put(name, &v[..v.len() / 2]),
        (Array::U64(v), true) => copy.put(name, &v[..v.len() / 2]),
        (Array::U32(v), true) => copy.put(name, &v[..v.len() / 2]),
        (Array::Text(v), true) => copy.put(name, &v[..v.len() / 2]),
    }
    copy
}

pub fn a_model_with_missing_or_non_finite_parts_is_rejected(method: &str, values: Values) {
    let data = clouds(2, 20, 4, 2.0, 13);
    let options = FitOptions {
        preprocessing: Preprocessing { standardize: true, normalize: true, pca: 3, ..Preprocessing::default() },
        feature_names: ["a", "b", "c", "d"].map(String::from).to_vec(),
        ..options()
    };
    let model = fit_with(method, values, &data, options).expect("a fit");
    let archive = Archive::from_bytes(&model.to_bytes(), ArchiveKind::Model).expect("valid bytes");
    for name in archive.names() {
        for keep_half in [false, true] {
            let damaged = damaged(&archive, name, keep_half).to_bytes();
            // Half of an empty array is the same array.
            let rejected = damaged == archive.to_bytes() || Model::from_bytes(&damaged).is_err();
            assert!(rejected, "a model with '{name}' missing or truncated was accepted");
        }
        if let Some(Array::F64(numbers)) = archive.get(name) {
            let mut invalid = archive.clone();
            invalid.put(name, vec![f64::NAN; numbers.len()]);
            assert!(Model::from_bytes(&invalid.to_bytes()).is_err(), "a model with NaN in '{name}' was accepted");
        }
    }
}

pub fn training_rows_are_transformed_close_to_their_coordinates(method: &str, values: Values) {
    let data = roll(500, 15);
    let fitted = fit(method, values, &data);
    // The model returns the coordinates of training rows; its transformer does not recognize them.
    assert_eq!(&transform(&fitted, &data), fitted.embedding(), "training rows keep their coordinates");
    let again = fitted.transformer().transform(&data, &mut |_| Ok(())).expect("a transform of valid rows").embedding;
    let squares = fitted.embedding().values().iter().zip(again.values()).map(|(a, b)| (a - b).powi(2));
    let error = (squares.sum::<f64>() / 500.0).sqrt();
    let spread = spread(fitted.embedding());
    assert!(error < 0.15 * spread, "typical error {error}, spread of the embedding {spread}");
}

pub fn a_transform_does_not_depend_on_the_batch(method: &str, values: Values) {
    let fitted = fit(method, values, &clouds(3, 60, 8, 2.0, 16));
    let new = clouds(3, 30, 8, 2.0, 17);
    let together = transform(&fitted, &new);
    for i in [0, 1, 44, 89] {
        assert_eq!(transform(&fitted, &new.select(&[i])).row(0), together.row(i), "row {i} alone");
        assert_eq!(transform(&fitted, &new.select(&[89, i])).row(1), together.row(i), "row {i} after row 89");
    }
}

pub fn extreme_scales_give_the_same_embedding(method: &str, values: Values) {
    let data = wide_clouds(18);
    let usual = fit(method, values, &data);
    // Powers of two cause no rounding, which some methods would amplify.
    for scale in [2f64.powi(-100), 2f64.powi(100)] {
        let other = fit(method, values, &scaled(&data, scale));
        assert_finite(other.embedding(), 420);
        let distance = procrustes(usual.embedding().points(), other.embedding().points())
            .expect("embeddings of the same shape")
            .disparity;
        assert!(distance < 1e-12, "scale {scale}: Procrustes distance {distance}");
    }
}

pub fn sparse_and_dense_rows_give_the_same_embedding(method: &str, values: Values) {
    let (dense, sparse) = sparse_pair(&clouds(4, 60, 10, 2.0, 19), 1.0);
    let (on_dense, on_sparse) = (fit(method, values, &dense), fit(method, values, &sparse));
    let (a, b) = (on_dense.embedding(), on_sparse.embedding());
    // Preprocessing centers dense rows but not sparse ones, so mixing the two is an error.
    for (fitted, new) in [(&on_dense, &sparse), (&on_sparse, &dense)] {
        let error = fitted.transform(new).expect_err("rows of another kind");
        assert!(matches!(error, Error::Kind { .. }), "{error}");
    }
    let distance = procrustes(a.points(), b.points()).expect("embeddings of the same shape").disparity;
    assert!(distance < 1e-3, "Procrustes distance {distance}");
}

pub fn too_little_memory_is_an_early_error(method: &str, values: Values) {
    let mut started = false;
    let mut observer = |event: &Event| {
        started |= matches!(event, Event::StageStart(_));
        ControlFlow::Continue(())
    };
    let limited = FitOptions { memory: MemoryBudget::new(Some(1000)), observer: Some(&mut observer), ..options() };
    let error = fit_with(method, values, &roll(100, 20), limited).err().expect("must be rejected");
    assert!(matches!(error, Error::Memory { limit: 1000, .. }), "{error}");
    assert!(!started, "a stage started before the error");
}

pub fn absurd_sizes_are_rejected(method: &str, values: Values) {
    for count in ["18446744073709551615", "4611686018427387904", "1000000000000"] {
        let values = [values, &[("n_components", count)]].concat();
        let limited = FitOptions { memory: MemoryBudget::new(Some(1 << 34)), ..options() };
        let error = fit_with(method, &values, &roll(100, 20), limited).err().expect("must be rejected");
        assert!(matches!(error, Error::Memory { .. } | Error::Parameter { .. }), "{error}");
    }
}
