//! Renders the density of points.

use crate::canvas::Canvas;
use crate::color::{Rgb, is_dark};
use crate::palette::density_color;
use crate::scene::PointCloud;

/// Draws smoothed counts of points on a logarithmic scale, from a single point to the largest density.
///
/// With a `background`, points are without colors and the density is shown by the density colors for that background. Otherwise it is
/// shown by the mean color of the points, with an opacity that increases with the density.
pub(super) fn draw_density(canvas: &mut Canvas, points: &PointCloud, blur: f32, background: Option<Rgb>) {
    let on_dark = background.map(is_dark);
    let bounds = points.frame.pixel_bounds();
    let (width, height) = (bounds.width() as usize, bounds.height() as usize);
    let pixel = |[x, y]: [f32; 2]| {
        let clamp = |v: f32, size: usize| (v.max(0.0) as usize).min(size - 1);
        clamp(y - bounds.top, height) * width + clamp(x - bounds.left, width)
    };
    // Counts, followed by the sums of the colors if there are any.
    let mut sums = vec![vec![0f32; width * height]; if on_dark.is_some() { 1 } else { 4 }];
    for (i, (&position, &index)) in points.positions.iter().zip(&points.color_indices).enumerate() {
        let weight = points.weights.as_ref().map_or(1.0, |weights| weights[i]);
        let at = pixel(position);
        let color = points.colors[index as usize];
        let terms = [1.0, color[0], color[1], color[2]];
        sums.iter_mut().zip(terms).for_each(|(sum, term)| sum[at] += weight * term);
    }
    let reach = blur.round() as usize;
    for sum in &mut sums {
        box_blur(sum, width, reach);
        box_blur(sum, width, reach);
    }
    // Smoothed count at the center of a single point.
    let single = 1.0 / ((2 * reach + 1) as f32).powi(2);
    let max = sums[0].iter().copied().fold(single, f32::max);
    let span = ((1.0 + max / single).ln() - 2f32.ln()).max(1e-6);
    for at in (0..width * height).filter(|&at| sums[0][at] > 1e-3 * single) {
        let count = sums[0][at];
        let level = ((1.0 + count / single).ln() - 2f32.ln()).max(0.0) / span;
        let presence = (count / single).min(1.0);
        let (color, opacity) = match on_dark {
            Some(dark) => (density_color(level, dark), presence),
            None => ([1, 2, 3].map(|c| sums[c][at] / count), presence * (0.3 + 0.7 * level)),
        };
        canvas.blend(bounds.left as i64 + (at % width) as i64, bounds.top as i64 + (at / width) as i64, color, opacity);
    }
}

/// Averages over squares of `2 reach + 1` pixels by running sums; pixels outside of the image count as zero.
pub(crate) fn box_blur(values: &mut [f32], width: usize, reach: usize) {
    if reach == 0 {
        return;
    }
    let height = values.len() / width;
    let weight = 1.0 / (2 * reach + 1) as f32;
    let mut line = Vec::new();
    let mut blur_line = |values: &mut [f32], start: usize, stride: usize, count: usize| {
        line.clear();
        line.extend((0..count).map(|at| values[start + at * stride]));
        let mut sum: f64 = line[..reach.min(count)].iter().map(|&v| f64::from(v)).sum();
        for at in 0..count {
            sum += line.get(at + reach).map_or(0.0, |&v| f64::from(v));
            values[start + at * stride] = sum as f32 * weight;
            sum -= if at >= reach { f64::from(line[at - reach]) } else { 0.0 };
        }
    };
    (0..height).for_each(|y| blur_line(values, y * width, 1, width));
    (0..width).for_each(|x| blur_line(values, x, width, height));
}
