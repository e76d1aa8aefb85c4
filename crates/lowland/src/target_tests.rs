use lowland_core::archive::ArchiveKind;
use lowland_core::run::Event;
use lowland_core::{Data, Metric, Seed};
use std::ops::ControlFlow;

use super::*;
use crate::methods::{Lvm, MapIt, Pca, Spectral, Tsne, Umap};
use crate::registry::{METHODS, MethodInfo};
use crate::{Fit, FitOptions, Model};

fn target(names: &[&str]) -> Target {
    Target::new(Labels::new(names))
}

fn supervision(weight: f64, metric: TargetMetric) -> Supervision {
    Supervision { weight, metric }
}

fn reason(weight: f64, metric: TargetMetric, names: &[&str]) -> String {
    let rows = names.len();
    supervision(weight, metric).differences(&target(names), rows).err().expect("must be refused").to_string()
}

fn line(n: u32) -> NeighborGraph {
    let (mut indptr, mut indices, mut distances) = (vec![0], Vec::new(), Vec::new());
    for i in 0..n {
        for j in (0..n).filter(|&j| j != i) {
            indices.push(j);
            distances.push(i.abs_diff(j) as f32);
        }
        indptr.push(indices.len());
    }
    NeighborGraph::new(indptr, indices, distances, n as usize, Metric::Euclidean).unwrap()
}

#[test]
fn neighbors_of_the_same_class_come_first_and_keep_their_distances() {
    // Even and odd numbers are classes; 6 is unknown.
    let names = ["a", "b", "a", "b", "a", "b", "-1", "b"];
    let apply = |weight| {
        let differences = supervision(weight, TargetMetric::Auto).differences(&target(&names), 8).unwrap();
        differences.apply(&line(8), 3).unwrap()
    };
    let graph = apply(0.5);
    assert_eq!(graph.row(0).0[..2], [2, 4]);
    assert_eq!(graph.row(0).1[..2], [2.0, 4.0]);
    // What is unknown is nearer than another class: by a bandwidth of 1/3, and not five of them.
    assert_eq!(graph.row(5), (&[6, 3, 7][..], &[1.0 + 1.0 / 3.0, 2.0, 2.0][..]));
    // A weight of zero changes nothing, and one leaves no neighbor of another class among three.
    assert_eq!(apply(0.0), line(8).truncate(3));
    let row = apply(1.0);
    assert!(row.row(1).0.iter().all(|&j| names[j as usize] != "a"), "{:?}", row.row(1));
}

#[test]
fn numbers_attract_by_their_difference() {
    let names = ["0.5", "9.5", "0.5", "9.5", "0.7", "", "0.5", "9.5"];
    let differences = supervision(0.9, TargetMetric::Auto).differences(&target(&names), 8).unwrap();
    let graph = differences.apply(&line(8), 3).unwrap();
    assert_eq!(graph.row(0).0, [2, 4, 6]);
    assert!(graph.row(0).1[1] > 5.0 && graph.row(0).1[1] < 6.0, "{:?}", graph.row(0));
    // Whole numbers are classes unless they are said to be numbers.
    let whole = target(&["1", "2", "3", "1", "2", "3"]);
    let note = |metric| supervision(0.5, metric).differences(&whole, 6).unwrap().note();
    assert_eq!(note(TargetMetric::Auto), Note::Supervised { known: 6, rows: 6, classes: Some(3) });
    assert_eq!(note(TargetMetric::Numeric), Note::Supervised { known: 6, rows: 6, classes: None });
}

#[test]
fn targets_that_say_nothing_are_refused_with_the_reason() {
    let auto = TargetMetric::Auto;
    assert!(reason(0.5, auto, &["-1", "", "nan", "-1.0"]).contains("all values are unknown"));
    assert!(reason(0.5, auto, &["a", "", "a"]).contains("one class only, 'a' (2 rows)"));
    let own = reason(0.5, auto, &["a", "b", "c"]);
    assert!(own.contains("has a class of its own") && own.contains("target_metric = numeric"), "{own}");
    let text = reason(0.5, TargetMetric::Numeric, &["1", "x", "2"]);
    assert!(text.contains("'x' of row 1 is not a number") && text.contains("categorical"), "{text}");
    assert!(reason(0.5, TargetMetric::Numeric, &["", ""]).contains("unknown"));
    assert!(reason(0.5, TargetMetric::Numeric, &["2", "2", ""]).contains("one value only, 2"));
    let short = supervision(0.5, auto).differences(&target(&["a", "b"]), 3).err().unwrap();
    assert!(matches!(short, Error::Shape { expected: 3, found: 2, .. }));
    assert!(supervision(1.5, auto).validate().is_err());
}

/// Two classes that the data do not distinguish.
fn noise() -> (Data, Target) {
    let values = Seed(9).normals(240 * 4).into_iter().map(|v| v as f32).collect();
    let classes = Labels::new((0..240).map(|i| ["a", "b", "a", ""][i % 4]));
    (Data::dense(values, 4).unwrap(), Target::new(classes))
}

