//! Sparse matrices of `f64` in compressed sparse row format.

use rayon::prelude::*;

use super::SymmetricOperator;
use super::sparse_product::{SparseRows, add_sparse_product};
use lowland_core::{Error, Result, inverse_permutation};

/// A sparse matrix; the columns of each row are ascending and unique.
#[derive(Debug, Clone, PartialEq)]
pub struct Csr {
    indptr: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
    columns: usize,
}

impl Csr {
    /// Builds a matrix from its arrays. `indptr` must ascend from 0 to the number of entries; the columns of a row must
    /// ascend and be below `columns`.
    pub fn new(indptr: Vec<usize>, indices: Vec<u32>, values: Vec<f64>, columns: usize) -> Result<Self> {
        let bad = |reason: String| Err(Error::Format { what: "sparse matrix", reason });
        if indptr.first() != Some(&0) || indptr.last() != Some(&indices.len()) || indptr.windows(2).any(|w| w[0] > w[1])
        {
            return bad(format!("indptr must rise from 0 to the number of entries, {}", indices.len()));
        }
        if indices.len() != values.len() {
            return bad(format!("{} columns but {} values", indices.len(), values.len()));
        }
        for (row, bounds) in indptr.windows(2).enumerate() {
            let entries = &indices[bounds[0]..bounds[1]];
            if entries.windows(2).any(|pair| pair[0] >= pair[1]) {
                return bad(format!("the columns of row {row} must ascend"));
            }
            if entries.last().is_some_and(|&last| last as usize >= columns) {
                return bad(format!("row {row} has column {}, there are {columns}", entries[entries.len() - 1]));
            }
        }
        Ok(Self { indptr, indices, values, columns })
    }

    /// Builds a matrix from `(row, column, value)` in any order; repeated entries are summed, in the given order.
    pub fn from_triplets(
        rows: usize,
        columns: usize,
        triplets: impl IntoIterator<Item = (u32, u32, f64)>,
    ) -> Result<Self> {
        let triplets: Vec<(u32, u32, f64)> = triplets.into_iter().collect();
        if let Some((i, j, _)) = triplets.iter().find(|t| t.0 as usize >= rows || t.1 as usize >= columns) {
            return Err(Error::Format {
                what: "sparse matrix",
                reason: format!("entry ({i}, {j}) lies outside {rows} x {columns}"),
            });
        }
        let starts = row_starts(rows, triplets.iter().map(|t| t.0));
        let mut next = starts.clone();
        let mut entries = vec![(0u32, 0.0f64); triplets.len()];
        for (i, j, v) in triplets {
            entries[next[i as usize]] = (j, v);
            next[i as usize] += 1;
        }
        let (mut indptr, mut indices, mut values) = (vec![0], Vec::with_capacity(entries.len()), Vec::new());
        for bounds in starts.windows(2) {
            let row = &mut entries[bounds[0]..bounds[1]];
            row.sort_by_key(|entry| entry.0);
            for repeated in row.chunk_by(|a, b| a.0 == b.0) {
                indices.push(repeated[0].0);
                values.push(repeated.iter().map(|entry| entry.1).sum());
            }
            indptr.push(indices.len());
        }
        Ok(Self { indptr, indices, values, columns })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.indptr.len() - 1
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of stored entries.
    pub fn entries(&self) -> usize {
        self.indices.len()
    }

    /// Returns the columns and values of row `i`.
    pub fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.indptr[i]..self.indptr[i + 1];
        (&self.indices[range.clone()], &self.values[range])
    }

    /// Start of each row in the arrays; one entry more than there are rows.
    pub fn indptr(&self) -> &[usize] {
        &self.indptr
    }

