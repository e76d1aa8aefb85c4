//! Fitting, and the fitted model.

use std::collections::HashMap;
use std::path::PathBuf;

use lowland::archive::{Archive, Kind};
use lowland::methods::{Fitted, Job, Placed};
use lowland::params::Params;
use lowland::run::{Ended, Limits};
use lowland::{Data, Seed};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::Failure;
use crate::graph::Graph;
use crate::rows::{Rows, map_to_array, to_array, to_map};
use crate::watch::{Listeners, Watched, watch};

/// Where the model file keeps the hashes of the training rows; the command line has no use for them.
const HASHES: &str = "python/rows";

/// A fitted map.
#[pyclass(frozen, name = "Model", module = "lowland._lowland")]
pub struct Model {
    fitted: Fitted,
    /// Dense, sparse or text.
    kind: String,
    /// Training row by its hash. scikit-learn asks of `transform` that it leaves training rows where `fit_transform` put
    /// them; row by row, so that a row's place never depends on its batch.
    rows: HashMap<u64, u32>,
}

/// Array of coordinates, standard deviations, log-likelihoods.
type Places<'py> = (Bound<'py, PyArray2<f64>>, Option<Bound<'py, PyArray1<f64>>>, Option<Bound<'py, PyArray1<f64>>>);

/// Fits: `prepare` are the steps before the method, by name. Gives the model, and the exception that ended the fit early if one did: Ctrl-C, or a callback's.
#[pyfunction]
#[pyo3(signature = (
    method, params, rows, *, prepare=Vec::new(), graph=None, start=None, seed=0, threads=None, max_memory=None,
    feature_names=Vec::new(), on_progress=None, on_note=None, on_step=None, every=50
))]
pub fn fit<'py>(
    py: Python<'py>,
    method: &str,
    params: Vec<(String, String)>,
    rows: Rows<'py>,
    prepare: Vec<(String, String)>,
    graph: Option<&Bound<'py, Graph>>,
    start: Option<PyReadonlyArray2<'py, f64>>,
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
    let mut job = Job::new(method, &params, Seed(seed)).map_err(Failure::from)?;
    for (name, text) in &prepare {
        job.prepare.set(name, text).map_err(Failure::from)?;
    }
    let data = rows.to_data()?;
    drop(rows);
    let graph = graph.map(|graph| graph.get().inner.clone());
    let start = start.as_ref().map(to_map).transpose()?;
    let max_memory = max_memory.or_else(lowland_io::available_memory);
    let limits = Limits { max_memory, start, ..Limits::default() };
    let listeners = Listeners { on_progress, on_note, on_step, every };
    let Watched { result, raised } = watch(py, threads, &listeners, |watcher| {
        let mut fitted = job.fit(&data, graph.as_deref(), &limits, watcher)?;
        fitted.feature_names = feature_names;
        let hashes = (0..data.rows()).map(|i| data.row_hash(i));
        Ok(Model { fitted, kind: data.kind().into(), rows: first_rows(hashes) })
    })?;
    Ok((result, raised.map(|error| error.into_value(py).into_bound(py))))
}

/// The first row of each hash.
fn first_rows(hashes: impl Iterator<Item = u64>) -> HashMap<u64, u32> {
    let mut rows = HashMap::new();
    hashes.zip(0..).for_each(|(hash, row)| {
        rows.entry(hash).or_insert(row);
    });
    rows
}

impl Model {
    fn archive(&self) -> Archive {
        let mut archive = self.fitted.to_archive();
        let mut hashes: Vec<(u32, u64)> = self.rows.iter().map(|(&hash, &row)| (row, hash)).collect();
        hashes.sort_unstable();
        // Rows that repeat an earlier one have no hash of their own: pairs of row and hash.
        archive.put(HASHES, hashes.into_iter().flat_map(|(row, hash)| [u64::from(row), hash]).collect::<Vec<_>>());
        archive
    }

    fn from_archive(bytes: &[u8]) -> Result<Self, Failure> {
        let archive = Archive::from_bytes(bytes, Kind::Model)?;
        let fitted = Fitted::from_archive(&archive)?;
        let points = fitted.embedding.rows() as u64;
        let mut rows = HashMap::new();
        if archive.has(HASHES) {
            // A row that is not on the map is a damaged file's; without it nothing is lost.
            let pairs = archive.u64s(HASHES)?.chunks_exact(2).filter(|pair| pair[0] < points);
            rows.extend(pairs.map(|pair| (pair[1], pair[0] as u32)));
        }
        Ok(Self { fitted, kind: archive.text("data/kind")?.into(), rows })
    }

