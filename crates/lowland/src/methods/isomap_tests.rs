//! The negative eigenvalues of distances that are not Euclidean.

use super::Isomap;
use lowland_core::Data;
use lowland_core::message::{Note, NoteLevel, RustTerms};
use lowland_linalg::dense::eigh;

fn negative_eigenvalues(data: &Data, n_components: usize) -> Option<Note> {
    let model = Isomap { n_components, n_neighbors: 2, ..Isomap::default() }.fit(data).unwrap();
    model.notes().iter().find(|note| matches!(note, Note::NegativeEigenvalues { .. })).cloned()
}

/// Points on a circle, where the shortest paths are arcs.
fn circle(n: usize) -> Data {
    let angle = |i: usize| 2.0 * std::f64::consts::PI * i as f64 / n as f64;
    Data::dense((0..n).flat_map(|i| [angle(i).cos() as f32, angle(i).sin() as f32]).collect(), 2).unwrap()
}

#[test]
fn negative_eigenvalues_of_arcs_are_those_of_a_dense_decomposition() {
    // Below 256 points the solver is dense, beyond it iterates.
    for n in [60, 320] {
        let step = 2.0 * (std::f64::consts::PI / n as f64).sin();
        let square = |i: usize, j: usize| (i.abs_diff(j).min(n - i.abs_diff(j)) as f64 * step).powi(2);
        let mean: f64 = (0..n).map(|j| square(0, j)).sum::<f64>() / n as f64;
        // All rows have the same mean.
        let gram: Vec<f64> = (0..n * n).map(|at| -0.5 * (square(at / n, at % n) - mean)).collect();
        let (values, _) = eigh(&gram, n).unwrap();
        let positive: Vec<f64> = values.iter().rev().take(6).copied().collect();
        let large: Vec<f64> = values.iter().map(|v| -v).take_while(|size| *size >= positive[5] * 0.999).collect();
        let note = negative_eigenvalues(&circle(n), 6).expect("arcs are not Euclidean distances");
        let Note::NegativeEigenvalues { count, more, share, most_negative, supported, n_components } = note.clone()
        else {
            panic!("{note:?}")
        };
        assert_eq!((count, more, n_components), (large.len(), large.len() >= 6, 6), "{n}: {large:?} {positive:?}");
        let expected = large.iter().sum::<f64>() / (large.iter().sum::<f64>() + positive.iter().sum::<f64>());
        assert!((share - expected).abs() < 1e-3, "{n}: {share} {expected}");
        assert!((most_negative - large[0] / positive[0]).abs() < 1e-3, "{n}: {most_negative}");
        // A circle has two dimensions; the third eigenvalue is smaller than the most negative one.
        assert_eq!(supported, 2, "{n}");
        assert_eq!(note.level(), NoteLevel::Warning);
        let text = note.describe(&RustTerms);
        assert!(text.contains(&format!("{count} negative eigenvalues")) && text.contains("n_components = 2"), "{text}");
        // In two dimensions the negative eigenvalues are small: information only.
        let small = negative_eigenvalues(&circle(n), 2).expect("arcs are not Euclidean distances");
        assert!(matches!(small, Note::NegativeEigenvalues { count: 0, .. }), "{small:?}");
        assert_eq!(small.level(), NoteLevel::Info);
    }
}

#[test]
fn distances_along_a_line_have_no_negative_eigenvalues() {
    let line = Data::dense((0..300).flat_map(|i| [(i * i) as f32 * 0.01, 1.0]).collect(), 2).unwrap();
    assert_eq!(negative_eigenvalues(&line, 1), None);
}
