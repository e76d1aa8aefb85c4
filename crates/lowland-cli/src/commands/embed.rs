//! `lowland embed`: from a file to a map, a picture, a model and a report.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ArgMatches;
use clap::parser::ValueSource;
use lowland::fit::fit;
use lowland::message::{Note, Remedy, display_path};
use lowland::method_choice::AUTO;
use lowland::neighbors::NeighborGraph;
use lowland::pipeline::Pipeline;
use lowland::registry::{MethodInfo, ParsedMethod};
use lowland::run::{Archive, ArchiveKind, StopReason};
use lowland::{AnnotatedEmbedding, FitOptions, FixedPositions, MemoryBudget, Metric, Target};
use lowland_io::Table;
use lowland_view::Density;
use serde_json::{Value, json};

use super::continuation::{self, continued_pipeline};
use super::figure::{Figure, FigureMap};
use super::method_choice;
use super::output_log::OutputLog;
use super::outputs::Outputs;
use super::page::{self, NeighborSource};
use super::sampled_fit::{PlacedRows, SampledFit};
use super::scoring;
use super::transform::read_model;
use super::trust::{NewMapTrust, add_instability, assess_new_map, sufficient_neighbors};
use crate::args::{EmbedArgs, InputArgs, MissingArg, PictureArgs, method_values, own_values};
use crate::caption::Caption;
use crate::console::Console;
use crate::failure::Failure;
use crate::input;
use crate::paths::{self, file_name};
use crate::print::{format_duration, print_json, print_stderr};
use crate::report;
use crate::terms::flag_name;
use crate::usage::Stopwatch;

