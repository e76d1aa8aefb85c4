//! `lowland score` and `lowland inverse`: what else a saved model knows.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use lowland::Data;
use lowland::methods::Fitted;
use lowland_io::{Labels, Table};

use crate::args::{InverseArgs, ScoreArgs};
use crate::failure::Failure;
use crate::input;
use crate::observer::Console;
use crate::paths;

use super::transform::{check_names, read_model};

/// The log-likelihood of each row under the model, as CSV.
pub fn score(args: &ScoreArgs) -> Result<ExitCode, Failure> {
    paths::check(&[&args.model, Path::new(&args.input.input)], &args.out.iter().collect::<Vec<_>>())?;
    let model = read_model(&args.model)?;
    let mut console = Console::new(&args.run)?;
    let table = input::load(&args.input, &args.run, &mut console)?;
    check_names(&model.feature_names, table.columns.as_deref().unwrap_or_default())?;
    let scores = lowland::with_threads(args.run.threads(), || {
        console.progress("scores", |progress| model.score(&table.data, progress))
    })??;
    console.finish();
    let mut text = String::from("row,score\n");
    for (i, score) in scores.iter().enumerate() {
        let _ = writeln!(text, "{i},{score}");
    }
    match &args.out {
        Some(path) => lowland_io::write_bytes(path, text.as_bytes()).map_err(Failure::write)?,
        None => std::io::stdout().write_all(text.as_bytes())?,
    }
    console.note(&format!("mean log-likelihood of {} rows: {:.4}", scores.len(), mean(&scores)));
    Ok(ExitCode::SUCCESS)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Rows that would lie at the points of a map.
pub fn inverse(args: &InverseArgs) -> Result<ExitCode, Failure> {
    paths::check(&[&args.model, &args.map], &[&args.out])?;
    let model = read_model(&args.model)?;
    let map = lowland_io::read_map(&args.map)?;
    let mut console = Console::new(&args.run)?;
    let data = lowland::with_threads(args.run.threads(), || {
        console.progress("inverse", |progress| model.inverse(map.map.points(), progress))
    })??;
    let table = inverted(&model, data, map.ids, map.labels, &mut console);
    lowland_io::write_table(&args.out, &table).map_err(Failure::write)?;
    console.finish();
    console.note(&format!("wrote {}", args.out.display()));
    Ok(ExitCode::SUCCESS)
}

/// Rows that a model made, with the names its columns have where nothing was done to them.
pub fn inverted(
    model: &Fitted,
    data: Data,
    ids: Option<Vec<String>>,
    labels: Option<Labels>,
    console: &mut Console,
) -> Table {
    let mut table = Table { ids, labels, ..Table::new(data) };
    if model.job.prepare.is_empty() {
        table.columns = Some(model.feature_names.clone()).filter(|names| names.len() == table.data.dim());
    } else {
        console.note("the rows are as the method saw them, after the preparation");
    }
    table
}
