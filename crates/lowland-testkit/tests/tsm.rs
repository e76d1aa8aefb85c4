//! Tests of TSM: storage of matrices, checkpoints of large problems, and transforms by eq 16.

use std::ops::ControlFlow;

use lowland::fit::check_memory;
use lowland::message::RustTerms;
use lowland::registry::MethodInfo;
use lowland::run::{Archive, ArchiveKind, Event};
use lowland::{Data, Error, FitOptions, MemoryBudget, Model, Result, Seed};
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