pub fn embed(args: &EmbedArgs, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let watch = Stopwatch::start();
    // Invalid flags are reported before the work begins.
    let sampled = SampledFit::new(args)?;
    let outputs = match &sampled {
        Some(SampledFit { files, .. }) if files.is_empty() => Outputs::default(),
        Some(SampledFit { files, .. }) => Outputs::with_map(files, &args.common.input.input, &args.common.run)?,
        None => Outputs::with_map(&args.out, &args.common.input.input, &args.common.run)?,
    };
    check_paths(args, &outputs)?;
    let checkpoint = read_checkpoint(args)?;
    let is_auto = args.method == AUTO && checkpoint.is_none() && args.continue_from.is_none();
    if is_auto && args.fixed.is_some() {
        return Err(Failure::flag("--method auto: known positions take the place of a fit; leave it out with --fixed"));
    }
    let names_method = checkpoint.is_none() && !is_auto && args.continue_from.is_none();
    if args.neighbors.is_some() && names_method && !MethodInfo::find(&args.method)?.uses_neighbors() {
        return Err(Failure::flag(format!("--neighbors: {} does not use neighbors", args.method)));
    }
    if is_auto && args.target.is_some() {
        return Err(Failure::flag("--method auto compares maps without a target; name a method with --target"));
    }
    let mut input_args = args.common.input.clone();
    input_args.read.target_column = target_column(args);
    let memory = args.common.run.memory();
    let graph = args.neighbors.as_deref().map(|path| lowland_io::read_graph_within(path, memory)).transpose()?;
    let fixed_map = args.fixed.as_deref().map(|path| lowland_io::read_map_within(path, memory)).transpose()?;
    let align_map = args.align_to.as_deref().map(|path| lowland_io::read_map_within(path, memory)).transpose()?;
    let old = args.continue_from.as_deref().map(|path| read_model(path, memory)).transpose()?;
    let mut console = Console::new(&args.common.run)?;
    let mut run = args.common.run.clone();
    let (mut read, mut choice, mut held_out) = (None, None, None);
    if let Some(sampled) = &sampled {
        let (table, others) = sampled.draw(&input_args, &run, &mut console)?;
        (read, held_out) = (Some(table), others);
    }
    let pipeline = match (&checkpoint, &old) {
        (Some(checkpoint), _) => resumed_pipeline(checkpoint, args, matches)?,
        (None, Some(old)) => continued_pipeline(old, args, matches)?,
        (None, None) if is_auto => {
            let table = match read.take() {
                Some(sample) => sample,
                None => input::load(&input_args, &run, &mut console)?,
            };
            let chosen = method_choice::choose(args, matches, &table.data, graph.as_ref(), &mut console)?;
            let info = MethodInfo::find(chosen.method)?;
            let pipeline = new_pipeline(args, info, own_values(matches, info), graph.as_ref(), None)?;
            (read, choice) = (Some(table), Some(chosen));
            pipeline
        }
        (None, None) => {
            let info = MethodInfo::find(&args.method)?;
            new_pipeline(args, info, method_values(matches, info)?, graph.as_ref(), fixed_map.as_ref())?
        }
    };
    run.seed = pipeline.seed.0;
    if let Some(path) = &args.checkpoint {
        console.write_checkpoints(path.clone(), args.checkpoint_every)?;
    }
    // Data that are too large are rejected before gigabytes are read.
    if let Some(shape) = input::declared_shape(&input_args, &run).filter(|_| sampled.is_none()) {
        pipeline.check_memory(shape, memory)?;
    }
    let mut table = match read {
        Some(table) => table,
        None => {
            if pipeline.method.accepts_missing() && matches!(input_args.read.missing, MissingArg::Refuse) {
                input_args.read.missing = MissingArg::Keep;
            }
            match &old {
                Some(old) => input::load_new_rows(&input_args, old, &run, &mut console)?,
                None => input::load(&input_args, &run, &mut console)?,
            }
        }
    };
    let target = args.target.as_deref().map(|name| target(name, &mut table)).transpose()?;
    if pipeline.has_target && target.is_none() {
        return Err(Failure::flag(
            "the checkpoint is of a supervised fit; give its --target again to continue with it",
        ));
    }
    let fixed = fixed_map.map(|map| fixed_positions(map, &table)).transpose()?;
    let anchors = old.map(|old| continuation::anchors(&old, &table.data, args.anchor, &mut console)).transpose()?;
    if pipeline.anchored.is_some() && anchors.is_none() {
        return Err(Failure::flag(
            "the checkpoint continues an earlier map; give its --continue-from and --anchor again to continue with it",
        ));
    }
    if args.live {
        let html = page::render_live(&table, file_name(&args.common.input.input))?;
        console.serve_live_page(html, table.rows(), pipeline.method.name())?;
    }
    check_output_memory(args, &outputs, &pipeline, &table, memory)?;
    let options = FitOptions {
        seed: pipeline.seed,
        preprocessing: pipeline.preprocessing.clone(),
        landmarks: pipeline.landmarks,
        fixed: fixed.as_ref(),
        target: target.as_ref(),
        anchors: anchors.as_ref(),
        neighbors: graph.as_ref(),
        feature_names: table.columns.clone().unwrap_or_default(),
        observer: Some(&mut console),
        resume: checkpoint.as_ref(),
        reported_neighbors: if args.no_quality { 0 } else { sufficient_neighbors(table.rows(), args.trust) },
        memory: memory.clone(),
        ..FitOptions::default()
    };
    let mut model = fit(pipeline.method, &table.data, options)?;
    if let (Some(other), Some(path)) = (&align_map, &args.align_to) {
        continuation::align(&mut model, table.ids.as_deref(), other, path, &mut console)?;
    }
    memory.reserve(model.memory());
    console.keep_map_on_stop();
    let live = console.take_live_page();
    if let Some(live) = &live {
        live.show_final_map(model.embedding());
    }
    console.finish();
    console.report_missing_checkpoint();
    let stopped_early = model.outcome().stop_reason == StopReason::Stopped;
    if stopped_early {
        let iteration = model.outcome().trace.last().map_or(0, |step| step.iteration);
        console.info(&format!("stopped at iteration {iteration}; the map as it was then is kept"));
    }
    // The map is written first, because everything else can be stopped.
    let mut log = OutputLog::default();
    let mut map = AnnotatedEmbedding {
        std: model.std(),
        covariances: model.covariances(),
        ids: table.ids.take(),
        labels: table.labels.take(),
        ..model.embedding().clone().into()
    };
    // With --trust, the map is written with its reliability, unless the run is stopped.
    let write_later = args.trust && !stopped_early;
    if !write_later {
        outputs.write_map(&map, &args.write.options(), &mut log);
    }
    if let Some(path) = &args.save {
        log.write(path, &model.to_bytes());
    }
    if let Some(path) = &args.inferred {
        log.write(path, inferred_cells(&model).as_bytes());
    }
    let metric = model.method().metric().unwrap_or(Metric::Euclidean);
    let rows = table.data.clone();
    let data = model.training_data().unwrap_or(&rows);
    let nothing_to_score = nothing_to_score(&model, rows.rows());
    if let Some(reason) = nothing_to_score.filter(|_| !args.no_quality && !stopped_early) {
        console.info(&format!("{reason}: scores and reliability are omitted"));
    }
    let omit_scores = args.no_quality || stopped_early || nothing_to_score.is_some();
    let scores = if omit_scores {
        None
    } else {
        scoring::score(data, &map, metric, model.neighbors(), args.quality.into(), &run, &mut console)
    };
    let mut trust = if omit_scores || console.stopped() {
        None
    } else {
        assess_new_map(data, metric, &model, args.trust, &run, &mut console)
    };
    if let (Some(NewMapTrust::Complete(trust)), Some(reruns)) = (&mut trust, args.reruns)
        && !console.stopped()
    {
        add_instability(trust, &model, &rows, target.as_ref(), reruns, &run, &mut console);
    }
    if write_later {
        map.reliability = trust.as_ref().and_then(NewMapTrust::complete).map(|report| report.reliability.clone());
        outputs.write_map(&map, &args.write.options(), &mut log);
    }
    let mut report = report::run_report(args, &model, &rows, &map, scores.as_ref(), console.stages(), watch.elapsed());
    report["trust"] = trust.as_ref().map_or(Value::Null, NewMapTrust::to_json);
    if let Some(choice) = &choice {
        report["method_choice"] = method_choice::to_json(choice);
    }
    let caption = Caption::new(model.method().name(), &model.pipeline().values(), model.notes(), scores.as_ref());
    let score_table = scores.as_ref().map_or(String::new(), |scores| report::score_table(scores, map.labels.as_ref()));
    let uncertain_points = report::uncertain_points(&map);
    let summary = trust.as_ref().map_or(String::new(), NewMapTrust::text);
    // A run that was stopped does not wait for the neighbors.
    let neighbors =
        (!stopped_early && !console.stopped()).then(|| NeighborSource { data, metric, known: model.neighbors() });
    let figure = Figure {
        maps: vec![FigureMap { name: model.method().name().into(), caption: caption.details(), map }],
        title: file_name(&args.common.input.input),
        caption: caption.full_text(),
        data: Some(table),
        ..Figure::default()
    };
    let style = PictureArgs::default();
    outputs.write_figure(&figure, &style, Density::Auto, neighbors, &run, &mut console, &mut log);
    let placed = match &sampled {
        Some(sampled) if !stopped_early && !console.stopped() => {
            Some(sampled.place(args, &model, &rows, held_out.as_ref(), &run, &mut console)?)
        }
        _ => None,
    };
    report["placement"] = placed.as_ref().map_or(Value::Null, PlacedRows::to_json);
    if let Some(path) = &args.report {
        log.write(path, format!("{report:#}\n").as_bytes());
    }
    if run.json {
        print_json(&json!({ "event": "done", "report": report }));
    } else if !run.quiet {
        let files = Some(log.summary()).filter(|text| !text.is_empty()).map_or(String::new(), |text| text + "\n");
        let time = format_duration(watch.elapsed().wall_seconds);
        let placed = placed.as_ref().map_or(String::new(), PlacedRows::summary);
        print_stderr(&format!("{score_table}{uncertain_points}{summary}{placed}{files}{time} in all"));
    }
    if let Some(live) = live {
        live.finish(&log.final_message(if stopped_early { "Stopped; the map is kept" } else { "Done" }));
    }
    log.into_result()?;
    Ok(console.exit_code())
}

