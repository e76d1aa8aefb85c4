//! Dense rows.

use std::sync::Arc;

use super::cache::ContentCache;
use crate::{Error, Result};

/// Row-major `f32` rows. The storage is shared and read-only, and can be a memory-mapped file.
#[derive(Clone)]
pub struct Dense {
    values: Arc<dyn AsRef<[f32]> + Send + Sync>,
    rows: usize,
    dim: usize,
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
            Some(expected) if expected == found => Ok(Self { values, rows, dim, cache: Arc::default() }),
            expected => {
                Err(Error::Shape { what: "values of a dense matrix", expected: expected.unwrap_or(usize::MAX), found })
            }
        }
    }

    /// Returns all values, row by row.
    pub fn values(&self) -> &[f32] {
        (*self.values).as_ref()
    }

    /// Returns row `i`.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.values()[i * self.dim..(i + 1) * self.dim]
    }

    /// Returns the given rows, in that order.
    pub(super) fn select(&self, rows: &[usize]) -> Self {
        let mut values = Vec::with_capacity(rows.len() * self.dim);
        rows.iter().for_each(|&i| values.extend_from_slice(self.row(i)));
        Self::shared(Arc::new(values), rows.len(), self.dim).expect("complete rows")
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
