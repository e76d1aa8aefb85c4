//! `lowland quality`: scores a map against its data.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::process::ExitCode;

use lowland::AnnotatedEmbedding;
use lowland::message::{Remedy, excerpt};
use lowland::preprocessing::rows_for_metric;
use lowland::quality::{self, PrecomputedGraphs, QualityParams, ScoredRows};
use serde_json::json;

use crate::args::QualityArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::input;
use crate::print::{print_json, print_stdout};
use crate::report;

pub fn quality(args: &QualityArgs) -> Result<ExitCode, Failure> {
    let mut map = lowland_io::read_map_within(&args.map, args.run.memory())?;
    let other = args.against.as_deref().map(|path| lowland_io::read_map_within(path, args.run.memory())).transpose()?;
    let mut console = Console::new(&args.run)?;
    let table = input::load(&args.input, &args.run, &mut console)?;
    if let (Some(rows), Some(points)) = (&table.ids, &map.ids)
        && rows != points
    {
        map = reorder_by_ids(&map, rows, points)?;
        console.info("the rows of the map were put in the order of the data by their ids");
    }
    // Labels of the data take precedence over those of the map.
    let labels = table.labels.as_ref().or(map.labels.as_ref());
    let params = QualityParams {
        n_neighbors: args.n_neighbors,
        metric: args.metric,
        rows: if args.exact { ScoredRows::All } else { ScoredRows::Affordable },
        seed: args.run.seed(),
        ..QualityParams::default()
    };
    let codes = labels.map(|labels| labels.codes.as_slice());
    let (data, points) = (args.preprocessing.apply(&table.data, &args.run)?, map.points());
    let data = rows_for_metric(&data, args.metric, None)?;
    let memory = quality::memory(data.shape(), points.dim(), None, &params);
    let needed = table.data.shape().bytes.saturating_add(memory);
    args.run.memory().check("the scores", needed, &[Remedy::RaiseMaxMemory, Remedy::FewerRows])?;
    let scores = console.run_stage("scores", |progress| {
        quality::report_with(&data, points, codes, PrecomputedGraphs::default(), &params, progress)
    })?;
    let angles = args
        .tau
        .map(|tau| console.run_stage("angles", |progress| quality::angle_scores_with(&data, points, tau, progress)));
    let angles = angles.transpose()?;
    let distance = match &other {
        Some(other) => Some(quality::procrustes(points, other.points())?.disparity),
        None => None,
    };
    console.finish();
    if args.run.json {
        let mut value = json!({ "event": "scores", "scores": report::scores_json(&scores, labels) });
        if let Some(distance) = distance {
            value["procrustes"] = json!(distance);
        }
        if let Some(angles) = angles {
            value["angular_deviation"] = json!(angles.deviation);
            value["angular_jaccard"] = json!(angles.jaccard);
            value["norm_error"] = json!(angles.norm_error);
        }
        print_json(&value);
    } else {
        let mut text = report::score_table(&scores, labels);
        if let Some(distance) = distance {
            let _ = writeln!(text, "Procrustes distance between the two maps: {distance:.6}");
        }
        if let Some(angles) = angles {
            let _ = writeln!(
                text,
                "angles with a cosine above {} ({} pairs): mean deviation {:.3} degrees, Jaccard index {:.4}; relative error \
                 of norms {:.4}",
                args.tau.unwrap_or_default(),
                angles.pairs,
                angles.deviation,
                angles.jaccard,
                angles.norm_error
            );
        }
        print_stdout(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Puts the points of a map in the order of `rows`, the ids of the data; `points` are the ids of the map.
pub fn reorder_by_ids(
    map: &AnnotatedEmbedding,
    rows: &[String],
    points: &[String],
) -> Result<AnnotatedEmbedding, Failure> {
    let index: HashMap<&String, usize> = points.iter().zip(0..).collect();
    if index.len() != points.len() {
        return Err(Failure::input("the ids of the map are not unique, and not in the order of the data"));
    }
    let find = |id: &String| {
        index
            .get(id)
            .copied()
            .ok_or_else(|| Failure::input(format!("the map has no point with the id {}", excerpt(id))))
    };
    let order = rows.iter().map(find).collect::<Result<Vec<usize>, Failure>>()?;
    Ok(map.select(&order))
}