/// Fewest rows of which one can be nearer than another.
const MIN_ROWS_TO_SCORE: usize = 3;

/// Why neither scores nor reliability say anything about a map, if they do not.
fn nothing_to_score(model: &lowland::Model, rows: usize) -> Option<&'static str> {
    let all_equal = |note: &Note| matches!(note, Note::DuplicateRows { count, rows } if count + 1 == *rows);
    if rows < MIN_ROWS_TO_SCORE {
        Some("there are fewer than three rows, and none is nearer than another")
    } else if model.notes().iter().any(|note| all_equal(note) || matches!(note, Note::AllRowsEqual)) {
        Some("all rows are equal, and none is nearer than another")
    } else {
        None
    }
}

/// The pipeline that the flags describe.
fn new_pipeline(
    args: &EmbedArgs,
    info: &MethodInfo,
    mut values: Vec<(&'static str, String)>,
    graph: Option<&NeighborGraph>,
    fixed: Option<&AnnotatedEmbedding>,
) -> Result<Pipeline, Failure> {
    // The metric of a graph that has one is the default.
    if let Some(graph) = graph.filter(|graph| graph.metric() != Metric::Precomputed)
        && !values.iter().any(|(name, _)| *name == "metric")
    {
        values.push(("metric", graph.metric().to_string()));
    }
    // Fixed positions have as many dimensions as the map.
    if let Some(fixed) = fixed
        && !values.iter().any(|(name, _)| *name == "n_components")
    {
        values.push(("n_components", fixed.embedding.dim().to_string()));
    }
    let values: Vec<(&str, &str)> = values.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let ParsedMethod { method, landmarks } = info.parse(&values)?;
    let (preprocessing, seed) = (args.common.preprocessing.steps(), args.common.run.seed());
    let (fixed, has_target) = (fixed.map(AnnotatedEmbedding::rows), args.target.is_some());
    Ok(Pipeline { method, landmarks, fixed, anchored: None, has_target, preprocessing, seed })
}

/// The name that stands for the labels of the data.
const LABELS: &str = "labels";

/// The column to read the target from, if it is one besides the labels.
fn target_column(args: &EmbedArgs) -> Option<String> {
    let InputArgs { input, read } = &args.common.input;
    let has_labels = read.labels.is_some() || read.label_column.is_some() || input::is_builtin(input);
    args.target.clone().filter(|name| !(name == LABELS && has_labels))
}

/// The target, which is also the labels if there are no others.
fn target(name: &str, table: &mut Table) -> Result<Target, Failure> {
    let found = table.target.take().or_else(|| table.labels.clone().filter(|_| name == LABELS));
    let Some(found) = found else {
        return Err(Failure::flag(format!("--target {name}: the data has no labels; give them with --labels")));
    };
    table.labels.get_or_insert_with(|| found.clone());
    Ok(Target::new(found))
}

/// Matches the points of a map with the rows of the data: by their ids, by row numbers if the data has no ids, or one by one.
fn fixed_positions(map: AnnotatedEmbedding, table: &Table) -> Result<FixedPositions, Failure> {
    let number = |id: &String| {
        id.parse().map_err(|_| {
            Failure::flag(format!("--fixed: the data has no ids, so that ids must be row numbers from 0; found '{id}'"))
        })
    };
    Ok(match (&map.ids, &table.ids) {
        (Some(fixed), Some(ids)) => FixedPositions::from_ids(fixed, ids, map.embedding)?,
        (Some(fixed), None) => {
            let rows = fixed.iter().map(number).collect::<Result<_, _>>()?;
            FixedPositions::new(rows, map.embedding)?
        }
        (None, _) if map.rows() == table.rows() => FixedPositions::from_all_rows(&map.embedding)?,
        (None, _) => {
            return Err(Failure::flag(format!(
                "--fixed: the map has {} rows and no column id, and the data {} rows; add a column id",
                map.rows(),
                table.rows()
            )));
        }
    })
}

/// The pipeline of a checkpoint. Flags that are given again must agree with it.
fn resumed_pipeline(checkpoint: &Archive, args: &EmbedArgs, matches: &ArgMatches) -> Result<Pipeline, Failure> {
    let pipeline = Pipeline::load(checkpoint)?;
    let is_given = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
    let conflict = |flag: &str, value: &str| {
        Err(Failure::flag(format!("the checkpoint was made with {flag} {value}; omit the flag to continue with it")))
    };
    if is_given("method") && args.method != AUTO && args.method != pipeline.method.name() {
        return conflict("--method", pipeline.method.name());
    }
    if is_given("seed") && args.common.run.seed() != pipeline.seed {
        return conflict("--seed", &pipeline.seed.0.to_string());
    }
    let info = MethodInfo::find(pipeline.method.name())?;
    let saved_values = pipeline.values();
    for (name, text) in method_values(matches, info)? {
        let ParsedMethod { method, landmarks } = info.parse(&[(name, &text)])?;
        let given = Pipeline {
            method,
            landmarks,
            preprocessing: args.common.preprocessing.steps(),
            fixed: None,
            anchored: None,
            has_target: false,
            seed: pipeline.seed,
        };
        let value = |values: &[(&'static str, String)]| values.iter().find(|entry| entry.0 == name).cloned();
        let (given, saved) = (value(&given.values()), value(&saved_values));
        if given != saved {
            // Only the number of landmarks has no value where it is not set.
            return conflict(&format!("--{}", flag_name(name)), &saved.map_or("0".into(), |(_, value)| value));
        }
    }
    let steps = args.common.preprocessing.steps();
    if !steps.is_empty() && steps != pipeline.preprocessing {
        return Err(Failure::flag(
            "the checkpoint was made with other preprocessing steps; omit them to continue with it",
        ));
    }
    Ok(pipeline)
}

/// Checks that what is written in the end fits into memory, before the work begins. Scores are left out if they do not fit.
fn check_output_memory(
    args: &EmbedArgs,
    outputs: &Outputs,
    pipeline: &Pipeline,
    table: &Table,
    memory: &MemoryBudget,
) -> Result<(), Failure> {
    let shape = table.data.shape();
    let prepared = pipeline.preprocessing.output(shape);
    let held = shape.bytes + if pipeline.preprocessing.is_empty() { 0 } else { prepared.bytes };
    let points = (shape.rows as u64).saturating_mul(8).saturating_mul(pipeline.method.n_components() as u64);
    if args.save.is_some() {
        // The model is assembled as an archive and as bytes before it is written; many contain the preprocessed rows.
        let model = prepared.bytes.saturating_add(points.saturating_mul(3)).saturating_mul(2);
        let remedies = [Remedy::RaiseMaxMemory, Remedy::FewerRows, Remedy::Omit("save")];
        memory.check("the model that is saved", held.saturating_add(model), &remedies)?;
    }
    outputs.check_memory(Some(table), shape.rows, 1, &PictureArgs::default(), memory)
}

fn read_checkpoint(args: &EmbedArgs) -> Result<Option<Archive>, Failure> {
    let Some(path) = &args.resume else { return Ok(None) };
    let memory = args.common.run.memory();
    let bytes = lowland_io::read_bytes(path, memory)?;
    memory.reserve(bytes.len() as u64);
    let archive = Archive::from_bytes(&bytes, ArchiveKind::Checkpoint);
    archive.map(Some).map_err(|error| Failure::from(error).within(display_path(path)))
}

/// Rejects outputs that would replace an input. A checkpoint may replace the one that the run continues from.
fn check_paths(args: &EmbedArgs, outputs: &Outputs) -> Result<(), Failure> {
    let mut inputs = vec![args.common.input.input.as_path()];
    inputs.extend(
        args.common
            .input
            .read
            .labels
            .iter()
            .chain(&args.neighbors)
            .chain(&args.fixed)
            .chain(&args.continue_from)
            .chain(&args.align_to)
            .map(PathBuf::as_path),
    );
    let files: Vec<&PathBuf> = outputs.files().chain(&args.save).chain(&args.inferred).chain(&args.report).collect();
    paths::check(&inputs, &[&files[..], &args.checkpoint.iter().collect::<Vec<_>>()].concat())?;
    inputs.extend(args.resume.as_deref());
    paths::check(&inputs, &files)
}

/// The missing cells of the rows with their inferred values, as comma-separated text.
fn inferred_cells(model: &lowland::Model) -> String {
    let mut text = String::from("row,column,value,std\n");
    if let Some(cells) = model.inferred_cells() {
        for at in 0..cells.rows.len() {
            let column = cells.columns[at] as usize;
            let name = model.feature_names().get(column).map_or_else(|| column.to_string(), |name| csv_field(name));
            text += &format!("{},{name},{},{}\n", cells.rows[at], cells.means[at], cells.std[at]);
        }
    }
    text
}

/// Quotes a field if it needs to be.
fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into() }
}
