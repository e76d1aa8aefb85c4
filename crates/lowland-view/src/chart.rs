//! Curves with error bars: a number against a few others.

use lowland::{Error, Result};

use crate::canvas::Canvas;
use crate::color::{CLASSES, Rgb, rgb};
use crate::font;
use crate::raster::{bar, text};
use crate::scene::{Rect, Text};

/// A curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// What the legend calls it.
    pub name: String,
    /// Place across, value, and the ends of its error bar.
    pub points: Vec<[f64; 4]>,
}

/// How a chart looks.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartOptions {
    /// Line at the top.
    pub title: String,
    /// What is across.
    pub across: String,
    /// What is up.
    pub up: String,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
}

impl Default for ChartOptions {
    fn default() -> Self {
        Self { title: String::new(), across: String::new(), up: String::new(), width: 900, height: 560 }
    }
}

const INK: u32 = 0x333333;
const GRID: u32 = 0xdddddd;
/// Height of a capital letter.
const LETTERS: f32 = 11.0;

/// Draws curves as a PNG file, each point with its error bar.
pub fn chart(curves: &[Curve], options: &ChartOptions) -> Result<Vec<u8>> {
    let bad = |reason: &str| Error::Format { what: "chart", reason: reason.into() };
    let values = || curves.iter().flat_map(|curve| curve.points.iter());
    if values().next().is_none() || values().flatten().any(|v| !v.is_finite()) {
        return Err(bad("it needs points, and all of them finite"));
    }
    if !(200..=8192).contains(&options.width) || !(150..=8192).contains(&options.height) {
        return Err(bad("its sides must be from 200 x 150 to 8192 pixels"));
    }
    let across = Axis::new(values().map(|p| p[0]), 0.0);
    let up = Axis::new(values().flat_map(|p| p[1..].iter().copied()), 0.05);
    let (width, height) = (options.width as f32, options.height as f32);
    let widest = up.ticks().iter().map(|v| font::width(&number(*v, up.step), LETTERS)).fold(0.0, f32::max);
    let frame = Rect { left: widest + 30.0, top: 60.0, right: width - 20.0, bottom: height - 60.0 };
    let place = |p: &[f64; 4], value: f64| {
        [across.place(p[0], frame.left, frame.right), up.place(value, frame.bottom, frame.top)]
    };
    let mut canvas = Canvas::new(options.width as usize, options.height as usize, [1.0; 3]);
    let write = |canvas: &mut Canvas, left: f32, baseline: f32, content: &str| {
        text(canvas, &Text::new([left, baseline], LETTERS, content, rgb(INK)));
    };
    for tick in up.ticks() {
        let y = up.place(tick, frame.bottom, frame.top);
        bar(&mut canvas, Rect { left: frame.left, top: y - 0.5, right: frame.right, bottom: y + 0.5 }, rgb(GRID));
        let label = number(tick, up.step);
        write(&mut canvas, frame.left - 8.0 - font::width(&label, LETTERS), y + 0.5 * LETTERS, &label);
    }
    for tick in across.ticks() {
        let x = across.place(tick, frame.left, frame.right);
        bar(
            &mut canvas,
            Rect { left: x - 0.5, top: frame.bottom, right: x + 0.5, bottom: frame.bottom + 6.0 },
            rgb(INK),
        );
        let label = number(tick, across.step);
        write(&mut canvas, x - 0.5 * font::width(&label, LETTERS), frame.bottom + 12.0 + LETTERS, &label);
    }
    let axis = Rect { left: frame.left, top: frame.bottom - 0.5, right: frame.right, bottom: frame.bottom + 0.5 };
    bar(&mut canvas, axis, rgb(INK));
    write(&mut canvas, 12.0, 12.0 + LETTERS, &options.title);
    write(&mut canvas, 12.0, 32.0 + LETTERS, &options.up);
    let middle = 0.5 * (frame.left + frame.right - font::width(&options.across, LETTERS));
    write(&mut canvas, middle, height - 10.0, &options.across);
    let mut legend = frame.right;
    for (curve, &hex) in curves.iter().zip(CLASSES.iter().cycle()) {
        let color = rgb(hex);
        for pair in curve.points.windows(2) {
            stroke(&mut canvas, place(&pair[0], pair[0][1]), place(&pair[1], pair[1][1]), 1.2, color);
        }
        for p in &curve.points {
            stroke(&mut canvas, place(p, p[2]), place(p, p[3]), 0.8, color);
            let at = place(p, p[1]);
            stroke(&mut canvas, at, at, 4.0, color);
        }
        if curves.len() > 1 {
            legend -= font::width(&curve.name, LETTERS) + 30.0;
            stroke(&mut canvas, [legend, 38.0], [legend, 38.0], 4.0, color);
            write(&mut canvas, legend + 10.0, 38.0 + 0.5 * LETTERS, &curve.name);
        }
    }
    canvas.png().map_err(|error| bad(&error.to_string()))
}

