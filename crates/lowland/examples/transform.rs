//! Places new rows on the embedding of a fitted model.
//!
//! ```sh
//! cargo run --release --example transform
//! ```
#![allow(clippy::print_stdout)]

use lowland::methods::Isomap;
use lowland::{Data, Model, Result};

fn main() -> Result<()> {
    // Fit to every second point of a spiral, and keep the others as new rows.
    let all = spiral(400);
    let even: Vec<usize> = (0..400).step_by(2).collect();
    let odd: Vec<usize> = (1..400).step_by(2).collect();
    let (training, new) = (all.select(&even), all.select(&odd));
    let model = Isomap { n_components: 1, n_neighbors: 5, ..Isomap::default() }.fit(&training)?;

    // The new rows get coordinates in the same embedding; the embedding itself does not change.
    let placed = model.transform(&new)?;
    for i in [0, 100, 199] {
        println!("new row {i} is at {:.3}, its predecessor at {:.3}", placed.row(i)[0], model.embedding().row(i)[0]);
    }

    // A new row lies between the training rows before and after it on the spiral.
    for i in 0..199 {
        let (before, after) = (model.embedding().row(i)[0], model.embedding().row(i + 1)[0]);
        let (low, high) = (before.min(after), before.max(after));
        assert!((low..=high).contains(&placed.row(i)[0]), "row {i}");
    }

    // The result for a row does not depend on the other rows of the batch, and a saved model gives the same bytes.
    let alone = model.transform(&new.select(&[17]))?;
    assert_eq!(alone.row(0), placed.row(17));
    let loaded = Model::from_bytes(&model.to_bytes())?;
    assert_eq!(loaded.transform(&new)?, placed);

    // Training rows keep their coordinates.
    assert_eq!(&model.transform(&training)?, model.embedding());
    Ok(())
}

/// Points along a spiral in three dimensions, at nearly equal distances.
fn spiral(points: usize) -> Data {
    let point = |i: usize| {
        let angle = (9.0 + i as f32).sqrt();
        [angle * angle.cos(), angle * angle.sin(), 0.01 * i as f32]
    };
    Data::dense((0..points).flat_map(point).collect(), 3).expect("complete rows")
}
