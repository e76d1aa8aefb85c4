//! Reads the input named on the command line, and preprocesses it.

use std::path::Path;
use std::sync::Arc;

use lowland::data::DataShape;
use lowland::message::{Remedy, display_path, excerpt};
use lowland::preprocessing::Preprocessing;
use lowland::run::{Context, NoObserver};
use lowland::{Data, Model};
use lowland_io::{Builtin, Header, Missing, ReadOptions, Table};

use crate::args::{HeaderArg, InputArgs, MissingArg, PreprocessingArgs, ReadArgs, RunArgs};
use crate::console::Console;
use crate::failure::Failure;

/// Reads a file or generates a built-in data set, and prints what was noticed.
pub fn load(input: &InputArgs, run: &RunArgs, console: &mut Console) -> Result<Table, Failure> {
    load_from(&input.input, &input.read, run, console)
}

/// The same for new rows of a model, which are rounded like those it was fitted to.
pub fn load_new_rows(input: &InputArgs, model: &Model, run: &RunArgs, console: &mut Console) -> Result<Table, Failure> {
    // Columns that were not shifted in the fit are not shifted now.
    let no_offsets = || vec![0.0; model.n_features()].into();
    let offsets = model.offsets().cloned().unwrap_or_else(no_offsets);
    let table = load_with(&input.input, &input.read, run, Some(offsets), console)?;
    check_column_names(model.feature_names(), table.columns.as_deref().unwrap_or_default())?;
    Ok(table)
}

/// The same for an input that a flag names.
pub fn load_from(path: &Path, options: &ReadArgs, run: &RunArgs, console: &mut Console) -> Result<Table, Failure> {
    load_with(path, options, run, None, console)
}

fn load_with(
    path: &Path,
    options: &ReadArgs,
    run: &RunArgs,
    offsets: Option<Arc<[f64]>>,
    console: &mut Console,
) -> Result<Table, Failure> {
    let mut table = read(path, options, offsets, run)?;
    // Strings are their own ids.
    if let (Data::Text(lines), None) = (&table.data, &table.ids) {
        table.ids = Some(lines.to_vec());
    }
    for note in &table.notes {
        console.info(note);
    }
    let count =
        |count: usize, noun: &str, plural: &str| format!("{count} {noun}{}", if count == 1 { "" } else { plural });
    let classes =
        table.labels.as_ref().map_or(String::new(), |labels| format!(", {}", count(labels.names.len(), "class", "es")));
    let shape = match &table.data {
        Data::Text(lines) => count(lines.len(), "string", "s"),
        data => format!("{}, {}, {}", count(data.rows(), "row", "s"), count(data.dim(), "column", "s"), data.kind()),
    };
    console.info(&format!("{}: {shape}{classes}", display_path(path)));
    Ok(table)
}

/// Built-in names take precedence: a file of the same name is read with a path such as `./digits`.
fn read(path: &Path, input: &ReadArgs, offsets: Option<Arc<[f64]>>, run: &RunArgs) -> Result<Table, Failure> {
    let builtins = lowland_io::builtins();
    if let Some(builtin) = builtins.iter().find(|builtin| path.as_os_str() == builtin.name) {
        return generate(builtin, input, run);
    }
    if !path.exists() {
        let names: Vec<&str> = builtins.iter().map(|builtin| builtin.name).collect();
        return Err(Failure::input(format!(
            "{}: no such file, and not a built-in data set ({})",
            display_path(path),
            names.join(", ")
        )));
    }
    if input.n_points.is_some() || input.noise.is_some() {
        return Err(Failure::flag("--n-points and --noise are for the built-in generators; for a file use --max-rows"));
    }
    Ok(lowland_io::read(path, &ReadOptions { offsets, ..read_options(input, run)? })?)
}

/// The shape of the rows, if the header of the file declares it.
pub fn declared_shape(input: &InputArgs, run: &RunArgs) -> Option<DataShape> {
    let is_builtin = lowland_io::builtins().iter().any(|builtin| input.input.as_os_str() == builtin.name);
    // Dropped rows do not count.
    let keeps_rows = !matches!(input.read.missing, MissingArg::Drop);
    (!is_builtin && keeps_rows)
        .then(|| lowland_io::declared_shape(&input.input, &read_options(&input.read, run).ok()?))?
}

fn read_options(input: &ReadArgs, run: &RunArgs) -> Result<ReadOptions, Failure> {
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
            MissingArg::Keep => Missing::Keep,
        },
        max_rows: input.max_rows,
        memory: run.memory().clone(),
        ..ReadOptions::default()
    })
}

/// Rejects columns with other names than those of the model, if both have names.
fn check_column_names(model: &[String], new: &[String]) -> Result<(), Failure> {
    if model.is_empty() || new.is_empty() || model.len() != new.len() {
        return Ok(());
    }
    match model.iter().zip(new).position(|(expected, found)| expected != found) {
        None => Ok(()),
        Some(at) => Err(Failure::input(format!(
            "column {at} is \"{}\" where the model was fitted on \"{}\"; the columns must be the same, in the same order",
            excerpt(&new[at]),
            excerpt(&model[at])
        ))),
    }
}

/// Generates a built-in data set. Flags for files are rejected rather than ignored.
fn generate(builtin: &Builtin, input: &ReadArgs, run: &RunArgs) -> Result<Table, Failure> {
    let file_flags = [
        ("--label-column", input.label_column.is_some()),
        ("--id-column", input.id_column.is_some()),
        ("--labels", input.labels.is_some()),
        ("--key", input.key.is_some()),
        ("--format", input.format.is_some()),
    ];
    if let Some((flag, _)) = file_flags.iter().find(|(_, given)| *given) {
        let name = builtin.name;
        return Err(Failure::flag(format!("{flag} is for files, but {name} is built in (./{name} reads a file)")));
    }
    // Values in single precision; true coordinates and workspace in double precision.
    let needed = (input.n_points.unwrap_or(builtin.rows) as f64 * builtin.dim as f64 * 30.0) as u64;
    let remedies = [Remedy::FewerPoints, Remedy::RaiseMaxMemory];
    run.memory().check(format!("data set {}", builtin.name), needed, &remedies)?;
    let table = lowland_io::builtin(builtin.name, input.n_points, input.noise, run.seed())?;
    let table = match input.max_rows {
        Some(max) if max < table.rows() => table.select(&(0..max).collect::<Vec<_>>()),
        _ => table,
    };
    run.memory().reserve(table.memory_besides_rows());
    Ok(table)
}

impl PreprocessingArgs {
    /// The preprocessing steps.
    pub fn steps(&self) -> Preprocessing {
        Preprocessing { log1p: self.log1p, standardize: self.standardize, normalize: self.normalize, pca: self.pca }
    }

    /// Preprocesses data, for commands that fit no model.
    pub fn apply(&self, data: &Data, run: &RunArgs) -> Result<Data, Failure> {
        data.check_finite()?;
        let (steps, shape) = (self.steps(), data.shape());
        let needed = shape.bytes.saturating_add(steps.memory(shape));
        run.memory().check("the preprocessing", needed, &[Remedy::RaiseMaxMemory, Remedy::FewerRows])?;
        let mut observer = NoObserver;
        let mut context = Context::new(&mut observer, run.seed(), None);
        let prepared = steps.fit(data, &mut context)?.1;
        if !steps.is_empty() {
            run.memory().reserve(prepared.shape().bytes);
        }
        Ok(prepared)
    }
}
