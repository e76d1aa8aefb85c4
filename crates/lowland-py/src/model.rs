//! Fitting and fitted models.

use std::path::PathBuf;
use std::time::Duration;

use lowland::growth::{self, AnchorStrength, SharedRow, rows_with_values};
use lowland::message::{Note, Remedy};
use lowland::params::{Params, parse};
use lowland::preprocessing::Preprocessing;
use lowland::registry::{MethodInfo, ParsedMethod};
use lowland::run::{Archive, ArchiveKind};
use lowland::{Data, Embedding, Error, FitOptions, FixedPositions, Labels, MemoryBudget, Seed, Target};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::{PyBaseException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::{PyFailure, PythonTerms};
use crate::graph::Graph;
use crate::panics::catch_panics;
use crate::rows::{Rows, embedding_to_array, to_array, to_embedding};
use crate::watch::{Callbacks, CheckpointSchedule, WatchOutput, watch};

/// A fitted model.
#[pyclass(frozen, name = "Model", module = "lowland._lowland")]
pub struct PyModel {
    pub inner: lowland::Model,
}

/// Rows for positions in the embedding, and their standard deviations.
type InverseArrays<'py> = (Bound<'py, PyArray2<f64>>, Option<Bound<'py, PyArray2<f64>>>);

/// Coordinates, standard deviations, log-likelihoods.
type TransformArrays<'py> =
    (Bound<'py, PyArray2<f64>>, Option<Bound<'py, PyArray1<f64>>>, Option<Bound<'py, PyArray1<f64>>>);

/// Fits a method. Returns the model, and the exception that ended the fit early (Ctrl-C or from a callback), if any.
#[pyfunction]
#[pyo3(signature = (
    method, params, rows, *, preprocessing=Vec::new(), graph=None, init=None, fixed=None, seed=0, threads=None, max_memory=None,
    feature_names=Vec::new(), on_progress=None, on_note=None, on_step=None, every=50, checkpoint=None, checkpoint_every=60.0,
    resume=None, single=false, inverse_covariance=None, target=None, continue_from=None, shared=None, anchor="exact", align_to=None
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
    checkpoint: Option<PathBuf>,
    checkpoint_every: f64,
    resume: Option<PathBuf>,
    single: bool,
    inverse_covariance: Option<PyReadonlyArray2<'py, f64>>,
    target: Option<Vec<String>>,
    continue_from: Option<Bound<'py, PyModel>>,
    shared: Option<Vec<SharedRow>>,
    anchor: &str,
    align_to: Option<PyReadonlyArray2<'py, f64>>,
) -> PyResult<(PyModel, Option<Bound<'py, PyBaseException>>)> {
    catch_panics(|| {
        let params: Vec<(&str, &str)> = params.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let ParsedMethod { method, landmarks } =
            MethodInfo::find(method).and_then(|info| info.parse(&params)).map_err(PyFailure::from)?;
        let mut steps = Preprocessing::default();
        for (name, text) in &preprocessing {
            steps.set(name, text).map_err(PyFailure::from)?;
        }
        if every == 0 {
            let (value, allowed) = ("0".into(), "at least 1".into());
            return Err(PyFailure::from(Error::Parameter { name: "callbacks_every_iters", value, allowed }).into());
        }
        let data = rows.to_data()?;
        drop(rows);
        let inverse_covariance: Option<Vec<f64>> =
            inverse_covariance.map(|matrix| matrix.as_array().iter().copied().collect());
        let graph = graph.map(|graph| graph.get().inner.clone());
        let init = init.as_ref().map(to_embedding).transpose()?;
        let target = target.map(|texts| Target::new(Labels::new(texts)));
        let fixed = match &fixed {
            Some(positions) => Some(known_positions("fixed", &to_embedding(positions)?, &data)?),
            None => None,
        };
        let anchor: AnchorStrength = parse("anchor", anchor).map_err(PyFailure::from)?;
        let positions = match &align_to {
            Some(positions) => Some(known_positions("align_to", &to_embedding(positions)?, &data)?),
            None => None,
        };
        let old = continue_from.as_ref().map(Bound::get);
        let checkpoints = checkpoint.map(|path| checkpoint_schedule(path, checkpoint_every)).transpose()?;
        let callbacks = Callbacks { on_progress, on_note, on_step, every, checkpoints };
        let memory = MemoryBudget::new(max_memory.or_else(lowland::available_memory));
        let resume = resume.map(|path| read_checkpoint(path, &memory)).transpose()?;
        // The fit starts its own threads and notes if they are fewer than requested.
        let WatchOutput { result, raised } = watch(py, Some(1), &callbacks, |watcher| {
            let anchors = match old {
                Some(old) => {
                    let data = data.with_offsets(old.inner.offsets().map(|offsets| &offsets[..]));
                    let shared = shared.unwrap_or_else(|| rows_with_values(&old.inner, &data));
                    let mut progress = |done| watcher.progress("placement", done);
                    Some(growth::anchors(&old.inner, &data, &shared, anchor, &mut progress)?)
                }
                None => None,
            };
            let options = FitOptions {
                seed: Seed(seed),
                preprocessing: steps,
                anchors: anchors.as_ref(),
                landmarks,
                neighbors: graph.as_deref(),
                init: init.as_ref(),
                fixed: fixed.as_ref(),
                target: target.as_ref(),
                feature_names,
                observer: Some(watcher),
                resume: resume.as_ref(),
                memory,
                threads: Some(threads.unwrap_or(0)),
                single_precision: single,
                inverse_covariance: inverse_covariance.as_deref(),
                ..FitOptions::default()
            };
            let mut inner = lowland::fit::fit(method, &data, options)?;
            if let Some(positions) = &positions {
                inner.align_to(positions)?;
            }
            Ok(PyModel { inner })
        })?;
        Ok((result, raised.map(|error| error.into_value(py).into_bound(py))))
    })
}

fn checkpoint_schedule(path: PathBuf, seconds: f64) -> PyResult<CheckpointSchedule> {
    let interval = Duration::try_from_secs_f64(seconds).map_err(|_| {
        PyValueError::new_err(format!("checkpoint_every={seconds}: expected a number of seconds, 0 or more"))
    })?;
    Ok(CheckpointSchedule { path, interval })
}

fn read_checkpoint(path: PathBuf, memory: &MemoryBudget) -> Result<Archive, PyFailure> {
    let bytes = lowland_io::read_bytes(&path, memory)?;
    memory.reserve(bytes.len() as u64);
    Archive::from_bytes(&bytes, ArchiveKind::Checkpoint).map_err(|error| PyFailure::Content(path, error))
}

/// Known positions, one per row of the data, NaN where they are unknown.
fn known_positions(name: &'static str, positions: &Embedding, data: &Data) -> Result<FixedPositions, PyFailure> {
    if positions.rows() != data.rows() {
        let what = match name {
            "align_to" => "rows of align_to (NaN where the position is unknown)",
            _ => "rows of fixed (NaN where the position is unknown)",
        };
        return Err(Error::Shape { what, expected: data.rows(), found: positions.rows() }.into());
    }
    Ok(FixedPositions::from_all_rows(positions)?)
}

/// Converts dense rows to an array.
fn dense_array<'py>(py: Python<'py>, rows: &Data) -> PyResult<Bound<'py, PyArray2<f64>>> {
    match rows {
        Data::Dense(rows) => to_array(py, rows.to_f64(), rows.dim()),
        _ => Err(PyValueError::new_err("the inverse of this method is not numeric")),
    }
}

