//! The locally linear latent variable model on the first rows of an array: so many iterations from one start, or what
//! `lowland embed` does. The classes in the file that the environment's `LABELS` names, if it does, judge the map too.

use std::path::Path;

use anyhow::Result;
use lowland::methods::Job;
use lowland::neighbors::nearest_points;
use lowland::quality::classification_error;
use lowland::run::{Limits, Silent};
use lowland::{Data, Dense, Seed};
use lowland_bench::{Measured, timed, value};
use serde_json::json;

const CASES: [&str; 4] =
    ["n=400 iterations=50", "n=1000 iterations=50", "n=3000 iterations=10", "n=3000 iterations=50"];

fn main() -> Result<()> {
    lowland_bench::main(&CASES, measure)
}

fn measure(rows: &Dense, [setting, way]: [&str; 2]) -> Result<Measured> {
    let (n, iterations) = (value::<usize>(setting)?.min(rows.rows()), value::<usize>(way)?);
    let data = Data::Dense(rows.clone()).select(&(0..n).collect::<Vec<_>>());
    let iterations = iterations.to_string();
    // No early end: the iterations are measured.
    let values = [("starts", "1"), ("max_iter", &*iterations), ("tol", "0")];
    let (fitted, used) =
        timed(|| Job::new("lllvm", &values, Seed(0))?.fit(&data, None, &Limits::default(), &mut Silent))?;
    let mut found = json!({
        "bound": fitted.outcome.trace.last().map(|step| step.objective),
        "memory stated": fitted.notes.iter().find(|note| note.starts_with("memory")),
    });
    if let Some(path) = std::env::var_os("LABELS") {
        let labels = lowland_io::read_map(Path::new(&path))?.map;
        let labels: Vec<u32> = labels.values().iter().take(n).map(|&label| label as u32).collect();
        let map = nearest_points(fitted.embedding.points(), 1)?;
        found["1-NN error"] = json!(classification_error(&map, &labels, 1)?);
    }
    Ok(Measured { used, found })
}
