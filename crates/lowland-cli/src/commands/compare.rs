//! `lowland compare`: one data set, several methods, one picture.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ArgMatches;
use lowland::methods::{Fitted, Job, Method, MethodInfo};
use lowland::neighbors::{self, NeighborGraph, NeighborParams, Search};
use lowland::prepare::Prepare;
use lowland::quality::{self, Better, KnownGraphs, QualityParams};
use lowland::run::{Ended, Limits};
use lowland::{Data, Error, Metric};
use lowland_io::{MapTable, Table};
use lowland_view::{Cell, Density, TextTable};
use serde_json::{Value, json};

use super::page::{self, Besides};
use super::picture;
use super::shown::{Shown, ShownMap};
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

pub fn compare(args: &CompareArgs, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    // Everything that can be wrong with the flags is found before the work begins.
    let (pages, pictures) = page::split(&args.out);
    let files = picture::formats(&pictures)?;
    let methods = methods(args, matches)?;
    let maps = map_files(args, args.methods.iter().map(String::as_str))?;
    let read: Vec<&Path> =
        [Path::new(&args.input.input)].into_iter().chain(args.input.read.labels.as_deref()).collect();
    paths::check(&read, &args.out.iter().chain(&maps).collect::<Vec<_>>())?;
    let mut console = Console::new(&args.run)?;
    let table = input::load(&args.input, &args.run, &mut console)?;
    let (entries, failed, shared) = lowland::with_threads(args.run.threads(), || {
        let data = args.prepare.apply(&table.data, &args.run)?;
        let shared = shared_graph(args, &methods, &data, &mut console)?;
        let (entries, failed) = fit_all(args, methods, &data, &table, shared.as_ref(), &mut console)?;
        Ok::<_, Failure>((entries, failed, shared))
    })??;
    let seconds: Vec<f64> = entries.iter().map(|entry| entry.used.wall_seconds).collect();
    let scores = scores(&entries, &seconds);
    let mut shown = Shown {
        maps: entries.iter().map(|entry| ShownMap { name: entry.method.into(), map: entry.map.clone() }).collect(),
        title: Path::new(&args.input.input)
            .file_name()
            .map_or(String::new(), |name| name.to_string_lossy().into_owned()),
        caption: caption(shared.as_ref()),
        table: Some(table),
    };
    shown.align(&mut console);
    let maps = map_files(args, entries.iter().map(|entry| entry.method))?;
    for (path, each) in maps.iter().zip(&shown.maps) {
        let MapTable { map, ids, labels, std, .. } = &each.map;
        lowland_io::write_map(path, map.points(), ids.as_deref(), labels.as_ref(), std.as_deref())
            .map_err(Failure::write)?;
    }
    picture::write(&files, &shown, &args.picture, Density::Auto, Some(text_table(&entries, &scores)))?;
    write_pages(args, &pages, &shown, &text_table(&entries, &scores), shared.as_ref(), &mut console)?;
    console.finish();
    if args.run.json {
        emit(&as_json(&entries, shared.as_ref()));
    } else {
        std::io::stdout().write_all(as_text(&entries, &scores).as_bytes())?;
    }
    let names: Vec<String> = args.out.iter().chain(&maps).map(|path| path.display().to_string()).collect();
    console.note(&format!("wrote {}", names.join(", ")));
    if let Some((method, error)) = failed {
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

/// Where `--maps` writes the maps of these methods.
fn map_files<'a>(args: &CompareArgs, methods: impl Iterator<Item = &'a str>) -> Result<Vec<PathBuf>, Failure> {
    let Some(folder) = &args.maps else { return Ok(Vec::new()) };
    if !folder.is_dir() {
        return Err(Failure::flag(format!("--maps {}: there is no such folder; make it first", folder.display())));
    }
    Ok(methods.map(|name| folder.join(format!("{name}.csv"))).collect())
}

fn parameter<T: std::str::FromStr>(method: &dyn Method, name: &str) -> Option<T> {
    method.values().iter().find(|(known, _)| *known == name).and_then(|(_, text)| text.parse().ok())
}

/// The metric of a method that uses neighbours.
fn metric_of(method: &dyn Method, rows: usize) -> Option<Metric> {
    (method.neighbors(rows) > 0).then(|| parameter(method, "metric").unwrap_or(Metric::Euclidean))
}

/// The graph that serves every method that uses neighbours; none where fewer than two do.
fn shared_graph(
    args: &CompareArgs,
    methods: &[Box<dyn Method>],
    data: &Data,
    console: &mut Console,
) -> Result<Option<Shared>, Failure> {
    let rows = data.rows();
    let Some(metric) = methods.iter().find_map(|method| metric_of(method.as_ref(), rows)) else { return Ok(None) };
    let takers: Vec<&dyn Method> =
        methods.iter().map(AsRef::as_ref).filter(|&method| metric_of(method, rows) == Some(metric)).collect();
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
    shared: Option<&Shared>,
    console: &mut Console,
) -> Result<(Vec<Entry>, Option<Failed>), Failure> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut failed = None;
    for method in methods {
        let (watch, name) = (Stopwatch::start(), method.name());
        console.note(&format!("{name}:"));
        let of_method = metric_of(method.as_ref(), data.rows());
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
        let scores = if stopped { None } else { score(args, &fitted, data, table, shared, console) };
        let map = MapTable {
            ids: table.ids.clone(),
            labels: table.labels.clone(),
            std: fitted.std(),
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

/// Scores against the data as the methods saw them; a map without scores is still a map.
fn score(
    args: &CompareArgs,
    fitted: &Fitted,
    data: &Data,
    table: &Table,
    shared: Option<&Shared>,
    console: &mut Console,
) -> Option<quality::Report> {
    let usual = QualityParams::default();
    let n_neighbors = usual.n_neighbors.min((data.rows().saturating_sub(1) / 2).max(1));
    let metric = parameter(fitted.job.method.as_ref(), "metric").unwrap_or(Metric::Euclidean);
    let params = QualityParams { n_neighbors, metric, seed: args.run.seed(), ..usual };
    let labels = table.labels.as_ref().map(|labels| labels.codes.as_slice());
    // A graph that may miss neighbours would flatter the maps that were made from it.
    let known = shared.filter(|shared| shared.exact && shared.graph.metric() == metric).map(|shared| &shared.graph);
    let known = KnownGraphs { data: known.or(fitted.graph.as_ref()), map: None };
    let points = fitted.embedding.points();
    let scored =
        console.progress("scores", |progress| quality::report_with(data, points, labels, known, &params, progress));
    scored.map_err(|error| console.note(&format!("warning: the scores are left out: {error}"))).ok()
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
fn scores(entries: &[Entry], seconds: &[f64]) -> Vec<Column> {
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
        let name = Cell { text: entry.method.into(), best: false };
        let cells = columns.iter().map(|column| Cell { text: column.texts[at].clone(), best: column.best == Some(at) });
        [name].into_iter().chain(cells).collect()
    };
    TextTable { header: header.collect(), rows: entries.iter().enumerate().map(row).collect() }
}

/// For people: the best of each column has a star.
fn as_text(entries: &[Entry], columns: &[Column]) -> String {
    let table = text_table(entries, columns);
    let show = |cell: &Cell| if cell.best { format!("{}*", cell.text) } else { format!("{} ", cell.text) };
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

/// For programs.
fn as_json(entries: &[Entry], shared: Option<&Shared>) -> Value {
    let entry = |entry: &Entry| {
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
    };
    json!({
        "event": "comparison",
        "neighbors": shared.map(|shared| json!({
            "n_neighbors": shared.graph.min_degree(),
            "metric": shared.graph.metric().to_string(),
            "exact": shared.exact,
            "wall_seconds": shared.seconds,
        })),
        "methods": entries.iter().map(entry).collect::<Vec<_>>(),
    })
}

fn write_pages(
    args: &CompareArgs,
    pages: &[PathBuf],
    shown: &Shown,
    table: &TextTable,
    shared: Option<&Shared>,
    console: &mut Console,
) -> Result<(), Failure> {
    let Some(rows) = shown.table.as_ref().filter(|_| !pages.is_empty()) else { return Ok(()) };
    let data = args.prepare.apply(&rows.data, &args.run)?;
    let known = shared.filter(|shared| shared.exact).map(|shared| &shared.graph);
    let metric = shared.map_or(Metric::Euclidean, |shared| shared.graph.metric());
    let besides =
        Besides { captions: &[], data: Some(&data), metric, known, table: Some(table), picture: &args.picture };
    page::write(pages, shown, &besides, &args.run, console)
}

fn caption(shared: Option<&Shared>) -> String {
    let Some(Shared { graph, seconds, .. }) = shared else { return String::new() };
    let (k, metric) = (graph.min_degree(), graph.metric());
    format!(
        "Maps laid over the first. {k} neighbours, {metric}, found once in {}, are not in the times.",
        duration(*seconds)
    )
}
