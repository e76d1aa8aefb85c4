//! Colors of everything but the points, for a light or a dark background.

use crate::color::{self, Rgb, mix, rgb};

/// Colors of text, lines and classes on a background.
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

    /// Color of the class at a position of the legend. After the strong colors follow pale ones.
    pub fn class_color(self, at: usize) -> Rgb {
        let strong = rgb(color::CLASSES[at % color::CLASSES.len()]);
        let strong = if self.is_dark() { color::on_dark(strong) } else { strong };
        let pale = if self.is_dark() { 0.4 } else { 0.6 };
        if at < color::CLASSES.len() { strong } else { mix(strong, self.background, pale) }
    }

    /// Color of missing values and of classes that are not in the legend.
    pub fn missing_color(self) -> Rgb {
        if self.is_dark() { rgb(0x5c5c5c) } else { rgb(color::OTHER_CLASSES) }
    }

    pub fn is_dark(self) -> bool {
        color::is_dark(self.background)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pale_colors_differ_from_strong_colors() {
        for background in [[255; 3], [0x16, 0x18, 0x1d]] {
            let theme = Theme::for_background(background);
            let lab: Vec<[f32; 3]> =
                (0..2 * color::CLASSES.len()).map(|at| color::to_lab(theme.class_color(at))).collect();
            for (a, x) in lab.iter().enumerate() {
                for (b, y) in lab.iter().enumerate().skip(a + 1) {
                    let distance = x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f32>().sqrt();
                    assert!(distance > 0.02, "{a} {b}: {distance}");
                }
            }
        }
    }
}
