//! The data as the model takes them, beside their graph.

use super::network::Network;
use crate::llx::copy_row;
use lowland_core::message::Remedy;
use lowland_core::{Data, Error, Result};
use lowland_linalg::block::column_means;

/// Rows less their mean, divided by their largest absolute value.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// Row after row.
    pub values: Vec<f64>,
    /// The mean that was taken off.
    pub centre: Vec<f64>,
    /// What the rest was divided by.
    pub scale: f64,
}

impl Rows {
    /// Of dense or sparse data.
    pub fn new(data: &Data) -> Result<Self> {
        let columns = data.dim();
        let mut values = plain(data)?;
        let centre = column_means(&values, columns);
        for row in values.chunks_exact_mut(columns.max(1)) {
            row.iter_mut().zip(&centre).for_each(|(v, m)| *v -= m);
        }
        let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let scale = if largest > 0.0 { largest } else { 1.0 };
        values.iter_mut().for_each(|v| *v /= scale);
        Ok(Self { values, centre, scale })
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.centre.len()
    }

    /// One row.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.columns()..(i + 1) * self.columns()]
    }

    /// One of other rows, in the same units. Sparse rows become dense one at a time.
    pub fn place(&self, data: &Data, i: usize) -> Vec<f64> {
        let mut row = vec![0.0; self.columns()];
        copy_row(data, i, &mut row);
        row.iter_mut().zip(&self.centre).for_each(|(v, m)| *v = (*v - m) / self.scale);
        row
    }
}

/// All values in double precision, row after row.
fn plain(data: &Data) -> Result<Vec<f64>> {
    if let Data::Text(_) = data {
        let remedies = vec![Remedy::UseMethod("lvm"), Remedy::UseMethod("spectral")];
        return Err(Error::Kind { what: "the locally linear latent variable model", kind: "text", remedies });
    }
    let mut values = vec![0.0; data.rows() * data.dim()];
    values.chunks_exact_mut(data.dim().max(1)).enumerate().for_each(|(i, row)| copy_row(data, i, row));
    Ok(values)
}

/// Data and graph, and what depends on both alone.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The graph.
    pub network: Network,
    /// The data.
    pub rows: Rows,
    /// `tr(L Y'Y)`.
    pub(super) roughness: f64,
    /// `|sum y_i|^2`, zero but for rounding.
    pub(super) offset: f64,
}

impl Problem {
    /// Of rows and the graph of the same points.
    pub fn new(network: Network, rows: Rows) -> Result<Self> {
        let (n, columns) = (network.points(), rows.columns());
        if Some(rows.values.len()) != n.checked_mul(columns) || columns == 0 {
            return Err(Error::Shape {
                what: "values of the rows",
                expected: n * columns.max(1),
                found: rows.values.len(),
            });
        }
        let roughness = network.roughness(&rows.values, columns);
        let offset = column_means(&rows.values, columns).iter().map(|m| (m * n as f64).powi(2)).sum();
        Ok(Self { network, rows, roughness, offset })
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.network.points()
    }

    /// Number of columns of the data.
    pub fn columns(&self) -> usize {
        self.rows.columns()
    }
}
