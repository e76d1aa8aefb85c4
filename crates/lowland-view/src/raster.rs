//! Paints a layout, with smooth edges.

use crate::canvas::Canvas;
use crate::color::{Rgb, ramp};
use crate::font;
use crate::layout::{Disc, Layout, Marks, Rect, Text};

/// Paints everything.
pub(crate) fn paint(layout: &Layout) -> Canvas {
    let mut canvas = Canvas::new(layout.width, layout.height, layout.ground);
    frame(&mut canvas, layout);
    match &layout.marks {
        Marks::Points { at, class, colors, radius, opacity, halo } => {
            let dot = Stamps::new(*radius);
            let edge = (*halo > 0.0).then(|| Stamps::new(radius + halo));
            for (&at, &class) in at.iter().zip(class) {
                if let Some(edge) = &edge {
                    edge.press(&mut canvas, at, layout.ground, 0.9);
                }
                dot.press(&mut canvas, at, colors[class as usize], *opacity);
            }
        }
        Marks::Density { at, blur, dark_ground } => density(&mut canvas, at, *blur, *dark_ground),
        Marks::Bars(bars) => bars.iter().for_each(|&(rect, color)| bar(&mut canvas, rect, color)),
    }
    layout.rings.iter().for_each(|&disc| ring(&mut canvas, disc));
    for &Disc { at: [x, y], radius, color } in &layout.swatches {
        let cover = |px: f32, py: f32| radius + 0.5 - (px - x).hypot(py - y);
        canvas.shade(x - radius - 1.0, y - radius - 1.0, x + radius + 1.0, y + radius + 1.0, color, cover);
    }
    layout.texts.iter().for_each(|line| text(&mut canvas, line));
    canvas
}

fn frame(canvas: &mut Canvas, layout: &Layout) {
    let (Rect { left, top, right, bottom }, t) = (layout.frame, layout.hairline);
    for side in [
        Rect { left, top, right, bottom: top + t },
        Rect { left, top: bottom - t, right, bottom },
        Rect { left, top: top + t, right: left + t, bottom: bottom - t },
        Rect { left: right - t, top: top + t, right, bottom: bottom - t },
    ] {
        bar(canvas, side, layout.line);
    }
}

/// A rectangle; pixels at its edges are covered by the part that is inside.
pub(crate) fn bar(canvas: &mut Canvas, rect: Rect, color: Rgb) {
    let part = |low: f32, high: f32, center: f32| ((high.min(center + 0.5)) - (low.max(center - 0.5))).max(0.0);
    let cover = |x: f32, y: f32| part(rect.left, rect.right, x) * part(rect.top, rect.bottom, y);
    canvas.shade(rect.left, rect.top, rect.right, rect.bottom, color, cover);
}

fn ring(canvas: &mut Canvas, Disc { at: [x, y], radius, color }: Disc) {
    let half = (0.18 * radius).max(0.5);
    let reach = radius + 1.0;
    let cover = |px: f32, py: f32| half + 0.5 - ((px - x).hypot(py - y) - (radius - half)).abs();
    canvas.shade(x - reach, y - reach, x + reach, y + reach, color, cover);
}

/// Round-ended strokes. A pixel takes the most that any stroke covers, so that joints are not painted twice.
pub(crate) fn text(canvas: &mut Canvas, Text { left, baseline, height, content, color }: &Text) {
    let half = (0.068 * height).max(0.45);
    // Strokes on pixel centres are crisp.
    let (left, baseline) = (left.round() + 0.5, baseline.round() + 0.5);
    let reach = half + 1.0;
    let (x0, y0) = (left - reach, baseline - height - reach);
    let columns = (font::width(content, *height) + 2.0 * reach).ceil() as usize + 1;
    let rows = (height * 1.4 + 2.0 * reach).ceil() as usize + 1;
    let mut cover = vec![0f32; columns * rows];
    for [a, b] in font::strokes(content, *height) {
        let (a, b) = ([a.0 + left, a.1 + baseline], [b.0 + left, b.1 + baseline]);
        let along = [b[0] - a[0], b[1] - a[1]];
        let square = along[0] * along[0] + along[1] * along[1];
        let span = |low: f32, high: f32, from: f32, count: usize| {
            ((low - reach - from).max(0.0) as usize).min(count)
                ..((high + reach - from + 1.0).max(0.0) as usize).min(count)
        };
        for r in span(a[1].min(b[1]), a[1].max(b[1]), y0, rows) {
            for c in span(a[0].min(b[0]), a[0].max(b[0]), x0, columns) {
                let (dx, dy) = (x0.floor() + c as f32 + 0.5 - a[0], y0.floor() + r as f32 + 0.5 - a[1]);
                let t = if square > 0.0 { ((dx * along[0] + dy * along[1]) / square).clamp(0.0, 1.0) } else { 0.0 };
                let distance = (dx - t * along[0]).hypot(dy - t * along[1]);
                let part = &mut cover[r * columns + c];
                *part = part.max((half + 0.5 - distance).clamp(0.0, 1.0));
            }
        }
    }
    for (at, &part) in cover.iter().enumerate().filter(|(_, part)| **part > 0.0) {
        let (x, y) = (x0.floor() as i64 + (at % columns) as i64, y0.floor() as i64 + (at / columns) as i64);
        canvas.blend(x, y, *color, part);
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

/// Counts, smoothed, on a logarithmic ramp: one point is just visible, the densest place is the end of the ramp.
fn density(canvas: &mut Canvas, at: &[[f32; 2]], blur: f32, dark_ground: bool) {
    let (width, height) = (canvas.width, canvas.height);
    let mut counts = vec![0f32; width * height];
    for &[x, y] in at {
        let (x, y) = ((x.max(0.0) as usize).min(width - 1), (y.max(0.0) as usize).min(height - 1));
        counts[y * width + x] += 1.0;
    }
    let reach = blur.round() as usize;
    for _ in 0..2 {
        smooth(&mut counts, width, reach);
    }
    // What a lone point leaves at its centre after two boxes of each direction.
    let lone = 1.0 / ((2 * reach + 1) as f32).powi(2);
    let most = counts.iter().copied().fold(lone, f32::max);
    let scale = (1.0 + most / lone).ln();
    for (pixel, &count) in canvas.pixels.iter_mut().zip(&counts).filter(|(_, count)| **count > 1e-3 * lone) {
        let color = ramp(((1.0 + count / lone).ln() - 2f32.ln()).max(0.0) / (scale - 2f32.ln()).max(1e-6), dark_ground);
        let cover = (count / lone).min(1.0);
        pixel.iter_mut().zip(color).for_each(|(v, c)| *v += (c - *v) * cover);
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
