//! Writes named columns as delimited text or Parquet.

use std::io::Write;
use std::path::Path;

use lowland::Labels;

use crate::error::{FileErrorKind, Result};
use crate::options::{FileFormat, WriteOptions};
use crate::write_file::write_atomically;

/// A named column.
pub(crate) struct OutputColumn<'a> {
    pub name: String,
    pub values: ColumnValues<'a>,
}

/// The values of a column, borrowed from where they are stored.
pub(crate) enum ColumnValues<'a> {
    /// Every `step`-th number from `start`.
    F64 {
        values: &'a [f64],
        start: usize,
        step: usize,
    },
    /// Every `step`-th number from `start`.
    F32 {
        values: &'a [f32],
        start: usize,
        step: usize,
    },
    Ids(&'a [String]),
    Labels(&'a Labels),
}

impl ColumnValues<'_> {
    pub fn len(&self) -> usize {
        match self {
            ColumnValues::F64 { values, step, .. } => values.len() / step,
            ColumnValues::F32 { values, step, .. } => values.len() / step,
            ColumnValues::Ids(ids) => ids.len(),
            ColumnValues::Labels(labels) => labels.codes.len(),
        }
    }

    /// Appends the text of row `i`; numbers in the fewest digits that read back to the same number.
    fn write(&self, i: usize, out: &mut String) {
        use std::fmt::Write;
        let _ = match self {
            ColumnValues::F64 { values, start, step } => write!(out, "{:?}", values[start + i * step]),
            ColumnValues::F32 { values, start, step } => write!(out, "{:?}", values[start + i * step]),
            ColumnValues::Ids(ids) => out.write_str(&ids[i]),
            ColumnValues::Labels(labels) => out.write_str(labels.name(i)),
        };
    }
}

/// Writes columns of equal length in any of the tabular formats; `what` and `allowed` are for the error message.
pub(crate) fn write(
    path: &Path,
    what: &'static str,
    allowed: &'static str,
    columns: &[OutputColumn],
    options: &WriteOptions,
) -> Result<()> {
    let rows = columns.first().map_or(0, |column| column.values.len());
    if let Some(other) = columns.iter().find(|column| column.values.len() != rows) {
        return Err(FileErrorKind::Count { what: "values of a column", expected: rows, found: other.values.len() });
    }
    match FileFormat::to_write(path) {
        Some(FileFormat::Csv) => write_atomically(path, |file| write_delimited(file, b',', rows, columns, options)),
        Some(FileFormat::Tsv) => write_atomically(path, |file| write_delimited(file, b'\t', rows, columns, options)),
        #[cfg(feature = "tables")]
        Some(FileFormat::Parquet) => write_atomically(path, |file| crate::parquet::write_parquet(file, rows, columns)),
        #[cfg(not(feature = "tables"))]
        Some(FileFormat::Parquet) => Err(FileErrorKind::NotBuilt { format: "parquet", feature: "tables" }),
        _ => Err(cannot_write(path, what, allowed)),
    }
}

/// The error for an extension that cannot be written.
pub(crate) fn cannot_write(path: &Path, what: &'static str, allowed: &'static str) -> FileErrorKind {
    let format = path.extension().map_or("a file without an ending".into(), |e| format!(".{}", e.to_string_lossy()));
    FileErrorKind::CannotWrite { what, format, allowed }
}

/// Whether spreadsheet programs would evaluate a cell. Numbers with a sign are numbers.
fn is_formula(cell: &str) -> bool {
    cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err()
}

/// Writes delimited text: the names of the columns, then the rows.
pub(crate) fn write_delimited(
    file: &mut dyn Write,
    delimiter: u8,
    rows: usize,
    columns: &[OutputColumn],
    options: &WriteOptions,
) -> Result<()> {
    write_header(file, delimiter, columns, options)?;
    write_rows(file, delimiter, rows, columns, options)
}

/// Writes the names of the columns as a line of delimited text.
pub(crate) fn write_header(
    file: &mut dyn Write,
    delimiter: u8,
    columns: &[OutputColumn],
    options: &WriteOptions,
) -> Result<()> {
    write_lines(file, delimiter, 1, columns, options, |_, column, cell| cell.push_str(&column.name))
}

/// Writes rows as lines of delimited text.
pub(crate) fn write_rows(
    file: &mut dyn Write,
    delimiter: u8,
    rows: usize,
    columns: &[OutputColumn],
    options: &WriteOptions,
) -> Result<()> {
    write_lines(file, delimiter, rows, columns, options, |i, column, cell| column.values.write(i, cell))
}

fn write_lines(
    file: &mut dyn Write,
    delimiter: u8,
    lines: usize,
    columns: &[OutputColumn],
    options: &WriteOptions,
    write_cell: impl Fn(usize, &OutputColumn, &mut String),
) -> Result<()> {
    let failed = |error: csv::Error| match error.into_kind() {
        csv::ErrorKind::Io(error) => FileErrorKind::Io(error),
        other => FileErrorKind::format("delimited text", format!("{other:?}")),
    };
    let mut out = csv::WriterBuilder::new().delimiter(delimiter).from_writer(file);
    let mut cell = String::new();
    for i in 0..lines {
        for column in columns {
            cell.clear();
            write_cell(i, column, &mut cell);
            if options.escape_formulas && is_formula(&cell) {
                cell.insert(0, '\'');
            }
            out.write_field(&cell).map_err(failed)?;
        }
        out.write_record(None::<&[u8]>).map_err(failed)?;
    }
    Ok(out.flush()?)
}
