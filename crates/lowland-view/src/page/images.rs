//! Rows that are grey images, small enough to travel with a page.

use lowland::Dense;

/// Rows of the data as grey images.
#[derive(Debug, Clone, Copy)]
pub struct Images<'a> {
    data: &'a Dense,
    width: usize,
    height: usize,
}

/// Sixteen shades are enough for a thumbnail: two pixels a byte.
const SHADES: f32 = 15.0;
/// All images together take at most so many bytes before they are packed.
const BUDGET: usize = 32 << 20;
/// Images in one section: what is unpacked when the first of them is looked at.
pub(super) const IN_SECTION: usize = 1024;
/// Halved images below this side say nothing.
const LEAST_SIDE: usize = 8;

impl<'a> Images<'a> {
    /// Rows of `width * height` values each, line by line.
    pub fn new(data: &'a Dense, width: usize, height: usize) -> Option<Self> {
        let fits = width.checked_mul(height) == Some(data.dim()) && data.dim() > 0;
        fits.then_some(Self { data, width, height })
    }

    /// Rows that look like square images: at least 8 by 8 grey values of a byte (whole numbers from 0 to 255, or those
    /// divided by 255), with as many shades as are shown.
    pub fn guess(data: &'a Dense) -> Option<Self> {
        let side = data.dim().isqrt();
        if side < LEAST_SIDE || side * side != data.dim() {
            return None;
        }
        let grey = |unit: f32| {
            let is_byte = |v: &f32| (0.0..=255.0).contains(&(v * unit)) && (v * unit - (v * unit).round()).abs() < 1e-3;
            let most = data.values().iter().copied().fold(0.0, f32::max);
            most * unit >= SHADES && data.values().iter().all(is_byte)
        };
        (grey(1.0) || grey(255.0)).then_some(Self { data, width: side, height: side })
    }

    pub(super) fn rows(&self) -> usize {
        self.data.rows()
    }

    /// Width, height, and the packed pixels of each section, white at the largest value; halved until all fit, `None`
    /// when they do not.
    pub(super) fn packed(&self) -> Option<(usize, usize, Vec<Vec<u8>>)> {
        let mut step = 1;
        let size = |step: usize| (self.width.div_ceil(step), self.height.div_ceil(step));
        let bytes = |(width, height): (usize, usize)| (width * height).div_ceil(2) * self.rows();
        while bytes(size(step)) > BUDGET {
            step *= 2;
        }
        let (width, height) = size(step);
        if step > 1 && width.min(height) < LEAST_SIDE {
            return None;
        }
        let range = self.data.values().iter().filter(|v| v.is_finite());
        let (low, high) = range.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)));
        let scale = if high > low { SHADES / (high - low) } else { 0.0 };
        let image = |i: usize| {
            let row = self.data.row(i);
            let mut shades = (0..width * height).map(|at| {
                let (left, top) = (at % width * step, at / width * step);
                let (mut sum, mut count) = (0.0, 0.0);
                for y in top..(top + step).min(self.height) {
                    for x in left..(left + step).min(self.width) {
                        sum += row[y * self.width + x];
                        count += 1.0;
                    }
                }
                ((sum / count - low) * scale).round().clamp(0.0, SHADES) as u8
            });
            std::iter::from_fn(move || Some(shades.next()? | shades.next().unwrap_or(0) << 4))
        };
        let starts = (0..self.rows()).step_by(IN_SECTION);
        let section = |start: usize| (start..self.rows().min(start + IN_SECTION)).flat_map(image).collect();
        Some((width, height, starts.map(section).collect()))
    }
}