    /// Columns of all entries.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Values of all entries.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Mutable values of all entries.
    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// Returns the value at row `i` and column `j`; zero if none is stored.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        let (columns, values) = self.row(i);
        columns.binary_search(&(j as u32)).map_or(0.0, |at| values[at])
    }

    /// Iterates over the stored entries as `(row, column, value)`.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        (0..self.rows()).flat_map(move |i| {
            let (columns, values) = self.row(i);
            columns.iter().zip(values).map(move |(&j, &v)| (i, j as usize, v))
        })
    }

    /// Returns the transpose.
    pub fn transpose(&self) -> Self {
        let indptr = row_starts(self.columns, self.indices.iter().copied());
        let mut next = indptr.clone();
        let mut indices = vec![0u32; self.entries()];
        let mut values = vec![0.0; self.entries()];
        for (i, j, v) in self.iter() {
            indices[next[j]] = i as u32;
            values[next[j]] = v;
            next[j] += 1;
        }
        Self { indptr, indices, values, columns: self.rows() }
    }

    /// Returns whether the matrix equals its transpose in pattern and values.
    pub fn is_symmetric(&self) -> bool {
        self.rows() == self.columns && *self == self.transpose()
    }

    /// Returns a matrix of the same pattern with the values `value(row, column, old)`.
    pub fn map(&self, value: impl Fn(usize, usize, f64) -> f64) -> Self {
        let values = self.iter().map(|(i, j, v)| value(i, j, v)).collect();
        Self { values, indptr: self.indptr.clone(), indices: self.indices.clone(), columns: self.columns }
    }

    /// Returns the entries for which `keep(row, column, value)` holds.
    pub fn filter(&self, keep: impl Fn(usize, usize, f64) -> bool) -> Self {
        let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..self.rows() {
            let (columns, row) = self.row(i);
            for (&j, &v) in columns.iter().zip(row) {
                if keep(i, j as usize, v) {
                    indices.push(j);
                    values.push(v);
                }
            }
            indptr.push(indices.len());
        }
        Self { indptr, indices, values, columns: self.columns }
    }

    /// Removes the entries for which `keep(row, column, value)` does not hold, without a copy of the others.
    pub fn retain(&mut self, keep: impl Fn(usize, usize, f64) -> bool) {
        let mut end = 0;
        for i in 0..self.rows() {
            let range = self.indptr[i]..self.indptr[i + 1];
            self.indptr[i] = end;
            for at in range {
                let (j, v) = (self.indices[at], self.values[at]);
                if keep(i, j as usize, v) {
                    (self.indices[end], self.values[end]) = (j, v);
                    end += 1;
                }
            }
        }
        let rows = self.rows();
        self.indptr[rows] = end;
        self.indices.truncate(end);
        self.values.truncate(end);
        self.indices.shrink_to_fit();
        self.values.shrink_to_fit();
    }

    /// Merges two matrices: every entry stored in either is kept with the value `value(mine, theirs)`, unless that is
    /// `None`.
    pub fn merge(&self, other: &Self, value: impl Fn(Option<f64>, Option<f64>) -> Option<f64>) -> Result<Self> {
        for (what, expected, found) in [
            ("rows of a sparse matrix", self.rows(), other.rows()),
            ("columns of a sparse matrix", self.columns, other.columns),
        ] {
            if expected != found {
                return Err(Error::Shape { what, expected, found });
            }
        }
        // Counted first: capacity for both together would be twice what is needed if they overlap.
        let count = (0..self.rows()).map(|i| union_size(self.row(i).0, other.row(i).0)).sum();
        let (mut indptr, mut indices, mut values) = (vec![0], Vec::with_capacity(count), Vec::with_capacity(count));
        for i in 0..self.rows() {
            let mut mine = self.row_entries(i).peekable();
            let mut theirs = other.row_entries(i).peekable();
            while let Some(column) = [mine.peek(), theirs.peek()].into_iter().flatten().map(|entry| entry.0).min() {
                let here = mine.next_if(|entry| entry.0 == column).map(|entry| entry.1);
                let there = theirs.next_if(|entry| entry.0 == column).map(|entry| entry.1);
                if let Some(merged) = value(here, there) {
                    indices.push(column);
                    values.push(merged);
                }
            }
            indptr.push(indices.len());
        }
        Ok(Self { indptr, indices, values, columns: self.columns })
    }

    fn row_entries(&self, i: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let (columns, values) = self.row(i);
        columns.iter().copied().zip(values.iter().copied())
    }

    /// Returns the sum of two matrices of the same shape.
    pub fn add(&self, other: &Self) -> Result<Self> {
        self.merge(other, |a, b| Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)))
    }

    /// Multiplies every value by `factor`.
    pub fn scale(&mut self, factor: f64) {
        self.values.iter_mut().for_each(|v| *v *= factor);
    }

    /// Returns the diagonal.
    pub fn diagonal(&self) -> Vec<f64> {
        (0..self.rows().min(self.columns)).map(|i| self.get(i, i)).collect()
    }

    /// Returns the sum of each row.
    pub fn row_sums(&self) -> Vec<f64> {
        (0..self.rows()).map(|i| self.row(i).1.iter().sum()).collect()
    }

    /// Returns the matrix with permuted rows and columns: row `rows[i]` becomes row `i`, and the columns likewise.
    pub fn renumber(&self, rows: &[u32]) -> Self {
        let mut matrix = self.clone();
        matrix.renumber_in_place(rows);
        matrix
    }

    /// Like [`Self::renumber`]. First the values and then the columns are replaced, so that there is never a second matrix.
    pub fn renumber_in_place(&mut self, rows: &[u32]) {
        let place = inverse_permutation(rows);
        let mut indptr = Vec::with_capacity(rows.len() + 1);
        indptr.push(0);
        rows.iter().fold(0, |end, &row| {
            let end = end + self.row(row as usize).0.len();
            indptr.push(end);
            end
        });
        self.values = self.renumbered_rows(rows, &place, &indptr, |matrix, at| matrix.values[at]);
        self.indices = self.renumbered_rows(rows, &place, &indptr, |matrix, at| place[matrix.indices[at] as usize]);
        self.indptr = indptr;
    }

    /// Returns a value for each entry in the order of a renumbered matrix, in which the columns of a row ascend.
    fn renumbered_rows<T: Copy + Default + Send>(
        &self,
        rows: &[u32],
        place: &[u32],
        indptr: &[usize],
        value: impl Fn(&Self, usize) -> T + Sync,
    ) -> Vec<T> {
        let mut out = vec![T::default(); self.indices.len()];
        let mut tasks = Vec::new();
        let mut rest = &mut out[..];
        for (first, rows) in rows.chunks(1024).enumerate() {
            let (start, end) = (indptr[first * 1024], indptr[first * 1024 + rows.len()]);
            let (these, later) = rest.split_at_mut(end - start);
            rest = later;
            tasks.push((rows, these));
        }
        tasks.into_par_iter().for_each_init(Vec::new, |order: &mut Vec<(u32, usize)>, (rows, out)| {
            let mut slots = out.iter_mut();
            for &old in rows {
                let range = self.indptr[old as usize]..self.indptr[old as usize + 1];
                order.clear();
                order.extend(range.map(|at| (place[self.indices[at] as usize], at)));
                order.sort_unstable();
                order.iter().zip(slots.by_ref()).for_each(|(&(_, at), slot)| *slot = value(self, at));
            }
        });
        out
    }

    /// Computes `out = A x` for a row-major block `x` (columns x m) and `out` (rows x m), in parallel over rows.
    pub fn multiply(&self, x: &[f64], m: usize, out: &mut [f64]) {
        out.fill(0.0);
        self.multiply_add(x, m, out);
    }

    /// Computes `out += A x`, with shapes as in [`Self::multiply`].
    pub fn multiply_add(&self, x: &[f64], m: usize, out: &mut [f64]) {
        let rows = SparseRows { indptr: &self.indptr, indices: &self.indices, values: &self.values };
        add_sparse_product(rows, x, m, out);
    }
}

/// Number of distinct values in two ascending lists.
fn union_size(a: &[u32], b: &[u32]) -> usize {
    let (mut i, mut j, mut both) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
        both += usize::from(x == y);
    }
    a.len() + b.len() - both
}

/// Returns the start of each of `rows` rows when entries with these row numbers are sorted by row.
fn row_starts(rows: usize, row_of_entry: impl Iterator<Item = u32>) -> Vec<usize> {
    let mut starts = vec![0usize; rows + 1];
    row_of_entry.for_each(|i| starts[i as usize + 1] += 1);
    (0..rows).for_each(|i| starts[i + 1] += starts[i]);
    starts
}

/// The matrix must be symmetric, see [`Csr::is_symmetric`].
impl SymmetricOperator for Csr {
    fn dim(&self) -> usize {
        self.rows()
    }

    fn apply(&self, x: &[f64], columns: usize, out: &mut [f64]) {
        self.multiply(x, columns, out);
    }

    /// Largest row sum of absolute values, an upper bound of the eigenvalues.
    fn norm(&self) -> f64 {
        (0..self.rows()).map(|i| self.row(i).1.iter().map(|v| v.abs()).sum()).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests;
