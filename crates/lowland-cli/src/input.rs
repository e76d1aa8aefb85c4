//! Reads the input named on the command line, and preprocesses it.

use std::path::{Path, PathBuf};
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
    let offsets = new_row_options(&input.read, model, run)?.offsets;
    let table = load_with(&input.input, &input.read, run, offsets, console)?;
    check_column_names(model.feature_names(), table.columns.as_deref().unwrap_or_default())?;
    Ok(table)
}

/// The same for an input that a flag names.
pub fn load_from(path: &Path, options: &ReadArgs, run: &RunArgs, console: &mut Console) -> Result<Table, Failure> {
    load_with(path, options, run, None, console)
}

/// The files of a data set of one or several files.
pub fn list_parts(input: &InputArgs) -> Result<Vec<PathBuf>, Failure> {
    if is_builtin(&input.input) {
        let name = display_path(&input.input);
        return Err(Failure::flag(format!("{name} is built in; write it to files first (lowland data generate)")));
    }
    if let Some(file) = &input.read.labels {
        return Err(Failure::flag(format!(
            "--labels {}: a file of labels is for a single file; name a column of the parts with --label-column",
            display_path(file)
        )));
    }
    Ok(lowland_io::list_parts(&input.input, input.read.format.is_some())?)
}

/// Draws `count` rows of a data set of one or several files for the fit, and `held_out` others to check it with.
pub fn load_sample(
    input: &InputArgs,
    run: &RunArgs,
    (count, held_out): (usize, usize),
    block_rows: usize,
    console: &mut Console,
) -> Result<(Table, Option<Table>), Failure> {
    let parts = list_parts(input)?;
    let options = read_options(&input.read, run)?;
    let sample = lowland_io::sample_rows(&parts, &options, (count, held_out), block_rows, run.seed())?;
    let lowland_io::SampledRows { mut table, mut held_out, total, empty_parts } = sample;
    table.notes.extend(empty_parts.iter().map(|part| left_out(part)));
    table.notes.push(format!("a sample of {} of {total} rows in {} files", table.rows(), parts.len()));
    for table in [Some(&mut table), held_out.as_mut()].into_iter().flatten() {
        name_strings(table);
        run.memory().reserve(table.memory_besides_rows());
    }
    announce(&table, &input.input, console);
    Ok((table, held_out))
}

fn left_out(part: &Path) -> String {
    format!("{}: no rows; the part is left out", display_path(part))
}

/// Strings are their own ids.
fn name_strings(table: &mut Table) {
    if let (Data::Text(lines), None) = (&table.data, &table.ids) {
        table.ids = Some(lines.to_vec());
    }
}

fn load_with(
    path: &Path,
    options: &ReadArgs,
    run: &RunArgs,
    offsets: Option<Arc<[f64]>>,
    console: &mut Console,
) -> Result<Table, Failure> {
    let mut table = read(path, options, offsets, run)?;
    name_strings(&mut table);
    announce(&table, path, console);
    Ok(table)
}

/// Prints what was noticed while reading, and the shape of the data.
fn announce(table: &Table, path: &Path, console: &mut Console) {
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
}

/// Rows of a block where the rows of several files are put together.
pub const BLOCK_ROWS: usize = 8192;

/// Built-in names take precedence: a file of the same name is read with a path such as `./digits`.
fn read(path: &Path, input: &ReadArgs, offsets: Option<Arc<[f64]>>, run: &RunArgs) -> Result<Table, Failure> {
    let builtins = lowland_io::builtins();
    if let Some(builtin) = builtins.iter().find(|builtin| path.as_os_str() == builtin.name) {
        return generate(builtin, input, run);
    }
    if path.is_dir() || lowland_io::is_pattern(path) {
        let parts = lowland_io::list_parts(path, input.format.is_some())?;
        let options = ReadOptions { offsets, ..read_options(input, run)? };
        let lowland_io::SampledRows { mut table, empty_parts, .. } =
            lowland_io::sample_rows(&parts, &options, (usize::MAX, 0), BLOCK_ROWS, run.seed())?;
        table.notes.extend(empty_parts.iter().map(|part| left_out(part)));
        run.memory().reserve(table.memory_besides_rows());
        return Ok(table);
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

/// Whether the input is the name of a built-in data set.
pub fn is_builtin(path: &Path) -> bool {
    lowland_io::builtins().iter().any(|builtin| path.as_os_str() == builtin.name)
}

/// The shape of the rows, if the header of the file declares it.
pub fn declared_shape(input: &InputArgs, run: &RunArgs) -> Option<DataShape> {
    let is_builtin = is_builtin(&input.input);
    // Dropped rows do not count.
    let keeps_rows = !matches!(input.read.missing, MissingArg::Drop);
    (!is_builtin && keeps_rows)
        .then(|| lowland_io::declared_shape(&input.input, &read_options(&input.read, run).ok()?))?
}

pub fn read_options(input: &ReadArgs, run: &RunArgs) -> Result<ReadOptions, Failure> {
    Ok(ReadOptions {
        label_column: input.label_column.clone(),
        target_column: input.target_column.clone(),
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

/// The options of reading new rows of a model: columns are stored as in the fit, and those that were not shifted then are not now.
pub fn new_row_options(input: &ReadArgs, model: &Model, run: &RunArgs) -> Result<ReadOptions, Failure> {
    let no_offsets = || vec![0.0; model.n_features()].into();
    Ok(ReadOptions { offsets: Some(model.offsets().cloned().unwrap_or_else(no_offsets)), ..read_options(input, run)? })
}

/// Rejects columns with other names than those of the model, if both have names.
pub fn check_column_names(model: &[String], new: &[String]) -> Result<(), Failure> {
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
    if let Some(target) = &input.target_column {
        return Err(Failure::flag(format!(
            "--target {target}: {} is built in and has no such column; use --target labels for its classes",
            builtin.name
        )));
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
