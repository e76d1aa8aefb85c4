//! A region of a map, drawn larger where the map has space.

use lowland::{AnnotatedEmbedding, Labels, Points};

use crate::color::mix;
use crate::color_key::ColorKey;
use crate::layout::frame_border;
use crate::map_labels::{Coverage, densest_place};
use crate::marks::{interleaved_order, shown_positions};
use crate::pixel_transform::PixelTransform;
use crate::scene::{Line, PointCloud, PointStyle, Rect, SceneItem};
use crate::theme::Theme;
use crate::{MapPanel, PictureOptions};

/// Least enlargement of a region that is at most a fifth of the map.
const ENLARGEMENT: f32 = 3.0;
/// Longer side of the inset, relative to the frame, where points leave as much space.
const SIDE: f32 = 0.42;
/// Largest side, for regions that would otherwise not be enlarged.
const MAX_SIDE: f32 = 0.6;
/// Half of the sides of the region of a class, relative to the map: so that it shows some points and is enlarged.
const CLASS_REACH: [f32; 2] = [0.02, 0.047];
/// Sizes, and places along each side, that are tried for the inset.
const SIZES: usize = 8;
const PLACES: usize = 20;

/// Distance, relative to the frame, that an inset moves rather than have a line that lies on points entirely.
const LINE_COST: f32 = 2.0;
/// Distance, relative to the frame, that an inset moves rather than be the smallest instead of the largest.
const SIZE_COST: f32 = 0.2;

/// What an inset must fit.
pub(crate) struct InsetSurroundings<'a> {
    pub options: &'a PictureOptions,
    /// Names on the map, which it should not cover.
    pub names: &'a [Rect],
    pub unit: f32,
    pub theme: Theme,
}

/// Returns the region of a class that is worth drawing larger: from and to in the first dimension, from and to in the second, around
/// the place where its points are densest. Returns `None` if the map has one dimension or the class has no extent.
pub fn class_region(map: &AnnotatedEmbedding, labels: &Labels, code: u32) -> Option<[f64; 4]> {
    let points = map.points();
    if points.dim() < 2 {
        return None;
    }
    let frame = Rect { left: 0.0, top: 0.0, right: 1000.0, bottom: 1000.0 };
    let transform = PixelTransform::new(points, frame, None, 1.0);
    let of_class = (0..points.rows()).zip(&labels.codes).filter(|(_, other)| **other == code);
    let pixels = of_class.map(|(i, _)| transform.to_pixel(points.row(i)));
    let members: Vec<[f32; 2]> = pixels.filter(|(_, is_outlier)| !is_outlier).map(|(pixel, _)| pixel).collect();
    if members.is_empty() {
        return None;
    }
    let center = densest_place(&members, frame).position;
    let reach = |c: usize| {
        let mut away: Vec<f32> = members.iter().map(|pixel| (pixel[c] - center[c]).abs()).collect();
        let middle = away.len() / 2;
        let median = *away.select_nth_unstable_by(middle, f32::total_cmp).1;
        (3.0 * median).clamp(CLASS_REACH[0] * frame.width(), CLASS_REACH[1] * frame.width())
    };
    let [x, y] = [reach(0), reach(1)];
    let [x0, y0] = transform.to_map([center[0] - x, center[1] + y]);
    let [x1, y1] = transform.to_map([center[0] + x, center[1] - y]);
    (x0 < x1 && y0 < y1).then_some([x0, x1, y0, y1])
}

