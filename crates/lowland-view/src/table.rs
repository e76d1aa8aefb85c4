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

/// A table cut to a width.
pub(crate) struct Ruled {
    size: f32,
    /// Right ends of the columns.
    ends: Vec<f32>,
    /// The names of the columns, in as many lines as they need.
    head: Vec<Vec<String>>,
    rows: Vec<Vec<Cell>>,
}

/// From one line to the next, and of the names of the columns, in letters.
const STEP: f32 = 2.1;
const HEAD_STEP: f32 = 1.7;

/// Between columns, in letters.
const GAP: f32 = 1.8;

impl Ruled {
    pub fn new(table: &TextTable, size: f32, room: f32) -> Self {
        let columns = table.rows.iter().map(Vec::len).chain([table.header.len()]).max().unwrap_or(0);
        // No cell takes more than a third of the room; if all of them take too much, letters are made smaller.
        let fit = |text: &str| font::fit(&clean(text), size, room / 3.0);
        let cell = |cell: &Cell| Cell { text: fit(&cell.text), best: cell.best };
        let mut rows: Vec<Vec<Cell>> = table.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
        rows.iter_mut().for_each(|row| row.resize(columns, Cell::default()));
        let width = |text: &str| font::width(text, size);
        let mut head: Vec<Vec<String>> = Vec::new();
        let mut widths = Vec::new();
        for c in 0..columns {
            let name = table.header.get(c).map_or(String::new(), |name| fit(name));
            let cells = rows.iter().map(|row| width(&row[c].text));
            // A name is broken where it would be wider than its column and its longest word.
            let narrow = cells.chain(name.split(' ').map(width)).fold(0.0, f32::max);
            head.push(font::wrap(&name, size, narrow + 0.01));
            widths.push(narrow + GAP * size);
        }
        let total: f32 = widths.iter().sum();
        let shrink = (room / total.max(1.0)).min(1.0);
        // Free room is shared out between the columns, but not so that a row falls apart.
        let spread = ((room - total * shrink) / columns.max(1) as f32).clamp(0.0, 3.0 * size);
        let ends = widths.iter().scan(0.0, |x, width| {
            *x += width * shrink + spread;
            Some(*x - GAP * size * shrink)
        });
        Self { size: size * shrink, ends: ends.collect(), head, rows }
    }

    /// Height of the names of the columns, the rule below them included.
    fn head_height(&self) -> f32 {
        let lines = self.head.iter().map(Vec::len).max().unwrap_or(0);
        (lines as f32 * HEAD_STEP + 1.0) * self.size
    }

    pub fn height(&self) -> f32 {
        if self.ends.is_empty() { 0.0 } else { self.head_height() + (self.rows.len() as f32 * STEP + 0.8) * self.size }
    }

    /// The table from a corner on; letters that became too small to read are not drawn.
    pub fn items(&self, left: f32, top: f32, hairline: f32, inks: Inks) -> Vec<Item> {
        let Some(&right) = self.ends.last().filter(|_| self.size >= 3.0) else { return Vec::new() };
        let place = |c: usize| if c == 0 { (left, Anchor::Start) } else { (left + self.ends[c], Anchor::End) };
        let under = top + self.head_height();
        let mut texts = Vec::new();
        for (c, lines) in self.head.iter().enumerate() {
            let (x, anchor) = place(c);
            for (up, line) in lines.iter().rev().enumerate() {
                let baseline = under - (1.0 + up as f32 * HEAD_STEP) * self.size;
                texts.push(Text { anchor, ..Text::new([x, baseline], self.size, line.clone(), inks.soft) });
            }
        }
        for (row, cells) in self.rows.iter().enumerate() {
            let baseline = under + (0.75 + row as f32) * STEP * self.size;
            for (c, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.text.is_empty()) {
                let (x, anchor) = place(c);
                let text = Text::new([x, baseline], self.size, cell.text.clone(), inks.ink);
                texts.push(Text { anchor, bold: cell.best, ..text });
            }
        }
        let y = under - 0.4 * self.size;
        let rule = (Rect { left, top: y, right: left + right, bottom: y + hairline }, inks.line);
        vec![Item::Boxes(vec![rule]), Item::Texts(texts)]
    }
}
