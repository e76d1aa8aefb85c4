//! What a model keeps besides its embedding: notes, outcome, components, the inverse.

use super::*;
use crate::FitOptions;
use crate::methods::{ComponentCount, Isomap, Lvm, Pca, Svd, Tsne};
use crate::preprocessing::{Preprocessing, rows_for_metric};
use lowland_core::message::{NoteLevel, RustTerms};
use lowland_core::run::StopReason;
use lowland_neighbors::{NeighborParams, distance, nearest};

fn normals(rows: usize, dim: usize, seed: u64) -> Data {
    Data::dense(Seed(seed).normals(rows * dim).into_iter().map(|v| v as f32).collect(), dim).unwrap()
}

fn loaded(model: &Model) -> Model {
    Model::from_bytes(&model.to_bytes()).unwrap()
}

fn kinds(model: &Model, level: NoteLevel) -> Vec<String> {
    model.notes().iter().filter(|note| note.level() == level).map(|note| note.kind().to_string()).collect()
}

#[test]
fn a_loaded_model_has_its_notes_and_objectives() {
    let x = normals(60, 4, 1);
    let options = FitOptions { single_precision: true, ..FitOptions::default() };
    let model = Tsne { perplexity: 50.0, max_iter: 30, ..Tsne::default() }.fit_with(&x, options).unwrap();
    assert!(kinds(&model, NoteLevel::Warning).contains(&"perplexity_reduced".to_string()), "{:?}", model.notes());
    let again = loaded(&model);
    assert_eq!(kinds(&again, NoteLevel::Warning), kinds(&model, NoteLevel::Warning));
    assert_eq!(again.outcome().trace.len(), 30);
    assert_eq!(again.outcome().trace[29].objective, model.outcome().trace[29].objective);
    assert_eq!((again.outcome().stop_reason, again.single_precision()), (StopReason::Exhausted, true));
    assert!(!kinds(&again, NoteLevel::Info).contains(&"memory_estimate".to_string()), "this is about the machine");
}

#[test]
fn adjusted_parameters_are_warnings_in_all_methods() {
    let x = normals(40, 3, 2);
    let warnings = |model: Model| kinds(&model, NoteLevel::Warning);
    let has = |found: Vec<String>, kind: &str| assert!(found.iter().any(|known| known == kind), "{kind} in {found:?}");
    has(warnings(Isomap { n_neighbors: 1000, ..Isomap::default() }.fit(&x).unwrap()), "neighbors_reduced");
    has(warnings(Lvm { n_neighbors: 1000, max_iter: 3, ..Lvm::default() }.fit(&x).unwrap()), "neighbors_reduced");
    let landmarks = FitOptions { landmarks: Some(1000), ..FitOptions::default() };
    has(warnings(Lvm { max_iter: 3, ..Lvm::default() }.fit_with(&x, landmarks).unwrap()), "landmarks_reduced");
    let threads = FitOptions { threads: Some(100_000), ..FitOptions::default() };
    has(warnings(Pca::default().fit_with(&x, threads).unwrap()), "threads_limited");
    // A graph with few neighbors lowers n_neighbors and the perplexity alike.
    let graph = nearest(&x, &NeighborParams { n_neighbors: 6, ..NeighborParams::default() }).unwrap().graph;
    let options = || FitOptions { neighbors: Some(&graph), ..FitOptions::default() };
    has(
        warnings(Isomap { n_neighbors: 12, ..Isomap::default() }.fit_with(&x, options()).unwrap()),
        "neighbors_reduced",
    );
    let tsne = Tsne { max_iter: 5, ..Tsne::default() };
    has(warnings(tsne.fit_with(&x, options()).unwrap()), "perplexity_reduced");
}

