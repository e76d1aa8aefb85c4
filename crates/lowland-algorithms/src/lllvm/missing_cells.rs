//! Cells without a value. Given the other posteriors, the missing cells of a column are Gaussian with a precision of `2 gamma L_MM` (the
//! part of the Laplacian that belongs to their rows) plus a term of the tiny `epsilon`. So their posterior is taken as Gaussian with the
//! covariance `s L_MM^-1`: only its mean and the factor `s` change during the iterations, each with a maximum in closed form.

use rayon::prelude::*;

use lowland_core::{Error, Result};
use lowland_linalg::{Csr, SparseCholesky};

use super::graph::ModelGraph;

/// The missing cells of the columns that have any.
pub struct MissingCells {
    pub(super) columns: Vec<MissingColumn>,
}

/// The missing cells of a column.
pub(super) struct MissingColumn {
    pub column: usize,
    /// Their rows, in ascending order.
    pub rows: Vec<u32>,
    /// `L_MM^-1`.
    inverse: SparseCholesky,
    /// `L_MM^-1 1`.
    pub solved_ones: Vec<f64>,
    pub log_determinant: f64,
}

impl MissingCells {
    /// Groups cells, given as column and row in ascending order, by column; `None` if there are none.
    pub fn new(graph: &ModelGraph, cells: &[(u32, u32)]) -> Result<Option<Self>> {
        let laplacian = graph.laplacian();
        let by_column = cells.chunk_by(|a, b| a.0 == b.0);
        let columns = by_column.map(|cells| MissingColumn::new(&laplacian, cells)).collect::<Result<Vec<_>>>()?;
        Ok((!columns.is_empty()).then_some(Self { columns }))
    }

    /// Number of missing cells.
    pub fn count(&self) -> usize {
        self.columns.iter().map(|column| column.rows.len()).sum()
    }
}

impl std::fmt::Debug for MissingCells {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MissingCells({})", self.count())
    }
}

impl MissingColumn {
    fn new(laplacian: &Csr, cells: &[(u32, u32)]) -> Result<Self> {
        let column = cells[0].0 as usize;
        let rows: Vec<u32> = cells.iter().map(|cell| cell.1).collect();
        if rows.len() == laplacian.rows() {
            return Err(Error::NoValues { what: "column", index: column });
        }
        let count = rows.len();
        let entries = rows.iter().enumerate().flat_map(|(a, &i)| {
            let (columns, values) = laplacian.row(i as usize);
            let kept = columns.iter().zip(values);
            kept.filter_map(|(j, &v)| rows.binary_search(j).ok().map(|b| (a as u32, b as u32, v))).collect::<Vec<_>>()
        });
        let part = Csr::from_triplets(count, count, entries)?;
        let inverse = SparseCholesky::new(&part, 1, usize::MAX)?.expect("a factor of any size is accepted");
        let mut solved_ones = vec![1.0; count];
        inverse.solve_columns(&mut solved_ones, 1);
        let log_determinant = inverse.log_determinant();
        Ok(Self { column, rows, inverse, solved_ones, log_determinant })
    }

    /// `1' L_MM^-1 1`.
    pub fn inverse_sum(&self) -> f64 {
        self.solved_ones.iter().sum()
    }

    /// The diagonal of `L_MM^-1`.
    pub fn inverse_diagonal(&self) -> Vec<f64> {
        let count = self.rows.len();
        let entry = |a: usize| {
            let mut unit = vec![0.0; count];
            unit[a] = 1.0;
            self.solve(&mut unit);
            unit[a]
        };
        (0..count).into_par_iter().map(entry).collect()
    }

    /// Replaces `right` by `L_MM^-1 right`.
    pub fn solve(&self, right: &mut [f64]) {
        self.inverse.solve_columns(right, 1);
    }
}
