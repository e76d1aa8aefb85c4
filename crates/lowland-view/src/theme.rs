//! Colors of everything but the points, for a light or a dark background.

use crate::color::{self, Rgb, mix, rgb};
use crate::palette;

/// Colors of text and lines on a background.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Theme {
    pub background: Rgb,
    pub text: Rgb,
    pub muted_text: Rgb,
    pub line: Rgb,
}

impl Theme {
    /// Returns the theme that is readable on a background.
    pub fn for_background(background: [u8; 3]) -> Self {
        let background = background.map(|v| f32::from(v) / 255.0);
        let text = if color::is_dark(background) { rgb(0xf2f2f2) } else { rgb(0x222222) };
        Self { background, text, muted_text: mix(text, background, 0.35), line: mix(text, background, 0.8) }
    }

    /// Color of missing values and of classes that are not in the legend.
    pub fn missing_color(self) -> Rgb {
        palette::missing_color(self.is_dark())
    }

    pub fn is_dark(self) -> bool {
        color::is_dark(self.background)
    }
}