/// Share of the nearest points of known points that are of the same class.
fn purity(model: &Model) -> f64 {
    let (map, known) = (model.embedding(), (0..240).filter(|i| i % 4 < 3));
    let nearest = |i: usize| {
        let distance = |j: usize| map.row(i).iter().zip(map.row(j)).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        (0..240).filter(|&j| j != i && j % 4 < 3).min_by(|&a, &b| distance(a).total_cmp(&distance(b))).unwrap()
    };
    let same = known.filter(|&i| (i % 2 == 1) == (nearest(i) % 2 == 1)).count();
    same as f64 / 180.0
}

fn check_method(method: impl Fit) {
    let (data, target) = noise();
    let supervised = FitOptions { target: Some(&target), ..FitOptions::default() };
    let (plain, model) = (method.fit(&data).unwrap(), method.fit_with(&data, supervised).unwrap());
    let name = model.method().name();
    assert!(purity(&model) > purity(&plain) + 0.15, "{name}: {} {}", purity(&plain), purity(&model));
    assert!(model.notes().contains(&Note::Supervised { known: 180, rows: 240, classes: Some(2) }), "{name}");
    assert!(model.neighbors().is_none(), "{name}: scores must not use the supervised graph");
    // New rows are placed without a target, also by a loaded model.
    let loaded = Model::from_bytes(&model.to_bytes()).unwrap();
    let new = Data::dense(Seed(10).normals(20).into_iter().map(|v| v as f32).collect(), 4).unwrap();
    assert_eq!(loaded.transform(&new).unwrap(), model.transform(&new).unwrap());
    assert!(loaded.pipeline().has_target);
}

#[test]
fn every_method_with_a_target_weight_is_supervised() {
    check_method(Tsne { max_iter: 300, ..Tsne::default() });
    check_method(Umap { n_epochs: lowland_core::params::Auto::Value(100), ..Umap::default() });
    check_method(MapIt { max_iter: 200, ..MapIt::default() });
    check_method(Lvm { max_iter: 100, ..Lvm::default() });
    check_method(Spectral { n_components: 4, ..Spectral::default() });
    check_method(crate::methods::Ssne { max_iter: 100, ..Default::default() });
    check_method(crate::methods::Ee { max_iter: 100, ..Default::default() });
    let with_target: Vec<&str> = METHODS.iter().filter(|info| info.uses_target()).map(|info| info.name).collect();
    assert_eq!(with_target, ["tsne", "lvm", "ssne", "ee", "mapit", "umap", "spectral"]);
}

#[test]
fn a_target_is_refused_where_it_would_be_ignored() {
    let (data, target) = noise();
    let options = || FitOptions { target: Some(&target), ..FitOptions::default() };
    let error = Pca::default().fit_with(&data, options()).err().unwrap().to_string();
    assert!(error.contains("method pca has no use for it") && error.contains("umap"), "{error}");
    let few = target.select(&[0, 1, 2]);
    let error = Umap::default().fit_with(&data, FitOptions { target: Some(&few), ..options() }).err().unwrap();
    assert!(matches!(error, Error::Shape { expected: 240, found: 3, .. }), "{error}");
    let model = Umap::default().fit_with(&data, options()).unwrap();
    let options = crate::reruns::RerunOptions {
        reruns: 2,
        target: None,
        observer: None,
        memory: lowland_core::MemoryBudget::default(),
    };
    let error = crate::reruns::instability(model.pipeline(), &data, model.embedding(), options).unwrap_err();
    assert!(error.to_string().contains("supervised"), "{error}");
}

#[test]
fn a_supervised_run_resumes_with_its_target_only() {
    let (data, target) = noise();
    let fit = |options: FitOptions| {
        let parsed = MethodInfo::find("tsne").unwrap().parse(&[("max_iter", "40")]).unwrap();
        crate::fit::fit(parsed.method, &data, options)
    };
    let complete = fit(FitOptions { target: Some(&target), ..FitOptions::default() }).unwrap();
    let mut saved = None;
    let mut stop = |event: &Event| match event {
        Event::Step { checkpoint, .. } => {
            saved = Some(checkpoint());
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    };
    fit(FitOptions { target: Some(&target), observer: Some(&mut stop), ..FitOptions::default() }).unwrap();
    let bytes = saved.unwrap().to_bytes();
    let checkpoint = lowland_core::archive::Archive::from_bytes(&bytes, ArchiveKind::Checkpoint).unwrap();
    let resume = |target| fit(FitOptions { target, resume: Some(&checkpoint), ..FitOptions::default() });
    assert!(resume(Some(&target)).unwrap().to_bytes() == complete.to_bytes());
    let other = Target::new(Labels::new((0..240).map(|i| ["a", "b"][i % 2])));
    assert!(resume(Some(&other)).err().unwrap().to_string().contains("another target"));
    assert!(resume(None).is_err());
}

#[test]
fn landmarks_take_their_part_of_the_target() {
    let (data, target) = noise();
    let options = FitOptions { target: Some(&target), landmarks: Some(80), ..FitOptions::default() };
    let model = Umap::default().fit_with(&data, options).unwrap();
    assert_eq!(model.embedding().rows(), 240);
    // Every second row is a landmark, and all of these are of one class.
    let only_a = FitOptions {
        target: Some(&Target::new(Labels::new((0..240).map(|i| ["a", "b"][i % 2])))),
        landmarks: Some(120),
        ..FitOptions::default()
    };
    assert!(matches!(Umap::default().fit_with(&data, only_a), Err(Error::Target { .. })));
}
