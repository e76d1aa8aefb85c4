//! `lowland compare`: one data set, several methods, one figure.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ArgMatches;
use lowland::fit::fit;
use lowland::message::{Note, display_path};
use lowland::neighbors::{self, NeighborGraph, NeighborParams, Search};
use lowland::preprocessing::rows_for_metric;
use lowland::quality::{QualityReport, ScoredRows};
use lowland::registry::{MethodInfo, ParsedMethod};
use lowland::run::StopReason;
use lowland::{AnnotatedEmbedding, Data, Embedding, Error, FitOptions, Metric};
use lowland_io::Table;
use lowland_view::Density;
use serde_json::{Value, json};

use super::comparison_table::{ComparisonRow, ComparisonTable};
use super::figure::{Figure, FigureMap};
use super::neighbors::SEARCH_REMEDIES;
use super::output_log::OutputLog;
use super::outputs::Outputs;
use super::page::{self, NeighborSource};
use super::picture;
use super::scoring;
use crate::args::{CompareArgs, values_for_each};
use crate::caption::Caption;
use crate::console::Console;
use crate::failure::Failure;
use crate::input;
use crate::paths::{self, file_name};
use crate::print::{format_duration, print_json, print_stdout};
use crate::report;
use crate::terms::FlagTerms;
use crate::usage::{ResourceUsage, Stopwatch};

/// The map of one method, with its scores and times.
struct MethodResult {
    method: &'static str,
    parameters: Vec<(&'static str, String)>,
    notes: Vec<Note>,
    map: AnnotatedEmbedding,
    usage: ResourceUsage,
    scores: Option<QualityReport>,
}

impl MethodResult {
    fn caption(&self) -> Caption {
        Caption::new(self.method, &self.parameters, &self.notes, self.scores.as_ref())
    }

    fn to_row(&self) -> ComparisonRow {
        ComparisonRow {
            name: self.method.into(),
            scores: self.scores.as_ref().map_or(Vec::new(), |report| report.scores.clone()),
            seconds: Some(self.usage.wall_seconds),
        }
    }

    fn to_json(&self) -> Value {
        let scores = self.scores.as_ref().map(|scores| report::scores_json(scores, self.map.labels.as_ref()));
        json!({
            "method": self.method,
            "parameters": report::parameters_json(&self.parameters),
            "wall_seconds": self.usage.wall_seconds,
            "cpu_seconds": self.usage.cpu_seconds,
            "scores": scores,
        })
    }
}

/// A neighbor graph that several methods share.
struct SharedGraph {
    graph: NeighborGraph,
    is_exact: bool,
    seconds: f64,
}

impl SharedGraph {
    /// The graph, if it has all true neighbors by this metric.
    fn if_exact(&self, metric: Metric) -> Option<&NeighborGraph> {
        Some(&self.graph).filter(|graph| self.is_exact && graph.metric() == metric)
    }
}

/// The results of all methods, and the data that they were fitted to.
struct Comparison {
    results: Vec<MethodResult>,
    /// The first method that failed, and why.
    failure: Option<(&'static str, Error)>,
    shared: Option<SharedGraph>,
    /// The metric of the scores.
    metric: Metric,
    data: Data,
}

impl Comparison {
    fn to_json(&self) -> Value {
        json!({
            "event": "comparison",
            "metric": self.metric.to_string(),
            "neighbors": self.shared.as_ref().map(|shared| json!({
                "n_neighbors": shared.graph.min_degree(),
                "metric": shared.graph.metric().to_string(),
                "exact": shared.is_exact,
                "wall_seconds": shared.seconds,
            })),
            "methods": self.results.iter().map(MethodResult::to_json).collect::<Vec<_>>(),
        })
    }

