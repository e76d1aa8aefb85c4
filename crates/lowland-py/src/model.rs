//! Fitting and fitted models.

use std::path::PathBuf;

use lowland::params::Params;
use lowland::preprocessing::Preprocessing;
use lowland::registry::{MethodInfo, ParsedMethod};
use lowland::run::StopReason;
use lowland::{Data, Embedding, Error, FitOptions, FixedPositions, MemoryBudget, Seed};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{PyFailure, PythonTerms};
use crate::graph::Graph;
use crate::rows::{Rows, embedding_to_array, to_array, to_embedding};
use crate::watch::{Callbacks, WatchOutput, watch};

/// A fitted model.
#[pyclass(frozen, name = "Model", module = "lowland._lowland")]
pub struct PyModel {
    inner: lowland::Model,
}

/// Coordinates, standard deviations, log-likelihoods.
type TransformArrays<'py> =
    (Bound<'py, PyArray2<f64>>, Option<Bound<'py, PyArray1<f64>>>, Option<Bound<'py, PyArray1<f64>>>);

/// Fits a method. Returns the model, and the exception that ended the fit early (Ctrl-C or from a callback), if any.
#[pyfunction]
#[pyo3(signature = (
    method, params, rows, *, preprocessing=Vec::new(), graph=None, init=None, fixed=None, seed=0, threads=None, max_memory=None,
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
    fixed: Option<PyReadonlyArray2<'py, f64>>,
    seed: u64,
    threads: Option<usize>,
    max_memory: Option<u64>,
    feature_names: Vec<String>,
    on_progress: Option<Bound<'py, PyAny>>,
    on_note: Option<Bound<'py, PyAny>>,
    on_step: Option<Bound<'py, PyAny>>,
    every: usize,
) -> PyResult<(PyModel, Option<Bound<'py, PyBaseException>>)> {
    let params: Vec<(&str, &str)> = params.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let ParsedMethod { method, landmarks } =
        MethodInfo::find(method).and_then(|info| info.parse(&params)).map_err(PyFailure::from)?;
    let mut steps = Preprocessing::default();
    for (name, text) in &preprocessing {
        steps.set(name, text).map_err(PyFailure::from)?;
    }
    let data = rows.to_data()?;
    drop(rows);
    let graph = graph.map(|graph| graph.get().inner.clone());
    let init = init.as_ref().map(to_embedding).transpose()?;
    let fixed = match &fixed {
        Some(positions) => Some(fixed_positions(&to_embedding(positions)?, &data)?),
        None => None,
    };
    let callbacks = Callbacks { on_progress, on_note, on_step, every };
    let WatchOutput { result, raised } = watch(py, threads, &callbacks, |watcher| {
        let options = FitOptions {
            seed: Seed(seed),
            preprocessing: steps,
            landmarks,
            neighbors: graph.as_deref(),
            init: init.as_ref(),
            fixed: fixed.as_ref(),
            feature_names,
            observer: Some(watcher),
            memory: MemoryBudget::new(max_memory.or_else(lowland::available_memory)),
            ..FitOptions::default()
        };
        Ok(PyModel { inner: lowland::fit::fit(method, &data, options)? })
    })?;
    Ok((result, raised.map(|error| error.into_value(py).into_bound(py))))
}

/// Known positions, one per row of the data, NaN where they are unknown.
fn fixed_positions(positions: &Embedding, data: &Data) -> Result<FixedPositions, PyFailure> {
    if positions.rows() != data.rows() {
        let what = "rows of fixed (NaN where the position is unknown)";
        return Err(Error::Shape { what, expected: data.rows(), found: positions.rows() }.into());
    }
    Ok(FixedPositions::from_all_rows(positions)?)
}

