//! `lowland select`: chooses numbers of neighbors and dimensions by the bound of lllvm.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lowland::message::{Note, Remedy};
use lowland::method::Method;
use lowland::methods::Lllvm;
use lowland::params::Params;
use lowland::run::{Context, Stage};
use lowland::select::{self, Candidate};
use lowland_view::{ChartOptions, Curve, draw_chart};
use serde_json::json;

use super::angles::select_threshold;
use super::edges::compare_edges;
use crate::args::{SelectArgs, SelectMethod};
use crate::console::Console;
use crate::failure::Failure;
use crate::input;
use crate::paths::{self, extension, file_name};
use crate::print::{print_json, print_stderr, print_stdout};

pub fn select(args: &SelectArgs) -> Result<ExitCode, Failure> {
    check_outputs(args)?;
    let params = lllvm_params(args)?;
    let mut console = Console::new(&args.common.run)?;
    let table = input::load(&args.common.input, &args.common.run, &mut console)?;
    let data = args.common.preprocessing.apply(&table.data, &args.common.run)?;
    if args.compares_edges() {
        return compare_edges(args, &params, &data, &mut console);
    }
    let (n_neighbors, n_components) = (&args.n_neighbors.0, &args.n_components.0);
    if args.method == SelectMethod::Tsm {
        return select_threshold(args, &data, &mut console);
    }
    let needed = select::memory(&params, data.shape(), n_neighbors, n_components, args.subsamples());
    check_memory(args, needed.saturating_add(data.shape().bytes), &mut console)?;
    let choices = with_context(args, &mut console, |context| {
        select::by_bound(&data, &params, n_neighbors, n_components, args.subsamples(), context)
    })?;
    console.finish();
    write_choices(args, &choices)?;
    let recommendation = select::recommendation_text(&choices);
    if args.common.run.json {
        let list: Vec<_> = with_differences(&choices).iter().map(choice_json).collect();
        print_json(&json!({ "event": "choices", "choices": list, "recommendation": recommendation }));
    } else {
        print_stdout(&choice_table(&choices))?;
        print_conclusion(args, &recommendation);
    }
    Ok(console.exit_code())
}

fn lllvm_params(args: &SelectArgs) -> Result<Lllvm, Failure> {
    let mut params = Lllvm { starts: args.starts, metric: args.metric, ..Lllvm::default() };
    params.n_neighbors = args.n_neighbors.0[0];
    params.n_components = args.n_components.0[0];
    params.set("alpha", &args.alpha)?;
    params.max_iter = args.max_iter.unwrap_or(params.max_iter);
    params.tol = args.tol.unwrap_or(params.tol);
    params.validate()?;
    Ok(params)
}

fn check_outputs(args: &SelectArgs) -> Result<(), Failure> {
    let mut inputs = vec![Path::new(&args.common.input.input)];
    inputs.extend(args.edges.as_deref());
    paths::check(&inputs, &args.out.iter().collect::<Vec<_>>())?;
    let compares_edges = args.compares_edges();
    let is_known = |path: &PathBuf| matches!((extension(path).as_str(), compares_edges), ("csv", _) | ("png", false));
    match args.out.iter().find(|path| !is_known(path)) {
        Some(path) if compares_edges => {
            Err(Failure::flag(format!("--out {}: edges are written as .csv", path.display())))
        }
        Some(path) => Err(Failure::flag(format!("--out {}: .csv for the table, .png for a picture", path.display()))),
        None => Ok(()),
    }
}

/// Prints the memory estimate, and fails if it is more than allowed.
pub(super) fn check_memory(args: &SelectArgs, needed: u64, console: &mut Console) -> Result<(), Failure> {
    let remedies = [Remedy::RaiseMaxMemory, Remedy::FewerRows, Remedy::FewerStarts];
    let total = args.common.run.memory().check("the selection", needed, &remedies)?;
    console.note(&Note::MemoryEstimate { bytes: total });
    Ok(())
}

