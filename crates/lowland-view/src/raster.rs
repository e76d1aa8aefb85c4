//! Paints a scene, with smooth edges.

use crate::canvas::Canvas;
use crate::color::{Rgb, is_dark, ramp};
use crate::font;
use crate::scene::{Cloud, Disc, Doubt, Item, OUTLINE, Rect, Scene, Style, Text, Tile, border_width};

/// Paints everything.
pub(crate) fn paint(scene: &Scene) -> Canvas {
    let mut canvas = Canvas::new(scene.width, scene.height, scene.ground);
    for item in &scene.items {
        match item {
            Item::Cloud(points) => cloud(&mut canvas, points, scene.ground),
            Item::Boxes(boxes) => boxes.iter().for_each(|&(rect, color)| bar(&mut canvas, rect, color)),
            Item::Discs(discs) => discs.iter().for_each(|&each| disc(&mut canvas, each)),
            Item::Rings(rings) => rings.iter().for_each(|&each| ring(&mut canvas, each)),
            Item::Tiles(tiles) => tiles.iter().for_each(|each| tile(&mut canvas, each)),
            Item::Texts(texts) => texts.iter().for_each(|line| text(&mut canvas, line)),
        }
    }
    canvas
}

/// More points than this are pixels also in files of shapes: viewers are slow with so many, and pixels are smaller.
pub(crate) const MOST_SHAPES: usize = 20_000;

/// The cloud as pixels, where shapes will not do.
pub(crate) fn pixels(points: &Cloud, ground: Rgb) -> Option<Tile> {
    let shapes = matches!(points.style, Style::Dots { .. }) && points.at.len() <= MOST_SHAPES;
    if shapes {
        return None;
    }
    let place = points.frame.whole();
    let mut canvas = Canvas::new(place.width() as usize, place.height() as usize, ground);
    cloud(&mut canvas, &points.seen_from(place.left, place.top), ground);
    Some(Tile { place, width: canvas.width, pixels: canvas.bytes(), border: None })
}

fn cloud(canvas: &mut Canvas, points: &Cloud, ground: Rgb) {
    points.doubts().for_each(|each| doubt(canvas, each, points.frame));
    match points.style {
        Style::Heat { blur, one_color } => heat(canvas, points, blur, one_color.then(|| is_dark(ground))),
        Style::Dots { radius, opacity, halo } => {
            let dot = Stamps::new(radius);
            let edge = (halo > 0.0).then(|| Stamps::new(radius + halo));
            for (i, (&at, &index)) in points.at.iter().zip(&points.index).enumerate() {
                let weight = points.weight.as_ref().map_or(1.0, |weight| weight[i]);
                if let Some(edge) = &edge {
                    edge.press(canvas, at, ground, 0.9 * weight);
                }
                dot.press(canvas, at, points.colors[index as usize], opacity * weight);
            }
        }
    }
}

/// A rectangle; pixels at its edges are covered by the part that is inside.
pub(crate) fn bar(canvas: &mut Canvas, rect: Rect, color: Rgb) {
    let part = |low: f32, high: f32, center: f32| ((high.min(center + 0.5)) - (low.max(center - 0.5))).max(0.0);
    let cover = |x: f32, y: f32| part(rect.left, rect.right, x) * part(rect.top, rect.bottom, y);
    canvas.shade(rect, color, cover);
}

fn disc(canvas: &mut Canvas, Disc { at: [x, y], radius, color }: Disc) {
    let cover = |px: f32, py: f32| (radius + 0.5 - (px - x).hypot(py - y)).clamp(0.0, 1.0);
    canvas.shade(Rect::about([x, y], 2.0 * radius + 2.0, 2.0 * radius + 2.0), color, cover);
}

/// An ellipse and its outline, as far as they are inside the frame.
fn doubt(canvas: &mut Canvas, Doubt { at, ellipse, color, opacity, outline }: Doubt, frame: Rect) {
    let ([x, y], [cos, sin]) = (at, ellipse.along);
    // A line is as wide as a pixel.
    let [long, wide] = ellipse.reach.map(|reach| reach.max(0.5));
    // How far outside of the edge a place is, to first order: with f = 1 at the edge, (f - 1) / |grad f|.
    let outside = |px: f32, py: f32| {
        let (dx, dy) = (px - x, py - y);
        let (u, v) = ((dx * cos + dy * sin) / long, (dy * cos - dx * sin) / wide);
        let f = u.hypot(v);
        if f > 0.0 { (f - 1.0) * f / (u / long).hypot(v / wide) } else { -wide }
    };
    let [across, down] = [(long * cos).hypot(wide * sin), (long * sin).hypot(wide * cos)];
    let place = Rect::about(at, 2.0 * across + 2.0, 2.0 * down + 2.0);
    let place = Rect {
        left: place.left.max(frame.left),
        top: place.top.max(frame.top),
        right: place.right.min(frame.right),
        bottom: place.bottom.min(frame.bottom),
    };
    canvas.shade(place, color, |px, py| (0.5 - outside(px, py)).clamp(0.0, 1.0) * opacity);
    if outline > 0.0 {
        let half = (outline / 2.0).max(0.5);
        let cover = |px: f32, py: f32| (half + 0.5 - (outside(px, py) + half).abs()).clamp(0.0, 1.0) * OUTLINE;
        canvas.shade(place, color, cover);
    }
}

