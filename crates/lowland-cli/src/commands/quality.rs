//! `lowland quality`: how far a map can be believed.

use std::collections::HashMap;
use std::io::Write;
use std::process::ExitCode;

use lowland::quality::{self, PrecomputedGraphs, QualityParams};
use lowland_io::MapTable;
use serde_json::json;

use crate::args::QualityArgs;
use crate::failure::Failure;
use crate::input;
use crate::observer::{Console, emit};
use crate::report;

pub fn quality(args: &QualityArgs) -> Result<ExitCode, Failure> {
    let mut map = lowland_io::read_map(&args.map)?;
    let other = args.against.as_deref().map(lowland_io::read_map).transpose()?;
    let mut console = Console::new(&args.run)?;
    let table = input::load(&args.input, &args.run, &mut console)?;
    if let (Some(rows), Some(points)) = (&table.ids, &map.ids)
        && rows != points
    {
        map = in_order(&map, rows, points)?;
        console.note("the map's rows were put into the order of the data by their ids");
    }
    // Labels of the data come first; a map that carries its own serves where the data have none.
    let labels = table.labels.as_ref().or(map.labels.as_ref());
    let params = QualityParams {
        n_neighbors: args.n_neighbors,
        metric: args.metric,
        seed: args.run.seed(),
        ..QualityParams::default()
    };
    let codes = labels.map(|labels| labels.codes.as_slice());
    let (scores, angles) = lowland::with_threads(args.run.threads(), || -> Result<_, Failure> {
        let data = args.prepare.apply(&table.data, &args.run)?;
        let points = map.map.points();
        let scored = console.progress("scores", |progress| {
            quality::report_with(&data, points, codes, PrecomputedGraphs::default(), &params, progress)
        })?;
        let angles = args
            .tau
            .map(|tau| console.progress("angles", |progress| quality::angle_scores_with(&data, points, tau, progress)));
        Ok((scored, angles.transpose()?))
    })??;
    let distance = match &other {
        Some(other) => Some(quality::procrustes(map.map.points(), other.map.points())?.disparity),
        None => None,
    };
    console.finish();
    let names = labels.map_or(&[][..], |labels| &labels.names);
    if args.run.json {
        let mut value = json!({ "event": "scores", "scores": report::scores_json(&scores, names) });
        if let Some(distance) = distance {
            value["procrustes"] = json!(distance);
        }
        if let Some(angles) = angles {
            value["angular_deviation"] = json!(angles.deviation);
            value["angular_jaccard"] = json!(angles.jaccard);
            value["norm_error"] = json!(angles.norm_error);
        }
        emit(&value);
    } else {
        let mut text = report::score_table(&scores, names);
        if let Some(distance) = distance {
            text.push_str(&format!("Procrustes distance between the two maps: {distance:.6}\n"));
        }
        if let Some(angles) = angles {
            let tau = args.tau.unwrap_or_default();
            text.push_str(&format!(
                "angles with a cosine above {tau} ({} pairs): mean deviation {:.3} degrees, Jaccard index {:.4}; norms off by {:.4}\n",
                angles.pairs, angles.deviation, angles.jaccard, angles.norm_error
            ));
        }
        std::io::stdout().write_all(text.as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The map with its points in the order of `rows`, the ids of the data.
pub fn in_order(map: &MapTable, rows: &[String], points: &[String]) -> Result<MapTable, Failure> {
    let place: HashMap<&String, usize> = points.iter().zip(0..).collect();
    let refuse = |message: String| Failure::Other { code: 3, error: anyhow::anyhow!(message) };
    if place.len() != points.len() {
        return Err(refuse("the map's ids are not unique, and not in the order of the data's".into()));
    }
    let find =
        |id: &String| place.get(id).copied().ok_or_else(|| refuse(format!("the map has no point with the id {id}")));
    let order = rows.iter().map(find).collect::<Result<Vec<usize>, Failure>>()?;
    Ok(map.select(&order))
}
