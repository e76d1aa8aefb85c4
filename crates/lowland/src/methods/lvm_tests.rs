//! The whole method on small data: metrics, new rows, what it says about them.

use crate::fit::Fit;
use crate::fit::FitOptions;
use crate::method::Method;
use crate::methods::{ComponentHandling, Lvm, Spectral};
use crate::model::Model;
use lowland_core::message::Note;
use lowland_core::params::Auto;
use lowland_core::{Data, Metric, Seed, Sparse};
use lowland_neighbors::nearest_points;

fn quiet(_: f64) -> lowland_core::Result<()> {
    Ok(())
}

fn fit(data: &Data, method: impl Method) -> Model {
    method.fit_with(data, FitOptions { seed: Seed(2), ..FitOptions::default() }).unwrap()
}

/// Rows of two groups by turns, `apart` from each other.
fn groups(n: usize, columns: usize, apart: f64, seed: u64) -> Data {
    let noise = Seed(seed).normals(n * columns);
    let values = noise.iter().enumerate().map(|(at, v)| (v + apart * (at / columns % 2) as f64) as f32);
    Data::dense(values.collect(), columns).unwrap()
}

/// The share of points whose nearest point on the map is of the same group, groups taking turns.
fn kept_together(fitted: &Model) -> f64 {
    let near = nearest_points(fitted.embedding().points(), 1).unwrap();
    let n = near.rows();
    (0..n).filter(|&i| near.row(i).0[0] as usize % 2 == i % 2).count() as f64 / n as f64
}

#[test]
fn groups_stay_together_under_any_metric() {
    for metric in [Metric::Manhattan, Metric::Chebyshev, Metric::Minkowski(3.0)] {
        let fitted = fit(&groups(160, 5, 6.0, 1), Lvm { metric, max_iter: 60, ..Lvm::default() });
        assert!(kept_together(&fitted) > 0.97, "{metric}: {}", kept_together(&fitted));
    }
    // Words of two languages that share no letters.
    let word = |i: usize| {
        let letters = if i.is_multiple_of(2) { "aeiou" } else { "bcdfg" };
        let pick = |at: usize| letters.as_bytes()[(i / 2 * 7 + at * at * (i / 10 + 1)) % 5] as char;
        (0..4 + i / 2 % 4).map(pick).collect::<String>()
    };
    let words = Data::text((0..120).map(word).collect());
    let fitted = fit(&words, Lvm { metric: Metric::Levenshtein, max_iter: 60, ..Lvm::default() });
    assert!(kept_together(&fitted) > 0.97, "{}", kept_together(&fitted));
    let placed = fitted.transform_with(&Data::text(vec!["aeoua".into()]), &mut quiet).unwrap();
    assert!(placed.embedding.values().iter().all(|v| v.is_finite()));
    assert!(fitted.inverse_transform(fitted.embedding().points()).is_err());
}

#[test]
fn distances_that_are_not_known_do_no_harm() {
    // A ring of forty points as a sparse matrix of distances: all others are infinitely far.
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
        let fitted = fit(
            &data,
            Lvm {
                metric: Metric::Precomputed,
                n_neighbors: 4,
                levels: Auto::Value(levels),
                max_iter: 40,
                ..Lvm::default()
            },
        );
        assert!(fitted.embedding().values().iter().all(|v| v.is_finite()));
    }
}