/// Each pixel of the tile is a rectangle.
fn tile(canvas: &mut Canvas, tile: &Tile) {
    let Rect { left, top, right, bottom } = tile.place;
    let (wide, tall) = (tile.width, tile.height());
    let part = |v: f32, low: f32, high: f32, count: usize| {
        (((v - low) / (high - low) * count as f32).max(0.0) as usize).min(count - 1)
    };
    for y in top.round() as i64..bottom.round() as i64 {
        for x in left.round() as i64..right.round() as i64 {
            let (column, row) = (part(x as f32 + 0.5, left, right, wide), part(y as f32 + 0.5, top, bottom, tall));
            canvas.blend(x, y, tile.pixels[row * wide + column].map(|v| f32::from(v) / 255.0), 1.0);
        }
    }
    if let Some(color) = tile.border {
        tile_border(tile.place).into_iter().for_each(|side| bar(canvas, side, color));
    }
}

/// The sides of a frame around a tile.
pub(crate) fn tile_border(Rect { left, top, right, bottom }: Rect) -> [Rect; 4] {
    let t = border_width(right - left);
    [
        Rect { left: left - t, top: top - t, right: right + t, bottom: top },
        Rect { left: left - t, top: bottom, right: right + t, bottom: bottom + t },
        Rect { left: left - t, top, right: left, bottom },
        Rect { left: right, top, right: right + t, bottom },
    ]
}

/// Thickness of a ring, of its radius.
pub(crate) const RING: f32 = 0.36;

fn ring(canvas: &mut Canvas, Disc { at: [x, y], radius, color }: Disc) {
    let half = (RING * radius / 2.0).max(0.5);
    let cover = |px: f32, py: f32| (half + 0.5 - ((px - x).hypot(py - y) - (radius - half)).abs()).clamp(0.0, 1.0);
    canvas.shade(Rect::about([x, y], 2.0 * radius + 2.0, 2.0 * radius + 2.0), color, cover);
}

pub(crate) fn text(canvas: &mut Canvas, line: &Text) {
    let Text { at: [x, baseline], anchor, height, content, color, bold, halo } = line;
    // Strokes on pixel centres are crisp.
    let left = (x - anchor.share() * font::width(content, *height)).round() + 0.5;
    let baseline = baseline.round() + 0.5;
    let half = (if *bold { 0.105 } else { 0.068 } * height).max(if *bold { 0.75 } else { 0.45 });
    if let Some(halo) = halo {
        strokes(canvas, content, *height, [left, baseline], half + HALO * height, *halo, 0.85);
    }
    strokes(canvas, content, *height, [left, baseline], half, *color, 1.0);
}

/// How far the border of a text reaches, of its height.
pub(crate) const HALO: f32 = 0.13;

/// Round-ended strokes. A pixel takes the most that any stroke covers, so that joints are not painted twice.
fn strokes(
    canvas: &mut Canvas,
    content: &str,
    height: f32,
    [left, baseline]: [f32; 2],
    half: f32,
    color: Rgb,
    opacity: f32,
) {
    let reach = half + 1.0;
    let (x0, y0) = ((left - reach).floor(), (baseline - height - reach).floor());
    let columns = (font::width(content, height) + 2.0 * reach).ceil() as usize + 2;
    let rows = (height * 1.4 + 2.0 * reach).ceil() as usize + 2;
    let mut cover = vec![0f32; columns * rows];
    for [a, b] in font::strokes(content, height) {
        let (a, b) = ([a.0 + left, a.1 + baseline], [b.0 + left, b.1 + baseline]);
        let along = [b[0] - a[0], b[1] - a[1]];
        let square = along[0] * along[0] + along[1] * along[1];
        let span = |low: f32, high: f32, from: f32, count: usize| {
            ((low - reach - from).max(0.0) as usize).min(count)
                ..((high + reach - from + 1.0).max(0.0) as usize).min(count)
        };
        for r in span(a[1].min(b[1]), a[1].max(b[1]), y0, rows) {
            for c in span(a[0].min(b[0]), a[0].max(b[0]), x0, columns) {
                let (dx, dy) = (x0 + c as f32 + 0.5 - a[0], y0 + r as f32 + 0.5 - a[1]);
                let t = if square > 0.0 { ((dx * along[0] + dy * along[1]) / square).clamp(0.0, 1.0) } else { 0.0 };
                let distance = (dx - t * along[0]).hypot(dy - t * along[1]);
                let part = &mut cover[r * columns + c];
                *part = part.max((half + 0.5 - distance).clamp(0.0, 1.0));
            }
        }
    }
    for (at, &part) in cover.iter().enumerate().filter(|(_, part)| **part > 0.0) {
        let (x, y) = (x0 as i64 + (at % columns) as i64, y0 as i64 + (at / columns) as i64);
        canvas.blend(x, y, color, part * opacity);
    }
}

