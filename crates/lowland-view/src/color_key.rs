//! Meaning of the colors, shared by all maps of a picture.

use crate::class_legend::ClassLegend;
use crate::color::Rgb;
use crate::color_scale::ColorScale;
use crate::map_labels::LabelLevel;
use crate::scene::{Rect, SceneItem};
use crate::theme::Theme;
use crate::{Color, MapPanel, Palette};
use lowland::Labels;

/// Meaning of the colors.
pub(crate) enum ColorKey<'a> {
    Plain(&'a Palette),
    Classes(ClassLegend<'a>),
    Scale(ColorScale<'a>),
}

impl<'a> ColorKey<'a> {
    pub fn new(panels: &[MapPanel<'a>], palette: &'a Palette) -> Self {
        match panels[0].color {
            Color::Plain => ColorKey::Plain(palette),
            Color::Classes(labels) => {
                let codes = |panel: &MapPanel<'a>| match panel.color {
                    Color::Classes(labels) => labels.codes.as_slice(),
                    _ => &[],
                };
                ColorKey::Classes(ClassLegend::new(panels.iter().flat_map(codes).copied(), &labels.names, palette))
            }
            Color::Values { name, .. } => {
                let values = |panel: &MapPanel<'a>| match panel.color {
                    Color::Values { values, .. } => values,
                    _ => &[],
                };
                ColorKey::Scale(ColorScale::new(name, panels.iter().flat_map(values).copied(), palette))
            }
        }
    }

    pub fn is_plain(&self) -> bool {
        matches!(self, ColorKey::Plain(_))
    }

    /// Whether the colors are those of a scale.
    pub fn is_scale(&self) -> bool {
        matches!(self, ColorKey::Scale(_))
    }

    /// Number of classes that are not in the legend.
    pub fn hidden_classes(&self) -> usize {
        if let ColorKey::Classes(classes) = self { classes.hidden() } else { 0 }
    }

    /// Whether the names of the classes can be on the map: there are several, but not too many.
    pub fn can_be_on_map(&self) -> bool {
        matches!(self, ColorKey::Classes(classes) if (2..=60).contains(&classes.shown()))
    }

    /// Returns the names to write on a map: those of its levels, or of its classes.
    pub fn label_levels<'b>(&'b self, panel: &'b MapPanel, theme: Theme) -> Vec<LabelLevel<'b>> {
        let own = |labels: &'b Labels| match self {
            ColorKey::Classes(classes) if panel.names_are_classes() => {
                let colors = classes.colors(theme);
                let color = move |code: u32| colors[usize::from(classes.index(code))];
                LabelLevel { labels, color: Some(Box::new(color)) }
            }
            _ => LabelLevel { labels, color: None },
        };
        match (panel.label_levels.split_last(), panel.color) {
            (Some((last, others)), _) => {
                let upper = others.iter().map(|&labels| LabelLevel { labels, color: None });
                upper.chain([own(last)]).collect()
            }
            (None, Color::Classes(labels)) => vec![own(labels)],
            _ => Vec::new(),
        }
    }

    /// Returns all colors on a background.
    pub fn colors(&self, theme: Theme) -> Vec<Rgb> {
        match self {
            ColorKey::Plain(palette) => vec![palette.class_color(0, theme.is_dark()).unwrap_or(theme.muted_text)],
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
            ColorKey::Plain(_) => Vec::new(),
            ColorKey::Classes(classes) => classes.legend(area, size, theme),
            ColorKey::Scale(scale) => scale.legend(area, size, theme),
        }
    }
}
