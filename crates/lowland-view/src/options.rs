//! Options of a picture.

use crate::text::CAP_HEIGHT;
use crate::{Palette, TextTable};

/// Whether to draw the density of the points instead of the points themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Density {
    /// Above 100,000 points, or above 20,000 points without colors, unless a point size is set.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// How standard deviations are drawn, where they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Uncertainty {
    /// Not drawn.
    #[default]
    None,
    /// Uncertain points are more transparent.
    Fade,
    /// Ellipses of one standard deviation, or circles where covariances are not known.
    Ellipses,
}

/// How flagged points are drawn, where it is known which are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FlaggedPoints {
    /// Like the others.
    None,
    /// As rings.
    #[default]
    Hollow,
    /// More transparent.
    Fade,
}

/// Where the legend of classes is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LegendPlace {
    /// Next to the maps, or below several maps if it is long; nowhere if the names of all classes are on the map.
    #[default]
    Auto,
    /// Next to the maps.
    Right,
    /// Below the maps.
    Below,
    /// Nowhere.
    None,
}

/// Whether names of classes are written on a map, next to their points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MapLabels {
    /// On a single map whose classes are mostly apart, in place of the legend.
    #[default]
    Auto,
    /// On every map.
    On,
    /// On no map.
    Off,
}

/// Size and appearance of a picture.
#[derive(Debug, Clone, PartialEq)]
pub struct PictureOptions {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels; `None` chooses the height at which maps are square.
    pub height: Option<u32>,
    /// Pixels per inch. `None` leaves the size of a PNG or SVG file to the program that shows it, and draws a PDF page at 240.
    pub dpi: Option<f32>,
    /// Size of the text in points, which needs `dpi`; `None` chooses it by the size of the picture.
    pub font_size: Option<f32>,
    /// Title at the top; omitted if empty.
    pub title: String,
    /// Text below the maps, such as method, parameters and scores; long text is wrapped.
    pub caption: String,
    /// Whether to draw a last line with the number of points and what is not shown.
    pub note: bool,
    /// Whether maps have a border; `None` draws it around several maps, and where points lie far outside.
    pub border: Option<bool>,
    /// Whether maps have letters: a, b, c.
    pub letters: bool,
    /// Where the legend of classes is.
    pub legend: LegendPlace,
    /// Whether names of classes are written on the map.
    pub map_labels: MapLabels,
    /// Region of the map to draw larger in a corner: from and to in the first dimension, from and to in the second.
    pub inset: Option<[f64; 4]>,
    /// Table below the maps.
    pub table: Option<TextTable>,
    /// Number of maps per row; `None` chooses it by the number of maps.
    pub columns: Option<usize>,
    /// Diameter of a point in pixels; `None` chooses it by the number of points.
    pub point_size: Option<f32>,
    /// Whether to draw the density of the points.
    pub density: Density,
    /// How standard deviations are drawn.
    pub uncertainty: Uncertainty,
    /// How flagged points are drawn.
    pub flagged: FlaggedPoints,
    /// Whether to draw lines between islands that are connected in the data, where they are known.
    pub bridges: bool,
    /// Fraction of the points to draw: those with the smallest standard deviations, where these are known.
    pub certain: f64,
    /// Colors of classes and values.
    pub palette: Palette,
    /// Red, green and blue of the background; text is dark or light to suit it.
    pub background: [u8; 3],
}

/// Pixels per inch at which sizes in points are drawn if the resolution is not specified.
const DEFAULT_DPI: f32 = 240.0;

impl PictureOptions {
    /// Returns the height of a capital letter in pixels, if the size of the text is given.
    pub(crate) fn text_height(&self) -> Option<f32> {
        self.font_size.map(|points| points * self.dpi.unwrap_or(DEFAULT_DPI) / 72.0 * CAP_HEIGHT)
    }
}

impl Default for PictureOptions {
    fn default() -> Self {
        Self {
            width: 1600,
            height: None,
            dpi: None,
            font_size: None,
            title: String::new(),
            caption: String::new(),
            note: true,
            border: None,
            letters: false,
            legend: LegendPlace::default(),
            map_labels: MapLabels::default(),
            inset: None,
            table: None,
            columns: None,
            point_size: None,
            density: Density::Auto,
            uncertainty: Uncertainty::None,
            flagged: FlaggedPoints::default(),
            bridges: true,
            certain: 1.0,
            palette: Palette::default(),
            background: [255; 3],
        }
    }
}

/// File format of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureFormat {
    /// Pixels.
    Png,
    /// Vector graphics; more than 20,000 points are embedded as pixels.
    Svg,
    /// One page of vector graphics, with the same limit as SVG.
    Pdf,
}

impl PictureFormat {
    /// File extension of each format.
    pub const EXTENSIONS: [&'static str; 3] = ["png", "svg", "pdf"];

    /// Returns the format with this file extension, ignoring case.
    pub fn from_extension(extension: &str) -> Option<Self> {
        let at = Self::EXTENSIONS.iter().position(|known| known.eq_ignore_ascii_case(extension))?;
        Some([Self::Png, Self::Svg, Self::Pdf][at])
    }
}
