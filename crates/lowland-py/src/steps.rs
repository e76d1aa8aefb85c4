//! Steps of the methods one by one, for the drop-in replacements of `lowland.compat`.

use std::sync::{Mutex, PoisonError};

use lowland::methods::Umap;
use lowland::neighbors::{NeighborGraph, nearest_to_with};
use lowland::params::parse;
use lowland::run::{Context, Observer};
use lowland::steps::{self, Csr, Eigenpairs, Memberships, TailKernel};
use lowland::{Embedding, MemoryBudget, Metric, Seed};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::error::PyFailure;
use crate::graph::Graph;
use crate::panics::catch_panics;
use crate::rows::{Rows, column_indices, embedding_to_array, row_starts, to_array, to_embedding};
use crate::watch::{Callbacks, WatchOutput, watch};

/// The arrays of a sparse matrix: row pointers, column indices, values, and the number of columns.
type SparseArrays<'py> = (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, f64>, usize);

fn to_matrix((indptr, indices, values, columns): &SparseArrays) -> Result<Csr, PyFailure> {
    Ok(Csr::new(row_starts(indptr)?, column_indices(indices)?, values.as_array().to_vec(), *columns)?)
}

/// Returns the result of work unless an exception ended it.
fn result_of<T>(output: WatchOutput<T>) -> PyResult<T> {
    output.raised.map_or(Ok(output.result), Err)
}

/// Weights of the neighbors of each row, and the bandwidths.
type WeightArrays<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

/// Returns weights of the given perplexity for distances, and the bandwidth of each row.
#[pyfunction]
#[pyo3(signature = (distances, perplexity, threads=None))]
pub fn entropic_weights<'py>(
    py: Python<'py>,
    distances: PyReadonlyArray2<'py, f64>,
    perplexity: f64,
    threads: Option<usize>,
) -> PyResult<WeightArrays<'py>> {
    catch_panics(|| {
        let columns = distances.as_array().ncols();
        let mut rows: Vec<f64> = distances.as_array().iter().copied().collect();
        let bandwidths = result_of(watch(py, threads, &Callbacks::default(), |_| {
            Ok(steps::entropic_weights(&mut rows, columns, perplexity)?)
        })?)?;
        Ok((to_array(py, rows, columns)?, bandwidths.into_pyarray(py)))
    })
}

/// Eigenvalues and eigenvectors, one per column.
type EigenArrays<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>, bool);

fn to_eigen_arrays(py: Python<'_>, found: Eigenpairs) -> PyResult<EigenArrays<'_>> {
    let count = found.values.len();
    Ok((found.values.into_pyarray(py), to_array(py, found.vectors, count)?, found.report.converged))
}

/// Returns the smallest eigenvalues of the normalized Laplacian of a connected graph, except zero, their eigenvectors, and whether the
/// solver converged.
#[pyfunction]
#[pyo3(signature = (weights, count, tolerance, seed, threads=None))]
pub fn laplacian_eigenvectors<'py>(
    py: Python<'py>,
    weights: SparseArrays<'py>,
    count: usize,
    tolerance: f64,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<EigenArrays<'py>> {
    catch_panics(|| {
        let weights = to_matrix(&weights)?;
        let found = result_of(watch(py, threads, &Callbacks::default(), |watcher| {
            let mut context = limited_context(watcher, seed);
            Ok(steps::laplacian_eigenvectors(&weights, count, tolerance, &mut context)?)
        })?)?;
        to_eigen_arrays(py, found)
    })
}

/// Returns the smallest eigenvalues of a positive semidefinite matrix that maps the constant vector to zero, except that one.
#[pyfunction]
#[pyo3(signature = (matrix, count, seed, threads=None))]
pub fn smallest_eigenpairs<'py>(
    py: Python<'py>,
    matrix: SparseArrays<'py>,
    count: usize,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<EigenArrays<'py>> {
    catch_panics(|| {
        let matrix = to_matrix(&matrix)?;
        let found = result_of(watch(py, threads, &Callbacks::default(), |watcher| {
            let mut context = limited_context(watcher, seed);
            Ok(steps::smallest_eigenpairs(&matrix, count, &mut context)?)
        })?)?;
        to_eigen_arrays(py, found)
    })
}

fn limited_context(observer: &mut dyn Observer, seed: u64) -> Context<'_> {
    let mut context = Context::new(observer, Seed(seed), None);
    context.set_memory_limit(lowland::available_memory());
    context
}

/// The forces of t-SNE for given affinities.
#[pyclass(frozen, module = "lowland._lowland")]
pub struct StudentField {
    inner: Mutex<steps::StudentField>,
}

