//! Errors as Python exceptions, with the parameter names of Python.

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
pub enum PyFailure {
    Library(Error),
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
            PyFailure::Picture(error) => PyValueError::new_err(error.to_string()),
            PyFailure::File(error) => {
                let message = error.to_string();
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