#[test]
fn principal_components_have_the_attributes_of_scikit_learn() {
    // Columns of standard deviation 3, 1 and 0.1, far from the origin.
    let values: Vec<f64> =
        Seed(3).normals(600).chunks_exact(3).flat_map(|v| [1e8 + 3.0 * v[0], 5.0 + v[1], 0.1 * v[2]]).collect();
    let x = Data::from_f64(values.iter().copied(), 200, 3, None).unwrap();
    let model = Pca { n_components: ComponentCount::Count(2), ..Pca::default() }.fit(&x).unwrap();
    for model in [&model, &loaded(&model)] {
        let found = model.principal_components().unwrap();
        let mean = (0..200).map(|i| values[3 * i]).sum::<f64>() / 200.0;
        assert!((found.mean[0] - mean).abs() < 1e-5, "{:?}", found.mean);
        assert_eq!((found.components.len(), found.singular_values.len()), (6, 2));
        let coordinate: Vec<f64> = model.embedding().values().iter().step_by(2).copied().collect();
        let variance = coordinate.iter().map(|v| v * v).sum::<f64>() / 199.0;
        assert!((found.explained_variance[0] / variance - 1.0).abs() < 1e-9);
        assert!((found.singular_values[0].powi(2) / 199.0 / variance - 1.0).abs() < 1e-9);
        let total: f64 = (0..3)
            .map(|j| {
                let mean = (0..200).map(|i| values[3 * i + j]).sum::<f64>() / 200.0;
                (0..200).map(|i| (values[3 * i + j] - mean).powi(2)).sum::<f64>() / 199.0
            })
            .sum();
        assert!((found.explained_variance_ratio[1] - found.explained_variance[1] / total).abs() < 1e-6);
    }
    assert!(kinds(&model, NoteLevel::Info).contains(&"explained_variance".to_string()));
    assert!(Isomap::default().fit(&x).unwrap().principal_components().is_none());
}

#[test]
fn a_share_of_the_variance_determines_the_number_of_components() {
    let values = Seed(4).normals(900).chunks_exact(3).flat_map(|v| [9.0 * v[0], 3.0 * v[1], v[2]]).collect::<Vec<_>>();
    let x = Data::from_f64(values.into_iter(), 300, 3, None).unwrap();
    let fit = |share| Pca { n_components: ComponentCount::Variance(share), ..Pca::default() }.fit(&x).unwrap();
    assert_eq!([0.5, 0.95, 0.999].map(|share| fit(share).embedding().dim()), [1, 2, 3]);
    let model = fit(0.95);
    let same = Pca::default().fit(&x).unwrap();
    assert_eq!((loaded(&model).embedding(), model.embedding()), (same.embedding(), same.embedding()));
    assert_eq!(loaded(&model).transform(&x).unwrap(), *model.embedding());
}

#[test]
fn truncated_svd_explains_the_variance_of_its_coordinates() {
    let x = normals(100, 4, 5);
    let model = Svd { n_components: 4, ..Svd::default() }.fit(&x).unwrap();
    let found = model.principal_components().unwrap();
    assert!(
        (found.explained_variance_ratio.iter().sum::<f64>() - 1.0).abs() < 1e-9,
        "all components explain everything"
    );
    assert_eq!(found.mean, [0.0; 4]);
}

