//! The scaled data together with the graph.

use std::sync::Arc;

use super::laplacian_graph::LaplacianGraph;
use super::missing_cells::MissingCells;
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
    /// Column and row of the missing cells, in ascending order. Until a model fills them, they have the mean of their column.
    pub missing: Vec<(u32, u32)>,
}

impl ScaledRows {
    /// Centers and scales dense or sparse data. Cells that are NaN are missing.
    pub fn new(data: &Data) -> Result<Self> {
        let columns = data.dim();
        let mut values = dense_values(data)?;
        let missing = take_missing(&mut values, columns);
        let mut center = column_means(&values, columns);
        for cells in missing.chunk_by(|a, b| a.0 == b.0) {
            // The mean of the others; the missing ones count as zero so far.
            let others = (data.rows() - cells.len()).max(1) as f64;
            center[cells[0].0 as usize] *= data.rows() as f64 / others;
        }
        for row in values.chunks_exact_mut(columns.max(1)) {
            row.iter_mut().zip(&center).for_each(|(v, m)| *v -= m);
        }
        missing.iter().for_each(|&(column, row)| values[row as usize * columns + column as usize] = 0.0);
        let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let scale = if largest > 0.0 { largest } else { 1.0 };
        values.iter_mut().for_each(|v| *v /= scale);
        Ok(Self { values, center, scale, column_scales: vec![1.0; columns], missing })
    }

    /// Centers and scales data like other rows, without the scales of their columns.
    pub fn with_center(data: &Data, center: Vec<f64>, scale: f64) -> Result<Self> {
        let columns = data.dim();
        let mut values = dense_values(data)?;
        for row in values.chunks_exact_mut(columns.max(1)) {
            row.iter_mut().zip(&center).for_each(|(v, m)| *v = (*v - m) / scale);
        }
        Ok(Self { values, center, scale, column_scales: vec![1.0; columns], missing: Vec::new() })
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

/// Replaces NaN by zero, and returns the columns and rows of these cells.
fn take_missing(values: &mut [f64], columns: usize) -> Vec<(u32, u32)> {
    let cells = values.iter().enumerate().filter(|(_, v)| v.is_nan());
    let mut missing: Vec<_> = cells.map(|(at, _)| ((at % columns) as u32, (at / columns) as u32)).collect();
    missing.sort_unstable();
    values.iter_mut().filter(|v| v.is_nan()).for_each(|v| *v = 0.0);
    missing
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
    /// The missing cells.
    pub(super) missing: Option<Arc<MissingCells>>,
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
        let missing = MissingCells::new(&graph, &rows.missing)?.map(Arc::new);
        Ok(Self { graph, rows, missing })
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
