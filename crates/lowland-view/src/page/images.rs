//! Rows that are grey images, small enough to travel with a page.

use lowland::Dense;

use crate::Images;

/// Sixteen shades are enough for a thumbnail: two pixels a byte.
const SHADES: f32 = 15.0;
/// All images together take at most so many bytes before they are packed.
const BUDGET: usize = 32 << 20;
/// Images in one section: what is unpacked when the first of them is looked at.
pub(super) const IN_SECTION: usize = 1024;
/// Smaller images say nothing.
const LEAST_SIDE: usize = 8;

/// Rows that look like square images: at least 8 by 8 grey values of a byte (whole numbers from 0 to 255, or those divided
/// by 255), with as many shades as are shown.
pub fn guess_images(data: &Dense) -> Option<Images<'_>> {
    let side = data.dim().isqrt();
    if side < LEAST_SIDE || side * side != data.dim() {
        return None;
    }
    let most = data.values().iter().copied().fold(0.0, f32::max);
    let in_units_of = |unit: f32| {
        let is_byte = |v: &f32| (0.0..=255.0).contains(&(v * unit)) && (v * unit - (v * unit).round()).abs() < 1e-3;
        most * unit >= SHADES && data.values().iter().all(is_byte)
    };
    (in_units_of(1.0) || in_units_of(255.0)).then_some(Images { values: data.values(), width: side, height: side })
}

/// How many there are.
pub(super) fn rows(images: Images) -> usize {
    images.width.checked_mul(images.height).and_then(|size| images.values.len().checked_div(size)).unwrap_or(0)
}

/// Width, height, and the packed pixels of each section, white at the largest value; halved until all fit, `None` when they
/// do not.
pub(super) fn packed(images: Images) -> Option<(usize, usize, Vec<Vec<u8>>)> {
    let Images { values, width: full_width, height: full_height } = images;
    let rows = rows(images);
    let size = |step: usize| (full_width.div_ceil(step), full_height.div_ceil(step));
    let bytes = |(width, height): (usize, usize)| (width * height).div_ceil(2) * rows;
    let mut step = 1;
    while bytes(size(step)) > BUDGET {
        if size(2 * step).0.min(size(2 * step).1) < LEAST_SIDE {
            return None;
        }
        step *= 2;
    }
    let (width, height) = size(step);
    let range = values.iter().filter(|v| v.is_finite());
    let (low, high) = range.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)));
    let scale = if high > low { SHADES / (high - low) } else { 0.0 };
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
            ((sum / count - low) * scale).round().clamp(0.0, SHADES) as u8
        });
        std::iter::from_fn(move || Some(shades.next()? | shades.next().unwrap_or(0) << 4))
    };
    let section = |start: usize| (start..rows.min(start + IN_SECTION)).flat_map(image).collect();
    Some((width, height, (0..rows).step_by(IN_SECTION).map(section).collect()))
}
