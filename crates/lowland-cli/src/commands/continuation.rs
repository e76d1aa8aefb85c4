//! `embed --continue-from` and `--align-to`: maps that keep the positions of an earlier one.

use std::path::Path;

use clap::ArgMatches;
use clap::parser::ValueSource;
use lowland::growth::{self, AnchorStrength};
use lowland::message::display_path;
use lowland::pipeline::Pipeline;
use lowland::registry::{METHODS, MethodInfo, ParsedMethod};
use lowland::{Anchors, AnnotatedEmbedding, Data, Model};

use crate::args::{EmbedArgs, method_values};
use crate::console::Console;
use crate::failure::Failure;

/// The pipeline of a model, with the parameters that are given on the command line instead of its own.
pub fn continued_pipeline(model: &Model, args: &EmbedArgs, matches: &ArgMatches) -> Result<Pipeline, Failure> {
    let old = model.pipeline();
    let is_given = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
    if is_given("method") && args.method != old.method.name() {
        let name = old.method.name();
        return Err(Failure::flag(format!(
            "--method {}: the map that is continued was made with {name}; omit the flag",
            args.method
        )));
    }
    if !old.method.supports_anchors() {
        let others: Vec<&str> = METHODS.iter().filter(|info| info.supports_anchors).map(|info| info.name).collect();
        return Err(Failure::flag(format!(
            "--continue-from: a map of {} cannot be continued; those of {} can",
            old.method.name(),
            others.join(", ")
        )));
    }
    if old.landmarks.is_some() || old.fixed.is_some() {
        return Err(Failure::flag(
            "--continue-from: the map was extended from landmarks or fixed positions; continue one of a fit of all rows",
        ));
    }
    let info = MethodInfo::find(old.method.name())?;
    let mut values = old.method.values();
    for (name, text) in method_values(matches, info)? {
        values.retain(|(known, _)| *known != name);
        values.push((name, text));
    }
    let values: Vec<(&str, &str)> = values.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let ParsedMethod { method, landmarks } = info.parse(&values)?;
    let steps = args.common.preprocessing.steps();
    Ok(Pipeline {
        method,
        landmarks,
        preprocessing: if steps.is_empty() { old.preprocessing.clone() } else { steps },
        fixed: None,
        anchored: Some(model.embedding().rows()),
        has_target: args.target.is_some(),
        seed: if is_given("seed") { args.common.run.seed() } else { old.seed },
    })
}

/// Ties the rows that the model was fitted to, and says how many there are.
pub fn anchors(
    model: &Model,
    data: &Data,
    strength: AnchorStrength,
    console: &mut Console,
) -> Result<Anchors, Failure> {
    let shared = growth::rows_with_values(model, data);
    let anchors =
        console.run_stage("placement", |progress| growth::anchors(model, data, &shared, strength, progress))?;
    let (kept, new) = (shared.len(), data.rows() - shared.len());
    let gone = model.embedding().rows() - kept;
    let how = match strength {
        AnchorStrength::Exact => "keep their positions",
        AnchorStrength::Tied(_) => "are tied to their positions",
    };
    let gone = if gone == 0 { String::new() } else { format!("; {gone} rows of the earlier map are not in the data") };
    console.info(&format!("{kept} rows {how}, {new} are new{gone}"));
    Ok(anchors)
}

/// Aligns the map of a model with another by the ids that both have, or row by row if neither has ids.
pub fn align(
    model: &mut Model,
    ids: Option<&[String]>,
    other: &AnnotatedEmbedding,
    path: &Path,
    console: &mut Console,
) -> Result<(), Failure> {
    let rows = model.embedding().rows();
    let numbers = |count: usize| (0..count).map(|row| row.to_string()).collect::<Vec<_>>();
    let own = match (ids, &other.ids) {
        (Some(ids), Some(_)) => ids.to_vec(),
        // Rows are numbers where only the map to align to names them, as with --fixed.
        (None, Some(_)) => numbers(rows),
        (_, None) if other.rows() == rows => numbers(rows),
        (_, None) => {
            return Err(Failure::flag(format!(
                "--align-to {}: the map has {} rows and no column id, and the data {rows} rows; add a column id",
                display_path(path),
                other.rows()
            )));
        }
    };
    let others = other.ids.clone().unwrap_or_else(|| numbers(rows));
    let positions = growth::shared_positions(&own, &others, &other.embedding)
        .map_err(|error| Failure::from(error).within(format!("--align-to {}", display_path(path))))?;
    model.align_to(&positions)?;
    if let Some(alignment) = model.alignment() {
        console.info(&format!(
            "aligned by {} rows to {}: scale {:.4}, disparity {:.4}",
            positions.len(),
            display_path(path),
            alignment.scale(),
            alignment.disparity()
        ));
    }
    Ok(())
}
