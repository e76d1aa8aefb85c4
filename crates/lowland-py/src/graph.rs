//! The neighbor graph.

use std::path::PathBuf;
use std::sync::Arc;

use lowland::Metric;
use lowland::message::Remedy;
use lowland::neighbors::{self as search, NeighborGraph, NeighborParams};
use lowland::run::{Archive, ArchiveKind};
use lowland::{Error, Seed};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::Failure;
use crate::rows::{Rows, columns, starts};
use crate::watch::{Listeners, watch};

/// The neighbors of each row, from near to far; never changed, so that any number of fits may share one.
#[pyclass(frozen, name = "Graph", module = "lowland._lowland")]
pub struct Graph {
    pub inner: Arc<NeighborGraph>,
}

impl Graph {
    fn new(graph: NeighborGraph) -> Self {
        Self { inner: Arc::new(graph) }
    }
}

#[pymethods]
impl Graph {
    /// From the parts of a sparse matrix of distances: a row's edge to itself is left out.
    #[staticmethod]
    fn from_parts(
        indptr: PyReadonlyArray1<i64>,
        indices: PyReadonlyArray1<i64>,
        distances: PyReadonlyArray1<f32>,
        metric: &str,
    ) -> PyResult<Self> {
        let build = || -> Result<NeighborGraph, Failure> {
            let metric: Metric = metric.parse()?;
            let (starts, points) = (starts(&indptr)?, columns(&indices)?);
            let lengths = distances.as_array().to_vec();
            let rows = starts.len().saturating_sub(1);
            if !starts.is_sorted() || starts.last() != Some(&points.len()) || lengths.len() != points.len() {
                let reason = "indptr must rise from 0 to the number of edges, each with a distance".into();
                return Err(Error::Format { what: "neighbor graph", reason }.into());
            }
            let (mut bounds, mut others, mut kept) = (vec![0], Vec::new(), Vec::new());
            for i in 0..rows {
                for at in (starts[i]..starts[i + 1]).filter(|&at| points[at] as usize != i) {
                    others.push(points[at]);
                    kept.push(lengths[at]);
                }
                bounds.push(others.len());
            }
            Ok(NeighborGraph::new(bounds, others, kept, rows, metric)?)
        };
        Ok(Self::new(build()?))
    }

    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        Ok(Self::new(lowland_io::read_graph(&path).map_err(Failure::from)?))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let graph = Arc::clone(&self.inner);
        Ok(py.detach(move || lowland_io::write_graph(&path, &graph)).map_err(Failure::from)?)
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let load = || NeighborGraph::load("graph", &Archive::from_bytes(bytes, ArchiveKind::Model)?);
        Ok(Self::new(load().map_err(Failure::from)?))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let mut archive = Archive::new(ArchiveKind::Model);
        self.inner.save("graph", &mut archive);
        PyBytes::new(py, &archive.to_bytes())
    }

    fn indptr<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.inner.indptr().iter().map(|&start| start as i64).collect::<Vec<_>>().into_pyarray(py)
    }

    fn indices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.inner.indices().iter().map(|&point| i64::from(point)).collect::<Vec<_>>().into_pyarray(py)
    }

    fn distances<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f32>> {
        self.inner.distances().to_vec().into_pyarray(py)
    }

    #[getter]
    fn rows(&self) -> usize {
        self.inner.rows()
    }

    #[getter]
    fn min_degree(&self) -> usize {
        self.inner.min_degree()
    }

    #[getter]
    fn metric(&self) -> String {
        self.inner.metric().to_string()
    }
}

/// The nearest rows of every row, and the measured recall where the search was approximate.
#[pyfunction]
#[pyo3(signature = (rows, n_neighbors, metric, search, seed, threads=None, max_memory=None))]
pub fn neighbors(
    py: Python<'_>,
    rows: Rows,
    n_neighbors: usize,
    metric: &str,
    search: &str,
    seed: u64,
    threads: Option<usize>,
    max_memory: Option<u64>,
) -> PyResult<(Graph, Option<f64>)> {
    let data = rows.to_data()?;
    drop(rows);
    let (metric, search) = (metric.parse().map_err(Failure::from)?, search.parse().map_err(Failure::from)?);
    // As `lowland neighbors` does, so that both find the same graph.
    let params = NeighborParams { n_neighbors, metric, search, seed: Seed(seed).stream("neighbors") };
    let needed = data.shape().bytes.saturating_add(search::search_memory(data.shape(), metric, n_neighbors, search));
    if let Some(limit) = max_memory.or_else(lowland_io::available_memory).filter(|&limit| needed > limit) {
        let remedies = vec![Remedy::RaiseMaxMemory, Remedy::FewerRows, Remedy::FewerNeighbors];
        return Err(Failure::from(Error::Memory { what: "the search".into(), needed, limit, remedies }).into());
    }
    let found = watch(py, threads, &Listeners::default(), |watcher| {
        Ok(search::nearest_with(&data, &params, &mut |done| watcher.progress("neighbors", done))?)
    })?;
    match found.raised {
        Some(error) => Err(error),
        None => Ok((Graph::new(found.result.graph), found.result.recall.map(|recall| recall.value))),
    }
}
