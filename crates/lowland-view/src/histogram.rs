//! One-dimensional maps.

use lowland::Points;

use crate::Color;
use crate::color::Rgb;
use crate::color_key::ColorKey;
use crate::pixel_transform::PixelTransform;
use crate::scene::Rect;
use crate::theme::Theme;

/// Draws a one-dimensional map as a stacked histogram over a rug plot, which has a tick at each pixel column that contains points.
pub(crate) fn histogram(
    transform: &PixelTransform,
    map: Points,
    rows: impl Iterator<Item = usize>,
    color: &Color,
    key: &ColorKey,
    theme: Theme,
) -> Vec<(Rect, Rgb)> {
    let Rect { left, top, right, bottom } = transform.frame;
    let (center, half_width) = ((left + right) / 2.0, transform.half_extents[0] as f32);
    let colors = key.colors(theme);
    let bins = ((map.rows() as f64).sqrt() as usize * 2).clamp(1, 120);
    let columns = (right - left) as usize;
    let mut counts = vec![vec![0usize; colors.len()]; bins];
    let mut rug = vec![false; columns.max(1)];
    for i in rows {
        let value = (transform.axes[0].normalize(map.row(i)[0])).clamp(-1.0, 1.0);
        let bin = (((value + 1.0) / 2.0 * bins as f64) as usize).min(bins - 1);
        counts[bin][key.index(color, i) as usize] += 1;
        let x = center + value as f32 * half_width - left;
        rug[(x.max(0.0) as usize).min(columns.saturating_sub(1))] = true;
    }
    let tallest = counts.iter().map(|bin| bin.iter().sum::<usize>()).max().unwrap_or(0).max(1) as f32;
    let (floor, ceiling) = (bottom - 0.12 * (bottom - top), top + 0.04 * (bottom - top));
    let step = 2.0 * half_width / bins as f32;
    let mut bars = Vec::new();
    for (b, bin) in counts.iter().enumerate() {
        let (x, mut base) = (center - half_width + b as f32 * step, floor);
        for (&count, &color) in bin.iter().zip(&colors).filter(|(count, _)| **count > 0) {
            let top = base - (floor - ceiling) * count as f32 / tallest;
            bars.push((Rect { left: x + 0.06 * step, top, right: x + 0.94 * step, bottom: base }, color));
            base = top;
        }
    }
    for (x, _) in rug.iter().enumerate().filter(|(_, has_points)| **has_points) {
        let x = left + x as f32;
        let (top, bottom) = (floor + 0.25 * (bottom - floor), floor + 0.7 * (bottom - floor));
        bars.push((Rect { left: x, top, right: x + 1.0, bottom }, theme.text));
    }
    bars
}
