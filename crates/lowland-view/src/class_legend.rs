//! Colors and legend of classes.

use std::collections::HashMap;

use crate::Palette;
use crate::color::Rgb;
use crate::layout::format_thousands;
use crate::palette::is_unknown;
use crate::scene::{Disc, Rect, SceneItem, Text};
use crate::text::{self, sanitize};
use crate::theme::Theme;

/// Shown for a class whose name has no visible characters.
const EMPTY_NAME: &str = "(empty)";

/// The classes of a picture. The largest have colors and are in the legend; the rest share one color.
pub(crate) struct ClassLegend<'a> {
    names: &'a [String],
    palette: &'a Palette,
    /// Codes in the order of the legend.
    shown: Vec<u32>,
    /// Number of classes that are not in the legend.
    hidden: usize,
    index: HashMap<u32, u16>,
}

/// A line of the legend: its text, and the color of its swatch.
type LegendLine = (String, Option<Rgb>);

impl<'a> ClassLegend<'a> {
    pub fn new(codes: impl Iterator<Item = u32>, names: &'a [String], palette: &'a Palette) -> Self {
        let mut counts: HashMap<u32, usize> = HashMap::new();
        codes.for_each(|code| *counts.entry(code).or_default() += 1);
        let mut by_size: Vec<(u32, usize)> = counts.into_iter().collect();
        by_size.sort_by_key(|&(code, count)| (std::cmp::Reverse(count), code));
        // Classes with a name in the palette and unknown ones do not use up its other colors.
        let mut left = palette.len();
        let has_color = |&(code, _): &(u32, usize)| {
            let name = names.get(code as usize);
            if name.is_some_and(|name| palette.named_class(name, false).is_some() || is_unknown(name)) {
                return true;
            }
            let has_left = left > 0;
            left -= usize::from(has_left);
            has_left
        };
        let (shown, hidden): (Vec<_>, Vec<_>) = by_size.into_iter().partition(has_color);
        let mut shown: Vec<u32> = shown.into_iter().map(|(code, _)| code).collect();
        shown.sort_unstable();
        let index = shown.iter().zip(0..).map(|(&code, at)| (code, at)).collect();
        Self { names, palette, shown, hidden: hidden.len(), index }
    }

    /// Returns the color of each class of the legend, followed by the color of the rest.
    pub fn colors(&self, theme: Theme) -> Vec<Rgb> {
        let dark = theme.is_dark();
        let mut next = 0;
        let color = |&code: &u32| match self.names.get(code as usize) {
            Some(name) if self.palette.named_class(name, dark).is_some() => self.palette.named_class(name, dark),
            Some(name) if is_unknown(name) => None,
            _ => {
                next += 1;
                self.palette.class_color(next - 1, dark)
            }
        };
        let missing = theme.missing_color();
        let colors: Vec<Rgb> = self.shown.iter().map(color).map(|color| color.unwrap_or(missing)).collect();
        colors.into_iter().chain([missing]).collect()
    }

    /// Returns the index of a class in `colors`.
    pub fn index(&self, code: u32) -> u16 {
        self.index.get(&code).copied().unwrap_or(self.shown.len() as u16)
    }

    /// Number of classes in the legend.
    pub fn shown(&self) -> usize {
        self.shown.len()
    }

    /// Number of classes that are not in the legend.
    pub fn hidden(&self) -> usize {
        self.hidden
    }

    fn name(&self, code: u32) -> String {
        match self.names.get(code as usize).map(|name| sanitize(name)) {
            Some(name) if name.trim().is_empty() => EMPTY_NAME.into(),
            Some(name) => name,
            None => code.to_string(),
        }
    }

    fn lines(&self, size: f32, max_width: f32, theme: Theme) -> Vec<LegendLine> {
        let class = |(&code, color): (&u32, Rgb)| (text::truncate(&self.name(code), size, max_width), Some(color));
        let mut lines: Vec<LegendLine> = self.shown.iter().zip(self.colors(theme)).map(class).collect();
        if self.hidden > 0 {
            lines.push((
                text::truncate(&format!("+ {} more", format_thousands(self.hidden)), size, max_width),
                Some(theme.missing_color()),
            ));
        }
        lines
    }

