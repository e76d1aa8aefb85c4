//! `lowland trust`: which points and gaps of a map can be believed.

use std::fmt::Write as _;
use std::process::ExitCode;

use lowland::message::Remedy;
use lowland::preprocessing::rows_for_metric;
use lowland::reruns::{RerunOptions, instability};
use lowland::trust::{self, Gap, LossUsed, TrustParams, TrustReport};
use lowland::{Data, Error, Metric, Model, ReliabilityColumn, Target};
use lowland_view::Density;
use serde_json::{Value, json};

use super::figure::{Figure, FigureMap};
use super::output_log::OutputLog;
use super::outputs::Outputs;
use super::quality::reorder_by_ids;
use super::transform::read_model;
use crate::args::{PictureArgs, RunArgs, TrustArgs};
use crate::console::Console;
use crate::failure::Failure;
use crate::input;
use crate::paths::{self, file_name};
use crate::print::{print_json, print_stdout};
use crate::terms::FlagTerms;

pub fn trust(args: &TrustArgs) -> Result<ExitCode, Failure> {
    let outputs = match &args.out[..] {
        [] => Outputs::default(),
        files => Outputs::with_map(files, &args.input.input, &args.run)?,
    };
    let mut inputs = vec![args.input.input.as_path(), &args.map];
    inputs.extend(args.model.as_deref());
    paths::check(&inputs, &outputs.files().collect::<Vec<_>>())?;
    let mut map = lowland_io::read_map_within(&args.map, args.run.memory())?;
    let model = args.model.as_deref().map(|path| read_model(path, args.run.memory())).transpose()?;
    let mut console = Console::new(&args.run)?;
    let mut table = match &model {
        Some(model) => input::load_new_rows(&args.input, model, &args.run, &mut console)?,
        None => input::load(&args.input, &args.run, &mut console)?,
    };
    if let (Some(rows), Some(points)) = (&table.ids, &map.ids)
        && rows != points
    {
        map = reorder_by_ids(&map, rows, points)?;
        console.info("the rows of the map were put in the order of the data by their ids");
    }
    let data = match &model {
        Some(_) if !args.preprocessing.steps().is_empty() => {
            return Err(Failure::flag("--model applies its own preprocessing; omit the other steps"));
        }
        Some(model) => model.preprocess(&table.data)?,
        None => {
            let data = args.preprocessing.apply(&table.data, &args.run)?;
            rows_for_metric(&data, args.metric.unwrap_or(Metric::Euclidean), None)?
        }
    };
    let metric = args.metric.or_else(|| model.as_ref().and_then(|model| model.method().metric()));
    let params = TrustParams {
        n_neighbors: args.n_neighbors,
        metric: metric.unwrap_or(Metric::Euclidean),
        fdr: args.fdr,
        seed: args.run.seed(),
        ..TrustParams::default()
    };
    // Reliability does not depend on an alignment of the map, and the loss is that of the map without it.
    let own = match &model {
        Some(model) => model.own_points(map.points())?,
        None => map.embedding.clone(),
    };
    let loss = model.as_ref().and_then(|model| model.point_loss(own.points()));
    let needed = table.data.shape().bytes.saturating_add(trust::memory(data.shape(), None, loss.as_ref(), &params));
    args.run.memory().check("the reliability", needed, &[Remedy::RaiseMaxMemory, Remedy::FewerRows])?;
    let assess = |progress: &mut lowland::run::Progress| {
        trust::assess(&data, own.points(), None, loss.as_ref(), &params, progress)
    };
    let mut report = console.run_stage("reliability", assess)?;
    drop(loss);
    if let (Some(model), Some(reruns)) = (&model, args.reruns) {
        let options =
            RerunOptions { reruns, target: None, observer: Some(&mut console), memory: args.run.memory().clone() };
        let unstable = instability(model.pipeline(), &table.data, &own, options)?;
        report.reliability.set(ReliabilityColumn::Unstable, unstable);
    }
    console.finish();
    map.reliability = Some(report.reliability.clone());
    map.labels = table.labels.take().or(map.labels);
    map.ids = table.ids.take().or(map.ids);
    let mut log = OutputLog::default();
    if !args.out.is_empty() {
        outputs.write_map(&map, &args.write.options(), &mut log);
        let summary = report.summary().join(" ");
        let figure = Figure {
            maps: vec![FigureMap { name: file_name(&args.map), caption: summary.clone(), map }],
            data: Some(table),
            title: file_name(&args.input.input),
            ..Figure::default()
        };
        outputs.write_figure(&figure, &PictureArgs::default(), Density::Auto, None, &args.run, &mut console, &mut log);
    }
    if args.run.json {
        print_json(&json!({ "event": "trust", "trust": trust_json(&report) }));
    } else {
        print_stdout(&trust_text(&report))?;
    }
    log.finish(&mut console)?;
    Ok(ExitCode::SUCCESS)
}

