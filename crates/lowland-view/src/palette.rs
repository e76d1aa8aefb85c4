//! Colors of classes, values and densities.

mod builtin;
mod file;

use std::collections::BTreeMap;

use crate::color::{Rgb, from_lab, mix, rgb, to_lab, with_lightness};
use builtin::{BUILTIN, DENSITY_STOPS, Scale};

/// The colors of a picture or page: a list for classes, and a scale for numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Palette {
    /// Colors of classes in the order of the legend, on a light background.
    classes: Vec<Rgb>,
    /// Colors of the classes with these names.
    by_name: BTreeMap<String, Rgb>,
    scale: Scale,
    /// Whether colors are made lighter on a dark background. Those of a file are not.
    adapts: bool,
}

impl Default for Palette {
    fn default() -> Self {
        Self {
            classes: builtin::DEFAULT.map(rgb).to_vec(),
            by_name: BTreeMap::new(),
            scale: Scale::VioletYellow,
            adapts: true,
        }
    }
}

impl Palette {
    /// Names of the built-in palettes.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name)
    }

    /// Returns the built-in palette with a name.
    pub fn named(name: &str) -> Option<Self> {
        let scale = BUILTIN.iter().find(|(known, _)| *known == name)?.1.clone();
        match scale {
            Scale::Classes(colors) => {
                Some(Self { classes: colors.iter().copied().map(rgb).collect(), ..Self::default() })
            }
            scale => Some(Self { scale, ..Self::default() }),
        }
    }

    /// Number of classes with a color of their own; further classes share one gray.
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    /// Whether no class has a color by its position; then only classes with names in the palette have one.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// Returns the color of the class at a position of the legend.
    pub(crate) fn class_color(&self, at: usize, dark: bool) -> Option<Rgb> {
        self.classes.get(at).map(|&color| self.on(color, dark))
    }

    /// Returns the color that the palette gives to a class by name.
    pub(crate) fn named_class(&self, name: &str, dark: bool) -> Option<Rgb> {
        self.by_name.get(name.trim()).map(|&color| self.on(color, dark))
    }

    /// Returns the colors by name, on a light and on a dark background.
    pub(crate) fn named_classes(&self) -> impl Iterator<Item = (&str, [Rgb; 2])> {
        self.by_name.iter().map(|(name, &color)| (name.as_str(), [false, true].map(|dark| self.on(color, dark))))
    }

    fn on(&self, color: Rgb, dark: bool) -> Rgb {
        if dark && self.adapts { with_lightness(color, |lightness| 0.08 + 0.94 * lightness) } else { color }
    }

    /// Returns the color of a value from 0 (low) to 1 (high).
    pub(crate) fn value_color(&self, t: f32, dark: bool) -> Rgb {
        self.scale.color(t.clamp(0.0, 1.0), dark)
    }

    /// Whether the middle of the scale is neutral, so that values should be placed around a center.
    pub fn is_diverging(&self) -> bool {
        self.scale.is_diverging()
    }
}

/// Color of points whose class or value is not known.
pub(crate) fn missing_color(dark: bool) -> Rgb {
    rgb(if dark { 0x5c5f66 } else { 0xc4c6ca })
}

/// Whether a class stands for points whose class is not known, by its name.
pub(crate) fn is_unknown(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    ["", "nan", "na", "n/a", "null", "none", "unknown", "unassigned", "unlabeled", "unlabelled"]
        .contains(&name.as_str())
}

/// Returns the color of a density from 0 (low) to 1 (high).
pub(crate) fn density_color(t: f32, dark: bool) -> Rgb {
    interpolate(&DENSITY_STOPS.map(rgb), if dark { 1.0 - t } else { t })
}

/// Interpolates between colors at equal distances in OKLab, where steps are perceptually uniform.
fn interpolate(stops: &[Rgb], t: f32) -> Rgb {
    let Some(last) = stops.len().checked_sub(1).filter(|&last| last > 0) else {
        return stops.first().copied().unwrap_or_default();
    };
    let t = t.clamp(0.0, 1.0) * last as f32;
    let at = (t as usize).min(last - 1);
    from_lab(mix(to_lab(stops[at]), to_lab(stops[at + 1]), t - at as f32))
}

#[cfg(test)]
pub(crate) mod tests;
