//! Numbers in colour, and the bar that explains them.

use crate::color::{self, Rgb};
use crate::font;
use crate::layout::Inks;
use crate::letters::clean;
use crate::limits::Limits;
use crate::scene::{Item, Rect, Text};

/// Steps of the scale; the colour after them is for missing values.
const STEPS: usize = 256;

/// A scale of colours.
pub(crate) struct Scale {
    name: String,
    /// Numbers above zero that span several orders of magnitude are shown by their logarithms.
    logarithmic: bool,
    limits: Limits,
    /// Values beyond the limits, below and above.
    beyond: [bool; 2],
    missing: bool,
}

impl Scale {
    pub fn new(name: &str, values: impl Iterator<Item = f64> + Clone) -> Self {
        let known: Vec<f64> = values.clone().filter(|v| v.is_finite()).collect();
        let missing = known.len() < values.count();
        let logarithmic = is_skewed(&known);
        let place = |v: f64| if logarithmic { v.log10() } else { v };
        let limits = Limits::of(known.iter().map(|&v| place(v)));
        let places = || known.iter().map(|&v| limits.place(place(v)));
        let beyond = [places().any(|part| part < -1.0 - 1e-9), places().any(|part| part > 1.0 + 1e-9)];
        Self { name: clean(name), logarithmic, limits, beyond, missing }
    }

    pub fn colors(&self, inks: Inks) -> Vec<Rgb> {
        let step = |at: usize| color::scale(at as f32 / (STEPS - 1) as f32, inks.is_dark());
        (0..STEPS).map(step).chain([inks.rest()]).collect()
    }

    /// Index of the colour of a value.
    pub fn index(&self, value: f64) -> u16 {
        if !value.is_finite() {
            return STEPS as u16;
        }
        let value = if self.logarithmic { value.log10() } else { value };
        let part = (self.limits.place(value).clamp(-1.0, 1.0) + 1.0) / 2.0;
        (part * (STEPS - 1) as f64 + 0.5) as u16
    }

    /// A bar with numbers to the right, for which `room` makes room.
    pub fn legend(&self, room: &mut Rect, size: f32, inks: Inks) -> Vec<Item> {
        let ticks = if self.logarithmic { powers(self.limits) } else { ticks(self.limits) };
        let widest = ticks.iter().map(|(_, text)| font::width(text, size)).fold(0.0, f32::max) + 1.2 * size;
        let most = room.width() * 0.2;
        let name = font::fit(&self.name, size, most);
        let bar = 1.2 * size;
        let wide = (bar + 0.8 * size + widest).max(font::width(&name, size));
        let top = room.top + 2.4 * size;
        let foot = if self.missing { 2.4 * size } else { 0.0 };
        let tall = (room.height() - 3.4 * size - foot).min(26.0 * size);
        if wide > 0.3 * room.width() || tall < 4.0 * size {
            return Vec::new();
        }
        let left = room.right - wide;
        room.right = left - 1.6 * size;
        let colors = self.colors(inks);
        // Each step reaches down to the foot of the bar: viewers of vector files leave no seams between them.
        let cut = |at: usize| top + tall * at as f32 / STEPS as f32;
        let step =
            |at: usize| (Rect { left, top: cut(at), right: left + bar, bottom: top + tall }, colors[STEPS - 1 - at]);
        let mut boxes: Vec<(Rect, Rgb)> = (0..STEPS).map(step).collect();
        let mut texts = vec![Text::new([left, room.top + size], size, name, inks.ink)];
        for (part, text) in ticks {
            let y = top + tall * (1.0 - part);
            let right = left + bar + 0.35 * size;
            let half = (0.04 * size).max(0.5);
            boxes.push((Rect { left: left + bar, top: y - half, right, bottom: y + half }, inks.soft));
            let sign = match (part, self.beyond) {
                (p, [true, _]) if p < 0.01 => "< ",
                (p, [_, true]) if p > 0.99 => "> ",
                _ => "",
            };
            texts.push(Text::new([right + 0.45 * size, y + 0.5 * size], size, format!("{sign}{text}"), inks.ink));
        }
        if self.missing {
            let y = top + tall + 1.4 * size;
            boxes.push((Rect { left, top: y, right: left + bar, bottom: y + size }, inks.rest()));
            texts.push(Text::new([left + bar + 0.8 * size, y + size], size, "missing", inks.soft));
        }
        vec![Item::Boxes(boxes), Item::Texts(texts)]
    }
}

