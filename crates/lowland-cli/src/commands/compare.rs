//! `lowland compare`: one data set, several methods, one picture.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ArgMatches;
use lowland::methods::{Job, Method, MethodInfo};
use lowland::neighbors::{self, NeighborGraph, NeighborParams, Search};
use lowland::prepare::Prepare;
use lowland::quality::{self, Better};
use lowland::run::{Ended, Limits};
use lowland::{Data, Embedding, Error, Metric};
use lowland_io::{MapTable, Table};
use lowland_view::{Density, TableCell, TextTable};
use serde_json::{Value, json};

use super::outputs::short;
use super::page::{self, Besides};
use super::picture;
use super::scoring::{self, metric_of, parameter};
use super::shown::{Shown, ShownMap};
use super::written::Written;
use crate::args::{CompareArgs, values_for_each};
use crate::failure::{Failure, STOPPED};
use crate::input;
use crate::observer::{Console, duration, emit};
use crate::paths;
use crate::report;
use crate::usage::{Stopwatch, Used};

/// What one method made.
struct Entry {
    method: &'static str,
    parameters: Vec<(&'static str, String)>,
    map: MapTable,
    used: Used,
    scores: Option<quality::Report>,
}

/// A neighbour graph that several methods share.
struct Shared {
    graph: NeighborGraph,
    exact: bool,
    seconds: f64,
}

impl Shared {
    /// The graph, where it holds every true neighbour by this metric.
    fn all_true(&self, metric: Metric) -> Option<&NeighborGraph> {
        Some(&self.graph).filter(|graph| self.exact && graph.metric() == metric)
    }
}

/// What all methods made, and the data as they saw them.
struct Made {
    entries: Vec<Entry>,
    failed: Option<Failed>,
    shared: Option<Shared>,
    /// By which all are scored.
    metric: Metric,
    data: Data,
}

impl Made {
    /// For programs.
    fn as_json(&self) -> Value {
        json!({
            "event": "comparison",
            "metric": self.metric.to_string(),
            "neighbors": self.shared.as_ref().map(|shared| json!({
                "n_neighbors": shared.graph.min_degree(),
                "metric": shared.graph.metric().to_string(),
                "exact": shared.exact,
                "wall_seconds": shared.seconds,
            })),
            "methods": self.entries.iter().map(entry_json).collect::<Vec<_>>(),
        })
    }

