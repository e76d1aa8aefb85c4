//! What is drawn of a map: points or their density, how certain they are, images, words.

use crate::color::{Rgb, mix};
use crate::key::Key;
use crate::layout::Inks;
use crate::placement::{Placement, scattered};
use crate::scene::{Cloud, Disc, Ellipse, Item, Rect, Style};
use crate::{Density, Panel, PictureOptions, Uncertainty, thumbnails, words};

/// Above this many points without colours their density is drawn; with colours, from the second number.
const DENSITY_FROM: [usize; 2] = [20_000, 100_000];

/// So few points are drawn as dots beside the images of others.
const DOTS_BESIDE_IMAGES: usize = 5000;

/// A drawn map, and what became of its points.
pub(crate) struct Drawn {
    pub items: Vec<Item>,
    pub fate: Fate,
}

/// What became of points that are not dots.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fate {
    /// Rings at the edge.
    pub beyond: usize,
    /// Left out as too uncertain.
    pub hidden: usize,
    /// Images.
    pub images: usize,
}

impl std::ops::AddAssign for Fate {
    fn add_assign(&mut self, other: Self) {
        self.beyond += other.beyond;
        self.hidden += other.hidden;
        self.images += other.images;
    }
}

/// Draws a map into a frame.
pub(crate) fn draw(panel: &Panel, key: &Key, frame: Rect, options: &PictureOptions, unit: f32, inks: Inks) -> Drawn {
    let map = panel.map;
    let place = Placement::new(map, frame, options.point_size, unit);
    let n = map.rows();
    let seen = most_certain(n, panel.std, options.certain);
    let mut fate = Fate { hidden: seen.iter().filter(|seen| !**seen).count(), ..Fate::default() };
    if map.dim() == 1 {
        let rows = (0..n).filter(|&i| seen[i]);
        return Drawn { items: vec![Item::Boxes(place.bars(map, rows, &panel.color, key, inks))], fate };
    }
    let places: Vec<([f32; 2], bool)> = (0..n).map(|i| place.at(map.row(i))).collect();
    let order: Vec<usize> = scattered(n).filter(|&i| seen[i] && !places[i].1).collect();
    let colors = key.colors(inks);
    let index: Vec<u16> = order.iter().map(|&i| key.index(&panel.color, i)).collect();
    let std = panel.std.filter(|_| n > 0);
    let weight = std.filter(|_| options.uncertainty == Uncertainty::Fade).map(|std| {
        let fade = fade(std);
        order.iter().map(|&i| fade(std[i])).collect()
    });
    let asked = options.uncertainty == Uncertainty::Ellipses;
    let ellipses = asked.then(|| ellipses(panel, &order, place.pixels_per_unit())).flatten();
    let cloud = Cloud {
        frame,
        at: order.iter().map(|&i| places[i].0).collect(),
        index,
        weight,
        ellipses,
        style: style(panel, key, place.radius, frame, options, unit),
        colors,
    };
    let ring = |i: usize| Disc {
        at: places[i].0,
        radius: (1.6 * place.radius).max(4.0 * unit),
        color: cloud.colors[key.index(&panel.color, i) as usize],
    };
    let rings: Vec<Disc> = (0..n).filter(|&i| seen[i] && places[i].1).map(ring).collect();
    fate.beyond = rings.len();
    let color_of =
        |i: usize| -> Option<Rgb> { (!key.is_plain()).then(|| cloud.colors[key.index(&panel.color, i) as usize]) };
    let at = |i: usize| places[i].0;
    let mut above = vec![Item::Rings(rings)];
    if let Some(images) = panel.images {
        let rows = scattered(n).filter(|&i| seen[i]);
        let tiles = thumbnails::tiles(images, rows, at, color_of, frame, unit, inks);
        fate.images = tiles.len();
        above.push(Item::Tiles(tiles));
    }
    if let Some(names) = panel.words {
        let ink = |i: usize| color_of(i).map_or(inks.ink, |color| mix(color, inks.ink, 0.45));
        let rows = (0..n).filter(|&i| seen[i]);
        let (dots, texts) = words::words(names, rows, at, ink, frame, place.radius, unit, inks);
        // Where every dot is clear, it needs no second one.
        above.extend((n > words::FEW).then_some(Item::Discs(dots)));
        above.push(Item::Texts(texts));
    }
    // Between images so many dots would be mortar between bricks.
    let cloud = if panel.images.is_some() && n > DOTS_BESIDE_IMAGES { Cloud::empty(frame) } else { cloud };
    Drawn { items: [vec![Item::Cloud(cloud)], above].concat(), fate }
}

