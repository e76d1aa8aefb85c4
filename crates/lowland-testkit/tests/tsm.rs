//! Tests of TSM: storage of matrices, checkpoints of large problems, transforms by eq 16, exact norms and layers.

use std::ops::ControlFlow;

use lowland::fit::check_memory;
use lowland::message::RustTerms;
use lowland::registry::MethodInfo;
use lowland::run::{Archive, ArchiveKind, Event, StopReason};
use lowland::{Data, Embedding, Error, FitOptions, MemoryBudget, Model, Result, Seed};
use lowland_testkit::fixtures::clouds;

type Values<'a> = &'a [(&'a str, &'a str)];

fn fit(data: &Data, values: Values, options: FitOptions) -> Result<Model> {
    lowland_testkit::fit_with("tsm", values, data, FitOptions { seed: Seed(1), ..options })
}

fn unlimited<'a>() -> FitOptions<'a> {
    FitOptions::default()
}

fn limited<'a>(bytes: u64) -> FitOptions<'a> {
    FitOptions { memory: MemoryBudget::new(Some(bytes)), ..FitOptions::default() }
}

/// Enough rows for tiles in single precision to dominate the memory.
fn many_rows() -> Data {
    clouds(4, 600, 8, 3.0, 3)
}

const FEW_UPDATES: Values = &[("max_iter", "6"), ("density", "0.02"), ("n_components", "3")];

#[test]
fn tiles_are_used_if_they_fit_into_memory() {
    let data = many_rows();
    let notes = |options: FitOptions| {
        let model = fit(&data, FEW_UPDATES, options).unwrap();
        model.notes().iter().map(|note| note.describe(&RustTerms)).collect::<Vec<_>>().join("\n")
    };
    assert!(notes(unlimited()).contains("matrices in tiles"));
    let limited_notes = notes(limited(40 << 20));
    assert!(limited_notes.contains("tiles would not fit into memory"), "{limited_notes}");
    let [tiles, factors] = ["tiles", "factors"].map(|mode| {
        let values = [FEW_UPDATES, &[("matrices", mode)]].concat();
        let method = MethodInfo::find("tsm").unwrap().parse(&values).unwrap().method;
        check_memory(method.as_ref(), data.shape(), &unlimited()).unwrap()
    });
    assert!(tiles > factors + 4 * 2400 * 2400, "{tiles} {factors}");
}

#[test]
fn a_threshold_with_too_many_pairs_is_a_memory_error() {
    // Far from the origin, all rows have nearly the same direction.
    let Data::Dense(x) = clouds(1, 2400, 3, 0.01, 3) else { panic!("dense") };
    let near = Data::dense(x.values().iter().map(|v| v + 50.0).collect(), 3).unwrap();
    let error = fit(&near, &[("tau", "0.1"), ("max_iter", "2")], limited(100 << 20)).err().expect("too many pairs");
    assert!(matches!(error, Error::Memory { .. }) && error.to_string().contains("Raise tau"), "{error}");
}

