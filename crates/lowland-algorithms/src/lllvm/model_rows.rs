//! The rows as the iterations see them: scaled by column if each has its own noise, and with a posterior of the missing cells.

use std::borrow::Cow;

use rayon::prelude::*;

use super::graph::ModelGraph;
use super::missing_cells::{MissingCells, MissingColumn};
use super::problem::ScaledRows;
use lowland_core::Result;
use lowland_core::archive::Archive;

/// The rows of one start.
#[derive(Debug, Clone)]
pub(super) struct ModelRows<'a> {
    source: &'a ScaledRows,
    missing: Option<&'a MissingCells>,
    /// The rows, with the means of the missing cells.
    pub rows: Cow<'a, ScaledRows>,
    /// The factor `s` of the covariance of the missing cells, for each column that has any.
    variances: Vec<f64>,
    /// The expectation of `tr(L Y'Y)`.
    pub roughness: f64,
    /// The expectation of `|sum y_i|^2`; zero up to rounding without missing cells.
    pub offset: f64,
}

impl<'a> ModelRows<'a> {
    pub fn new(source: &'a ScaledRows, missing: Option<&'a MissingCells>, graph: &ModelGraph) -> Self {
        let variances = vec![0.0; missing.map_or(0, |missing| missing.columns.len())];
        let rows = Cow::Borrowed(source);
        let mut rows = Self { source, missing, rows, variances, roughness: 0.0, offset: 0.0 };
        rows.update_sums(graph);
        rows
    }

    fn update_sums(&mut self, graph: &ModelGraph) {
        let columns = self.rows.columns();
        self.roughness = graph.roughness(&self.rows.values, columns);
        let mut sums = vec![0.0; columns];
        let rows = self.rows.values.chunks_exact(columns);
        rows.for_each(|row| sums.iter_mut().zip(row).for_each(|(sum, v)| *sum += v));
        self.offset = sums.iter().map(|sum| sum * sum).sum();
        let (mut roughness, mut offset) = (0.0, 0.0);
        for (column, variance) in self.missing_columns() {
            roughness += variance * column.rows.len() as f64;
            offset += variance * column.inverse_sum();
        }
        self.roughness += roughness;
        self.offset += offset;
    }

    /// The columns with missing cells, each with the factor of its covariance.
    fn missing_columns(&self) -> impl Iterator<Item = (&'a MissingColumn, f64)> {
        self.missing.into_iter().flat_map(|missing| &missing.columns).zip(self.variances.iter().copied())
    }

    /// Updates the posterior of the missing cells. `offsets` is `sum_j (C_i + C_j)(x_i - x_j)` of a row and column.
    pub fn update_missing(
        &mut self,
        graph: &ModelGraph,
        (gamma, epsilon): (f64, f64),
        offsets: impl Fn(usize, usize) -> f64 + Sync,
    ) {
        let Some(missing) = self.missing else { return };
        let (rows, columns) = (&self.rows, self.rows.columns());
        let posterior = |missing: &MissingColumn| {
            let (c, count) = (missing.column, missing.rows.len() as f64);
            let is_missing = |i: usize| missing.rows.binary_search(&(i as u32)).is_ok();
            let value = |i: usize| rows.values[i * columns + c];
            let known_sum: f64 = (0..graph.points()).filter(|&i| !is_missing(i)).map(value).sum();
            let right = |&i: &u32| {
                let near = graph.neighbors(i as usize).iter().map(|&j| j as usize).filter(|&j| !is_missing(j));
                0.5 * offsets(i as usize, c) + near.map(value).sum::<f64>()
            };
            let mut means: Vec<f64> = missing.rows.iter().map(right).collect();
            missing.solve(&mut means);
            // (2 gamma L_MM + epsilon 11') mean = right, by the formula of Sherman and Morrison.
            let shift = (means.iter().sum::<f64>() + known_sum) / (2.0 * gamma / epsilon + missing.inverse_sum());
            means.iter_mut().zip(&missing.solved_ones).for_each(|(m, h)| *m -= shift * h);
            (means, count / (2.0 * gamma * count + epsilon * missing.inverse_sum()))
        };
        let posteriors: Vec<(Vec<f64>, f64)> = missing.columns.par_iter().map(posterior).collect();
        let means: Vec<&[f64]> = posteriors.iter().map(|(means, _)| means.as_slice()).collect();
        self.set_means(&means);
        self.variances = posteriors.iter().map(|(_, variance)| *variance).collect();
        self.update_sums(graph);
    }

    fn set_means(&mut self, means: &[&[f64]]) {
        let Some(missing) = self.missing else { return };
        let columns = self.rows.columns();
        let values = &mut self.rows.to_mut().values;
        for (column, means) in missing.columns.iter().zip(means) {
            let cells = column.rows.iter().zip(*means);
            cells.for_each(|(&i, mean)| values[i as usize * columns + column.column] = *mean);
        }
    }