/// Largest difference between rows and those that the inverse computes for their positions.
fn inverse_error(model: &Model, x: &Data) -> f64 {
    let (Data::Dense(rows), Data::Dense(back)) =
        (x, loaded(model).inverse_transform(model.embedding().points()).unwrap())
    else {
        panic!("dense rows")
    };
    assert_eq!(back.dim(), rows.dim());
    rows.to_f64().iter().zip(back.to_f64()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn the_inverse_returns_rows_in_the_units_of_the_data() {
    let x = normals(80, 3, 6);
    assert!(inverse_error(&Pca { n_components: 3.into(), ..Pca::default() }.fit(&x).unwrap(), &x) < 1e-5);
    assert!(inverse_error(&Svd { n_components: 3, ..Svd::default() }.fit(&x).unwrap(), &x) < 1e-5);
    let preprocessing = Preprocessing { standardize: true, pca: 2, ..Preprocessing::default() };
    let options = FitOptions { preprocessing, ..FitOptions::default() };
    let model = Lvm { max_iter: 20, ..Lvm::default() }.fit_with(&x, options).unwrap();
    assert!(inverse_error(&model, &x) < 10.0, "all columns, although the method has two");
    let (rows, std) = model.inverse_transform_std(model.embedding().points(), &mut |_| Ok(())).unwrap();
    assert!(rows.dim() == 3 && std.is_none_or(|std| std.dim() == 3));
}

#[test]
fn mahalanobis_distances_do_not_depend_on_the_units_of_the_columns() {
    let x = normals(60, 3, 7);
    let Data::Dense(rows) = &x else { panic!("dense rows") };
    let scaled: Vec<f32> = rows.values().chunks_exact(3).flat_map(|v| [v[0] * 1000.0, v[1] + v[0], v[2]]).collect();
    let scaled = Data::dense(scaled, 3).unwrap();
    let isomap = Isomap { metric: Metric::Mahalanobis, ..Isomap::default() };
    let (a, b) = (isomap.fit(&x).unwrap(), isomap.fit(&scaled).unwrap());
    let distance_of = |model: &Model| {
        let [p, q] = [model.embedding().row(0), model.embedding().row(1)];
        p.iter().zip(q).map(|(p, q)| (p - q).powi(2)).sum::<f64>().sqrt()
    };
    assert!((distance_of(&a) / distance_of(&b) - 1.0).abs() < 1e-3, "{} {}", distance_of(&a), distance_of(&b));
    let again = loaded(&b);
    assert_eq!(again.transform(&scaled).unwrap(), *b.embedding());
    assert_eq!(again.transform(&normals(3, 3, 8)).unwrap(), b.transform(&normals(3, 3, 8)).unwrap());
    let whitened = rows_for_metric(&x, Metric::Mahalanobis, None).unwrap();
    let graph =
        nearest(&whitened, &NeighborParams { metric: Metric::Mahalanobis, ..NeighborParams::default() }).unwrap();
    assert_eq!(graph.graph.metric(), Metric::Mahalanobis);
    assert_eq!(
        graph.graph.row(0).1[0],
        distance(&whitened, 0, &whitened, graph.graph.row(0).0[0] as usize, Metric::Mahalanobis) as f32
    );
}

#[test]
fn haversine_is_the_angle_on_the_sphere() {
    // Berlin and Paris, 878 km apart; a point and its antipode.
    let degrees = [52.52f64, 13.405, 48.8566, 2.3522, 0.0, 0.0, 0.0, 180.0];
    let x = Data::from_f64(degrees.map(f64::to_radians).into_iter(), 4, 2, None).unwrap();
    let x = Metric::Haversine.rows_to_compare(&x);
    assert!((distance(&x, 0, &x, 1, Metric::Haversine) * 6371.0 - 877.5).abs() < 1.5);
    assert!((distance(&x, 2, &x, 3, Metric::Haversine) - std::f64::consts::PI).abs() < 1e-6);
}

#[test]
fn isomap_has_the_distances_along_its_graph() {
    let line = Data::dense((0..20).map(|i| i as f32).collect(), 1).unwrap();
    let model = Isomap { n_neighbors: 2, n_components: 1, ..Isomap::default() }.fit(&line).unwrap();
    let lengths = loaded(&model).transformer().path_lengths(&mut |_| Ok(())).unwrap().unwrap();
    assert_eq!((lengths[19], lengths[20 * 5 + 9]), (19.0, 4.0));
    assert_eq!(model.transformer().eigenvalues().unwrap().len(), 1);
}

#[test]
fn errors_name_the_column_and_the_file() {
    let x = Data::dense(vec![1.0, f32::NAN, 2.0, 3.0], 2).unwrap();
    let options = FitOptions { feature_names: vec!["height".into(), "age".into()], ..FitOptions::default() };
    let error = Pca::default().fit_with(&x, options).err().unwrap().to_string();
    assert!(error.contains("row 0, column 1 (\"age\") is NaN"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wrong.lowland");
    std::fs::write(&path, b"not a model").unwrap();
    let error = Model::load(&path).err().unwrap().describe(&RustTerms);
    assert!(error.contains("wrong.lowland") && error.contains("not a usable model"), "{error}");
}

#[test]
fn the_loss_of_points_is_known_for_the_models_own_map_in_the_plane() {
    let x = normals(80, 4, 3);
    let tsne = Tsne { max_iter: 30, ..Tsne::default() };
    let model = tsne.fit(&x).unwrap();
    let map = model.embedding().clone();
    assert!(model.point_loss(map.points()).is_some() && loaded(&model).point_loss(map.points()).is_some());
    // A map from a file is rounded; another one is not the model's.
    let scaled = |factor: f64| map.values().iter().map(|v| factor * v).collect::<Vec<f64>>();
    assert!(model.point_loss(Points::new(&scaled(1.00005), 2).unwrap()).is_some());
    assert!(model.point_loss(Points::new(&scaled(1.1), 2).unwrap()).is_none());
    assert!(model.point_loss(Points::new(&map.values()[2..], 2).unwrap()).is_none());
    let none = |model: Model| model.point_loss(model.embedding().points()).is_none();
    assert!(none(Pca::default().fit(&x).unwrap()));
    assert!(none(Tsne { n_components: 3, ..tsne.clone() }.fit(&x).unwrap()));
    assert!(none(Lvm { n_components: 3, max_iter: 5, ..Lvm::default() }.fit(&x).unwrap()));
}
