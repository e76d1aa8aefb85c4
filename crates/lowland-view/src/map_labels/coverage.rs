//! How much of a rectangle is covered by points.

use crate::scene::Rect;

/// Cells of a frame with points, summed so that the share of a rectangle is known at once.
pub(crate) struct Coverage {
    frame: Rect,
    cell: f32,
    columns: usize,
    /// Number of cells with points above and to the left of each corner.
    sums: Vec<u32>,
}

impl Coverage {
    pub fn new<'a>(positions: impl Iterator<Item = &'a [f32; 2]>, frame: Rect, radius: f32) -> Self {
        let cell = (2.0 * radius).clamp(2.0, 12.0).max(frame.width().max(frame.height()) / 300.0);
        let (columns, rows) = ((frame.width() / cell) as usize + 1, (frame.height() / cell) as usize + 1);
        let mut occupied = vec![false; columns * rows];
        for &[x, y] in positions {
            let at = |v: f32, low: f32, count: usize| (((v - low) / cell).max(0.0) as usize).min(count - 1);
            occupied[at(y, frame.top, rows) * columns + at(x, frame.left, columns)] = true;
        }
        let mut sums = vec![0u32; (columns + 1) * (rows + 1)];
        for row in 0..rows {
            for column in 0..columns {
                let corner = |r: usize, c: usize| r * (columns + 1) + c;
                sums[corner(row + 1, column + 1)] = u32::from(occupied[row * columns + column])
                    + sums[corner(row, column + 1)]
                    + sums[corner(row + 1, column)]
                    - sums[corner(row, column)];
            }
        }
        Self { frame, cell, columns, sums }
    }

    /// Returns the share of a rectangle that is covered: its cells with points, up to one.
    pub fn share(&self, rect: Rect) -> f32 {
        let rows = self.sums.len() / (self.columns + 1) - 1;
        let at = |v: f32, low: f32, count: usize| (((v - low) / self.cell).round().max(0.0) as usize).min(count);
        let (left, right) =
            (at(rect.left, self.frame.left, self.columns), at(rect.right, self.frame.left, self.columns));
        let (top, bottom) = (at(rect.top, self.frame.top, rows), at(rect.bottom, self.frame.top, rows));
        let corner = |r: usize, c: usize| self.sums[r * (self.columns + 1) + c];
        let covered = corner(bottom, right) + corner(top, left) - corner(top, right) - corner(bottom, left);
        covered as f32 / ((right - left) * (bottom - top)).max(1) as f32
    }
}
