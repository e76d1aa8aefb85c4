//! Embeddings of rows that are divided among several processes, which `lowland.dask` starts and connects.

use std::sync::{Mutex, PoisonError};

use lowland::Error;
use lowland::divided::{
    DividedAffinities, DividedEmbedding, DividedKind, DividedMapIt, DividedMethod, DividedPoints, ForceSums, MapItSums,
};
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
        self.method.n_components()
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

    /// Sizes of an initial map of principal components, and of a random one.
    #[getter]
    fn init_sizes(&self) -> [f64; 2] {
        self.method.init_sizes()
    }

    /// Whether steps may move the map as a whole.
    #[getter]
    fn drifts(&self) -> bool {
        self.method.drifts()
    }

    /// Whether the forces on a point depend on the marginals of its neighbors on the map.
    #[getter]
    fn shares_marginals(&self) -> bool {
        self.method.shares_marginals()
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

/// The points of one process. Its methods are those of `DividedPoints`, and of `DividedEmbedding` or `DividedMapIt`.
#[pyclass(frozen, name = "EmbeddingPart", module = "lowland._lowland")]
pub struct EmbeddingPart {
    inner: Mutex<Part>,
}

/// The state of one process.
enum Part {
    NeighborEmbedding(Box<DividedEmbedding>),
    MapIt(Box<DividedMapIt>),
}

/// Sums that all processes need the total of, as numbers in a fixed order, of which the first is the squared size.
fn to_numbers(sums: &ForceSums) -> Vec<f64> {
    let ForceSums { potential, attraction, repulsion, attraction_value, constant, size } = sums;
    [&[*size, *potential, *attraction_value, *constant], &attraction[..], &repulsion[..]].concat()
}

fn from_numbers(numbers: &[f64]) -> lowland::Result<ForceSums> {
    let &[size, potential, attraction_value, constant, ref rest @ ..] = numbers else {
        return Err(Error::Shape { what: "sums of forces", expected: 4, found: numbers.len() });
    };
    let (attraction, repulsion) = rest.split_at(rest.len() / 2);
    let (attraction, repulsion) = (attraction.to_vec(), repulsion.to_vec());
    Ok(ForceSums { potential, attraction, repulsion, attraction_value, constant, size })
}

fn mapit_sums(numbers: &[f64]) -> lowland::Result<MapItSums> {
    let &[size, potential, all, near_data, near_map] = numbers else {
        return Err(Error::Shape { what: "sums of forces", expected: 5, found: numbers.len() });
    };
    Ok(MapItSums { potential, all, near: [near_data, near_map], size })
}

impl Part {
    fn points(&self) -> &DividedPoints {
        match self {
            Self::NeighborEmbedding(part) => part.points(),
            Self::MapIt(part) => part.points(),
        }
    }

    fn points_mut(&mut self) -> &mut DividedPoints {
        match self {
            Self::NeighborEmbedding(part) => part.points_mut(),
            Self::MapIt(part) => part.points_mut(),
        }
    }

    fn state(&self) -> Vec<Vec<f64>> {
        match self {
            Self::NeighborEmbedding(part) => part.state().map(<[f64]>::to_vec).to_vec(),
            Self::MapIt(part) => part.state().map(<[f64]>::to_vec).to_vec(),
        }
    }

    fn restore(&mut self, state: &[Vec<f64>]) -> lowland::Result<()> {
        match (self, state) {
            (Self::NeighborEmbedding(part), [positions, update, gains]) => part.restore([positions, update, gains]),
            (Self::MapIt(part), [positions, update]) => part.restore([positions, update]),
            (_, state) => Err(Error::Shape { what: "arrays of the state of a part", expected: 2, found: state.len() }),
        }
    }
}

impl EmbeddingPart {
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Part) -> lowland::Result<T> + Send) -> PyResult<T> {
        catch_panics(|| {
            let found = py.detach(|| work(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner)));
            Ok(found.map_err(PyFailure::from)?)
        })
    }
}

