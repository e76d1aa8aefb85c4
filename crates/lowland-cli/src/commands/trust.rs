//! `lowland trust`: which points and gaps of a map can be believed.

use std::fmt::Write as _;
use std::process::ExitCode;

use lowland::message::Remedy;
use lowland::preprocessing::rows_for_metric;
use lowland::reruns::{RerunOptions, instability};
use lowland::trust::{self, Gap, IslandParts, LossUsed, SampledTrust, TrustParams, TrustReport};
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
/// Beyond that, and without a neighbor graph of the fit, this many rows are compared with all others.
const SAMPLED_ROWS: usize = 1000;

/// The reliability of a map that was just computed.
pub enum NewMapTrust {
    /// Of every point.
    Complete(Box<TrustReport>),
    /// Shares of the points, estimated from a sample of the rows.
    Sampled(SampledTrust),
}

impl NewMapTrust {
    /// The report on every point.
    pub fn complete(&self) -> Option<&TrustReport> {
        match self {
            Self::Complete(report) => Some(report),
            Self::Sampled(_) => None,
        }
    }

    /// The report for people, in sentences.
    pub fn text(&self) -> String {
        match self {
            Self::Complete(report) => {
                let loss = report.loss.map_or(String::new(), |loss| loss_sentence(&loss) + "\n");
                report.summary().join(" ") + "\n" + &instability_sentence(report) + &loss
            }
            Self::Sampled(sampled) => sampled.summary().join(" ") + "\n",
        }
    }

    /// The report for programs, without the values of the points.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Complete(report) => trust_json(report),
            Self::Sampled(sampled) => json!({
                "summary": sampled.summary(),
                "n_neighbors": sampled.n_neighbors,
                "reach": sampled.reach,
                "fdr": sampled.fdr,
                "sampled_rows": sampled.sampled,
                "keeping": sampled.keeping,
                "flagged": sampled.flagged,
                "null_noise": sampled.null_noise,
            }),
        }
    }
}

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
) -> Option<NewMapTrust> {
    // Of a handful of points nothing can be said, and without a neighbor graph of the fit the search may take longer than
    // the fit.
    let known = model.neighbors();
    let is_inexpensive = known.is_some() || data.rows() <= MAX_ROWS_SEARCHED;
    if data.rows() < MIN_ROWS {
        return None;
    }
    let is_sampled = !(everything || is_inexpensive);
    if is_sampled {
        console.info(&format!(
            "{} has no exact neighbor graph of the {} rows: the reliability is estimated from {SAMPLED_ROWS} of them; --trust \
             computes it for all",
            model.method().name(),
            data.rows()
        ));
    }
    let n_neighbors = compared_neighbors(data.rows());
    let params = TrustParams { n_neighbors, metric, seed: run.seed(), everything, ..TrustParams::default() };
    let own = model.own_embedding();
    let loss = model.point_loss(own.points());
    let besides = match is_sampled {
        true => trust::sample_memory(data.shape(), SAMPLED_ROWS, &params),
        false => trust::memory(data.shape(), known, loss.as_ref(), &params),
    };
    let needed = data.shape().bytes.saturating_add(besides);
    let computed =
        run.memory().check("the reliability", needed, &[Remedy::RaiseMaxMemory, Remedy::FewerRows]).and_then(|_| {
            let assess = |progress: &mut lowland::run::Progress| match is_sampled {
                true => {
                    trust::assess_sample(data, own.points(), SAMPLED_ROWS, &params, progress).map(NewMapTrust::Sampled)
                }
                false => trust::assess(data, own.points(), known, loss.as_ref(), &params, progress)
                    .map(|report| NewMapTrust::Complete(Box::new(report))),
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
    if let Some(parts) = report.parts.as_deref().filter(|parts| !parts.is_empty()) {
        text.push_str(&island_table(&report.islands.sizes, parts));
    }
    let _ = writeln!(
        text,
        "\nislands: at least {} points with steps of at most {:.3} on the map, {:.0} times the median distance to the fifth neighbor\n\
         flags: compared with a sheet without tears, with noise of {:.2} of the distance between neighboring points",
        report.islands.min_size,
        report.islands.gap_width,
        report.islands.gap_width / report.islands.spacing,
        report.null_noise
    );
    if let Some(loss) = report.loss {
        let _ = writeln!(text, "{}", loss_sentence(&loss));
    }
    for (column, reason) in &report.omitted {
        let _ = writeln!(text, "{}: omitted, {reason}", column.name());
    }
    text
}

/// The islands with what the data say about each: those of several groups first, then by size.
fn island_table(points: &[usize], parts: &[IslandParts]) -> String {
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|&at| parts[at].sizes.len() < 2);
    let mut text = "\nisland  points  in the data                weakest connection\n".to_string();
    for &at in order.iter().take(MAX_LINES) {
        let sizes: Vec<String> = parts[at].sizes.iter().map(usize::to_string).collect();
        let groups = match (sizes.len(), parts[at].weakest_connection) {
            (1, None) => "not divided".into(),
            (1, Some(_)) => "one group".into(),
            (count, _) => format!("{count} groups: {}", sizes.join(", ")),
        };
        let connection = parts[at].weakest_connection.map_or("too small".into(), |value| format!("{value:.2}"));
        let _ = writeln!(text, "{:<6} {:>7}  {groups:<25}  {connection}", at + 1, points[at]);
    }
    if parts.len() > MAX_LINES {
        let _ = writeln!(text, "... and {} more islands; --json lists all", parts.len() - MAX_LINES);
    }
    text
}

/// Which loss the columns `jump` and `fragile` refer to.
pub fn loss_sentence(loss: &LossUsed) -> String {
    let sentence = if loss.is_own {
        format!("jump and fragile: by the loss of {}, which made the map", loss.method)
    } else {
        format!(
            "jump and fragile: by the loss of {}, as a stand-in; --model FILE uses that of the method that made the map, for \
             tsne, ssne, ee, mapit, lvm and umap",
            loss.method
        )
    };
    sentence + "\nfragile did not tell torn points from others in validation, and is in no sentence above"
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
