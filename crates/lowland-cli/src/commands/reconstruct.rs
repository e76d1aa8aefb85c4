//! `lowland reconstruct` and `lowland samples`: what a posterior knows beyond its map.

use std::fmt::Write as _;
use std::process::ExitCode;

use lowland::points::bytes;
use lowland::{Data, Embedding};
use lowland_io::Table;

use crate::args::{ReconstructArgs, SamplesArgs};
use crate::failure::Failure;
use crate::observer::Console;
use crate::paths;

use super::model::inverted;
use super::transform::read_model;

/// Rows that would lie at the points of a map, each value followed by its standard deviation where the model knows it.
pub fn reconstruct(args: &ReconstructArgs) -> Result<ExitCode, Failure> {
    paths::check(&[&args.model, &args.map], &[&args.out])?;
    let model = read_model(&args.model)?;
    let map = lowland_io::read_map(&args.map)?;
    let mut console = Console::new(&args.run)?;
    let (rows, std) = lowland::with_threads(args.run.threads(), || {
        console.progress("reconstruct", |progress| model.inverse_with_std(map.map.points(), progress))
    })??;
    let mut table = inverted(&model, rows, map.ids, map.labels, &mut console);
    match std {
        Some(std) => table = with_errors(table, &std)?,
        None => console.note("this method knows no error bars: the rows alone are written"),
    }
    lowland_io::write_table(&args.out, &table).map_err(Failure::write)?;
    console.finish();
    console.note(&format!("wrote {}", args.out.display()));
    Ok(ExitCode::SUCCESS)
}

/// The table with a column of standard deviations after each column.
fn with_errors(table: Table, std: &Data) -> Result<Table, Failure> {
    let (Data::Dense(rows), Data::Dense(std)) = (&table.data, std) else { return Ok(table) };
    let values = rows.values().iter().zip(std.values()).flat_map(|(&value, &error)| [value, error]).collect();
    let name = |c: usize| table.columns.as_ref().map_or_else(|| format!("column_{c}"), |names| names[c].clone());
    let names = (0..rows.dim()).flat_map(|c| [name(c), format!("{}_std", name(c))]).collect();
    Ok(Table {
        columns: Some(names),
        ids: table.ids.clone(),
        labels: table.labels.clone(),
        ..Table::new(Data::dense(values, 2 * rows.dim())?)
    })
}

/// Maps drawn from the model's posterior, as one table.
pub fn samples(args: &SamplesArgs) -> Result<ExitCode, Failure> {
    paths::check(&[&args.model], &[&args.out])?;
    let model = read_model(&args.model)?;
    let mut console = Console::new(&args.run)?;
    // The table is put together in memory: some forty letters a value.
    let text = (args.count as u64).saturating_mul(40 * model.embedding.values().len() as u64);
    let needed = model.samples_memory(args.count).saturating_add(text);
    console.note(&format!("memory: about {}", bytes(needed)));
    if let Some(limit) = args.memory.limit().filter(|&limit| needed > limit) {
        let remedy = "Raise max_memory, or draw fewer maps at a time (--count, --seed)";
        return Err(lowland::Error::Memory { what: "the samples".into(), needed, limit, remedy }.into());
    }
    let maps = lowland::with_threads(args.run.threads(), || model.samples(args.count, args.run.seed()))??;
    lowland_io::write_bytes(&args.out, table_of(&maps).as_bytes()).map_err(Failure::write)?;
    console.finish();
    console.note(&format!("wrote {}: {} maps of {} rows", args.out.display(), maps.len(), model.embedding.rows()));
    Ok(ExitCode::SUCCESS)
}

fn table_of(maps: &[Embedding]) -> String {
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
