//! Scaling of rows and columns.

use std::sync::Arc;

use rayon::prelude::*;

use lowland_core::{Data, Dense, Error, Result};

/// Number of rows per parallel task.
const CHUNK_ROWS: usize = 512;

/// Mean and reciprocal standard deviation of every column.
#[derive(Debug, Clone)]
pub(super) struct ColumnScaling {
    pub mean: Vec<f64>,
    pub scale: Vec<f64>,
}

/// Applies `change` to the columns (`None` if dense) and values of each row. The result has no offsets.
fn map_rows(data: &Data, change: impl Fn(Option<&[u32]>, &mut [f32]) + Sync) -> Data {
    match data {
        Data::Dense(x) => {
            let mut values = x.values().to_vec();
            if x.dim() > 0 {
                values
                    .par_chunks_mut(x.dim() * CHUNK_ROWS)
                    .for_each(|chunk| chunk.chunks_exact_mut(x.dim()).for_each(|row| change(None, row)));
            }
            Data::Dense(Dense::shared(Arc::new(values), x.rows(), x.dim()).expect("same shape"))
        }
        Data::Sparse(x) => {
            let mut values = x.values().to_vec();
            for (i, bounds) in x.indptr().windows(2).enumerate() {
                change(Some(x.row(i).0), &mut values[bounds[0]..bounds[1]]);
            }
            Data::Sparse(x.with_values(values))
        }
        Data::Text(_) => unreachable!("strings were rejected"),
    }
}

/// Replaces every value x by log(1 + x). The offset of a column becomes its logarithm.
pub(super) fn log1p(data: &Data) -> Result<Data> {
    let offsets = data.offsets().map_or_else(|| vec![0.0; data.dim()], <[f64]>::to_vec);
    let check = |row: usize, column: usize, value: f32| {
        let value = f64::from(value) + offsets[column];
        if value > -1.0 {
            return Ok(());
        }
        Err(Error::Parameter {
            name: "log1p",
            value: "true".into(),
            allowed: format!("row {row}, column {column} is {value}: log(1 + x) needs values above -1"),
        })
    };
    match data {
        Data::Dense(x) => {
            x.values().iter().enumerate().try_for_each(|(at, &value)| check(at / x.dim(), at % x.dim(), value))?;
            // log(1 + offset + x) is log(1 + offset) + log(1 + x / (1 + offset)).
            let logarithms = map_rows(data, |_, row| {
                for (value, &offset) in row.iter_mut().zip(&offsets) {
                    *value =
                        if offset == 0.0 { value.ln_1p() } else { (f64::from(*value) / (1.0 + offset)).ln_1p() as f32 };
                }
            });
            let Data::Dense(logarithms) = logarithms else { unreachable!("the rows are dense") };
            let offsets = data.offsets().map(|offsets| offsets.iter().map(|offset| offset.ln_1p()).collect());
            Ok(Data::Dense(logarithms.shifted_by(offsets)?))
        }
        Data::Sparse(x) => {
            for i in 0..x.rows() {
                let (columns, values) = x.row(i);
                columns.iter().zip(values).try_for_each(|(&j, &value)| check(i, j as usize, value))?;
            }
            Ok(map_rows(data, |_, row| row.iter_mut().for_each(|v| *v = v.ln_1p())))
        }
        Data::Text(_) => unreachable!("strings were rejected"),
    }
}

/// Scales every row to length 1.
pub(super) fn unit_rows(data: &Data) -> Data {
    map_rows(data, |_, row| {
        let norm = row.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>().sqrt();
        if norm > 0.0 {
            row.iter_mut().for_each(|v| *v = (f64::from(*v) / norm) as f32);
        }
    })
}

impl ColumnScaling {
    /// Computes the scaling of the columns.
    pub fn fit(data: &Data) -> Self {
        let (mean, square) = column_moments(data);
        let n = data.rows().max(1) as f64;
        let scale = mean.iter().zip(&square).map(|(_, deviation)| {
            let std = (deviation / n).sqrt();
            if std > 0.0 { 1.0 / std } else { 1.0 }
        });
        let scale = scale.collect();
        // Sparse data is not centered, so that zeros stay zero.
        let mean = if matches!(data, Data::Sparse(_)) { vec![0.0; mean.len()] } else { mean };
        Self { mean, scale }
    }

    /// Scales the columns.
    pub fn apply(&self, data: &Data) -> Data {
        map_rows(data, |columns, row| match columns {
            None => row.iter_mut().zip(&self.mean).zip(&self.scale).for_each(|((v, mean), scale)| {
                *v = ((f64::from(*v) - mean) * scale) as f32;
            }),
            Some(columns) => row.iter_mut().zip(columns).for_each(|(v, &j)| {
                *v = (f64::from(*v) * self.scale[j as usize]) as f32;
            }),
        })
    }
}

/// Returns the mean of every column and the sum of squared deviations from it, in two passes over fixed chunks of rows.
pub(crate) fn column_moments(data: &Data) -> (Vec<f64>, Vec<f64>) {
    let n = data.rows().max(1) as f64;
    let mean: Vec<f64> = column_sums(data, |_, v| v).into_iter().map(|sum| sum / n).collect();
    let mut square = column_sums(data, |j, v| (v - mean[j]) * (v - mean[j]));
    if let Data::Sparse(x) = data {
        // Zeros that are not stored contribute too.
        let mut stored = vec![0usize; x.dim()];
        x.indices().iter().for_each(|&j| stored[j as usize] += 1);
        for j in 0..x.dim() {
            square[j] += (x.rows() - stored[j]) as f64 * mean[j] * mean[j];
        }
    }
    (mean, square)
}

/// Returns the sum of `term(column, value)` over the stored values of every column.
fn column_sums(data: &Data, term: impl Fn(usize, f64) -> f64 + Sync) -> Vec<f64> {
    let dim = data.dim();
    let partial = |rows: std::ops::Range<usize>| {
        let mut sums = vec![0.0; dim];
        for i in rows {
            match data {
                Data::Dense(x) => x.row(i).iter().enumerate().for_each(|(j, &v)| sums[j] += term(j, f64::from(v))),
                Data::Sparse(x) => {
                    let (columns, values) = x.row(i);
                    columns.iter().zip(values).for_each(|(&j, &v)| sums[j as usize] += term(j as usize, f64::from(v)));
                }
                Data::Text(_) => unreachable!("strings were rejected"),
            }
        }
        sums
    };
    let starts: Vec<usize> = (0..data.rows()).step_by(CHUNK_ROWS * 8).collect();
    let parts: Vec<Vec<f64>> =
        starts.par_iter().map(|&start| partial(start..(start + CHUNK_ROWS * 8).min(data.rows()))).collect();
    parts.into_iter().fold(vec![0.0; dim], |mut total, part| {
        total.iter_mut().zip(part).for_each(|(a, b)| *a += b);
        total
    })
}

/// Returns the number of columns in which all rows have the same value.
pub fn constant_columns(data: &Data) -> usize {
    match data {
        Data::Text(_) => 0,
        _ => column_moments(data).1.iter().filter(|&&deviation| deviation == 0.0).count(),
    }
}
