//! Palettes from files.

use super::Palette;
use super::builtin::Scale;
use crate::color::{Rgb, rgb};
use crate::error::{PictureError, Result};

impl Palette {
    /// Parses a palette: a color on each line, such as `#1f77b4`, or a class and its color, such as `B cell = #1f77b4`. Empty lines and
    /// what follows `//` are ignored. Colors without a class are for the other classes in turn, and the stops of the
    /// scale of numbers, if there are at least two.
    pub fn parse(text: &str) -> Result<Self> {
        let mut palette = Self { classes: Vec::new(), adapts: false, ..Self::default() };
        for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let line = line.split("//").next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let (name, color) = match line.rsplit_once('=') {
                Some((name, color)) => (Some(name.trim()), color.trim()),
                None => (None, line),
            };
            let color =
                parse_color(color).ok_or_else(|| PictureError::PaletteLine { line: at + 1, text: line.into() })?;
            match name {
                Some(name) => _ = palette.by_name.insert(name.into(), color),
                None => palette.classes.push(color),
            }
        }
        if palette.classes.is_empty() && palette.by_name.is_empty() {
            return Err(PictureError::EmptyPalette);
        }
        if palette.classes.len() > 1 {
            palette.scale = Scale::Stops(palette.classes.clone());
        }
        Ok(palette)
    }
}

/// Parses `#rrggbb` or `rrggbb`.
fn parse_color(text: &str) -> Option<Rgb> {
    let digits = text.strip_prefix('#').unwrap_or(text);
    let valid = digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    valid.then(|| u32::from_str_radix(digits, 16).ok()).flatten().map(rgb)
}
