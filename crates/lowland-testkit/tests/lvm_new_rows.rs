//! The standard deviations of rows that the latent variable model was not fitted to are comparable to those of fitted rows:
//! new rows, and rows outside of the largest component.

use lowland::message::Note;
use lowland::methods::{ComponentHandling, Lvm};
use lowland::neighbors::{NeighborParams, nearest, nearest_to};
use lowland::params::Auto;
use lowland::{Data, Metric, Seed};

/// Every third digit, and the others.
fn digits() -> (Data, Data) {
    let digits = lowland_io::builtin("digits", None, None, Seed(0)).expect("built in").data;
    let rows = |held_out: bool| (0..digits.rows()).filter(|i| (i % 3 == 0) == held_out).collect::<Vec<_>>();
    (digits.select(&rows(false)), digits.select(&rows(true)))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn new_rows_are_as_certain_as_fitted_rows() {
    let (fitted, new) = digits();
    for levels in [1, 2] {
        let model = Lvm { levels: Auto::Value(levels), max_iter: 200, ..Lvm::default() }.fit(&fitted).expect("a model");
        let transformed = model.transform_with(&new, &mut |_| Ok(())).expect("a transform");
        let ratio = median(transformed.std.expect("as fitted")) / median(model.std().expect("one per row"));
        assert!((0.9..1.1).contains(&ratio), "{levels} levels: {ratio}");
    }
}

#[test]
fn rows_outside_the_largest_component_are_as_certain_as_fitted_rows_at_their_distance() {
    let data = digits().0;
    let model = Lvm { components: ComponentHandling::Largest, n_neighbors: 2, max_iter: 200, ..Lvm::default() };
    let model = model.fit(&data).expect("a model");
    let others = model.notes().iter().find_map(|note| match note {
        Note::LargestComponentFitted { other_rows, .. } => Some(other_rows.clone()),
        _ => None,
    });
    let others = others.expect("several components");
    let rows: Vec<usize> = (0..data.rows()).filter(|i| !others.contains(i)).collect();
    assert!(others.len() > 50, "{}", others.len());
    // The standard deviation is proportional to the distances, and these rows are further away than most.
    let std = model.std().expect("one per row");
    let relative = |rows: &[usize], distances: &[f32]| {
        median(rows.iter().zip(distances).map(|(&i, &distance)| std[i] / f64::from(distance)).collect())
    };
    let params = NeighborParams { n_neighbors: 1, ..NeighborParams::default() };
    let among_fitted = nearest(&data.select(&rows), &params).expect("neighbors").graph;
    let to_fitted = nearest_to(&data.select(&others), &data.select(&rows), 1, Metric::Euclidean).expect("neighbors");
    let ratio = relative(&others, to_fitted.distances()) / relative(&rows, among_fitted.distances());
    assert!((0.6..1.6).contains(&ratio), "{ratio}");
}
