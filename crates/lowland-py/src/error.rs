//! Errors as Python exceptions, worded with Python's parameter names.

use lowland::Error;
use lowland::message::Terms;
use lowland_io::{FileError, FileErrorKind};
use lowland_view::PictureError;
use pyo3::PyErr;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyValueError};

/// Parameters as keyword arguments: `max_memory`, `landmarks=5000`.
pub struct PythonTerms;

impl Terms for PythonTerms {
    fn parameter(&self, name: &str) -> String {
        name.into()
    }

    fn setting(&self, name: &str, value: &dyn std::fmt::Display) -> String {
        match value.to_string() {
            text if text.parse::<f64>().is_ok() => format!("{name}={text}"),
            text => format!("{name}='{text}'"),
        }
    }
}

/// An error of the library, of a file or of a picture.
pub enum Failure {
    Library(Error),
    File(FileError),
    Picture(PictureError),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Library(error)
    }
}

impl From<PictureError> for Failure {
    fn from(error: PictureError) -> Self {
        match error {
            PictureError::Data(error) => Failure::Library(error),
            error => Failure::Picture(error),
        }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Failure::File(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Library(error) => {
                let words = error.describe(&PythonTerms);
                match error {
                    Error::Memory { .. } => PyMemoryError::new_err(words),
                    Error::Stopped { .. } => PyKeyboardInterrupt::new_err(words),
                    Error::Threads { .. } | Error::Numerical { .. } => PyRuntimeError::new_err(words),
                    _ => PyValueError::new_err(words),
                }
            }
            Failure::Picture(error) => PyValueError::new_err(error.to_string()),
            Failure::File(error) => {
                let words = error.to_string();
                match error.kind {
                    // With its number Python makes a FileNotFoundError of it, or whatever it is.
                    FileErrorKind::Io(cause) => match cause.raw_os_error() {
                        Some(code) => PyOSError::new_err((code, cause.to_string(), error.path)),
                        None => PyOSError::new_err(words),
                    },
                    FileErrorKind::TooLarge { .. } => PyMemoryError::new_err(words),
                    _ => PyValueError::new_err(words),
                }
            }
        }
    }
}
