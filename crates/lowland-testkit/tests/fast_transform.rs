//! The transform of models with many rows, which use an index and interpolate the repulsion, against the exact one.

use lowland::data::Data;
use lowland::neighbors::MIN_INDEXED_ROWS;
use lowland::{FitOptions, Model, Result};
use lowland_testkit::fixtures::clouds;

const DIM: usize = 6;

fn fit(method: &str, values: &[(&str, &str)], data: &Data) -> Model {
    lowland_testkit::fit_with(method, values, data, FitOptions::default()).expect("a model")
}

/// Returns the coordinates by the ordinary and by the exact transform.
fn both(model: &Model, new: &Data) -> Result<[Vec<f64>; 2]> {
    let fast = model.transform_with(new, &mut |_| Ok(()))?;
    let exact = model.transform_exactly_with(new, &mut |_| Ok(()))?;
    Ok([fast.embedding.values().to_vec(), exact.embedding.values().to_vec()])
}

/// Median distance between two sets of points, relative to the size of a map.
fn median_distance(model: &Model, [a, b]: &[Vec<f64>; 2]) -> f64 {
    let map = model.embedding().values();
    let size = (map.iter().map(|v| v * v).sum::<f64>() / map.len() as f64).sqrt();
    let mut distances: Vec<f64> =
        a.chunks_exact(2).zip(b.chunks_exact(2)).map(|(a, b)| (a[0] - b[0]).hypot(a[1] - b[1]) / size).collect();
    distances.sort_by(f64::total_cmp);
    distances[distances.len() / 2]
}

#[test]
fn many_rows_are_placed_with_an_index_and_fields_as_they_are_exactly() {
    // Other rows of the same clusters.
    let all = clouds(8, MIN_INDEXED_ROWS / 8 + 8, DIM, 6.0, 1);
    let (data, new) = (0..all.rows()).partition::<Vec<usize>, _>(|&i| i < MIN_INDEXED_ROWS);
    let [data, new] = [data, new].map(|rows| all.select(&rows));
    let cases: [(&str, &[(&str, &str)]); 6] = [
        ("tsne", &[("perplexity", "4"), ("max_iter", "60")]),
        ("ssne", &[("perplexity", "4"), ("max_iter", "20")]),
        ("mapit", &[("perplexity", "4"), ("n_neighbors", "5"), ("max_iter", "40")]),
        ("lvm", &[("n_neighbors", "5"), ("max_iter", "3")]),
        ("umap", &[("n_neighbors", "5"), ("n_epochs", "20")]),
        ("pacmap", &[("n_neighbors", "5")]),
    ];
    for (method, values) in cases {
        let model = fit(method, values, &data);
        let placed = both(&model, &new).unwrap();
        let distance = median_distance(&model, &placed);
        assert!(distance < 1e-2, "{method}: {distance}");
        let again = Model::from_bytes(&model.to_bytes()).unwrap();
        assert_eq!(both(&again, &new).unwrap(), placed, "{method}: a loaded model places alike");
        let alone = again.transform(&new.select(&[5])).unwrap();
        assert_eq!(alone.values(), &placed[0][10..12], "{method}: a row alone is placed alike");
    }
}

#[test]
fn few_rows_are_placed_exactly() {
    let data = clouds(4, 100, DIM, 4.0, 2);
    let new = clouds(4, 5, DIM, 4.0, 3);
    for method in ["tsne", "ee", "mapit", "lvm", "umap", "pacmap", "pca"] {
        let model = fit(method, &[], &data);
        let [fast, exact] = both(&model, &new).unwrap();
        assert_eq!(fast, exact, "{method}");
    }
}
