//! Meaning of the colors, shared by all maps of a picture.

use crate::class_legend::ClassLegend;
use crate::color::Rgb;
use crate::color_scale::ColorScale;
use crate::scene::{Rect, SceneItem};
use crate::theme::Theme;
use crate::{Color, MapPanel};

/// Meaning of the colors.
pub(crate) enum ColorKey<'a> {
    Plain,
    Classes(ClassLegend<'a>),
    Scale(ColorScale),
}

impl<'a> ColorKey<'a> {
    pub fn new(panels: &[MapPanel<'a>]) -> Self {
        match panels[0].color {
            Color::Plain => ColorKey::Plain,
            Color::Classes(labels) => {
                let codes = |panel: &MapPanel<'a>| match panel.color {
                    Color::Classes(labels) => labels.codes.as_slice(),
                    _ => &[],
                };
                ColorKey::Classes(ClassLegend::new(panels.iter().flat_map(codes).copied(), &labels.names))
            }
            Color::Values { name, .. } => {
                let values = |panel: &MapPanel<'a>| match panel.color {
                    Color::Values { values, .. } => values,
                    _ => &[],
                };
                ColorKey::Scale(ColorScale::new(name, panels.iter().flat_map(values).copied()))
            }
        }
    }

    pub fn is_plain(&self) -> bool {
        matches!(self, ColorKey::Plain)
    }

    /// Returns all colors on a background.
    pub fn colors(&self, theme: Theme) -> Vec<Rgb> {
        match self {
            ColorKey::Plain => vec![theme.class_color(0)],
            ColorKey::Classes(classes) => classes.colors(theme),
            ColorKey::Scale(scale) => scale.colors(theme),
        }
    }

    /// Returns the index of the color of point `i` in `colors`.
    pub fn index(&self, color: &Color, i: usize) -> u16 {
        match (self, color) {
            (ColorKey::Classes(classes), Color::Classes(labels)) => classes.index(labels.codes[i]),
            (ColorKey::Scale(scale), Color::Values { values, .. }) => scale.index(values[i]),
            _ => 0,
        }
    }

    /// Whether the legend needs several columns at this height.
    pub fn is_long(&self, height: f32, size: f32) -> bool {
        matches!(self, ColorKey::Classes(classes) if classes.columns(height, size) > 1)
    }

    /// Draws the legend of classes below the maps; also returns its height.
    pub fn legend_below(&self, position: [f32; 2], width: f32, size: f32, theme: Theme) -> (Vec<SceneItem>, f32) {
        match self {
            ColorKey::Classes(classes) => classes.legend_below(position, width, size, theme),
            _ => (Vec::new(), 0.0),
        }
    }

    /// Draws the legend at the right of `area`, and reduces `area` by it.
    pub fn legend(&self, area: &mut Rect, size: f32, theme: Theme) -> Vec<SceneItem> {
        match self {
            ColorKey::Plain => Vec::new(),
            ColorKey::Classes(classes) => classes.legend(area, size, theme),
            ColorKey::Scale(scale) => scale.legend(area, size, theme),
        }
    }
}