    /// What the picture tells besides the table: the parameters, and what is not in the times.
    fn caption(&self) -> String {
        let graph = self.shared.as_ref().map_or(String::new(), |Shared { graph, seconds, .. }| {
            let (k, metric) = (graph.min_degree(), graph.metric());
            format!(" {k} neighbours, {metric}, found once in {}, are not in the times.", duration(*seconds))
        });
        let told = |entry: &Entry| report::about_report(&entry_json(entry));
        let parameters: Vec<String> = self.entries.iter().map(told).collect();
        format!("Maps laid over the first.{graph} Scores by {} distances. {}.", self.metric, parameters.join("; "))
    }
}

pub fn compare(args: &CompareArgs, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    // Everything that can be wrong with the flags is found before the work begins.
    let (pages, pictures) = page::split(&args.out);
    let files = picture::formats(&pictures)?;
    let methods = methods(args, matches)?;
    if let Some(folder) = args.maps.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(Failure::flag(format!("--maps {}: there is no such folder; make it first", folder.display())));
    }
    let maps: Vec<PathBuf> = args.methods.iter().filter_map(|method| map_file(args, method)).collect();
    let read: Vec<&Path> =
        [Path::new(&args.input.input)].into_iter().chain(args.input.read.labels.as_deref()).collect();
    paths::check(&read, &args.out.iter().chain(&maps).collect::<Vec<_>>())?;
    let mut console = Console::new(&args.run)?;
    let table = input::load(&args.input, &args.run, &mut console)?;
    let (title, caption) = (short(&args.input.input), String::new());
    let mut shown = Shown { maps: blank_maps(&methods, &table)?, title, caption, table: Some(table) };
    picture::check(&shown, &args.picture)?;
    let table = shown.table.as_ref().expect("it was put there");
    // All maps are scored alike, also those of methods that know nothing of metrics.
    let metric = methods.iter().find_map(|method| metric_of(method.as_ref())).unwrap_or(Metric::Euclidean);
    let made = lowland::with_threads(args.run.threads(), || {
        let data = args.prepare.apply(&table.data, &args.run)?;
        let shared = shared_graph(args, &methods, &data, &mut console)?;
        let (entries, failed) = fit_all(args, methods, &data, table, metric, shared.as_ref(), &mut console)?;
        Ok::<_, Failure>(Made { entries, failed, shared, metric, data })
    })??;
    console.finish();
    let columns = scores(&made.entries);
    let mut written = Written::default();
    // The table first: no disk can be too full for it.
    if args.run.json {
        emit(&made.as_json());
    } else if let Err(error) = std::io::stdout().write_all(as_text(&made.entries, &columns).as_bytes()) {
        written.fail(error.into());
    }
    let map = |entry: &Entry| ShownMap { name: entry.method.into(), map: entry.map.clone() };
    shown.maps = made.entries.iter().map(map).collect();
    shown.caption = made.caption();
    shown.align(&mut console);
    for each in &shown.maps {
        if let Some(path) = map_file(args, &each.name) {
            let outcome = lowland_io::write_map(&path, each.map.map.points(), each.map.about());
            written.note(&path, outcome.map_err(Failure::write));
        }
    }
    let table = text_table(&made.entries, &columns);
    picture::write(&files, &shown, &args.picture, Density::Auto, Some(table.clone()), &mut written);
    let besides = Besides {
        captions: &made.entries.iter().map(caption_of).collect::<Vec<_>>(),
        data: Some(&made.data),
        metric,
        known: made.shared.as_ref().and_then(|shared| shared.all_true(metric)),
        table: Some(&table),
        picture: &args.picture,
    };
    page::write(&pages, &shown, &besides, &args.run, &mut console, &mut written);
    console.finish();
    written.finish(&mut console)?;
    if let Some((method, error)) = made.failed {
        let error = anyhow::Error::from(error).context(format!("{method} is left out"));
        return Err(Failure::Other { code: 1, error });
    }
    Ok(if console.stopped() { ExitCode::from(STOPPED) } else { ExitCode::SUCCESS })
}

