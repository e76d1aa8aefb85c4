//! Dense rows of numbers, narrowed to single precision as they are read.

use std::sync::Arc;

use lowland::Data;
use lowland::data::{Dense, Narrowing};

use crate::budget::Budget;
use crate::error::{FileErrorKind, Location, Result};

/// Dense rows read so far. What they hold besides the values is reserved in the budget; the values are reserved by the reader.
pub(crate) struct RowBuilder<'a> {
    values: Vec<f32>,
    dim: usize,
    narrowing: Narrowing,
    budget: &'a Budget,
    reserved: usize,
}

impl<'a> RowBuilder<'a> {
    /// Prepares for rows of `dim` columns, with the given offsets or those that the columns need. `values` is empty.
    pub fn new(values: Vec<f32>, dim: usize, offsets: Option<&Arc<[f64]>>, budget: &'a Budget) -> Self {
        Self { values, dim, narrowing: Narrowing::new(dim, offsets.cloned()), budget, reserved: 0 }
    }

    /// Adds the next value, row by row: `narrow` is `wide()` rounded. `cell` names the location of a value that is too large.
    pub fn push(
        &mut self,
        narrow: f32,
        wide: impl Fn() -> f64,
        cell: impl FnOnce(usize, usize) -> (Location, String),
    ) -> Result<()> {
        let at = self.values.len();
        self.values.push(0.0);
        self.set((at / self.dim.max(1), at % self.dim.max(1)), narrow, wide, cell)
    }

    /// Number of columns.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Adds rows of NaN: missing values, in all columns.
    pub fn push_missing(&mut self, count: usize) {
        self.values.resize(self.values.len() + count, f32::NAN);
    }

    /// Adds rows of zeros, to be [set](Self::set) column by column.
    pub fn grow(&mut self, rows: usize) {
        self.values.resize(self.values.len() + rows * self.dim, 0.0);
    }

    /// Sets the value of a cell; in each column the rows come in order.
    pub fn set(
        &mut self,
        (row, column): (usize, usize),
        narrow: f32,
        wide: impl Fn() -> f64,
        cell: impl FnOnce(usize, usize) -> (Location, String),
    ) -> Result<()> {
        let value = self.narrowing.convert((row, column), narrow, &wide, &self.values);
        if value.is_infinite() && wide().is_finite() {
            let (location, column) = cell(row, column);
            return Err(FileErrorKind::Overflow { location, column, found: format!("{:e}", wide()) });
        }
        self.values[row * self.dim + column] = value;
        if self.narrowing.bytes() > self.reserved {
            self.budget.reserve("the columns in double precision", self.narrowing.bytes() - self.reserved, 1)?;
            self.reserved = self.narrowing.bytes();
        }
        Ok(())
    }

    /// Shifts the columns that need it and returns the rows.
    pub fn finish(mut self, rows: usize) -> Result<Data> {
        let offsets = self.narrowing.finish(&mut self.values)?;
        self.budget.release(self.reserved);
        Ok(Data::Dense(Dense::shared(Arc::new(self.values), rows, self.dim)?.shifted_by(offsets)?))
    }
}

/// Row and column of a cell of an array, from 0.
pub(crate) fn array_cell(row: usize, column: usize) -> (Location, String) {
    (Location::Row(row), column.to_string())
}
