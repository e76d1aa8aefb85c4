//! Sparse matrices as stored by other programs: CSR, CSC and COO, possibly unsorted and with duplicates.

use lowland::data::Sparse;

use crate::budget::Budget;
use crate::error::{FileErrorKind, Result};

const FORMAT: &str = "sparse matrix";

/// CompressedMatrix rows or columns, as stored.
pub(crate) struct CompressedMatrix {
    /// Start of each row (or column).
    pub indptr: Vec<usize>,
    /// Column (or row) of every entry.
    pub indices: Vec<usize>,
    pub values: Vec<f32>,
}

/// Rows and columns, as declared.
#[derive(Clone, Copy)]
pub(crate) struct MatrixShape {
    pub rows: usize,
    pub dim: usize,
}

impl MatrixShape {
    /// Reserves memory for the rows and columns: empty ones take no space in a file, so that a tiny file may declare any
    /// number of them.
    pub fn within(rows: usize, dim: usize, budget: &Budget) -> Result<Self> {
        let what = format!("a sparse matrix of {rows} x {dim}");
        if rows > u32::MAX as usize || dim > u32::MAX as usize {
            return Err(budget.too_large(&what));
        }
        budget.reserve(&what, rows.saturating_add(dim), size_of::<usize>())?;
        Ok(Self { rows, dim })
    }
}

/// Reserves memory for sorting the entries: at most, each is held a second time with both of its indices.
pub(crate) fn reserve_scratch(entries: usize, budget: &Budget) -> Result<()> {
    budget.reserve("a sparse matrix", entries, 2 * size_of::<usize>() + size_of::<f32>())
}

/// Converts from CSR: sorts the rows and adds up duplicates as scipy does.
pub(crate) fn from_csr(stored: CompressedMatrix, MatrixShape { rows, dim }: MatrixShape) -> Result<Sparse> {
    stored.check(rows, dim)?;
    let CompressedMatrix { indptr, indices, values } = stored;
    // All are below the number of columns, which fits.
    let indices: Vec<u32> = indices.into_iter().map(|j| j as u32).collect();
    let canonical = indptr.windows(2).all(|w| indices[w[0]..w[1]].is_sorted_by(|a, b| a < b));
    if canonical {
        return Ok(Sparse::new(indptr, indices, values, dim)?);
    }
    let (mut starts, mut columns, mut sums) = (vec![0], Vec::<u32>::new(), Vec::<f32>::new());
    for w in indptr.windows(2) {
        let mut row: Vec<(u32, f32)> = (w[0]..w[1]).map(|at| (indices[at], values[at])).collect();
        row.sort_by_key(|entry| entry.0);
        let start = columns.len();
        for (column, value) in row {
            if columns.len() > start && columns.last() == Some(&column) {
                *sums.last_mut().expect("as long as columns") += value;
            } else {
                columns.push(column);
                sums.push(value);
            }
        }
        starts.push(columns.len());
    }
    Ok(Sparse::new(starts, columns, sums, dim)?)
}

/// Converts from CSC.
pub(crate) fn from_csc(stored: CompressedMatrix, shape: MatrixShape) -> Result<Sparse> {
    stored.check(shape.dim, shape.rows)?;
    let mut columns = Vec::with_capacity(stored.indices.len());
    for (column, w) in stored.indptr.windows(2).enumerate() {
        columns.resize(columns.len() + w[1] - w[0], column);
    }
    from_coo(&stored.indices, columns, stored.values, shape)
}

/// Converts from COO, with entries in any order.
pub(crate) fn from_coo(row_of: &[usize], columns: Vec<usize>, values: Vec<f32>, shape: MatrixShape) -> Result<Sparse> {
    let rows = shape.rows;
    if row_of.len() != columns.len() || row_of.len() != values.len() {
        return Err(FileErrorKind::format(
            FORMAT,
            format!("it has {} rows, {} columns and {} values of entries", row_of.len(), columns.len(), values.len()),
        ));
    }
    if let Some(row) = row_of.iter().find(|&&row| row >= rows) {
        return Err(FileErrorKind::format(FORMAT, format!("an entry lies in row {row}, there are {rows} rows")));
    }
    // Counting sort by row; within a row the entries keep their order.
    let mut next = vec![0; rows + 1];
    row_of.iter().for_each(|&row| next[row + 1] += 1);
    for row in 0..rows {
        next[row + 1] += next[row];
    }
    let indptr = next.clone();
    let (mut indices, mut sorted) = (vec![0; columns.len()], vec![0.0; values.len()]);
    for ((&row, column), value) in row_of.iter().zip(columns).zip(values) {
        let at = next[row];
        next[row] += 1;
        indices[at] = column;
        sorted[at] = value;
    }
    from_csr(CompressedMatrix { indptr, indices, values: sorted }, shape)
}

