//! Conversion of rows from Python (arrays, sparse matrices, strings) and of results to arrays.

use std::sync::Arc;

use lowland::data::{Data, Dense, Embedding, Sparse};
use lowland::{Error, Model};
use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::error::PyFailure;

/// Rows passed from Python. They are copied, since models keep rows and Python may change its arrays later.
#[derive(FromPyObject)]
pub enum Rows<'py> {
    Single(PyReadonlyArray2<'py, f32>),
    Double(PyReadonlyArray2<'py, f64>),
    /// Arrays indptr, indices and values, and the number of columns.
    Sparse((PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, f64>, usize)),
    Text(Vec<String>),
}

impl Rows<'_> {
    /// Copies the rows. Columns in double precision are shifted where they need it.
    pub fn to_data(&self) -> PyResult<Data> {
        self.narrow(None)
    }

    /// Copies new rows of a model, which are rounded like those that it was fitted to.
    pub fn to_new_rows(&self, model: &Model) -> PyResult<Data> {
        let no_offsets = || vec![0.0; model.n_features()].into();
        self.narrow(Some(model.offsets().cloned().unwrap_or_else(no_offsets)))
    }

    /// Copies rows that are compared with `others`, and rounded like them.
    pub fn to_data_like(&self, others: &Data) -> PyResult<Data> {
        let no_offsets = || vec![0.0; others.dim()].into();
        self.narrow(Some(others.offsets().map_or_else(no_offsets, |offsets| offsets.into())))
    }

    fn narrow(&self, offsets: Option<Arc<[f64]>>) -> PyResult<Data> {
        let data = match self {
            Rows::Single(array) => dense(array),
            Rows::Double(array) => {
                let (rows, dim) = array.as_array().dim();
                Data::from_f64(array.as_array().iter().copied(), rows, dim, offsets)
            }
            Rows::Sparse((indptr, indices, values, dim)) => sparse(indptr, indices, values, *dim),
            Rows::Text(lines) => Ok(Data::text(lines.clone())),
        };
        data.map_err(|error| PyFailure::from(error).into())
    }
}

fn dense(array: &PyReadonlyArray2<f32>) -> lowland::Result<Data> {
    let (rows, dim) = array.as_array().dim();
    let values: Vec<f32> = array.as_array().iter().copied().collect();
    Dense::shared(Arc::new(values), rows, dim).map(Data::Dense)
}

fn sparse(
    indptr: &PyReadonlyArray1<i64>,
    indices: &PyReadonlyArray1<i64>,
    values: &PyReadonlyArray1<f64>,
    dim: usize,
) -> lowland::Result<Data> {
    let indptr = row_starts(indptr)?;
    let indices = column_indices(indices)?;
    let narrow = |(at, &value): (usize, &f64)| match value as f32 {
        narrow if narrow.is_infinite() && value.is_finite() => {
            let row = indptr.partition_point(|&start| start <= at).saturating_sub(1);
            Err(Error::TooLarge { row, column: indices.get(at).map_or(0, |&column| column as usize), value })
        }
        narrow => Ok(narrow),
    };
    let values = values.as_array().iter().enumerate().map(narrow).collect::<lowland::Result<Vec<f32>>>()?;
    Sparse::new(indptr, indices, values, dim).map(Data::Sparse)
}

/// Converts the row starts of a sparse matrix.
pub fn row_starts(array: &PyReadonlyArray1<i64>) -> lowland::Result<Vec<usize>> {
    array.as_array().iter().map(|&v| usize::try_from(v).map_err(|_| invalid_index(v))).collect()
}

/// Converts the column indices of a sparse matrix.
pub fn column_indices(array: &PyReadonlyArray1<i64>) -> lowland::Result<Vec<u32>> {
    array.as_array().iter().map(|&v| u32::try_from(v).map_err(|_| invalid_index(v))).collect()
}

fn invalid_index(value: i64) -> Error {
    Error::Format { what: "sparse matrix", reason: format!("{value} is not an index") }
}

/// Converts an array to an embedding.
pub fn to_embedding(array: &PyReadonlyArray2<f64>) -> PyResult<Embedding> {
    let dim = array.as_array().ncols();
    Ok(Embedding::new(array.as_array().iter().copied().collect(), dim).map_err(PyFailure::from)?)
}

/// Converts row-major values to a two-dimensional array.
pub fn to_array<T: numpy::Element>(py: Python<'_>, values: Vec<T>, dim: usize) -> PyResult<Bound<'_, PyArray2<T>>> {
    let rows = values.len().checked_div(dim).unwrap_or(0);
    values.into_pyarray(py).reshape([rows, dim])
}

/// Converts an embedding to an array.
pub fn embedding_to_array<'py>(py: Python<'py>, embedding: &Embedding) -> PyResult<Bound<'py, PyArray2<f64>>> {
    to_array(py, embedding.values().to_vec(), embedding.dim())
}
