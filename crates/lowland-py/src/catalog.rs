//! Descriptions of the methods and the built-in data sets.

use lowland::params::{ParamSpec, Params};
use lowland::preprocessing::Preprocessing;
use lowland::registry::{METHODS, MethodInfo};
use lowland::{Data, Seed};
use numpy::PyArray2;
use pyo3::prelude::*;

use crate::error::PyFailure;
use crate::panics::catch_panics;
use crate::rows::{embedding_to_array, to_array};

/// Name, default, help, accepted values.
type ParamTuple = (&'static str, String, &'static str, &'static str);

/// Returns every method: name, summary, advice, parameters as `(name, default, help, accepted values)`.
#[pyfunction]
pub fn methods() -> Vec<(&'static str, &'static str, &'static str, Vec<ParamTuple>)> {
    METHODS
        .iter()
        .map(|info| (info.name, info.summary, info.advice, info.params().into_iter().map(to_tuple).collect()))
        .collect()
}

/// Returns the parameters of preprocessing, which all methods share.
#[pyfunction]
pub fn preprocessing() -> Vec<ParamTuple> {
    Preprocessing::specs().into_iter().map(to_tuple).collect()
}

/// Returns the number of neighbors per row that a fit of the method to `rows` rows needs; 0 if it uses no neighbor graph.
#[pyfunction]
pub fn required_neighbors(method: &str, params: Vec<(String, String)>, rows: usize) -> PyResult<usize> {
    catch_panics(|| {
        let params: Vec<(&str, &str)> = params.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let parsed = MethodInfo::find(method).and_then(|info| info.parse(&params)).map_err(PyFailure::from)?;
        // The graph of landmarks is not that of all rows.
        Ok(if parsed.landmarks.is_some() { 0 } else { parsed.method.required_neighbors(rows) })
    })
}

fn to_tuple(spec: ParamSpec) -> ParamTuple {
    (spec.name, spec.default, spec.help, spec.expects)
}

/// Returns the built-in data sets: name, description, rows, columns.
#[pyfunction]
pub fn datasets() -> Vec<(&'static str, &'static str, usize, usize)> {
    lowland_io::builtins().iter().map(|set| (set.name, set.description, set.rows, set.dim)).collect()
}

type DataSet<'py> = (Bound<'py, PyArray2<f32>>, Option<(Vec<u32>, Vec<String>)>, Option<Bound<'py, PyArray2<f64>>>);

/// Returns a built-in data set: rows, classes as codes and names, true coordinates.
#[pyfunction]
#[pyo3(signature = (name, n_points=None, noise=None, seed=0))]
pub fn dataset<'py>(
    py: Python<'py>,
    name: &str,
    n_points: Option<usize>,
    noise: Option<f64>,
    seed: u64,
) -> PyResult<DataSet<'py>> {
    catch_panics(|| {
        let table = lowland_io::builtin(name, n_points, noise, Seed(seed)).map_err(PyFailure::from)?;
        let rows = match &table.data {
            Data::Dense(rows) => to_array(py, rows.values().to_vec(), rows.dim())?,
            _ => return Err(pyo3::exceptions::PyValueError::new_err(format!("{name}: not a numeric data set"))),
        };
        let classes = table.labels.map(|labels| (labels.codes, labels.names));
        let truth = table.truth.as_ref().map(|truth| embedding_to_array(py, truth)).transpose()?;
        Ok((rows, classes, truth))
    })
}
