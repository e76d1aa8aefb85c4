//! Pictures of maps.
//!
//! [`png()`] draws a map with its classes, a title and a caption. The work has two halves: a layout, which decides what stands
//! where in pixels and knows nothing of files, and a raster, which paints a layout. Other formats take the same layout.

mod canvas;
mod chart;
mod classes;
mod color;
mod font;
mod layout;
mod limits;
mod placement;
mod raster;

pub use chart::{ChartOptions, Curve, chart};

use lowland::{Error, Points, Result};

/// Classes of the points.
#[derive(Debug, Clone, Copy)]
pub struct Labels<'a> {
    /// One code a point.
    pub codes: &'a [u32],
    /// Name of each code; a code without one is shown as a number.
    pub names: &'a [String],
}

/// How a picture looks.
#[derive(Debug, Clone, PartialEq)]
pub struct PictureOptions {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// Line at the top; nothing when empty.
    pub title: String,
    /// Text below the map, wrapped: method, parameters, scores.
    pub caption: String,
    /// Diameter of a point in pixels; `None`: by the number of points.
    pub point_size: Option<f32>,
    /// Red, green and blue of the ground; text is dark or light to suit it.
    pub background: [u8; 3],
}

impl Default for PictureOptions {
    fn default() -> Self {
        Self {
            width: 1600,
            height: 1600,
            title: String::new(),
            caption: String::new(),
            point_size: None,
            background: [255; 3],
        }
    }
}

/// Smallest and largest side of a picture, in pixels.
const SIDES: std::ops::RangeInclusive<u32> = 32..=16_384;

/// Draws a map as a PNG file. Of a map with more than two dimensions the first two are drawn, and the caption says so; a map of
/// one dimension is drawn as stacked bars over a rug. Every point is inside the picture: those far out of the rest are
/// drawn at the edge of the frame, as rings, and counted in the caption.
pub fn png(map: Points, labels: Option<Labels>, options: &PictureOptions) -> Result<Vec<u8>> {
    check(map, labels, options)?;
    let layout = layout::Layout::new(map, labels, options);
    let canvas = raster::paint(&layout);
    canvas.png().map_err(|error| Error::Format { what: "picture", reason: error.to_string() })
}

fn check(map: Points, labels: Option<Labels>, options: &PictureOptions) -> Result<()> {
    let mut bad = map.values().iter().enumerate().filter(|(_, v)| !v.is_finite());
    if let Some((at, &value)) = bad.next() {
        let (row, column, count) = (at / map.dim(), at % map.dim(), 1 + bad.count());
        return Err(Error::NotFinite { row, column, value: value as f32, count });
    }
    if let Some(labels) = labels.filter(|labels| labels.codes.len() != map.rows()) {
        return Err(Error::Shape { what: "labels of a picture", expected: map.rows(), found: labels.codes.len() });
    }
    for (name, side) in [("width", options.width), ("height", options.height)] {
        if !SIDES.contains(&side) {
            let allowed = format!("from {} to {} pixels", SIDES.start(), SIDES.end());
            return Err(Error::Parameter { name, value: side.to_string(), allowed });
        }
    }
    match options.point_size {
        Some(size) if !(size > 0.0 && size <= 1000.0) => Err(Error::Parameter {
            name: "point_size",
            value: size.to_string(),
            allowed: "more than 0 and at most 1000 pixels".into(),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