/// Returns the place of an inset that covers the fewest points and names, for a region of this size; if there are several, a
/// compromise between a large one, one that is close to the region, and one with few points under the lines to it.
fn find_place(source: Rect, frame: Rect, positions: &[Option<[f32; 2]>], radius: f32, names: &[Rect]) -> (Rect, f32) {
    let longest = source.width().max(source.height()).max(1.0);
    let side = frame.width().min(frame.height());
    let largest = (SIDE * side).max(ENLARGEMENT * longest).min(MAX_SIDE * side) / longest;
    let smallest = ENLARGEMENT.min(largest);
    let gap = 0.015 * side;
    let points = Coverage::new(positions.iter().flatten(), frame, radius);
    let middle = |rect: Rect| [0.5 * (rect.left + rect.right), 0.5 * (rect.top + rect.bottom)];
    let mut best: Option<([f32; 2], Rect, f32)> = None;
    for size in 0..SIZES {
        let scale = largest + (smallest - largest) * size as f32 / (SIZES - 1) as f32;
        let (width, height) = (source.width() * scale, source.height() * scale);
        for place in 0..PLACES * PLACES {
            let along = |low: f32, space: f32, at: usize| low + gap + space * at as f32 / (PLACES - 1) as f32;
            let left = along(frame.left, frame.width() - width - 2.0 * gap, place % PLACES);
            let top = along(frame.top, frame.height() - height - 2.0 * gap, place / PLACES);
            let rect = Rect { left, top, right: left + width, bottom: top + height };
            let hidden_names = names.iter().filter(|name| name.overlaps(rect)).count();
            let covered = points.share(rect.grown(radius + 0.5 * gap)) * width * height
                + side * side * (0.1 * hidden_names as f32 + if rect.overlaps(source) { 1.0 } else { 0.0 });
            if best.is_some_and(|([least, _], ..)| covered > least) {
                continue;
            }
            let [[x, y], [from_x, from_y]] = [middle(rect), middle(source)];
            let under_lines: f32 =
                connecting_lines(source, rect).map(|line| share_along(line, &points, radius)).iter().sum();
            let smaller = SIZE_COST * size as f32 / (SIZES - 1) as f32;
            let cost = [covered, (x - from_x).hypot(y - from_y) + side * (LINE_COST * under_lines + smaller)];
            if best.is_none_or(|(least, ..)| cost < least) {
                best = Some((cost, rect, scale));
            }
        }
    }
    best.map_or((source, 1.0), |(_, rect, scale)| (rect, scale))
}

/// Returns the lines from the corners of the region to those of the inset, between the sides that face each other.
fn connecting_lines(source: Rect, rect: Rect) -> [[[f32; 2]; 2]; 2] {
    if rect.top > source.bottom || rect.bottom < source.top {
        let (from, to) = if rect.top > source.bottom { (source.bottom, rect.top) } else { (source.top, rect.bottom) };
        [[[source.left, from], [rect.left, to]], [[source.right, from], [rect.right, to]]]
    } else {
        let (from, to) = if rect.left > source.right { (source.right, rect.left) } else { (source.left, rect.right) };
        [[[from, source.top], [to, rect.top]], [[from, source.bottom], [to, rect.bottom]]]
    }
}

/// Returns the share of a line that points cover, at some of its places.
fn share_along([[x0, y0], [x1, y1]]: [[f32; 2]; 2], points: &Coverage, radius: f32) -> f32 {
    const PLACES: usize = 32;
    let at = |place: usize| (place as f32 + 0.5) / PLACES as f32;
    let around = |t: f32| Rect::centered([x0 + (x1 - x0) * t, y0 + (y1 - y0) * t], 4.0 * radius, 4.0 * radius);
    (0..PLACES).map(|place| points.share(around(at(place)))).sum::<f32>() / PLACES as f32
}

/// Draws a region of a map where it covers the fewest points.
pub(crate) fn draw_inset(
    panel: &MapPanel,
    key: &ColorKey,
    frame: Rect,
    region: [f64; 4],
    around: &InsetSurroundings,
) -> Vec<SceneItem> {
    let InsetSurroundings { options, names, unit, theme } = *around;
    let map = panel.map.points();
    if map.dim() < 2 {
        return Vec::new();
    }
    let (positions, radius) = shown_positions(panel, frame, options, unit);
    let transform = PixelTransform::new(map, frame, options.point_size, unit);
    let source = source_rect(&transform, region);
    let (rect, scale) = find_place(source, frame, &positions, radius, names);
    let rows: Vec<usize> =
        interleaved_order(map.rows()).filter(|&i| positions[i].is_some() && is_inside(map, i, region)).collect();
    let place = |i: usize| {
        let [x, y] = transform.to_pixel(map.row(i)).0;
        [rect.left + (x - source.left) * scale, rect.top + (y - source.top) * scale]
    };
    let radius = (radius * scale.sqrt()).min(0.02 * frame.width());
    let cloud = PointCloud {
        positions: rows.iter().map(|&i| place(i)).collect(),
        color_indices: rows.iter().map(|&i| key.index(&panel.color, i)).collect(),
        colors: key.colors(theme),
        style: PointStyle::Dots { radius, opacity: 0.85, halo: if radius > 3.0 { 0.12 * radius } else { 0.0 } },
        ..PointCloud::empty(rect)
    };
    let (thickness, color) = ((1.5 * unit).max(1.0), mix(theme.text, theme.background, 0.6));
    let line = |ends: [[f32; 2]; 2]| Line { ends, width: 0.8 * thickness, color, halo: theme.background };
    let lines = connecting_lines(source, rect).map(line).to_vec();
    vec![
        SceneItem::Lines(lines),
        SceneItem::Boxes([vec![(rect, theme.background)], frame_border(source, thickness, color)].concat()),
        SceneItem::Cloud(cloud),
        SceneItem::Boxes(frame_border(rect, thickness, color)),
    ]
}

