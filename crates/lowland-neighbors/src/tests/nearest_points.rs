//! Neighbors among the points of a map.

use super::*;
use lowland_core::{Error, Points, with_threads};

/// All pairs of a map in `f64`; neighbors are chosen by (squared distance, index).
fn sorted_points(points: Points, i: usize, k: usize) -> Vec<u32> {
    let mut row: Vec<(f64, u32)> = (0..points.rows())
        .filter(|&j| j != i)
        .map(|j| (points.row(i).iter().zip(points.row(j)).map(|(a, b)| (a - b) * (a - b)).sum(), j as u32))
        .collect();
    row.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut indices: Vec<u32> = row[..k].iter().map(|&(_, j)| j).collect();
    indices.sort_unstable();
    indices
}

#[test]
fn nearest_points_agree_with_sorting_in_any_dimension() {
    for dim in 1..=10 {
        for coarse in [false, true] {
            let mut values = Seed(dim as u64).normals(500 * dim);
            if coarse {
                values.iter_mut().for_each(|x| *x = (*x * 2.0).round());
            }
            let points = Points::new(&values, dim).unwrap();
            let graph = nearest_points(points, 6).unwrap();
            for i in 0..500 {
                let mut found = graph.row(i).0.to_vec();
                found.sort_unstable();
                assert_eq!(found, sorted_points(points, i, 6), "dim {dim}, row {i}");
            }
        }
    }
}

#[test]
fn progress_can_stop_nearest_points_and_ties_go_to_the_lowest_indices() {
    for dim in [2, 9] {
        let mut values = Seed(4).normals(3000 * dim);
        values[1000 * dim..].fill(0.5);
        let points = Points::new(&values, dim).unwrap();
        let graph = nearest_points(points, 20).unwrap();
        assert_eq!(graph.row(2999).0, (1000..1020).collect::<Vec<u32>>());
        assert_eq!(graph.row(1001).0, [1000].into_iter().chain(1002..1021).collect::<Vec<u32>>());
        let stopped = nearest_points_with(points, 20, &mut |_| Err(Error::Stopped { stage: "neighbors" }));
        assert_eq!(stopped.unwrap_err(), Error::Stopped { stage: "neighbors" });
        let threads = |t| with_threads(Some(t), || nearest_points(points, 20).unwrap()).unwrap();
        assert!(threads(1) == graph && threads(2) == graph && threads(3) == graph);
    }
}

#[test]
fn extreme_or_missing_coordinates_give_neighbors_or_an_error() {
    let tiny: Vec<f64> = Seed(1).normals(40).into_iter().map(|x| x * 1e-30).collect();
    let plain: Vec<f64> = tiny.iter().map(|x| x * 1e30).collect();
    let (tiny, plain) = (Points::new(&tiny, 2).unwrap(), Points::new(&plain, 2).unwrap());
    assert_eq!(nearest_points(tiny, 3).unwrap().indices(), nearest_points(plain, 3).unwrap().indices());
    let huge = [0.0, 1e300, -1e300];
    assert!(nearest_points(Points::new(&huge, 1).unwrap(), 1).is_err());
    let bad = [0.0, 1.0, f64::NAN, 2.0];
    let error = nearest_points(Points::new(&bad, 2).unwrap(), 1).unwrap_err();
    assert!(matches!(error, Error::NotFinite { row: 1, column: 0, count: 1, .. }));
    assert!(nearest_points(Points::new(&[], 2).unwrap(), 1).is_err());
}
