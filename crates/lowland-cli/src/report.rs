//! Scores as a table and as JSON, and the report of a run.

use std::fmt::Write;

use lowland::methods::Fitted;
use lowland::params::Params;
use lowland::quality::{ClassShare, QualityReport};
use lowland_io::Table;
use serde_json::{Map, Value, json};

use crate::args::EmbedArgs;
use crate::observer::StageUse;
use crate::usage::{Used, peak_memory};

/// For people.
pub fn score_table(report: &QualityReport, classes: &[String]) -> String {
    let mut text = String::new();
    for score in &report.scores {
        let name = match score.k {
            Some(k) => format!("{} ({k})", score.kind.name()),
            None => score.kind.name().to_string(),
        };
        let arrow = if score.kind.higher_is_better() { "higher is better" } else { "lower is better" };
        let sampled = score.sampled.map_or(String::new(), |count| format!(" [sample of {count}]"));
        let _ = writeln!(text, "{name:<30} {:>7.4}  {arrow}: {}{sampled}", score.value, score.kind.meaning());
    }
    if !report.classes.is_empty() && report.classes.len() <= 20 {
        let share = |class: &ClassShare| format!("{} {:.2}", class_name(class, classes), class.share);
        let shares: Vec<String> = report.classes.iter().map(share).collect();
        let _ = writeln!(text, "neighbour share by class: {}", shares.join(", "));
    }
    for omitted in &report.omitted {
        let _ = writeln!(text, "{}: left out, {}", omitted.kind.name(), omitted.reason);
    }
    text
}

fn class_name(class: &ClassShare, names: &[String]) -> String {
    names.get(class.code as usize).map_or_else(|| class.code.to_string(), Clone::clone)
}

/// For programs.
pub fn scores_json(report: &QualityReport, classes: &[String]) -> Value {
    let scores: Vec<Value> = report
        .scores
        .iter()
        .map(|score| {
            json!({
                "name": score.kind.name(),
                "k": score.k,
                "value": score.value,
                "sampled": score.sampled,
                "better": if score.kind.higher_is_better() { "higher" } else { "lower" },
            })
        })
        .collect();
    let shares: Map<String, Value> =
        report.classes.iter().map(|class| (class_name(class, classes), json!(class.share))).collect();
    let omitted: Vec<Value> =
        report.omitted.iter().map(|o| json!({ "name": o.kind.name(), "reason": o.reason })).collect();
    json!({ "values": scores, "class_shares": shares, "omitted": omitted })
}

/// The rows of the largest standard deviations, largest first.
fn most_uncertain(std: &[f64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..std.len()).collect();
    order.sort_by(|&a, &b| std[b].total_cmp(&std[a]).then(a.cmp(&b)));
    order.truncate(count);
    order
}

/// `least certain points (row: std): 17: 3.1, ...`, for people.
pub fn doubtful_rows(std: &[f64], table: &Table) -> String {
    let name = |i: usize| table.ids.as_ref().map_or_else(|| i.to_string(), |ids| ids[i].clone());
    let rows: Vec<String> =
        most_uncertain(std, 10).into_iter().map(|i| format!("{}: {:.3}", name(i), std[i])).collect();
    format!("least certain points (row: std): {}\n", rows.join(", "))
}

/// How many of them the report lists.
const OUTLIERS: usize = 100;

/// Everything about a run.
pub fn of_run(
    args: &EmbedArgs,
    fitted: &Fitted,
    table: &Table,
    scores: Option<&QualityReport>,
    stages: &[StageUse],
    total: Used,
) -> Value {
    let named = |values: Vec<(&'static str, String)>| -> Map<String, Value> {
        values.into_iter().map(|(name, value)| (name.to_string(), typed(&value))).collect()
    };
    let names = table.labels.as_ref().map_or(&[][..], |labels| &labels.names);
    let trace = &fitted.outcome.trace;
    json!({
        "program": { "name": "lowland", "version": env!("CARGO_PKG_VERSION") },
        "input": { "name": args.input.input, "rows": table.data.rows(), "columns": table.data.dim(), "kind": table.data.kind() },
        "method": fitted.job.method.name(),
        "parameters": named(fitted.job.method.values()),
        "prepare": named(fitted.job.prepare.values()),
        "seed": fitted.job.seed.0,
        "threads": args.run.threads,
        "total": used(total),
        "stages": stages.iter().map(|stage| {
            let mut value = used(stage.used);
            value["name"] = json!(stage.name);
            value["peak_memory_bytes"] = json!(stage.peak_memory);
            value
        }).collect::<Vec<_>>(),
        "peak_memory_bytes": peak_memory(),
        "iterations": trace.last().map_or(0, |step| step.iteration),
        "ended": format!("{:?}", fitted.outcome.ended).to_lowercase(),
        "trace": {
            "iteration": trace.iter().map(|step| step.iteration).collect::<Vec<_>>(),
            "objective": trace.iter().map(|step| step.objective).collect::<Vec<_>>(),
            "change": trace.iter().map(|step| step.change).collect::<Vec<_>>(),
        },
        "outliers": fitted.std().map(|std| most_uncertain(&std, OUTLIERS).into_iter().map(|row| {
            json!({ "row": row, "id": table.ids.as_ref().map(|ids| &ids[row]), "std": std[row] })
        }).collect::<Vec<_>>()),
        "covariances": fitted.covariances(),
        "notes": fitted.notes,
        "scores": scores.map(|scores| scores_json(scores, names)),
    })
}

/// A caption of a report, where the name of the method stands before it anyway.
pub fn without_name<'a>(caption: &'a str, method: &str) -> &'a str {
    caption.strip_prefix(method).unwrap_or(caption).trim_start_matches([',', ' ', '|'])
}

/// `lvm, n_neighbors 9, metric euclidean`, of a report as far as it tells.
pub fn about_report(report: &Value) -> String {
    let parameter = |name: &str| match &report["parameters"][name] {
        Value::Null => None,
        Value::String(text) => Some(format!("{name} {text}")),
        value => Some(format!("{name} {value}")),
    };
    let method = report["method"].as_str().map(str::to_string);
    let shown = ["n_neighbors", "perplexity", "metric"].into_iter().filter_map(parameter);
    method.into_iter().chain(shown).collect::<Vec<_>>().join(", ")
}

/// `lvm, n_neighbors 9, metric euclidean | knn recall 0.412, trustworthiness 0.981`, of a report as far as it tells.
pub fn caption_of_report(report: &Value) -> String {
    let about = about_report(report);
    let score = |score: &Value| {
        let name = score["name"].as_str().filter(|name| CAPTION_SCORES.contains(name))?;
        Some(format!("{name} {:.3}", score["value"].as_f64()?))
    };
    let scores: Vec<String> = report["scores"]["values"].as_array().into_iter().flatten().filter_map(score).collect();
    if scores.is_empty() { about } else { format!("{about} | {}", scores.join(", ")) }
}

/// The scores that a caption tells.
const CAPTION_SCORES: [&str; 3] = ["knn recall", "trustworthiness", "continuity"];

fn used(used: Used) -> Value {
    json!({ "wall_seconds": used.wall_seconds, "cpu_seconds": used.cpu_seconds })
}

/// Numbers and truth values as such, the rest as text.
pub fn typed(text: &str) -> Value {
    match text.parse::<f64>() {
        Ok(_) => text.parse().unwrap_or_else(|_| json!(text)),
        Err(_) => text.parse::<bool>().map_or_else(|_| json!(text), |truth| json!(truth)),
    }
}
