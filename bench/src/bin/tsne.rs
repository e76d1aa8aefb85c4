//! t-SNE, s-SNE and the elastic embedding end to end: neighbours, affinities, start, iterations. The t-SNE map is left in
//! the file that the environment's `MAP` names, if it does, so that the peers can judge it by their own affinities.

use std::path::PathBuf;

use anyhow::Result;
use lowland::methods::Job;
use lowland::neighbors::{NeighborParams, Search, nearest, nearest_points};
use lowland::quality::knn_recall;
use lowland::run::{Limits, Silent};
use lowland::{Data, Dense, Metric, Seed};
use lowland_bench::{Measured, timed};
use serde_json::json;

const CASES: [&str; 9] = [
    "tsne auto",
    "tsne barnes-hut",
    "tsne fixed-accuracy",
    "ssne auto",
    "ssne fast-gauss",
    "ssne sd",
    "ee auto",
    "ee fast-gauss",
    "ee fp",
];

fn main() -> Result<()> {
    lowland_bench::main(&CASES, measure)
}

fn measure(rows: &Dense, [method, way]: [&str; 2]) -> Result<Measured> {
    let parameters: &[(&str, &str)] = match way {
        "fixed-accuracy" => &[("accuracy", "fixed")],
        "sd" | "fp" => &[("optimizer", way)],
        engine => &[("engine", engine)],
    };
    let data = Data::Dense(rows.clone());
    let job = Job::new(method, parameters, Seed(0))?;
    let (fitted, used) = timed(|| job.fit(&data, None, &Limits::default(), &mut Silent))?;
    if let ("tsne auto", Some(path)) = (format!("{method} {way}").as_str(), std::env::var_os("MAP")) {
        lowland_io::write_map(&PathBuf::from(path), fitted.embedding.points(), lowland_io::About::default())?;
    }
    let exact = NeighborParams { n_neighbors: 15, metric: Metric::Euclidean, search: Search::Exact, seed: Seed(0) };
    let near = nearest(&data, &exact)?.graph;
    let recall = knn_recall(&near, &nearest_points(fitted.embedding.points(), 15)?, 15)?;
    let trace = &fitted.outcome.trace;
    let objective = trace.last().map_or(f64::NAN, |step| step.objective);
    let found = json!({
        "objective": objective, "iterations": trace.len(), "recall at 15": recall, "notes": fitted.notes.join("; "),
    });
    Ok(Measured { used, found })
}
