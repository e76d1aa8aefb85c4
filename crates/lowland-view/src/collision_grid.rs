//! Finds free space for rectangles that must not overlap.

use crate::scene::Rect;

/// Rectangles placed so far, indexed by the cells of a grid.
pub(crate) struct CollisionGrid {
    frame: Rect,
    cell_size: f32,
    columns: usize,
    cells: Vec<Vec<u32>>,
    rects: Vec<Rect>,
}

impl CollisionGrid {
    /// Creates an empty grid; `cell_size` should be about the size of the rectangles.
    pub fn new(frame: Rect, cell_size: f32) -> Self {
        // Limits the memory of the grid for small rectangles.
        let cell_size = cell_size.max(frame.width().max(frame.height()) / 500.0).max(1.0);
        let count = |side: f32| (side / cell_size).max(0.0) as usize + 1;
        let (columns, rows) = (count(frame.width()), count(frame.height()));
        Self { frame, cell_size, columns, cells: vec![Vec::new(); columns * rows], rects: Vec::new() }
    }

    /// Adds a rectangle if it lies within the frame and overlaps no other; returns whether it was added.
    pub fn try_insert(&mut self, rect: Rect) -> bool {
        if !self.frame.contains_rect(rect) || !self.is_free(rect) {
            return false;
        }
        self.insert(rect);
        true
    }

    /// Adds a rectangle in any case.
    pub fn insert(&mut self, rect: Rect) {
        let id = self.rects.len() as u32;
        self.rects.push(rect);
        for cell in self.cells_of(rect) {
            self.cells[cell].push(id);
        }
    }

    /// Whether a rectangle overlaps no other.
    pub fn is_free(&self, rect: Rect) -> bool {
        self.cells_of(rect).all(|cell| self.cells[cell].iter().all(|&id| !self.rects[id as usize].overlaps(rect)))
    }

    fn cells_of(&self, rect: Rect) -> impl Iterator<Item = usize> + use<> {
        let (columns, rows) = (self.columns, self.cells.len() / self.columns);
        let at = |v: f32, from: f32, count: usize| (((v - from) / self.cell_size).max(0.0) as usize).min(count - 1);
        let across = at(rect.left, self.frame.left, columns)..=at(rect.right, self.frame.left, columns);
        let down = at(rect.top, self.frame.top, rows)..=at(rect.bottom, self.frame.top, rows);
        down.flat_map(move |row| across.clone().map(move |column| row * columns + column))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_agrees_with_pairwise_comparison() {
        let frame = Rect { left: 10.0, top: 20.0, right: 310.0, bottom: 220.0 };
        let (mut grid, mut placed) = (CollisionGrid::new(frame, 17.0), Vec::<Rect>::new());
        for i in 0..2000 {
            let (x, y) = ((i * 7919) % 340, (i * 104_729) % 260);
            let rect = Rect::centered([x as f32, y as f32], 3.0 + (i % 31) as f32, 2.0 + (i % 11) as f32);
            let free = frame.contains_rect(rect) && placed.iter().all(|other| !other.overlaps(rect));
            assert_eq!(grid.try_insert(rect), free, "{i}");
            if free {
                placed.push(rect);
            }
        }
        assert!(placed.len() > 50);
    }
}
