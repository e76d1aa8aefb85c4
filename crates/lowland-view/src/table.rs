//! A table of text under the maps.

use crate::font;
use crate::layout::Inks;
use crate::letters::clean;
use crate::scene::{Anchor, Item, Rect, Text};

/// A table: the first column is of words, the others of numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextTable {
    /// The names of the columns.
    pub header: Vec<String>,
    /// The rows; what is missing at their ends is empty.
    pub rows: Vec<Vec<Cell>>,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cell {
    /// What stands there.
    pub text: String,
    /// Whether it is the best of its column.
    pub best: bool,
}

/// A table cut to a width: the size of its letters, the right ends of its columns.
pub(crate) struct Ruled {
    size: f32,
    /// Left end of the first column, right ends of the others.
    ends: Vec<f32>,
    lines: Vec<Vec<Cell>>,
}

const STEP: f32 = 2.1;

impl Ruled {
    pub fn new(table: &TextTable, size: f32, room: f32) -> Self {
        let head = table.header.iter().map(|name| Cell { text: clean(name), best: false }).collect();
        let row = |row: &Vec<Cell>| row.iter().map(|cell| Cell { text: clean(&cell.text), ..*cell }).collect();
        let mut lines: Vec<Vec<Cell>> = [vec![head], table.rows.iter().map(row).collect()].concat();
        let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
        lines.iter_mut().for_each(|line| line.resize(columns, Cell::default()));
        // No cell takes more than a third of the room; if all of them take too much, letters are made smaller.
        lines.iter_mut().flatten().for_each(|cell| cell.text = font::fit(&cell.text, size, room / 3.0));
        let wide =
            |c: usize| lines.iter().map(|line| font::width(&line[c].text, size)).fold(0.0, f32::max) + 1.8 * size;
        let widths: Vec<f32> = (0..columns).map(wide).collect();
        let total: f32 = widths.iter().sum();
        let shrink = (room / total.max(1.0)).min(1.0);
        // Free room is shared out between the columns, but not so that a row falls apart.
        let spread = ((room - total * shrink) / columns.max(1) as f32).clamp(0.0, 3.0 * size);
        let ends = widths.iter().scan(0.0, |x, width| {
            *x += width * shrink + spread;
            Some(*x - 1.8 * size * shrink)
        });
        Self { size: size * shrink, ends: ends.collect(), lines }
    }

    pub fn height(&self) -> f32 {
        if self.ends.is_empty() { 0.0 } else { self.lines.len() as f32 * STEP * self.size + self.size }
    }

    /// The table from a corner on; letters that became too small to read are not drawn.
    pub fn items(&self, left: f32, top: f32, hairline: f32, inks: Inks) -> Vec<Item> {
        let Some(&right) = self.ends.last().filter(|_| self.size >= 3.0) else { return Vec::new() };
        let mut texts = Vec::new();
        for (row, line) in self.lines.iter().enumerate() {
            let baseline = top + (row as f32 + 0.9) * STEP * self.size;
            for (c, cell) in line.iter().enumerate().filter(|(_, cell)| !cell.text.is_empty()) {
                let (x, anchor) = if c == 0 { (left, Anchor::Start) } else { (left + self.ends[c], Anchor::End) };
                let color = if row == 0 { inks.soft } else { inks.ink };
                let text = Text::new([x, baseline], self.size, cell.text.clone(), color);
                texts.push(Text { anchor, bold: cell.best, ..text });
            }
        }
        let y = top + 1.35 * STEP * self.size;
        let rule = (Rect { left, top: y, right: left + right, bottom: y + hairline }, inks.line);
        vec![Item::Boxes(vec![rule]), Item::Texts(texts)]
    }
}
