//! `lowland embed`: from a file to a map, a picture, a model and a report.

use std::process::ExitCode;

use clap::ArgMatches;
use lowland::Metric;
use lowland::archive::{Archive, Kind};
use lowland::methods::{Fitted, Job, MethodInfo};
use lowland::neighbors::NeighborGraph;
use lowland::quality::{self, KnownGraphs, QualityParams};
use lowland::run::{Ended, Limits};
use lowland_io::Table;
use serde_json::json;

use crate::args::{EmbedArgs, method_values};
use crate::failure::{Failure, STOPPED};
use crate::input;
use crate::observer::{Console, duration, emit};
use crate::report;
use crate::usage::{Stopwatch, available_memory};

use super::outputs::Outputs;

pub fn embed(args: &EmbedArgs, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let watch = Stopwatch::start();
    // Everything that can be wrong with the flags is found before the work begins.
    let outputs = Outputs::new(&args.out)?;
    let info = MethodInfo::find(&args.method)?;
    let values = method_values(matches, info)?;
    let values: Vec<(&str, &str)> = values.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let limits = Limits { max_memory: args.run.max_memory.or_else(available_memory), resume: read_checkpoint(args)? };
    let job = match &limits.resume {
        Some(checkpoint) => resumed_job(checkpoint, args, matches, &values)?,
        None => Job { prepare: args.prepare.steps(), method: info.build(&values)?, seed: args.run.seed() },
    };
    let mut console = Console::new(&args.run)?;
    if let Some(path) = &args.checkpoint {
        console.keep_checkpoints(path.clone(), args.checkpoint_every)?;
    }
    let table = input::load(&args.input, &args.run, &mut console)?;
    let graph = args.neighbors.as_deref().map(lowland_io::read_graph).transpose()?;

    let fitted =
        lowland::with_threads(args.run.threads(), || job.fit(&table.data, graph.as_ref(), &limits, &mut console))??;
    let stopped = fitted.outcome.ended == Ended::Stopped;
    if stopped {
        console.note(&format!(
            "stopped at iteration {}; the map as it was then is kept",
            fitted.outcome.trace.last().map_or(0, |step| step.iteration)
        ));
    }
    // The map is safe on disk before anything else is tried.
    outputs.write_maps(fitted.embedding.points(), &table)?;
    if let Some(path) = &args.save {
        lowland_io::write_bytes(path, &fitted.to_archive().to_bytes())?;
    }
    let scores =
        if args.no_quality || stopped { None } else { score(args, &fitted, &table, graph.as_ref(), &mut console)? };
    outputs.write_pictures(fitted.embedding.points(), &table, &args.input.input, &caption(&fitted, scores.as_ref()))?;
    console.finish();

    let report = report::of_run(args, &fitted, &table, scores.as_ref(), &console.uses, watch.used());
    if let Some(path) = &args.report {
        lowland_io::write_bytes(path, format!("{report:#}\n").as_bytes())?;
    }
    if args.run.json {
        emit(&json!({ "event": "done", "report": report }));
    } else if !args.run.quiet {
        let names = table.labels.as_ref().map_or(&[][..], |labels| &labels.names);
        let table = scores.as_ref().map_or(String::new(), |scores| report::score_table(scores, names));
        let written = outputs.written(args.save.iter().chain(&args.report));
        crate::observer::say(&format!("{table}{written}{} in all", duration(watch.used().wall_seconds)));
    }
    Ok(if stopped { ExitCode::from(STOPPED) } else { ExitCode::SUCCESS })
}

fn read_checkpoint(args: &EmbedArgs) -> Result<Option<Archive>, Failure> {
    let Some(path) = &args.resume else { return Ok(None) };
    let bytes = lowland_io::read_bytes(path, u64::MAX)?;
    Ok(Some(Archive::from_bytes(&bytes, Kind::Checkpoint)?))
}

/// The checkpoint's own job. Flags given again must agree with it, so that nobody resumes something else by mistake.
fn resumed_job(
    checkpoint: &Archive,
    args: &EmbedArgs,
    matches: &ArgMatches,
    values: &[(&str, &str)],
) -> Result<Job, Failure> {
    let job = Job::load(checkpoint)?;
    let given = |name: &str| matches.value_source(name) == Some(clap::parser::ValueSource::CommandLine);
    let differs = |flag: &str, theirs: &str| {
        Err(Failure::flag(format!("the checkpoint was made with {flag} {theirs}; leave the flag out to go on with it")))
    };
    if given("method") && args.method != job.method.name() {
        return differs("--method", job.method.name());
    }
    if given("seed") && args.run.seed() != job.seed {
        return differs("--seed", &job.seed.0.to_string());
    }
    for (name, text) in values {
        let info = MethodInfo::find(job.method.name())?;
        let theirs = job.method.values();
        let ours = info.build(&[(name, text)])?.values();
        let pick =
            |list: &[(&'static str, String)]| list.iter().find(|entry| entry.0 == *name).map(|entry| entry.1.clone());
        if pick(&ours) != pick(&theirs) {
            return differs(&format!("--{}", crate::args::dashes(name)), &pick(&theirs).unwrap_or_default());
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

/// Scores against the data as the method saw them. A stop while scoring keeps everything but the scores.
fn score(
    args: &EmbedArgs,
    fitted: &Fitted,
    table: &Table,
    graph: Option<&NeighborGraph>,
    console: &mut Console,
) -> Result<Option<quality::Report>, Failure> {
    let values = fitted.job.method.values();
    let metric =
        values.iter().find(|(name, _)| *name == "metric").map_or(Ok(Metric::Euclidean), |(_, text)| text.parse())?;
    let params = QualityParams { metric, seed: args.run.seed(), ..QualityParams::default() };
    let labels = table.labels.as_ref().map(|labels| labels.codes.as_slice());
    let known = KnownGraphs { data: fitted.graph.as_ref().or(graph), map: None };
    let result = lowland::with_threads(args.run.threads(), || {
        let data = fitted.prepare(&table.data)?;
        console.progress("scores", |progress| {
            quality::report_with(&data, fitted.embedding.points(), labels, known, &params, progress)
        })
    })?;
    match result {
        Ok(report) => Ok(Some(report)),
        Err(lowland::Error::Stopped { .. }) => {
            console.note("stopped while scoring; the map is written, the scores are left out");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// `spectral, n_neighbors 15 · trustworthiness 0.98, knn recall 0.35`
fn caption(fitted: &Fitted, scores: Option<&quality::Report>) -> String {
    let values = fitted.job.method.values();
    let shown = values.iter().filter(|(name, _)| matches!(*name, "n_neighbors" | "metric" | "perplexity"));
    let mut text = fitted.job.method.name().to_string();
    shown.for_each(|(name, value)| text.push_str(&format!(", {name} {value}")));
    let scores = scores.into_iter().flat_map(|report| report.rows());
    let wanted = ["knn recall", "trustworthiness", "continuity"];
    let parts: Vec<String> = scores
        .filter(|score| wanted.contains(&score.name))
        .map(|score| format!("{} {:.3}", score.name, score.value))
        .collect();
    if parts.is_empty() { text } else { format!("{text} | {}", parts.join(", ")) }
}
