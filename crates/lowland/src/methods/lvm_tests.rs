//! The complete method on small data: metrics, new rows and standard deviations.

use crate::fit::Fit;
use crate::fit::FitOptions;
use crate::method::Method;
use crate::methods::{ComponentHandling, Lvm, Spectral};
use crate::model::Model;
use lowland_core::message::Note;
use lowland_core::params::Auto;
use lowland_core::{Data, Metric, Seed, Sparse};
use lowland_neighbors::nearest_points;

fn no_progress(_: f64) -> lowland_core::Result<()> {
    Ok(())
}

fn fit(data: &Data, method: impl Method) -> Model {
    method.fit_with(data, FitOptions { seed: Seed(2), ..FitOptions::default() }).unwrap()
}

/// Alternating rows of two groups at distance `separation`.
fn groups(n: usize, columns: usize, separation: f64, seed: u64) -> Data {
    let noise = Seed(seed).normals(n * columns);
    let values = noise.iter().enumerate().map(|(at, v)| (v + separation * (at / columns % 2) as f64) as f32);
    Data::dense(values.collect(), columns).unwrap()
}

/// Returns the fraction of points whose nearest point in the embedding is in the same group.
fn group_purity(model: &Model) -> f64 {
    let near = nearest_points(model.embedding().points(), 1).unwrap();
    let n = near.rows();
    (0..n).filter(|&i| near.row(i).0[0] as usize % 2 == i % 2).count() as f64 / n as f64
}

#[test]
fn groups_are_preserved_with_any_metric() {
    for metric in [Metric::Manhattan, Metric::Chebyshev, Metric::Minkowski(3.0)] {
        let model = fit(&groups(160, 5, 6.0, 1), Lvm { metric, max_iter: 60, ..Lvm::default() });
        assert!(group_purity(&model) > 0.97, "{metric}: {}", group_purity(&model));
    }
    // Words of two groups without common letters.
    let word = |i: usize| {
        let letters = if i.is_multiple_of(2) { "aeiou" } else { "bcdfg" };
        let pick = |at: usize| letters.as_bytes()[(i / 2 * 7 + at * at * (i / 10 + 1)) % 5] as char;
        (0..4 + i / 2 % 4).map(pick).collect::<String>()
    };
    let words = Data::text((0..120).map(word).collect());
    let model = fit(&words, Lvm { metric: Metric::Levenshtein, max_iter: 60, ..Lvm::default() });
    assert!(group_purity(&model) > 0.97, "{}", group_purity(&model));
    let transformed = model.transform_with(&Data::text(vec!["aeoua".into()]), &mut no_progress).unwrap();
    assert!(transformed.embedding.values().iter().all(|v| v.is_finite()));
    assert!(model.inverse_transform(model.embedding().points()).is_err());
}

#[test]
fn missing_distances_are_accepted() {
    // A ring of forty points as a sparse matrix of distances; missing distances are infinite.
    let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..40u32 {
        let mut near: Vec<u32> = [1, 2, 38, 39].iter().map(|step| (i + step) % 40).collect();
        near.sort_unstable();
        values.extend(
            near.iter().map(|&j| f32::from(u8::from((i + 40 - j) % 40 % 38 != 1 && (j + 40 - i) % 40 != 1)) + 1.0),
        );
        indices.extend(near);
        indptr.push(indices.len());
    }
    let data = Data::Sparse(Sparse::new(indptr, indices, values, 40).unwrap());
    for levels in 0..3 {
        let model = fit(
            &data,
            Lvm {
                metric: Metric::Precomputed,
                n_neighbors: 4,
                levels: Auto::Value(levels),
                max_iter: 40,
                ..Lvm::default()
            },
        );
        assert!(model.embedding().values().iter().all(|v| v.is_finite()));
    }
}

