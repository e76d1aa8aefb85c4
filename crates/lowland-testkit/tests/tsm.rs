//! TSM's recipe by itself: memory modes, checkpoints of large problems, and new rows by eq 16.

use std::ops::ControlFlow;

use lowland::fit::check_memory;
use lowland::message::RustTerms;
use lowland::registry::MethodInfo;
use lowland::run::{Archive, ArchiveKind, Event};
use lowland::{Data, Error, FitOptions, Model, Result, Seed};
use lowland_testkit::fixtures::clouds;

type Values<'a> = &'a [(&'a str, &'a str)];

fn fit(data: &Data, values: Values, options: FitOptions) -> Result<Model> {
    lowland_testkit::fit_with("tsm", values, data, FitOptions { seed: Seed(1), ..options })
}

fn unlimited<'a>() -> FitOptions<'a> {
    FitOptions::default()
}

fn limited<'a>(bytes: u64) -> FitOptions<'a> {
    FitOptions { max_memory: Some(bytes), ..FitOptions::default() }
}

/// So many rows that tiles are in single precision, and take more than all else.
fn many() -> Data {
    clouds(4, 600, 8, 3.0, 3)
}

const FEW: Values = &[("max_iter", "6"), ("density", "0.02"), ("n_components", "3")];

#[test]
fn matrices_are_tiles_where_memory_allows_and_factors_where_not() {
    let data = many();
    let notes = |options: FitOptions| {
        let model = fit(&data, FEW, options).unwrap();
        model.notes().iter().map(|note| note.describe(&RustTerms)).collect::<Vec<_>>().join("\n")
    };
    assert!(notes(unlimited()).contains("matrices in tiles"));
    let tight = notes(limited(57 << 20));
    assert!(tight.contains("tiles would not fit into memory"), "{tight}");
    let [tiles, factors] = ["tiles", "factors"].map(|mode| {
        let values = [FEW, &[("matrices", mode)]].concat();
        let method = MethodInfo::find("tsm").unwrap().parse(&values).unwrap().method;
        check_memory(method.as_ref(), data.shape(), &unlimited()).unwrap()
    });
    assert!(tiles > factors + 4 * 2400 * 2400, "{tiles} {factors}");
}

#[test]
fn a_threshold_with_too_many_pairs_is_refused_by_its_need() {
    // Far from the origin, all rows have nearly one direction.
    let Data::Dense(x) = clouds(1, 2400, 3, 0.01, 3) else { panic!("dense") };
    let near = Data::dense(x.values().iter().map(|v| v + 50.0).collect(), 3).unwrap();
    let error = fit(&near, &[("tau", "0.1"), ("max_iter", "2")], limited(100 << 20)).err().expect("too much");
    assert!(matches!(error, Error::Memory { .. }) && error.to_string().contains("Raise tau"), "{error}");
}

#[test]
fn a_resumed_run_keeps_its_tiles_whatever_memory_is_left() {
    let data = many();
    let whole = fit(&data, FEW, unlimited()).unwrap();
    let mut taken = None;
    let mut take = |event: &Event| {
        if let Event::Step { step, checkpoint, .. } = event
            && step.iteration == 3
        {
            taken = Some(checkpoint().to_bytes());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    fit(&data, FEW, FitOptions { observer: Some(&mut take), ..unlimited() }).unwrap();
    let checkpoint = Archive::from_bytes(&taken.expect("three updates"), ArchiveKind::Checkpoint).unwrap();
    let resumed = fit(&data, FEW, FitOptions { resume: Some(&checkpoint), ..limited(57 << 20) }).unwrap();
    assert!(resumed.to_bytes() == whole.to_bytes());
}

#[test]
fn eq_16_places_new_rows_near_where_the_extension_does_and_outlives_a_file() {
    let data = clouds(4, 100, 8, 3.0, 3);
    let values: Values = &[("max_iter", "60"), ("tau", "0.8"), ("n_components", "6")];
    let (even, odd): (Vec<usize>, Vec<usize>) = (0..data.rows()).partition(|i| i % 2 == 0);
    let (train, new) = (data.select(&even), data.select(&odd));
    let place = |placing: &str| {
        let fitted = fit(&train, &[values, &[("placing", placing)]].concat(), unlimited()).unwrap();
        let again = Model::from_bytes(&fitted.to_bytes()).unwrap();
        let map = fitted.transform(&new).unwrap();
        assert_eq!(again.transform(&new).unwrap(), map, "{placing}");
        map
    };
    let (relu, llx) = (place("relu"), place("llx"));
    let cosine = |i: usize| {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (a, b) = (relu.row(i), llx.row(i));
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    let mean = (0..new.rows()).map(cosine).sum::<f64>() / new.rows() as f64;
    assert!(mean > 0.95 && relu != llx, "{mean}");
    let both = [values, &[("placing", "relu"), ("landmarks", "50")]].concat();
    let error = fit(&train, &both, unlimited()).err().expect("one or the other");
    assert!(error.to_string().contains("placing"), "{error}");
}
