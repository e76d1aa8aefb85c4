//! `lowland data`: what there is to play with, and a look at one's own.

use std::fmt::Write as _;
use std::io::Write;
use std::process::ExitCode;

use lowland::Data;

use crate::args::DataAction;
use crate::failure::Failure;
use crate::input;
use crate::observer::Console;

pub fn data(action: &Option<DataAction>) -> Result<ExitCode, Failure> {
    match action {
        None | Some(DataAction::List) => list(),
        Some(DataAction::Describe { input, run }) => {
            let mut console = Console::new(run)?;
            let table = input::load(input, run, &mut console)?;
            let mut text = String::new();
            let _ = writeln!(text, "rows      {}", table.data.rows());
            let _ = writeln!(text, "kind      {}", table.data.kind());
            if !matches!(table.data, Data::Text(_)) {
                let _ = writeln!(text, "columns   {}", table.data.dim());
                let _ = writeln!(text, "constant  {} columns", lowland::prepare::constant_columns(&table.data));
            }
            let first = table.data.first_equal_rows();
            let repeats = first.iter().enumerate().filter(|&(i, &j)| i != j as usize).count();
            let _ = writeln!(text, "repeats   {repeats} rows equal to an earlier one");
            let _ = writeln!(text, "memory    {}", lowland::points::bytes(table.data.shape().bytes));
            if let Some(labels) = &table.labels {
                let mut counts = vec![0usize; labels.names.len()];
                labels.codes.iter().for_each(|&code| counts[code as usize] += 1);
                let shown = labels.names.iter().zip(&counts).take(20).map(|(name, count)| format!("{name}: {count}"));
                let more = if counts.len() > 20 { ", ..." } else { "" };
                let _ = writeln!(text, "classes   {} ({}{more})", counts.len(), shown.collect::<Vec<_>>().join(", "));
            }
            std::io::stdout().write_all(text.as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
        Some(DataAction::Generate { input, out, run }) => {
            let mut console = Console::new(run)?;
            let table = input::load(input, run, &mut console)?;
            lowland_io::write_table(out, &table)?;
            console.note(&format!("wrote {}", out.display()));
            Ok(ExitCode::SUCCESS)
        }
    }
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
