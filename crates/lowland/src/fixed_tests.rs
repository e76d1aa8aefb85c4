//! Extension from known positions: what is kept, what is exact, and what is refused.

use super::FixedPositions;
use crate::fit::{Fit, FitOptions};
use crate::method::Method;
use crate::methods::{Lvm, Tsm, Tsne};
use crate::model::Model;
use lowland_core::{Data, Embedding, Error, Metric, Result, Seed};
use lowland_neighbors::{NeighborParams, nearest};

/// Rows near a plane in six dimensions.
fn plane(n: usize, seed: u64) -> Data {
    let (axes, at, noise) = (Seed(1).normals(12), Seed(seed).normals(2 * n), Seed(seed + 9).normals(6 * n));
    let value = |i: usize, c: usize| at[2 * i] * axes[c] + at[2 * i + 1] * axes[6 + c] + 1e-3 * noise[6 * i + c];
    Data::dense((0..6 * n).map(|k| value(k / 6, k % 6) as f32).collect(), 6).unwrap()
}

/// Positions on the plane, as `plane` draws them.
fn truth(n: usize, seed: u64) -> Embedding {
    Embedding::new(Seed(seed).normals(2 * n), 2).unwrap()
}

fn fixed(rows: Vec<usize>, all: &Embedding) -> FixedPositions {
    let values = rows.iter().flat_map(|&i| all.row(i)).copied().collect();
    FixedPositions::new(rows, Embedding::new(values, all.dim()).unwrap()).unwrap()
}

fn fit(method: impl Method, data: &Data, fixed: &FixedPositions) -> Result<Model> {
    method.fit_with(data, FitOptions { fixed: Some(fixed), ..FitOptions::default() })
}

fn message(result: Result<Model>) -> String {
    result.err().expect("an error").to_string()
}

#[test]
fn fixed_rows_keep_their_positions_and_others_follow_them() {
    let (data, truth) = (plane(300, 3), truth(300, 3));
    let rows: Vec<usize> = (0..300).step_by(9).rev().collect();
    let known = fixed(rows.clone(), &truth);
    // Affine and linear weights; the plane contains the origin.
    for model in [fit(Lvm::default(), &data, &known).unwrap(), fit(Tsm::default(), &data, &known).unwrap()] {
        rows.iter().for_each(|&i| assert_eq!(model.embedding().row(i), truth.row(i)));
        // The mean: at the margin, where neighbors are on one side only, the penalty on weights moves rows by a tenth.
        let off = |map: &Embedding, truth: &Embedding| {
            let differences = map.values().iter().zip(truth.values()).map(|(a, b)| (a - b).abs());
            differences.sum::<f64>() / truth.values().len() as f64
        };
        assert!(off(model.embedding(), &truth) < 0.02, "{}", off(model.embedding(), &truth));
        let new = plane(40, 8);
        let again = Model::from_bytes(&model.to_bytes()).unwrap();
        let placed = again.transform(&new).unwrap();
        assert_eq!(placed, model.transform(&new).unwrap());
        assert_eq!(&again.transform(&data).unwrap(), model.embedding());
        assert!(off(&placed, &self::truth(40, 8)) < 0.05, "{}", off(&placed, &self::truth(40, 8)));
        assert!(again.pipeline().values().contains(&("fixed", "34".into())));
    }
}