#[test]
fn new_rows_join_their_group_and_outliers_are_uncertain() {
    let model = fit(&groups(200, 5, 8.0, 3), Lvm { levels: Auto::Value(1), max_iter: 100, ..Lvm::default() });
    let new = groups(20, 5, 8.0, 4);
    let transformed = model.transform_with(&new, &mut no_progress).unwrap();
    let center = |group: usize, c: usize| {
        (0..200).filter(|i| i % 2 == group).map(|i| model.embedding().row(i)[c]).sum::<f64>() / 100.0
    };
    for i in 0..20 {
        let to =
            |group: usize| (0..2).map(|c| (transformed.embedding.row(i)[c] - center(group, c)).powi(2)).sum::<f64>();
        assert!(to(i % 2) < to(1 - i % 2), "row {i}");
    }
    let outlier_rows = Data::dense((0..25).map(|at| if at / 5 == at % 5 { 60.0 } else { -9.0 }).collect(), 5).unwrap();
    let outliers = model.transform_with(&outlier_rows, &mut no_progress).unwrap();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    assert!(mean(&outliers.std.unwrap()) > 2.0 * mean(&transformed.std.unwrap()));
    // The likelihood of a row's own relations cannot compare models, so there is none.
    assert!(model.score(&new).is_err());
}

#[test]
fn inverse_transform_approximates_the_data() {
    let data = groups(200, 5, 8.0, 5);
    let model = fit(&data, Lvm { max_iter: 100, ..Lvm::default() });
    let rows = model.inverse_transform(model.embedding().points()).unwrap();
    let (Data::Dense(rows), Data::Dense(data)) = (rows, data) else { panic!("dense in, dense out") };
    let error: f64 = rows.values().iter().zip(data.values()).map(|(a, b)| f64::from(a - b).powi(2)).sum();
    // The groups differ by 8 in every column, the rows of a group by about 1: the overall mean has an error of 17.
    assert!(error / 1000.0 < 2.0, "{}", error / 1000.0);
    assert!(
        model
            .inverse_transform(
                fit(&groups(20, 2, 1.0, 1), Lvm { n_components: 1, ..Lvm::default() }).embedding().points()
            )
            .is_err()
    );
}

#[test]
fn rows_outside_the_largest_component_are_reported() {
    let mut values: Vec<f32> = Seed(1).normals(120 * 3).iter().map(|&v| v as f32).collect();
    values[..12].iter_mut().for_each(|v| *v += 1e4);
    let data = Data::dense(values, 3).unwrap();
    let model =
        fit(&data, Lvm { components: ComponentHandling::Largest, n_neighbors: 3, max_iter: 30, ..Lvm::default() });
    let rows = model.notes().iter().find_map(|note| match note {
        Note::LargestComponentFitted { other_rows, .. } => Some(other_rows.as_slice()),
        _ => None,
    });
    assert_eq!(rows, Some(&[0, 1, 2, 3][..]));
    assert_eq!(model.std().unwrap().len(), 120);
}

#[test]
fn rows_with_only_duplicate_neighbors_do_not_collapse() {
    let few = groups(30, 5, 8.0, 6);
    let data = few.select(&(0..600).map(|i| i % 30).collect::<Vec<_>>());
    let models = [
        fit(&data, Lvm { n_neighbors: 9, ..Lvm::default() }),
        fit(&data, Spectral { n_neighbors: 9, ..Spectral::default() }),
    ];
    for model in models {
        let method = model.method().name();
        assert!(!model.notes().contains(&Note::AllRowsEqual), "{method}: {:?}", model.notes());
        assert!(group_purity(&model) > 0.97, "{method}: {}", group_purity(&model));
        // Duplicates are close together, and the two groups are apart.
        let position = |i: usize| model.embedding().points().row(i).to_vec();
        let distance =
            |i: usize, j: usize| position(i).iter().zip(&position(j)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        let copies = (0..30).map(|i| distance(i, i + 30)).sum::<f64>() / 30.0;
        let groups = (0..29).map(|i| distance(i, i + 1)).sum::<f64>() / 29.0;
        assert!(groups > 3.0 * copies && groups > 0.0, "{method}: copies {copies}, groups {groups}");
    }
}
