//! Colors of numbers, and the color bar.

use crate::Palette;
use crate::axis_range::AxisRange;
use crate::color::Rgb;
use crate::scene::{Rect, SceneItem, Text};
use crate::text::{self, sanitize};
use crate::theme::Theme;

/// Number of colors; one more color follows for missing values.
const STEPS: usize = 256;

/// A continuous color scale.
pub(crate) struct ColorScale<'a> {
    name: String,
    palette: &'a Palette,
    /// Positive values over several orders of magnitude are shown on a logarithmic scale.
    logarithmic: bool,
    range: AxisRange,
    /// Whether values lie below or above the range.
    out_of_range: [bool; 2],
    has_missing: bool,
}

impl<'a> ColorScale<'a> {
    pub fn new(name: &str, values: impl Iterator<Item = f64> + Clone, palette: &'a Palette) -> Self {
        let known: Vec<f64> = values.clone().filter(|v| v.is_finite()).collect();
        let has_missing = known.len() < values.count();
        let logarithmic = !palette.is_diverging() && is_skewed(&known);
        let transform = |v: f64| if logarithmic { v.log10() } else { v };
        let range = AxisRange::from_values(known.iter().map(|&v| transform(v)));
        let range = if palette.is_diverging() { range.around_zero() } else { range };
        let normalized = || known.iter().map(|&v| range.normalize(transform(v)));
        let out_of_range = [normalized().any(|part| part < -1.0 - 1e-9), normalized().any(|part| part > 1.0 + 1e-9)];
        Self { name: sanitize(name), palette, logarithmic, range, out_of_range, has_missing }
    }

    pub fn colors(&self, theme: Theme) -> Vec<Rgb> {
        let step = |at: usize| self.palette.value_color(at as f32 / (STEPS - 1) as f32, theme.is_dark());
        (0..STEPS).map(step).chain([theme.missing_color()]).collect()
    }

    /// Returns the index of the color of a value in `colors`.
    pub fn index(&self, value: f64) -> u16 {
        if !value.is_finite() {
            return STEPS as u16;
        }
        let value = if self.logarithmic { value.log10() } else { value };
        let fraction = (self.range.normalize(value).clamp(-1.0, 1.0) + 1.0) / 2.0;
        (fraction * (STEPS - 1) as f64 + 0.5) as u16
    }

    /// Draws a color bar with ticks at the right of `area`, and reduces `area` by it.
    pub fn legend(&self, area: &mut Rect, size: f32, theme: Theme) -> Vec<SceneItem> {
        let ticks = if self.logarithmic { log_ticks(self.range) } else { ticks(self.range) };
        let tick_width = ticks.iter().map(|(_, text)| text::width(text, size)).fold(0.0, f32::max) + 1.2 * size;
        let name = text::truncate(&self.name, size, 0.2 * area.width());
        let bar_width = 1.2 * size;
        let width = (bar_width + 0.8 * size + tick_width).max(text::width(&name, size));
        let top = area.top + 2.4 * size;
        let missing_height = if self.has_missing { 2.4 * size } else { 0.0 };
        let height = (area.height() - 3.4 * size - missing_height).min(26.0 * size);
        if width > 0.3 * area.width() || height < 4.0 * size {
            return Vec::new();
        }
        let left = area.right - width;
        area.right = left - 1.6 * size;
        let colors = self.colors(theme);
        // Each step extends to the bottom of the bar, so that viewers of vector files show no seams between steps.
        let step_top = |at: usize| top + height * at as f32 / STEPS as f32;
        let step = |at: usize| {
            (Rect { left, top: step_top(at), right: left + bar_width, bottom: top + height }, colors[STEPS - 1 - at])
        };
        let mut boxes: Vec<(Rect, Rgb)> = (0..STEPS).map(step).collect();
        let mut texts = vec![Text::new([left, area.top + size], size, name, theme.text)];
        for (part, text) in ticks {
            let y = top + height * (1.0 - part);
            let right = left + bar_width + 0.35 * size;
            let half = (0.04 * size).max(0.5);
            boxes.push((Rect { left: left + bar_width, top: y - half, right, bottom: y + half }, theme.muted_text));
            let sign = match (part, self.out_of_range) {
                (p, [true, _]) if p < 0.01 => "< ",
                (p, [_, true]) if p > 0.99 => "> ",
                _ => "",
            };
            texts.push(Text::new([right + 0.45 * size, y + 0.5 * size], size, format!("{sign}{text}"), theme.text));
        }
        if self.has_missing {
            let y = top + height + 1.4 * size;
            boxes.push((Rect { left, top: y, right: left + bar_width, bottom: y + size }, theme.missing_color()));
            texts.push(Text::new([left + bar_width + 0.8 * size, y + size], size, "missing", theme.muted_text));
        }
        vec![SceneItem::Boxes(boxes), SceneItem::Texts(texts)]
    }
}

