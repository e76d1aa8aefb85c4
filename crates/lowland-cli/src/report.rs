//! Scores as a table and as JSON, and the report of a run.

use std::fmt::Write;

use lowland::message::{Note, ToleranceMiss};
use lowland::params::Params;
use lowland::quality::{ClassShare, QualityReport};
use lowland::run::StopReason;
use lowland::{AnnotatedEmbedding, Data, Labels, Model};
use serde_json::{Map, Value, json};

use crate::args::EmbedArgs;
use crate::caption::used_value;
use crate::console::StageUsage;
use crate::terms::FlagTerms;
use crate::usage::{ResourceUsage, peak_memory};

/// Formats scores as a table, for people.
pub fn score_table(report: &QualityReport, labels: Option<&Labels>) -> String {
    let mut text = String::new();
    // "± 0.0041", if any score is from a sample.
    let width = if report.scores.iter().any(|score| score.standard_error.is_some()) { 9 } else { 0 };
    for score in &report.scores {
        let name = match score.k {
            Some(k) => format!("{} ({k})", score.kind.name()),
            None => score.kind.name().to_string(),
        };
        let direction = if score.kind.higher_is_better() { "higher is better" } else { "lower is better" };
        let sampled = score.sampled.map_or(String::new(), |count| format!(" [sample of {count}]"));
        let error = score.standard_error.map_or(String::new(), |error| format!(" ± {error:.4}"));
        let (value, meaning) = (score.value, score.kind.meaning());
        let _ = writeln!(text, "{name:<30} {value:>7.4}{error:<width$}  {direction}: {meaning}{sampled}");
    }
    if !report.classes.is_empty() && report.classes.len() <= 20 {
        let share = |class: &ClassShare| format!("{} {:.2}", class_name(class, labels), class.share);
        let shares: Vec<String> = report.classes.iter().map(share).collect();
        let _ = writeln!(text, "neighbor share by class: {}", shares.join(", "));
    }
    for omitted in &report.omitted {
        let _ = writeln!(text, "{}: omitted, {}", omitted.kind.name(), omitted.reason);
    }
    text
}

fn class_name(class: &ClassShare, labels: Option<&Labels>) -> String {
    let name = labels.and_then(|labels| labels.names.get(class.code as usize));
    name.map_or_else(|| class.code.to_string(), Clone::clone)
}

/// Formats scores as JSON, for programs.
pub fn scores_json(report: &QualityReport, labels: Option<&Labels>) -> Value {
    let scores: Vec<Value> = report
        .scores
        .iter()
        .map(|score| {
            json!({
                "name": score.kind.name(),
                "k": score.k,
                "value": score.value,
                "sampled": score.sampled,
                "standard_error": score.standard_error,
                "better": if score.kind.higher_is_better() { "higher" } else { "lower" },
            })
        })
        .collect();
    let shares: Map<String, Value> =
        report.classes.iter().map(|class| (class_name(class, labels), json!(class.share))).collect();
    let omitted: Vec<Value> =
        report.omitted.iter().map(|o| json!({ "name": o.kind.name(), "reason": o.reason })).collect();
    json!({ "values": scores, "class_shares": shares, "omitted": omitted })
}

/// Returns the rows with the largest standard deviations, largest first.
fn most_uncertain_rows(std: &[f64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..std.len()).collect();
    order.sort_by(|&a, &b| std[b].total_cmp(&std[a]).then(a.cmp(&b)));
    order.truncate(count);
    order
}

/// Lists the least certain points, for people; empty if the map has no standard deviations.
pub fn uncertain_points(map: &AnnotatedEmbedding) -> String {
    let Some(std) = &map.std else { return String::new() };
    let name = |i: usize| map.ids.as_ref().map_or_else(|| i.to_string(), |ids| ids[i].clone());
    let rows: Vec<String> =
        most_uncertain_rows(std, 10).into_iter().map(|i| format!("{}: {:.3}", name(i), std[i])).collect();
    format!("least certain points (row: std): {}\n", rows.join(", "))
}

/// Largest number of outliers in a report.
const MAX_OUTLIERS: usize = 100;

