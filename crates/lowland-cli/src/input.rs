//! From the words of the command line to a table and its preparation.

use std::path::Path;

use lowland::prepare::Prepare;
use lowland::run::{Context, Silent};
use lowland::{Data, Error, Shape};
use lowland_io::{Builtin, Header, Missing, ReadOptions, Table};

use crate::args::{HeaderArg, InputArgs, MissingArg, PrepareArgs, ReadArgs, RunArgs};
use crate::failure::Failure;
use crate::observer::Console;
use crate::usage::available_memory;

/// Reads the file or makes the built-in data set, and says what was noticed.
pub fn load(input: &InputArgs, run: &RunArgs, console: &mut Console) -> Result<Table, Failure> {
    load_named(&input.input, &input.read, run, console)
}

/// The same for an input that a flag names.
pub fn load_named(name: &str, how: &ReadArgs, run: &RunArgs, console: &mut Console) -> Result<Table, Failure> {
    let mut table = read(name, how, run)?;
    // A string is its own name.
    if let (Data::Text(lines), None) = (&table.data, &table.ids) {
        table.ids = Some(lines.to_vec());
    }
    for note in &table.notes {
        console.note(note);
    }
    let of = |count: usize, what: &str, ending: &str| format!("{count} {what}{}", if count == 1 { "" } else { ending });
    let classes =
        table.labels.as_ref().map_or(String::new(), |labels| format!(", {}", of(labels.names.len(), "class", "es")));
    let shape = match &table.data {
        Data::Text(lines) => of(lines.len(), "string", "s"),
        data => format!("{}, {}, {}", of(data.rows(), "row", "s"), of(data.dim(), "column", "s"), data.kind()),
    };
    console.note(&format!("{name}: {shape}{classes}"));
    Ok(table)
}

/// A built-in name comes first: a file of that name is read with a path such as `./digits`.
fn read(name: &str, input: &ReadArgs, run: &RunArgs) -> Result<Table, Failure> {
    let known = lowland_io::builtins();
    if let Some(builtin) = known.iter().find(|builtin| builtin.name == name) {
        return generate(builtin, input, run);
    }
    let path = Path::new(name);
    if !path.exists() {
        let names: Vec<&str> = known.iter().map(|builtin| builtin.name).collect();
        return Err(Failure::Other {
            code: 3,
            error: anyhow::anyhow!("{name}: no such file, and not a built-in data set ({})", names.join(", ")),
        });
    }
    if input.n_points.is_some() || input.noise.is_some() {
        return Err(Failure::flag("--n-points and --noise are for the built-in generators; for a file use --max-rows"));
    }
    Ok(lowland_io::read(path, &options(input)?)?)
}

/// The shape of the rows, where the file says it at its beginning.
pub fn declared_shape(input: &InputArgs) -> Option<Shape> {
    let built_in = lowland_io::builtins().iter().any(|builtin| builtin.name == input.input);
    // Rows that are dropped count for nothing.
    let whole = !built_in && matches!(input.read.missing, MissingArg::Refuse);
    whole.then(|| lowland_io::declared_shape(Path::new(&input.input), &options(&input.read).ok()?))?
}

fn options(input: &ReadArgs) -> Result<ReadOptions, Failure> {
    Ok(ReadOptions {
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
        // What a person's own file needs is theirs to decide, as far as the machine can hold it.
        max_bytes: available_memory(),
        ..ReadOptions::default()
    })
}

/// A built-in data set. Flags that are about files are refused, not ignored.
fn generate(builtin: &Builtin, input: &ReadArgs, run: &RunArgs) -> Result<Table, Failure> {
    let about_files = [
        ("--label-column", input.label_column.is_some()),
        ("--id-column", input.id_column.is_some()),
        ("--labels", input.labels.is_some()),
        ("--key", input.key.is_some()),
        ("--format", input.format.is_some()),
    ];
    if let Some((flag, _)) = about_files.iter().find(|(_, given)| *given) {
        let name = builtin.name;
        return Err(Failure::flag(format!("{flag} is about files; {name} is built in (./{name} reads a file)")));
    }
    // Values in single precision, true coordinates and scratch in double.
    let needed = (input.n_points.unwrap_or(builtin.rows) as f64 * builtin.dim as f64 * 30.0) as u64;
    if let Some(limit) = available_memory().filter(|&limit| needed > limit) {
        let remedy = "Ask for fewer points (--n-points)";
        return Err(Error::Memory { what: format!("data set {}", builtin.name), needed, limit, remedy }.into());
    }
    let table = lowland_io::builtin(builtin.name, input.n_points, input.noise, run.seed())?;
    Ok(match input.max_rows {
        Some(most) if most < table.rows() => table.select(&(0..most).collect::<Vec<_>>()),
        _ => table,
    })
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