#[pymethods]
impl PyModel {
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let read = move || -> Result<Self, PyFailure> {
            let memory = MemoryBudget::new(lowland::available_memory());
            Ok(Self { inner: lowland::Model::from_bytes(&lowland_io::read_bytes(&path, &memory)?)? })
        };
        Ok(py.detach(read)?)
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        Ok(py.detach(|| lowland_io::write_bytes(&path, &self.inner.to_bytes())).map_err(PyFailure::from)?)
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        Ok(Self { inner: py.detach(|| lowland::Model::from_bytes(bytes)).map_err(PyFailure::from)? })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.inner.to_bytes()))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((slf.getattr("from_bytes")?, (slf.get().to_bytes(slf.py()),)))
    }

    /// Transforms new rows. Returns coordinates, standard deviations and log-likelihoods, the last two if the method has them.
    #[pyo3(signature = (rows, threads=None))]
    fn transform<'py>(
        &self,
        py: Python<'py>,
        rows: Rows<'py>,
        threads: Option<usize>,
    ) -> PyResult<TransformArrays<'py>> {
        let data = rows.to_data()?;
        drop(rows);
        let WatchOutput { result, raised } = watch(py, threads, &Callbacks::default(), |watcher| {
            Ok(self.inner.transform_with(&data, &mut |done| watcher.progress("transform", done))?)
        })?;
        match raised {
            Some(error) => Err(error),
            None => Ok((
                embedding_to_array(py, &result.embedding)?,
                result.std.map(|std| std.into_pyarray(py)),
                result.log_likelihoods.map(|scores| scores.into_pyarray(py)),
            )),
        }
    }

    /// Returns the log-likelihood of each row.
    #[pyo3(signature = (rows, threads=None))]
    fn score<'py>(
        &self,
        py: Python<'py>,
        rows: Rows<'py>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let data = rows.to_data()?;
        drop(rows);
        let WatchOutput { result, raised } = watch(py, threads, &Callbacks::default(), |watcher| {
            Ok(self.inner.score_with(&data, &mut |done| watcher.progress("scores", done))?)
        })?;
        raised.map_or(Ok(result.into_pyarray(py)), Err)
    }

    /// Returns rows for positions in the embedding.
    #[pyo3(signature = (points, threads=None))]
    fn inverse_transform<'py>(
        &self,
        py: Python<'py>,
        points: PyReadonlyArray2<'py, f64>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let points = to_embedding(&points)?;
        let WatchOutput { result, raised } = watch(py, threads, &Callbacks::default(), |watcher| {
            Ok(self.inner.inverse_transform_with(points.points(), &mut |done| watcher.progress("inverse", done))?)
        })?;
        match (result, raised) {
            (_, Some(error)) => Err(error),
            (Data::Dense(rows), None) => to_array(py, rows.values().to_vec(), rows.dim()),
            _ => Err(pyo3::exceptions::PyValueError::new_err("the inverse of this method is not numeric")),
        }
    }

    fn embedding<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        embedding_to_array(py, self.inner.embedding())
    }

    /// Returns the standard deviation of each row's position, if the method has one.
    fn std<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.inner.std().map(|std| std.into_pyarray(py))
    }

    /// Returns row, column, mean and standard deviation of the missing cells that the method has inferred, if there were any.
    #[allow(clippy::type_complexity)]
    fn inferred_cells<'py>(
        &self,
        py: Python<'py>,
    ) -> Option<(
        Bound<'py, PyArray1<u32>>,
        Bound<'py, PyArray1<u32>>,
        Bound<'py, PyArray1<f64>>,
        Bound<'py, PyArray1<f64>>,
    )> {
        self.inner.inferred_cells().map(|cells| {
            let (rows, columns) = (cells.rows.clone().into_pyarray(py), cells.columns.clone().into_pyarray(py));
            (rows, columns, cells.means.clone().into_pyarray(py), cells.std.clone().into_pyarray(py))
        })
    }

    /// Returns the objective after each iteration; empty for direct methods and loaded models.
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

    /// The preprocessing parameters, as text.
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

    /// Kind of the training data: `dense`, `sparse` or `text`.
    #[getter]
    fn kind(&self) -> &str {
        self.inner.kind()
    }

    /// Number of columns; 0 for strings.
    #[getter]
    fn n_features(&self) -> usize {
        self.inner.n_features()
    }
}
