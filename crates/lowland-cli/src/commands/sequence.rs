//! `lowland sequence`: maps of several data sets, in which the rows that consecutive ones share stay near each other.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ArgMatches;
use lowland::growth::{SharedRow, rows_with_ids, rows_with_row_values};
use lowland::message::display_path;
use lowland::quality::{ScoreKind, ScoredRows};
use lowland::registry::{MethodInfo, ParsedMethod};
use lowland::sequence::{SequenceOptions, fit_sequence, movement};
use lowland::{AnnotatedEmbedding, Data, Metric, Model};
use lowland_io::Table;
use lowland_view::Density;
use serde_json::{Value, json};

use super::figure::{Figure, FigureMap};
use super::output_log::OutputLog;
use super::outputs::Outputs;
use super::scoring;
use crate::args::{SequenceArgs, method_values};
use crate::console::Console;
use crate::failure::Failure;
use crate::input;
use crate::paths;
use crate::print::{print_json, print_stdout};
use crate::report;

/// What the table says of a map.
struct SequenceRow {
    name: String,
    rows: usize,
    /// Rows that the file before has, and how far they moved.
    shared: Option<(usize, f64)>,
    recall: Option<f64>,
    scores: Value,
}

pub fn sequence(args: &SequenceArgs, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let outputs = Outputs::figures_only(&args.out)?;
    if outputs.has_pages() {
        return Err(Failure::flag("--out: pages show maps of the same rows; name a picture (.png .svg .pdf)"));
    }
    let info = MethodInfo::find(&args.method)?;
    let values = method_values(matches, info)?;
    let values: Vec<(&str, &str)> = values.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let ParsedMethod { method, landmarks } = info.parse(&values)?;
    if landmarks.is_some() {
        return Err(Failure::flag("--landmarks cannot be combined with a sequence, all of whose rows are fitted"));
    }
    let names = names(&args.inputs);
    check_paths(args, &names)?;
    let mut console = Console::new(&args.run)?;
    let load = |path: &PathBuf, console: &mut Console| input::load_from(path, &args.read, &args.run, console);
    let mut tables = args.inputs.iter().map(|path| load(path, &mut console)).collect::<Result<Vec<Table>, _>>()?;
    let shared = tables.windows(2).map(|pair| shared_rows(&pair[0], &pair[1])).collect::<Result<Vec<_>, _>>()?;
    let data: Vec<&Data> = tables.iter().map(|table| &table.data).collect();
    let options = SequenceOptions {
        anchor: args.anchor,
        passes: args.passes,
        preprocessing: args.preprocessing.steps(),
        seed: args.run.seed(),
        feature_names: tables[0].columns.clone().unwrap_or_default(),
        observer: Some(&mut console),
        memory: args.run.memory().clone(),
    };
    let models = fit_sequence(method.as_ref(), &data, &shared, options)?;
    console.finish();
    let mut log = OutputLog::default();
    let (mut rows, mut maps) = (Vec::new(), Vec::new());
    for (t, (model, table)) in models.iter().zip(&mut tables).enumerate() {
        let map = AnnotatedEmbedding {
            ids: table.ids.take(),
            labels: table.labels.take(),
            ..model.embedding().clone().into()
        };
        if let Some(path) = file_in(args.maps.as_deref(), &names[t], "csv") {
            log.record(&path, lowland_io::write_map(&path, &map, &args.write.options()).map_err(Failure::write));
        }
        if let Some(path) = file_in(args.models.as_deref(), &names[t], "lowland") {
            log.write(&path, &model.to_bytes());
        }
        let before = t.checked_sub(1).map(|before| (&models[before], shared[before].as_slice()));
        rows.push(describe(&names[t], model, before, &map, args, &mut console));
        maps.push(FigureMap { name: names[t].clone(), caption: String::new(), map });
    }
    console.finish();
    if args.run.json {
        print_json(&json!({ "event": "sequence", "maps": rows.iter().map(to_json).collect::<Vec<_>>() }));
    } else if let Err(failure) = print_stdout(&to_text(&rows)) {
        log.fail(failure);
    }
    let title = format!("{} to {}", names[0], names[names.len() - 1]);
    let caption = format!("{} of {} files, anchor {}", info.name, names.len(), anchor_text(args));
    let figure = Figure { maps, title, caption, ..Figure::default() };
    outputs.write_figure(&figure, &args.picture, Density::Auto, None, &args.run, &mut console, &mut log);
    log.finish(&mut console)?;
    Ok(console.exit_code())
}

