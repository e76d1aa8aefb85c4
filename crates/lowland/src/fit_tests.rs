//! The memory check and its remedies.

use super::*;
use crate::methods::{Isomap, Pca, Tsne};
use lowland_core::message::Remedy;

fn memory_remedies(method: &dyn DynMethod, options: &FitOptions, [rows, dim]: [usize; 2]) -> Vec<Remedy> {
    let shape = DataShape { rows, dim, sparse: false, bytes: (4 * rows * dim) as u64 };
    match check_memory(method, shape, options) {
        Err(Error::Memory { remedies, .. }) => remedies,
        other => panic!("expected a memory error, got {other:?}"),
    }
}

#[test]
fn a_memory_error_suggests_what_helps() {
    let limited = |limit: u64, reserved: u64| {
        let memory = MemoryBudget::new(Some(limit));
        memory.reserve(reserved);
        FitOptions { memory, ..FitOptions::default() }
    };
    let all = [70_000, 50];
    let landmarks = Remedy::Landmarks(5000);
    assert!(memory_remedies(&Isomap::default(), &limited(4 << 30, 0), all).contains(&landmarks));
    let rows = memory_remedies(&Pca::default(), &limited(1 << 30, 0), [1_000_000, 1000]);
    assert!(rows.contains(&Remedy::Other("use fewer rows, which alone exceed the limit")), "{rows:?}");
    let wide = memory_remedies(&Tsne::default(), &limited(4 << 30, 0), [1_000_000, 1000]);
    assert!(wide.contains(&Remedy::ReduceColumns(50)), "{wide:?}");
    // Memory reserved by the caller is not available for landmarks either.
    assert!(!memory_remedies(&Isomap::default(), &limited(4 << 30, (4 << 30) - (64 << 20)), all).contains(&landmarks));
    // Fewer landmarks than requested are suggested, and none if the metric does not support them.
    let many = FitOptions { landmarks: Some(60_000), ..limited(4 << 30, 0) };
    assert!(memory_remedies(&Isomap::default(), &many, all).contains(&landmarks));
    let distances = Isomap { metric: Metric::Precomputed, ..Isomap::default() };
    assert!(!memory_remedies(&distances, &limited(4 << 30, 0), all).contains(&landmarks));
}

/// Rows of three columns, the same with 1e9 added to the first one.
fn near_and_far(rows: usize) -> (Data, Data, Vec<f64>) {
    let values = Seed(4).normals(rows * 3);
    let far: Vec<f64> = values.iter().enumerate().map(|(i, v)| if i % 3 == 0 { v + 1e9 } else { *v }).collect();
    let near = Data::from_f64(values.into_iter(), rows, 3, None).unwrap();
    (near, Data::from_f64(far.iter().copied(), rows, 3, None).unwrap(), far)
}

/// Largest difference of two embeddings.
fn difference(a: &Embedding, b: &Embedding) -> f64 {
    a.values().iter().zip(b.values()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn a_constant_added_to_a_column_does_not_change_the_embedding_nor_new_rows() {
    let (near, far, values) = near_and_far(80);
    let (plain, shifted) = (Pca::default().fit(&near).unwrap(), Pca::default().fit(&far).unwrap());
    assert!(difference(plain.embedding(), shifted.embedding()) < 1e-5);
    // The offsets are in the model file, and apply to a single row, whatever offsets it has itself.
    let loaded = Model::from_bytes(&shifted.to_bytes()).unwrap();
    assert_eq!(loaded.offsets(), shifted.offsets());
    let row = Data::from_f64(values[9..12].iter().copied(), 1, 3, loaded.offsets().cloned()).unwrap();
    let own = Data::from_f64(values[9..12].iter().copied(), 1, 3, Some(vec![1e9 + 7.0, 0.0, 0.0].into())).unwrap();
    for new in [row, own] {
        let placed = loaded.transform(&new).unwrap();
        assert!(placed.row(0).iter().zip(plain.embedding().row(3)).all(|(a, b)| (a - b).abs() < 1e-5));
    }
    let rows = loaded.inverse_transform(shifted.embedding().points()).unwrap();
    let Data::Dense(rows) = &rows else { panic!("dense rows") };
    assert!((rows.value(3, 0) - 1e9).abs() < 10.0, "{}", rows.value(3, 0));
}

#[test]
fn training_rows_with_offsets_are_recognized_in_a_batch_of_their_own() {
    let (_, far, values) = near_and_far(60);
    let model = Lvm { max_iter: 5, ..Lvm::default() }.fit(&far).unwrap();
    let row = Data::from_f64(values[30..33].iter().copied(), 1, 3, model.offsets().cloned()).unwrap();
    assert_eq!(model.transform(&row).unwrap().row(0), model.embedding().row(10));
}

#[test]
fn metrics_that_depend_on_the_origin_take_the_values_and_say_what_is_lost() {
    let (_, far, _) = near_and_far(60);
    let model = Isomap { metric: Metric::Cosine, ..Isomap::default() }.fit(&far).unwrap();
    let note = model.notes().iter().find(|note| matches!(note, Note::ColumnsRounded { .. })).unwrap();
    let text = note.describe(&lowland_core::message::RustTerms);
    assert!(text.contains("column 0 ") && text.contains("metric cosine"), "{text}");
    let Some(Data::Dense(rows)) = model.training_data() else { panic!("dense rows") };
    assert!(rows.row(0)[0] > 9e8);
    // Standardized columns have lost nothing.
    let preprocessing = Preprocessing { standardize: true, ..Preprocessing::default() };
    let options = FitOptions { preprocessing, ..FitOptions::default() };
    let model = Isomap { metric: Metric::Cosine, ..Isomap::default() }.fit_with(&far, options).unwrap();
    assert!(!model.notes().iter().any(|note| matches!(note, Note::ColumnsRounded { .. })));
}