/// Returns a region of the map in pixels.
fn source_rect(transform: &PixelTransform, [x0, x1, y0, y1]: [f64; 4]) -> Rect {
    let ([left, top], _) = transform.to_pixel(&[x0, y1]);
    let ([right, bottom], _) = transform.to_pixel(&[x1, y0]);
    Rect { left, top, right, bottom }
}

fn is_inside(map: Points, i: usize, [x0, x1, y0, y1]: [f64; 4]) -> bool {
    let row = map.row(i);
    (x0..=x1).contains(&row[0]) && (y0..=y1).contains(&row[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::build_scene;
    use crate::{Color, MapLabels};
    use lowland::Embedding;

    /// Round groups of 60 points at some places, each a class.
    fn groups(centers: &[[f64; 2]]) -> (AnnotatedEmbedding, Labels) {
        let (mut values, mut codes) = (Vec::new(), Vec::new());
        for (code, center) in centers.iter().enumerate() {
            for i in 0..60 {
                let (angle, reach) = (f64::from(i) * 2.4, (f64::from(i) / 60.0).sqrt());
                values.extend([center[0] + reach * angle.cos(), center[1] + reach * angle.sin()]);
                codes.push(code as u32);
            }
        }
        let names = (0..centers.len()).map(|code| format!("class {code}")).collect();
        (Embedding::new(values, 2).unwrap().into(), Labels { codes, names })
    }

    /// Draws the map with an inset, and returns the inset, its points, and the points of the map.
    fn draw(map: &AnnotatedEmbedding, labels: &Labels, region: [f64; 4]) -> (Rect, PointCloud, PointCloud) {
        let options = PictureOptions { inset: Some(region), map_labels: MapLabels::On, ..PictureOptions::default() };
        let panel = MapPanel { color: Color::Classes(labels), ..MapPanel::new(map) };
        let scene = build_scene(&[panel], &options).unwrap();
        let mut clouds = scene.items.iter().filter_map(|item| match item {
            SceneItem::Cloud(cloud) => Some(cloud.clone()),
            _ => None,
        });
        let (all, inset) = (clouds.next().unwrap(), clouds.next().unwrap());
        (inset.frame, inset, all)
    }

    fn spread(positions: &[[f32; 2]]) -> f32 {
        let xs = positions.iter().map(|[x, _]| *x);
        xs.clone().fold(f32::MIN, f32::max) - xs.fold(f32::MAX, f32::min)
    }

    #[test]
    fn a_class_is_enlarged_at_least_three_times_where_no_points_are() {
        let (map, labels) = groups(&[[0.0, 0.0], [30.0, 0.0], [0.0, 30.0], [30.0, 30.0], [15.0, 15.0], [22.0, 4.0]]);
        for code in 0..6 {
            let region = class_region(&map, &labels, code).unwrap();
            let (rect, inset, all) = draw(&map, &labels, region);
            let own = inset.positions.len();
            assert!((30..=60).contains(&own), "{own} points of class {code}");
            // The map is 32 units wide.
            let pixels_per_unit = f64::from(spread(&all.positions)) / 32.0;
            let width = (region[1] - region[0]) * pixels_per_unit;
            assert!(f64::from(rect.width()) > 2.9 * width, "class {code}: {} of {width}", rect.width());
            let covered = all
                .positions
                .iter()
                .filter(|[x, y]| (rect.left..rect.right).contains(x) && (rect.top..rect.bottom).contains(y));
            assert_eq!(covered.count(), 0, "points under the inset of class {code}");
        }
    }

    #[test]
    fn the_region_of_a_class_is_around_its_main_group() {
        // Class 3 has 60 points at its place, and 40 at each of two others: most are far from it.
        let (map, mut labels) = groups(&[[0.0, 0.0], [20.0, 0.0], [0.0, 20.0], [20.0, 20.0]]);
        labels
            .codes
            .iter_mut()
            .enumerate()
            .filter(|(i, code)| **code < 2 && i % 3 != 0)
            .for_each(|(_, code)| *code = 3);
        let [x0, x1, y0, y1] = class_region(&map, &labels, 3).unwrap();
        assert!(x0 < 20.0 && 20.0 < x1 && y0 < 20.0 && 20.0 < y1 && x1 - x0 < 4.0 && y1 - y0 < 4.0);
        assert_eq!(class_region(&map, &labels, 9), None);
    }
}
