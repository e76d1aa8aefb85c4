//! Fitting, and the fitted model.

use std::path::PathBuf;

use lowland::params::Params;
use lowland::preprocessing::Preprocessing;
use lowland::registry::{MethodInfo, ParsedMethod};
use lowland::run::StopReason;
use lowland::{Data, FitOptions, Seed};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{Failure, PythonTerms};
use crate::graph::Graph;
use crate::rows::{Rows, map_to_array, to_array, to_map};
use crate::watch::{Listeners, Watched, watch};

/// A fitted model.
#[pyclass(frozen, name = "Model", module = "lowland._lowland")]
pub struct Model {
    inner: lowland::Model,
}

/// Array of coordinates, standard deviations, log-likelihoods.
type Places<'py> = (Bound<'py, PyArray2<f64>>, Option<Bound<'py, PyArray1<f64>>>, Option<Bound<'py, PyArray1<f64>>>);

/// Fits a method. Returns the model, and the exception that ended the fit early, if one did (Ctrl-C, or from a callback).
#[pyfunction]
#[pyo3(signature = (
    method, params, rows, *, preprocessing=Vec::new(), graph=None, init=None, seed=0, threads=None, max_memory=None,
    feature_names=Vec::new(), on_progress=None, on_note=None, on_step=None, every=50
))]
pub fn fit<'py>(
    py: Python<'py>,
    method: &str,
    params: Vec<(String, String)>,
    rows: Rows<'py>,
    preprocessing: Vec<(String, String)>,
    graph: Option<&Bound<'py, Graph>>,
    init: Option<PyReadonlyArray2<'py, f64>>,
    seed: u64,
    threads: Option<usize>,
    max_memory: Option<u64>,
    feature_names: Vec<String>,
    on_progress: Option<Bound<'py, PyAny>>,
    on_note: Option<Bound<'py, PyAny>>,
    on_step: Option<Bound<'py, PyAny>>,
    every: usize,
) -> PyResult<(Model, Option<Bound<'py, PyBaseException>>)> {
    let params: Vec<(&str, &str)> = params.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let ParsedMethod { method, landmarks } =
        MethodInfo::find(method).and_then(|info| info.parse(&params)).map_err(Failure::from)?;
    let mut steps = Preprocessing::default();
    for (name, text) in &preprocessing {
        steps.set(name, text).map_err(Failure::from)?;
    }
    let data = rows.to_data()?;
    drop(rows);
    let graph = graph.map(|graph| graph.get().inner.clone());
    let init = init.as_ref().map(to_map).transpose()?;
    let listeners = Listeners { on_progress, on_note, on_step, every };
    let Watched { result, raised } = watch(py, threads, &listeners, |watcher| {
        let options = FitOptions {
            seed: Seed(seed),
            preprocessing: steps,
            landmarks,
            neighbors: graph.as_deref(),
            init: init.as_ref(),
            feature_names,
            observer: Some(watcher),
            max_memory: max_memory.or_else(lowland_io::available_memory),
            ..FitOptions::default()
        };
        Ok(Model { inner: lowland::fit::fit(method, &data, options)? })
    })?;
    Ok((result, raised.map(|error| error.into_value(py).into_bound(py))))
}

#[pymethods]
impl Model {
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let read = move || -> Result<Self, Failure> {
            Ok(Self { inner: lowland::Model::from_bytes(&lowland_io::read_bytes(&path, u64::MAX)?)? })
        };
        Ok(py.detach(read)?)
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        Ok(py.detach(|| lowland_io::write_bytes(&path, &self.inner.to_bytes())).map_err(Failure::from)?)
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        Ok(Self { inner: py.detach(|| lowland::Model::from_bytes(bytes)).map_err(Failure::from)? })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.inner.to_bytes()))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((slf.getattr("from_bytes")?, (slf.get().to_bytes(slf.py()),)))
    }

    /// Places new rows. Returns coordinates, standard deviations and log-likelihoods, the last two where the method has them.
    #[pyo3(signature = (rows, threads=None))]
    fn transform<'py>(&self, py: Python<'py>, rows: Rows<'py>, threads: Option<usize>) -> PyResult<Places<'py>> {
        let data = rows.to_data()?;
        drop(rows);
        let Watched { result, raised } = watch(py, threads, &Listeners::default(), |watcher| {
            Ok(self.inner.transform_with(&data, &mut |done| watcher.progress("transform", done))?)
        })?;
        match raised {
            Some(error) => Err(error),
            None => Ok((
                map_to_array(py, &result.embedding)?,
                result.std.map(|std| std.into_pyarray(py)),
                result.log_likelihoods.map(|scores| scores.into_pyarray(py)),
            )),
        }
    }

    /// The log-likelihood of each row.
    #[pyo3(signature = (rows, threads=None))]
    fn score<'py>(
        &self,
        py: Python<'py>,
        rows: Rows<'py>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let data = rows.to_data()?;
        drop(rows);
        let Watched { result, raised } = watch(py, threads, &Listeners::default(), |watcher| {
            Ok(self.inner.score_with(&data, &mut |done| watcher.progress("scores", done))?)
        })?;
        raised.map_or(Ok(result.into_pyarray(py)), Err)
    }

    /// Rows that would have these places on the map.
    #[pyo3(signature = (points, threads=None))]
    fn inverse_transform<'py>(
        &self,
        py: Python<'py>,
        points: PyReadonlyArray2<'py, f64>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let points = to_map(&points)?;
        let Watched { result, raised } = watch(py, threads, &Listeners::default(), |watcher| {
            Ok(self.inner.inverse_transform_with(points.points(), &mut |done| watcher.progress("inverse", done))?)
        })?;
        match (result, raised) {
            (_, Some(error)) => Err(error),
            (Data::Dense(rows), None) => to_array(py, rows.values().to_vec(), rows.dim()),
            _ => Err(pyo3::exceptions::PyValueError::new_err("the inverse of this method is not rows of numbers")),
        }
    }

    fn embedding<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        map_to_array(py, self.inner.embedding())
    }

    /// The standard deviation of each row of the map, where the method knows one.
    fn std<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.inner.std().map(|std| std.into_pyarray(py))
    }

    /// The objective after each iteration; empty for direct methods and loaded models.
    fn objectives<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.inner.outcome().trace.iter().map(|step| step.objective).collect::<Vec<_>>().into_pyarray(py)
    }

    /// `converged`, `exhausted` or `stopped`.
    #[getter]
    fn stop_reason(&self) -> &'static str {
        match self.inner.outcome().stop_reason {
            StopReason::Converged => "converged",
            StopReason::Exhausted => "exhausted",
            StopReason::Stopped => "stopped",
        }
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.inner.notes().iter().map(|note| note.describe(&PythonTerms)).collect()
    }

    #[getter]
    fn method(&self) -> &'static str {
        self.inner.method().name()
    }

    /// The parameters, as text.
    #[getter]
    fn params(&self) -> Vec<(&'static str, String)> {
        self.inner.pipeline().values()
    }

    /// The steps before the method, as text.
    #[getter]
    fn preprocessing(&self) -> Vec<(&'static str, String)> {
        self.inner.preprocessing().values()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed().0
    }

    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.inner.feature_names().to_vec()
    }

    /// `dense`, `sparse` or `text`: what it was fitted on.
    #[getter]
    fn kind(&self) -> &str {
        self.inner.kind()
    }

    /// The number of columns; 0 for strings.
    #[getter]
    fn n_features(&self) -> usize {
        self.inner.n_features()
    }
}
