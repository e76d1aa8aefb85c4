//! Validation of maps and options.

use lowland::{AnnotatedEmbedding, Error, Points};

use crate::error::{PictureError, Result};
use crate::{Color, Images, MapPanel, PictureOptions};

/// Smallest and largest width or height of a picture, in pixels.
pub const SIDE_RANGE: std::ops::RangeInclusive<u32> = 32..=16_384;

/// Smallest and largest number of pixels per inch.
pub const DPI_RANGE: std::ops::RangeInclusive<f32> = 10.0..=2400.0;

/// Smallest and largest size of text in points.
pub const FONT_SIZE_RANGE: std::ops::RangeInclusive<f32> = 1.0..=200.0;

/// Checks the panels and options of a picture.
pub(crate) fn check_picture(panels: &[MapPanel], options: &PictureOptions) -> Result<()> {
    check_side("width", options.width)?;
    options.height.map_or(Ok(()), |height| check_side("height", height))?;
    if panels.is_empty() {
        return Err(PictureError::NoMaps);
    }
    if let Some(size) = options.point_size.filter(|&size| !(size > 0.0 && size <= 1000.0)) {
        return Err(PictureError::PointSize(size));
    }
    if !(options.certain > 0.0 && options.certain <= 1.0) {
        return Err(PictureError::CertainShare(options.certain));
    }
    let out_of_range =
        |value: Option<f32>, range: std::ops::RangeInclusive<f32>| value.filter(|value| !range.contains(value));
    if let Some(value) = out_of_range(options.dpi, DPI_RANGE) {
        return Err(PictureError::Resolution(value));
    }
    if let Some(value) = out_of_range(options.font_size, FONT_SIZE_RANGE) {
        return Err(PictureError::FontSize(value));
    }
    if let Some(region) =
        options.inset.filter(|[x0, x1, y0, y1]| !(x0 < x1 && y0 < y1 && (x1 - x0 + y1 - y0).is_finite()))
    {
        return Err(PictureError::Inset(region));
    }
    panels.iter().try_for_each(|panel| check_panel(panel, &panels[0]))
}

/// Checks the width or the height of a picture.
pub(crate) fn check_side(side: &'static str, pixels: u32) -> Result<()> {
    if SIDE_RANGE.contains(&pixels) { Ok(()) } else { Err(PictureError::Side { side, pixels }) }
}

fn check_panel(panel: &MapPanel, first: &MapPanel) -> Result<()> {
    check_map(panel.map)?;
    let n = panel.map.rows();
    match panel.color {
        Color::Plain => {}
        Color::Classes(labels) => check_len("labels of a picture", labels.codes.len(), n)?,
        Color::Values { values, .. } => check_len("values of a picture", values.len(), n)?,
    }
    panel.label_levels.iter().try_for_each(|labels| check_len("names on a map", labels.codes.len(), n))?;
    if std::mem::discriminant(&panel.color) != std::mem::discriminant(&first.color) {
        return Err(PictureError::MixedColors);
    }
    panel.images.map_or(Ok(()), |images| check_images(images, n))
}

/// Checks the coordinates and annotations of a map.
pub(crate) fn check_map(map: &AnnotatedEmbedding) -> Result<()> {
    map.check()?;
    map.std.as_ref().map_or(Ok(()), |std| check_std(std))?;
    map.covariances.as_ref().map_or(Ok(()), |all| check_covariances(all, map.embedding.dim()))
}

fn check_images(Images { values, width, height }: Images, n: usize) -> Result<()> {
    let Some(pixels) = width.checked_mul(height).filter(|&pixels| pixels > 0) else {
        return Err(PictureError::ImageSize { width, height });
    };
    check_len("pixels of the images of a picture", values.len(), n.saturating_mul(pixels))?;
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(at) => {
            Err(Error::NotFinite { row: at / pixels, column: at % pixels, value: values[at], count: 1, name: None }
                .into())
        }
    }
}

/// Checks that `what` has as many elements as expected.
pub(crate) fn check_len(what: &'static str, found: usize, expected: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::Shape { what, expected, found }.into()) }
}

/// Checks that standard deviations are finite and not negative.
fn check_std(std: &[f64]) -> Result<()> {
    Points::new(std, 1)?.check_finite()?;
    match std.iter().position(|&value| value < 0.0) {
        None => Ok(()),
        Some(row) => Err(PictureError::NegativeStd { row, value: std[row] }),
    }
}

/// Checks that covariance matrices are finite and that their variances are not negative.
fn check_covariances(covariances: &[f64], dim: usize) -> Result<()> {
    Points::new(covariances, dim * dim)?.check_finite()?;
    let negative = |matrix: &[f64]| matrix.iter().step_by(dim + 1).copied().find(|&variance| variance < 0.0);
    let rows = covariances.chunks_exact(dim * dim).enumerate();
    match rows.filter_map(|(row, matrix)| Some((row, negative(matrix)?))).next() {
        None => Ok(()),
        Some((row, value)) => Err(PictureError::NegativeVariance { row, value }),
    }
}
