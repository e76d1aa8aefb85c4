//! From the words of the command line to a table and its preparation.

use std::path::Path;

use lowland::Data;
use lowland::prepare::Prepare;
use lowland::run::{Context, Silent};
use lowland_io::{Header, Missing, ReadOptions, Table};

use crate::args::{HeaderArg, InputArgs, MissingArg, PrepareArgs, RunArgs};
use crate::failure::Failure;
use crate::observer::Console;

/// Reads the file or makes the built-in data set, and says what was noticed.
pub fn load(input: &InputArgs, run: &RunArgs, console: &mut Console) -> Result<Table, Failure> {
    let table = read(input, run)?;
    for note in &table.notes {
        console.note(note);
    }
    let classes = table.labels.as_ref().map_or(String::new(), |labels| format!(", {} classes", labels.names.len()));
    let shape = match &table.data {
        Data::Text(lines) => format!("{} strings", lines.len()),
        data => format!("{} rows, {} columns, {}", data.rows(), data.dim(), data.kind()),
    };
    console.note(&format!("{}: {shape}{classes}", input.input));
    Ok(table)
}

/// A built-in name wins over nothing: a file of that name is read only with a path such as `./digits`.
fn read(input: &InputArgs, run: &RunArgs) -> Result<Table, Failure> {
    let known = lowland_io::builtins();
    if known.iter().any(|builtin| builtin.name == input.input) {
        return Ok(lowland_io::builtin(&input.input, input.n_points, input.noise, run.seed())?);
    }
    let path = Path::new(&input.input);
    if !path.exists() {
        let names: Vec<&str> = known.iter().map(|builtin| builtin.name).collect();
        return Err(Failure::Other {
            code: 3,
            error: anyhow::anyhow!("{}: no such file, and not a built-in data set ({})", input.input, names.join(", ")),
        });
    }
    if input.n_points.is_some() || input.noise.is_some() {
        return Err(Failure::flag("--n-points and --noise are for the built-in generators; for a file use --max-rows"));
    }
    let options = ReadOptions {
        label_column: input.label_column.clone(),
        id_column: input.id_column.clone(),
        labels: input.labels.clone(),
        key: input.key.clone(),
        format: input.format.as_deref().map(str::parse).transpose()?,
        header: match input.header {
            HeaderArg::Auto => Header::Auto,
            HeaderArg::Yes => Header::Yes,
            HeaderArg::No => Header::No,
        },
        missing: match input.missing {
            MissingArg::Refuse => Missing::Refuse,
            MissingArg::Drop => Missing::Drop,
        },
        max_rows: input.max_rows,
        ..ReadOptions::default()
    };
    Ok(lowland_io::read(path, &options)?)
}

impl PrepareArgs {
    pub fn steps(&self) -> Prepare {
        Prepare { log1p: self.log1p, standardize: self.standardize, normalize: self.normalize, pca: self.pca }
    }

    /// The prepared data, for commands that fit no map.
    pub fn apply(&self, data: &Data, run: &RunArgs) -> Result<Data, Failure> {
        data.check_finite()?;
        let mut silent = Silent;
        let mut context = Context::new(&mut silent, run.seed(), None);
        Ok(self.steps().fit(data, &mut context)?.1)
    }
}