/// The methods asked for, each with those of the parameters given that it has.
fn methods(args: &CompareArgs, matches: &ArgMatches) -> Result<Vec<Box<dyn Method>>, Failure> {
    let names = &args.methods;
    if let Some(at) = (1..names.len()).find(|&at| names[..at].contains(&names[at])) {
        return Err(Failure::flag(format!("--methods names {} twice", names[at])));
    }
    let infos: Vec<&MethodInfo> = names.iter().map(|name| MethodInfo::find(name)).collect::<Result<_, _>>()?;
    let values = values_for_each(matches, &infos)?;
    let build = |(info, values): (&&MethodInfo, &Vec<(&'static str, String)>)| {
        let values: Vec<(&str, &str)> = values.iter().map(|(name, text)| (*name, text.as_str())).collect();
        Ok(info.build(&values)?)
    };
    infos.iter().zip(&values).map(build).collect()
}

/// Where `--maps` writes the map of a method.
fn map_file(args: &CompareArgs, method: &str) -> Option<PathBuf> {
    args.maps.as_ref().map(|folder| folder.join(format!("{method}.csv")))
}

/// What is known of the maps before there are any, in the shape of maps: flags are checked against them.
fn blank_maps(methods: &[Box<dyn Method>], table: &Table) -> Result<Vec<ShownMap>, Failure> {
    let blank = |method: &dyn Method| {
        let map = MapTable {
            ids: table.ids.clone(),
            labels: table.labels.clone(),
            std: method.gives_std().then(|| vec![0.0; table.rows()]),
            ..MapTable::new(Embedding::new(vec![0.0; 2 * table.rows()], 2)?)
        };
        Ok(ShownMap { name: method.name().into(), map })
    };
    methods.iter().map(AsRef::as_ref).map(blank).collect()
}

/// The metric of a method that uses neighbours.
fn metric_of_neighbors(method: &dyn Method, rows: usize) -> Option<Metric> {
    (method.neighbors(rows) > 0).then(|| metric_of(method).unwrap_or(Metric::Euclidean))
}

/// The graph that serves every method that uses neighbours by the metric of the first that does; none where none does.
fn shared_graph(
    args: &CompareArgs,
    methods: &[Box<dyn Method>],
    data: &Data,
    console: &mut Console,
) -> Result<Option<Shared>, Failure> {
    let rows = data.rows();
    let Some(metric) = methods.iter().find_map(|method| metric_of_neighbors(method.as_ref(), rows)) else {
        return Ok(None);
    };
    let takers: Vec<&dyn Method> =
        methods.iter().map(AsRef::as_ref).filter(|&method| metric_of_neighbors(method, rows) == Some(metric)).collect();
    let n_neighbors = takers.iter().map(|method| method.neighbors(rows)).max().unwrap_or(0);
    let search = takers.iter().find_map(|&method| parameter::<Search>(method, "search")).unwrap_or(Search::Auto);
    let needed = neighbors::memory(data.shape(), metric, n_neighbors, search);
    if let Some(limit) = args.memory.limit().filter(|&limit| needed > limit) {
        let remedy = "Raise --max-memory, or use fewer rows or neighbours";
        return Err(Error::Memory { what: "the search".into(), needed, limit, remedy }.into());
    }
    let watch = Stopwatch::start();
    let params = NeighborParams { n_neighbors, metric, search, seed: args.run.seed().stream("neighbors") };
    let found = console.progress("neighbours", |progress| neighbors::nearest(data, &params, progress))?;
    let seconds = watch.used().wall_seconds;
    console.note(&format!("{n_neighbors} neighbours of {rows} rows by {}: {}", found.algorithm, duration(seconds)));
    Ok(Some(Shared { graph: found.graph, exact: found.recall.is_none(), seconds }))
}

/// A method that could not make a map.
type Failed = (&'static str, Error);

/// Fits and scores one after the other. A stop keeps what is there; a method that fails does not cost the others.
fn fit_all(
    args: &CompareArgs,
    methods: Vec<Box<dyn Method>>,
    data: &Data,
    table: &Table,
    metric: Metric,
    shared: Option<&Shared>,
    console: &mut Console,
) -> Result<(Vec<Entry>, Option<Failed>), Failure> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut failed = None;
    for method in methods {
        let (watch, name) = (Stopwatch::start(), method.name());
        console.note(&format!("{name}:"));
        let of_method = metric_of_neighbors(method.as_ref(), data.rows());
        let graph = shared.map(|shared| &shared.graph).filter(|graph| of_method == Some(graph.metric()));
        let limits = Limits { max_memory: args.memory.limit(), ..Limits::default() };
        let job = Job { prepare: Prepare::default(), method, seed: args.run.seed() };
        let fitted = match job.fit(data, graph, &limits, console) {
            Ok(fitted) => fitted,
            Err(Error::Stopped { .. }) if !entries.is_empty() => break,
            Err(error @ Error::Stopped { .. }) => return Err(error.into()),
            Err(error) => {
                console.note(&format!("warning: {name} is left out: {error}"));
                failed = failed.or(Some((name, error)));
                continue;
            }
        };
        console.keep_the_map();
        let used = watch.used();
        let stopped = fitted.outcome.ended == Ended::Stopped || console.stopped();
        let known = shared.and_then(|shared| shared.all_true(metric));
        let known = known.or(fitted.graph.as_ref().filter(|graph| graph.metric() == metric));
        let points = fitted.embedding.points();
        let scores =
            if stopped { None } else { scoring::score(data, points, table, metric, known, &args.run, console) };
        let map = MapTable {
            ids: table.ids.clone(),
            labels: table.labels.clone(),
            std: fitted.std(),
            covariances: fitted.covariances(),
            ..MapTable::new(fitted.embedding.clone())
        };
        let method = fitted.job.method;
        entries.push(Entry { method: method.name(), parameters: method.values(), map, used, scores });
        if stopped {
            console.note("stopped; the maps there are are kept");
            break;
        }
    }
    match failed {
        Some((_, error)) if entries.is_empty() => Err(error.into()),
        failed => Ok((entries, failed)),
    }
}

/// A column of the table: its name, a value for each method, and which of them is best.
struct Column {
    name: String,
    texts: Vec<String>,
    best: Option<usize>,
}

/// The scores of the table; all are in the JSON.
const SHOWN: [&str; 6] =
    ["knn recall", "trustworthiness", "continuity", "triplet accuracy", "distance correlation", "classification error"];

/// The scores that any of the maps has, and the times.
fn scores(entries: &[Entry]) -> Vec<Column> {
    let seconds: Vec<f64> = entries.iter().map(|entry| entry.used.wall_seconds).collect();
    let mut names: Vec<(&'static str, Option<usize>, Better)> = Vec::new();
    let all: Vec<Vec<quality::Score>> =
        entries.iter().map(|entry| entry.scores.as_ref().map_or(Vec::new(), quality::Report::rows)).collect();
    for score in all.iter().flatten() {
        if SHOWN.contains(&score.name) && !names.iter().any(|(name, ..)| *name == score.name) {
            names.push((score.name, score.k, score.better));
        }
    }
    let mut columns: Vec<Column> = names
        .into_iter()
        .map(|(name, k, better)| {
            let value = |scores: &Vec<quality::Score>| scores.iter().find(|s| s.name == name).map(|s| s.value);
            let values: Vec<Option<f64>> = all.iter().map(value).collect();
            let name = k.map_or(name.to_string(), |k| format!("{name} ({k})"));
            let show = |value: &Option<f64>| value.map_or("-".into(), |value| format!("{value:.3}"));
            Column { name, texts: values.iter().map(show).collect(), best: best(&values, better) }
        })
        .collect();
    let times: Vec<Option<f64>> = seconds.iter().copied().map(Some).collect();
    let texts = seconds.iter().map(|&seconds| duration(seconds)).collect();
    columns.push(Column { name: "time".into(), texts, best: best(&times, Better::Lower) });
    columns
}

fn best(values: &[Option<f64>], better: Better) -> Option<usize> {
    let sign = if better == Better::Higher { 1.0 } else { -1.0 };
    let known = values.iter().enumerate().filter_map(|(at, value)| Some((at, sign * (*value)?)));
    known.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))).map(|(at, _)| at).filter(|_| values.len() > 1)
}

