//! Errors as Python exceptions, with the parameter names of Python.

use std::fmt::Display;
use std::path::PathBuf;

use lowland::Error;
use lowland::message::{Terms, display_path};
use lowland::registry::MethodInfo;
use lowland_io::{FileError, FileErrorKind};
use lowland_view::PictureError;
use pyo3::PyErr;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyValueError};

/// Parameters as keyword arguments: `max_memory`, `landmarks=5000`. Methods are classes: `lowland.TSNE`.
pub struct PythonTerms;

impl Terms for PythonTerms {
    fn drop_missing(&self) -> String {
        "X[numpy.isfinite(X).all(axis=1)]".into()
    }

    fn parameter(&self, name: &str) -> String {
        match name {
            // A reserved word.
            "lambda" => "lambda_".into(),
            "count" => "n_samples".into(),
            "target" => "y".into(),
            name => name.into(),
        }
    }

    fn setting(&self, name: &str, value: &dyn Display) -> String {
        let text = value.to_string();
        match (name, MethodInfo::find(&text)) {
            ("method", Ok(info)) => format!("lowland.{}", info.class_name),
            _ => format!("{}={}", self.parameter(name), literal(&text)),
        }
    }
}

/// The value of a parameter as Python writes it.
fn literal(text: &str) -> String {
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    match text {
        "true" => "True".into(),
        "false" => "False".into(),
        _ if is_number(text) => text.into(),
        _ if text.split(',').all(is_number) => format!("[{}]", text.replace(',', ", ")),
        _ => format!("'{text}'"),
    }
}

/// An error of the library, of a file or of a picture.
pub enum PyFailure {
    Library(Error),
    /// The content of a file cannot be used.
    Content(PathBuf, Error),
    File(FileError),
    Picture(PictureError),
}

impl From<Error> for PyFailure {
    fn from(error: Error) -> Self {
        PyFailure::Library(error)
    }
}

impl From<PictureError> for PyFailure {
    fn from(error: PictureError) -> Self {
        match error {
            PictureError::Data(error) => PyFailure::Library(error),
            error => PyFailure::Picture(error),
        }
    }
}

impl From<FileError> for PyFailure {
    fn from(error: FileError) -> Self {
        PyFailure::File(error)
    }
}

impl From<PyFailure> for PyErr {
    fn from(failure: PyFailure) -> Self {
        match failure {
            PyFailure::Library(error) => {
                let message = error.describe(&PythonTerms);
                match error {
                    Error::Memory { .. } => PyMemoryError::new_err(message),
                    Error::Stopped { .. } => PyKeyboardInterrupt::new_err(message),
                    Error::Threads { .. } | Error::Numerical { .. } => PyRuntimeError::new_err(message),
                    _ => PyValueError::new_err(message),
                }
            }
            PyFailure::Content(path, error) => {
                PyValueError::new_err(format!("{}: {}", display_path(&path), error.describe(&PythonTerms)))
            }
            PyFailure::Picture(error) => PyValueError::new_err(error.to_string()),
            PyFailure::File(error) => {
                let message = error.describe(&PythonTerms);
                match error.kind {
                    // From the error code, Python chooses the subclass, such as FileNotFoundError.
                    FileErrorKind::Io(cause) => match cause.raw_os_error() {
                        Some(code) => PyOSError::new_err((code, cause.to_string(), error.path)),
                        None => PyOSError::new_err(message),
                    },
                    FileErrorKind::TooLarge { .. } => PyMemoryError::new_err(message),
                    _ => PyValueError::new_err(message),
                }
            }
        }
    }
}
