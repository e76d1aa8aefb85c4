//! A region of a map, drawn larger in a corner.

use lowland::Points;

use crate::color::mix;
use crate::color_key::ColorKey;
use crate::layout::frame_border;
use crate::marks::{interleaved_order, shown_positions};
use crate::pixel_transform::PixelTransform;
use crate::scene::{Line, PointCloud, PointStyle, Rect, SceneItem};
use crate::theme::Theme;
use crate::{MapPanel, PictureOptions};

/// Longer side of the inset, relative to the frame.
const SIDE: f32 = 0.38;

/// Draws a region of a map into the corner that covers the fewest points.
pub(crate) fn draw_inset(
    panel: &MapPanel,
    key: &ColorKey,
    frame: Rect,
    region: [f64; 4],
    options: &PictureOptions,
    unit: f32,
    theme: Theme,
) -> Vec<SceneItem> {
    let map = panel.map.points();
    if map.dim() < 2 {
        return Vec::new();
    }
    let (positions, radius) = shown_positions(panel, frame, options, unit);
    let transform = PixelTransform::new(map, frame, options.point_size, unit);
    let source = source_rect(&transform, region);
    let scale = (SIDE * frame.width() / source.width().max(1.0)).min(SIDE * frame.height() / source.height().max(1.0));
    let (width, height) = (source.width() * scale, source.height() * scale);
    let gap = 0.015 * frame.width();
    let corner = |right: bool, below: bool| {
        let left = if right { frame.right - gap - width } else { frame.left + gap };
        let top = if below { frame.bottom - gap - height } else { frame.top + gap };
        Rect { left, top, right: left + width, bottom: top + height }
    };
    let contains =
        |rect: Rect, [x, y]: [f32; 2]| (rect.left..rect.right).contains(&x) && (rect.top..rect.bottom).contains(&y);
    let covered = |rect: &Rect| {
        let points = positions.iter().flatten().filter(|&&position| contains(*rect, position)).count();
        points + if rect.overlaps(source) { positions.len() } else { 0 }
    };
    let corners = [corner(true, false), corner(true, true), corner(false, false), corner(false, true)];
    let Some(rect) = corners.into_iter().min_by_key(covered) else { return Vec::new() };
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
    // From the corners of the region to those of the inset, between the sides that face each other.
    let lines = if rect.top > source.bottom || rect.bottom < source.top {
        let (from, to) = if rect.top > source.bottom { (source.bottom, rect.top) } else { (source.top, rect.bottom) };
        vec![line([[source.left, from], [rect.left, to]]), line([[source.right, from], [rect.right, to]])]
    } else {
        let (from, to) = if rect.left > source.right { (source.right, rect.left) } else { (source.left, rect.right) };
        vec![line([[from, source.top], [to, rect.top]]), line([[from, source.bottom], [to, rect.bottom]])]
    };
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
