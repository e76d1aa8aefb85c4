//! Line charts with error bars.

use crate::Palette;
use crate::canvas::Canvas;
use crate::color::{Rgb, rgb};
use crate::error::{PictureError, Result};
use crate::raster::{draw_text, fill_rect};
use crate::scene::{Rect, Text};
use crate::text;

/// A curve of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Name in the legend.
    pub name: String,
    /// Position on the x axis, value, and the lower and upper end of the error bar.
    pub points: Vec<[f64; 4]>,
}

/// Labels and size of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartOptions {
    /// Title at the top.
    pub title: String,
    /// Label of the x axis.
    pub x_label: String,
    /// Label of the y axis.
    pub y_label: String,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

impl Default for ChartOptions {
    fn default() -> Self {
        Self { title: String::new(), x_label: String::new(), y_label: String::new(), width: 900, height: 560 }
    }
}

const LINE_COLOR: u32 = 0x333333;
const GRID_COLOR: u32 = 0xdddddd;
/// Height of a capital letter.
const TEXT_HEIGHT: f32 = 11.0;

/// Draws curves with error bars as a PNG file.
pub fn draw_chart(curves: &[Curve], options: &ChartOptions) -> Result<Vec<u8>> {
    let values = || curves.iter().flat_map(|curve| curve.points.iter());
    if values().next().is_none() || values().flatten().any(|v| !v.is_finite()) {
        return Err(PictureError::ChartPoints);
    }
    if !(200..=8192).contains(&options.width) || !(150..=8192).contains(&options.height) {
        return Err(PictureError::ChartSize { width: options.width, height: options.height });
    }
    let x_axis = Axis::new(values().map(|p| p[0]), 0.0);
    let y_axis = Axis::new(values().flat_map(|p| p[1..].iter().copied()), 0.05);
    let (width, height) = (options.width as f32, options.height as f32);
    let widest =
        y_axis.ticks().iter().map(|v| text::width(&format_tick(*v, y_axis.step), TEXT_HEIGHT)).fold(0.0, f32::max);
    let frame = Rect { left: widest + 30.0, top: 60.0, right: width - 20.0, bottom: height - 60.0 };
    let pixel = |p: &[f64; 4], value: f64| {
        [x_axis.position(p[0], frame.left, frame.right), y_axis.position(value, frame.bottom, frame.top)]
    };
    let mut canvas = Canvas::new(options.width as usize, options.height as usize, [1.0; 3]);
    let write = |canvas: &mut Canvas, left: f32, baseline: f32, content: &str| {
        draw_text(canvas, &Text::new([left, baseline], TEXT_HEIGHT, content, rgb(LINE_COLOR)));
    };
    for tick in y_axis.ticks() {
        let y = y_axis.position(tick, frame.bottom, frame.top);
        fill_rect(
            &mut canvas,
            Rect { left: frame.left, top: y - 0.5, right: frame.right, bottom: y + 0.5 },
            rgb(GRID_COLOR),
        );
        let label = format_tick(tick, y_axis.step);
        write(&mut canvas, frame.left - 8.0 - text::width(&label, TEXT_HEIGHT), y + 0.5 * TEXT_HEIGHT, &label);
    }
    for tick in x_axis.ticks() {
        let x = x_axis.position(tick, frame.left, frame.right);
        fill_rect(
            &mut canvas,
            Rect { left: x - 0.5, top: frame.bottom, right: x + 0.5, bottom: frame.bottom + 6.0 },
            rgb(LINE_COLOR),
        );
        let label = format_tick(tick, x_axis.step);
        write(&mut canvas, x - 0.5 * text::width(&label, TEXT_HEIGHT), frame.bottom + 12.0 + TEXT_HEIGHT, &label);
    }
    let axis = Rect { left: frame.left, top: frame.bottom - 0.5, right: frame.right, bottom: frame.bottom + 0.5 };
    fill_rect(&mut canvas, axis, rgb(LINE_COLOR));
    write(&mut canvas, 12.0, 12.0 + TEXT_HEIGHT, &options.title);
    write(&mut canvas, 12.0, 32.0 + TEXT_HEIGHT, &options.y_label);
    let middle = 0.5 * (frame.left + frame.right - text::width(&options.x_label, TEXT_HEIGHT));
    write(&mut canvas, middle, height - 10.0, &options.x_label);
    let mut legend = frame.right;
    let palette = Palette::default();
    for (at, curve) in curves.iter().enumerate() {
        let color = palette.class_color(at % palette.len(), false).unwrap_or(rgb(LINE_COLOR));
        for pair in curve.points.windows(2) {
            draw_line(&mut canvas, pixel(&pair[0], pair[0][1]), pixel(&pair[1], pair[1][1]), 1.2, color);
        }
        for p in &curve.points {
            draw_line(&mut canvas, pixel(p, p[2]), pixel(p, p[3]), 0.8, color);
            let at = pixel(p, p[1]);
            draw_line(&mut canvas, at, at, 4.0, color);
        }
        if curves.len() > 1 {
            legend -= text::width(&curve.name, TEXT_HEIGHT) + 30.0;
            draw_line(&mut canvas, [legend, 38.0], [legend, 38.0], 4.0, color);
            write(&mut canvas, legend + 10.0, 38.0 + 0.5 * TEXT_HEIGHT, &curve.name);
        }
    }
    canvas.to_png(None)
}

