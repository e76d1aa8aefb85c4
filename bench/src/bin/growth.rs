//! How the cost of a whole fit grows: each method as it comes, on the first rows of the array, stage by stage. The rows should be
//! in no order. Judged on a sample of rows, since all pairs of a million are too many.

use std::ops::ControlFlow;

use anyhow::Result;
use lowland::methods::Job;
use lowland::neighbors::nearest_to;
use lowland::run::{Event, Limits, Observer};
use lowland::{Data, Dense, Metric, Points, Seed};
use lowland_bench::{Clock, Measured, timed, value};
use serde_json::{Map, Value, json};

const METHODS: [&str; 5] = ["tsne", "ssne", "ee", "mapit", "lvm"];
const SIZES: [usize; 5] = [10_000, 30_000, 100_000, 300_000, 1_000_000];
const K: usize = 15;
/// Rows that a map is judged by.
const SAMPLE: usize = 1_000;

fn main() -> Result<()> {
    let cases: Vec<String> =
        METHODS.iter().flat_map(|method| SIZES.map(|rows| format!("{method} rows={rows}"))).collect();
    lowland_bench::main(&cases.iter().map(String::as_str).collect::<Vec<_>>(), measure)
}

fn measure(rows: &Dense, [method, size]: [&str; 2]) -> Result<Measured> {
    let n = value::<usize>(size)?.min(rows.rows());
    let data = if n == rows.rows() {
        Data::Dense(rows.clone())
    } else {
        Data::Dense(Dense::new(rows.values()[..n * rows.dim()].to_vec(), rows.dim())?)
    };
    let job = Job::new(method, &[], Seed(0))?;
    let mut stages = Stages { clock: Clock::start(), used: Map::new() };
    let (fitted, used) = timed(|| job.fit(&data, None, &Limits::default(), &mut stages))?;
    let iterations = fitted.outcome.trace.len();
    let mut found = json!({
        "rows used": n, "iterations": iterations, "recall at 15": recall(&data, fitted.embedding.points())?,
        "notes": fitted.notes.join("; "),
    });
    found.as_object_mut().expect("made above").extend(stages.used);
    Ok(Measured { used, found })
}

/// What each stage used.
struct Stages {
    clock: Clock,
    used: Map<String, Value>,
}

impl Observer for Stages {
    fn on(&mut self, event: &Event) -> ControlFlow<()> {
        match event {
            Event::StageStart(_) => self.clock = Clock::start(),
            Event::StageEnd(name) => {
                let used = self.clock.used();
                self.used.insert(format!("{name} CPU s"), json!(used.cpu_s));
                self.used.insert(format!("{name} wall s"), json!(used.wall_s));
                // So far: it never falls.
                self.used.insert(format!("{name} peak MB"), json!(used.peak_mb));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn wants_checkpoints(&self) -> bool {
        false
    }
}

/// Neighbours kept by the map, on evenly spread rows.
fn recall(data: &Data, map: Points) -> Result<f64> {
    let step = data.rows().div_ceil(SAMPLE);
    let sample: Vec<usize> = (0..data.rows()).step_by(step).collect();
    let places = Dense::new(map.values().iter().map(|&v| v as f32).collect(), map.dim())?;
    let (of_data, of_map) = (near(data, &sample)?, near(&Data::Dense(places), &sample)?);
    let kept: usize = of_data.iter().zip(&of_map).map(|(a, b)| a.iter().filter(|j| b.contains(j)).count()).sum();
    Ok(kept as f64 / (sample.len() * K) as f64)
}

/// The nearest other rows of some rows.
fn near(data: &Data, sample: &[usize]) -> Result<Vec<Vec<u32>>> {
    let graph = nearest_to(&data.select(sample), data, K + 1, Metric::Euclidean)?;
    Ok((0..sample.len())
        .map(|at| graph.row(at).0.iter().copied().filter(|&j| j as usize != sample[at]).take(K).collect())
        .collect())
}
