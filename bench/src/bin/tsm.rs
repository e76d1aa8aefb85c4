//! Thresholded similarity matching on MNIST (70,000 x 784 pixels), as published: every fifth image by the updates, the others by
//! locally linear extension; the same by singular vectors; and all of them by the updates, without a matrix of all pairs. The
//! cases of 2,800 fit every 25th row, and time how 2,000 others are placed by extension and by eq 16.

use anyhow::Result;
use lowland::methods::Job;
use lowland::quality::angle_scores;
use lowland::run::{Limits, Silent};
use lowland::{Data, Dense, Seed};
use lowland_bench::{Measured, timed};
use serde_json::json;

const CASES: [&str; 9] = [
    "14000 tsm",
    "14000 tsm-factors",
    "14000 svd",
    "70000 tsm-llx",
    "70000 svd",
    "70000 tsm-5",
    "70000 tsm-250",
    "2800 place-llx",
    "2800 place-relu",
];
const TAU: &str = "0.75";

fn main() -> Result<()> {
    lowland_bench::main(&CASES, measure)
}

fn measure(rows: &Dense, [setting, way]: [&str; 2]) -> Result<Measured> {
    // Pixels over 255, whatever the array holds.
    let largest = rows.values().iter().copied().fold(0.0, f32::max);
    let values = rows.values().iter().map(|v| v / largest).collect();
    let all = Data::dense(values, rows.dim())?;
    let every = |step: usize, from: usize| all.select(&(from..all.rows()).step_by(step).collect::<Vec<_>>());
    let fifth = every(5, 0);
    let landmarks = fifth.rows().to_string();
    let data = match setting {
        "14000" => fifth,
        "2800" => every(25, 0),
        _ => all.clone(),
    };
    let tsm: &[(&str, &str)] = &[("n_components", "16"), ("tau", TAU)];
    let (method, parameters): (_, Vec<(&str, &str)>) = match way {
        "svd" => ("svd", vec![("n_components", "16")]),
        "tsm" | "place-llx" => ("tsm", tsm.to_vec()),
        "place-relu" => ("tsm", [tsm, &[("placing", "relu")]].concat()),
        "tsm-llx" => ("tsm", [tsm, &[("landmarks", &landmarks)]].concat()),
        "tsm-5" => ("tsm", [tsm, &[("max_iter", "5")]].concat()),
        _ => ("tsm", [tsm, &[("matrices", "factors")]].concat()),
    };
    let job = Job::new(method, &parameters, Seed(0))?;
    let (fitted, mut used) = timed(|| job.fit(&data, None, &Limits::default(), &mut Silent))?;
    let (mut data, mut map) = (data, fitted.embedding.clone());
    if setting == "2800" {
        data = every(35, 7);
        (map, used) = timed(|| fitted.transform(&data, &mut |_| Ok(())))?;
    }
    let scores = angle_scores(&data, map.points(), TAU.parse()?)?;
    let trace = |t: usize| fitted.outcome.trace.get(t.wrapping_sub(1)).map(|step| step.objective);
    let costs: Vec<Option<f64>> = [10, 20, 50, 100, 200, 250].map(trace).to_vec();
    let found = json!({
        "degrees": scores.deviation, "jaccard": scores.jaccard, "norm error": scores.norm_error,
        "cost at 10, 20, 50, 100, 200, 250": costs, "notes": fitted.notes.join("; "),
    });
    Ok(Measured { used, found })
}