/// Draws a line with round ends.
fn draw_line(canvas: &mut Canvas, a: [f32; 2], b: [f32; 2], half_width: f32, color: Rgb) {
    let along = [b[0] - a[0], b[1] - a[1]];
    let length_squared = along[0] * along[0] + along[1] * along[1];
    let margin = half_width + 1.0;
    let coverage = |x: f32, y: f32| {
        let (dx, dy) = (x - a[0], y - a[1]);
        let t =
            if length_squared > 0.0 { ((dx * along[0] + dy * along[1]) / length_squared).clamp(0.0, 1.0) } else { 0.0 };
        (half_width + 0.5 - (dx - t * along[0]).hypot(dy - t * along[1])).clamp(0.0, 1.0)
    };
    let bounds = Rect {
        left: a[0].min(b[0]) - margin,
        top: a[1].min(b[1]) - margin,
        right: a[0].max(b[0]) + margin,
        bottom: a[1].max(b[1]) + margin,
    };
    canvas.fill(bounds, color, coverage);
}

/// A range of values with round tick values.
struct Axis {
    low: f64,
    high: f64,
    step: f64,
}

impl Axis {
    fn new(values: impl Iterator<Item = f64> + Clone, margin: f64) -> Self {
        let integers = values.clone().all(|v| v.fract() == 0.0);
        let (low, high) = (values.clone().fold(f64::INFINITY, f64::min), values.fold(f64::NEG_INFINITY, f64::max));
        // A single value needs an artificial range.
        let span = if high > low { high - low } else { low.abs().max(1.0) * 0.1 };
        let (low, high) = if high > low { (low, high) } else { (low - span, high + span) };
        let rough = span / 6.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|step| *step >= rough).unwrap_or(rough);
        // No ticks between integers.
        let step = if integers { step.max(1.0) } else { step };
        let padding = margin * span + 0.03 * span;
        Self { low: low - padding, high: high + padding, step }
    }

    fn position(&self, value: f64, from: f32, to: f32) -> f32 {
        from + ((value - self.low) / (self.high - self.low)) as f32 * (to - from)
    }

    fn ticks(&self) -> Vec<f64> {
        let first = (self.low / self.step).ceil() as i64;
        let last = (self.high / self.step).floor() as i64;
        (first..=last.min(first.saturating_add(20))).map(|at| at as f64 * self.step).collect()
    }
}

/// Formats a tick value with as many decimals as the step between ticks needs.
fn format_tick(value: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    if value != 0.0 && value.abs() >= 1e7 { format!("{value:.3e}") } else { format!("{value:.decimals$}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_ticks_between_integers() {
        let ticks = |values: &[f64]| Axis::new(values.iter().copied(), 0.0).ticks();
        assert_eq!(ticks(&[4.0, 5.0, 6.0]), [4.0, 5.0, 6.0]);
        assert_eq!(ticks(&[7.0]), [7.0]);
        assert!(ticks(&[4.0, 5.5]).contains(&4.5));
        assert_eq!(ticks(&[3.0, 30.0]), [5.0, 10.0, 15.0, 20.0, 25.0, 30.0]);
    }
}
