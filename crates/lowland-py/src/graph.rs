//! The neighbor graph.

use std::path::PathBuf;
use std::sync::Arc;

use lowland::message::Remedy;
use lowland::neighbors::{self as search, Combination, NeighborGraph, NeighborParams, combine_graphs};
use lowland::params::parse;
use lowland::preprocessing::rows_for_metric;
use lowland::run::{Archive, ArchiveKind};
use lowland::{Error, MemoryBudget, Metric, Seed};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::PyFailure;
use crate::panics::catch_panics;
use crate::rows::{Rows, column_indices, row_starts};
use crate::watch::{Callbacks, watch};

/// The neighbors of each row, sorted by distance. Immutable, so that several fits can share it.
#[pyclass(frozen, name = "Graph", module = "lowland._lowland")]
pub struct Graph {
    pub inner: Arc<NeighborGraph>,
}

impl Graph {
    pub fn new(graph: NeighborGraph) -> Self {
        Self { inner: Arc::new(graph) }
    }
}

#[pymethods]
impl Graph {
    /// Creates a graph from the arrays of a sparse matrix of distances. Edges from a row to itself are dropped.
    #[staticmethod]
    fn from_parts(
        indptr: PyReadonlyArray1<i64>,
        indices: PyReadonlyArray1<i64>,
        distances: PyReadonlyArray1<f32>,
        metric: &str,
    ) -> PyResult<Self> {
        catch_panics(|| {
            let build = || -> Result<NeighborGraph, PyFailure> {
                let metric: Metric = metric.parse()?;
                let (starts, points) = (row_starts(&indptr)?, column_indices(&indices)?);
                let lengths = distances.as_array().to_vec();
                let rows = starts.len().saturating_sub(1);
                if !starts.is_sorted() || starts.last() != Some(&points.len()) || lengths.len() != points.len() {
                    let reason =
                        "indptr must increase from 0 to the number of edges, and each edge needs a distance".into();
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
                Ok(NeighborGraph::from_other_program(bounds, others, kept, rows, metric)?)
            };
            Ok(Self::new(build()?))
        })
    }

    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        catch_panics(|| Ok(Self::new(lowland_io::read_graph(&path).map_err(PyFailure::from)?)))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        catch_panics(|| {
            let graph = Arc::clone(&self.inner);
            Ok(py.detach(move || lowland_io::write_graph(&path, &graph)).map_err(PyFailure::from)?)
        })
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        catch_panics(|| {
            let load = || NeighborGraph::load("graph", &Archive::from_bytes(bytes, ArchiveKind::Model)?);
            Ok(Self::new(load().map_err(PyFailure::from)?))
        })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let mut archive = Archive::new(ArchiveKind::Model);
        self.inner.save("graph", &mut archive);
        PyBytes::new(py, &archive.to_bytes())
    }

    /// Combines graphs over the same rows into one of memberships.
    #[staticmethod]
    fn combine(py: Python<'_>, graphs: Vec<Bound<'_, Graph>>, how: &str, weight: f64) -> PyResult<Self> {
        catch_panics(|| {
            let how: Combination = parse("how", how).map_err(PyFailure::from)?;
            let graphs: Vec<Arc<NeighborGraph>> = graphs.iter().map(|graph| graph.get().inner.clone()).collect();
            let graphs: Vec<&NeighborGraph> = graphs.iter().map(|graph| &**graph).collect();
            Ok(Self::new(py.detach(|| combine_graphs(&graphs, how, weight)).map_err(PyFailure::from)?))
        })
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

/// Returns the nearest neighbors of every row, and the measured recall if the search was approximate.
#[pyfunction]
#[pyo3(signature = (rows, n_neighbors, metric, search, seed, threads=None, max_memory=None, inverse_covariance=None))]
pub fn neighbors(
    py: Python<'_>,
    rows: Rows,
    n_neighbors: usize,
    metric: &str,
    search: &str,
    seed: u64,
    threads: Option<usize>,
    max_memory: Option<u64>,
    inverse_covariance: Option<PyReadonlyArray2<f64>>,
) -> PyResult<(Graph, Option<f64>)> {
    catch_panics(|| {
        let data = rows.to_data()?;
        drop(rows);
        let inverse_covariance: Option<Vec<f64>> =
            inverse_covariance.map(|matrix| matrix.as_array().iter().copied().collect());
        let (metric, search) = (metric.parse().map_err(PyFailure::from)?, search.parse().map_err(PyFailure::from)?);
        // The same stream as `lowland neighbors`, so that both return the same graph.
        let params = NeighborParams { n_neighbors, metric, search, seed: Seed(seed).stream("neighbors") };
        let needed =
            data.shape().bytes.saturating_add(search::search_memory(data.shape(), metric, n_neighbors, search));
        let memory = MemoryBudget::new(max_memory.or_else(lowland::available_memory));
        let remedies = [Remedy::RaiseMaxMemory, Remedy::FewerRows, Remedy::FewerNeighbors];
        memory.check("the search", needed, &remedies).map_err(PyFailure::from)?;
        let found = watch(py, threads, &Callbacks::default(), |watcher| {
            let data = rows_for_metric(&data, metric, inverse_covariance.as_deref())?;
            Ok(search::nearest_with(&data, &params, &mut |done| watcher.progress("neighbors", done))?)
        })?;
        match found.raised {
            Some(error) => Err(error),
            None => Ok((Graph::new(found.result.graph), found.result.recall.map(|recall| recall.value))),
        }
    })
}