    /// Returns the number of columns of a legend of this height.
    pub fn columns(&self, height: f32, size: f32) -> usize {
        let rows = ((height / (LINE_HEIGHT * size)) as usize).max(1);
        (self.shown.len() + usize::from(self.hidden > 0)).div_ceil(rows)
    }

    /// Draws the legend in columns at the right of `area`, and reduces `area` by them. Returns nothing if there is too little space.
    pub fn legend(&self, area: &mut Rect, size: f32, theme: Theme) -> Vec<SceneItem> {
        let rows = (area.height() / (LINE_HEIGHT * size)) as usize;
        let columns = self.columns(area.height(), size).clamp(1, 3);
        // One column takes at most a quarter of the width, several columns together at most two fifths.
        let share = if columns == 1 { 0.25 } else { 0.4 / columns as f32 };
        let max_width = area.width() * share - (COLUMN_GAP + SWATCH_WIDTH) * size;
        if max_width < 3.0 * size || rows < 2 || self.shown.is_empty() {
            return Vec::new();
        }
        let lines = truncate_lines(self.lines(size, max_width, theme), rows * columns);
        let column = max_line_width(&lines, size) + COLUMN_GAP * size;
        let left = area.right - columns as f32 * column + COLUMN_GAP * size;
        area.right = left - COLUMN_GAP * size;
        layout_columns(lines, columns, [left, area.top], column, size, theme)
    }

    /// Draws the legend in as many columns as fit a width; also returns its height.
    pub fn legend_below(&self, [left, top]: [f32; 2], width: f32, size: f32, theme: Theme) -> (Vec<SceneItem>, f32) {
        let lines = self.lines(size, 0.3 * width, theme);
        let column = max_line_width(&lines, size) + COLUMN_GAP * size;
        let columns = (((width + COLUMN_GAP * size) / column) as usize).clamp(1, lines.len().max(1));
        let height = lines.len().div_ceil(columns) as f32 * LINE_HEIGHT * size;
        (layout_columns(lines, columns, [left, top], column, size, theme), height)
    }
}

/// Distance between lines, between columns, and from the left of a swatch to its text, in units of the text height.
const LINE_HEIGHT: f32 = 2.0;
const COLUMN_GAP: f32 = 1.6;
const SWATCH_WIDTH: f32 = 1.4;

fn max_line_width(lines: &[LegendLine], size: f32) -> f32 {
    lines.iter().map(|line| text::width(&line.0, size)).fold(0.0, f32::max) + SWATCH_WIDTH * size
}

/// Limits the number of lines; the last line then gives the number of the omitted ones.
fn truncate_lines(mut lines: Vec<LegendLine>, max_lines: usize) -> Vec<LegendLine> {
    if lines.len() > max_lines {
        let omitted = lines.len() - (max_lines - 1);
        lines.truncate(max_lines - 1);
        lines.push((format!("+ {omitted} more"), None));
    }
    lines
}

/// Arranges lines column by column.
fn layout_columns(
    lines: Vec<LegendLine>,
    columns: usize,
    [left, top]: [f32; 2],
    column: f32,
    size: f32,
    theme: Theme,
) -> Vec<SceneItem> {
    let rows = lines.len().div_ceil(columns).max(1);
    let (mut swatches, mut texts) = (Vec::new(), Vec::new());
    for (at, (content, color)) in lines.into_iter().enumerate() {
        let left = left + (at / rows) as f32 * column;
        let baseline = top + size + (at % rows) as f32 * LINE_HEIGHT * size;
        if let Some(color) = color {
            swatches.push(Disc { center: [left + 0.45 * size, baseline - 0.5 * size], radius: 0.45 * size, color });
        }
        let text_color = if color.is_some() { theme.text } else { theme.muted_text };
        texts.push(Text::new([left + SWATCH_WIDTH * size, baseline], size, content, text_color));
    }
    vec![SceneItem::Discs(swatches), SceneItem::Texts(texts)]
}
