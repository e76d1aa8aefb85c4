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
mod histogram;
mod inset;
pub mod islands;
mod layout;
mod map_labels;
mod marks;
mod names;
mod options;
pub mod page;
mod palette;
mod panel;
mod panel_grid;
mod pdf;
mod pixel_transform;
mod point_labels;
mod raster;
mod scene;
mod svg;
mod table;
mod text;
mod theme;
mod thumbnails;

use lowland::AnnotatedEmbedding;

pub use chart::{ChartOptions, Curve, draw_chart};
pub use check::{DPI_RANGE, FONT_SIZE_RANGE, SIDE_RANGE};
pub use error::{PictureError, Result};
pub use inset::class_region;
pub use names::{PlacedMark, PlacedName, PlacedNames, class_colors, place_names, plain_text, scale_colors};
pub use options::{Density, FlaggedPoints, LegendPlace, MapLabels, PictureFormat, PictureOptions, Uncertainty};
pub use palette::Palette;
pub use panel::{Color, Images, MapPanel};
pub use table::{TableCell, TextTable};
pub use text::embedded_fonts;

/// Draws maps side by side and encodes the picture.
///
/// Only the first two dimensions of a map are drawn; the caption mentions the others. A one-dimensional map is drawn as a stacked
/// histogram over a rug plot. Every point is inside the picture: outliers are drawn as rings at the edge of the frame, and the
/// caption gives their number.
///
/// Characters that no font has are drawn as boxes and listed in the result.
pub fn draw_picture(panels: &[MapPanel], options: &PictureOptions, format: PictureFormat) -> Result<Picture> {
    check::check_picture(panels, options)?;
    let scene = layout::build_scene(panels, options)?;
    let file = match format {
        PictureFormat::Png => raster::render(&scene).to_png(options.dpi)?,
        PictureFormat::Svg => svg::write(&scene)?,
        PictureFormat::Pdf => pdf::write(&scene)?,
    };
    Ok(Picture { file, missing_characters: scene.missing_characters() })
}

/// A picture in a file format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Content of the file.
    pub file: Vec<u8>,
    /// Characters that no font has, in increasing order; they are drawn as boxes.
    pub missing_characters: Vec<char>,
}

/// Draws one map as a PNG file, colored by its labels if it has any.
pub fn draw_png(map: &AnnotatedEmbedding, options: &PictureOptions) -> Result<Vec<u8>> {
    let color = map.labels.as_ref().map_or(Color::Plain, Color::Classes);
    Ok(draw_picture(&[MapPanel { color, ..MapPanel::new(map) }], options, PictureFormat::Png)?.file)
}

#[cfg(test)]
mod tests;
