//! Draws text.

use ab_glyph_rasterizer::{Point, Rasterizer, point};
use harfrust::font::glyph::outline::PathElement;

use crate::canvas::Canvas;
use crate::color::Rgb;
use crate::scene::{HALO_OPACITY, HALO_WIDTH, Text};
use crate::text::{Glyph, GlyphLine, font_size, glyph_line};

/// Draws a line of text. Its baseline is moved to the nearest row of pixels, where letters are sharpest.
pub(crate) fn draw_text(canvas: &mut Canvas, text: &Text) {
    let line = glyph_line(&text.content, text.bold);
    let size = font_size(text.height);
    let left = text.position[0] - text.anchor.fraction() * line.width * size;
    let mask = GlyphMask::new(
        &line,
        [left, text.position[1].round()],
        size,
        text.halo.map_or(0.0, |_| HALO_WIDTH * text.height),
    );
    if let Some(halo) = text.halo {
        mask.dilated(HALO_WIDTH * text.height).draw(canvas, halo, HALO_OPACITY);
    }
    mask.draw(canvas, text.color, 1.0);
}

/// Coverage of the pixels of a rectangle by glyphs.
struct GlyphMask {
    left: i64,
    top: i64,
    width: usize,
    coverage: Vec<f32>,
}

impl GlyphMask {
    /// Computes the coverage of a line of text that starts at `origin`, with a margin.
    fn new(line: &GlyphLine, origin: [f32; 2], size: f32, margin: f32) -> Self {
        let outlines: Vec<Vec<PathElement>> =
            line.glyphs.iter().map(|glyph| outline(line, glyph, origin, size)).collect();
        let bounds = outlines.iter().flatten().flat_map(|part| points(*part)).flatten();
        let none = [f32::INFINITY, f32::INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY];
        let [left, top, right, bottom] = bounds.fold(none, |[left, top, right, bottom], Point { x, y }| {
            [left.min(x), top.min(y), right.max(x), bottom.max(y)]
        });
        if left > right {
            return Self { left: 0, top: 0, width: 0, coverage: Vec::new() };
        }
        let (left, top) = ((left - margin).floor() - 1.0, (top - margin).floor() - 1.0);
        let (width, height) =
            ((right + margin - left).ceil() as usize + 2, (bottom + margin - top).ceil() as usize + 2);
        let mut rasterizer = Rasterizer::new(width, height);
        for path in outlines {
            fill(&mut rasterizer, &path, [left, top]);
        }
        let mut coverage = vec![0.0; width * height];
        rasterizer.for_each_pixel(|at, cover| coverage[at] = cover.min(1.0));
        Self { left: left as i64, top: top as i64, width, coverage }
    }

    /// Returns the mask with every covered pixel spread to a disc.
    fn dilated(&self, radius: f32) -> Self {
        let reach = radius.ceil() as i64 + 1;
        let offsets: Vec<(i64, i64, f32)> = (-reach..=reach)
            .flat_map(|dy| {
                (-reach..=reach).map(move |dx| (dx, dy, (radius + 0.5 - (dx as f32).hypot(dy as f32)).clamp(0.0, 1.0)))
            })
            .filter(|(_, _, cover)| *cover > 0.0)
            .collect();
        let (width, height) = (self.width as i64, self.coverage.len().checked_div(self.width).unwrap_or(0) as i64);
        let mut coverage = vec![0f32; self.coverage.len()];
        for (at, &cover) in self.coverage.iter().enumerate().filter(|(_, cover)| **cover > 0.0) {
            let (x, y) = (at as i64 % width, at as i64 / width);
            for &(dx, dy, spread) in &offsets {
                let (x, y) = (x + dx, y + dy);
                if (0..width).contains(&x) && (0..height).contains(&y) {
                    let cell = &mut coverage[(y * width + x) as usize];
                    *cell = cell.max(cover * spread);
                }
            }
        }
        Self { coverage, ..*self }
    }

    fn draw(&self, canvas: &mut Canvas, color: Rgb, opacity: f32) {
        for (at, &cover) in self.coverage.iter().enumerate().filter(|(_, cover)| **cover > 0.0) {
            let (x, y) = ((at % self.width) as i64, (at / self.width) as i64);
            canvas.blend(self.left + x, self.top + y, color, cover * opacity);
        }
    }
}

/// Returns the outline of a glyph in pixels.
fn outline(line: &GlyphLine, glyph: &Glyph, [left, baseline]: [f32; 2], size: f32) -> Vec<PathElement> {
    let face = &line.faces[glyph.face];
    let (scale, [dx, dy]) = (face.unit() * size, glyph.position);
    let at = |x: f32, y: f32| (left + dx * size + x * scale, baseline - dy * size - y * scale);
    let place = |part: PathElement| match part {
        PathElement::MoveTo { x, y } => {
            let (x, y) = at(x, y);
            PathElement::MoveTo { x, y }
        }
        PathElement::LineTo { x, y } => {
            let (x, y) = at(x, y);
            PathElement::LineTo { x, y }
        }
        PathElement::QuadTo { cx0, cy0, x, y } => {
            let ((cx0, cy0), (x, y)) = (at(cx0, cy0), at(x, y));
            PathElement::QuadTo { cx0, cy0, x, y }
        }
        PathElement::CurveTo { cx0, cy0, cx1, cy1, x, y } => {
            let ((cx0, cy0), (cx1, cy1), (x, y)) = (at(cx0, cy0), at(cx1, cy1), at(x, y));
            PathElement::CurveTo { cx0, cy0, cx1, cy1, x, y }
        }
        PathElement::Close => PathElement::Close,
    };
    face.outline(glyph.id).into_iter().map(place).collect()
}

/// Returns the end of a part of a path and its control points.
fn points(part: PathElement) -> [Option<Point>; 3] {
    match part {
        PathElement::MoveTo { x, y } | PathElement::LineTo { x, y } => [Some(point(x, y)), None, None],
        PathElement::QuadTo { cx0, cy0, x, y } => [Some(point(x, y)), Some(point(cx0, cy0)), None],
        PathElement::CurveTo { cx0, cy0, cx1, cy1, x, y } => {
            [Some(point(x, y)), Some(point(cx0, cy0)), Some(point(cx1, cy1))]
        }
        PathElement::Close => [None; 3],
    }
}

fn fill(rasterizer: &mut Rasterizer, path: &[PathElement], [left, top]: [f32; 2]) {
    let at = |x: f32, y: f32| point(x - left, y - top);
    let (mut start, mut last) = (point(0.0, 0.0), point(0.0, 0.0));
    for &part in path {
        match part {
            PathElement::MoveTo { x, y } => (start, last) = (at(x, y), at(x, y)),
            PathElement::LineTo { x, y } => {
                rasterizer.draw_line(last, at(x, y));
                last = at(x, y);
            }
            PathElement::QuadTo { cx0, cy0, x, y } => {
                rasterizer.draw_quad(last, at(cx0, cy0), at(x, y));
                last = at(x, y);
            }
            PathElement::CurveTo { cx0, cy0, cx1, cy1, x, y } => {
                rasterizer.draw_cubic(last, at(cx0, cy0), at(cx1, cy1), at(x, y));
                last = at(x, y);
            }
            PathElement::Close => {
                rasterizer.draw_line(last, start);
                last = start;
            }
        }
    }
}
