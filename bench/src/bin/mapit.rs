//! MAP IT end to end, and its program by itself beside the straightforward numpy version: `2000 exact` times the
//! iterations alone on the first 2,000 rows, as the peer does; the other cases are whole fits.

use anyhow::Result;
use lowland::affinity::{entropic_affinities, joint_affinities};
use lowland::graph::lengths;
use lowland::mapit::{MapItField, SimilarityKernel};
use lowland::methods::Job;
use lowland::neighbors::{NeighborGraph, NeighborParams, Search, nearest, nearest_points};
use lowland::optim::{Descent, MomentumDescent, MomentumDescentParams};
use lowland::quality::knn_recall;
use lowland::run::{Limits, Silent, Stepper};
use lowland::{Data, Dense, Embedding, Metric, Points, Seed};
use lowland_bench::{Measured, timed};
use serde_json::json;

const CASES: [&str; 6] =
    ["2000 exact", "all fast", "all fast-random-start", "all sampled", "all objective", "all tsne"];
const ROWS: usize = 2000;

fn main() -> Result<()> {
    lowland_bench::main(&CASES, measure)
}

fn measure(rows: &Dense, [setting, way]: [&str; 2]) -> Result<Measured> {
    if setting == "2000" {
        return program(rows);
    }
    let (method, parameters): (_, &[(&str, &str)]) = match way {
        "tsne" => ("tsne", &[]),
        "fast-random-start" => ("mapit", &[("init", "random")]),
        variant => ("mapit", &[("variant", variant)]),
    };
    let data = Data::Dense(rows.clone());
    let job = Job::new(method, parameters, Seed(0))?;
    let (fitted, used) = timed(|| job.fit(&data, None, &Limits::default(), &mut Silent))?;
    let trace = &fitted.outcome.trace;
    let found = json!({
        "objective": trace.last().map_or(f64::NAN, |step| step.objective), "iterations": trace.len(),
        "recall at 15": recall(&data, fitted.embedding.points())?, "notes": fitted.notes.join("; "),
    });
    Ok(Measured { used, found })
}

fn near(data: &Data, k: usize) -> lowland::Result<NeighborGraph> {
    let exact = NeighborParams { n_neighbors: k, metric: Metric::Euclidean, search: Search::Exact, seed: Seed(0) };
    Ok(nearest(data, &exact, &mut |_| Ok(()))?.graph)
}

fn recall(data: &Data, map: Points) -> lowland::Result<f64> {
    knn_recall(&near(data, 15)?, &nearest_points(map, 15, &mut |_| Ok(()))?, 15)
}

/// A thousand iterations of the exact program from the paper's start.
fn program(rows: &Dense) -> Result<Measured> {
    let n = ROWS.min(rows.rows());
    let data = Data::dense(rows.values()[..n * rows.dim()].to_vec(), rows.dim())?;
    let weights = joint_affinities(entropic_affinities(lengths(&near(&data, n - 1)?)?, 15.0).rows)?;
    let start = Seed(0).normals(2 * n).iter().map(|v| 1e-4 * v).collect();
    let program = MapItField::exact(&weights, 10, SimilarityKernel::Student)?;
    let learning_rate = n as f64 / 40.0;
    let params =
        MomentumDescentParams { learning_rate, momentum: [0.5, 0.8], early_steps: 250, max_step: f64::INFINITY };
    let mut descent = Descent::new(program, Box::new(MomentumDescent::new(params)), Embedding::new(start, 2)?);
    let (step, used) = timed(|| (0..999).try_for_each(|_| descent.step().map(|_| ())).and_then(|()| descent.step()))?;
    let recall = recall(&data, descent.embedding().points())?;
    Ok(Measured { used, found: json!({ "objective": step.objective, "recall at 15": recall }) })
}