/// A disc of one size at every quarter of a pixel: painting a point is adding a small table.
struct Stamps {
    side: usize,
    reach: i64,
    tables: Vec<Vec<f32>>,
}

const PARTS: usize = 4;

impl Stamps {
    fn new(radius: f32) -> Self {
        let reach = (radius + 1.0).ceil() as i64;
        let side = 2 * reach as usize + 1;
        // Smaller than a pixel: the whole disc fits in one, whose cover is the disc's area.
        let strength = (std::f32::consts::PI * radius * radius).min(1.0);
        let table = |part: usize| {
            let offset = |part: usize| (part as f32 + 0.5) / PARTS as f32 - 0.5;
            let (dx, dy) = (offset(part % PARTS), offset(part / PARTS));
            let cell = |at: usize| {
                let (x, y) = ((at % side) as f32 - reach as f32 - dx, (at / side) as f32 - reach as f32 - dy);
                (radius.max(0.5) + 0.5 - x.hypot(y)).clamp(0.0, 1.0) * strength
            };
            (0..side * side).map(cell).collect()
        };
        Self { side, reach, tables: (0..PARTS * PARTS).map(table).collect() }
    }

    fn press(&self, canvas: &mut Canvas, [x, y]: [f32; 2], color: Rgb, opacity: f32) {
        let (left, top) = (x.floor(), y.floor());
        let part = |v: f32| ((v * PARTS as f32) as usize).min(PARTS - 1);
        let table = &self.tables[part(y - top) * PARTS + part(x - left)];
        for (at, &cover) in table.iter().enumerate().filter(|(_, cover)| **cover > 0.0) {
            let (column, row) = ((at % self.side) as i64, (at / self.side) as i64);
            canvas.blend(left as i64 + column - self.reach, top as i64 + row - self.reach, color, cover * opacity);
        }
    }
}

/// Counts, smoothed, on a logarithmic scale: one point is just visible, the densest place is the end of it. Points without colours
/// are shown on a ramp, for a dark ground or a light one; others by their mean colour, which covers the more the more they are.
fn heat(canvas: &mut Canvas, points: &Cloud, blur: f32, on_dark: Option<bool>) {
    let place = points.frame.whole();
    let (width, height) = (place.width() as usize, place.height() as usize);
    let pixel = |[x, y]: [f32; 2]| {
        let inside = |v: f32, size: usize| (v.max(0.0) as usize).min(size - 1);
        inside(y - place.top, height) * width + inside(x - place.left, width)
    };
    // Counts, and where points have colours the sums of these.
    let mut sums = vec![vec![0f32; width * height]; if on_dark.is_some() { 1 } else { 4 }];
    for (i, (&at, &index)) in points.at.iter().zip(&points.index).enumerate() {
        let weight = points.weight.as_ref().map_or(1.0, |weight| weight[i]);
        let at = pixel(at);
        let color = points.colors[index as usize];
        let parts = [1.0, color[0], color[1], color[2]];
        sums.iter_mut().zip(parts).for_each(|(sum, part)| sum[at] += weight * part);
    }
    let reach = blur.round() as usize;
    for sum in &mut sums {
        smooth(sum, width, reach);
        smooth(sum, width, reach);
    }
    // What a lone point leaves at its centre after two boxes of each direction.
    let lone = 1.0 / ((2 * reach + 1) as f32).powi(2);
    let most = sums[0].iter().copied().fold(lone, f32::max);
    let span = ((1.0 + most / lone).ln() - 2f32.ln()).max(1e-6);
    for at in (0..width * height).filter(|&at| sums[0][at] > 1e-3 * lone) {
        let count = sums[0][at];
        let part = ((1.0 + count / lone).ln() - 2f32.ln()).max(0.0) / span;
        let there = (count / lone).min(1.0);
        let (color, cover) = match on_dark {
            Some(dark) => (ramp(part, dark), there),
            None => ([1, 2, 3].map(|c| sums[c][at] / count), there * (0.3 + 0.7 * part)),
        };
        canvas.blend(place.left as i64 + (at % width) as i64, place.top as i64 + (at / width) as i64, color, cover);
    }
}

/// Means over boxes of `2 reach + 1` pixels across and down, by running sums; nothing lies beyond the edges.
fn smooth(values: &mut [f32], width: usize, reach: usize) {
    if reach == 0 {
        return;
    }
    let height = values.len() / width;
    let weight = 1.0 / (2 * reach + 1) as f32;
    let mut line = Vec::new();
    let mut run = |values: &mut [f32], start: usize, stride: usize, count: usize| {
        line.clear();
        line.extend((0..count).map(|at| values[start + at * stride]));
        let mut sum: f64 = line[..reach.min(count)].iter().map(|&v| f64::from(v)).sum();
        for at in 0..count {
            sum += line.get(at + reach).map_or(0.0, |&v| f64::from(v));
            values[start + at * stride] = sum as f32 * weight;
            sum -= if at >= reach { f64::from(line[at - reach]) } else { 0.0 };
        }
    };
    (0..height).for_each(|y| run(values, y * width, 1, width));
    (0..width).for_each(|x| run(values, x, width, height));
}
