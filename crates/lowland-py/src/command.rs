//! The `lowland` command, as the console script of the wheel runs it.

use std::ffi::OsString;
use std::process::ExitCode;

use pyo3::prelude::*;

use crate::panics::catch_panics;

/// Runs the command with these arguments, the name of the program first, and returns its exit code.
#[pyfunction]
pub fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<u8> {
    catch_panics(|| {
        let code = py.detach(|| lowland_cli::main_with(&arguments));
        // The number in an exit code cannot be read, only compared.
        Ok((0..u8::MAX).find(|&number| ExitCode::from(number) == code).unwrap_or(u8::MAX))
    })
}
