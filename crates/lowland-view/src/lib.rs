//! Pictures and interactive pages of embeddings.
//!
//! [`draw_picture`] draws one or several maps side by side, colored by class or by value, with a legend, a title, a caption and
//! a table, as PNG, SVG or PDF. It works in two steps: [`layout`] turns maps into a [`scene`] of shapes and text, and one of
//! three writers ([`raster`], [`svg`], [`pdf`]) encodes the scene. The writers know nothing about maps.
//!
//! [`page`] renders the same maps as a self-contained interactive HTML page, and [`draw_chart`] draws curves with error bars.
#![allow(rustdoc::private_intra_doc_links)]

mod axis_range;
mod canvas;
mod chart;
mod check;
mod class_legend;
mod collision_grid;
mod color;
mod color_key;
mod color_scale;
mod error;
mod font;
mod histogram;
mod layout;
mod marks;
mod options;
pub mod page;
mod panel;
mod panel_grid;
mod pdf;
mod pixel_transform;
mod point_labels;
mod raster;
mod scene;
mod svg;
mod table;
mod text_encoding;
mod theme;
mod thumbnails;

use lowland::AnnotatedEmbedding;

pub use chart::{ChartOptions, Curve, draw_chart};
pub use check::SIDE_RANGE;
pub use error::{PictureError, Result};
pub use options::{Density, FlaggedPoints, PictureFormat, PictureOptions, Uncertainty};
pub use panel::{Color, Images, MapPanel};
pub use table::{TableCell, TextTable};

/// Draws maps side by side and encodes the picture.
///
/// Only the first two dimensions of a map are drawn; the caption mentions the others. A one-dimensional map is drawn as a stacked
/// histogram over a rug plot. Every point is inside the picture: outliers are drawn as rings at the edge of the frame, and the
/// caption gives their number.
pub fn draw_picture(panels: &[MapPanel], options: &PictureOptions, format: PictureFormat) -> Result<Vec<u8>> {
    check::check_picture(panels, options)?;
    let scene = layout::build_scene(panels, options)?;
    match format {
        PictureFormat::Png => raster::render(&scene).to_png(),
        PictureFormat::Svg => svg::write(&scene),
        PictureFormat::Pdf => pdf::write(&scene),
    }
}

/// Draws one map as a PNG file, colored by its labels if it has any.
pub fn draw_png(map: &AnnotatedEmbedding, options: &PictureOptions) -> Result<Vec<u8>> {
    let color = map.labels.as_ref().map_or(Color::Plain, Color::Classes);
    draw_picture(&[MapPanel { color, ..MapPanel::new(map) }], options, PictureFormat::Png)
}

#[cfg(test)]
mod tests;
