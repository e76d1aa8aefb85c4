//! The Rust half of the Python package `lowland`: wrapping only.
//!
//! Everything goes by method name and parameters as text, as on the command line, so that a new method needs no line here.
//! `python/src/lowland/_lowland.pyi` describes what Python sees.

mod catalog;
mod error;
mod graph;
mod model;
mod quality;
mod rows;
mod select;
mod view;
mod watch;

use pyo3::prelude::*;

/// The module `lowland._lowland`.
#[pymodule]
mod _lowland {
    use super::*;

    #[pymodule_export]
    use catalog::{dataset, datasets, methods, preprocessing};
    #[pymodule_export]
    use graph::{Graph, neighbors};
    #[pymodule_export]
    use model::{Model, fit};
    #[pymodule_export]
    use quality::{analogies, angle_histogram, angles, procrustes, report};
    #[pymodule_export]
    use select::choose;
    #[pymodule_export]
    use view::page;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
