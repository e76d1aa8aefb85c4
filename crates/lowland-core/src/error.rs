//! The error type of the library. Every variant says where the problem is, what was found, what is allowed, and how to
//! fix it.

use std::fmt;

use crate::bytes::format_bytes;
use crate::message::{Remedy, RustTerms, Terms, display_path, excerpt};

/// The result type of the library.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the library.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A cell is NaN or infinite.
    NotFinite {
        /// Row of the first such cell.
        row: usize,
        /// Column of the first such cell.
        column: usize,
        /// The value of that cell.
        value: f32,
        /// Number of such cells.
        count: usize,
        /// Name of the column, if it is known.
        name: Option<String>,
    },

    /// A value is too large for single precision.
    TooLarge {
        /// Row of the value.
        row: usize,
        /// Column of the value.
        column: usize,
        /// The value.
        value: f64,
    },

    /// All values of a column are too small for single precision.
    TooSmall {
        /// The column.
        column: usize,
        /// The largest magnitude.
        largest: f64,
    },

    /// All cells of a row or column are missing.
    NoValues {
        /// `row` or `column`.
        what: &'static str,
        /// Its index.
        index: usize,
    },

    /// Two sizes that must agree differ.
    Shape {
        /// What has the size.
        what: &'static str,
        /// The expected size.
        expected: usize,
        /// The size found.
        found: usize,
    },

    /// All points of the given initial embedding are at one place, from which nothing separates them.
    InitAtOnePoint {
        /// Number of points.
        rows: usize,
    },

    /// A coordinate of the given initial embedding is too large.
    InitTooLarge {
        /// Row of the first such coordinate.
        row: usize,
        /// Column of the first such coordinate.
        column: usize,
        /// The coordinate.
        value: f64,
        /// The largest coordinate allowed.
        limit: f64,
    },

    /// There are too few points.
    TooFewPoints {
        /// What needs the points.
        what: String,
        /// Number of points needed.
        needed: usize,
        /// Number of points found.
        found: usize,
        /// Possible fixes.
        remedies: Vec<Remedy>,
    },

    /// A parameter is outside its range or does not apply.
    Parameter {
        /// Name of the parameter, spelled with underscores.
        name: &'static str,
        /// Value of the parameter.
        value: String,
        /// What is allowed.
        allowed: String,
    },

    /// A parameter that takes one or several values has none.
    EmptyParameter {
        /// Name of the parameter, spelled with underscores.
        name: &'static str,
        /// Description of the accepted values.
        expected: &'static str,
    },

    /// An option cannot be combined with fixed positions.
    FixedPositions {
        /// Number of rows with fixed positions.
        fixed: usize,
        /// The option.
        conflict: &'static str,
    },

    /// Two data sets have no row in common.
    NoSharedRows {
        /// The data sets.
        what: String,
        /// What to do.
        remedies: Vec<Remedy>,
    },

    /// The target says nothing about the rows.
    Target {
        /// Why not.
        reason: String,
        /// What to do.
        remedies: Vec<Remedy>,
    },

    /// The metric cannot be used with this data.
    Metric {
        /// Name of the metric.
        metric: String,
        /// Why not, and what to use instead.
        reason: String,
    },

    /// Data of this kind cannot be used here.
    Kind {
        /// What cannot use the data.
        what: &'static str,
        /// Kind of the data: dense, sparse or text.
        kind: &'static str,
        /// Possible fixes.
        remedies: Vec<Remedy>,
    },

    /// A computation needs more memory than allowed.
    Memory {
        /// The computation.
        what: String,
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
        /// Possible fixes.
        remedies: Vec<Remedy>,
    },

    /// A saved model, checkpoint or graph cannot be used.
    Format {
        /// Model, checkpoint or graph.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },

    /// A file could not be read or written.
    File {
        /// Its path.
        path: std::path::PathBuf,
        /// Message of the operating system.
        reason: String,
    },

    /// A numerical routine failed and has no fallback.
    Numerical {
        /// The routine.
        what: &'static str,
        /// Why it failed.
        reason: String,
    },

    /// The observer asked to stop before there was an embedding to keep.
    Stopped {
        /// The stage that was running.
        stage: &'static str,
    },

    /// A graphics card cannot be used.
    Device {
        /// The device, such as `cuda:0`.
        device: String,
        /// Why not.
        reason: String,
        /// Possible fixes.
        remedies: Vec<Remedy>,
    },

    /// The thread pool could not be built.
    Threads {
        /// Why not.
        reason: String,
    },
}

