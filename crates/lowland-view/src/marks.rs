//! Draws the points of a map: dots or density, uncertainty, thumbnails and labels.

use crate::color::{Rgb, mix};
use crate::color_key::ColorKey;
use crate::histogram::histogram;
use crate::pixel_transform::PixelTransform;
use crate::scene::{Disc, Ellipse, Line, PointCloud, PointStyle, Rect, SceneItem};
use crate::theme::Theme;
use crate::{Density, FlaggedPoints, MapPanel, PictureOptions, Uncertainty, point_labels, thumbnails};
use lowland::ReliabilityColumn;

/// Largest number of points that are drawn as dots by default, without colors and with colors.
const MAX_DOTS: [usize; 2] = [20_000, 100_000];

/// Largest number of points that are drawn as dots in addition to thumbnails.
const MAX_DOTS_WITH_IMAGES: usize = 5000;

/// A map as items of a scene.
pub(crate) struct MapDrawing {
    pub items: Vec<SceneItem>,
    pub counts: DrawCounts,
}

/// Numbers of points that are not drawn as dots.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DrawCounts {
    /// Outliers, drawn as rings at the edge of the frame.
    pub outside: usize,
    /// Points left out because they are too uncertain.
    pub hidden: usize,
    /// Points drawn as images.
    pub images: usize,
    /// Flagged points, drawn differently.
    pub flagged: usize,
    /// Lines between islands.
    pub bridges: usize,
}

impl std::ops::AddAssign for DrawCounts {
    fn add_assign(&mut self, other: Self) {
        self.outside += other.outside;
        self.hidden += other.hidden;
        self.images += other.images;
        self.flagged += other.flagged;
        self.bridges += other.bridges;
    }
}

/// Draws a map into a frame. `unit` is the scale of point and text sizes.
pub(crate) fn draw_map(
    panel: &MapPanel,
    key: &ColorKey,
    frame: Rect,
    options: &PictureOptions,
    unit: f32,
    theme: Theme,
) -> MapDrawing {
    let map = panel.map.points();
    let transform = PixelTransform::new(map, frame, options.point_size, unit);
    let n = map.rows();
    let std = panel.map.std.as_deref();
    let is_shown = select_most_certain(n, std, options.certain);
    let mut counts = DrawCounts { hidden: is_shown.iter().filter(|shown| !**shown).count(), ..DrawCounts::default() };
    if map.dim() == 1 {
        let rows = (0..n).filter(|&i| is_shown[i]);
        let bars = histogram(&transform, map, rows, &panel.color, key, theme);
        return MapDrawing { items: vec![SceneItem::Boxes(bars)], counts };
    }
    // Position of each point, and whether it is an outlier.
    let pixels: Vec<([f32; 2], bool)> = (0..n).map(|i| transform.to_pixel(map.row(i))).collect();
    let is_flagged = flagged_points(panel, options.flagged);
    let in_frame = |&i: &usize| is_shown[i] && !pixels[i].1;
    counts.flagged = (0..n).filter(|i| is_flagged[*i] && in_frame(i)).count();
    let (hollow, order): (Vec<usize>, Vec<usize>) =
        interleaved_order(n).filter(in_frame).partition(|&i| is_flagged[i] && options.flagged == FlaggedPoints::Hollow);
    let std = std.filter(|_| n > 0);
    let fade = std.filter(|_| options.uncertainty == Uncertainty::Fade).map(|std| (std, fade_by_std(std)));
    let weights = (fade.is_some() || options.flagged == FlaggedPoints::Fade && counts.flagged > 0).then(|| {
        let by_std = |i: usize| fade.as_ref().map_or(1.0, |(std, fade)| fade(std[i]));
        order.iter().map(|&i| by_std(i) * if is_flagged[i] { FLAGGED_OPACITY } else { 1.0 }).collect()
    });
    let with_ellipses = options.uncertainty == Uncertainty::Ellipses;
    let ellipses = with_ellipses.then(|| ellipses(panel, &order, transform.pixels_per_unit())).flatten();
    let cloud = PointCloud {
        frame,
        positions: order.iter().map(|&i| pixels[i].0).collect(),
        color_indices: order.iter().map(|&i| key.index(&panel.color, i)).collect(),
        weights,
        ellipses,
        style: point_style(panel, key, transform.radius, frame, options, unit),
        colors: key.colors(theme),
    };
    let point_color = |i: usize| cloud.colors[key.index(&panel.color, i) as usize];
    let ring_radius = (1.6 * transform.radius).max(4.0 * unit);
    let ring = |i: usize| Disc { center: pixels[i].0, radius: ring_radius, color: point_color(i) };
    let rings: Vec<Disc> = (0..n).filter(|&i| is_shown[i] && pixels[i].1).map(ring).collect();
    counts.outside = rings.len();
    let hollow_radius = (1.35 * transform.radius).max(2.5 * unit);
    let hollow_disc = |&i: &usize| Disc { center: pixels[i].0, radius: hollow_radius, color: point_color(i) };
    let hollow: Vec<Disc> = hollow.iter().map(hollow_disc).collect();
    let color_of = |i: usize| -> Option<Rgb> { (!key.is_plain()).then(|| point_color(i)) };
    let position = |i: usize| pixels[i].0;
    let mut above = vec![SceneItem::Rings(hollow), SceneItem::Rings(rings)];
    if let Some(images) = panel.images {
        let rows = interleaved_order(n).filter(|&i| is_shown[i]);
        let tiles = thumbnails::place_thumbnails(images, rows, position, color_of, frame, unit, theme);
        counts.images = tiles.len();
        above.push(SceneItem::Tiles(tiles));
    }
    if let Some(labels) = panel.shown_ids() {
        let text_color = |i: usize| color_of(i).map_or(theme.text, |color| mix(color, theme.text, 0.45));
        let rows = (0..n).filter(|&i| is_shown[i]);
        let radius = transform.radius;
        let size = options.text_height().map_or((15.0 * unit).max(6.0), |height| 0.9 * height);
        let (dots, texts) = point_labels::place_labels(labels, rows, position, text_color, frame, radius, size, theme);
        // With few points, the dots of the cloud are clear enough.
        above.extend((n > point_labels::FEW_POINTS).then_some(SceneItem::Discs(dots)));
        above.push(SceneItem::Texts(texts));
    }
    let bridges = bridge_lines(panel, &transform, options, unit, theme);
    counts.bridges = bridges.len();
    above.extend((!bridges.is_empty()).then_some(SceneItem::Lines(bridges)));
    // Too many dots would fill the space between the thumbnails.
    let cloud = if panel.images.is_some() && n > MAX_DOTS_WITH_IMAGES { PointCloud::empty(frame) } else { cloud };
    MapDrawing { items: [vec![SceneItem::Cloud(cloud)], above].concat(), counts }
}

