//! A table of text below the maps.

use crate::scene::{Anchor, Rect, SceneItem, Text};
use crate::text::{self, sanitize};
use crate::theme::Theme;

/// A table whose first column is text and whose other columns are numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextTable {
    /// Names of the columns.
    pub header: Vec<String>,
    /// Cells of each row; missing cells at the end of a row are empty.
    pub rows: Vec<Vec<TableCell>>,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TableCell {
    /// Content of the cell.
    pub text: String,
    /// Whether the value is the best of its column.
    pub best: bool,
}

/// A table laid out for a width.
pub(crate) struct TableLayout {
    text_height: f32,
    /// Right ends of the columns.
    ends: Vec<f32>,
    /// Wrapped names of the columns.
    header: Vec<Vec<String>>,
    rows: Vec<Vec<TableCell>>,
}

/// Distance between rows, in units of the text height.
const ROW_HEIGHT: f32 = 2.1;
/// Distance between the lines of the header, in units of the text height.
const HEADER_LINE_HEIGHT: f32 = 1.7;
/// Distance between columns, in units of the text height.
const COLUMN_GAP: f32 = 1.8;

impl TableLayout {
    pub fn new(table: &TextTable, size: f32, width: f32) -> Self {
        let columns = table.rows.iter().map(Vec::len).chain([table.header.len()]).max().unwrap_or(0);
        // No cell takes more than a third of the width. If all cells together are too wide, the text shrinks.
        let truncate = |text: &str| text::truncate(&sanitize(text), size, width / 3.0);
        let cell = |cell: &TableCell| TableCell { text: truncate(&cell.text), best: cell.best };
        let mut rows: Vec<Vec<TableCell>> = table.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
        rows.iter_mut().for_each(|row| row.resize(columns, TableCell::default()));
        let text_width = |text: &str| text::width(text, size);
        let mut header: Vec<Vec<String>> = Vec::new();
        let mut widths = Vec::new();
        for c in 0..columns {
            let name = table.header.get(c).map_or(String::new(), |name| truncate(name));
            let cells = rows.iter().map(|row| text_width(&row[c].text));
            // A name is wrapped if it is wider than the cells below it and its longest word.
            let column_width = cells.chain(name.split(' ').map(text_width)).fold(0.0, f32::max);
            header.push(text::wrap(&name, size, column_width + 0.01));
            widths.push(column_width + COLUMN_GAP * size);
        }
        let total: f32 = widths.iter().sum();
        let shrink = (width / total.max(1.0)).min(1.0);
        // Remaining space is distributed between the columns, up to a limit that keeps rows readable.
        let spread = ((width - total * shrink) / columns.max(1) as f32).clamp(0.0, 3.0 * size);
        let ends = widths.iter().scan(0.0, |x, column_width| {
            *x += column_width * shrink + spread;
            Some(*x - COLUMN_GAP * size * shrink)
        });
        Self { text_height: size * shrink, ends: ends.collect(), header, rows }
    }

    /// Height of the header, including the rule below it.
    fn header_height(&self) -> f32 {
        let lines = self.header.iter().map(Vec::len).max().unwrap_or(0);
        (lines as f32 * HEADER_LINE_HEIGHT + 1.0) * self.text_height
    }

    pub fn height(&self) -> f32 {
        if self.ends.is_empty() {
            0.0
        } else {
            self.header_height() + (self.rows.len() as f32 * ROW_HEIGHT + 0.8) * self.text_height
        }
    }

    /// Draws the table at a position. Text that is too small to read is not drawn.
    pub fn items(&self, left: f32, top: f32, hairline: f32, theme: Theme) -> Vec<SceneItem> {
        let Some(&right) = self.ends.last().filter(|_| self.text_height >= 3.0) else { return Vec::new() };
        let anchor_of = |c: usize| if c == 0 { (left, Anchor::Start) } else { (left + self.ends[c], Anchor::End) };
        let body_top = top + self.header_height();
        let mut texts = Vec::new();
        for (c, lines) in self.header.iter().enumerate() {
            let (x, anchor) = anchor_of(c);
            for (up, line) in lines.iter().rev().enumerate() {
                let baseline = body_top - (1.0 + up as f32 * HEADER_LINE_HEIGHT) * self.text_height;
                texts.push(Text {
                    anchor,
                    ..Text::new([x, baseline], self.text_height, line.clone(), theme.muted_text)
                });
            }
        }
        for (row, cells) in self.rows.iter().enumerate() {
            let baseline = body_top + (0.75 + row as f32) * ROW_HEIGHT * self.text_height;
            for (c, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.text.is_empty()) {
                let (x, anchor) = anchor_of(c);
                let text = Text::new([x, baseline], self.text_height, cell.text.clone(), theme.text);
                texts.push(Text { anchor, bold: cell.best, ..text });
            }
        }
        let y = body_top - 0.4 * self.text_height;
        let rule = (Rect { left, top: y, right: left + right, bottom: y + hairline }, theme.line);
        vec![SceneItem::Boxes(vec![rule]), SceneItem::Texts(texts)]
    }
}