fn text_table(entries: &[Entry], columns: &[Column]) -> TextTable {
    let header = ["method".to_string()].into_iter().chain(columns.iter().map(|column| column.name.clone()));
    let row = |(at, entry): (usize, &Entry)| {
        let name = TableCell { text: entry.method.into(), best: false };
        let cells =
            columns.iter().map(|column| TableCell { text: column.texts[at].clone(), best: column.best == Some(at) });
        [name].into_iter().chain(cells).collect()
    };
    TextTable { header: header.collect(), rows: entries.iter().enumerate().map(row).collect() }
}

/// For people: the best of each column has a star.
fn as_text(entries: &[Entry], columns: &[Column]) -> String {
    let table = text_table(entries, columns);
    let show = |cell: &TableCell| if cell.best { format!("{}*", cell.text) } else { format!("{} ", cell.text) };
    let head = table.header.iter().map(|name| format!("{name} ")).collect();
    let rows = table.rows.iter().map(|row| row.iter().map(show).collect());
    let lines: Vec<Vec<String>> = [head].into_iter().chain(rows).collect();
    let wide: Vec<usize> =
        (0..table.header.len()).map(|c| lines.iter().map(|line| line[c].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for line in &lines {
        for (c, (cell, &wide)) in line.iter().zip(&wide).enumerate() {
            let _ = if c == 0 { write!(text, "{cell:<wide$}") } else { write!(text, " {cell:>wide$}") };
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

/// What a program or a caption is told of one of them.
fn entry_json(entry: &Entry) -> Value {
    let parameters: serde_json::Map<String, Value> =
        entry.parameters.iter().map(|(name, text)| (name.to_string(), report::typed(text))).collect();
    json!({
        "method": entry.method,
        "parameters": parameters,
        "wall_seconds": entry.used.wall_seconds,
        "cpu_seconds": entry.used.cpu_seconds,
        "scores": entry.scores.as_ref().map(|scores| {
            report::scores_json(scores, entry.map.labels.as_ref().map_or(&[][..], |labels| &labels.names))
        }),
    })
}

/// Parameters and scores of one map, whose name stands before them.
fn caption_of(entry: &Entry) -> String {
    report::without_name(&report::caption_of_report(&entry_json(entry)), entry.method).into()
}
