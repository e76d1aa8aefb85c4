//! Conversion of columns from double to single precision without losing their spread.
//!
//! Single precision has 24 bits. A column whose values are large against their differences, such as time stamps, would lose
//! the differences: it is stored as the differences from an offset in double precision. All other columns are rounded.

use std::sync::Arc;

use crate::{Error, Result};

/// A column is shifted if its largest value exceeds its spread by this factor, so that rounding would leave fewer than 16
/// bits of the spread.
const SHIFT_RATIO: f64 = 256.0;

/// Narrows the columns of a matrix, value by value, and decides which ones to shift. Holds the wide values only of columns that
/// may have to be shifted, which is decided after a few rows for ordinary columns.
pub struct Narrowing {
    columns: Vec<ColumnSummary>,
    given: Option<Arc<[f64]>>,
    held: usize,
}

/// The values of a column so far.
struct ColumnSummary {
    min: f64,
    max: f64,
    /// Whether the column may have to be shifted.
    open: bool,
    /// The values, if rounding changed one of them.
    wide: Vec<f64>,
    /// Whether a value is in the range of normal numbers.
    normal: bool,
    /// The largest magnitude that is not.
    tiny: f64,
}

impl Narrowing {
    /// Prepares the conversion of `dim` columns. With `offsets`, those are subtracted and no others: new rows have the offsets
    /// of the rows that a model was fitted to. Offsets of another number of columns are ignored.
    pub fn new(dim: usize, offsets: Option<Arc<[f64]>>) -> Self {
        let given = offsets.filter(|offsets| offsets.len() == dim);
        let column = || ColumnSummary {
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            open: true,
            wide: Vec::new(),
            normal: false,
            tiny: 0.0,
        };
        Self { columns: (0..if given.is_some() { 0 } else { dim }).map(|_| column()).collect(), given, held: 0 }
    }

    /// Converts the value of a cell: `narrow` is the rounded value, and `wide` returns the value itself. `earlier` holds the
    /// converted values of all earlier rows, row by row. Rows come in order.
    #[inline]
    pub fn convert(
        &mut self,
        (row, column): (usize, usize),
        narrow: f32,
        wide: impl Fn() -> f64,
        earlier: &[f32],
    ) -> f32 {
        if let Some(offsets) = &self.given {
            let offset = offsets[column];
            return if offset == 0.0 { narrow } else { (wide() - offset) as f32 };
        }
        let dim = self.columns.len();
        let values = &mut self.columns[column];
        if narrow.abs() >= f32::MIN_POSITIVE {
            values.normal = true;
        } else if !values.normal && !narrow.is_nan() {
            values.tiny = values.tiny.max(wide().abs());
        }
        if values.open {
            let before = values.wide.len();
            let earlier = earlier.get(column..).unwrap_or_default().iter().step_by(dim);
            values.observe(row, narrow, wide(), earlier);
            self.held = self.held + values.wide.len() - before;
        }
        narrow
    }

    /// Number of bytes that are held besides the converted values.
    pub fn bytes(&self) -> usize {
        self.held * size_of::<f64>()
    }

    /// Shifts the columns that need it, and returns the offset of every column; `None` if no column is shifted. Fails if all
    /// values of a column are too small for single precision.
    pub fn finish(self, values: &mut [f32]) -> Result<Option<Arc<[f64]>>> {
        if self.given.is_some() {
            return Ok(self.given.filter(|offsets| offsets.iter().any(|&offset| offset != 0.0)));
        }
        let dim = self.columns.len();
        let mut offsets = vec![0.0; dim];
        for (j, column) in self.columns.into_iter().enumerate() {
            if !column.normal && column.tiny > 0.0 {
                return Err(Error::TooSmall { column: j, largest: column.tiny });
            }
            if !column.open || column.wide.is_empty() || column.min >= column.max {
                continue;
            }
            // Halfway between the extremes, so that it does not depend on the order of the rows. The differences are exact,
            // since all values are within a factor of two of the offset.
            let offset = column.min + 0.5 * (column.max - column.min);
            offsets[j] = offset;
            for (value, wide) in values[j..].iter_mut().step_by(dim).zip(column.wide) {
                *value = (wide - offset) as f32;
            }
        }
        Ok(offsets.iter().any(|&offset| offset != 0.0).then(|| offsets.into()))
    }
}

impl ColumnSummary {
    fn observe<'v>(&mut self, row: usize, narrow: f32, wide: f64, earlier: impl Iterator<Item = &'v f32>) {
        if wide.is_finite() {
            self.min = self.min.min(wide);
            self.max = self.max.max(wide);
            if self.min.abs().max(self.max.abs()) <= SHIFT_RATIO * (self.max - self.min) {
                self.open = false;
                self.wide = Vec::new();
                return;
            }
        }
        if self.wide.is_empty() {
            if f64::from(narrow) == wide || !wide.is_finite() {
                return;
            }
            // All values before this one are exact in single precision.
            self.wide.extend(earlier.take(row).map(|&value| f64::from(value)));
        }
        // Rows without a value may have been left out.
        self.wide.resize(row, f64::NAN);
        self.wide.push(wide);
    }
}