/// Fewest rows of a summary, and most rows that are searched for neighbors only for it.
const MIN_ROWS: usize = 20;
const MAX_ROWS_SEARCHED: usize = 10_000;

/// Number of nearest rows that a new map is assessed by: few points have few neighbors.
fn compared_neighbors(rows: usize) -> usize {
    TrustParams::default().n_neighbors.min(rows.saturating_sub(4) / 2).max(2)
}

/// Returns the number of neighbors that the fit should report for [`assess_new_map`].
pub fn sufficient_neighbors(rows: usize, everything: bool) -> usize {
    if rows < MIN_ROWS { 0 } else { trust::sufficient_neighbors(rows, compared_neighbors(rows), everything) }
}

/// Assesses a map that was just computed. A stop or an error only omits the reliability.
pub fn assess_new_map(
    data: &Data,
    metric: Metric,
    model: &Model,
    everything: bool,
    run: &RunArgs,
    console: &mut Console,
) -> Option<TrustReport> {
    // Of a handful of points nothing can be said, and without a neighbor graph of the fit the search may take longer than
    // the fit.
    let known = model.neighbors();
    let is_inexpensive = known.is_some() || data.rows() <= MAX_ROWS_SEARCHED;
    if data.rows() < MIN_ROWS {
        return None;
    }
    if !(everything || is_inexpensive) {
        console.info("without an exact neighbor graph of the fit, the reliability is computed only with --trust");
        return None;
    }
    let n_neighbors = compared_neighbors(data.rows());
    let params = TrustParams { n_neighbors, metric, seed: run.seed(), everything, ..TrustParams::default() };
    let own = model.own_embedding();
    let loss = model.point_loss(own.points());
    let needed = data.shape().bytes.saturating_add(trust::memory(data.shape(), known, loss.as_ref(), &params));
    let computed =
        run.memory().check("the reliability", needed, &[Remedy::RaiseMaxMemory, Remedy::FewerRows]).and_then(|_| {
            let assess = |progress: &mut lowland::run::Progress| {
                trust::assess(data, own.points(), known, loss.as_ref(), &params, progress)
            };
            console.run_stage("reliability", assess)
        });
    match computed {
        Ok(report) => return Some(report),
        Err(Error::Stopped { .. }) => console.info("stopped; the map is kept, its reliability is omitted"),
        Err(error) => console.warn(&format!("the reliability is omitted: {}", error.describe(&FlagTerms))),
    }
    None
}

/// Fits a map again and adds how far its points move to the report. A stop or an error only omits this column.
pub fn add_instability(
    report: &mut TrustReport,
    model: &Model,
    data: &Data,
    target: Option<&Target>,
    reruns: usize,
    run: &RunArgs,
    console: &mut Console,
) {
    let options = RerunOptions { reruns, target, observer: Some(console), memory: run.memory().clone() };
    match instability(model.pipeline(), data, model.embedding(), options) {
        Ok(unstable) => report.reliability.set(ReliabilityColumn::Unstable, unstable),
        Err(Error::Stopped { .. }) => console.info("stopped; the map is kept, its reruns are omitted"),
        Err(error) => console.warn(&format!("the reruns are omitted: {}", error.describe(&FlagTerms))),
    }
    console.finish();
}

/// Points that move further than this share of the map's radius are counted as unstable.
const UNSTABLE: f64 = 0.5;

