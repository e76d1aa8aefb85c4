//! Options of a picture.

use crate::TextTable;

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

/// Size and appearance of a picture.
#[derive(Debug, Clone, PartialEq)]
pub struct PictureOptions {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels; `None` chooses the height at which maps are square.
    pub height: Option<u32>,
    /// Title at the top; omitted if empty.
    pub title: String,
    /// Text below the maps, such as method, parameters and scores; long text is wrapped.
    pub caption: String,
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
    /// Red, green and blue of the background; text is dark or light to suit it.
    pub background: [u8; 3],
}

impl Default for PictureOptions {
    fn default() -> Self {
        Self {
            width: 1600,
            height: None,
            title: String::new(),
            caption: String::new(),
            table: None,
            columns: None,
            point_size: None,
            density: Density::Auto,
            uncertainty: Uncertainty::None,
            flagged: FlaggedPoints::default(),
            bridges: true,
            certain: 1.0,
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
