//! Alignment of two maps.

use super::{close, fixture, scatter};
use crate::procrustes;
use lowland_core::{Data, Points};

#[test]
fn procrustes_disparity_equals_that_of_scipy() {
    let (data, map) = fixture(3);
    let Data::Dense(x) = &data else { unreachable!() };
    let two: Vec<f64> = x.values().chunks(3).flat_map(|row| [f64::from(row[0]), f64::from(row[1])]).collect();
    close(procrustes(Points::new(&two, 2).unwrap(), map.points()).unwrap().disparity, 0.0020964762547236453);

    let (a, b) = (scatter(40, 4, 5), scatter(40, 4, 9));
    let b: Vec<f64> = a.iter().zip(b).map(|(x, y)| y + 0.7 * x).collect();
    close(procrustes(Points::new(&a, 4).unwrap(), Points::new(&b, 4).unwrap()).unwrap().disparity, 0.1471897795943185);

    // A map flattened into a plane, with axes exchanged, scaled and translated: one singular value is zero.
    let a = scatter(40, 3, 5);
    let b: Vec<f64> = a.chunks(3).flat_map(|row| [3.0 * row[1] + 2.0, 2.0, 3.0 * row[0] + 2.0]).collect();
    close(procrustes(Points::new(&a, 3).unwrap(), Points::new(&b, 3).unwrap()).unwrap().disparity, 0.2846116522664425);
}

#[test]
fn a_rotated_mirrored_and_scaled_map_is_aligned_exactly() {
    let a = scatter(50, 2, 3);
    for (move_by, size) in [(4.0, 2.0), (1e-3, 1e200), (0.0, 1e-200)] {
        let b: Vec<f64> = a.chunks(2).flat_map(|p| [size * (p[1] + move_by), size * (p[0] - move_by)]).collect();
        let laid = procrustes(Points::new(&a, 2).unwrap(), Points::new(&b, 2).unwrap()).unwrap();
        assert!(laid.disparity < 1e-20, "{}", laid.disparity);
        assert!(laid.aligned.values().iter().zip(&a).all(|(x, y)| (x - y).abs() < 1e-9));
    }
    let same = [1.5; 8];
    assert!(procrustes(Points::new(&a[..8], 2).unwrap(), Points::new(&same, 2).unwrap()).is_err());
    assert!(procrustes(Points::new(&a[..8], 2).unwrap(), Points::new(&a[..6], 2).unwrap()).is_err());
    assert!(procrustes(Points::new(&a[..6], 2).unwrap(), Points::new(&a[..6], 3).unwrap()).is_err());
}
