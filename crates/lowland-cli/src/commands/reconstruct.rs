//! `lowland reconstruct` and `lowland samples`: rows with standard deviations and maps from a posterior.

use std::fmt::Write as _;
use std::process::ExitCode;

use lowland::data::{Data, Dense, Embedding};
use lowland::message::display_path;
use lowland::message::{Note, Remedy};
use lowland_io::Table;

use super::model::rows_table;
use super::transform::read_model;
use crate::args::{ReconstructArgs, SamplesArgs};
use crate::console::Console;
use crate::failure::Failure;
use crate::paths;

/// Bytes of the text of a value, at most.
const TEXT_BYTES: u64 = 40;

/// Writes the rows that correspond to points of a map, each value followed by its standard deviation if the model has one.
pub fn reconstruct(args: &ReconstructArgs) -> Result<ExitCode, Failure> {
    paths::check(&[&args.model, &args.map], &[&args.out])?;
    let model = read_model(&args.model, args.run.memory())?;
    let map = lowland_io::read_map_within(&args.map, args.run.memory())?;
    let mut console = Console::new(&args.run)?;
    let (rows, std) =
        console.run_stage("reconstruct", |progress| model.inverse_transform_std(map.points(), progress))?;
    let mut table = rows_table(&model, rows, map, &mut console);
    match std {
        Some(std) => table = interleave_std(table, &std)?,
        None => console.info("this method has no standard deviations: only the rows are written"),
    }
    lowland_io::write_table(&args.out, &table, &args.write.options()).map_err(Failure::write)?;
    console.finish();
    console.info(&format!("wrote {}", display_path(&args.out)));
    Ok(ExitCode::SUCCESS)
}

/// Adds a column of standard deviations after each column.
fn interleave_std(table: Table, std: &Data) -> Result<Table, Failure> {
    let (Data::Dense(rows), Data::Dense(std)) = (&table.data, std) else { return Ok(table) };
    let values = rows.values().iter().zip(std.values()).flat_map(|(&value, &std)| [value, std]).collect();
    let name = |c: usize| table.columns.as_ref().map_or_else(|| format!("column_{c}"), |names| names[c].clone());
    let names = (0..rows.dim()).flat_map(|c| [name(c), format!("{}_std", name(c))]).collect();
    let offsets = rows.offsets().map(|offsets| offsets.iter().flat_map(|&offset| [offset, 0.0]).collect());
    let data = Data::Dense(Dense::new(values, 2 * rows.dim())?.shifted_by(offsets)?);
    Ok(Table { columns: Some(names), ids: table.ids, labels: table.labels, ..Table::new(data) })
}

/// Writes maps sampled from the model's posterior as one table.
pub fn samples(args: &SamplesArgs) -> Result<ExitCode, Failure> {
    paths::check(&[&args.model], &[&args.out])?;
    let model = read_model(&args.model, args.run.memory())?;
    let mut console = Console::new(&args.run)?;
    // The table is assembled in memory.
    let text = (args.count as u64).saturating_mul(TEXT_BYTES * model.embedding().values().len() as u64);
    let needed = model.samples_memory(args.count).saturating_add(text);
    let remedies = [Remedy::RaiseMaxMemory, Remedy::FewerSamples];
    let total = args.run.memory().check("the set of samples", needed, &remedies)?;
    console.note(&Note::MemoryEstimate { bytes: total });
    let maps = model.samples(args.count, args.run.seed())?;
    lowland_io::write_bytes(&args.out, samples_table(&maps).as_bytes()).map_err(Failure::write)?;
    console.finish();
    console.info(&format!(
        "wrote {}: {} maps of {} rows",
        display_path(&args.out),
        maps.len(),
        model.embedding().rows()
    ));
    Ok(ExitCode::SUCCESS)
}

fn samples_table(maps: &[Embedding]) -> String {
    let dim = maps.first().map_or(0, Embedding::dim);
    let names: Vec<String> = (0..dim).map(lowland_io::coordinate_name).collect();
    let mut text = format!("sample,row,{}\n", names.join(","));
    for (sample, map) in maps.iter().enumerate() {
        for row in 0..map.rows() {
            let values: Vec<String> = map.row(row).iter().map(f64::to_string).collect();
            let _ = writeln!(text, "{sample},{row},{}", values.join(","));
        }
    }
    text
}
