//! Python bindings: the Rust part of the Python package `lowland`.
//!
//! Methods are selected by name with parameters as text, as on the command line, so that a new method needs no change here.
//! `python/src/lowland/_lowland.pyi` describes the interface.

mod catalog;
mod command;
mod device;
mod divided;
mod edges;
mod error;
mod graph;
mod method_choice;
mod model;
mod panics;
mod picture;
mod quality;
mod rows;
mod select;
mod sequence;
mod spectrum;
mod steps;
mod trust;
mod view;
mod watch;

use pyo3::prelude::*;

/// The module `lowland._lowland`.
#[pymodule]
mod _lowland {
    use super::*;

    #[pymodule_export]
    use catalog::{dataset, datasets, methods, preprocessing, required_neighbors};
    #[pymodule_export]
    use command::run_command;
    #[pymodule_export]
    use device::{devices, set_device};
    #[pymodule_export]
    use divided::{EmbeddingPart, PyDividedMethod};
    #[pymodule_export]
    use edges::compare_edges;
    #[pymodule_export]
    use graph::{Graph, neighbors};
    #[pymodule_export]
    use method_choice::choose_method;
    #[pymodule_export]
    use model::{PyModel, fit};
    #[pymodule_export]
    use picture::{
        draw, embedded_fonts, islands, label_places, palette_classes, palette_names, palette_scale, plain_text,
    };
    #[pymodule_export]
    use quality::{analogies, angle_histogram, angles, procrustes, report, report_of_model};
    #[pymodule_export]
    use select::choose;
    #[pymodule_export]
    use sequence::fit_sequence;
    #[pymodule_export]
    use spectrum::fit_spectrum;
    #[pymodule_export]
    use steps::{
        StudentField, entropic_weights, laplacian_eigenvectors, nearest_to, smallest_eigenpairs, umap_curve,
        umap_layout, umap_memberships, umap_new_memberships, umap_placement,
    };
    #[pymodule_export]
    use trust::{assess, instability};
    #[pymodule_export]
    use view::{page, write_file};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        panics::install_hook();
        #[cfg(debug_assertions)]
        module.add_function(wrap_pyfunction!(panics::testing::panic_next, module)?)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
