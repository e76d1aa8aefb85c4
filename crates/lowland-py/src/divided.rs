//! Embeddings of rows that are divided among several processes, which `lowland.dask` starts and connects.

use std::sync::{Mutex, PoisonError};

use lowland::Error;
use lowland::divided::{DividedAffinities, DividedEmbedding, DividedMethod, ForceSums};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::error::PyFailure;
use crate::panics::catch_panics;
use crate::rows::to_array;

/// A one-dimensional array.
type Array1<'py> = Bound<'py, PyArray1<f64>>;
/// A method with its parameters, for a number of rows in all.
#[pyclass(frozen, name = "DividedMethod", module = "lowland._lowland")]
pub struct PyDividedMethod {
    method: DividedMethod,
    points: usize,
}

#[pymethods]
impl PyDividedMethod {
    #[new]
    fn new(method: &str, parameters: Vec<(String, String)>, points: usize) -> PyResult<Self> {
        catch_panics(|| {
            let values: Vec<(&str, &str)> = parameters.iter().map(|(name, text)| (&name[..], &text[..])).collect();
            Ok(Self { method: DividedMethod::new(method, &values, points).map_err(PyFailure::from)?, points })
        })
    }

    /// Number of dimensions of the map.
    #[getter]
    fn n_components(&self) -> usize {
        self.method.settings(self.points).dim
    }

    /// Number of neighbors of each row.
    #[getter]
    fn n_neighbors(&self) -> usize {
        self.method.neighbors()
    }

    #[getter]
    fn metric(&self) -> String {
        self.method.metric().to_string()
    }

    #[getter]
    fn tolerance(&self) -> f64 {
        self.method.tolerance()
    }

    #[getter]
    fn max_iter(&self) -> usize {
        self.method.stop_rule().0
    }

    #[getter]
    fn tol(&self) -> f64 {
        self.method.stop_rule().1
    }

    #[getter]
    fn init_size(&self) -> f64 {
        self.method.init_size()
    }

    /// Returns the affinities of rows to their neighbors, in the shape of the distances.
    fn row_affinities<'py>(
        &self,
        py: Python<'py>,
        distances: PyReadonlyArray2<'py, f32>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        catch_panics(|| {
            let k = distances.as_array().ncols();
            let lengths: Vec<f32> = distances.as_array().iter().copied().collect();
            let found = py.detach(|| self.method.row_affinities(&lengths, k)).map_err(PyFailure::from)?;
            to_array(py, found, k)
        })
    }
}

/// The points of one process. Its methods are those of `DividedEmbedding`.
#[pyclass(frozen, name = "EmbeddingPart", module = "lowland._lowland")]
pub struct EmbeddingPart {
    inner: Mutex<DividedEmbedding>,
}

/// Sums that all processes need the total of, as numbers in a fixed order: the potential, the attraction's value, its constant, the
/// squared size, then the sums of the attraction and of the repulsion for each coordinate.
fn to_numbers(sums: &ForceSums) -> Vec<f64> {
    let ForceSums { potential, attraction, repulsion, attraction_value, constant, size } = sums;
    [&[*potential, *attraction_value, *constant, *size], &attraction[..], &repulsion[..]].concat()
}

fn from_numbers(numbers: &[f64]) -> lowland::Result<ForceSums> {
    let &[potential, attraction_value, constant, size, ref rest @ ..] = numbers else {
        return Err(Error::Shape { what: "sums of forces", expected: 4, found: numbers.len() });
    };
    let (attraction, repulsion) = rest.split_at(rest.len() / 2);
    let (attraction, repulsion) = (attraction.to_vec(), repulsion.to_vec());
    Ok(ForceSums { potential, attraction, repulsion, attraction_value, constant, size })
}

impl EmbeddingPart {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut DividedEmbedding) -> lowland::Result<T> + Send,
    ) -> PyResult<T> {
        catch_panics(|| {
            let found = py.detach(|| work(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner)));
            Ok(found.map_err(PyFailure::from)?)
        })
    }
}

#[pymethods]
impl EmbeddingPart {
    /// Creates a part from triplets (row, column, value): rows are points of the part, columns beyond their number are copies. Values of
    /// the same row and column are added up, in order; those on the diagonal are left out.
    #[new]
    fn new(
        py: Python<'_>,
        method: &PyDividedMethod,
        start: PyReadonlyArray2<f64>,
        copies: usize,
        triplets: (PyReadonlyArray1<i64>, PyReadonlyArray1<i64>, PyReadonlyArray1<f64>),
    ) -> PyResult<Self> {
        catch_panics(|| {
            let own = start.as_array().nrows();
            let start: Vec<f64> = start.as_array().iter().copied().collect();
            let (rows, columns, values) = triplets;
            let (rows, columns) = (rows.as_array().to_vec(), columns.as_array().to_vec());
            let values = values.as_array().to_vec();
            let settings = method.method.settings(method.points);
            let build = || {
                let affinities = merge_triplets(own, copies, &rows, &columns, &values)?;
                DividedEmbedding::new(settings, affinities, start)
            };
            Ok(Self { inner: Mutex::new(py.detach(build).map_err(PyFailure::from)?) })
        })
    }

