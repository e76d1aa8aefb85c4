//! `lowland data`: what there is to play with, and a look at one's own.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use lowland::Data;
use serde_json::{Map, json};

use crate::args::{DataAction, InputArgs, RunArgs};
use crate::failure::Failure;
use crate::input;
use crate::observer::{Console, emit};
use crate::paths;

pub fn data(action: &Option<DataAction>) -> Result<ExitCode, Failure> {
    match action {
        None | Some(DataAction::List) => list(),
        Some(DataAction::Describe { input, run }) => describe(input, run),
        Some(DataAction::Generate { input, out, run }) => {
            paths::check(&[Path::new(&input.input)], &[out])?;
            let mut console = Console::new(run)?;
            let table = input::load(input, run, &mut console)?;
            lowland_io::write_table(out, &table).map_err(Failure::write)?;
            console.note(&format!("wrote {}", out.display()));
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn describe(input: &InputArgs, run: &RunArgs) -> Result<ExitCode, Failure> {
    let table = input::load(input, run, &mut Console::new(run)?)?;
    let data = &table.data;
    let numeric = !matches!(data, Data::Text(_));
    let columns = numeric.then(|| data.dim());
    let constant = numeric.then(|| lowland::prepare::constant_columns(data));
    let (repeats, bytes) = (data.repeated_rows(), data.shape().bytes);
    let classes: Option<Vec<(&String, usize)>> = table.labels.as_ref().map(|labels| {
        let mut counts = vec![0usize; labels.names.len()];
        labels.codes.iter().for_each(|&code| counts[code as usize] += 1);
        labels.names.iter().zip(counts).collect()
    });
    if run.json {
        let classes =
            classes.map(|all| all.iter().map(|(name, n)| (name.to_string(), json!(n))).collect::<Map<_, _>>());
        emit(&json!({
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
    let _ = writeln!(text, "memory    {}", lowland::points::bytes(bytes));
    if let Some(classes) = classes {
        let shown: Vec<String> = classes.iter().take(20).map(|(name, count)| format!("{name}: {count}")).collect();
        let more = if classes.len() > 20 { ", ..." } else { "" };
        let _ = writeln!(text, "classes   {} ({}{more})", classes.len(), shown.join(", "));
    }
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn list() -> Result<ExitCode, Failure> {
    let mut text = String::new();
    for builtin in lowland_io::builtins() {
        let _ = writeln!(text, "{:<16} {:>6} x {:<3} {}", builtin.name, builtin.rows, builtin.dim, builtin.description);
    }
    text.push_str("\nGenerators take --n-points, --noise and --seed.\n");
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
