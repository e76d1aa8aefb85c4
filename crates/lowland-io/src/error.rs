//! Errors of reading and writing files. Each names the location, what was found there, and what to do about it.

use std::path::{Path, PathBuf};

use lowland::message::{RustTerms, Terms, display_path, excerpt, excerpt_of_sentence, list_names};
use thiserror::Error as ThisError;

/// A file that cannot be read or written.
#[derive(Debug, ThisError)]
#[error("{}: {kind}", display_path(path))]
#[non_exhaustive]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong. It is part of the message and therefore not reported as the source as well.
    pub kind: FileErrorKind,
}

/// What is wrong with a file.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum FileErrorKind {
    /// The operating system reported an error.
    #[error(transparent)]
    Io(#[from] std::io::Error),

    /// The file is empty or has no rows.
    #[error("no rows: {0}")]
    Empty(&'static str),

    /// The format cannot be determined from the file extension.
    #[error("cannot tell the format from the ending of the name; name the format ({known})")]
    UnknownFormat {
        /// Names of the known formats.
        known: String,
    },

    /// The program was built without support for the format.
    #[error("this program was built without support for {format} (feature `{feature}` of lowland-io)")]
    NotBuilt {
        /// The format.
        format: &'static str,
        /// The Cargo feature that enables it.
        feature: &'static str,
    },

    /// The format can be read but not written, or does not hold this kind of data.
    #[error("{what} cannot be written as {format}; use {allowed}")]
    CannotWrite {
        /// Map, graph or table.
        what: &'static str,
        /// The format asked for.
        format: String,
        /// The extensions that can be written.
        allowed: &'static str,
    },

    /// The content does not follow the format.
    #[error("not a usable {format} file: {}", excerpt_of_sentence(reason))]
    Format {
        /// The format.
        format: &'static str,
        /// What is wrong, and what to do where something can be done.
        reason: String,
    },

    /// The file ends before what its header declares.
    #[error("declares {declared} bytes of {what} but holds {available}: the file is cut off or damaged")]
    Truncated {
        /// What the bytes hold.
        what: &'static str,
        /// Bytes declared; saturated.
        declared: u64,
        /// Bytes available.
        available: u64,
    },

    /// Reading would take more memory than allowed.
    #[error("{}", too_large(what, *limit, &RustTerms))]
    TooLarge {
        /// What does not fit.
        what: String,
        /// The limit in bytes.
        limit: u64,
    },

    /// A row has a different number of fields.
    #[error("{}", ragged(*line, *expected, *found, &RustTerms))]
    Ragged {
        /// Line, from 1.
        line: u64,
        /// Fields expected.
        expected: usize,
        /// Fields found.
        found: usize,
    },

    /// A cell is not a number.
    #[error("{}", not_number(location, column, found, *remedy, &RustTerms))]
    NotNumber {
        /// `line 3` in a text file, `row 2` elsewhere.
        location: Location,
        /// Name or index of the column.
        column: String,
        /// What stands there.
        found: String,
        /// What to do.
        remedy: NumberRemedy,
    },

    /// A column of a table is not numeric.
    #[error("{}", not_numeric(column, content, &RustTerms))]
    NotNumeric {
        /// Name of the column.
        column: String,
        /// What it contains.
        content: String,
    },

    /// A cell is too large for a 32-bit float.
    #[error(
        "{location}, column {}: {} is too large for 32-bit floats, which end at 3.4e38; scale the column",
        excerpt(column),
        excerpt(found)
    )]
    Overflow {
        /// Where.
        location: Location,
        /// Name or index of the column.
        column: String,
        /// What stands there.
        found: String,
    },

    /// A cell is empty, NaN or infinite.
    #[error("{}", missing(location, column, found, *count, &RustTerms))]
    Missing {
        /// Where the first one is.
        location: Location,
        /// Name or index of the column.
        column: String,
        /// What stands there.
        found: String,
        /// How many such cells there are, where they were counted; else 1.
        count: usize,
    },

    /// A requested column, array or entry does not exist.
    #[error("no {what} \"{}\"; available: {}", excerpt(name), if available.is_empty() { "none".into() } else { list_names(available) })]
    NoSuch {
        /// Column, array, entry.
        what: &'static str,
        /// The name asked for.
        name: String,
        /// What is there.
        available: Vec<String>,
    },

    /// A part of a data set of several files has other columns than the first.
    #[error("it has {what} in {first}; all parts of a data set have the same columns, in the same order")]
    OtherColumns {
        /// What is different: this part, then the first one.
        what: String,
        /// The first part.
        first: String,
    },

    /// The labels, ids or columns do not match the number of rows.
    #[error("{what} number {found}, the rows number {expected}")]
    Count {
        /// Labels, ids.
        what: &'static str,
        /// Rows of the data.
        expected: usize,
        /// Number found.
        found: usize,
    },

    /// A label file has more than one column.
    #[error("{}", not_labels(*line, *found, &RustTerms))]
    NotLabels {
        /// Line, from 1.
        line: u64,
        /// Fields found.
        found: usize,
    },

    /// The label file cannot be read.
    #[error("labels: {0}")]
    Labels(Box<FileError>),

    /// The values were rejected by the library.
    #[error(transparent)]
    Data(#[from] lowland::Error),
}

