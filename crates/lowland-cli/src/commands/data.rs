//! `lowland data`: lists, describes and generates data sets.

use std::fmt::Write as _;
use std::process::ExitCode;

use lowland::Data;
use lowland::message::display_path;
use serde_json::{Map, json};

use crate::args::{DataAction, InputArgs, RunArgs};
use crate::console::Console;
use crate::failure::Failure;
use crate::input;
use crate::paths;
use crate::print::{print_json, print_stdout};

/// Largest number of classes that are listed.
const MAX_CLASSES: usize = 20;

pub fn data(action: &Option<DataAction>) -> Result<ExitCode, Failure> {
    match action {
        None | Some(DataAction::List) => list(),
        Some(DataAction::Describe { input, run }) => describe(input, run),
        Some(DataAction::Generate { input, out, write, run }) => {
            paths::check(&[input.input.as_path()], &[out])?;
            let mut console = Console::new(run)?;
            let table = input::load(input, run, &mut console)?;
            lowland_io::write_table(out, &table, &write.options()).map_err(Failure::write)?;
            console.info(&format!("wrote {}", display_path(out)));
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn describe(input: &InputArgs, run: &RunArgs) -> Result<ExitCode, Failure> {
    let table = input::load(input, run, &mut Console::new(run)?)?;
    let data = &table.data;
    let is_numeric = !matches!(data, Data::Text(_));
    let columns = is_numeric.then(|| data.dim());
    let constant = is_numeric.then(|| lowland::preprocessing::constant_columns(data));
    let (repeats, bytes) = (data.repeated_rows(), data.shape().bytes);
    let classes: Option<Vec<(&String, usize)>> = table.labels.as_ref().map(|labels| {
        let mut counts = vec![0usize; labels.names.len()];
        labels.codes.iter().for_each(|&code| counts[code as usize] += 1);
        labels.names.iter().zip(counts).collect()
    });
    if run.json {
        let classes =
            classes.map(|all| all.iter().map(|(name, n)| (name.to_string(), json!(n))).collect::<Map<_, _>>());
        print_json(&json!({
            "rows": data.rows(), "kind": data.kind(), "columns": columns, "constant_columns": constant,
            "repeated_rows": repeats, "bytes": bytes, "classes": classes,
        }));
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("rows      {}\nkind      {}\n", data.rows(), data.kind());
    if let (Some(columns), Some(constant)) = (columns, constant) {
        let _ = writeln!(text, "columns   {columns}\nconstant  {constant} columns");
    }
    let _ = writeln!(text, "repeats   {repeats} rows equal to an earlier one");
    let _ = writeln!(text, "memory    {}", lowland::data::format_bytes(bytes));
    if let Some(classes) = classes {
        let listed: Vec<String> =
            classes.iter().take(MAX_CLASSES).map(|(name, count)| format!("{name}: {count}")).collect();
        let more = if classes.len() > MAX_CLASSES { ", ..." } else { "" };
        let _ = writeln!(text, "classes   {} ({}{more})", classes.len(), listed.join(", "));
    }
    print_stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn list() -> Result<ExitCode, Failure> {
    let mut text = String::new();
    for builtin in lowland_io::builtins() {
        let _ = writeln!(text, "{:<16} {:>6} x {:<3} {}", builtin.name, builtin.rows, builtin.dim, builtin.description);
    }
    text.push_str("\nGenerators accept --n-points, --noise and --seed.\n");
    print_stdout(&text)?;
    Ok(ExitCode::SUCCESS)
}
