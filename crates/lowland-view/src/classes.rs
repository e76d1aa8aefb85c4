//! Classes and their legend.

use std::collections::HashMap;

use crate::color::{self, Rgb};
use crate::font;
use crate::layout::{Inks, grouped};
use crate::letters::clean;
use crate::scene::{Disc, Item, Rect, Text};

/// More classes than this are not told apart; the rest are grey.
const LEGEND: usize = color::CLASSES.len();

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
        color::CLASSES.iter().take(self.shown.len()).map(|&hex| inks.class(hex)).chain([inks.rest()]).collect()
    }

    /// Index of the colour of a class.
    pub fn index(&self, code: u32) -> u16 {
        self.index.get(&code).copied().unwrap_or(self.shown.len() as u16)
    }

    fn name(&self, code: u32) -> String {
        let name = self.names.get(code as usize).map(|name| clean(name));
        name.filter(|name| !name.is_empty()).unwrap_or_else(|| code.to_string())
    }

    fn lines(&self, size: f32, most: f32, inks: Inks) -> Vec<Line> {
        let class = |(&code, color): (&u32, Rgb)| (font::fit(&self.name(code), size, most), Some(color));
        let mut lines: Vec<Line> = self.shown.iter().zip(self.colors(inks)).map(class).collect();
        if self.hidden > 0 {
            lines.push((font::fit(&format!("+ {} more", grouped(self.hidden)), size, most), Some(inks.rest())));
        }
        lines
    }

    /// Swatches and names in columns to the right, for which `room` makes room; none where there is too little.
    pub fn legend(&self, room: &mut Rect, size: f32, inks: Inks) -> Vec<Item> {
        let (step, gap) = (2.0 * size, 1.6 * size);
        let most = (room.width() * 0.22 - step).max(0.0);
        let rows = (room.height() / step) as usize;
        let mut lines = self.lines(size, most, inks);
        if most < 3.0 * size || rows < 2 || lines.is_empty() {
            return Vec::new();
        }
        let widest = lines.iter().map(|line| font::width(&line.0, size)).fold(0.0, f32::max) + 1.4 * size;
        // Columns as far as they take no more than a third of the picture, or two thirds of it one.
        let columns = (((room.width() / 3.0) / (widest + gap)) as usize).clamp(1, lines.len().div_ceil(rows));
        if lines.len() > rows * columns {
            let unnamed = lines.len() - (rows * columns - 1);
            lines.truncate(rows * columns - 1);
            lines.push((format!("+ {unnamed} more"), None));
        }
        let rows = lines.len().div_ceil(columns);
        let left = room.right - columns as f32 * (widest + gap) + gap;
        room.right = left - gap;
        let (mut swatches, mut texts) = (Vec::new(), Vec::new());
        for (at, (content, color)) in lines.into_iter().enumerate() {
            let left = left + (at / rows) as f32 * (widest + gap);
            let baseline = room.top + size + (at % rows) as f32 * step;
            if let Some(color) = color {
                swatches.push(Disc { at: [left + 0.45 * size, baseline - 0.5 * size], radius: 0.45 * size, color });
            }
            let ink = if color.is_some() { inks.ink } else { inks.soft };
            texts.push(Text::new([left + 1.4 * size, baseline], size, content, ink));
        }
        vec![Item::Discs(swatches), Item::Texts(texts)]
    }
}