impl CompressedMatrix {
    /// Checks that `indptr` rises from 0 to the number of entries, with `outer` steps, and that indices are below `inner`.
    fn check(&self, outer: usize, inner: usize) -> Result<()> {
        let entries = self.indices.len();
        let rises = self.indptr.first() == Some(&0)
            && self.indptr.last() == Some(&entries)
            && self.indptr.windows(2).all(|w| w[0] <= w[1]);
        if !rises || self.indptr.len() != outer.saturating_add(1) || self.values.len() != entries {
            return Err(FileErrorKind::format(
                FORMAT,
                format!(
                    "its arrays do not fit together: {} starts for {outer} rows or columns, {entries} indices, {} values",
                    self.indptr.len(),
                    self.values.len()
                ),
            ));
        }
        if let Some(index) = self.indices.iter().find(|&&index| index >= inner) {
            return Err(FileErrorKind::format(
                FORMAT,
                format!("an entry has index {index}, only {inner} are possible"),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHAPE: MatrixShape = MatrixShape { rows: 4, dim: 3 };

    fn to_dense(x: &Sparse) -> Vec<f32> {
        let mut out = vec![0.0; x.rows() * x.dim()];
        for i in 0..x.rows() {
            let (columns, values) = x.row(i);
            columns.iter().zip(values).for_each(|(&j, &v)| out[i * x.dim() + j as usize] += v);
        }
        out
    }

    proptest! {
        #[test]
        fn all_layouts_give_the_same_matrix(
            entries in prop::collection::vec((0usize..4, 0usize..3, -5i8..5), 0..30)
        ) {
            let mut expected = vec![0.0; 12];
            entries.iter().for_each(|&(i, j, v)| expected[i * 3 + j] += f32::from(v));
            let split = |order: &dyn Fn(&(usize, usize, i8)) -> usize, outer: usize| {
                let mut sorted = entries.clone();
                sorted.sort_by_key(|entry| order(entry));
                let indptr = (0..=outer).map(|i| sorted.iter().filter(|entry| order(entry) < i).count()).collect();
                (indptr, sorted)
            };
            let value = |entry: &(usize, usize, i8)| f32::from(entry.2);
            let coo = from_coo(
                &entries.iter().map(|entry| entry.0).collect::<Vec<_>>(),
                entries.iter().map(|entry| entry.1).collect(),
                entries.iter().map(value).collect(),
                SHAPE,
            );
            prop_assert_eq!(to_dense(&coo.unwrap()), expected.clone());
            let (indptr, sorted) = split(&|entry| entry.0, 4);
            let indices = sorted.iter().map(|entry| entry.1).collect();
            let csr = from_csr(CompressedMatrix { indptr, indices, values: sorted.iter().map(value).collect() }, SHAPE);
            prop_assert_eq!(to_dense(&csr.unwrap()), expected.clone());
            let (indptr, sorted) = split(&|entry| entry.1, 3);
            let indices = sorted.iter().map(|entry| entry.0).collect();
            let csc = from_csc(CompressedMatrix { indptr, indices, values: sorted.iter().map(value).collect() }, SHAPE);
            prop_assert_eq!(to_dense(&csc.unwrap()), expected);
        }
    }

    #[test]
    fn inconsistent_arrays_are_rejected_before_anything_is_allocated() {
        let stored = |indptr: &[usize], indices: &[usize]| CompressedMatrix {
            indptr: indptr.to_vec(),
            indices: indices.to_vec(),
            values: vec![1.0; indices.len()],
        };
        let one = MatrixShape { rows: 1, dim: 3 };
        assert!(from_csr(stored(&[0, 1], &[2]), one).is_ok());
        assert!(from_csr(stored(&[0, 2], &[0]), one).is_err());
        assert!(from_csr(stored(&[0, 1], &[3]), one).is_err());
        assert!(from_csr(stored(&[0, 2, 1], &[0]), MatrixShape { rows: 2, dim: 3 }).is_err());
        assert!(from_csc(stored(&[0, 1], &[1]), MatrixShape { rows: 1, dim: 1 }).is_err());
        assert!(from_coo(&[4], vec![0], vec![1.0], SHAPE).is_err());
        assert!(from_coo(&[3], vec![3], vec![1.0], SHAPE).is_err());
    }

    #[test]
    fn empty_rows_and_columns_are_limited() {
        assert!(MatrixShape::within(1000, 1000, &Budget::limited(16_000)).is_ok());
        for (rows, dim) in [(1001, 1000), (usize::MAX, usize::MAX), (0, 1 << 40)] {
            let budget = Budget::limited(16_000);
            assert!(matches!(
                MatrixShape::within(rows, dim, &budget),
                Err(FileErrorKind::TooLarge { limit: 16_000, .. })
            ));
        }
    }
}
