use super::*;

#[test]
fn sparse_rows_are_sorted_and_inconsistent_arrays_are_rejected() {
    let x = Sparse::new(vec![0, 2, 3], vec![4, 1, 0], vec![1.0, 2.0, 3.0], 5).unwrap();
    assert_eq!(x.row(0), (&[1, 4][..], &[2.0, 1.0][..]));
    assert!(Sparse::new(vec![0, 2], vec![1, 1], vec![1.0, 2.0], 5).is_err());
    assert!(Sparse::new(vec![0, 1], vec![5], vec![1.0], 5).is_err());
    assert!(Sparse::new(vec![0, 3], vec![1], vec![1.0], 5).is_err());
    assert!(Sparse::new(vec![], vec![], vec![], 5).is_err());
}

#[test]
fn equal_rows_are_found_regardless_of_the_sign_of_zero() {
    let x = Data::dense(vec![0.0, 1.0, 5.0, 1.0, -0.0, 1.0], 2).unwrap();
    assert_eq!(x.first_equal_rows(), [0, 1, 0]);
}

#[test]
fn the_first_non_finite_cell_is_reported() {
    let x = Data::dense(vec![0.0, 1.0, 5.0, f32::NAN, f32::INFINITY, 1.0], 2).unwrap();
    let error = x.check_finite().unwrap_err();
    assert!(matches!(error, Error::NotFinite { row: 1, column: 1, count: 2, .. }), "{error}");
}

#[test]
fn every_kind_of_data_round_trips_through_an_archive() {
    let sparse = Sparse::new(vec![0, 1, 1], vec![2], vec![1.5], 3).unwrap();
    let all = [
        Data::dense(vec![1.0, 2.0, 3.0, 4.0], 2).unwrap(),
        Data::Sparse(sparse),
        Data::text(vec!["one".into(), "two".into()]),
    ];
    for data in all {
        let mut archive = Archive::new(crate::archive::ArchiveKind::Model);
        data.save("x", &mut archive);
        let back = Data::load("x", &archive).unwrap();
        assert_eq!((back.fingerprint(), back.kind()), (data.fingerprint(), data.kind()));
    }
}

#[test]
fn selecting_rows_keeps_their_content() {
    let x = Data::Sparse(Sparse::new(vec![0, 1, 3, 3], vec![0, 0, 2], vec![1.0, 2.0, 3.0], 3).unwrap());
    let y = x.select(&[2, 1, 1]);
    assert_eq!(y.row_hash(1), x.row_hash(1));
    assert_eq!(y.row_hash(0), x.row_hash(2));
    assert_eq!(y.rows(), 3);
}
