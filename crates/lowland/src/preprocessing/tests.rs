use super::scaling::column_moments;
use super::*;
use lowland_core::run::NoObserver;
use lowland_core::{Seed, Sparse};

/// Converts a sparse matrix to dense rows.
fn to_dense(x: &Sparse) -> Data {
    let mut values = vec![0.0; x.rows() * x.dim()];
    for i in 0..x.rows() {
        let (columns, entries) = x.row(i);
        columns.iter().zip(entries).for_each(|(&j, &v)| values[i * x.dim() + j as usize] = v);
    }
    Data::dense(values, x.dim()).expect("complete rows")
}

fn fit(preprocessing: &Preprocessing, data: &Data) -> Result<(Preprocessor, Data)> {
    preprocessing.fit(data, &mut Context::new(&mut NoObserver, Seed(0), None))
}

fn values(data: &Data) -> &[f32] {
    match data {
        Data::Dense(x) => x.values(),
        Data::Sparse(x) => x.values(),
        Data::Text(_) => &[],
    }
}

#[test]
fn standardized_columns_have_mean_zero_and_variance_one_and_constants_become_zero() {
    let data = Data::dense(vec![1.0, 5.0, 2.0, 5.0, 6.0, 5.0], 2).unwrap();
    let (_, out) = fit(&Preprocessing { standardize: true, ..Preprocessing::default() }, &data).unwrap();
    let first: Vec<f32> = values(&out).iter().step_by(2).copied().collect();
    assert!(first.iter().sum::<f32>().abs() < 1e-6);
    assert!((first.iter().map(|v| v * v).sum::<f32>() / 3.0 - 1.0).abs() < 1e-6);
    assert!(values(&out).iter().skip(1).step_by(2).all(|&v| v == 0.0));
}

#[test]
fn sparse_columns_are_scaled_by_the_same_deviation_as_dense_ones() {
    let sparse = Sparse::new(vec![0, 1, 2, 4], vec![0, 1, 0, 1], vec![3.0, 2.0, 1.0, 4.0], 2).unwrap();
    let dense = to_dense(&sparse);
    let (a, b) = (column_moments(&Data::Sparse(sparse)), column_moments(&dense));
    for (x, y) in a.1.iter().zip(&b.1) {
        assert!((x - y).abs() < 1e-12, "{a:?} {b:?}");
    }
}

#[test]
fn log1p_reports_the_invalid_cell() {
    let data = Data::dense(vec![1.0, 2.0, 3.0, -1.0], 2).unwrap();
    let error = fit(&Preprocessing { log1p: true, ..Preprocessing::default() }, &data).unwrap_err();
    assert!(error.to_string().contains("row 1, column 1"), "{error}");
}

#[test]
fn new_rows_are_preprocessed_like_training_rows() {
    let data = Data::dense(Seed(3).normals(60).iter().map(|v| v.abs() as f32).collect(), 4).unwrap();
    let all = Preprocessing { log1p: true, standardize: true, normalize: true, pca: 2 };
    let (preprocessor, out) = fit(&all, &data).unwrap();
    let again = preprocessor.apply(&data.select(&[7])).unwrap();
    assert_eq!(values(&again), &values(&out)[14..16]);
    let mut archive = Archive::new(lowland_core::archive::ArchiveKind::Model);
    preprocessor.save(&mut archive);
    let loaded = Preprocessor::load(&all, false, &archive, 4).unwrap();
    assert!(Preprocessor::load(&all, false, &archive, 5).is_err());
    assert!(Preprocessor::load(&all, false, &Archive::new(lowland_core::archive::ArchiveKind::Model), 4).is_err());
    assert_eq!(values(&loaded.apply(&data).unwrap()), values(&out));
}
