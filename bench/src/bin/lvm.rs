//! The latent variable model from rows to a map: neighbours, landmarks, start and 400 iterations. The classes in the
//! file that the environment's `LABELS` names, if it does, are what the map is judged by besides its neighbours.

use std::path::Path;

use anyhow::Result;
use lowland::methods::Job;
use lowland::neighbors::{NeighborParams, Search, nearest, nearest_points};
use lowland::quality::{classification_error, knn_recall};
use lowland::run::{Limits, Silent};
use lowland::{Data, Dense, Metric, Seed};
use lowland_bench::{Measured, timed, value};
use serde_json::json;

const CASES: [&str; 4] = ["d=2 levels=1", "d=2 levels=2", "d=10 levels=1", "d=10 levels=2"];

fn main() -> Result<()> {
    lowland_bench::main(&CASES, measure)
}

fn measure(rows: &Dense, [setting, way]: [&str; 2]) -> Result<Measured> {
    let (dimensions, levels) = (value::<usize>(setting)?, value::<usize>(way)?);
    // As in the paper: a longer reach where the map is not to be looked at. No early end: the iterations are measured.
    let reach = if dimensions > 3 { "2" } else { "1" };
    let [dimensions, levels] = [dimensions, levels].map(|count| count.to_string());
    let values = [("n_components", &*dimensions), ("levels", &*levels), ("reach", reach), ("tol", "0")];
    let data = Data::Dense(rows.clone());
    let (fitted, used) =
        timed(|| Job::new("lvm", &values, Seed(0))?.fit(&data, None, &Limits::default(), &mut Silent))?;
    let map = nearest_points(fitted.embedding.points(), 15)?;
    let params = NeighborParams { n_neighbors: 15, metric: Metric::Euclidean, search: Search::Exact, seed: Seed(0) };
    let near = nearest(&data, &params)?.graph;
    let mut found = json!({
        "log-likelihood": fitted.outcome.trace.last().map(|step| step.objective),
        "recall at 15": knn_recall(&near, &map, 15)?,
    });
    if let Some(path) = std::env::var_os("LABELS") {
        let labels = lowland_io::read_map(Path::new(&path))?.map;
        let labels: Vec<u32> = labels.values().iter().map(|&label| label as u32).collect();
        found["1-NN error"] = json!(classification_error(&map, &labels, 1)?);
        found["10-NN error"] = json!(classification_error(&map, &labels, 10)?);
    }
    Ok(Measured { used, found })
}