#[pymethods]
impl PyModel {
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        catch_panics(|| {
            let read = move || -> Result<Self, PyFailure> {
                let memory = MemoryBudget::new(lowland::available_memory());
                let model = lowland::Model::from_bytes(&lowland_io::read_bytes(&path, &memory)?);
                Ok(Self { inner: model.map_err(|error| PyFailure::Content(path, error))? })
            };
            Ok(py.detach(read)?)
        })
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        catch_panics(|| {
            Ok(py.detach(|| lowland_io::write_bytes(&path, &self.inner.to_bytes())).map_err(PyFailure::from)?)
        })
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        catch_panics(|| Ok(Self { inner: py.detach(|| lowland::Model::from_bytes(bytes)).map_err(PyFailure::from)? }))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.inner.to_bytes()))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((slf.getattr("from_bytes")?, (slf.get().to_bytes(slf.py()),)))
    }

    /// Transforms new rows. Returns coordinates, standard deviations and log-likelihoods, the last two if the method has them.
    #[pyo3(signature = (rows, threads=None, exact=false))]
    fn transform<'py>(
        &self,
        py: Python<'py>,
        rows: Rows<'py>,
        threads: Option<usize>,
        exact: bool,
    ) -> PyResult<TransformArrays<'py>> {
        catch_panics(|| {
            let data = rows.to_new_rows(&self.inner)?;
            drop(rows);
            let WatchOutput { result, raised } = watch(py, threads, &Callbacks::default(), |watcher| {
                let mut progress = |done| watcher.progress("transform", done);
                match exact {
                    false => Ok(self.inner.transform_with(&data, &mut progress)?),
                    true => Ok(self.inner.transform_exactly_with(&data, &mut progress)?),
                }
            })?;
            match raised {
                Some(error) => Err(error),
                None => Ok((
                    embedding_to_array(py, &result.embedding)?,
                    result.std.map(|std| std.into_pyarray(py)),
                    result.log_likelihoods.map(|scores| scores.into_pyarray(py)),
                )),
            }
        })
    }

    /// Returns rows as the method compares them, after the preprocessing steps.
    fn preprocess<'py>(&self, py: Python<'py>, rows: Rows<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        catch_panics(|| {
            let data = rows.to_new_rows(&self.inner)?;
            drop(rows);
            match &self.inner.preprocess(&data).map_err(PyFailure::from)? {
                Data::Dense(rows) => to_array(py, rows.to_f64(), rows.dim()),
                _ => Err(PyValueError::new_err("expected dense rows of numbers")),
            }
        })
    }

    /// Returns the log-likelihood of each row.
    #[pyo3(signature = (rows, threads=None))]
    fn score<'py>(
        &self,
        py: Python<'py>,
        rows: Rows<'py>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        catch_panics(|| {
            let data = rows.to_new_rows(&self.inner)?;
            drop(rows);
            let WatchOutput { result, raised } = watch(py, threads, &Callbacks::default(), |watcher| {
                Ok(self.inner.score_with(&data, &mut |done| watcher.progress("scores", done))?)
            })?;
            raised.map_or(Ok(result.into_pyarray(py)), Err)
        })
    }

    /// Returns rows for positions in the embedding, in the units of the data.
    #[pyo3(signature = (points, threads=None))]
    fn inverse_transform<'py>(
        &self,
        py: Python<'py>,
        points: PyReadonlyArray2<'py, f64>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        catch_panics(|| {
            let points = to_embedding(&points)?;
            let WatchOutput { result, raised } = watch(py, threads, &Callbacks::default(), |watcher| {
                Ok(self.inner.inverse_transform_with(points.points(), &mut |done| watcher.progress("inverse", done))?)
            })?;
            raised.map_or_else(|| dense_array(py, &result), Err)
        })
    }

    /// Returns rows for positions in the embedding, and the standard deviation of every value if the method has one.
    #[pyo3(signature = (points, threads=None))]
    fn inverse_transform_std<'py>(
        &self,
        py: Python<'py>,
        points: PyReadonlyArray2<'py, f64>,
        threads: Option<usize>,
    ) -> PyResult<InverseArrays<'py>> {
        catch_panics(|| {
            let points = to_embedding(&points)?;
            let WatchOutput { result, raised } = watch(py, threads, &Callbacks::default(), |watcher| {
                Ok(self.inner.inverse_transform_std(points.points(), &mut |done| watcher.progress("inverse", done))?)
            })?;
            let (rows, std) = &result;
            match raised {
                Some(error) => Err(error),
                None => Ok((dense_array(py, rows)?, std.as_ref().map(|std| dense_array(py, std)).transpose()?)),
            }
        })
    }

    /// Returns the components of a linear method and their variances, or None.
    fn linear<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(found) = self.inner.principal_components() else { return Ok(None) };
        let result = PyDict::new(py);
        result.set_item("components", to_array(py, found.components, found.mean.len())?)?;
        for (name, values) in [
            ("mean", found.mean),
            ("singular_values", found.singular_values),
            ("explained_variance", found.explained_variance),
            ("explained_variance_ratio", found.explained_variance_ratio),
        ] {
            result.set_item(name, values.into_pyarray(py))?;
        }
        Ok(Some(result))
    }

    /// Returns the eigenvalues of the coordinates of isomap, or None.
    fn isomap<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(values) = self.inner.transformer().eigenvalues() else { return Ok(None) };
        let result = PyDict::new(py);
        result.set_item("eigenvalues", values.into_pyarray(py))?;
        Ok(Some(result))
    }

    /// Returns the distances of all training rows along the neighbor graph, computed again, or None.
    #[pyo3(signature = (threads=None))]
    fn geodesic_distances<'py>(
        &self,
        py: Python<'py>,
        threads: Option<usize>,
    ) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        catch_panics(|| {
            let WatchOutput { result, raised } = watch(py, threads, &Callbacks::default(), |watcher| {
                let transformer = self.inner.transformer();
                Ok(transformer.path_lengths(&mut |done| watcher.progress("shortest paths", done))?)
            })?;
            match raised {
                Some(error) => Err(error),
                None => result.map(|lengths| to_array(py, lengths, self.inner.embedding().rows())).transpose(),
            }
        })
    }

    /// Returns row pointers, columns and values of the fuzzy graph of umap, or None.
    #[pyo3(signature = (threads=None))]
    #[allow(clippy::type_complexity)]
    fn membership_graph<'py>(
        &self,
        py: Python<'py>,
        threads: Option<usize>,
    ) -> PyResult<Option<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>)>> {
        catch_panics(|| {
            let WatchOutput { result, raised } = watch(py, threads, &Callbacks::default(), |watcher| {
                Ok(self.inner.membership_graph(&mut |done| watcher.progress("neighbors", done))?)
            })?;
            raised.map_or(Ok(()), Err)?;
            Ok(result.map(|graph| {
                let starts: Vec<i64> = graph.indptr().iter().map(|&start| start as i64).collect();
                let columns: Vec<i64> = graph.indices().iter().map(|&column| i64::from(column)).collect();
                (starts.into_pyarray(py), columns.into_pyarray(py), graph.values().to_vec().into_pyarray(py))
            }))
        })
    }

    /// Returns the logarithms of the local radii in the data and on the map, if density is preserved.
    #[allow(clippy::type_complexity)]
    fn local_radii<'py>(&self, py: Python<'py>) -> Option<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
        let radii = self.inner.local_radii()?;
        Some((radii.original.clone().into_pyarray(py), radii.embedding.clone().into_pyarray(py)))
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
            let (rows, columns) = (cells.rows.into_pyarray(py), cells.columns.into_pyarray(py));
            (rows, columns, cells.means.into_pyarray(py), cells.std.into_pyarray(py))
        })
    }

    /// Returns the covariance of each row's position, if the method has one.
    fn covariances<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray3<f64>>>> {
        catch_panics(|| {
            let (rows, dim) = (self.inner.embedding().rows(), self.inner.embedding().dim());
            self.inner.covariances().map(|values| values.into_pyarray(py).reshape([rows, dim, dim])).transpose()
        })
    }

    /// Draws `count` embeddings from the posterior.
    #[pyo3(signature = (count, seed, max_memory=None))]
    fn samples<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        seed: u64,
        max_memory: Option<u64>,
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        catch_panics(|| {
            let (rows, dim) = (self.inner.embedding().rows(), self.inner.embedding().dim());
            let draw = || -> Result<Vec<f64>, PyFailure> {
                let memory = MemoryBudget::new(max_memory.or_else(lowland::available_memory));
                let result = (count as u64).saturating_mul((16 * rows * dim) as u64);
                let needed = self.inner.samples_memory(count).saturating_add(result);
                memory.check("the set of samples", needed, &[Remedy::RaiseMaxMemory, Remedy::FewerSamples])?;
                let maps = self.inner.samples(count, Seed(seed))?;
                Ok(maps.iter().flat_map(|map| map.values()).copied().collect())
            };
            py.detach(draw)?.into_pyarray(py).reshape([count, rows, dim])
        })
    }

    /// Returns the objective after each iteration; empty for direct methods and models saved by earlier versions.
    fn objectives<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.inner.outcome().trace.iter().map(|step| step.objective).collect::<Vec<_>>().into_pyarray(py)
    }

    /// `converged`, `exhausted` or `stopped`.
    #[getter]
    fn stop_reason(&self) -> &'static str {
        self.inner.outcome().stop_reason.name()
    }

    /// Level (`info` or `warning`), kind and text of every note.
    #[getter]
    fn note_records(&self) -> Vec<(&'static str, String, String)> {
        let record = |note: &Note| (note.level().name(), note.kind().into(), note.describe(&PythonTerms));
        self.inner.notes().iter().map(record).collect()
    }

    /// `float32` or `float64`: the type of the array that the model was fitted to.
    #[getter]
    fn fitted_dtype(&self) -> &'static str {
        if self.inner.single_precision() { "float32" } else { "float64" }
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.inner.notes().iter().map(|note| note.describe(&PythonTerms)).collect()
    }

    /// Returns the covariances of the positions of new rows.
    #[pyo3(signature = (rows, threads=None))]
    fn transform_covariances<'py>(
        &self,
        py: Python<'py>,
        rows: Rows<'py>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        catch_panics(|| {
            let data = rows.to_data()?;
            drop(rows);
            let WatchOutput { result, raised } = watch(py, threads, &Callbacks::default(), |watcher| {
                Ok(self.inner.transform_with(&data, &mut |done| watcher.progress("transform", done))?)
            })?;
            raised.map_or(Ok(()), Err)?;
            let dim = result.embedding.dim();
            let missing = || PyValueError::new_err("this method has no covariances");
            result.covariances.ok_or_else(missing)?.into_pyarray(py).reshape([data.rows(), dim, dim])
        })
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
