//! Dense rows.

use std::sync::Arc;

use super::cache::ContentCache;
use crate::{Error, Result};

/// Row-major `f32` rows. The storage is shared and read-only, and can be a memory-mapped file. Columns whose values are large
/// against their differences are stored as differences from an offset in double precision.
#[derive(Clone)]
pub struct Dense {
    values: Arc<dyn AsRef<[f32]> + Send + Sync>,
    rows: usize,
    dim: usize,
    offsets: Option<Arc<[f64]>>,
    pub(super) cache: Arc<ContentCache>,
}

impl Dense {
    /// Creates a matrix from row-major values with `dim` columns.
    pub fn new(values: Vec<f32>, dim: usize) -> Result<Self> {
        let rows = values.len().checked_div(dim).unwrap_or(0);
        Self::shared(Arc::new(values), rows, dim)
    }

    /// Creates a matrix on shared storage, such as a memory-mapped file.
    pub fn shared(values: Arc<dyn AsRef<[f32]> + Send + Sync>, rows: usize, dim: usize) -> Result<Self> {
        let found = (*values).as_ref().len();
        match rows.checked_mul(dim) {
            Some(expected) if expected == found => Ok(Self { values, rows, dim, offsets: None, cache: Arc::default() }),
            expected => {
                Err(Error::Shape { what: "values of a dense matrix", expected: expected.unwrap_or(usize::MAX), found })
            }
        }
    }

    /// Declares what was subtracted from each column before it was stored.
    pub fn shifted_by(mut self, offsets: Option<Arc<[f64]>>) -> Result<Self> {
        if let Some(offsets) = offsets.as_ref().filter(|offsets| offsets.len() != self.dim) {
            return Err(Error::Shape { what: "offsets of columns", expected: self.dim, found: offsets.len() });
        }
        self.offsets = offsets;
        Ok(self)
    }

    /// Returns what was subtracted from each column; `None` if nothing was.
    pub fn offsets(&self) -> Option<&[f64]> {
        self.offsets.as_deref()
    }

    /// Returns the value of a cell, with the offset of its column.
    pub fn value(&self, row: usize, column: usize) -> f64 {
        f64::from(self.row(row)[column]) + self.offsets.as_ref().map_or(0.0, |offsets| offsets[column])
    }

    /// Returns the values with the offsets of the columns, row by row.
    pub fn to_f64(&self) -> Vec<f64> {
        (0..self.rows).flat_map(|i| (0..self.dim).map(move |j| self.value(i, j))).collect()
    }

    /// Returns the rows as stored, without the offsets.
    pub(super) fn without_offsets(&self) -> Self {
        Self { offsets: None, ..self.clone() }
    }

    /// Returns the rows with other offsets.
    pub(super) fn with_offsets(&self, offsets: Option<&[f64]>) -> Self {
        let zeros = vec![0.0; self.dim];
        let (old, new) = (self.offsets().unwrap_or(&zeros), offsets.unwrap_or(&zeros));
        let mut values = self.values().to_vec();
        for row in values.chunks_exact_mut(self.dim.max(1)) {
            for ((value, old), new) in row.iter_mut().zip(old).zip(new).filter(|((_, old), new)| old != new) {
                *value = ((f64::from(*value) + old) - new) as f32;
            }
        }
        let offsets = offsets.map(Arc::from);
        Self { values: Arc::new(values), offsets, cache: Arc::default(), ..self.clone() }
    }

    /// Returns all values, row by row, without the offsets of the columns.
    pub fn values(&self) -> &[f32] {
        (*self.values).as_ref()
    }

    /// Returns row `i`, without the offsets of the columns.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.values()[i * self.dim..(i + 1) * self.dim]
    }

    /// Returns the given rows, in that order.
    pub(super) fn select(&self, rows: &[usize]) -> Self {
        let mut values = Vec::with_capacity(rows.len() * self.dim);
        rows.iter().for_each(|&i| values.extend_from_slice(self.row(i)));
        let selected = Self::shared(Arc::new(values), rows.len(), self.dim).expect("complete rows");
        Self { offsets: self.offsets.clone(), ..selected }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn dim(&self) -> usize {
        self.dim
    }
}

impl std::fmt::Debug for Dense {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Dense {{ {} x {} }}", self.rows, self.dim)
    }
}
