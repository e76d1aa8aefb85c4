//! Tests of low rank and of missing cells, as users see them.

use lowland_algorithms::lllvm::{MissingValues, PosteriorRank};
use lowland_core::message::Note;
use lowland_core::{Data, Error, Seed};

use super::Lllvm;
use crate::{FitOptions, Model};

/// A bent strip in six dimensions, in which every column follows from the others, with noise.
fn strip(n: usize) -> Vec<f32> {
    let (places, noise) = (Seed(1).normals(2 * n), Seed(2).normals(6 * n));
    let row = |i: usize| {
        let (a, b) = (places[2 * i].tanh() * 1.5, 0.5 * places[2 * i + 1].tanh());
        [a.sin(), b, a.cos(), a / 1.5, 0.7 * b + 0.3 * a, a - b].into_iter().enumerate().map(move |(c, v)| (i, c, v))
    };
    (0..n).flat_map(row).map(|(i, c, v)| (v + 0.02 * noise[6 * i + c]) as f32).collect()
}

fn lllvm() -> Lllvm {
    Lllvm { starts: 1, max_iter: 40, ..Lllvm::default() }
}

#[test]
fn low_rank_is_chosen_beyond_three_thousand_rows() {
    assert_eq!(PosteriorRank::Auto.resolve(3000), None);
    assert_eq!(PosteriorRank::Auto.resolve(3001), Some(64));
    assert_eq!(PosteriorRank::Low(20).resolve(10), Some(10));
    let bad = Lllvm { rank: PosteriorRank::Low(0), ..lllvm() };
    assert!(bad.fit(&Data::dense(strip(20), 6).unwrap()).is_err());
}

#[test]
fn models_of_low_rank_save_sample_and_transform() {
    let n = 150;
    let data = Data::dense(strip(n), 6).unwrap();
    let model = Lllvm { rank: PosteriorRank::Low(25), ..lllvm() }.fit(&data).unwrap();
    let exact = Lllvm { rank: PosteriorRank::Full, ..lllvm() }.fit(&data).unwrap();
    let bound = |model: &Model| model.outcome().trace.last().unwrap().objective;
    assert!(bound(&model) < bound(&exact), "{} {}", bound(&model), bound(&exact));
    assert!(bound(&model) > bound(&exact) - (6 * n) as f64, "{} {}", bound(&model), bound(&exact));
    let loaded = Model::from_bytes(&model.to_bytes()).unwrap();
    assert_eq!(loaded.std(), model.std());
    let rows = Data::dense(strip(n)[..60].iter().map(|v| v + 1e-3).collect(), 6).unwrap();
    let (placed, again) = (model.transform(&rows).unwrap(), loaded.transform(&rows).unwrap());
    assert_eq!(placed.values(), again.values());
    // New rows are where the rows that they are close to are, within a few standard deviations.
    let std = model.std().unwrap();
    for i in 0..10 {
        let off: f64 = (0..2).map(|r| (placed.row(i)[r] - model.embedding().row(i)[r]).powi(2)).sum();
        assert!(off.sqrt() < 4.0 * std[i], "row {i}: {} {}", off.sqrt(), std[i]);
    }
    // Samples scatter by the standard deviations; rotations, which these leave out, only add to it.
    let samples = model.samples(60, Seed(3)).unwrap();
    let variance = |i: usize| {
        let squares =
            samples.iter().map(|s| (0..2).map(|r| (s.row(i)[r] - model.embedding().row(i)[r]).powi(2)).sum::<f64>());
        squares.sum::<f64>() / (2.0 * 60.0)
    };
    let (sampled, expected): (f64, f64) = ((0..n).map(variance).sum(), std.iter().map(|s| s * s).sum());
    assert!(sampled > 0.8 * expected && sampled < 3.0 * expected, "{sampled} {expected}");
}

#[test]
fn missing_cells_are_inferred_reported_and_saved() {
    let whole = strip(150);
    let mut values = whole.clone();
    let cells: Vec<usize> = (0..values.len()).step_by(11).collect();
    cells.iter().for_each(|&at| values[at] = f32::NAN);
    let data = Data::dense(values, 6).unwrap();
    assert!(matches!(lllvm().fit(&data), Err(Error::NotFinite { row: 0, column: 0, .. })));
    for rank in [PosteriorRank::Full, PosteriorRank::Low(25)] {
        let method = Lllvm { missing_values: MissingValues::Marginalize, rank, ..lllvm() };
        let model = method.fit(&data).unwrap();
        assert!(model.notes().contains(&Note::MissingCells { cells: cells.len(), of: 900 }));
        let inferred = model.inferred_cells().unwrap();
        assert_eq!(inferred.rows.len(), cells.len());
        let (mut squares, mut spread) = (0.0, 0.0);
        for at in 0..cells.len() {
            let hidden = f64::from(whole[inferred.rows[at] as usize * 6 + inferred.columns[at] as usize]);
            squares += (inferred.means[at] - hidden).powi(2);
            spread += hidden * hidden;
            assert!(inferred.std[at] > 0.0);
        }
        assert!(squares < 0.1 * spread, "{rank:?}: {squares} {spread}");
        let loaded = Model::from_bytes(&model.to_bytes()).unwrap();
        assert_eq!(loaded.inferred_cells(), Some(inferred));
        let new = Data::dense(whole[..60].to_vec(), 6).unwrap();
        assert_eq!(loaded.transform(&new).unwrap().values(), model.transform(&new).unwrap().values());
        // The bound never decreases.
        assert!(model.outcome().trace.windows(2).all(|w| w[1].objective >= w[0].objective - 1e-6));
    }
    let method = Lllvm { missing_values: MissingValues::Marginalize, ..lllvm() };
    let landmarks = FitOptions { landmarks: Some(50), ..FitOptions::default() };
    assert!(matches!(method.fit_with(&data, landmarks), Err(Error::NotFinite { .. })));
    let mut infinite = whole.clone();
    infinite[13] = f32::INFINITY;
    let error = method.fit(&Data::dense(infinite, 6).unwrap()).err();
    assert!(matches!(error, Some(Error::NotFinite { row: 2, column: 1, .. })), "{error:?}");
    let mut empty = whole;
    empty[6..12].fill(f32::NAN);
    let error = method.fit(&Data::dense(empty, 6).unwrap()).err();
    assert!(matches!(error, Some(Error::NoValues { what: "row", index: 1 })), "{error:?}");
}