#[pymethods]
impl EmbeddingPart {
    /// Creates a part from triplets (row, column, value): rows are points of the part, columns beyond their number are copies. Values of
    /// the same row and column are added up, in order; those on the diagonal are left out. `numbers` are those of the points and of the
    /// copies among all rows.
    #[new]
    fn new(
        py: Python<'_>,
        method: &PyDividedMethod,
        start: PyReadonlyArray2<f64>,
        numbers: PyReadonlyArray1<i64>,
        triplets: (PyReadonlyArray1<i64>, PyReadonlyArray1<i64>, PyReadonlyArray1<f64>),
    ) -> PyResult<Self> {
        catch_panics(|| {
            let own = start.as_array().nrows();
            let start: Vec<f64> = start.as_array().iter().copied().collect();
            let (rows, columns, values) = triplets;
            let (rows, columns) = (rows.as_array().to_vec(), columns.as_array().to_vec());
            let values = values.as_array().to_vec();
            let numbers: Vec<usize> = numbers.as_array().iter().map(|&number| number.max(0) as usize).collect();
            let kind = method.method.kind(method.points);
            let build = || -> lowland::Result<Part> {
                let copies = numbers.len().saturating_sub(own);
                let affinities = merge_triplets(own, copies, &rows, &columns, &values)?;
                Ok(match kind {
                    DividedKind::NeighborEmbedding(settings) => {
                        Part::NeighborEmbedding(Box::new(DividedEmbedding::new(settings, affinities, start)?))
                    }
                    DividedKind::MapIt(settings) => {
                        Part::MapIt(Box::new(DividedMapIt::new(settings, affinities, &numbers, start)?))
                    }
                })
            };
            Ok(Self { inner: Mutex::new(py.detach(build).map_err(PyFailure::from)?) })
        })
    }

    /// Sum of each coordinate, and their bounds as pairs.
    fn sums_and_bounds(&self, py: Python<'_>) -> PyResult<(Vec<f64>, Vec<[f64; 2]>)> {
        self.with(py, |part| Ok(part.points().sums_and_bounds()))
    }

