//! The average of a sparse matrix with its transpose, without a copy of the transpose.

use std::cmp::Ordering;

use rayon::prelude::*;

use lowland_core::Result;
use lowland_linalg::Csr;

/// Number of blocks of rows; the transpose of one is in memory at a time.
const BLOCKS: usize = 32;
/// Minimum number of rows of a block.
const MIN_BLOCK_ROWS: usize = 256;

/// Returns `(A + A') / 2`. These are the largest arrays of a fit. The transpose is computed for one block of rows after the other, which
/// is merged with the rows of the block: at no time is there more than the matrix, the result so far, and one block.
pub(super) fn average_with_transpose(a: &Csr) -> Result<Csr> {
    average_in_blocks(a, a.rows().div_ceil(BLOCKS).max(MIN_BLOCK_ROWS))
}

fn average_in_blocks(a: &Csr, block_rows: usize) -> Result<Csr> {
    let n = a.rows();
    let mut column_sizes = vec![0u32; n];
    a.indices().iter().for_each(|&j| column_sizes[j as usize] += 1);
    // The first entry of each row whose column is not in an earlier block. Columns ascend, so each entry is visited once.
    let mut unread: Vec<usize> = a.indptr()[..n].to_vec();
    let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for first in (0..n).step_by(block_rows) {
        let end = n.min(first + block_rows);
        let block = TransposedBlock::new(a, first..end, &column_sizes, &mut unread);
        let sizes: Vec<usize> = (first..end).into_par_iter().map(|i| merged(a.row(i), block.row(i)).count()).collect();
        let (start, total) = (indices.len(), sizes.iter().sum::<usize>());
        // By as much as is needed: growing by doubling would reserve twice the memory.
        indices.reserve_exact(total);
        values.reserve_exact(total);
        indices.resize(start + total, 0);
        values.resize(start + total, 0.0);
        let (mut rows, mut rest) = (Vec::with_capacity(sizes.len()), (&mut indices[start..], &mut values[start..]));
        for &size in &sizes {
            let (columns, later_columns) = rest.0.split_at_mut(size);
            let (row, later) = rest.1.split_at_mut(size);
            rows.push((columns, row));
            rest = (later_columns, later);
            indptr.push(indptr[indptr.len() - 1] + size);
        }
        rows.into_par_iter().enumerate().for_each(|(at, (columns, row))| {
            let i = first + at;
            for ((column, value), (j, v)) in columns.iter_mut().zip(row).zip(merged(a.row(i), block.row(i))) {
                (*column, *value) = (j, v);
            }
        });
    }
    Csr::new(indptr, indices, values, n)
}

/// Some rows of the transpose.
struct TransposedBlock {
    first: usize,
    starts: Vec<usize>,
    /// Ascending in each row, since they come from the rows in order.
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl TransposedBlock {
    /// Transposes the entries in the columns `block`, which begin at `unread` in each row; moves `unread` behind them.
    fn new(a: &Csr, block: std::ops::Range<usize>, column_sizes: &[u32], unread: &mut [usize]) -> Self {
        let mut starts = vec![0];
        column_sizes[block.clone()].iter().for_each(|&size| starts.push(starts[starts.len() - 1] + size as usize));
        let total = starts[block.len()];
        let (mut columns, mut values, mut next) = (vec![0; total], vec![0.0; total], starts.clone());
        for (i, at) in unread.iter_mut().enumerate() {
            while *at < a.indptr()[i + 1] && (a.indices()[*at] as usize) < block.end {
                let next = &mut next[a.indices()[*at] as usize - block.start];
                (columns[*next], values[*next]) = (i as u32, a.values()[*at]);
                (*next, *at) = (*next + 1, *at + 1);
            }
        }
        Self { first: block.start, starts, columns, values }
    }

    fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.starts[i - self.first]..self.starts[i - self.first + 1];
        (&self.columns[range.clone()], &self.values[range])
    }
}

/// Iterates over the average of two rows.
fn merged<'a>(a: (&'a [u32], &'a [f64]), b: (&'a [u32], &'a [f64])) -> impl Iterator<Item = (u32, f64)> {
    let (mut at_a, mut at_b) = (0, 0);
    std::iter::from_fn(move || {
        let order = match (a.0.get(at_a), b.0.get(at_b)) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(i), Some(j)) => i.cmp(j),
        };
        let (mut column, mut value) = (0, 0.0);
        if order.is_le() {
            (column, value) = (a.0[at_a], 0.5 * a.1[at_a]);
            at_a += 1;
        }
        if order.is_ge() {
            (column, value) = (b.0[at_b], value + 0.5 * b.1[at_b]);
            at_b += 1;
        }
        Some((column, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland_neighbors::graph::{Symmetrization, symmetrize};

    #[test]
    fn the_average_with_the_transpose_is_that_of_the_dense_matrices() {
        let n = 60u32;
        let links = (0..n).flat_map(|i| (0..7).map(move |k| (i, (i * 17 + k * k * 5) % n, f64::from(i + 3 * k) + 0.1)));
        let a = Csr::from_triplets(60, 60, links.filter(|(i, j, _)| i % 9 != 0 || i == j)).unwrap();
        let expected = symmetrize(&a, Symmetrization::Average).unwrap();
        for block_rows in [1, 7, 20, 59, 60, 1000] {
            assert_eq!(average_in_blocks(&a, block_rows).unwrap(), expected, "{block_rows}");
        }
        let empty = Csr::from_triplets(0, 0, []).unwrap();
        assert_eq!(average_with_transpose(&empty).unwrap(), empty);
    }
}