/// The ellipses of points, circles where only standard deviations are known.
fn ellipses(panel: &Panel, order: &[usize], pixels: f64) -> Option<Vec<Ellipse>> {
    let dim = panel.map.dim();
    if let Some(all) = panel.covariances {
        let first_two = |i: usize| [0, 1, dim + 1].map(|at| all[i * dim * dim + at]);
        return Some(order.iter().map(|&i| Ellipse::of_covariance(first_two(i), pixels)).collect());
    }
    let std = panel.std?;
    Some(order.iter().map(|&i| Ellipse::circle(std[i].abs() * pixels)).collect())
}

/// Whether each point is among the share of the smallest standard deviations.
fn most_certain(n: usize, std: Option<&[f64]>, share: f64) -> Vec<bool> {
    let mut seen = vec![true; n];
    let hidden = n - ((n as f64 * share).round() as usize).clamp(n.min(1), n);
    if let Some(std) = std.filter(|_| hidden > 0) {
        let mut rows: Vec<usize> = (0..n).collect();
        rows.sort_by(|&a, &b| std[b].total_cmp(&std[a]).then(b.cmp(&a)));
        rows[..hidden].iter().for_each(|&i| seen[i] = false);
    }
    seen
}

fn style(panel: &Panel, key: &Key, radius: f32, frame: Rect, options: &PictureOptions, unit: f32) -> Style {
    let n = panel.map.rows();
    let heat = match options.density {
        Density::On => true,
        Density::Off => false,
        Density::Auto => options.point_size.is_none() && n > DENSITY_FROM[usize::from(!key.is_plain())],
    };
    if heat {
        return Style::Heat { blur: 2.2 * unit, one_color: key.is_plain() };
    }
    // Discs that would cover the frame many times over are made thinner, so that what lies below still shows.
    let cover = n as f32 * std::f32::consts::PI * radius.powi(2) / (frame.width() * frame.height());
    let opacity = (0.9 / (1.0 + 0.5 * cover)).clamp(0.3, 0.85);
    // Beside images and among words, dots only hint at the points that had no room.
    if panel.images.is_some() || panel.words.is_some() && n > words::FEW {
        return Style::Dots { radius: 0.6 * radius, opacity: 0.5 * opacity, halo: 0.0 };
    }
    Style::Dots { radius, opacity, halo: if radius > 3.0 { 0.12 * radius } else { 0.0 } }
}

/// How far a point of some standard deviation counts: against the median, so that half of the points stay clear whatever the unit.
fn fade(std: &[f64]) -> impl Fn(f64) -> f32 + use<> {
    let mut sorted: Vec<f64> = std.iter().map(|s| s.abs()).collect();
    let at = sorted.len() / 2;
    let median = *sorted.select_nth_unstable_by(at, f64::total_cmp).1;
    move |s: f64| {
        let ratio = if median > 0.0 { s.abs() / median } else { 0.0 };
        (1.25 / (1.0 + ratio * ratio)).clamp(0.08, 1.0) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_points_left_out_are_those_of_the_largest_deviations() {
        let std = [5.0, 1.0, 3.0, 3.0];
        assert_eq!(most_certain(4, Some(&std), 0.75), [false, true, true, true]);
        assert_eq!(most_certain(4, Some(&std), 0.5), [false, true, true, false]);
        assert_eq!(most_certain(4, Some(&std), 1e-9), [false, true, false, false]);
        assert_eq!((most_certain(2, None, 0.5), most_certain(0, Some(&[]), 0.5)), (vec![true; 2], vec![]));
    }

    #[test]
    fn certain_points_are_clear_and_uncertain_ones_faint() {
        let fade = fade(&[1.0, 2.0, 4.0]);
        let seen: Vec<f32> = [0.5, 1.0, 2.0, 4.0, 1e300].map(fade).to_vec();
        assert!(seen.windows(2).all(|pair| pair[0] >= pair[1]), "{seen:?}");
        assert!(seen[1] == 1.0 && seen[2] > 0.5 && seen[3] < 0.3 && seen[4] > 0.0, "{seen:?}");
    }
}