#[test]
fn a_resumed_run_keeps_its_tiles_or_is_refused() {
    let data = many_rows();
    let complete = fit(&data, FEW_UPDATES, unlimited()).unwrap();
    let mut saved = None;
    let mut save = |event: &Event| {
        if let Event::Step { step, checkpoint, .. } = event
            && step.iteration == 3
        {
            saved = Some(checkpoint().to_bytes());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    fit(&data, FEW_UPDATES, FitOptions { observer: Some(&mut save), ..unlimited() }).unwrap();
    let checkpoint = Archive::from_bytes(&saved.expect("three updates"), ArchiveKind::Checkpoint).unwrap();
    let resume = |options| fit(&data, FEW_UPDATES, FitOptions { resume: Some(&checkpoint), ..options });
    let error = resume(limited(40 << 20)).err().expect("the tiles of the checkpoint do not fit");
    assert!(matches!(error, Error::Memory { .. }) && error.to_string().contains("Raise max_memory"), "{error}");
    let resumed = resume(unlimited()).unwrap();
    assert!(resumed.to_bytes() == complete.to_bytes());
}

#[test]
fn eq_16_is_close_to_the_locally_linear_extension_and_survives_saving() {
    let data = clouds(4, 100, 8, 3.0, 3);
    let values: Values = &[("max_iter", "60"), ("tau", "0.8"), ("n_components", "6")];
    let (even, odd): (Vec<usize>, Vec<usize>) = (0..data.rows()).partition(|i| i % 2 == 0);
    let (train, new) = (data.select(&even), data.select(&odd));
    let transform = |placing: &str| {
        let fitted = fit(&train, &[values, &[("placing", placing)]].concat(), unlimited()).unwrap();
        let again = Model::from_bytes(&fitted.to_bytes()).unwrap();
        let embedding = fitted.transform(&new).unwrap();
        assert_eq!(again.transform(&new).unwrap(), embedding, "{placing}");
        embedding
    };
    let (relu, llx) = (transform("relu"), transform("llx"));
    let cosine = |i: usize| {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (a, b) = (relu.row(i), llx.row(i));
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    let mean = (0..new.rows()).map(cosine).sum::<f64>() / new.rows() as f64;
    assert!(mean > 0.95 && relu != llx, "{mean}");
    let both = [values, &[("placing", "relu"), ("landmarks", "50")]].concat();
    let error = fit(&train, &both, unlimited()).err().expect("not supported together");
    assert!(error.to_string().contains("placing"), "{error}");
}

fn norms(values: &[f64], dim: usize) -> Vec<f64> {
    values.chunks_exact(dim).map(|row| row.iter().map(|v| v * v).sum::<f64>().sqrt()).collect()
}

fn data_norms(data: &Data) -> Vec<f64> {
    let values: Vec<f64> = lowland_testkit::fixtures::dense(data).iter().map(|&v| f64::from(v)).collect();
    norms(&values, data.dim())
}

#[track_caller]
fn assert_norms(map: &Embedding, data: &Data) {
    for (i, (found, expected)) in norms(map.values(), map.dim()).iter().zip(data_norms(data)).enumerate() {
        assert!((found - expected).abs() <= 1e-14 * expected, "row {i}: {found} {expected}");
    }
}

#[test]
fn exact_norms_are_those_of_the_data_and_change_no_angle() {
    let data = clouds(4, 60, 8, 3.0, 3);
    let new = clouds(4, 10, 8, 3.0, 5);
    let values: Values = &[("max_iter", "40"), ("tau", "0.8"), ("n_components", "3")];
    let exact: Values = &[values, &[("norms", "exact")]].concat();
    let fitted = fit(&data, values, unlimited()).unwrap();
    let off = norms(fitted.embedding().values(), 3);
    let off = off.iter().zip(data_norms(&data)).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max);
    assert!(off > 0.05, "the norms of the ordinary result differ: {off}");
    let scaled = fit(&data, exact, unlimited()).unwrap();
    assert_norms(scaled.embedding(), &data);
    for i in 0..data.rows() {
        let (a, b) = (fitted.embedding().row(i), scaled.embedding().row(i));
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        // Every direction is the same, so every angle is.
        assert!((dot(a, b) / (dot(a, a) * dot(b, b)).sqrt() - 1.0).abs() < 1e-14, "row {i}");
    }
    // New rows, the same after saving; and rows placed by extension.
    let again = Model::from_bytes(&scaled.to_bytes()).unwrap();
    assert_norms(&again.transform(&new).unwrap(), &new);
    assert_norms(
        &fit(&data, &[exact, &[("placing", "relu")]].concat(), unlimited()).unwrap().transform(&new).unwrap(),
        &new,
    );
    let extended = fit(&data, &[exact, &[("landmarks", "80")]].concat(), unlimited()).unwrap();
    assert_norms(extended.embedding(), &data);
    assert_norms(&Model::from_bytes(&extended.to_bytes()).unwrap().transform(&new).unwrap(), &new);
}

/// The rows of an embedding as data.
fn as_data(embedding: &Embedding) -> Data {
    Data::dense(embedding.values().iter().map(|&v| v as f32).collect(), embedding.dim()).unwrap()
}

#[test]
fn layers_are_maps_of_maps() {
    let (data, new) = (clouds(4, 60, 8, 3.0, 3), clouds(4, 10, 8, 3.0, 5));
    for placing in ["llx", "relu"] {
        let values = |n_components| [("max_iter", "20"), ("placing", placing), ("n_components", n_components)];
        let first = fit(&data, &values("6"), unlimited()).unwrap();
        let second = fit(&as_data(first.embedding()), &values("3"), unlimited()).unwrap();
        let both = fit(&data, &[&values("3")[..], &[("layers", "6")]].concat(), unlimited()).unwrap();
        assert_eq!(both.embedding(), second.embedding(), "{placing}");
        let again = Model::from_bytes(&both.to_bytes()).unwrap();
        let expected = second.transform(&as_data(&first.transform(&new).unwrap())).unwrap();
        assert_eq!(again.transform(&new).unwrap(), expected, "{placing}");
    }
}

#[test]
fn layers_must_narrow() {
    let data = clouds(2, 30, 8, 3.0, 3);
    for layers in ["2", "4,6", "9"] {
        let error = fit(&data, &[("n_components", "3"), ("layers", layers)], unlimited()).err().expect(layers);
        assert!(error.to_string().starts_with(&format!("layers = {layers}")), "{error}");
    }
}

#[test]
fn a_run_resumed_in_the_second_layer_is_identical_and_a_stop_in_the_first_keeps_an_embedding() {
    let data = clouds(4, 60, 8, 3.0, 3);
    let values: Values = &[("max_iter", "8"), ("n_components", "2"), ("layers", "5,3"), ("norms", "exact")];
    let complete = fit(&data, values, unlimited()).unwrap();
    let stop_at = |stop_layer: usize| {
        let (mut saved, mut layer) = (None, 0);
        let mut save = |event: &Event| {
            if let Event::Step { step, checkpoint, embedding, .. } = event {
                layer += usize::from(step.iteration == 1);
                assert_eq!(embedding().dim(), 2);
                if (layer, step.iteration) == (stop_layer, 3) {
                    saved = Some(checkpoint().to_bytes());
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        };
        let stopped = fit(&data, values, FitOptions { observer: Some(&mut save), ..unlimited() }).unwrap();
        (saved.expect("a checkpoint"), stopped)
    };
    for layer in [1, 2, 3] {
        let (bytes, stopped) = stop_at(layer);
        assert_eq!(stopped.outcome().stop_reason, StopReason::Stopped);
        assert_norms(stopped.embedding(), &data);
        let loaded = Model::from_bytes(&stopped.to_bytes()).unwrap();
        assert_eq!(loaded.transform(&data).unwrap(), *stopped.embedding());
        let checkpoint = Archive::from_bytes(&bytes, ArchiveKind::Checkpoint).unwrap();
        let resumed = fit(&data, values, FitOptions { resume: Some(&checkpoint), ..unlimited() }).unwrap();
        assert!(resumed.to_bytes() == complete.to_bytes(), "resumed in layer {layer}");
        assert_eq!(resumed.outcome(), complete.outcome());
    }
}
