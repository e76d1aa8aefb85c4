//! Colors and places of names for other programs that draw maps, such as matplotlib.

use lowland::{AnnotatedEmbedding, Labels};

use crate::class_legend::ClassLegend;
use crate::error::Result;
use crate::map_labels::{LabelLevel, LabelSize, place_map_labels};
use crate::pixel_transform::PixelTransform;
use crate::scene::{Anchor, Rect};
use crate::text::{self, sanitize};
use crate::theme::Theme;
use crate::{MapPanel, Palette, PictureOptions, check, marks};

/// Returns the color of each class, by code: that of the legend of a picture. Codes without points are gray.
pub fn class_colors(labels: &Labels, palette: &Palette, background: [u8; 3]) -> Vec<[f32; 3]> {
    let legend = ClassLegend::new(labels.codes.iter().copied(), &labels.names, palette);
    let colors = legend.colors(Theme::for_background(background));
    let highest = labels.codes.iter().max().map_or(0, |&code| code as usize + 1);
    (0..highest.max(labels.names.len())).map(|code| colors[usize::from(legend.index(code as u32))]).collect()
}

/// Returns `count` colors of the scale of numbers, from low to high values.
pub fn scale_colors(count: usize, palette: &Palette, background: [u8; 3]) -> Vec<[f32; 3]> {
    let dark = Theme::for_background(background).is_dark();
    (0..count).map(|at| palette.value_color(at as f32 / (count.max(2) - 1) as f32, dark)).collect()
}

/// Returns text as pictures show it: a line without control and directional formatting characters.
pub fn plain_text(text: &str) -> String {
    sanitize(text)
}

/// A line of a name on a map, in the coordinates of the map.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedName {
    /// A line of the name.
    pub text: String,
    /// Middle of its baseline.
    pub position: [f64; 2],
    /// Font size relative to the usual one.
    pub scale: f32,
    /// Color of the text.
    pub color: [f32; 3],
    /// The color of the class in front of its first line.
    pub mark: Option<PlacedMark>,
}

/// A square in the color of a class. Lengths are relative to the font size of its line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlacedMark {
    /// Center, relative to the middle of the baseline: to the right, and up.
    pub offset: [f32; 2],
    /// Length of its sides.
    pub side: f32,
    /// Color of the class.
    pub color: [f32; 3],
}

/// Names on a map.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlacedNames {
    /// Lines of text.
    pub names: Vec<PlacedName>,
    /// Lines from names to their points.
    pub leaders: Vec<[[f64; 2]; 2]>,
    /// Whether every class has its name, next to points that are mostly its own.
    pub is_complete: bool,
}

/// Places the names of classes on a map as a picture does. `font_size` is relative to the shorter side of the map.
pub fn place_names(
    map: &AnnotatedEmbedding,
    labels: &Labels,
    palette: &Palette,
    background: [u8; 3],
    font_size: f32,
) -> Result<PlacedNames> {
    check::check_map(map)?;
    check::check_len("names on a map", labels.codes.len(), map.rows())?;
    if map.embedding.dim() < 2 || map.rows() == 0 {
        return Ok(PlacedNames::default());
    }
    let frame = Rect { left: 0.0, top: 0.0, right: 1600.0, bottom: 1600.0 };
    let (theme, options) = (Theme::for_background(background), PictureOptions::default());
    let transform = PixelTransform::new(map.points(), frame, None, 1.0);
    let (positions, radius) = marks::shown_positions(&MapPanel::new(map), frame, &options, 1.0);
    let colors = class_colors(labels, palette, background);
    let color = |code: u32| colors.get(code as usize).copied().unwrap_or(theme.text);
    let size = font_size * 1600.0 * text::CAP_HEIGHT;
    let level = LabelLevel { labels, color: Some(Box::new(color)) };
    let label_size = LabelSize { height: size, may_grow: true };
    let placed = place_map_labels(&[level], &positions, frame, radius, label_size, theme);
    let name = |(at, line): (usize, &crate::scene::Text)| {
        debug_assert!(line.anchor == Anchor::Middle);
        let position = transform.to_map(line.position);
        let relative = |length: f32| length / text::font_size(line.height);
        let mark = placed.marks.iter().find(|mark| mark.text == at).map(|mark| PlacedMark {
            offset: [
                relative(0.5 * (mark.rect.left + mark.rect.right) - line.position[0]),
                relative(line.position[1] - 0.5 * (mark.rect.top + mark.rect.bottom)),
            ],
            side: relative(mark.rect.width()),
            color: mark.color,
        });
        PlacedName { text: line.content.clone(), position, scale: line.height / size, color: line.color, mark }
    };
    Ok(PlacedNames {
        names: placed.texts.iter().enumerate().map(name).collect(),
        leaders: placed.lines.iter().map(|line| line.ends.map(|end| transform.to_map(end))).collect(),
        is_complete: placed.named > 0 && placed.placed == placed.named && placed.purity >= crate::layout::MIN_PURITY,
    })
}
