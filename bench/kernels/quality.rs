//! All quality scores and the picture of an embedding, which consists of the first two columns of the array.

use std::time::Instant;

use anyhow::{Result, ensure};
use lowland::data::{AnnotatedEmbedding, Data, Dense, Embedding, Labels, Points};
use lowland::quality::{PrecomputedGraphs, report_with};
use lowland_bench::{Measurement, timed, value};
use lowland_view::draw_png;
use serde_json::{Value, json};

/// The peers need a matrix of all distances, 39 GB for all of MNIST, so they are compared on fewer rows.
const PART: &str = "rows=6000";
const CASES: [&str; 3] = ["rows=all report", "rows=6000 report", "picture classes=10"];

fn main() -> Result<()> {
    lowland_bench::main(&CASES, measure)
}

fn measure(rows: &Dense, [setting, way]: [&str; 2]) -> Result<Measurement> {
    ensure!(rows.dim() >= 2, "the array needs at least two columns");
    let count = if setting == PART { value::<usize>(setting)?.min(rows.rows()) } else { rows.rows() };
    let map: Vec<f64> = (0..count).flat_map(|i| [rows.row(i)[0], rows.row(i)[1]]).map(f64::from).collect();
    let map = Points::new(&map, 2)?;
    if setting == "picture" {
        return picture(map, value(way)?);
    }
    let data = Data::dense(rows.values()[..count * rows.dim()].to_vec(), rows.dim())?;
    let (mut last_call, mut longest_wait) = (Instant::now(), 0f64);
    let (scored, used) = timed(|| {
        report_with(&data, map, None, PrecomputedGraphs::default(), &Default::default(), &mut |_| {
            longest_wait = longest_wait.max(last_call.elapsed().as_secs_f64());
            last_call = Instant::now();
            Ok(())
        })
    })?;
    let mut found = json!({ "longest wait for progress, s": longest_wait });
    for score in scored.scores {
        let at = score.k.map_or(String::new(), |k| format!(" at {k}"));
        let of = score.sampled.map_or(String::new(), |sampled| format!(" of {sampled}"));
        found[format!("{}{at}{of}", score.kind.name())] = Value::from(score.value);
    }
    Ok(Measurement { used, found })
}

/// Measures drawing a picture; the points belong to the classes in turn.
fn picture(map: Points, classes: u32) -> Result<Measurement> {
    let names: Vec<String> = (0..classes).map(|class| format!("class {class}")).collect();
    let codes: Vec<u32> = (0..map.rows() as u32).map(|i| i % classes).collect();
    let labels = Some(Labels { codes, names });
    let map = AnnotatedEmbedding { labels, ..Embedding::new(map.values().to_vec(), map.dim())?.into() };
    let (file, used) = timed(|| Ok(draw_png(&map, &Default::default())))?;
    Ok(Measurement { used, found: json!({ "bytes": file?.len() }) })
}
