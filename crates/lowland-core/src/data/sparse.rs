//! Sparse rows.

use std::sync::Arc;

use super::cache::ContentCache;
use crate::{Error, Result};

/// Compressed sparse rows. Columns are sorted and unique within each row.
#[derive(Debug, Clone, PartialEq)]
pub struct Sparse {
    indptr: Arc<[usize]>,
    indices: Arc<[u32]>,
    values: Arc<[f32]>,
    dim: usize,
    pub(super) cache: Arc<ContentCache>,
}

impl Sparse {
    /// Creates a matrix from the arrays of the CSR format. Rows are sorted by column; duplicate columns are an error.
    pub fn new(indptr: Vec<usize>, mut indices: Vec<u32>, mut values: Vec<f32>, dim: usize) -> Result<Self> {
        let invalid = |reason: String| Error::Format { what: "sparse matrix", reason };
        if indptr.first() != Some(&0) || indptr.last() != Some(&indices.len()) || indptr.windows(2).any(|w| w[0] > w[1])
        {
            return Err(invalid(format!("indptr must increase from 0 to the number of entries, {}", indices.len())));
        }
        if indices.len() != values.len() {
            return Err(Error::Shape {
                what: "values of a sparse matrix",
                expected: indices.len(),
                found: values.len(),
            });
        }
        for (row, bounds) in indptr.windows(2).enumerate() {
            let (start, end) = (bounds[0], bounds[1]);
            if !indices[start..end].is_sorted() {
                let mut entries: Vec<(u32, f32)> =
                    indices[start..end].iter().copied().zip(values[start..end].iter().copied()).collect();
                entries.sort_by_key(|entry| entry.0);
                for (offset, (column, value)) in entries.into_iter().enumerate() {
                    indices[start + offset] = column;
                    values[start + offset] = value;
                }
            }
            let columns = &indices[start..end];
            if columns.last().is_some_and(|&last| last as usize >= dim) {
                return Err(invalid(format!(
                    "row {row} has an entry in column {}, but the matrix has {dim} columns",
                    columns[columns.len() - 1]
                )));
            }
            if let Some(pair) = columns.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(invalid(format!("row {row} has column {} twice", pair[0])));
            }
        }
        Ok(Self { indptr: indptr.into(), indices: indices.into(), values: values.into(), dim, cache: Arc::default() })
    }

    /// Returns the columns and values of row `i`.
    pub fn row(&self, i: usize) -> (&[u32], &[f32]) {
        let range = self.indptr[i]..self.indptr[i + 1];
        (&self.indices[range.clone()], &self.values[range])
    }

    /// Returns the start of each row, followed by the number of entries.
    pub fn indptr(&self) -> &[usize] {
        &self.indptr
    }

    /// Returns the columns of all entries.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Returns the values of all entries.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.indptr.len() - 1
    }

    /// Number of columns.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the given rows, in that order.
    pub(super) fn select(&self, rows: &[usize]) -> Self {
        let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for &i in rows {
            let (columns, entries) = self.row(i);
            indices.extend_from_slice(columns);
            values.extend_from_slice(entries);
            indptr.push(indices.len());
        }
        Self {
            indptr: indptr.into(),
            indices: indices.into(),
            values: values.into(),
            dim: self.dim,
            cache: Arc::default(),
        }
    }

    /// Returns a matrix with the same pattern and other values.
    pub fn with_values(&self, values: Vec<f32>) -> Self {
        assert_eq!(values.len(), self.values.len(), "one value per entry");
        Self { values: values.into(), cache: Arc::default(), ..self.clone() }
    }
}