/// Returns the position of each point that is drawn within the frame, and the radius of a point.
pub(crate) fn shown_positions(
    panel: &MapPanel,
    frame: Rect,
    options: &PictureOptions,
    unit: f32,
) -> (Vec<Option<[f32; 2]>>, f32) {
    let map = panel.map.points();
    if map.dim() < 2 {
        return (Vec::new(), 0.0);
    }
    let transform = PixelTransform::new(map, frame, options.point_size, unit);
    let is_shown = select_most_certain(map.rows(), panel.map.std.as_deref(), options.certain);
    let position = |i: usize| {
        let (pixel, is_outlier) = transform.to_pixel(map.row(i));
        (is_shown[i] && !is_outlier).then_some(pixel)
    };
    ((0..map.rows()).map(position).collect(), transform.radius)
}

/// Opacity of flagged points that fade, relative to the others.
const FLAGGED_OPACITY: f32 = 0.2;

/// Returns whether each point is flagged and drawn differently for it.
fn flagged_points(panel: &MapPanel, drawn: FlaggedPoints) -> Vec<bool> {
    let flags = panel.map.reliability.as_ref().and_then(|known| known.get(ReliabilityColumn::Flagged));
    match flags.filter(|_| drawn != FlaggedPoints::None) {
        Some(flags) => flags.iter().map(|&flag| flag > 0.0).collect(),
        None => vec![false; panel.map.rows()],
    }
}

/// Returns a line for each pair of islands that are connected in the data.
fn bridge_lines(
    panel: &MapPanel,
    transform: &PixelTransform,
    options: &PictureOptions,
    unit: f32,
    theme: Theme,
) -> Vec<Line> {
    let Some(reliability) = panel.map.reliability.as_ref().filter(|_| options.bridges) else { return Vec::new() };
    let line = |ends: [Vec<f64>; 2]| Line {
        ends: ends.map(|end| transform.to_pixel(&end).0),
        width: 2.5 * unit,
        color: theme.text,
        halo: theme.background,
    };
    reliability.bridges(panel.map.points()).into_iter().map(|bridge| line(bridge.ends)).collect()
}

/// Returns the ellipses of points, or circles where only standard deviations are known.
fn ellipses(panel: &MapPanel, order: &[usize], pixels_per_unit: f64) -> Option<Vec<Ellipse>> {
    let dim = panel.map.embedding.dim();
    if let Some(covariances) = &panel.map.covariances {
        let first_two = |i: usize| [0, 1, dim + 1].map(|at| covariances[i * dim * dim + at]);
        return Some(order.iter().map(|&i| Ellipse::from_covariance(first_two(i), pixels_per_unit)).collect());
    }
    let std = panel.map.std.as_ref()?;
    Some(order.iter().map(|&i| Ellipse::circle(std[i].abs() * pixels_per_unit)).collect())
}