#[test]
fn positions_are_matched_by_id_or_given_for_all_rows_with_nan() {
    let positions = Embedding::new(vec![5.0, 6.0, 1.0, 2.0], 2).unwrap();
    let ids: Vec<String> = ["a", "b", "c", "c"].map(String::from).to_vec();
    let known = |fixed: [&str; 2]| FixedPositions::from_ids(&fixed.map(String::from), &ids, positions.clone());
    let matched = known(["b", "a"]).unwrap();
    assert_eq!((matched.rows(), matched.positions().values()), (&[0, 1][..], &[1.0, 2.0, 5.0, 6.0][..]));
    assert!(known(["b", "x"]).unwrap_err().to_string().contains("(row x): no row of the data has this id"));
    assert!(known(["b", "c"]).unwrap_err().to_string().contains("several rows of the data"));
    assert!(known(["b", "b"]).unwrap_err().to_string().contains("(row 1): it has two positions"));
    let all = Embedding::new(vec![f64::NAN, f64::NAN, 1.0, 2.0], 2).unwrap();
    assert_eq!(FixedPositions::from_all_rows(&all).unwrap().rows(), [1]);
    let half = Embedding::new(vec![f64::NAN, 3.0, 1.0, 2.0], 2).unwrap();
    assert!(
        FixedPositions::from_all_rows(&half).unwrap_err().to_string().contains("(row 0): its position is not finite")
    );
}

#[test]
fn unusable_positions_are_refused_with_the_row_and_a_remedy() {
    let (data, truth) = (plane(60, 3), truth(60, 3));
    let few = fixed(vec![3, 9], &truth);
    let error = message(fit(Lvm::default(), &data, &few));
    assert!(error.contains("needs at least 3 points, found 2") && error.contains("more rows"), "{error}");
    let known = fixed(vec![1, 20, 40], &truth);
    let error = message(fit(Lvm { n_components: 3, ..Lvm::default() }, &data, &known));
    assert!(error.contains("n_components = 3: the fixed positions have 2 coordinates"), "{error}");
    let error = message(fit(Lvm::default(), &plane(30, 3), &known));
    assert!(error.contains("(row 40): the data has 30 rows"), "{error}");
    // Two groups far apart, and the positions of one of them.
    let Data::Dense(x) = &data else { panic!("dense") };
    let shifted = x.values().iter().enumerate().map(|(at, v)| if at >= 180 { v + 1e3 } else { *v }).collect();
    let error = message(fit(Lvm::default(), &Data::dense(shifted, 6).unwrap(), &fixed(vec![1, 5, 20], &truth)));
    assert!(error.contains("(row 30): 30 rows, of which it is the first, are not connected"), "{error}");
}

#[test]
fn what_has_no_meaning_with_fixed_positions_is_refused() {
    let (data, truth) = (plane(60, 3), truth(60, 3));
    let known = fixed((0..60).step_by(4).collect(), &truth);
    let error = message(fit(Tsne { perplexity: 50.0, ..Tsne::default() }, &data, &known));
    assert!(error.starts_with("perplexity = 50: it has no effect"), "{error}");
    let error = message(fit(Tsne { metric: Metric::Precomputed, ..Tsne::default() }, &data, &known));
    assert!(error.contains("numeric rows"), "{error}");
    let graph = nearest(&data, &NeighborParams { n_neighbors: 5, ..NeighborParams::default() }).unwrap().graph;
    let options = || FitOptions { fixed: Some(&known), ..FitOptions::default() };
    let conflicts = [
        ("landmarks", FitOptions { landmarks: Some(20), ..options() }),
        ("init", FitOptions { init: Some(&truth), ..options() }),
        ("neighbors", FitOptions { neighbors: Some(&graph), ..options() }),
    ];
    for (name, options) in conflicts {
        let error = Tsne::default().fit_with(&data, options).err().expect(name);
        assert_eq!(error, Error::FixedPositions { fixed: 15, conflict: name });
        assert!(error.to_string().contains(&format!("Leave out {name} or leave out fixed")), "{error}");
    }
    // The metric has a meaning: that of the neighbors.
    assert!(fit(Tsne { metric: Metric::Cosine, ..Tsne::default() }, &data, &known).is_ok());
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let (data, truth) = (plane(400, 3), truth(400, 3));
    let known = fixed((0..400).step_by(30).collect(), &truth);
    let run = |threads| {
        let options = FitOptions { fixed: Some(&known), threads: Some(threads), ..FitOptions::default() };
        Lvm::default().fit_with(&data, options).unwrap().to_bytes()
    };
    assert!(run(1) == run(3));
}
