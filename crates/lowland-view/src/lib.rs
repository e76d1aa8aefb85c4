//! Pictures of maps.
//!
//! [`draw`] makes one picture of one or several maps, with classes or a scale in colour, a legend, a title, a caption and a table,
//! as PNG, SVG or PDF. The work has two halves: a layout, which decides what stands where and knows nothing of files, and
//! three writers, which know nothing of maps.

mod canvas;
mod chart;
mod check;
mod classes;
mod color;
mod font;
mod key;
mod layout;
mod letters;
mod limits;
mod marks;
mod occupied;
pub mod page;
mod pdf;
mod placement;
mod raster;
mod scale;
mod scene;
mod svg;
mod table;
mod thumbnails;
mod words;

use lowland::{Points, Result};

pub use chart::{ChartOptions, Curve, chart};
pub use check::SIDES;
pub use table::{Cell, TextTable};

/// Classes of the points.
#[derive(Debug, Clone, Copy)]
pub struct Labels<'a> {
    /// One code a point.
    pub codes: &'a [u32],
    /// Name of each code; a code without one is shown as a number.
    pub names: &'a [String],
}

/// What the colours mean. All maps of a picture are coloured in the same way.
#[derive(Debug, Clone, Copy, Default)]
pub enum Color<'a> {
    /// Nothing.
    #[default]
    Plain,
    /// Classes; the names are the same for all maps.
    Classes(Labels<'a>),
    /// Numbers on a scale.
    Values {
        /// What they are, for the scale.
        name: &'a str,
        /// One a point; those that are not finite are missing, and grey.
        values: &'a [f64],
    },
}

/// Rows that are grey images.
#[derive(Debug, Clone, Copy)]
pub struct Images<'a> {
    /// The images one after the other, each row by row from the top; any scale.
    pub values: &'a [f32],
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
}

/// One map of a picture.
#[derive(Debug, Clone)]
pub struct Panel<'a> {
    /// The points.
    pub map: Points<'a>,
    /// Line above the map; nothing when empty.
    pub title: String,
    /// Their colours.
    pub color: Color<'a>,
    /// Their standard deviations, in the map's units.
    pub std: Option<&'a [f64]>,
    /// Their covariances, a square matrix a point, in the map's units.
    pub covariances: Option<&'a [f64]>,
    /// Names to write beside the points, where there is room; earlier rows come first.
    pub words: Option<&'a [String]>,
    /// Images to draw at the points, where there is room.
    pub images: Option<Images<'a>>,
}

impl<'a> Panel<'a> {
    /// A map about which nothing else is known.
    pub fn new(map: Points<'a>) -> Self {
        Self { map, title: String::new(), color: Color::Plain, std: None, covariances: None, words: None, images: None }
    }
}

/// Whether the number of points at each place is drawn instead of points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Density {
    /// From 100,000 points, or from 20,000 without colours, unless a point size is given.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// How standard deviations are shown, where they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Uncertainty {
    /// Not at all.
    #[default]
    None,
    /// Uncertain points are faint.
    Fade,
    /// Ellipses of one standard deviation; circles where covariances are not known.
    Ellipses,
}

/// How a picture looks.
#[derive(Debug, Clone, PartialEq)]
pub struct PictureOptions {
    /// Pixels across.
    pub width: u32,
    /// Pixels down; `None`: what square maps need.
    pub height: Option<u32>,
    /// Line at the top; nothing when empty.
    pub title: String,
    /// Text below the map, wrapped: method, parameters, scores.
    pub caption: String,
    /// A table below the maps.
    pub table: Option<TextTable>,
    /// Maps in a row; `None`: by their number.
    pub columns: Option<usize>,
    /// Diameter of a point in pixels; `None`: by the number of points.
    pub point_size: Option<f32>,
    /// Points or their density.
    pub density: Density,
    /// How standard deviations are shown.
    pub uncertainty: Uncertainty,
    /// The share of the points that is drawn, those of the smallest standard deviations, where these are known.
    pub certain: f64,
    /// Red, green and blue of the ground; text is dark or light to suit it.
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
            certain: 1.0,
            background: [255; 3],
        }
    }
}

/// The kind of a picture's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Pixels.
    Png,
    /// Shapes and text; more than 20,000 points are pixels.
    Svg,
    /// The same on a page.
    Pdf,
}

impl Format {
    /// The endings of the files, one a format.
    pub const ENDINGS: [&'static str; 3] = ["png", "svg", "pdf"];

    /// The format of files with this ending.
    pub fn of_ending(ending: &str) -> Option<Self> {
        let at = Self::ENDINGS.iter().position(|known| known.eq_ignore_ascii_case(ending))?;
        Some([Self::Png, Self::Svg, Self::Pdf][at])
    }
}

/// Draws maps side by side as a file. Of a map with more than two dimensions the first two are drawn, and the caption says so; a
/// map of one dimension is drawn as stacked bars over a rug. Every point is inside the picture: those far out of the rest
/// are drawn at the edge of the frame, as rings, and counted in the caption.
pub fn draw(panels: &[Panel], options: &PictureOptions, format: Format) -> Result<Vec<u8>> {
    check::figure(panels, options)?;
    let scene = layout::scene(panels, options)?;
    match format {
        Format::Png => raster::paint(&scene).png(),
        Format::Svg => svg::write(&scene),
        Format::Pdf => pdf::write(&scene),
    }
}

/// Draws one map as a PNG file.
pub fn png(map: Points, labels: Option<Labels>, options: &PictureOptions) -> Result<Vec<u8>> {
    let color = labels.map_or(Color::Plain, Color::Classes);
    draw(&[Panel { color, ..Panel::new(map) }], options, Format::Png)
}

#[cfg(test)]
mod tests;