#[test]
fn new_rows_join_their_group_and_strangers_are_uncertain() {
    let fitted = fit(&groups(200, 5, 8.0, 3), Lvm { levels: Auto::Value(1), max_iter: 100, ..Lvm::default() });
    let new = groups(20, 5, 8.0, 4);
    let placed = fitted.transform_with(&new, &mut quiet).unwrap();
    let centre = |group: usize, c: usize| {
        (0..200).filter(|i| i % 2 == group).map(|i| fitted.embedding().row(i)[c]).sum::<f64>() / 100.0
    };
    for i in 0..20 {
        let to = |group: usize| (0..2).map(|c| (placed.embedding.row(i)[c] - centre(group, c)).powi(2)).sum::<f64>();
        assert!(to(i % 2) < to(1 - i % 2), "row {i}");
    }
    let strangers = Data::dense((0..25).map(|at| if at / 5 == at % 5 { 60.0 } else { -9.0 }).collect(), 5).unwrap();
    let strange = fitted.transform_with(&strangers, &mut quiet).unwrap();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    assert!(mean(&strange.std.unwrap()) > 2.0 * mean(&placed.std.unwrap()));
    // Logarithms of probabilities, of each row alone.
    let scores = fitted.score(&new).unwrap();
    assert!(scores.iter().all(|score| *score < 0.0 && score.is_finite()));
    assert_eq!(fitted.score(&new.select(&[7])).unwrap(), scores[7..8]);
}

#[test]
fn rows_made_for_the_points_of_a_map_resemble_those_there() {
    let data = groups(200, 5, 8.0, 5);
    let fitted = fit(&data, Lvm { max_iter: 100, ..Lvm::default() });
    let rows = fitted.inverse_transform(fitted.embedding().points()).unwrap();
    let (Data::Dense(rows), Data::Dense(data)) = (rows, data) else { panic!("dense in, dense out") };
    let error: f64 = rows.values().iter().zip(data.values()).map(|(a, b)| f64::from(a - b).powi(2)).sum();
    // The groups differ by 8 in every column, the rows of a group by about 1: a guess of the overall mean errs by 17.
    assert!(error / 1000.0 < 2.0, "{}", error / 1000.0);
    assert!(
        fitted
            .inverse_transform(
                fit(&groups(20, 2, 1.0, 1), Lvm { n_components: 1, ..Lvm::default() }).embedding().points()
            )
            .is_err()
    );
}

#[test]
fn the_rows_outside_the_largest_part_are_named() {
    let mut values: Vec<f32> = Seed(1).normals(120 * 3).iter().map(|&v| v as f32).collect();
    values[..12].iter_mut().for_each(|v| *v += 1e4);
    let data = Data::dense(values, 3).unwrap();
    let fitted =
        fit(&data, Lvm { components: ComponentHandling::Largest, n_neighbors: 3, max_iter: 30, ..Lvm::default() });
    let rows = fitted.notes().iter().find_map(|note| match note {
        Note::LargestComponentFitted { other_rows, .. } => Some(other_rows.as_slice()),
        _ => None,
    });
    assert_eq!(rows, Some(&[0, 1, 2, 3][..]));
    assert_eq!(fitted.std().unwrap().len(), 120);
}

#[test]
fn rows_whose_neighbours_are_all_copies_do_not_fall_together() {
    let few = groups(30, 5, 8.0, 6);
    let data = few.select(&(0..600).map(|i| i % 30).collect::<Vec<_>>());
    let models = [
        fit(&data, Lvm { n_neighbors: 9, ..Lvm::default() }),
        fit(&data, Spectral { n_neighbors: 9, ..Spectral::default() }),
    ];
    for fitted in models {
        let method = fitted.method().name();
        assert!(!fitted.notes().contains(&Note::AllRowsEqual), "{method}: {:?}", fitted.notes());
        assert!(kept_together(&fitted) > 0.97, "{method}: {}", kept_together(&fitted));
        // Copies lie together, and the two groups apart from each other.
        let place = |i: usize| fitted.embedding().points().row(i).to_vec();
        let apart =
            |i: usize, j: usize| place(i).iter().zip(&place(j)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        let copies = (0..30).map(|i| apart(i, i + 30)).sum::<f64>() / 30.0;
        let groups = (0..29).map(|i| apart(i, i + 1)).sum::<f64>() / 29.0;
        assert!(groups > 3.0 * copies && groups > 0.0, "{method}: copies {copies}, groups {groups}");
    }
}