/// What is subtracted from the values of each column.
type Offsets = Arc<[f64]>;

/// Converts row-major values. Returns the converted values, and the offsets of the columns if some are shifted.
pub(super) fn narrow(
    values: impl ExactSizeIterator<Item = f64>,
    dim: usize,
    offsets: Option<Offsets>,
) -> Result<(Vec<f32>, Option<Offsets>)> {
    let mut narrowing = Narrowing::new(dim, offsets);
    let mut out = Vec::with_capacity(values.len());
    let (mut row, mut column) = (0, 0);
    for wide in values {
        let narrow = narrowing.convert((row, column), wide as f32, || wide, &out);
        if narrow.is_infinite() && wide.is_finite() {
            return Err(Error::TooLarge { row, column, value: wide });
        }
        out.push(narrow);
        column += 1;
        if column == dim {
            (row, column) = (row + 1, 0);
        }
    }
    let offsets = narrowing.finish(&mut out)?;
    Ok((out, offsets))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Data, Seed};

    fn shifted(values: &[f64], dim: usize) -> (Vec<f32>, Option<Arc<[f64]>>) {
        narrow(values.iter().copied(), dim, None).unwrap()
    }

    #[test]
    fn time_stamps_within_ten_minutes_stay_distinct() {
        let stamps: Vec<f64> = (0..500).map(|i| 1.7e9 + 1.2 * f64::from(i)).collect();
        let (values, offsets) = shifted(&stamps, 1);
        let offset = offsets.expect("the column is shifted")[0];
        let mut sorted = values.clone();
        sorted.dedup();
        assert_eq!(sorted.len(), 500);
        for (value, stamp) in values.iter().zip(&stamps) {
            assert!((f64::from(*value) + offset - stamp).abs() < 1e-4);
        }
    }

    #[test]
    fn ordinary_columns_are_rounded_and_nothing_else() {
        let normals = Seed(1).normals(300);
        // Years, which are exact in single precision; a constant; a mean of up to 64 standard deviations.
        let rows: Vec<f64> =
            (0..100).flat_map(|i| [2000.0 + f64::from(i % 4), 0.1, normals[i as usize] + 64.0]).collect();
        let (values, offsets) = shifted(&rows, 3);
        assert_eq!(offsets, None);
        assert!(values.iter().zip(&rows).all(|(value, wide)| *value == *wide as f32));
    }

    #[test]
    fn offsets_do_not_depend_on_the_order_of_rows_and_missing_values_stay_missing() {
        let rows = [1e9, f64::NAN, 1e9 + 0.25, 1e9 + 1.0];
        let (values, offsets) = shifted(&rows, 1);
        assert_eq!(offsets.as_deref(), Some(&[1e9 + 0.5][..]));
        assert_eq!((values[0], values[2], values[3]), (-0.5, -0.25, 0.5));
        assert!(values[1].is_nan());
        let reversed: Vec<f64> = rows.iter().rev().copied().collect();
        assert_eq!(shifted(&reversed, 1).1, offsets);
    }

    #[test]
    fn given_offsets_apply_to_a_single_row() {
        let given: Arc<[f64]> = vec![1e9, 0.0].into();
        let (values, offsets) = narrow([1e9 + 3.0, 0.1].into_iter(), 2, Some(given.clone())).unwrap();
        assert_eq!((values, offsets), (vec![3.0, 0.1], Some(given)));
    }

    #[test]
    fn values_out_of_range_are_named() {
        let error = Data::from_f64([1.0, 2.0, 3.0, 1e39].into_iter(), 2, 2, None).unwrap_err().to_string();
        assert!(error.contains("row 1, column 1 is 1e39") && error.contains("32-bit floats"), "{error}");
        let error = Data::from_f64([1.0, 0.0, 2.0, -1e-200].into_iter(), 2, 2, None).unwrap_err().to_string();
        assert!(error.contains("column 1") && error.contains("1e-200") && error.contains("small"), "{error}");
        // One small value among others is rounded to zero.
        assert!(Data::from_f64([1.0, 1e-200].into_iter(), 2, 1, None).is_ok());
    }

    #[test]
    fn shifting_and_its_inverse_agree() {
        let data = Data::from_f64([1e9, 1.0, 1e9 + 2.0, 2.0].into_iter(), 2, 2, None).unwrap();
        let Data::Dense(rows) = &data else { panic!("dense rows") };
        assert_eq!((rows.value(1, 0), rows.value(1, 1)), (1e9 + 2.0, 2.0));
        assert_eq!(data.rounded_columns(), [0]);
        let Data::Dense(plain) = data.unshifted() else { panic!("dense rows") };
        assert_eq!((plain.offsets(), plain.row(0)), (None, &[1e9, 1.0][..]));
        let given = [1e9 - 1.0, 0.0];
        let Data::Dense(rebased) = data.with_offsets(Some(&given)) else { panic!("dense rows") };
        assert_eq!((rebased.offsets(), rebased.row(1)), (Some(&given[..]), &[3.0, 2.0][..]));
    }
}