/// What to do about text where a number is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberRemedy {
    /// Name the column as the labels or ids.
    Column,
    /// Declare the line to be a header, or name the column as the labels or ids.
    HeaderOrColumn,
    /// What the format expects, as a clause without a period.
    Advice(&'static str),
}

/// Position in a file: lines are numbered from 1 as in editors, rows from 0 as in numpy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    /// Line of a text file, from 1.
    Line(u64),
    /// Row of an array, from 0.
    Row(usize),
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Location::Line(line) => write!(f, "line {line}"),
            Location::Row(row) => write!(f, "row {row} (from 0)"),
        }
    }
}

/// Result of a reader; the public functions add the path.
pub(crate) type Result<T, E = FileErrorKind> = std::result::Result<T, E>;

impl FileError {
    /// The message in the words of an interface.
    pub fn describe(&self, terms: &dyn Terms) -> String {
        format!("{}: {}", display_path(&self.path), self.kind.describe(terms))
    }
}

impl FileErrorKind {
    /// Returns whether reading would take more memory than allowed.
    pub fn is_too_large(&self) -> bool {
        match self {
            FileErrorKind::TooLarge { .. } => true,
            FileErrorKind::Labels(error) => error.kind.is_too_large(),
            _ => false,
        }
    }

    /// The message in the words of an interface.
    pub fn describe(&self, terms: &dyn Terms) -> String {
        match self {
            FileErrorKind::TooLarge { what, limit } => too_large(what, *limit, terms),
            FileErrorKind::Ragged { line, expected, found } => ragged(*line, *expected, *found, terms),
            FileErrorKind::Missing { location, column, found, count } => {
                missing(location, column, found, *count, terms)
            }
            FileErrorKind::NotNumber { location, column, found, remedy } => {
                not_number(location, column, found, *remedy, terms)
            }
            FileErrorKind::NotNumeric { column, content } => not_numeric(column, content, terms),
            FileErrorKind::NotLabels { line, found } => not_labels(*line, *found, terms),
            FileErrorKind::Labels(error) => format!("labels: {}", error.describe(terms)),
            FileErrorKind::Data(error) => error.describe(terms),
            _ => self.to_string(),
        }
    }

    /// Adds the path of the file.
    pub(crate) fn at(self, path: &Path) -> FileError {
        FileError { path: path.to_owned(), kind: self }
    }

    /// Creates a [`FileErrorKind::Format`].
    pub(crate) fn format(format: &'static str, reason: impl Into<String>) -> Self {
        FileErrorKind::Format { format, reason: reason.into() }
    }
}

fn too_large(what: &str, limit: u64, terms: &dyn Terms) -> String {
    let (limit, max_memory) = (lowland::data::format_bytes(limit), terms.parameter("max_memory"));
    let max_rows = terms.parameter("max_rows");
    format!(
        "{what} needs more memory than is left for this file ({limit}): free memory, raise {max_memory}, or read fewer \
         rows ({max_rows})"
    )
}

fn ragged(line: u64, expected: usize, found: usize, terms: &dyn Terms) -> String {
    let tabs = terms.setting("format", &"tsv");
    format!(
        "line {line} has {found} fields, the lines before it have {expected}: quote fields that contain the delimiter, \
         or name the right one ({tabs} for tabs)"
    )
}

fn missing(location: &Location, column: &str, found: &str, count: usize, terms: &dyn Terms) -> String {
    let (found, column) = (if found.is_empty() { "empty" } else { &excerpt(found) }, excerpt(column));
    let count = if count > 1 { format!(" ({count} such cells in all)") } else { String::new() };
    let drop = terms.setting("missing", &"drop");
    format!("{location}, column {column} is {found}{count}: fill such cells in, or leave such rows out with {drop}")
}

fn not_labels(line: u64, found: usize, terms: &dyn Terms) -> String {
    let label_column = terms.parameter("label_column");
    format!(
        "line {line} has {found} fields, but a file of labels holds one label per line (a header is allowed), an .npy or an \
         IDX array: keep only the column with the labels, or, if it is a column of the data file, name it with \
         {label_column}"
    )
}

fn not_number(location: &Location, column: &str, found: &str, remedy: NumberRemedy, terms: &dyn Terms) -> String {
    let remedy = match remedy {
        NumberRemedy::Column => column_remedy(terms),
        NumberRemedy::HeaderOrColumn => {
            let header = terms.setting("header", &"yes");
            format!("if this line holds the column names, use {header}; {}", column_remedy(terms))
        }
        NumberRemedy::Advice(advice) => advice.to_string(),
    };
    format!("{location}, column {}: \"{}\" is not a number; {remedy}", excerpt(column), excerpt(found))
}

fn not_numeric(column: &str, content: &str, terms: &dyn Terms) -> String {
    format!("column \"{}\" holds {content}, not numbers; {}", excerpt(column), column_remedy(terms))
}

fn column_remedy(terms: &dyn Terms) -> String {
    let (label, id) = (terms.parameter("label_column"), terms.parameter("id_column"));
    format!("if the column holds classes or names, name it with {label} or {id}")
}