/// A line of a half width, round at its ends.
fn stroke(canvas: &mut Canvas, a: [f32; 2], b: [f32; 2], half: f32, color: Rgb) {
    let along = [b[0] - a[0], b[1] - a[1]];
    let square = along[0] * along[0] + along[1] * along[1];
    let reach = half + 1.0;
    let cover = |x: f32, y: f32| {
        let (dx, dy) = (x - a[0], y - a[1]);
        let t = if square > 0.0 { ((dx * along[0] + dy * along[1]) / square).clamp(0.0, 1.0) } else { 0.0 };
        (half + 0.5 - (dx - t * along[0]).hypot(dy - t * along[1])).clamp(0.0, 1.0)
    };
    let place = Rect {
        left: a[0].min(b[0]) - reach,
        top: a[1].min(b[1]) - reach,
        right: a[0].max(b[0]) + reach,
        bottom: a[1].max(b[1]) + reach,
    };
    canvas.shade(place, color, cover);
}

/// A range with round numbers in it.
struct Axis {
    low: f64,
    high: f64,
    step: f64,
}

impl Axis {
    fn new(values: impl Iterator<Item = f64> + Clone, margin: f64) -> Self {
        let whole = values.clone().all(|v| v.fract() == 0.0);
        let (low, high) = (values.clone().fold(f64::INFINITY, f64::min), values.fold(f64::NEG_INFINITY, f64::max));
        // A single value has no range of its own.
        let span = if high > low { high - low } else { low.abs().max(1.0) * 0.1 };
        let (low, high) = if high > low { (low, high) } else { (low - span, high + span) };
        let rough = span / 6.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|step| *step >= rough).unwrap_or(rough);
        // Between whole numbers there is nothing.
        let step = if whole { step.max(1.0) } else { step };
        let air = margin * span + 0.03 * span;
        Self { low: low - air, high: high + air, step }
    }

    fn place(&self, value: f64, from: f32, to: f32) -> f32 {
        from + ((value - self.low) / (self.high - self.low)) as f32 * (to - from)
    }

    fn ticks(&self) -> Vec<f64> {
        let first = (self.low / self.step).ceil() as i64;
        let last = (self.high / self.step).floor() as i64;
        (first..=last.min(first.saturating_add(20))).map(|at| at as f64 * self.step).collect()
    }
}

/// As many decimals as the step between ticks needs.
fn number(value: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    if value != 0.0 && value.abs() >= 1e7 { format!("{value:.3e}") } else { format!("{value:.decimals$}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_whole_numbers_there_are_no_ticks() {
        let ticks = |values: &[f64]| Axis::new(values.iter().copied(), 0.0).ticks();
        assert_eq!(ticks(&[4.0, 5.0, 6.0]), [4.0, 5.0, 6.0]);
        assert_eq!(ticks(&[7.0]), [7.0]);
        assert!(ticks(&[4.0, 5.5]).contains(&4.5));
        assert_eq!(ticks(&[3.0, 30.0]), [5.0, 10.0, 15.0, 20.0, 25.0, 30.0]);
    }
}
