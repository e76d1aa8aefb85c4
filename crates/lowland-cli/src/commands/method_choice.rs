//! `--method auto`: compares a few methods on a part of the rows.

use clap::ArgMatches;
use lowland::method_choice::{ChoiceOptions, MethodChoice, SkipReason, choose_method};
use lowland::neighbors::NeighborGraph;
use lowland::{Data, Metric};
use serde_json::{Value, json};

use crate::args::{EmbedArgs, given_values};
use crate::console::Console;
use crate::failure::Failure;
use crate::print::{print_json, print_stderr};
use crate::terms::FlagTerms;

/// Chooses a method for the data and prints the scores, the choice and its reason.
pub fn choose(
    args: &EmbedArgs,
    matches: &ArgMatches,
    data: &Data,
    graph: Option<&NeighborGraph>,
    console: &mut Console,
) -> Result<MethodChoice, Failure> {
    let run = &args.common.run;
    let mut values = given_values(matches);
    // The metric of a graph that has one is the default.
    if let Some(graph) = graph.filter(|graph| graph.metric() != Metric::Precomputed)
        && !values.iter().any(|(name, _)| *name == "metric")
    {
        values.push(("metric", graph.metric().to_string()));
    }
    let values: Vec<(&str, &str)> = values.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let options = ChoiceOptions {
        seed: run.seed(),
        preprocessing: args.common.preprocessing.steps(),
        uses_neighbors: graph.is_some(),
        memory: run.memory().clone(),
        observer: Some(console),
    };
    let choice = choose_method(data, &values, options)?;
    console.finish();
    if run.json {
        print_json(&json!({ "event": "method_choice", "choice": to_json(&choice) }));
    } else if !run.quiet {
        let skipped =
            choice.skipped.iter().map(|each| format!("{} is left out: {}\n", each.method, reason(&each.reason)));
        let sizes = match choice.scores.is_empty() {
            true => String::new(),
            false => format!(" ({} rows fitted, {} held out)", choice.fitted_rows, choice.held_out_rows),
        };
        let skipped: String = skipped.collect();
        let heading = if choice.scores.is_empty() { "" } else { "scores of the candidates:\n" };
        let (table, method, reason) = (choice.table(), choice.method, choice.reason());
        print_stderr(&format!("{heading}{table}{skipped}method {method}: {reason}{sizes}\nfit to all rows:"));
    }
    Ok(choice)
}

/// The choice for reports and events.
pub fn to_json(choice: &MethodChoice) -> Value {
    let scores = choice.scores.iter().map(|each| {
        json!({
            "method": each.method, "neighbors_kept": each.kept, "held_out_placed": each.placed, "global_order": each.order,
            "mean": each.mean(),
        })
    });
    let skipped = choice.skipped.iter().map(|each| json!({ "method": each.method, "reason": reason(&each.reason) }));
    json!({
        "method": choice.method,
        "reason": choice.reason(),
        "scores": scores.collect::<Vec<_>>(),
        "skipped": skipped.collect::<Vec<_>>(),
        "fitted_rows": choice.fitted_rows,
        "held_out_rows": choice.held_out_rows,
    })
}

fn reason(reason: &SkipReason) -> String {
    match reason {
        SkipReason::TooManyRows(rows) => format!("it takes too long for more than {rows} rows"),
        SkipReason::NoNeighbors => "it does not use neighbors".into(),
        SkipReason::Failed(error) => error.describe(&FlagTerms),
    }
}