    fn means(&self) -> Vec<Vec<f64>> {
        let value = |column: &MissingColumn, i: u32| self.rows.values[i as usize * self.rows.columns() + column.column];
        self.missing_columns().map(|(column, _)| column.rows.iter().map(|&i| value(column, i)).collect()).collect()
    }

    /// The expectation of `tr(L y_c y_c')` of every column, plus `epsilon / (2 gamma)` times that of the squared sum if cells are missing.
    pub fn column_roughness(&self, graph: &ModelGraph, ratio: f64) -> Vec<f64> {
        let columns = self.rows.columns();
        let mut sums = vec![0.0; columns];
        for (i, j) in graph.edges() {
            let pairs = self.rows.row(i).iter().zip(self.rows.row(j));
            sums.iter_mut().zip(pairs).for_each(|(sum, (a, b))| *sum += (a - b) * (a - b));
        }
        for (column, variance) in self.missing_columns() {
            let total: f64 = self.rows.values.iter().skip(column.column).step_by(columns).sum();
            let offset = total * total + variance * column.inverse_sum();
            sums[column.column] += variance * column.rows.len() as f64 + ratio * offset;
        }
        sums
    }

    /// Scales the columns, starting from those of the source, so that a restored state has the same bits. The missing cells change by
    /// the same factors. Returns false if the scales are not positive.
    pub fn set_column_scales(&mut self, graph: &ModelGraph, scales: &[f64]) -> bool {
        let Some(rows) = self.source.clone().with_column_scales(scales) else { return false };
        let mut means = self.means();
        let factors: Vec<f64> = scales.iter().zip(self.rows.column_scales()).map(|(new, old)| new / old).collect();
        let columns: Vec<usize> = self.missing_columns().map(|(column, _)| column.column).collect();
        for ((column, means), variance) in columns.into_iter().zip(&mut means).zip(&mut self.variances) {
            means.iter_mut().for_each(|mean| *mean *= factors[column]);
            *variance *= factors[column] * factors[column];
        }
        self.rows = Cow::Owned(rows);
        self.set_means(&means.iter().map(Vec::as_slice).collect::<Vec<_>>());
        self.update_sums(graph);
        true
    }

    /// The logarithm of the change of variables from the scaled rows, and the entropy of the missing cells.
    pub fn log_terms(&self) -> f64 {
        let n = (self.rows.values.len() / self.rows.columns()) as f64;
        let logarithms = self.rows.column_scales().iter().map(|s| s.ln());
        let mut total = n * logarithms.sum::<f64>();
        for (column, variance) in self.missing_columns() {
            let count = column.rows.len() as f64;
            total -= count * self.rows.column_scales()[column.column].ln();
            total += 0.5 * (count * (1.0 + std::f64::consts::TAU.ln() + variance.ln()) - column.log_determinant);
        }
        total
    }

    /// The standard deviations of the missing cells, in the units of the data, in the order of [`ScaledRows::missing`].
    pub fn missing_std(&self) -> Vec<f64> {
        let columns = self.missing_columns().flat_map(|(column, variance)| {
            let unit = self.rows.scale / self.rows.column_scales()[column.column];
            column.inverse_diagonal().into_iter().map(move |v| unit * (variance * v).sqrt())
        });
        columns.collect()
    }

    pub fn save(&self, name: &str, separate: bool, archive: &mut Archive) {
        if separate {
            archive.put(format!("{name}/column_scales"), self.rows.column_scales());
        }
        if self.missing.is_some() {
            archive.put(format!("{name}/missing_means"), self.means().concat());
            archive.put(format!("{name}/missing_variances"), self.variances.as_slice());
        }
    }

    /// Reads what [`Self::save`] has written; returns false if it does not belong to these rows.
    pub fn restore(&mut self, graph: &ModelGraph, name: &str, separate: bool, archive: &Archive) -> Result<bool> {
        if separate && !self.set_column_scales(graph, archive.finite(&format!("{name}/column_scales"))?) {
            return Ok(false);
        }
        let Some(missing) = self.missing else { return Ok(true) };
        let (means, variances) =
            (archive.finite(&format!("{name}/missing_means"))?, archive.finite(&format!("{name}/missing_variances"))?);
        if means.len() != missing.count() || variances.len() != self.variances.len() {
            return Ok(false);
        }
        let mut rest = means;
        let parts = missing.columns.iter().map(|column| rest.split_off(..column.rows.len()).expect("counted"));
        let parts: Vec<&[f64]> = parts.collect();
        self.set_means(&parts);
        self.variances.copy_from_slice(variances);
        self.update_sums(graph);
        Ok(true)
    }
}
