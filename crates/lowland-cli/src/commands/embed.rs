//! `lowland embed`: from a file to a map, a picture, a model and a report.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ArgMatches;
use clap::parser::ValueSource;
use lowland::Metric;
use lowland::archive::{Archive, Kind};
use lowland::methods::{Fitted, Job, MethodInfo};
use lowland::neighbors::NeighborGraph;
use lowland::quality;
use lowland::run::{Ended, Limits};
use lowland_io::Table;
use lowland_view::page::PageMap;
use serde_json::json;

use crate::args::{EmbedArgs, RunArgs, dashes, method_values};
use crate::failure::{Failure, STOPPED};
use crate::input;
use crate::observer::{Console, duration, emit, say};
use crate::paths;
use crate::report;
use crate::usage::Stopwatch;

use super::outputs::{Found, Outputs, short};
use super::page::{self, Known};
use super::scoring::{self, metric_of};
use super::written::Written;

pub fn embed(args: &EmbedArgs, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let watch = Stopwatch::start();
    // Everything that can be wrong with the flags is found before the work begins.
    let outputs = Outputs::new(&args.out, &args.input.input, &args.run)?;
    check_paths(args, &outputs)?;
    let resume = read_checkpoint(args)?;
    let uses_neighbors = |info: &MethodInfo| info.params().iter().any(|spec| spec.name == "search");
    if args.neighbors.is_some() && resume.is_none() && !uses_neighbors(MethodInfo::find(&args.method)?) {
        return Err(Failure::flag(format!("--neighbors: {} uses no neighbours", args.method)));
    }
    let graph = args.neighbors.as_deref().map(lowland_io::read_graph).transpose()?;
    let job = match &resume {
        Some(checkpoint) => resumed_job(checkpoint, args, matches)?,
        None => new_job(args, matches, graph.as_ref())?,
    };
    let run = RunArgs { seed: job.seed.0, ..args.run.clone() };
    let mut console = Console::new(&run)?;
    if let Some(path) = &args.checkpoint {
        console.keep_checkpoints(path.clone(), args.checkpoint_every)?;
    }
    // What does not fit by its size alone is refused before gigabytes are read.
    if let Some(shape) = input::declared_shape(&args.input) {
        job.check_memory(shape, &Limits { max_memory: args.memory.limit(), ..Limits::default() })?;
    }
    let table = input::load(&args.input, &run, &mut console)?;
    // A model is put together and laid out in memory before it is written; many hold the prepared rows.
    let reserve = if args.save.is_some() { 2 * job.prepare.output(table.data.shape()).bytes } else { 0 };
    if args.live {
        let known = Known::of(&table);
        let page = known.page(short(&args.input.input));
        let html = lowland_view::page::render_html(&lowland_view::page::Page { live: true, ..page })?;
        console.go_live(html, table.rows(), job.method.name())?;
    }
    let limits = Limits { max_memory: args.memory.limit(), reserve, resume, ..Limits::default() };

    let mut fitted =
        lowland::with_threads(run.threads(), || job.fit(&table.data, graph.as_ref(), &limits, &mut console))??;
    fitted.feature_names = table.columns.clone().unwrap_or_default();
    console.keep_the_map();
    let live = console.take_live();
    if let Some(live) = &live {
        live.last(&fitted.embedding);
    }
    console.finish();
    console.account_for_checkpoints();
    let early = fitted.outcome.ended == Ended::Stopped;
    if early {
        console.note(&format!(
            "stopped at iteration {}; the map as it was then is kept",
            fitted.outcome.trace.last().map_or(0, |step| step.iteration)
        ));
    }
    // The map first: whatever comes later may be stopped.
    let mut written = Written::default();
    let (std, covariances) = (fitted.std(), fitted.covariances());
    let found = Found { map: fitted.embedding.points(), std: std.as_deref(), covariances: covariances.as_deref() };
    outputs.write_maps(found, &table, &mut written);
    if let Some(path) = &args.save {
        written.bytes(path, &fitted.to_archive().to_bytes());
    }
    let scores = if args.no_quality || early { None } else { score(&run, &fitted, &table, &mut console)? };
    let report = report::of_run(args, &fitted, &table, scores.as_ref(), &console.uses, watch.used());
    draw(args, &outputs, &fitted, found, &table, &report::caption_of_report(&report), &mut console, &mut written);
    if let Some(path) = &args.report {
        written.bytes(path, format!("{report:#}\n").as_bytes());
    }
    if run.json {
        emit(&json!({ "event": "done", "report": report }));
    } else if !run.quiet {
        let names = table.labels.as_ref().map_or(&[][..], |labels| &labels.names);
        let score_table = scores.as_ref().map_or(String::new(), |scores| report::score_table(scores, names));
        let doubtful = std.as_deref().map_or(String::new(), |std| report::doubtful_rows(std, &table));
        let files = Some(written.words()).filter(|words| !words.is_empty()).map_or(String::new(), |words| words + "\n");
        say(&format!("{score_table}{doubtful}{files}{} in all", duration(watch.used().wall_seconds)));
    }
    if let Some(live) = live {
        live.finish(&written.last_words(if early { "Stopped; the map is kept" } else { "Done" }));
    }
    written.outcome()?;
    Ok(if console.stopped() { ExitCode::from(STOPPED) } else { ExitCode::SUCCESS })
}