    /// Sum of each coordinate, and their bounds as pairs.
    fn sums_and_bounds(&self, py: Python<'_>) -> PyResult<(Vec<f64>, Vec<[f64; 2]>)> {
        self.with(py, |part| Ok(part.sums_and_bounds()))
    }

    fn begin<'py>(
        &self,
        py: Python<'py>,
        mean: Vec<f64>,
        bounds: Vec<[f64; 2]>,
        accuracy: f64,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self.with(py, |part| part.begin(&mean, &bounds, accuracy))?.into_pyarray(py))
    }

    fn positions_of<'py>(
        &self,
        py: Python<'py>,
        points: PyReadonlyArray1<'py, u32>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let points = points.as_array().to_vec();
        Ok(self.with(py, |part| part.positions_of(&points))?.into_pyarray(py))
    }

    fn forces(
        &self,
        py: Python<'_>,
        grid: PyReadonlyArray1<f64>,
        copies: PyReadonlyArray1<f64>,
        with_value: bool,
    ) -> PyResult<Vec<f64>> {
        let (grid, copies) = (grid.as_array().to_vec(), copies.as_array().to_vec());
        self.with(py, |part| Ok(to_numbers(&part.forces(&grid, &copies, with_value)?)))
    }

    fn step(&self, py: Python<'_>, iteration: usize, total: Vec<f64>) -> PyResult<f64> {
        self.with(py, |part| part.step(iteration, &from_numbers(&total)?))
    }

    fn value(&self, py: Python<'_>, iteration: usize, total: Vec<f64>) -> PyResult<f64> {
        self.with(py, |part| Ok(part.value(iteration, &from_numbers(&total)?)))
    }

    fn has_pending_changes(&self, py: Python<'_>, iteration: usize) -> PyResult<bool> {
        self.with(py, |part| Ok(part.has_pending_changes(iteration)))
    }

    /// Positions in units of the kernel and gradients read off the grid of some points.
    fn grid_gradients<'py>(
        &self,
        py: Python<'py>,
        points: PyReadonlyArray1<'py, u32>,
    ) -> PyResult<(Array1<'py>, Array1<'py>)> {
        let points = points.as_array().to_vec();
        let (positions, gradients) = self.with(py, |part| Ok(part.grid_gradients(&points)))?;
        Ok((positions.into_pyarray(py), gradients.into_pyarray(py)))
    }

    fn exact_gradients<'py>(
        &self,
        py: Python<'py>,
        targets: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let targets = targets.as_array().to_vec();
        Ok(self.with(py, |part| part.exact_gradients(&targets))?.into_pyarray(py))
    }

    /// Positions, last steps and gains.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyArray1<f64>>>> {
        let state = self.with(py, |part| Ok(part.state().map(<[f64]>::to_vec)))?;
        Ok(state.into_iter().map(|values| values.into_pyarray(py)).collect())
    }

    fn restore(
        &self,
        py: Python<'_>,
        positions: PyReadonlyArray1<f64>,
        update: PyReadonlyArray1<f64>,
        gains: PyReadonlyArray1<f64>,
    ) -> PyResult<()> {
        let state = [positions, update, gains].map(|values| values.as_array().to_vec());
        self.with(py, |part| part.restore([&state[0], &state[1], &state[2]]))
    }
}

/// Sorts triplets by row and column, and adds up those of the same place.
fn merge_triplets(
    own: usize,
    copies: usize,
    rows: &[i64],
    columns: &[i64],
    values: &[f64],
) -> lowland::Result<DividedAffinities> {
    let invalid = |reason: String| Error::Format { what: "affinities of a part", reason };
    if rows.len() != columns.len() || rows.len() != values.len() {
        return Err(invalid(format!("{} rows, {} columns and {} values", rows.len(), columns.len(), values.len())));
    }
    let mut starts = vec![0usize; own + 1];
    for (&row, &column) in rows.iter().zip(columns) {
        if !(0..own as i64).contains(&row) || !(0..(own + copies) as i64).contains(&column) {
            return Err(invalid(format!("entry ({row}, {column}) lies outside {own} x {}", own + copies)));
        }
        starts[row as usize + 1] += 1;
    }
    (0..own).for_each(|row| starts[row + 1] += starts[row]);
    let mut next = starts.clone();
    let mut entries = vec![(0u32, 0f64); rows.len()];
    for ((&row, &column), &value) in rows.iter().zip(columns).zip(values) {
        let at = &mut next[row as usize];
        entries[*at] = (column as u32, value);
        *at += 1;
    }
    let mut merged = DividedAffinities { starts: vec![0], columns: Vec::new(), values: Vec::new(), copies };
    for (row, bounds) in starts.windows(2).enumerate() {
        let row_entries = &mut entries[bounds[0]..bounds[1]];
        row_entries.sort_by_key(|entry| entry.0);
        for same in row_entries.chunk_by(|a, b| a.0 == b.0) {
            let value: f64 = same.iter().map(|entry| entry.1).sum();
            if same[0].0 as usize != row && value > 0.0 {
                merged.columns.push(same[0].0);
                merged.values.push(value);
            }
        }
        merged.starts.push(merged.columns.len());
    }
    Ok(merged)
}
