//! `lowland quality`: how far a map can be believed.

use std::io::Write;
use std::process::ExitCode;

use lowland::quality::{self, QualityParams};
use serde_json::json;

use crate::args::QualityArgs;
use crate::failure::Failure;
use crate::input;
use crate::observer::{Console, emit};
use crate::report;

pub fn quality(args: &QualityArgs) -> Result<ExitCode, Failure> {
    let map = lowland_io::read_map(&args.map)?;
    let other = args.against.as_deref().map(lowland_io::read_map).transpose()?;
    let mut console = Console::new(&args.run)?;
    let table = input::load(&args.input, &args.run, &mut console)?;
    // Labels of the data come first; a map that carries its own serves where the data have none.
    let labels = table.labels.as_ref().or(map.labels.as_ref());
    let params = QualityParams {
        n_neighbors: args.n_neighbors,
        metric: args.metric,
        seed: args.run.seed(),
        ..QualityParams::default()
    };
    let codes = labels.map(|labels| labels.codes.as_slice());
    let scores = lowland::with_threads(args.run.threads(), || {
        let data = args.prepare.apply(&table.data, &args.run)?;
        let scored =
            console.progress("scores", |progress| quality::report(&data, map.map.points(), codes, &params, progress));
        scored.map_err(Failure::from)
    })??;
    let distance = match &other {
        Some(other) => Some(quality::procrustes(map.map.points(), other.map.points())?.disparity),
        None => None,
    };
    console.finish();
    let names = labels.map_or(&[][..], |labels| &labels.names);
    if args.run.json {
        let mut value = json!({ "scores": report::scores_json(&scores, names) });
        if let Some(distance) = distance {
            value["procrustes"] = json!(distance);
        }
        emit(&value);
    } else {
        let mut text = report::score_table(&scores, names);
        if let Some(distance) = distance {
            text.push_str(&format!("Procrustes distance between the two maps: {distance:.6}\n"));
        }
        std::io::stdout().write_all(text.as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}