    fn begin<'py>(
        &self,
        py: Python<'py>,
        mean: Vec<f64>,
        bounds: Vec<[f64; 2]>,
        accuracy: f64,
    ) -> PyResult<Array1<'py>> {
        Ok(self.with(py, |part| part.points_mut().begin(&mean, &bounds, accuracy))?.into_pyarray(py))
    }

    fn positions_of<'py>(&self, py: Python<'py>, points: PyReadonlyArray1<'py, u32>) -> PyResult<Array1<'py>> {
        let points = points.as_array().to_vec();
        Ok(self.with(py, |part| part.points().positions_of(&points))?.into_pyarray(py))
    }

    /// The marginals of some points in the data, which the forces on points of other processes need; none but for MAP IT.
    fn marginals_of<'py>(&self, py: Python<'py>, points: PyReadonlyArray1<'py, u32>) -> PyResult<Array1<'py>> {
        let points = points.as_array().to_vec();
        let found = self.with(py, |part| match part {
            Part::NeighborEmbedding(_) => Ok(Vec::new()),
            Part::MapIt(part) => part.marginals_of(&points),
        });
        Ok(found?.into_pyarray(py))
    }

    /// Sets the marginals of the copies in the data.
    fn set_marginals(&self, py: Python<'_>, marginals: PyReadonlyArray1<f64>) -> PyResult<()> {
        let marginals = marginals.as_array().to_vec();
        self.with(py, |part| match part {
            Part::NeighborEmbedding(_) => Ok(()),
            Part::MapIt(part) => part.set_marginals(&marginals),
        })
    }

    /// The marginals of some points on the map, after the positions of the copies were set; none but for MAP IT.
    fn map_marginals_of<'py>(&self, py: Python<'py>, points: PyReadonlyArray1<'py, u32>) -> PyResult<Array1<'py>> {
        let points = points.as_array().to_vec();
        let found = self.with(py, |part| match part {
            Part::NeighborEmbedding(_) => Ok(Vec::new()),
            Part::MapIt(part) => part.map_marginals_of(&points),
        });
        Ok(found?.into_pyarray(py))
    }

    /// Sets the positions of the copies.
    fn set_copies(&self, py: Python<'_>, copies: PyReadonlyArray1<f64>) -> PyResult<()> {
        let copies = copies.as_array().to_vec();
        self.with(py, |part| match part {
            Part::NeighborEmbedding(part) => part.points_mut().set_copies(&copies),
            Part::MapIt(part) => part.set_copies(&copies),
        })
    }

    /// Computes the forces from the sum of the grids and the marginals of the copies on the map.
    fn forces(
        &self,
        py: Python<'_>,
        grid: PyReadonlyArray1<f64>,
        map_marginals: PyReadonlyArray1<f64>,
        with_value: bool,
    ) -> PyResult<Vec<f64>> {
        let (grid, map_marginals) = (grid.as_array().to_vec(), map_marginals.as_array().to_vec());
        self.with(py, |part| match part {
            Part::NeighborEmbedding(part) => Ok(to_numbers(&part.forces(&grid, with_value)?)),
            Part::MapIt(part) => {
                let MapItSums { potential, all, near, size } = part.forces(&grid, &map_marginals)?;
                Ok(vec![size, potential, all, near[0], near[1]])
            }
        })
    }

    fn step(&self, py: Python<'_>, iteration: usize, total: Vec<f64>) -> PyResult<f64> {
        self.with(py, |part| match part {
            Part::NeighborEmbedding(part) => part.step(iteration, &from_numbers(&total)?),
            Part::MapIt(part) => Ok(part.step(iteration, &mapit_sums(&total)?)),
        })
    }

    fn value(&self, py: Python<'_>, iteration: usize, total: Vec<f64>) -> PyResult<f64> {
        self.with(py, |part| match part {
            Part::NeighborEmbedding(part) => Ok(part.value(iteration, &from_numbers(&total)?)),
            Part::MapIt(part) => Ok(part.value(&mapit_sums(&total)?)),
        })
    }

    fn has_pending_changes(&self, py: Python<'_>, iteration: usize) -> PyResult<bool> {
        self.with(py, |part| match part {
            Part::NeighborEmbedding(part) => Ok(part.has_pending_changes(iteration)),
            Part::MapIt(_) => Ok(false),
        })
    }

    /// Positions in units of the kernel, and the potential and its gradients read off the grid of some points.
    fn grid_sums<'py>(
        &self,
        py: Python<'py>,
        points: PyReadonlyArray1<'py, u32>,
    ) -> PyResult<(Array1<'py>, Array1<'py>, Array1<'py>)> {
        let points = points.as_array().to_vec();
        let [positions, values, gradients] = self.with(py, |part| part.points().grid_sums(&points))?;
        Ok((positions.into_pyarray(py), values.into_pyarray(py), gradients.into_pyarray(py)))
    }

    /// The exact potential of the points of the process and its gradients at some positions in units of the kernel.
    fn exact_sums<'py>(
        &self,
        py: Python<'py>,
        targets: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<(Array1<'py>, Array1<'py>)> {
        let targets = targets.as_array().to_vec();
        let (values, gradients) = self.with(py, |part| part.points().exact_sums(&targets))?;
        Ok((values.into_pyarray(py), gradients.into_pyarray(py)))
    }

    /// Positions, last steps and, of gradient descent, gains.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Vec<Array1<'py>>> {
        let state = self.with(py, |part| Ok(part.state()))?;
        Ok(state.into_iter().map(|values| values.into_pyarray(py)).collect())
    }

    fn restore(&self, py: Python<'_>, state: Vec<PyReadonlyArray1<f64>>) -> PyResult<()> {
        let state: Vec<Vec<f64>> = state.iter().map(|values| values.as_array().to_vec()).collect();
        self.with(py, |part| part.restore(&state))
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