/// The job that the flags ask for.
fn new_job(args: &EmbedArgs, matches: &ArgMatches, graph: Option<&NeighborGraph>) -> Result<Job, Failure> {
    let info = MethodInfo::find(&args.method)?;
    let mut values = method_values(matches, info)?;
    // A graph that knows its metric need not be told.
    if let Some(graph) = graph.filter(|graph| graph.metric() != Metric::Precomputed)
        && !values.iter().any(|(name, _)| *name == "metric")
    {
        values.push(("metric", graph.metric().to_string()));
    }
    let values: Vec<(&str, &str)> = values.iter().map(|(name, text)| (*name, text.as_str())).collect();
    Ok(Job { prepare: args.prepare.steps(), method: info.build(&values)?, seed: args.run.seed() })
}

/// Pictures and pages of the map.
fn draw(
    args: &EmbedArgs,
    outputs: &Outputs,
    fitted: &Fitted,
    found: Found,
    table: &Table,
    caption: &str,
    console: &mut Console,
    written: &mut Written,
) {
    outputs.write_pictures(found, table, &args.input.input, caption, written);
    if outputs.has_pages()
        && let Err(failure) = write_page(outputs, args, fitted, found, table, caption, console, written)
    {
        written.fail(failure);
    }
    console.finish();
}

/// Nothing that is written may fall on anything that is read. A checkpoint may replace the one the run goes on from.
fn check_paths(args: &EmbedArgs, outputs: &Outputs) -> Result<(), Failure> {
    let mut read = vec![Path::new(&args.input.input)];
    read.extend(args.input.read.labels.iter().chain(&args.neighbors).map(PathBuf::as_path));
    let written: Vec<&PathBuf> = outputs.files().chain(&args.save).chain(&args.report).collect();
    paths::check(&read, &[&written[..], &args.checkpoint.iter().collect::<Vec<_>>()].concat())?;
    read.extend(args.resume.as_deref());
    paths::check(&read, &written)
}

fn read_checkpoint(args: &EmbedArgs) -> Result<Option<Archive>, Failure> {
    let Some(path) = &args.resume else { return Ok(None) };
    let bytes = lowland_io::read_bytes(path, u64::MAX)?;
    let archive = Archive::from_bytes(&bytes, Kind::Checkpoint);
    archive.map(Some).map_err(|error| Failure::from(error).within(&path.display().to_string()))
}

/// The checkpoint's own job. Flags given again must agree with it, so that nobody resumes something else by mistake.
fn resumed_job(checkpoint: &Archive, args: &EmbedArgs, matches: &ArgMatches) -> Result<Job, Failure> {
    let job = Job::load(checkpoint)?;
    let given = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
    let differs = |flag: &str, theirs: &str| {
        Err(Failure::flag(format!("the checkpoint was made with {flag} {theirs}; leave the flag out to go on with it")))
    };
    if given("method") && args.method != job.method.name() {
        return differs("--method", job.method.name());
    }
    if given("seed") && args.run.seed() != job.seed {
        return differs("--seed", &job.seed.0.to_string());
    }
    let info = MethodInfo::find(job.method.name())?;
    for (name, text) in method_values(matches, info)? {
        let value =
            |all: Vec<(&'static str, String)>| all.into_iter().find(|entry| entry.0 == name).map(|entry| entry.1);
        let (ours, theirs) = (value(info.build(&[(name, &text)])?.values()), value(job.method.values()));
        if ours != theirs {
            return differs(&format!("--{}", dashes(name)), &theirs.unwrap_or_default());
        }
    }
    let steps = args.prepare.steps();
    if !steps.is_empty() && steps != job.prepare {
        return Err(Failure::flag(
            "the checkpoint was made with other preparation steps; leave them out to go on with it",
        ));
    }
    Ok(job)
}

/// Scores against the data as the method saw them.
fn score(
    run: &RunArgs,
    fitted: &Fitted,
    table: &Table,
    console: &mut Console,
) -> Result<Option<quality::Report>, Failure> {
    let metric = metric_of(fitted.job.method.as_ref()).unwrap_or(Metric::Euclidean);
    let (map, known) = (fitted.embedding.points(), fitted.graph.as_ref());
    Ok(lowland::with_threads(run.threads(), || match fitted.prepare(&table.data) {
        Ok(data) => scoring::score(&data, map, table, metric, known, run, console),
        Err(error) => {
            console.note(&format!("warning: the scores are left out: {error}"));
            None
        }
    })?)
}

/// The page, with the true neighbours unless there is no time for them.
fn write_page(
    outputs: &Outputs,
    args: &EmbedArgs,
    fitted: &Fitted,
    Found { map: points, std, covariances }: Found,
    table: &Table,
    caption: &str,
    console: &mut Console,
    written: &mut Written,
) -> Result<(), Failure> {
    let graphs = if fitted.outcome.ended == Ended::Stopped || console.stopped() {
        None
    } else {
        let data = fitted.prepare(&table.data)?;
        let metric = metric_of(fitted.job.method.as_ref()).unwrap_or(Metric::Euclidean);
        let truth = page::true_neighbors(&data, metric, fitted.graph.as_ref(), &args.run, console);
        let kept = page::map_neighbors(points, truth.as_ref(), &args.run, console);
        truth.zip(kept)
    };
    let known = Known::of(table);
    let mut page = known.page(short(&args.input.input));
    page.neighbors = graphs.as_ref().map(|(truth, _)| truth);
    let name = fitted.job.method.name();
    page.maps = vec![PageMap {
        name: name.into(),
        caption: report::without_name(caption, name).into(),
        points,
        std,
        covariances,
        neighbors: graphs.as_ref().map(|(_, kept)| kept),
    }];
    outputs.write_pages(&page, written);
    Ok(())
}