/// The report of a run.
pub fn run_report(
    args: &EmbedArgs,
    model: &Model,
    data: &Data,
    map: &AnnotatedEmbedding,
    scores: Option<&QualityReport>,
    stages: &[StageUsage],
    total: ResourceUsage,
) -> Value {
    let trace = &model.outcome().trace;
    // Values that the fit used instead of larger ones that were requested.
    let used: Map<String, Value> = ["perplexity", "n_neighbors", "exaggeration"]
        .into_iter()
        .filter_map(|name| Some((name.to_string(), json!(used_value(name, model.notes())?))))
        .collect();
    json!({
        "program": { "name": "lowland", "version": env!("CARGO_PKG_VERSION") },
        "input": { "name": args.common.input.input.to_string_lossy(), "rows": data.rows(), "columns": data.dim(), "kind": data.kind() },
        "method": model.method().name(),
        "parameters": parameters_json(&model.pipeline().values()),
        "used": used,
        "prepare": parameters_json(&model.preprocessing().values()),
        "seed": model.seed().0,
        "threads": args.common.run.threads,
        "total": usage_json(total),
        "stages": stages.iter().map(|stage| {
            let mut value = usage_json(stage.usage);
            value["name"] = json!(stage.name);
            value["peak_memory_bytes"] = json!(stage.peak_memory);
            value
        }).collect::<Vec<_>>(),
        "peak_memory_bytes": peak_memory(),
        "iterations": trace.last().map_or(0, |step| step.iteration),
        "ended": stop_reason_json(model.outcome().stop_reason),
        "trace": {
            "iteration": trace.iter().map(|step| step.iteration).collect::<Vec<_>>(),
            "objective": trace.iter().map(|step| step.objective).collect::<Vec<_>>(),
            "change": trace.iter().map(|step| step.change).collect::<Vec<_>>(),
        },
        "outliers": map.std.as_ref().map(|std| most_uncertain_rows(std, MAX_OUTLIERS).into_iter().map(|row| {
            json!({ "row": row, "id": map.ids.as_ref().map(|ids| &ids[row]), "std": std[row] })
        }).collect::<Vec<_>>()),
        "covariances": map.covariances,
        "repulsion": model.notes().iter().find_map(repulsion_json),
        "predicted_noise": model.notes().iter().find_map(predicted_noise_json),
        "notes": model.notes().iter().map(|note| note.describe(&FlagTerms)).collect::<Vec<_>>(),
        "scores": scores.map(|scores| scores_json(scores, map.labels.as_ref())),
    })
}

/// The measured error of fast summation: the relative error of the force at the last measurement, its bound if one is certified
/// that does not exceed the force, and why it is above the tolerance, if it is.
fn repulsion_json(note: &Note) -> Option<Value> {
    let Note::RepulsionError { engine, error, certified, missed } = note else { return None };
    let missed = missed.map(|missed| match missed {
        ToleranceMiss::ScheduleUnfinished => "schedule",
        ToleranceMiss::EngineLimit => "engine",
        ToleranceMiss::Sample => "sample",
    });
    let certified = certified.filter(|bound| bound.is_finite());
    Some(json!({ "engine": engine, "error": error, "certified_bound": certified, "above_tolerance": missed }))
}

/// Curvature of the objective, and what the error of the repulsion does to its value.
fn predicted_noise_json(note: &Note) -> Option<Value> {
    let Note::PredictedNoise { mean_curvature, deviation, relative_change, relative_deviation, relative_bound } = *note
    else {
        return None;
    };
    Some(json!({
        "mean_curvature": mean_curvature,
        "deviation": deviation,
        "relative_change": relative_change,
        "relative_deviation": relative_deviation,
        "relative_bound": relative_bound,
    }))
}

fn stop_reason_json(reason: StopReason) -> String {
    format!("{reason:?}").to_lowercase()
}

/// Names and values of parameters as a JSON object; numbers and booleans as such, other values as text.
pub fn parameters_json(values: &[(&'static str, String)]) -> Map<String, Value> {
    values.iter().map(|(name, text)| (name.to_string(), value_json(text))).collect()
}

fn value_json(text: &str) -> Value {
    match text.parse::<f64>() {
        Ok(_) => text.parse().unwrap_or_else(|_| json!(text)),
        Err(_) => text.parse::<bool>().map_or_else(|_| json!(text), |truth| json!(truth)),
    }
}

fn usage_json(usage: ResourceUsage) -> Value {
    json!({ "wall_seconds": usage.wall_seconds, "cpu_seconds": usage.cpu_seconds })
}