#[pymethods]
impl StudentField {
    #[new]
    #[pyo3(signature = (affinities, scale, power, dim, engine, accuracy))]
    fn new(
        affinities: SparseArrays,
        scale: f64,
        power: f64,
        dim: usize,
        engine: &str,
        accuracy: f64,
    ) -> PyResult<Self> {
        catch_panics(|| {
            let build = || -> Result<_, PyFailure> {
                let engine = parse("engine", engine)?;
                let kernel = TailKernel { scale, power };
                Ok(steps::StudentField::new(to_matrix(&affinities)?, kernel, dim, engine, accuracy)?)
            };
            Ok(Self { inner: Mutex::new(build()?) })
        })
    }

    /// Returns the field at the points, and the divergence if it is asked for.
    #[pyo3(signature = (points, map=None, exaggeration=1.0, with_divergence=false, threads=None))]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        points: PyReadonlyArray2<'py, f64>,
        map: Option<PyReadonlyArray2<'py, f64>>,
        exaggeration: f64,
        with_divergence: bool,
        threads: Option<usize>,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Option<f64>)> {
        catch_panics(|| {
            let points = to_embedding(&points)?;
            let map = map.as_ref().map(to_embedding).transpose()?;
            let mut field = vec![0.0; points.values().len()];
            let evaluated = py.detach(|| {
                lowland::with_threads(threads, || {
                    let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
                    let map = map.as_ref().map(Embedding::points);
                    inner.evaluate(points.points(), map, exaggeration, with_divergence, &mut field)
                })
            });
            let divergence = evaluated.and_then(|result| result).map_err(PyFailure::from)?;
            Ok((to_array(py, field, points.dim())?, divergence))
        })
    }
}

/// Indices of neighbors, and the distances to them.
type NeighborArrays<'py> = (Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f32>>);

/// Returns the nearest rows of `data` to each of the `new` rows, as arrays with `n_neighbors` columns.
#[pyfunction]
#[pyo3(signature = (new, data, n_neighbors, metric, threads=None))]
pub fn nearest_to<'py>(
    py: Python<'py>,
    new: Rows<'py>,
    data: Rows<'py>,
    n_neighbors: usize,
    metric: &str,
    threads: Option<usize>,
) -> PyResult<NeighborArrays<'py>> {
    catch_panics(|| {
        // Both are rounded in the same way.
        let data = data.to_data()?;
        let new = new.to_data_like(&data)?;
        let metric: Metric = metric.parse().map_err(PyFailure::from)?;
        let graph = result_of(watch(py, threads, &Callbacks::default(), |watcher| {
            let mut progress = |done| watcher.progress("neighbors", done);
            metric.check(&data)?;
            let (new, data) = (metric.rows_to_compare(&new), metric.rows_to_compare(&data));
            Ok(nearest_to_with(&new, &data, n_neighbors.min(data.rows()), metric, &mut progress)?)
        })?)?;
        let columns = graph.min_degree();
        let indices = graph.indices().iter().map(|&j| i64::from(j)).collect();
        Ok((to_array(py, indices, columns)?, to_array(py, graph.distances().to_vec(), columns)?))
    })
}

fn umap_from_text(params: &[(String, String)]) -> Result<Umap, PyFailure> {
    let mut method = Umap::default();
    for (name, text) in params {
        lowland::params::Params::set(&mut method, name, text)?;
    }
    lowland::method::Method::validate(&method)?;
    Ok(method)
}

/// The fuzzy graph as the arrays of a sparse matrix, and the distance `rho` and bandwidth `sigma` of each row.
type MembershipArrays<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
);

/// Returns the fuzzy graph of a neighbor graph.
#[pyfunction]
#[pyo3(signature = (params, graph, threads=None))]
pub fn umap_memberships<'py>(
    py: Python<'py>,
    params: Vec<(String, String)>,
    graph: &Bound<'py, Graph>,
    threads: Option<usize>,
) -> PyResult<MembershipArrays<'py>> {
    catch_panics(|| {
        let graph = graph.get().inner.clone();
        let Memberships { weights, rho, sigma } = result_of(watch(py, threads, &Callbacks::default(), |_| {
            Ok(umap_from_text(&params)?.memberships(&graph)?)
        })?)?;
        let indptr: Vec<i64> = weights.indptr().iter().map(|&start| start as i64).collect();
        let indices: Vec<i64> = weights.indices().iter().map(|&column| i64::from(column)).collect();
        Ok((
            indptr.into_pyarray(py),
            indices.into_pyarray(py),
            weights.values().to_vec().into_pyarray(py),
            rho.into_pyarray(py),
            sigma.into_pyarray(py),
        ))
    })
}

