//! The scaled data together with the graph.

use super::laplacian_graph::LaplacianGraph;
use crate::dense_rows::copy_dense_row;
use lowland_core::message::Remedy;
use lowland_core::{Data, Error, Result};
use lowland_linalg::block::column_means;

/// Rows minus their mean, divided by their largest absolute value, with each column multiplied by a scale.
#[derive(Debug, Clone, PartialEq)]
pub struct ScaledRows {
    /// The values, row-major.
    pub values: Vec<f64>,
    /// The mean that was subtracted.
    pub center: Vec<f64>,
    /// The divisor.
    pub scale: f64,
    /// The scale of each column: 1, unless each column has a noise of its own.
    pub column_scales: Vec<f64>,
}

impl ScaledRows {
    /// Centers and scales dense or sparse data.
    pub fn new(data: &Data) -> Result<Self> {
        let columns = data.dim();
        let mut values = dense_values(data)?;
        let center = column_means(&values, columns);
        for row in values.chunks_exact_mut(columns.max(1)) {
            row.iter_mut().zip(&center).for_each(|(v, m)| *v -= m);
        }
        let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let scale = if largest > 0.0 { largest } else { 1.0 };
        values.iter_mut().for_each(|v| *v /= scale);
        Ok(Self { values, center, scale, column_scales: vec![1.0; columns] })
    }

    /// The scale of each column.
    pub fn column_scales(&self) -> &[f64] {
        &self.column_scales
    }

    /// Multiplies the columns by scales; `self` has none yet. Returns `None` unless there is a positive one for each column.
    pub fn with_column_scales(mut self, scales: &[f64]) -> Option<Self> {
        if scales.len() != self.columns() || !scales.iter().all(|&s| s > 0.0 && s.is_finite()) {
            return None;
        }
        for row in self.values.chunks_exact_mut(scales.len().max(1)) {
            row.iter_mut().zip(scales).for_each(|(v, s)| *v *= s);
        }
        self.column_scales = scales.to_vec();
        Some(self)
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.center.len()
    }

    /// Returns row `i`.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.columns()..(i + 1) * self.columns()]
    }

    /// Returns row `i` of other data, centered and scaled in the same way. Sparse rows become dense one at a time.
    pub(super) fn scale_row(&self, data: &Data, i: usize) -> Vec<f64> {
        let mut row = vec![0.0; self.columns()];
        copy_dense_row(data, i, &mut row);
        let columns = row.iter_mut().zip(&self.center).zip(&self.column_scales);
        columns.for_each(|((v, m), s)| *v = (*v - m) / self.scale * s);
        row
    }
}

/// Returns all values in double precision, row-major.
fn dense_values(data: &Data) -> Result<Vec<f64>> {
    if let Data::Text(_) = data {
        let remedies = vec![Remedy::UseMethod("lvm"), Remedy::UseMethod("spectral")];
        return Err(Error::Kind { what: "the locally linear latent variable model", kind: "text", remedies });
    }
    let mut values = vec![0.0; data.rows() * data.dim()];
    values.chunks_exact_mut(data.dim().max(1)).enumerate().for_each(|(i, row)| copy_dense_row(data, i, row));
    Ok(values)
}

/// The data and the graph, with the quantities that depend only on them.
#[derive(Debug, Clone)]
pub struct LllvmProblem {
    /// The graph.
    pub graph: LaplacianGraph,
    /// The data.
    pub rows: ScaledRows,
    /// `tr(L Y'Y)`.
    pub(super) roughness: f64,
    /// `|sum y_i|^2`, zero up to rounding.
    pub(super) offset: f64,
}

/// The smallest variance of the noise, relative to the mean squared difference between neighbors. Rows that repeat, or clusters
/// whose distance is orders of magnitude larger than they are, can be fitted without noise. The second moments then hold
/// differences that rounding erases, and the bound is no longer computable. On ordinary manifolds without any noise, curvature
/// alone keeps the ratio above 1e-2.
pub(super) const MIN_NOISE: f64 = 1e-4;

impl LllvmProblem {
    /// Combines rows with the graph of the same points.
    pub fn new(graph: LaplacianGraph, rows: ScaledRows) -> Result<Self> {
        let (n, columns) = (graph.points(), rows.columns());
        if Some(rows.values.len()) != n.checked_mul(columns) || columns == 0 {
            return Err(Error::Shape {
                what: "values of the rows",
                expected: n * columns.max(1),
                found: rows.values.len(),
            });
        }
        let roughness = graph.roughness(&rows.values, columns);
        let offset = column_means(&rows.values, columns).iter().map(|m| (m * n as f64).powi(2)).sum();
        Ok(Self { graph, rows, roughness, offset })
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.graph.points()
    }

    /// Number of columns of the data.
    pub fn columns(&self) -> usize {
        self.rows.columns()
    }
}