fn anchor_text(args: &SequenceArgs) -> String {
    use lowland::params::ParamValue;
    args.anchor.to_text()
}

/// The rows that two tables share: by their ids if both have them, by their values otherwise.
fn shared_rows(before: &Table, after: &Table) -> Result<Vec<SharedRow>, Failure> {
    match (&before.ids, &after.ids) {
        (Some(before), Some(after)) => Ok(rows_with_ids(after, before)?),
        _ => Ok(rows_with_row_values(&before.data, &after.data)),
    }
}

/// The names of the maps: those of the files without extensions, with a number where they repeat.
fn names(inputs: &[PathBuf]) -> Vec<String> {
    let stem = |path: &PathBuf| path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let stems: Vec<String> = inputs.iter().map(stem).collect();
    let numbered = |(at, name): (usize, &String)| {
        let repeated = stems.iter().filter(|other| *other == name).count() > 1;
        if repeated { format!("{name}-{}", at + 1) } else { name.clone() }
    };
    stems.iter().enumerate().map(numbered).collect()
}

fn file_in(folder: Option<&Path>, name: &str, extension: &str) -> Option<PathBuf> {
    folder.map(|folder| folder.join(format!("{name}.{extension}")))
}

fn check_paths(args: &SequenceArgs, names: &[String]) -> Result<(), Failure> {
    for (flag, folder) in [("--maps", &args.maps), ("--models", &args.models)] {
        if let Some(folder) = folder.as_ref().filter(|folder| !folder.is_dir()) {
            let folder = display_path(folder);
            return Err(Failure::flag(format!("{flag} {folder}: there is no such folder; create it first")));
        }
    }
    let maps = names.iter().filter_map(|name| file_in(args.maps.as_deref(), name, "csv"));
    let models = names.iter().filter_map(|name| file_in(args.models.as_deref(), name, "lowland"));
    let files: Vec<PathBuf> = maps.chain(models).collect();
    let inputs: Vec<&Path> = args.inputs.iter().map(PathBuf::as_path).collect();
    paths::check(&inputs, &args.out.iter().chain(&files).collect::<Vec<_>>())
}

fn describe(
    name: &str,
    model: &Model,
    before: Option<(&Model, &[SharedRow])>,
    map: &AnnotatedEmbedding,
    args: &SequenceArgs,
    console: &mut Console,
) -> SequenceRow {
    let metric = model.method().metric().unwrap_or(Metric::Euclidean);
    let scored = model.training_data().filter(|data| data.rows() > 2).and_then(|data| {
        scoring::score(data, map, metric, model.neighbors(), ScoredRows::Affordable, &args.run, console)
    });
    let recall = |report: &lowland::quality::QualityReport| {
        report.scores.iter().find(|score| score.kind == ScoreKind::KnnRecall).map(|score| score.value)
    };
    SequenceRow {
        name: name.into(),
        rows: map.rows(),
        shared: before.map(|(before, shared)| (shared.len(), movement(before.embedding(), model.embedding(), shared))),
        recall: scored.as_ref().and_then(recall),
        scores: scored.as_ref().map_or(Value::Null, |scored| report::scores_json(scored, map.labels.as_ref())),
    }
}

fn to_json(row: &SequenceRow) -> Value {
    json!({
        "name": row.name,
        "rows": row.rows,
        "shared": row.shared.map(|(count, _)| count),
        "movement": row.shared.map(|(_, movement)| movement),
        "scores": row.scores,
    })
}

fn to_text(rows: &[SequenceRow]) -> String {
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).max(4);
    let mut text = format!("{:<width$} {:>8} {:>8} {:>8} {:>8}\n", "map", "rows", "shared", "moved", "recall");
    for row in rows {
        let shared = row.shared.map_or("-".into(), |(count, _)| count.to_string());
        let moved = row.shared.map_or("-".into(), |(_, moved)| format!("{moved:.4}"));
        let recall = row.recall.map_or("-".into(), |recall| format!("{recall:.3}"));
        text += &format!("{:<width$} {:>8} {shared:>8} {moved:>8} {recall:>8}\n", row.name, row.rows);
    }
    text
}