/// Runs work that is not the fit of a method with the console as its observer.
pub(super) fn with_context<T>(
    args: &SelectArgs,
    console: &mut Console,
    work: impl FnOnce(&mut Context) -> lowland::Result<T>,
) -> Result<T, Failure> {
    let mut context = Context::new(console, args.common.run.seed(), None);
    context.announce_stages(&["neighbors", "bounds"].map(|name| Stage { name, weight: 1.0 }))?;
    Ok(work(&mut context)?)
}

pub(super) fn print_conclusion(args: &SelectArgs, text: &str) {
    if !args.common.run.quiet {
        print_stderr(text);
    }
}

/// A candidate with its difference from the recommended one and the error of that.
fn with_differences(choices: &[Candidate]) -> Vec<(&Candidate, f64, f64)> {
    let best = select::recommend(choices).map(|(best, _)| &choices[best]);
    let difference = |choice: &Candidate| match best {
        Some(best) if best != choice => choice.difference(best),
        _ => (0.0, 0.0),
    };
    choices.iter().map(|choice| (choice, difference(choice))).map(|(choice, (by, error))| (choice, by, error)).collect()
}

fn choice_table(choices: &[Candidate]) -> String {
    let mut text = String::from("n_neighbors  n_components         bound           std    difference         error\n");
    for (choice, difference, error) in with_differences(choices) {
        let _ = writeln!(
            text,
            "{:>11}  {:>12}  {:>12.4}  {:>12.4}  {difference:>12.4}  {error:>12.4}",
            choice.n_neighbors,
            choice.n_components,
            choice.bound(),
            choice.std(),
        );
    }
    text
}

fn choice_json((choice, difference, error): &(&Candidate, f64, f64)) -> serde_json::Value {
    json!({
        "n_neighbors": choice.n_neighbors, "n_components": choice.n_components, "bounds": choice.bounds,
        "bound": choice.bound(), "std": choice.std(), "difference": difference, "error": error,
    })
}

fn choices_csv(choices: &[Candidate]) -> String {
    let mut text = String::from("n_neighbors,n_components,bound,std,difference,error\n");
    for (c, difference, error) in with_differences(choices) {
        let _ = writeln!(text, "{},{},{},{},{difference},{error}", c.n_neighbors, c.n_components, c.bound(), c.std());
    }
    text
}

fn write_choices(args: &SelectArgs, choices: &[Candidate]) -> Result<(), Failure> {
    for path in &args.out {
        let is_table = extension(path) == "csv";
        let bytes = if is_table { choices_csv(choices).into_bytes() } else { chart(args, choices)? };
        lowland_io::write_bytes(path, &bytes).map_err(Failure::write)?;
    }
    Ok(())
}

/// Draws the criterion against the longer of the two lists, with a curve for each number in the other.
fn chart(args: &SelectArgs, choices: &[Candidate]) -> Result<Vec<u8>, Failure> {
    let by_dimension = args.n_neighbors.0.len() == 1 && args.n_components.0.len() > 1;
    let (x_label, curve_label) =
        if by_dimension { ("n_components", "n_neighbors") } else { ("n_neighbors", "n_components") };
    let mut curves: Vec<(usize, Curve)> = Vec::new();
    for choice in choices {
        let pair = (choice.n_neighbors, choice.n_components);
        let (x, number) = if by_dimension { (pair.1, pair.0) } else { pair };
        let at = curves.iter().position(|(known, _)| *known == number).unwrap_or_else(|| {
            curves.push((number, Curve { name: format!("{curve_label} {number}"), points: Vec::new() }));
            curves.len() - 1
        });
        let (bound, std) = (choice.bound(), choice.std());
        curves[at].1.points.push([x as f64, bound, bound - std, bound + std]);
    }
    let y_label = "bound of the best start, mean over subsamples; bars: standard deviation over subsamples or starts";
    let title = file_name(&args.common.input.input);
    let options = ChartOptions { title, x_label: x_label.into(), y_label: y_label.into(), ..ChartOptions::default() };
    Ok(draw_chart(&curves.into_iter().map(|(_, curve)| curve).collect::<Vec<_>>(), &options)?)
}
