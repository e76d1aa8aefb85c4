//! The built-in palettes.

use super::interpolate;
use crate::color::{Rgb, from_polar};

/// Colors of classes. Within the first ten, the first twenty and all sixty, the smallest difference between two colors is as large as
/// a search could make it for normal vision and three color vision deficiencies, within bounds of lightness and chroma that
/// keep the first ten calm (`assets/palette.py`; the tests measure the differences).
#[rustfmt::skip]
pub(super) const DEFAULT: [u32; 60] = [
    0x348ff9, 0xeeb32a, 0xb62b66, 0x7541b8, 0x849c00, 0xfe7574, 0x116d8a, 0x45c8e8, 0x895612, 0xba6bc6, //
    0x20f6a5, 0x930a02, 0x34468e, 0xc5df6d, 0x821469, 0x648e9b, 0x664242, 0xb65c4e, 0x9be1d3, 0xc69ac1, //
    0x6960f8, 0x8bc396, 0x87a0f0, 0xee356a, 0x341c9a, 0x9e4798, 0x9aa9a0, 0x6f1821, 0x551877, 0x9d53cd, //
    0xf09b6b, 0xe3a7f1, 0x6f61af, 0xb39157, 0x65a784, 0x631c50, 0x2d9404, 0x7a5566, 0x39521b, 0xcec380, //
    0x7a0dad, 0xabac13, 0x5c26c3, 0xd97ed2, 0xf24ca9, 0xbe37b8, 0x5d497e, 0x3c3f33, 0x6b8466, 0x8a96b8, //
    0x374adc, 0x516c34, 0x958584, 0xc27141, 0xcf5ee9, 0x57d236, 0xa36683, 0x99cbd4, 0x84345f, 0xc42c3e,
];

/// The palette of Okabe and Ito without black, ordered like the default one.
const OKABE_ITO: [u32; 7] = [0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7, 0x56b4e9, 0xd55e00, 0xf0e442];

/// Colors from low to high density on a light background, with decreasing lightness.
pub(super) const DENSITY_STOPS: [u32; 6] = [0xc6dcec, 0x7fb8d8, 0x3f8dc0, 0x3a5fa6, 0x3a2f7d, 0x1b0c33];

/// A scale for numbers, or a list of colors for classes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scale {
    /// Colors of classes only.
    Classes(&'static [u32]),
    /// Violet, blue, green, yellow.
    VioletYellow,
    /// One hue in degrees.
    OneHue(f32),
    /// Dark red through orange to light yellow.
    Ember,
    /// Two hues in degrees around a neutral middle.
    Diverging([f32; 2]),
    /// Colors at equal distances, from a file.
    Stops(Vec<Rgb>),
}

/// All palettes by name.
pub(super) const BUILTIN: [(&str, Scale); 8] = [
    ("default", Scale::VioletYellow),
    ("okabe-ito", Scale::Classes(&OKABE_ITO)),
    ("violet-yellow", Scale::VioletYellow),
    ("ember", Scale::Ember),
    ("blues", Scale::OneHue(250.0)),
    ("greens", Scale::OneHue(155.0)),
    ("blue-red", Scale::Diverging([255.0, 27.0])),
    ("purple-green", Scale::Diverging([315.0, 150.0])),
];

impl Scale {
    pub fn is_diverging(&self) -> bool {
        matches!(self, Scale::Diverging(_))
    }

    /// Returns the color of a value from 0 to 1. Steps between equidistant values are about equal in OKLab, and so are those of lightness, so
    /// that the order is visible with any color vision and in grayscale. High values are darkest on a light background and lightest on a
    /// dark one, except in the default scale.
    pub fn color(&self, t: f32, dark: bool) -> Rgb {
        match self {
            Scale::Classes(_) | Scale::VioletYellow => {
                let low = if dark { 0.36 } else { 0.27 };
                // About the largest chroma that sRGB has at the darkest, the central and the lightest color.
                from_polar(low + 0.6 * t, 0.1 + 0.04 * (2.0 * t - 1.0).powi(2), 305.0 - 200.0 * t)
            }
            Scale::Ember => {
                let low = if dark { 0.36 } else { 0.25 };
                from_polar(low + 0.6 * t, 0.09 + 0.07 * (std::f32::consts::PI * t).sin(), 10.0 + 90.0 * t)
            }
            Scale::OneHue(hue) => {
                let lightness = if dark { 0.34 + 0.56 * t } else { 0.93 - 0.6 * t };
                from_polar(lightness, 0.03 + 0.1 * (std::f32::consts::PI * (0.1 + 0.8 * t)).sin(), *hue)
            }
            Scale::Diverging(hues) => {
                let side = 2.0 * t - 1.0;
                let lightness = if dark { 0.36 + 0.42 * side.abs() } else { 0.93 - 0.48 * side.abs() };
                from_polar(lightness, 0.15 * side.abs(), hues[usize::from(side > 0.0)])
            }
            Scale::Stops(stops) => interpolate(stops, t),
        }
    }
}