/// Returns `a` and `b` of the similarity curve.
#[pyfunction]
pub fn umap_curve(params: Vec<(String, String)>) -> PyResult<(f64, f64)> {
    catch_panics(|| {
        let curve = umap_from_text(&params)?.similarity_curve().map_err(PyFailure::from)?;
        Ok((curve.a, curve.b))
    })
}

/// A layout, and the logarithms of the local radii of the rows and of their points, if there are any.
type LayoutArrays<'py> = (Bound<'py, PyArray2<f64>>, Option<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)>);

/// Lays out a graph of memberships between the rows.
#[pyfunction]
#[pyo3(signature = (params, rows, weights, init=None, distances=None, seed=0, threads=None, on_step=None, every=1))]
pub fn umap_layout<'py>(
    py: Python<'py>,
    params: Vec<(String, String)>,
    rows: Rows<'py>,
    weights: SparseArrays<'py>,
    init: Option<PyReadonlyArray2<'py, f64>>,
    distances: Option<&Bound<'py, Graph>>,
    seed: u64,
    threads: Option<usize>,
    on_step: Option<Bound<'py, PyAny>>,
    every: usize,
) -> PyResult<LayoutArrays<'py>> {
    catch_panics(|| {
        let data = rows.to_data()?;
        drop(rows);
        let weights = to_matrix(&weights)?;
        let init = init.as_ref().map(to_embedding).transpose()?;
        let callbacks = Callbacks { on_step, every, ..Callbacks::default() };
        let distances = distances.map(|graph| graph.get().inner.clone());
        let (embedding, radii) = result_of(watch(py, threads, &callbacks, |watcher| {
            let method = umap_from_text(&params)?;
            data.check_finite()?;
            let memory = MemoryBudget::new(lowland::available_memory());
            let needed = lowland::method::Method::memory(&method, data.shape());
            memory.check("the layout", needed, &[lowland::message::Remedy::FewerRows])?;
            let mut context = limited_context(watcher, seed);
            context.announce_stages(&lowland::method::Method::stages(&method, data.shape())[2..])?;
            context.set_init(init.as_ref());
            Ok(method.lay_out(&data, &weights, distances.as_deref(), &mut context)?)
        })?)?;
        let radii = radii.map(|radii| (radii.original.into_pyarray(py), radii.embedding.into_pyarray(py)));
        Ok((embedding_to_array(py, &embedding)?, radii))
    })
}

/// Returns the memberships of the edges from new rows to rows of a layout.
#[pyfunction]
#[pyo3(signature = (params, indices, distances, rows, mean_distance))]
pub fn umap_new_memberships<'py>(
    py: Python<'py>,
    params: Vec<(String, String)>,
    indices: SparseIndices<'py>,
    distances: PyReadonlyArray1<'py, f32>,
    rows: usize,
    mean_distance: f64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    catch_panics(|| {
        let graph = new_neighbors(&indices, &distances, rows)?;
        Ok(umap_from_text(&params)?.new_memberships(&graph, mean_distance).into_pyarray(py))
    })
}

fn new_neighbors(
    (indptr, columns): &SparseIndices,
    distances: &PyReadonlyArray1<f32>,
    rows: usize,
) -> Result<NeighborGraph, PyFailure> {
    let distances = distances.as_array().to_vec();
    let (indptr, columns) = (row_starts(indptr)?, column_indices(columns)?);
    Ok(NeighborGraph::new(indptr, columns, distances, rows, Metric::Precomputed)?)
}

/// Places new rows on a layout, given their nearest rows of it.
#[pyfunction]
#[pyo3(signature = (params, map, indices, distances, mean_distance, seed=0, threads=None))]
pub fn umap_placement<'py>(
    py: Python<'py>,
    params: Vec<(String, String)>,
    map: PyReadonlyArray2<'py, f64>,
    indices: SparseIndices<'py>,
    distances: PyReadonlyArray1<'py, f32>,
    mean_distance: f64,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    catch_panics(|| {
        let map = to_embedding(&map)?;
        let graph = new_neighbors(&indices, &distances, map.rows())?;
        let placed = result_of(watch(py, threads, &Callbacks::default(), |watcher| {
            let method = umap_from_text(&params)?;
            let mut progress = |done| watcher.progress("transform", done);
            Ok(method.place(map.points(), &graph, mean_distance, Seed(seed), &mut progress)?)
        })?)?;
        embedding_to_array(py, &placed)
    })
}

/// Row pointers and column indices.
type SparseIndices<'py> = (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>);
