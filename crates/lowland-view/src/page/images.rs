//! Grayscale images of the points, reduced to a size that fits a page.

use lowland::data::Dense;

use crate::Images;

/// Largest shade: 4 bits per pixel are enough for a thumbnail.
const MAX_SHADE: f32 = 15.0;
/// Largest size of all images together before compression, in bytes.
const MAX_BYTES: usize = 32 << 20;
/// Number of images per section, which are decompressed together.
pub(super) const IMAGES_PER_SECTION: usize = 1024;
/// Smallest side of an image, in pixels.
const MIN_SIDE: usize = 8;

/// Returns the rows as images if they look like square images: at least 8 x 8 pixels, with integers from 0 to 255 or such integers
/// divided by 255, of which the largest is at least 15.
pub fn detect_images(data: &Dense) -> Option<Images<'_>> {
    let side = data.dim().isqrt();
    if side < MIN_SIDE || side * side != data.dim() {
        return None;
    }
    let max = data.values().iter().copied().fold(0.0, f32::max);
    let in_units_of = |unit: f32| {
        let is_byte = |v: &f32| (0.0..=255.0).contains(&(v * unit)) && (v * unit - (v * unit).round()).abs() < 1e-3;
        max * unit >= MAX_SHADE && data.values().iter().all(is_byte)
    };
    (in_units_of(1.0) || in_units_of(255.0)).then_some(Images { values: data.values(), width: side, height: side })
}

/// Returns the number of images.
pub(super) fn image_count(images: Images) -> usize {
    images.width.checked_mul(images.height).and_then(|size| images.values.len().checked_div(size)).unwrap_or(0)
}

/// Returns width, height and the pixels of each section, two pixels per byte; the largest value is white. Images are halved until they
/// fit into a page; returns `None` if they would become too small.
pub(super) fn pack_images(images: Images) -> Option<(usize, usize, Vec<Vec<u8>>)> {
    let Images { values, width: full_width, height: full_height } = images;
    let rows = image_count(images);
    let size = |step: usize| (full_width.div_ceil(step), full_height.div_ceil(step));
    let bytes = |(width, height): (usize, usize)| (width * height).div_ceil(2) * rows;
    let mut step = 1;
    while bytes(size(step)) > MAX_BYTES {
        if size(2 * step).0.min(size(2 * step).1) < MIN_SIDE {
            return None;
        }
        step *= 2;
    }
    let (width, height) = size(step);
    let range = values.iter().filter(|v| v.is_finite());
    let (low, high) = range.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)));
    let scale = if high > low { MAX_SHADE / (high - low) } else { 0.0 };
    let image = |i: usize| {
        let row = &values[i * full_width * full_height..][..full_width * full_height];
        let mut shades = (0..width * height).map(move |at| {
            let (left, top) = (at % width * step, at / width * step);
            let (mut sum, mut count) = (0.0, 0.0);
            for y in top..(top + step).min(full_height) {
                for x in left..(left + step).min(full_width) {
                    sum += row[y * full_width + x];
                    count += 1.0;
                }
            }
            ((sum / count - low) * scale).round().clamp(0.0, MAX_SHADE) as u8
        });
        std::iter::from_fn(move || Some(shades.next()? | shades.next().unwrap_or(0) << 4))
    };
    let section = |start: usize| (start..rows.min(start + IMAGES_PER_SECTION)).flat_map(image).collect();
    Some((width, height, (0..rows).step_by(IMAGES_PER_SECTION).map(section).collect()))
}
