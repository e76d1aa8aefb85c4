//! Small images at the places of points, none over another.

use crate::Images;
use crate::color::{Rgb, mix};
use crate::layout::Inks;
use crate::occupied::Occupied;
use crate::scene::{Rect, Tile, border_width};

/// Side of a thumbnail, in the picture's units.
const SIDE: f32 = 40.0;

/// As many of the images, in this order, as have room.
pub(crate) fn tiles(
    images: Images,
    order: impl Iterator<Item = usize>,
    at: impl Fn(usize) -> [f32; 2],
    color_of: impl Fn(usize) -> Option<Rgb>,
    frame: Rect,
    unit: f32,
    inks: Inks,
) -> Vec<Tile> {
    let longest = images.width.max(images.height) as f32;
    // Whole multiples of the image's pixels are crisp; images that are larger are averaged down.
    let target = (SIDE * unit).max(12.0);
    let side = if longest <= target { longest * (target / longest).floor() } else { target };
    let [wide, tall] = [images.width, images.height].map(|size| (size as f32 * side / longest).max(1.0).round());
    let gray = Gray::new(images);
    let mut occupied = Occupied::new(frame, side);
    let mut tiles = Vec::new();
    for i in order {
        let [x, y] = at(i).map(f32::round);
        let place = Rect { left: x - (wide / 2.0).floor(), top: y - (tall / 2.0).floor(), right: 0.0, bottom: 0.0 };
        let place = Rect { right: place.left + wide, bottom: place.top + tall, ..place };
        // A frame has its width and a gap.
        let pad = if gray.strokes { 0.0 } else { 2.0 * border_width(wide) };
        if occupied.take(Rect {
            left: place.left - pad,
            top: place.top - pad,
            right: place.right + pad,
            bottom: place.bottom + pad,
        }) {
            let (width, height) = (images.width.min(wide as usize), images.height.min(tall as usize));
            let values = gray.image(i, width, height);
            let color = color_of(i);
            // Strokes on an empty ground take the class's colour; a photograph stays grey, in a frame of that colour.
            let ink = if gray.strokes { color.unwrap_or(inks.ink) } else { [1.0; 3] };
            let ground = if gray.strokes { inks.ground } else { [0.0; 3] };
            let pixel = |v: f32| mix(ground, ink, v).map(|c| (c * 255.0 + 0.5) as u8);
            let border = color.filter(|_| !gray.strokes);
            tiles.push(Tile { place, width, pixels: values.into_iter().map(pixel).collect(), border });
        }
    }
    tiles
}

/// Images on a scale from 0 to 1.
struct Gray<'a> {
    images: Images<'a>,
    low: f32,
    span: f32,
    /// Whether the images are bright strokes on an empty ground.
    strokes: bool,
}

impl<'a> Gray<'a> {
    fn new(images: Images<'a>) -> Self {
        let (low, high) =
            images.values.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)));
        // Halves: the span of finite numbers may not be finite.
        let span = (high / 2.0 - low / 2.0).max(f32::MIN_POSITIVE);
        let gray = Self { images, low, span, strokes: false };
        let empty = images.values.iter().filter(|&&v| gray.scaled(v) < 0.1).count();
        Self { strokes: empty * 3 > images.values.len(), ..gray }
    }

    fn scaled(&self, value: f32) -> f32 {
        ((value / 2.0 - self.low / 2.0) / self.span).clamp(0.0, 1.0)
    }

    /// Image `i`, averaged down to a size.
    fn image(&self, i: usize, width: usize, height: usize) -> Vec<f32> {
        let Images { values, width: across, height: down } = self.images;
        let source = &values[i * across * down..][..across * down];
        let span = |at: usize, count: usize, of: usize| at * of / count..((at + 1) * of).div_ceil(count);
        let mean = |y: usize, x: usize| {
            let (rows, columns) = (span(y, height, down), span(x, width, across));
            let count = (rows.len() * columns.len()) as f32;
            let line = |r: usize| source[r * across..][columns.clone()].iter().map(|&v| self.scaled(v)).sum::<f32>();
            rows.map(line).sum::<f32>() / count
        };
        (0..height * width).map(|at| mean(at / width, at % width)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_keeps_its_mean_when_it_is_made_smaller() {
        let values: Vec<f32> = (0..36).map(|v| v as f32 - 7.0).collect();
        let gray = Gray::new(Images { values: &values, width: 6, height: 6 });
        let whole = gray.image(0, 6, 6);
        assert_eq!((whole[0], whole[35]), (0.0, 1.0));
        let small = gray.image(0, 3, 2);
        let mean = |v: &[f32]| v.iter().sum::<f32>() / v.len() as f32;
        assert!(small.len() == 6 && (mean(&small) - mean(&whole)).abs() < 1e-6);
    }
}
