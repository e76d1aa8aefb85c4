//! How MAP IT's cost grows, up to more rows than a whole fit is worth waiting for: the neighbours, and `ITERATIONS` of the 1,000
//! iterations, on the first rows of the array. They should be in no order.

use std::ops::ControlFlow;

use anyhow::Result;
use lowland::methods::Job;
use lowland::run::{Event, Limits};
use lowland::{Data, Dense, Seed};
use lowland_bench::{Clock, Measured, timed, value};
use serde_json::json;

const CASES: [&str; 4] = ["rows=10000 fast", "rows=70000 fast", "rows=250000 fast", "rows=1000000 fast"];
const ITERATIONS: usize = 100;

fn main() -> Result<()> {
    lowland_bench::main(&CASES, measure)
}

fn measure(rows: &Dense, [size, variant]: [&str; 2]) -> Result<Measured> {
    let n = value::<usize>(size)?.min(rows.rows());
    let data = Data::Dense(Dense::new(rows.values()[..n * rows.dim()].to_vec(), rows.dim())?);
    let iterations = ITERATIONS.to_string();
    let job = Job::new("mapit", &[("variant", variant), ("max_iter", &iterations)], Seed(0))?;
    let (mut clock, mut stages) = (Clock::start(), Vec::new());
    let mut observer = |event: &Event| {
        match event {
            Event::StageStart(_) => clock = Clock::start(),
            Event::StageEnd(name) => stages.push((name.to_string(), clock.used())),
            _ => {}
        }
        ControlFlow::Continue(())
    };
    let (fitted, used) = timed(|| job.fit(&data, None, &Limits::default(), &mut observer))?;
    let mut found = json!({ "rows used": n, "notes": fitted.notes.join("; ") });
    for (name, used) in stages {
        let (name, times) = if name == "descent" { ("iteration".into(), ITERATIONS as f64) } else { (name, 1.0) };
        found[format!("{name} CPU s")] = json!(used.cpu_s / times);
        found[format!("{name} wall s")] = json!(used.wall_s / times);
    }
    Ok(Measured { used, found })
}
