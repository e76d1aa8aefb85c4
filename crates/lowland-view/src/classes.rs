//! Classes and their legend.

use std::collections::HashMap;

use crate::color::{self, Rgb};
use crate::font;
use crate::layout::{Inks, grouped};
use crate::letters::clean;
use crate::scene::{Disc, Item, Rect, Text};

/// More classes than this are not told apart; the rest are grey. All strong colours, and as many pale ones.
const LEGEND: usize = 2 * color::CLASSES.len();

/// What stands for a name in which there is nothing to read.
const EMPTY: &str = "(empty)";

/// Classes by size: the largest have colours and names, the rest are one.
pub(crate) struct Classes<'a> {
    names: &'a [String],
    /// Codes, in the order of the legend.
    shown: Vec<u32>,
    hidden: usize,
    index: HashMap<u32, u16>,
}

/// A line of the legend: its text, and its colour if it is a class.
type Line = (String, Option<Rgb>);

impl<'a> Classes<'a> {
    pub fn new(codes: impl Iterator<Item = u32>, names: &'a [String]) -> Self {
        let mut counts: HashMap<u32, usize> = HashMap::new();
        codes.for_each(|code| *counts.entry(code).or_default() += 1);
        let mut by_size: Vec<(u32, usize)> = counts.into_iter().collect();
        by_size.sort_by_key(|&(code, count)| (std::cmp::Reverse(count), code));
        let hidden = by_size.len().saturating_sub(LEGEND);
        let mut shown: Vec<u32> = by_size.iter().take(LEGEND).map(|&(code, _)| code).collect();
        shown.sort_unstable();
        let index = shown.iter().zip(0..).map(|(&code, at)| (code, at)).collect();
        Self { names, shown, hidden, index }
    }

    /// The colour of each class of the legend, then of the rest.
    pub fn colors(&self, inks: Inks) -> Vec<Rgb> {
        (0..self.shown.len()).map(|at| inks.class(at)).chain([inks.rest()]).collect()
    }

    /// Index of the colour of a class.
    pub fn index(&self, code: u32) -> u16 {
        self.index.get(&code).copied().unwrap_or(self.shown.len() as u16)
    }

    fn name(&self, code: u32) -> String {
        match self.names.get(code as usize).map(|name| clean(name)) {
            Some(name) if name.trim().is_empty() => EMPTY.into(),
            Some(name) => name,
            None => code.to_string(),
        }
    }

    fn lines(&self, size: f32, most: f32, inks: Inks) -> Vec<Line> {
        let class = |(&code, color): (&u32, Rgb)| (font::fit(&self.name(code), size, most), Some(color));
        let mut lines: Vec<Line> = self.shown.iter().zip(self.colors(inks)).map(class).collect();
        if self.hidden > 0 {
            lines.push((font::fit(&format!("+ {} more", grouped(self.hidden)), size, most), Some(inks.rest())));
        }
        lines
    }

    /// Columns that the legend needs where there is room for so many pixels down.
    pub fn columns(&self, height: f32, size: f32) -> usize {
        let rows = ((height / (STEP * size)) as usize).max(1);
        (self.shown.len() + usize::from(self.hidden > 0)).div_ceil(rows)
    }

    /// Swatches and names in columns to the right, for which `room` makes room; none where there is too little.
    pub fn legend(&self, room: &mut Rect, size: f32, inks: Inks) -> Vec<Item> {
        let rows = (room.height() / (STEP * size)) as usize;
        let columns = self.columns(room.height(), size).clamp(1, 3);
        // One column takes no more than a quarter of the width, several together no more than two fifths.
        let share = if columns == 1 { 0.25 } else { 0.4 / columns as f32 };
        let most = room.width() * share - (GAP + SWATCH) * size;
        if most < 3.0 * size || rows < 2 || self.shown.is_empty() {
            return Vec::new();
        }
        let lines = shortened(self.lines(size, most, inks), rows * columns);
        let column = widest(&lines, size) + GAP * size;
        let left = room.right - columns as f32 * column + GAP * size;
        room.right = left - GAP * size;
        in_columns(lines, columns, [left, room.top], column, size, inks)
    }

    /// The legend across a width, in as many columns as fit, and its height.
    pub fn legend_below(&self, [left, top]: [f32; 2], width: f32, size: f32, inks: Inks) -> (Vec<Item>, f32) {
        let lines = self.lines(size, 0.3 * width, inks);
        let column = widest(&lines, size) + GAP * size;
        let columns = (((width + GAP * size) / column) as usize).clamp(1, lines.len().max(1));
        let height = lines.len().div_ceil(columns) as f32 * STEP * size;
        (in_columns(lines, columns, [left, top], column, size, inks), height)
    }
}

/// From line to line, between columns, and from a swatch to its name, in heights of a letter.
const STEP: f32 = 2.0;
const GAP: f32 = 1.6;
const SWATCH: f32 = 1.4;

fn widest(lines: &[Line], size: f32) -> f32 {
    lines.iter().map(|line| font::width(&line.0, size)).fold(0.0, f32::max) + SWATCH * size
}

/// At most so many lines, of which the last counts the others.
fn shortened(mut lines: Vec<Line>, most: usize) -> Vec<Line> {
    if lines.len() > most {
        let unnamed = lines.len() - (most - 1);
        lines.truncate(most - 1);
        lines.push((format!("+ {unnamed} more"), None));
    }
    lines
}

/// Lines one below the other, column after column.
fn in_columns(
    lines: Vec<Line>,
    columns: usize,
    [left, top]: [f32; 2],
    column: f32,
    size: f32,
    inks: Inks,
) -> Vec<Item> {
    let rows = lines.len().div_ceil(columns).max(1);
    let (mut swatches, mut texts) = (Vec::new(), Vec::new());
    for (at, (content, color)) in lines.into_iter().enumerate() {
        let left = left + (at / rows) as f32 * column;
        let baseline = top + size + (at % rows) as f32 * STEP * size;
        if let Some(color) = color {
            swatches.push(Disc { at: [left + 0.45 * size, baseline - 0.5 * size], radius: 0.45 * size, color });
        }
        let ink = if color.is_some() { inks.ink } else { inks.soft };
        texts.push(Text::new([left + SWATCH * size, baseline], size, content, ink));
    }
    vec![Item::Discs(swatches), Item::Texts(texts)]
}
