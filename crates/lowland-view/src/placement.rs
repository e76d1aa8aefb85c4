//! Where the points go.

use lowland::Points;

use crate::Color;
use crate::color::Rgb;
use crate::key::Key;
use crate::layout::Inks;
use crate::limits::Limits;
use crate::scene::Rect;

/// From coordinates to pixels.
pub(crate) struct Placement {
    frame: Rect,
    limits: Vec<Limits>,
    /// Half of the range on each axis, in pixels.
    reach: Vec<f64>,
    pub radius: f32,
}

impl Placement {
    pub fn new(map: Points, frame: Rect, point_size: Option<f32>, unit: f32) -> Self {
        let n = map.rows();
        let axis = |c: usize| Limits::of(map.values().iter().skip(c).step_by(map.dim()).copied());
        let limits: Vec<Limits> = (0..map.dim().min(2)).map(axis).collect();
        // Discs that would cover a twelfth of the frame side by side.
        let even = (frame.width() * frame.height() / (12.0 * std::f32::consts::PI * n.max(1) as f32)).sqrt();
        let radius = point_size.map_or(even.clamp(1.7 * unit, 7.5 * unit).max(0.6), |size| size / 2.0);
        let inset =
            (0.025 * frame.width().min(frame.height()) + 2.0 * radius).min(frame.width().min(frame.height()) / 3.0);
        let room = [frame.width(), frame.height()].map(|side| f64::from(side / 2.0 - inset).max(1.0));
        // Equal units on both axes: the axis that needs more room fills it.
        let reach = match limits.as_slice() {
            [x, y] => {
                let (x, y) = (x.half_span(), y.half_span());
                vec![room[0].min(x / y * room[1]), room[1].min(y / x * room[0])]
            }
            _ => vec![room[0]],
        };
        // 0 / 0: the range is a point, and its place is 0 whatever the reach.
        let reach = reach.into_iter().map(|reach| if reach.is_nan() { 0.0 } else { reach }).collect();
        Self { frame, limits, reach, radius }
    }

    /// The place of a point, and whether it had to be moved into the frame.
    pub fn at(&self, point: &[f64]) -> ([f32; 2], bool) {
        let Rect { left, top, right, bottom } = self.frame;
        let x = f64::from(left + right) / 2.0 + self.limits[0].place(point[0]) * self.reach[0];
        let y = f64::from(top + bottom) / 2.0 - self.limits[1].place(point[1]) * self.reach[1];
        let edge = 2.0 * self.radius;
        let inside = |v: f64, low: f32, high: f32| {
            (v as f32).clamp((low + edge).min(high), (high - edge).max(low + edge).min(high))
        };
        let kept = [inside(x, left, right), inside(y, top, bottom)];
        (kept, (kept[0] - x as f32).abs() > 0.5 || (kept[1] - y as f32).abs() > 0.5)
    }

    /// Pixels for a unit of the map, where it has an extent.
    pub fn pixels_per_unit(&self) -> f64 {
        let scales = self.limits.iter().zip(&self.reach).map(|(limits, reach)| reach / limits.half_span());
        scales.filter(|scale| scale.is_finite()).fold(0.0, f64::max)
    }

    /// One dimension: bars of counts, classes stacked, over a rug of one tick for each pixel column that has points.
    pub fn bars(
        &self,
        map: Points,
        rows: impl Iterator<Item = usize>,
        color: &Color,
        key: &Key,
        inks: Inks,
    ) -> Vec<(Rect, Rgb)> {
        let Rect { left, top, right, bottom } = self.frame;
        let (center, reach) = ((left + right) / 2.0, self.reach[0] as f32);
        let colors = key.colors(inks);
        let bins = ((map.rows() as f64).sqrt() as usize * 2).clamp(1, 120);
        let columns = (right - left) as usize;
        let mut counts = vec![vec![0usize; colors.len()]; bins];
        let mut rug = vec![false; columns.max(1)];
        for i in rows {
            let place = (self.limits[0].place(map.row(i)[0])).clamp(-1.0, 1.0);
            let bin = (((place + 1.0) / 2.0 * bins as f64) as usize).min(bins - 1);
            counts[bin][key.index(color, i) as usize] += 1;
            let x = center + place as f32 * reach - left;
            rug[(x.max(0.0) as usize).min(columns.saturating_sub(1))] = true;
        }
        let tallest = counts.iter().map(|bin| bin.iter().sum::<usize>()).max().unwrap_or(0).max(1) as f32;
        let (floor, ceiling) = (bottom - 0.12 * (bottom - top), top + 0.04 * (bottom - top));
        let step = 2.0 * reach / bins as f32;
        let mut bars = Vec::new();
        for (b, bin) in counts.iter().enumerate() {
            let (x, mut base) = (center - reach + b as f32 * step, floor);
            for (&count, &color) in bin.iter().zip(&colors).filter(|(count, _)| **count > 0) {
                let tip = base - (floor - ceiling) * count as f32 / tallest;
                bars.push((Rect { left: x + 0.06 * step, top: tip, right: x + 0.94 * step, bottom: base }, color));
                base = tip;
            }
        }
        for (x, _) in rug.iter().enumerate().filter(|(_, there)| **there) {
            let x = left + x as f32;
            let (top, bottom) = (floor + 0.25 * (bottom - floor), floor + 0.7 * (bottom - floor));
            bars.push((Rect { left: x, top, right: x + 1.0, bottom }, inks.ink));
        }
        bars
    }
}

/// All of `0..n`, scattered: steps of the golden section, so that no class is painted last as a whole.
pub(crate) fn scattered(n: usize) -> impl Iterator<Item = usize> {
    let common = |mut a: usize, mut b: usize| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let mut step = ((n as f64 * 0.618_033_988_75) as usize).max(1);
    while common(step, n.max(1)) != 1 {
        step += 1;
    }
    (0..n).scan(0, move |at, _| {
        *at = (*at + step) % n;
        Some(*at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scattered_order_visits_every_point_once() {
        for n in [0, 1, 2, 3, 10, 999, 1024] {
            let mut seen: Vec<usize> = scattered(n).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..n).collect::<Vec<_>>());
        }
    }
}