    /// Training rows stay where they are.
    fn recall(&self, new: &Data, placed: &mut Placed) {
        if self.rows.is_empty() {
            return;
        }
        let (dim, std) = (self.fitted.embedding.dim(), self.fitted.std());
        let mut values = std::mem::replace(&mut placed.embedding, self.fitted.embedding.clone()).into_values();
        for i in 0..new.rows() {
            let Some(&row) = self.rows.get(&new.row_hash(i)) else { continue };
            values[i * dim..(i + 1) * dim].copy_from_slice(self.fitted.embedding.row(row as usize));
            if let (Some(own), Some(known)) = (&mut placed.std, &std) {
                own[i] = known[row as usize];
            }
        }
        placed.embedding = lowland::Embedding::new(values, dim).expect("whole rows");
    }
}

#[pymethods]
impl Model {
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let read = move || -> Result<Self, Failure> { Self::from_archive(&lowland_io::read_bytes(&path, u64::MAX)?) };
        Ok(py.detach(read)?)
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        Ok(py.detach(|| lowland_io::write_bytes(&path, &self.archive().to_bytes())).map_err(Failure::from)?)
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        Ok(py.detach(|| Self::from_archive(bytes))?)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.archive().to_bytes()))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((slf.getattr("from_bytes")?, (slf.get().to_bytes(slf.py()),)))
    }

    /// New rows on the map: coordinates, standard deviations, log-likelihoods; the last two where the method knows them.
    #[pyo3(signature = (rows, threads=None))]
    fn place<'py>(&self, py: Python<'py>, rows: Rows<'py>, threads: Option<usize>) -> PyResult<Places<'py>> {
        let data = rows.to_data()?;
        drop(rows);
        let Watched { result, raised } = watch(py, threads, &Listeners::default(), |watcher| {
            let mut placed = self.fitted.place(&data, &mut |done| watcher.progress("transform", done))?;
            self.recall(&data, &mut placed);
            Ok(placed)
        })?;
        match raised {
            Some(error) => Err(error),
            None => Ok((
                map_to_array(py, &result.embedding)?,
                result.std.map(|std| std.into_pyarray(py)),
                result.scores.map(|scores| scores.into_pyarray(py)),
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
            Ok(self.fitted.score(&data, &mut |done| watcher.progress("scores", done))?)
        })?;
        raised.map_or(Ok(result.into_pyarray(py)), Err)
    }

    /// Rows that would have these places on the map.
    #[pyo3(signature = (points, threads=None))]
    fn inverse<'py>(
        &self,
        py: Python<'py>,
        points: PyReadonlyArray2<'py, f64>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let points = to_map(&points)?;
        let Watched { result, raised } = watch(py, threads, &Listeners::default(), |watcher| {
            Ok(self.fitted.inverse(points.points(), &mut |done| watcher.progress("inverse", done))?)
        })?;
        match (result, raised) {
            (_, Some(error)) => Err(error),
            (Data::Dense(rows), None) => to_array(py, rows.values().to_vec(), rows.dim()),
            _ => Err(pyo3::exceptions::PyValueError::new_err("the inverse of this method is not rows of numbers")),
        }
    }

    fn embedding<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        map_to_array(py, &self.fitted.embedding)
    }

    /// The standard deviation of each row of the map, where the method knows one.
    fn std<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.fitted.std().map(|std| std.into_pyarray(py))
    }

    /// The objective after each iteration; empty for direct methods and loaded models.
    fn trace<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.fitted.outcome.trace.iter().map(|step| step.objective).collect::<Vec<_>>().into_pyarray(py)
    }

    /// `converged`, `exhausted` or `stopped`.
    #[getter]
    fn ended(&self) -> &'static str {
        match self.fitted.outcome.ended {
            Ended::Converged => "converged",
            Ended::Exhausted => "exhausted",
            Ended::Stopped => "stopped",
        }
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.fitted.notes.clone()
    }

    #[getter]
    fn method(&self) -> &'static str {
        self.fitted.job.method.name()
    }

    /// The parameters, as text.
    #[getter]
    fn params(&self) -> Vec<(&'static str, String)> {
        self.fitted.job.method.values()
    }

    /// The steps before the method, as text.
    #[getter]
    fn preparation(&self) -> Vec<(&'static str, String)> {
        self.fitted.job.prepare.values()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.fitted.job.seed.0
    }

    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.fitted.feature_names.clone()
    }

    /// `dense`, `sparse` or `text`: what it was fitted on.
    #[getter]
    fn kind(&self) -> &str {
        &self.kind
    }

    /// The number of columns; 0 for strings.
    #[getter]
    fn columns(&self) -> usize {
        self.fitted.columns()
    }
}