/// How far the points move between reruns, in a sentence; empty without reruns.
pub fn instability_sentence(report: &TrustReport) -> String {
    let Some(unstable) = report.reliability.get(ReliabilityColumn::Unstable) else { return String::new() };
    let count = unstable.iter().filter(|&&value| value > UNSTABLE).count();
    format!(
        "Between reruns the median point moves by {:.2} of the map's radius, and {:.1}% of the points by more than half of it.\n",
        median(unstable),
        100.0 * count as f64 / unstable.len() as f64
    )
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// The largest number of gaps and islands that are listed.
const MAX_LINES: usize = 20;

/// The report for people: summary, gaps, islands.
fn trust_text(report: &TrustReport) -> String {
    let mut text = report.summary().join("\n") + "\n" + &instability_sentence(report);
    if !report.gaps.is_empty() {
        text.push_str("\ngap between    verdict    links  counted  connection\n");
    }
    for gap in report.gaps.iter().take(MAX_LINES) {
        let connection = gap.connection.map_or("too small".into(), |connection| format!("{connection:.2}"));
        let pair = format!("{} and {}", gap.islands[0], gap.islands[1]);
        let _ = writeln!(text, "{pair:<14} {:<9} {:>6} {:>8}  {connection}", gap.verdict, gap.links, gap.counted_links);
    }
    let mut more = |count: usize, what: &str| {
        if count > MAX_LINES {
            let _ = writeln!(text, "... and {} more {what}; --json lists all", count - MAX_LINES);
        }
    };
    more(report.gaps.len(), "gaps");
    let merged = report.merged_islands();
    for &island in merged.iter().take(MAX_LINES) {
        let sizes = &report.parts.as_ref().expect("there are merged islands")[island as usize - 1].sizes;
        let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
        let _ = writeln!(text, "island {island} is {} groups in the data, of {} points", sizes.len(), sizes.join(", "));
    }
    if let Some(loss) = report.loss {
        let _ = writeln!(text, "{}", loss_sentence(&loss));
    }
    for (column, reason) in &report.omitted {
        let _ = writeln!(text, "{}: omitted, {reason}", column.name());
    }
    text
}

/// Which loss the columns `jump` and `fragile` refer to.
pub fn loss_sentence(loss: &LossUsed) -> String {
    if loss.is_own {
        format!("jump and fragile: by the loss of {}, which made the map", loss.method)
    } else {
        format!(
            "jump and fragile: by the loss of {}, as a stand-in; --model FILE uses that of the method that made the map, for \
             tsne, ssne, ee, mapit, lvm and umap",
            loss.method
        )
    }
}

/// The report for programs, without the values of the points.
pub fn trust_json(report: &TrustReport) -> Value {
    let gap = |gap: &Gap| {
        json!({
            "islands": gap.islands, "verdict": gap.verdict.to_string(), "links": gap.links, "counted_links": gap.counted_links,
            "links_of_a_line": gap.links_of_a_line, "connection": gap.connection,
        })
    };
    let island = |(at, &points): (usize, &usize)| {
        let parts = report.parts.as_ref().map(|parts| &parts[at]);
        json!({
            "island": at + 1, "points": points, "parts": parts.map(|parts| &parts.sizes),
            "weakest_connection": parts.and_then(|parts| parts.weakest_connection),
        })
    };
    json!({
        "summary": report.summary(),
        "n_neighbors": report.n_neighbors,
        "reach": report.reach,
        "fdr": report.fdr,
        "flagged": report.flagged(),
        "null_noise": report.null_noise,
        "unstable": report.reliability.get(ReliabilityColumn::Unstable).map(median),
        "loss": report.loss.map(|loss| json!({
            "method": loss.method, "own": loss.is_own, "scale": loss.scale, "perplexity": loss.perplexity,
        })),
        "gap_width": report.islands.gap_width,
        "min_island": report.islands.min_size,
        "islands": report.islands.sizes.iter().enumerate().map(island).collect::<Vec<_>>(),
        "gaps": report.gaps.iter().map(gap).collect::<Vec<_>>(),
        "omitted": report.omitted.iter().map(|(column, reason)| json!({ "name": column.name(), "reason": reason })).collect::<Vec<_>>(),
    })
}