/// Returns whether each point belongs to the fraction with the smallest standard deviations.
fn select_most_certain(n: usize, std: Option<&[f64]>, fraction: f64) -> Vec<bool> {
    let mut is_selected = vec![true; n];
    let hidden = n - ((n as f64 * fraction).round() as usize).clamp(n.min(1), n);
    if let Some(std) = std.filter(|_| hidden > 0) {
        let mut rows: Vec<usize> = (0..n).collect();
        rows.sort_by(|&a, &b| std[b].total_cmp(&std[a]).then(b.cmp(&a)));
        rows[..hidden].iter().for_each(|&i| is_selected[i] = false);
    }
    is_selected
}

fn point_style(
    panel: &MapPanel,
    key: &ColorKey,
    radius: f32,
    frame: Rect,
    options: &PictureOptions,
    unit: f32,
) -> PointStyle {
    let n = panel.map.rows();
    let density = match options.density {
        Density::On => true,
        Density::Off => false,
        Density::Auto => options.point_size.is_none() && n > MAX_DOTS[usize::from(!key.is_plain())],
    };
    if density {
        return PointStyle::Density { blur: 2.2 * unit, one_color: key.is_plain() };
    }
    // Dots that would cover the frame many times over are more transparent, so that overlaps remain visible.
    let coverage = n as f32 * std::f32::consts::PI * radius.powi(2) / (frame.width() * frame.height());
    let opacity = (0.9 / (1.0 + 0.5 * coverage)).clamp(0.3, 0.85);
    // Between thumbnails and labels, dots only indicate the points without one.
    if panel.images.is_some() || panel.shown_ids().is_some() && n > point_labels::FEW_POINTS {
        return PointStyle::Dots { radius: 0.6 * radius, opacity: 0.5 * opacity, halo: 0.0 };
    }
    PointStyle::Dots { radius, opacity, halo: if radius > 3.0 { 0.12 * radius } else { 0.0 } }
}

/// Returns a function from standard deviation to opacity. It is relative to the median, so that half of the points remain clearly
/// visible in any unit.
fn fade_by_std(std: &[f64]) -> impl Fn(f64) -> f32 + use<> {
    let mut sorted: Vec<f64> = std.iter().map(|s| s.abs()).collect();
    let at = sorted.len() / 2;
    let median = *sorted.select_nth_unstable_by(at, f64::total_cmp).1;
    move |s: f64| {
        let ratio = if median > 0.0 { s.abs() / median } else { 0.0 };
        (1.25 / (1.0 + ratio * ratio)).clamp(0.08, 1.0) as f32
    }
}

/// Returns a permutation of `0..n` in steps of the golden section, so that no class is drawn on top of the others because of
/// its position in the file.
pub(crate) fn interleaved_order(n: usize) -> impl Iterator<Item = usize> {
    let gcd = |mut a: usize, mut b: usize| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let mut step = ((n as f64 * 0.618_033_988_75) as usize).max(1);
    while gcd(step, n.max(1)) != 1 {
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
    fn points_with_the_largest_standard_deviations_are_left_out() {
        let std = [5.0, 1.0, 3.0, 3.0];
        assert_eq!(select_most_certain(4, Some(&std), 0.75), [false, true, true, true]);
        assert_eq!(select_most_certain(4, Some(&std), 0.5), [false, true, true, false]);
        assert_eq!(select_most_certain(4, Some(&std), 1e-9), [false, true, false, false]);
        let all = (select_most_certain(2, None, 0.5), select_most_certain(0, Some(&[]), 0.5));
        assert_eq!(all, (vec![true; 2], vec![]));
    }

    #[test]
    fn opacity_decreases_with_the_standard_deviation() {
        let fade = fade_by_std(&[1.0, 2.0, 4.0]);
        let opacity: Vec<f32> = [0.5, 1.0, 2.0, 4.0, 1e300].map(fade).to_vec();
        assert!(opacity.windows(2).all(|pair| pair[0] >= pair[1]), "{opacity:?}");
        assert!(opacity[1] == 1.0 && opacity[2] > 0.5 && opacity[3] < 0.3 && opacity[4] > 0.0, "{opacity:?}");
    }

    #[test]
    fn interleaved_order_is_a_permutation() {
        for n in [0, 1, 2, 3, 10, 999, 1024] {
            let mut order: Vec<usize> = interleaved_order(n).collect();
            order.sort_unstable();
            assert_eq!(order, (0..n).collect::<Vec<_>>());
        }
    }
}
