//! `lowland score` and `lowland inverse`: likelihoods and rows from a saved model.

use std::fmt::Write as _;
use std::process::ExitCode;

use lowland::message::display_path;
use lowland::{AnnotatedEmbedding, Data, Model};
use lowland_io::Table;

use super::transform::read_model;
use crate::args::{InverseArgs, ScoreArgs};
use crate::console::Console;
use crate::failure::Failure;
use crate::input;
use crate::paths;
use crate::print::print_stdout;

/// Writes the log-likelihood of each row under the model as CSV.
pub fn score(args: &ScoreArgs) -> Result<ExitCode, Failure> {
    paths::check(&[&args.model, args.input.input.as_path()], &args.out.iter().collect::<Vec<_>>())?;
    let model = read_model(&args.model, args.run.memory())?;
    let mut console = Console::new(&args.run)?;
    let table = input::load_new_rows(&args.input, &model, &args.run, &mut console)?;
    let scores = console.run_stage("scores", |progress| model.score_with(&table.data, progress))?;
    console.finish();
    if let Some(row) = scores.iter().position(|score| score.is_nan()) {
        return Err(Failure::runtime(format!(
            "the log-likelihood of row {row} (from 0) is NaN: the model is out of range"
        )));
    }
    let mut text = String::from("row,score\n");
    for (i, score) in scores.iter().enumerate() {
        let _ = writeln!(text, "{i},{score}");
    }
    match &args.out {
        Some(path) => lowland_io::write_bytes(path, text.as_bytes()).map_err(Failure::write)?,
        None => print_stdout(&text)?,
    }
    let mean = scores.iter().sum::<f64>() / scores.len().max(1) as f64;
    console.info(&format!("mean log-likelihood of {} rows: {mean:.4}", scores.len()));
    Ok(ExitCode::SUCCESS)
}

/// Writes the rows that correspond to points of a map.
pub fn inverse(args: &InverseArgs) -> Result<ExitCode, Failure> {
    paths::check(&[&args.model, &args.map], &[&args.out])?;
    let model = read_model(&args.model, args.run.memory())?;
    let map = lowland_io::read_map_within(&args.map, args.run.memory())?;
    let mut console = Console::new(&args.run)?;
    let rows = console.run_stage("inverse", |progress| model.inverse_transform_with(map.points(), progress))?;
    let table = rows_table(&model, rows, map, &mut console);
    lowland_io::write_table(&args.out, &table, &args.write.options()).map_err(Failure::write)?;
    console.finish();
    console.info(&format!("wrote {}", display_path(&args.out)));
    Ok(ExitCode::SUCCESS)
}

/// A table of rows computed by a model, with its column names, and the ids and labels of the points.
pub fn rows_table(model: &Model, rows: Data, map: AnnotatedEmbedding, console: &mut Console) -> Table {
    let mut table = Table { ids: map.ids, labels: map.labels, ..Table::new(rows) };
    table.columns = Some(model.feature_names().to_vec()).filter(|names| names.len() == table.data.dim());
    if model.preprocessing().normalize {
        console.info("normalization is not undone: the lengths of the rows are not known");
    }
    table
}
