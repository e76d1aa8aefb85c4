//! Rectangles that must not overlap.

use crate::scene::Rect;

/// The rectangles placed so far, found again by the cells of a grid they touch.
pub(crate) struct Occupied {
    frame: Rect,
    cell: f32,
    columns: usize,
    cells: Vec<Vec<u32>>,
    placed: Vec<Rect>,
}

impl Occupied {
    /// Nothing yet; `cell` is about the size of what will be placed.
    pub fn new(frame: Rect, cell: f32) -> Self {
        // No more cells than would be worth the memory, however small the rectangles.
        let cell = cell.max(frame.width().max(frame.height()) / 500.0).max(1.0);
        let count = |side: f32| (side / cell).max(0.0) as usize + 1;
        let (columns, rows) = (count(frame.width()), count(frame.height()));
        Self { frame, cell, columns, cells: vec![Vec::new(); columns * rows], placed: Vec::new() }
    }

    /// Takes the place if it lies in the frame and is free.
    pub fn take(&mut self, rect: Rect) -> bool {
        if !self.frame.holds(rect) || !self.is_free(rect) {
            return false;
        }
        self.block(rect);
        true
    }

    /// Takes the place, free or not.
    pub fn block(&mut self, rect: Rect) {
        let name = self.placed.len() as u32;
        self.placed.push(rect);
        for cell in self.touched(rect) {
            self.cells[cell].push(name);
        }
    }

    fn is_free(&self, rect: Rect) -> bool {
        self.touched(rect).all(|cell| self.cells[cell].iter().all(|&name| !self.placed[name as usize].overlaps(rect)))
    }

    fn touched(&self, rect: Rect) -> impl Iterator<Item = usize> + use<> {
        let (columns, rows) = (self.columns, self.cells.len() / self.columns);
        let at = |v: f32, from: f32, count: usize| (((v - from) / self.cell).max(0.0) as usize).min(count - 1);
        let across = at(rect.left, self.frame.left, columns)..=at(rect.right, self.frame.left, columns);
        let down = at(rect.top, self.frame.top, rows)..=at(rect.bottom, self.frame.top, rows);
        down.flat_map(move |row| across.clone().map(move |column| row * columns + column))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_placed_never_overlaps_and_as_much_is_placed_as_one_by_one() {
        let frame = Rect { left: 10.0, top: 20.0, right: 310.0, bottom: 220.0 };
        let (mut fast, mut slow) = (Occupied::new(frame, 17.0), Vec::<Rect>::new());
        for i in 0..2000 {
            let (x, y) = ((i * 7919) % 340, (i * 104_729) % 260);
            let rect = Rect::about([x as f32, y as f32], 3.0 + (i % 31) as f32, 2.0 + (i % 11) as f32);
            let free = frame.holds(rect) && slow.iter().all(|other| !other.overlaps(rect));
            assert_eq!(fast.take(rect), free, "{i}");
            if free {
                slow.push(rect);
            }
        }
        assert!(slow.len() > 50);
    }
}
