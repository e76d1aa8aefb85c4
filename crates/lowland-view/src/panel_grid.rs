//! Frames of maps in rows and columns.

use crate::scene::Rect;

/// Returns the number of maps per row.
pub(crate) fn columns(count: usize, requested: Option<usize>) -> usize {
    let default = match count {
        0..=3 => count,
        4 => 2,
        5 | 6 | 9 => 3,
        7 | 8 => 4,
        _ => (count as f64).sqrt().ceil() as usize,
    };
    requested.unwrap_or(default).clamp(1, count)
}

/// Frames in rows and columns, each below a line for its title.
#[derive(Clone, Copy)]
pub(crate) struct PanelGrid {
    pub left: f32,
    pub top: f32,
    pub right: f32,
    pub columns: usize,
    pub rows: usize,
    /// Space between frames.
    pub gap: f32,
    /// Height of the title of a frame.
    pub title_height: f32,
    pub frame_height: f32,
}

impl PanelGrid {
    fn frame_width(self) -> f32 {
        ((self.right - self.left - self.gap * (self.columns - 1) as f32) / self.columns as f32).max(8.0)
    }

    pub fn bottom(self) -> f32 {
        self.top + self.rows as f32 * (self.frame_height + self.title_height) + self.gap * (self.rows - 1) as f32
    }

    pub fn frame(self, at: usize) -> Rect {
        let left = self.left + (at % self.columns) as f32 * (self.frame_width() + self.gap);
        let row_height = self.frame_height + self.title_height + self.gap;
        let top = self.top + self.title_height + (at / self.columns) as f32 * row_height;
        Rect { left, top, right: left + self.frame_width(), bottom: top + self.frame_height }
    }

    /// Returns the grid with another right edge. Frames are square, or fill the height down to `bottom`.
    pub fn resized(self, right: f32, bottom: Option<f32>) -> Self {
        let grid = Self { right, frame_height: 0.0, ..self };
        let height = bottom.map_or(grid.frame_width(), |bottom| (bottom - grid.bottom()) / self.rows as f32);
        Self { frame_height: height.max(8.0), ..grid }
    }
}