/// Returns round values within the range, with their positions from 0 to 1.
fn ticks(range: AxisRange) -> Vec<(f32, String)> {
    let (low, half) = (range.low(), range.half_span());
    if !(half > 0.0) {
        return vec![(0.5, format_tick(low, low.abs().max(1.0) * 1e-3))];
    }
    // Four to eight steps of 1, 2 or 5 times a power of ten.
    let rough = half / 2.5;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|&step| step >= rough * 0.999);
    let step = step.unwrap_or(10.0 * power);
    let first = (low / step).ceil();
    let ticks = (0..12).map(|at| (first + f64::from(at)) * step);
    let positioned = ticks.map(|value| (((range.normalize(value) + 1.0) / 2.0) as f32, format_tick(value, step)));
    positioned.filter(|(part, _)| (-1e-4..=1.0001).contains(part)).collect()
}

/// Whether all values are positive and a few are much larger than the median.
fn is_skewed(values: &[f64]) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let percentile = |percent: usize| sorted[(sorted.len() - 1) * percent / 100];
    !sorted.is_empty() && sorted[0] > 0.0 && percentile(99) / percentile(50) > 8.0
}

/// Returns ticks of a logarithmic scale, where `range` is in decimal logarithms: 1, 2 and 5 times powers of ten, or powers of ten,
/// or every n-th power of ten.
fn log_ticks(range: AxisRange) -> Vec<(f32, String)> {
    let (low, span) = (range.low(), 2.0 * range.half_span());
    let (first, last) = (low.floor() as i32, (low + span).ceil() as i32);
    let (factors, every): (&[f64], usize) = match span {
        ..2.5 => (&[1.0, 2.0, 5.0], 1),
        _ => (&[1.0], ((span / 7.0).ceil() as usize).max(1)),
    };
    let mut ticks = Vec::new();
    for power in (first..=last).step_by(every) {
        for factor in factors {
            let part = ((range.normalize(factor.log10() + f64::from(power)) + 1.0) / 2.0) as f32;
            if (-1e-4..=1.0001).contains(&part) {
                let step = 10f64.powi(power);
                ticks.push((part, format_tick(factor * step, step)));
            }
        }
    }
    ticks
}

/// Formats a tick value with as many decimals as the step between ticks needs.
fn format_tick(value: f64, step: f64) -> String {
    let value = if value.abs() < step * 1e-6 { 0.0 } else { value };
    let digits = -(step.log10() + 1e-9).floor();
    if value.abs() >= 1e6 || digits > 5.0 {
        format!("{value:.1e}")
    } else {
        format!("{value:.*}", digits.clamp(0.0, 5.0) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(values: &[f64]) -> Vec<String> {
        ticks(AxisRange::from_values(values.iter().copied())).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round_and_within_the_range() {
        assert_eq!(texts(&[0.0, 10.0]), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(texts(&[-0.13, 0.21]), ["-0.1", "0.0", "0.1", "0.2"]);
        assert_eq!(texts(&[3.0, 3.0]), ["3.000"]);
        for extreme in [[-1.7e308, 1.7e308], [1e-300, 2e-300], [0.0, f64::MIN_POSITIVE], [1e15, 1e15 + 1.0]] {
            let ticks = ticks(AxisRange::from_values(extreme.into_iter()));
            assert!(ticks.iter().all(|(part, text)| (-0.01..=1.01).contains(part) && text.len() < 12), "{ticks:?}");
        }
    }

    #[test]
    fn values_over_several_orders_of_magnitude_are_on_a_logarithmic_scale() {
        let palette = Palette::default();
        let skewed: Vec<f64> = (1..=1000).map(|i| 10f64.powf(f64::from(i) / 1000.0 * 3.0 - 1.0)).collect();
        let scale = ColorScale::new("x", skewed.iter().copied(), &palette);
        assert!(
            scale.logarithmic && !ColorScale::new("x", [0.0].into_iter().chain(skewed.clone()), &palette).logarithmic
        );
        let texts: Vec<String> = log_ticks(scale.range).into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["1", "10", "100"]);
        assert_eq!(skewed.iter().map(|&v| scale.index(v)).max(), Some(255));
        assert!((120..136).contains(&scale.index(3.2)));
        assert_eq!(log_ticks(AxisRange::from_values([0.1, 1.1].into_iter())).len(), 3);
        assert!(log_ticks(AxisRange::from_values([-300.0, 300.0].into_iter())).len() < 10);
    }

    #[test]
    fn values_out_of_range_have_the_end_colors_and_missing_values_their_own() {
        let palette = Palette::default();
        let mut values: Vec<f64> = (0..1000).map(f64::from).collect();
        values.extend([1e9, f64::NAN]);
        let scale = ColorScale::new("x", values.iter().copied(), &palette);
        assert_eq!(scale.out_of_range, [false, true]);
        assert_eq!([0.0, 999.0, 1e9, f64::NAN].map(|v| scale.index(v)), [0, 255, 255, 256]);
        assert!(scale.has_missing && !scale.logarithmic);
    }
}
