//! Thumbnails at the positions of points, without overlaps.

use crate::Images;
use crate::collision_grid::CollisionGrid;
use crate::color::{Rgb, mix};
use crate::scene::{ImageTile, Rect, tile_border_width};
use crate::theme::Theme;

/// Length of the longer side of a thumbnail, in units of the picture.
const SIDE: f32 = 40.0;

/// Places images in the given order wherever there is space.
pub(crate) fn place_thumbnails(
    images: Images,
    order: impl Iterator<Item = usize>,
    position: impl Fn(usize) -> [f32; 2],
    color_of: impl Fn(usize) -> Option<Rgb>,
    frame: Rect,
    unit: f32,
    theme: Theme,
) -> Vec<ImageTile> {
    let longest = images.width.max(images.height) as f32;
    // Small images are scaled by an integer factor, which keeps them sharp; large ones are averaged down.
    let target = (SIDE * unit).max(12.0);
    let side = if longest <= target { longest * (target / longest).floor() } else { target };
    let [tile_width, tile_height] =
        [images.width, images.height].map(|size| (size as f32 * side / longest).max(1.0).round());
    let gray = GrayImages::new(images);
    let mut grid = CollisionGrid::new(frame, side);
    let mut tiles = Vec::new();
    for i in order {
        let [x, y] = position(i).map(f32::round);
        let (left, top) = (x - (tile_width / 2.0).floor(), y - (tile_height / 2.0).floor());
        let rect = Rect { left, top, right: left + tile_width, bottom: top + tile_height };
        // Space for the border and a gap.
        let padding = if gray.is_line_art { 0.0 } else { 2.0 * tile_border_width(tile_width) };
        if grid.try_insert(Rect {
            left: rect.left - padding,
            top: rect.top - padding,
            right: rect.right + padding,
            bottom: rect.bottom + padding,
        }) {
            let (width, height) = (images.width.min(tile_width as usize), images.height.min(tile_height as usize));
            let values = gray.downsampled(i, width, height);
            let color = color_of(i);
            // Line art is drawn in the color of the class; a photograph stays gray, with a border in that color.
            let foreground = if gray.is_line_art { color.unwrap_or(theme.text) } else { [1.0; 3] };
            let background = if gray.is_line_art { theme.background } else { [0.0; 3] };
            let pixel = |v: f32| mix(background, foreground, v).map(|c| (c * 255.0 + 0.5) as u8);
            let border = color.filter(|_| !gray.is_line_art);
            tiles.push(ImageTile { rect, width, pixels: values.into_iter().map(pixel).collect(), border });
        }
    }
    tiles
}

/// Images with values scaled from 0 to 1.
struct GrayImages<'a> {
    images: Images<'a>,
    low: f32,
    /// Half of the range of the values.
    half_span: f32,
    /// Whether the images are bright strokes on an empty background, such as handwritten digits.
    is_line_art: bool,
}

impl<'a> GrayImages<'a> {
    fn new(images: Images<'a>) -> Self {
        let (low, high) =
            images.values.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)));
        // Halved, because the difference of two finite numbers may overflow.
        let half_span = (high / 2.0 - low / 2.0).max(f32::MIN_POSITIVE);
        let gray = Self { images, low, half_span, is_line_art: false };
        let empty = images.values.iter().filter(|&&v| gray.scaled(v) < 0.1).count();
        Self { is_line_art: empty * 3 > images.values.len(), ..gray }
    }

    fn scaled(&self, value: f32) -> f32 {
        ((value / 2.0 - self.low / 2.0) / self.half_span).clamp(0.0, 1.0)
    }

    /// Returns image `i`, averaged down to a size.
    fn downsampled(&self, i: usize, width: usize, height: usize) -> Vec<f32> {
        let Images { values, width: full_width, height: full_height } = self.images;
        let source = &values[i * full_width * full_height..][..full_width * full_height];
        let span = |at: usize, count: usize, of: usize| at * of / count..((at + 1) * of).div_ceil(count);
        let mean = |y: usize, x: usize| {
            let (rows, columns) = (span(y, height, full_height), span(x, width, full_width));
            let count = (rows.len() * columns.len()) as f32;
            let row_sum =
                |r: usize| source[r * full_width..][columns.clone()].iter().map(|&v| self.scaled(v)).sum::<f32>();
            rows.map(row_sum).sum::<f32>() / count
        };
        (0..height * width).map(|at| mean(at / width, at % width)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn downsampling_preserves_the_mean() {
        let values: Vec<f32> = (0..36).map(|v| v as f32 - 7.0).collect();
        let gray = GrayImages::new(Images { values: &values, width: 6, height: 6 });
        let full = gray.downsampled(0, 6, 6);
        assert_eq!((full[0], full[35]), (0.0, 1.0));
        let small = gray.downsampled(0, 3, 2);
        let mean = |v: &[f32]| v.iter().sum::<f32>() / v.len() as f32;
        assert!(small.len() == 6 && (mean(&small) - mean(&full)).abs() < 1e-6);
    }
}