impl Error {
    /// Adds the path of the file that the error is about.
    pub fn in_file(self, path: &std::path::Path) -> Self {
        match self {
            Error::Format { .. } => Error::File { path: path.to_owned(), reason: self.to_string() },
            other => other,
        }
    }

    /// Adds the name of the column, for errors about a cell.
    pub fn with_column_names(self, names: &[String]) -> Self {
        match self {
            Error::NotFinite { row, column, value, count, name } => {
                Error::NotFinite { row, column, value, count, name: name.or_else(|| names.get(column).cloned()) }
            }
            other => other,
        }
    }

    /// Returns the message in the terms of an interface.
    pub fn describe(&self, terms: &dyn Terms) -> String {
        match self {
            Error::NotFinite { row, column, value, count, name } => format!(
                "row {row}, column {column}{} is {value} (counting from 0; {count} such {}): values must be finite.{}",
                name.as_ref().map_or(String::new(), |name| format!(" ({:?})", excerpt(name))),
                if *count == 1 { "cell in total" } else { "cells in total" },
                Remedy::sentence(&[Remedy::DropMissingRows], terms)
            ),
            Error::NoValues { what, index } => {
                format!("{what} {index} (counting from 0) has no values: all of its cells are missing. Leave it out.")
            }
            Error::TooLarge { row, column, value } => format!(
                "row {row}, column {column} is {value:e} (counting from 0): too large for 32-bit floats, which end at 3.4e38; \
                 scale the column"
            ),
            Error::TooSmall { column, largest } => format!(
                "column {column} (counting from 0) has no value above {largest:e}: too small for 32-bit floats, which begin at \
                 1.2e-38; scale the column"
            ),
            Error::Shape { what, expected, found } => format!("{what}: expected {expected}, found {found}"),
            Error::InitAtOnePoint { rows } => format!(
                "all {rows} points of the initial embedding are at one place, and nothing would separate them.{}",
                Remedy::sentence(&[Remedy::Set { name: "init", value: "random" }], terms)
            ),
            Error::InitTooLarge { row, column, value, limit } => format!(
                "row {row}, column {column} of the initial embedding is {value:e} (counting from 0): coordinates are at \
                 most {limit:e}, since points affect each other over distances of about one; divide the initial embedding \
                 by its standard deviation"
            ),
            Error::TooFewPoints { what, needed, found, remedies } => format!(
                "{what} needs at least {needed} {}, found {found}.{}",
                if *needed == 1 { "point" } else { "points" },
                Remedy::sentence(remedies, terms)
            ),
            Error::Parameter { name, value, allowed } => format!("{}: {allowed}", terms.setting(name, value)),
            Error::EmptyParameter { name, expected } => {
                format!("{}: expected {expected}; the list is empty", terms.parameter(name))
            }
            Error::FixedPositions { fixed, conflict } => format!(
                "{} ({fixed} rows) takes the place of the fit and cannot be combined with {}.{}",
                terms.parameter("fixed"),
                terms.parameter(conflict),
                Remedy::sentence(&[Remedy::Omit(conflict), Remedy::Omit("fixed")], terms)
            ),
            Error::NoSharedRows { what, remedies } => {
                format!("{what} have no row in common.{}", Remedy::sentence(remedies, terms))
            }
            Error::Target { reason, remedies } => {
                format!("{}: {reason}.{}", terms.parameter("target"), Remedy::sentence(remedies, terms))
            }
            Error::Metric { metric, reason } => format!("metric {metric} {reason}"),
            Error::Kind { what, kind, remedies } => {
                format!("{what} cannot use {kind} data.{}", Remedy::sentence(remedies, terms))
            }
            Error::Memory { what, needed, limit, remedies } => format!(
                "{what} needs about {} of memory, the limit is {}.{}",
                format_bytes(*needed),
                format_bytes(*limit),
                Remedy::sentence(remedies, terms)
            ),
            Error::Format { what, reason } => format!("not a usable {what}: {reason}"),
            Error::File { path, reason } => format!("{}: {reason}", display_path(path)),
            Error::Numerical { what, reason } => format!("{what} failed: {reason}"),
            Error::Stopped { stage } => format!("stopped during {stage}, before there was an embedding to keep"),
            Error::Device { device, reason, remedies } => {
                format!("{device}: {reason}.{}", Remedy::sentence(remedies, terms))
            }
            Error::Threads { reason } => format!("cannot start the threads: {reason}"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(&RustTerms))
    }
}

impl std::error::Error for Error {}
