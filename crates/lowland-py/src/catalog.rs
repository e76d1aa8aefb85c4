//! The methods there are, and the data sets that need no file.

use lowland::params::{ParamSpec, Params};
use lowland::preprocessing::Preprocessing;
use lowland::registry::METHODS;
use lowland::{Data, Seed};
use numpy::PyArray2;
use pyo3::prelude::*;

use crate::error::Failure;
use crate::rows::{map_to_array, to_array};

type Spec = (&'static str, String, &'static str, &'static str);

/// Every method: name, summary, advice, parameters as `(name, default, help, what it takes)`.
#[pyfunction]
pub fn methods() -> Vec<(&'static str, &'static str, &'static str, Vec<Spec>)> {
    METHODS
        .iter()
        .map(|info| (info.name, info.summary, info.advice, info.params().into_iter().map(spec).collect()))
        .collect()
}

/// The steps before a method, as parameters: the same for every method.
#[pyfunction]
pub fn preprocessing() -> Vec<Spec> {
    Preprocessing::specs().into_iter().map(spec).collect()
}

fn spec(spec: ParamSpec) -> Spec {
    (spec.name, spec.default, spec.help, spec.expects)
}

/// The built-in data sets: name, description, rows, columns.
#[pyfunction]
pub fn datasets() -> Vec<(&'static str, &'static str, usize, usize)> {
    lowland_io::builtins().iter().map(|set| (set.name, set.description, set.rows, set.dim)).collect()
}

type DataSet<'py> = (Bound<'py, PyArray2<f32>>, Option<(Vec<u32>, Vec<String>)>, Option<Bound<'py, PyArray2<f64>>>);

/// A built-in data set: rows, classes as codes and names, true coordinates.
#[pyfunction]
#[pyo3(signature = (name, n_points=None, noise=None, seed=0))]
pub fn dataset<'py>(
    py: Python<'py>,
    name: &str,
    n_points: Option<usize>,
    noise: Option<f64>,
    seed: u64,
) -> PyResult<DataSet<'py>> {
    let table = lowland_io::builtin(name, n_points, noise, Seed(seed)).map_err(Failure::from)?;
    let rows = match &table.data {
        Data::Dense(rows) => to_array(py, rows.values().to_vec(), rows.dim())?,
        _ => return Err(pyo3::exceptions::PyValueError::new_err(format!("{name}: not rows of numbers"))),
    };
    let classes = table.labels.map(|labels| (labels.codes, labels.names));
    let truth = table.truth.as_ref().map(|truth| map_to_array(py, truth)).transpose()?;
    Ok((rows, classes, truth))
}
