//! Fits a model, scores its embedding, and saves it.
//!
//! ```sh
//! cargo run --release --example fit
//! ```
#![allow(clippy::print_stdout)]

use lowland::methods::Lvm;
use lowland::preprocessing::Preprocessing;
use lowland::quality::{QualityParams, report};
use lowland::{Data, FitOptions, MemoryBudget, Model, Result, Seed};

fn main() -> Result<()> {
    let (data, classes) = three_clusters();

    // A method is a struct of its parameters. Parameters that are not named keep their defaults.
    let method = Lvm { n_neighbors: 10, ..Lvm::default() };

    // Everything else is in the options: the seed, preprocessing, landmarks, threads, a memory limit, an observer.
    let options = FitOptions {
        seed: Seed(7),
        preprocessing: Preprocessing { standardize: true, ..Preprocessing::default() },
        memory: MemoryBudget::new(Some(1 << 30)),
        ..FitOptions::default()
    };
    let model = method.fit_with(&data, options)?;

    // One point per row. This method also estimates how far each point can be trusted.
    let embedding = model.embedding();
    let std = model.std().expect("lvm estimates a standard deviation for every point");
    println!("row 0: {:?}, standard deviation {:.3}", embedding.row(0), std[0]);

    // Notes are values that describe what happened during the fit.
    for note in model.notes() {
        println!("note: {}", note.describe(&lowland::message::RustTerms));
    }

    // Scores compare the embedding with the data that the method saw, after preprocessing.
    let training = model.training_data().expect("kept after a fit");
    let scores = report(training, embedding.points(), Some(&classes), &QualityParams::default())?;
    for score in &scores.scores {
        let size = score.k.map_or(String::new(), |k| format!(" at {k}"));
        println!("{}{size}: {:.3}", score.kind.name(), score.value);
    }

    // A saved model contains what is needed to place new rows; see the example `transform`.
    let path = std::env::temp_dir().join(format!("fit-example-{}.lowland", std::process::id()));
    model.save(&path)?;
    let loaded = Model::load(&path)?;
    std::fs::remove_file(&path).expect("the file was just written");

    assert_eq!((embedding.rows(), embedding.dim(), std.len()), (300, 2, 300));
    assert_eq!(loaded.embedding(), embedding);
    Ok(())
}

/// Three clusters of 100 rows in 10 dimensions, and the class of each row.
fn three_clusters() -> (Data, Vec<u32>) {
    let classes: Vec<u32> = (0..300).map(|row| row % 3).collect();
    let noise = Seed(1).normals(300 * 10);
    let values = noise.iter().enumerate().map(|(i, noise)| {
        let (row, column) = (i / 10, i % 10);
        let center = if column as u32 == classes[row] { 8.0 } else { 0.0 };
        (center + noise) as f32
    });
    (Data::dense(values.collect(), 10).expect("complete rows"), classes)
}
