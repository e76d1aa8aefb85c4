//! The scaled data together with the lowest eigenvectors of the graph.

use super::super::missing_cells::MissingCells;
use super::super::problem::ScaledRows;
use super::modes::LaplacianModes;
use lowland_core::{Error, Result};

/// The data and the eigenvectors of the graph, with the quantities that depend only on them.
pub struct LowRankProblem {
    pub(super) modes: LaplacianModes,
    pub(super) rows: ScaledRows,
    pub(super) missing: Option<MissingCells>,
}

impl LowRankProblem {
    /// Combines rows with the graph of the same points.
    pub fn new(modes: LaplacianModes, rows: ScaledRows) -> Result<Self> {
        let (n, columns) = (modes.points(), rows.columns());
        if Some(rows.values.len()) != n.checked_mul(columns) || columns == 0 {
            let (expected, found) = (n * columns.max(1), rows.values.len());
            return Err(Error::Shape { what: "values of the rows", expected, found });
        }
        let missing = MissingCells::new(&modes.graph, &rows.missing)?;
        Ok(Self { modes, rows, missing })
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.modes.points()
    }

    /// Number of columns of the data.
    pub fn columns(&self) -> usize {
        self.rows.columns()
    }
}