/// Round numbers within the limits, with their places from 0 to 1.
fn ticks(limits: Limits) -> Vec<(f32, String)> {
    let (low, half) = (limits.low(), limits.half_span());
    if !(half > 0.0) {
        return vec![(0.5, number(low, low.abs().max(1.0) * 1e-3))];
    }
    // Between four and eight steps of 1, 2 or 5 times a power of ten.
    let rough = half / 2.5;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|&step| step >= rough * 0.999);
    let step = step.unwrap_or(10.0 * power);
    let first = (low / step).ceil();
    let ticks = (0..12).map(|at| (first + f64::from(at)) * step);
    let placed = ticks.map(|value| (((limits.place(value) + 1.0) / 2.0) as f32, number(value, step)));
    placed.filter(|(part, _)| (-1e-4..=1.0001).contains(part)).collect()
}

/// Whether all are above zero and few are far larger than most.
fn is_skewed(values: &[f64]) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |part: usize| sorted[(sorted.len() - 1) * part / 100];
    !sorted.is_empty() && sorted[0] > 0.0 && at(99) / at(50) > 8.0
}

/// 1, 2 and 5 times powers of ten, or the powers alone, or some of these, of which the limits are the logarithms.
fn powers(limits: Limits) -> Vec<(f32, String)> {
    let (low, span) = (limits.low(), 2.0 * limits.half_span());
    let (first, last) = (low.floor() as i32, (low + span).ceil() as i32);
    let (factors, every): (&[f64], usize) = match span {
        ..2.5 => (&[1.0, 2.0, 5.0], 1),
        _ => (&[1.0], ((span / 7.0).ceil() as usize).max(1)),
    };
    let mut ticks = Vec::new();
    for power in (first..=last).step_by(every) {
        for factor in factors {
            let part = ((limits.place(factor.log10() + f64::from(power)) + 1.0) / 2.0) as f32;
            if (-1e-4..=1.0001).contains(&part) {
                let step = 10f64.powi(power);
                ticks.push((part, number(factor * step, step)));
            }
        }
    }
    ticks
}

/// As many digits as the step needs.
fn number(value: f64, step: f64) -> String {
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
        ticks(Limits::of(values.iter().copied())).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(texts(&[0.0, 10.0]), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(texts(&[-0.13, 0.21]), ["-0.1", "0.0", "0.1", "0.2"]);
        assert_eq!(texts(&[3.0, 3.0]), ["3.000"]);
        for extreme in [[-1.7e308, 1.7e308], [1e-300, 2e-300], [0.0, f64::MIN_POSITIVE], [1e15, 1e15 + 1.0]] {
            let ticks = ticks(Limits::of(extreme.into_iter()));
            assert!(ticks.iter().all(|(part, text)| (-0.01..=1.01).contains(part) && text.len() < 12), "{ticks:?}");
        }
    }

    #[test]
    fn numbers_of_several_orders_of_magnitude_are_shown_by_their_logarithms() {
        let skewed: Vec<f64> = (1..=1000).map(|i| 10f64.powf(f64::from(i) / 1000.0 * 3.0 - 1.0)).collect();
        let scale = Scale::new("x", skewed.iter().copied());
        assert!(scale.logarithmic && !Scale::new("x", [0.0].into_iter().chain(skewed.clone())).logarithmic);
        let texts: Vec<String> = powers(scale.limits).into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["1", "10", "100"]);
        assert_eq!(skewed.iter().map(|&v| scale.index(v)).max(), Some(255));
        assert!((120..136).contains(&scale.index(3.2)));
        assert_eq!(powers(Limits::of([0.1, 1.1].into_iter())).len(), 3);
        assert!(powers(Limits::of([-300.0, 300.0].into_iter())).len() < 10);
    }

    #[test]
    fn values_beyond_the_limits_have_the_end_colours_and_missing_ones_their_own() {
        let mut values: Vec<f64> = (0..1000).map(f64::from).collect();
        values.extend([1e9, f64::NAN]);
        let scale = Scale::new("x", values.iter().copied());
        assert_eq!(scale.beyond, [false, true]);
        assert_eq!([0.0, 999.0, 1e9, f64::NAN].map(|v| scale.index(v)), [0, 255, 255, 256]);
        assert!(scale.missing && !scale.logarithmic);
    }
}
