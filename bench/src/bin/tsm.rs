//! Thresholded similarity matching on MNIST (70,000 x 784 pixels), as published: every fifth image by the updates, the others by
//! locally linear extension; the same by singular vectors; and all of them by the updates, without a matrix of all pairs.

use anyhow::Result;
use lowland::methods::Job;
use lowland::quality::angles;
use lowland::run::{Limits, Silent};
use lowland::{Data, Dense, Seed};
use lowland_bench::{Measured, timed};
use serde_json::json;

const CASES: [&str; 8] = [
    "14000 tsm",
    "14000 tsm-factors",
    "14000 svd",
    "70000 tsm-llx",
    "70000 tsm-relu",
    "70000 svd",
    "70000 tsm-50",
    "70000 tsm-250",
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
    let fifth = all.select(&(0..all.rows()).step_by(5).collect::<Vec<_>>());
    let data = if setting == "14000" { &fifth } else { &all };
    let landmarks = fifth.rows().to_string();
    let tsm: &[(&str, &str)] = &[("n_components", "16"), ("tau", TAU)];
    let (method, parameters): (_, Vec<(&str, &str)>) = match way {
        "svd" => ("svd", vec![("n_components", "16")]),
        "tsm" | "tsm-relu" => ("tsm", [tsm, &[("placing", "relu")]].concat()),
        "tsm-llx" => ("tsm", [tsm, &[("landmarks", &landmarks)]].concat()),
        "tsm-50" => ("tsm", [tsm, &[("max_iter", "50")]].concat()),
        _ => ("tsm", [tsm, &[("matrices", "factors")]].concat()),
    };
    let job = Job::new(method, &parameters, Seed(0))?;
    let fit_on = if way == "tsm-relu" { &fifth } else { data };
    let (fitted, mut used) = timed(|| job.fit(fit_on, None, &Limits::default(), &mut Silent))?;
    let map = if way == "tsm-relu" {
        let placed = timed(|| fitted.transform(data, &mut |_| Ok(())))?;
        used = placed.1;
        placed.0
    } else {
        fitted.embedding.clone()
    };
    let scores = angles(data, map.points(), TAU.parse()?, &mut |_| Ok(()))?;
    let trace = |t: usize| fitted.outcome.trace.get(t.wrapping_sub(1)).map(|step| step.objective);
    let costs: Vec<Option<f64>> = [10, 20, 50, 100, 200, 250].map(trace).to_vec();
    let found = json!({
        "degrees": scores.deviation, "jaccard": scores.jaccard, "norm error": scores.norm_error,
        "cost at 10, 20, 50, 100, 200, 250": costs, "notes": fitted.notes.join("; "),
    });
    Ok(Measured { used, found })
}