    /// The caption of the picture: parameters, and what the times do not include.
    fn caption(&self) -> String {
        let graph = self.shared.as_ref().map_or(String::new(), |SharedGraph { graph, seconds, .. }| {
            let (k, metric, time) = (graph.min_degree(), graph.metric(), format_duration(*seconds));
            format!(" {k} neighbors, {metric}, found once in {time}, are not in the times.")
        });
        let parameters: Vec<String> = self.results.iter().map(|result| result.caption().summary()).collect();
        format!("Maps aligned to the first.{graph} Scores by {} distances. {}.", self.metric, parameters.join("; "))
    }
}

pub fn compare(args: &CompareArgs, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    // Invalid flags are reported before the work begins.
    let outputs = Outputs::figures_only(&args.out)?;
    if outputs.has_pages() {
        page::check_names(&args.picture)?;
    }
    let methods = parse_methods(args, matches)?;
    if let Some(folder) = args.maps.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(Failure::flag(format!(
            "--maps {}: there is no such folder; create it first",
            display_path(folder)
        )));
    }
    check_paths(args)?;
    let mut console = Console::new(&args.common.run)?;
    let table = input::load(&args.common.input, &args.common.run, &mut console)?;
    let title = file_name(&args.common.input.input);
    let placeholders = placeholder_maps(&methods, &table)?;
    let mut figure = Figure { maps: placeholders, data: Some(table), title, ..Figure::default() };
    picture::check(&figure, &args.picture)?;
    let search = matches.get_one::<String>("search").map(|text| text.parse()).transpose()?.unwrap_or(Search::Auto);
    let table = figure.data.as_ref().expect("set above");
    let comparison = run_comparison(args, methods, table, search, &mut console)?;
    console.finish();
    let mut log = OutputLog::default();
    let rows: Vec<ComparisonRow> = comparison.results.iter().map(MethodResult::to_row).collect();
    let scores = ComparisonTable::new("method", &rows);
    // The table is printed first: it is still there if the disk is full.
    if args.common.run.json {
        print_json(&comparison.to_json());
    } else if let Err(failure) = print_stdout(&scores.to_text()) {
        log.fail(failure);
    }
    figure.caption = comparison.caption();
    figure.scores = Some(scores.to_text_table());
    let Comparison { results, failure, shared, metric, data } = comparison;
    let map = |result: MethodResult| FigureMap {
        name: result.method.into(),
        caption: result.caption().details(),
        map: result.map,
    };
    figure.maps = results.into_iter().map(map).collect();
    figure.align(&mut console);
    for each in &figure.maps {
        if let Some(path) = map_path(args, &each.name) {
            log.record(&path, lowland_io::write_map(&path, &each.map, &args.write.options()).map_err(Failure::write));
        }
    }
    let known = shared.as_ref().and_then(|shared| shared.if_exact(metric));
    let neighbors = Some(NeighborSource { data: &data, metric, known });
    outputs.write_figure(&figure, &args.picture, Density::Auto, neighbors, &args.common.run, &mut console, &mut log);
    log.finish(&mut console)?;
    if let Some((method, error)) = failure {
        return Err(Failure::runtime(format!("{method} is left out: {}", error.describe(&FlagTerms))));
    }
    Ok(console.exit_code())
}

/// The requested methods, each with those of the given parameters that it has.
fn parse_methods(args: &CompareArgs, matches: &ArgMatches) -> Result<Vec<ParsedMethod>, Failure> {
    let names = &args.methods;
    if let Some(at) = (1..names.len()).find(|&at| names[..at].contains(&names[at])) {
        return Err(Failure::flag(format!("--methods names {} twice", names[at])));
    }
    let infos: Vec<&MethodInfo> = names.iter().map(|name| MethodInfo::find(name)).collect::<Result<_, _>>()?;
    let values = values_for_each(matches, &infos)?;
    let parse = |(info, values): (&&MethodInfo, &Vec<(&'static str, String)>)| {
        let values: Vec<(&str, &str)> = values.iter().map(|(name, text)| (*name, text.as_str())).collect();
        Ok(info.parse(&values)?)
    };
    infos.iter().zip(&values).map(parse).collect()
}

/// The file to which `--maps` writes the map of a method.
fn map_path(args: &CompareArgs, method: &str) -> Option<PathBuf> {
    args.maps.as_ref().map(|folder| folder.join(format!("{method}.csv")))
}

/// Maps with the annotations that the results will have, against which flags are checked before the fits.
fn placeholder_maps(methods: &[ParsedMethod], table: &Table) -> Result<Vec<FigureMap>, Failure> {
    let placeholder = |parsed: &ParsedMethod| {
        let map = AnnotatedEmbedding {
            ids: table.ids.clone(),
            labels: table.labels.clone(),
            std: parsed.method.has_std().then(|| vec![0.0; table.rows()]),
            ..Embedding::new(vec![0.0; 2 * table.rows()], 2)?.into()
        };
        Ok(FigureMap { name: parsed.method.name().into(), caption: String::new(), map })
    };
    methods.iter().map(placeholder).collect()
}

fn check_paths(args: &CompareArgs) -> Result<(), Failure> {
    let maps: Vec<PathBuf> = args.methods.iter().filter_map(|method| map_path(args, method)).collect();
    let inputs: Vec<&Path> =
        [args.common.input.input.as_path()].into_iter().chain(args.common.input.read.labels.as_deref()).collect();
    paths::check(&inputs, &args.out.iter().chain(&maps).collect::<Vec<_>>())
}

/// Fits and scores the methods one after the other. A stop keeps the results so far; a method that fails does not prevent the
/// others.
fn run_comparison(
    args: &CompareArgs,
    methods: Vec<ParsedMethod>,
    table: &Table,
    search: Search,
    console: &mut Console,
) -> Result<Comparison, Failure> {
    // All maps are scored by the same metric, also those of methods without one.
    let metric = methods.iter().find_map(|parsed| parsed.method.metric()).unwrap_or(Metric::Euclidean);
    let data = args.common.preprocessing.apply(&table.data, &args.common.run)?;
    let shared = shared_graph(args, &methods, &data, search, console)?;
    let compared = rows_for_metric(&data, metric, None)?;
    let (mut results, mut failure) = (Vec::new(), None);
    for parsed in methods {
        let (watch, name) = (Stopwatch::start(), parsed.method.name());
        console.info(&format!("{name}:"));
        let own_metric = neighbor_metric(&parsed, data.rows());
        let graph = shared.as_ref().map(|shared| &shared.graph).filter(|graph| own_metric == Some(graph.metric()));
        let options = FitOptions {
            seed: args.common.run.seed(),
            landmarks: parsed.landmarks,
            neighbors: graph,
            observer: Some(console),
            memory: args.common.run.memory().clone(),
            ..FitOptions::default()
        };
        let model = match fit(parsed.method, &data, options) {
            Ok(model) => model,
            Err(Error::Stopped { .. }) if !results.is_empty() => break,
            Err(error @ Error::Stopped { .. }) => return Err(error.into()),
            Err(error) => {
                console.warn(&format!("{name} is left out: {}", error.describe(&FlagTerms)));
                failure = failure.or(Some((name, error)));
                continue;
            }
        };
        console.keep_map_on_stop();
        let usage = watch.elapsed();
        let stopped = model.outcome().stop_reason == StopReason::Stopped || console.stopped();
        let map = AnnotatedEmbedding {
            ids: table.ids.clone(),
            labels: table.labels.clone(),
            std: model.std(),
            covariances: model.covariances(),
            ..model.embedding().clone().into()
        };
        let known = shared.as_ref().and_then(|shared| shared.if_exact(metric));
        let known = known.or(model.neighbors().filter(|graph| graph.metric() == metric));
        let scores = if stopped {
            None
        } else {
            scoring::score(&compared, &map, metric, known, ScoredRows::Affordable, &args.common.run, console)
        };
        args.common.run.memory().reserve(map_memory(&map));
        let (parameters, notes) = (model.pipeline().values(), model.notes().to_vec());
        results.push(MethodResult { method: name, parameters, notes, map, usage, scores });
        if stopped {
            console.info("stopped; the maps so far are kept");
            break;
        }
    }
    match failure {
        Some((_, error)) if results.is_empty() => Err(error.into()),
        failure => Ok(Comparison { results, failure, shared, metric, data }),
    }
}

/// Bytes of a map that is kept.
fn map_memory(map: &AnnotatedEmbedding) -> u64 {
    (map.embedding.values().len() * 8 + map.rows() * 16) as u64
}

/// The metric of a method that uses a neighbor graph.
fn neighbor_metric(parsed: &ParsedMethod, rows: usize) -> Option<Metric> {
    (required_neighbors(parsed, rows) > 0).then(|| parsed.method.metric().unwrap_or(Metric::Euclidean))
}

/// Number of neighbors that a fit to all rows needs; 0 for landmarks, whose graph is not that of all rows.
fn required_neighbors(parsed: &ParsedMethod, rows: usize) -> usize {
    if parsed.landmarks.is_some() { 0 } else { parsed.method.required_neighbors(rows) }
}

/// The graph for all methods that use neighbors by the same metric as the first of them; `None` if none does.
fn shared_graph(
    args: &CompareArgs,
    methods: &[ParsedMethod],
    data: &Data,
    search: Search,
    console: &mut Console,
) -> Result<Option<SharedGraph>, Failure> {
    let rows = data.rows();
    let Some(metric) = methods.iter().find_map(|parsed| neighbor_metric(parsed, rows)) else { return Ok(None) };
    let users = methods.iter().filter(|parsed| neighbor_metric(parsed, rows) == Some(metric));
    let n_neighbors = users.map(|parsed| required_neighbors(parsed, rows)).max().unwrap_or(0);
    let needed = neighbors::search_memory(data.shape(), metric, n_neighbors, search).saturating_add(data.shape().bytes);
    args.common.run.memory().check("the neighbor search", needed, &SEARCH_REMEDIES)?;
    let watch = Stopwatch::start();
    let params = NeighborParams { n_neighbors, metric, search, seed: args.common.run.seed().stream("neighbors") };
    let data = rows_for_metric(data, metric, None)?;
    let found = console.run_stage("neighbors", |progress| neighbors::nearest_with(&data, &params, progress))?;
    let seconds = watch.elapsed().wall_seconds;
    let time = format_duration(seconds);
    console.info(&format!("{n_neighbors} neighbors of {rows} rows by {}: {time}", found.algorithm));
    args.common.run.memory().reserve(found.graph.indices().len() as u64 * 8);
    Ok(Some(SharedGraph { graph: found.graph, is_exact: found.recall.is_none(), seconds }))
}
