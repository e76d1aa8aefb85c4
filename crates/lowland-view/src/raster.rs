//! Renders a scene to pixels, with antialiasing.

use crate::canvas::Canvas;
use crate::color::Rgb;
use crate::scene::{
    Disc, ImageTile, Line, OUTLINE_OPACITY, PointCloud, PointStyle, Rect, Scene, SceneItem, UncertaintyEllipse,
    tile_border_width,
};

mod density;
mod glyphs;

pub(crate) use density::box_blur;
pub(crate) use glyphs::draw_text;

/// Renders all items of a scene.
pub(crate) fn render(scene: &Scene) -> Canvas {
    let mut canvas = Canvas::new(scene.width, scene.height, scene.background);
    for item in &scene.items {
        match item {
            SceneItem::Cloud(points) => draw_cloud(&mut canvas, points, scene.background),
            SceneItem::Boxes(boxes) => boxes.iter().for_each(|&(rect, color)| fill_rect(&mut canvas, rect, color)),
            SceneItem::Discs(discs) => discs.iter().for_each(|&each| draw_disc(&mut canvas, each)),
            SceneItem::Rings(rings) => rings.iter().for_each(|&each| draw_ring(&mut canvas, each)),
            SceneItem::Lines(lines) => lines.iter().for_each(|&line| draw_line(&mut canvas, line)),
            SceneItem::Tiles(tiles) => tiles.iter().for_each(|each| draw_tile(&mut canvas, each)),
            SceneItem::Texts(texts) => texts.iter().for_each(|line| draw_text(&mut canvas, line)),
        }
    }
    canvas
}

/// Vector files contain more points than this as pixels: viewers are slow with so many shapes, and pixels make smaller files.
const MAX_SHAPES: usize = 20_000;

/// Returns the points as pixels if a vector file cannot draw them as shapes.
pub(crate) fn rasterize_cloud(points: &PointCloud, background: Rgb) -> Option<ImageTile> {
    if matches!(points.style, PointStyle::Dots { .. }) && points.positions.len() <= MAX_SHAPES {
        return None;
    }
    let rect = points.frame.pixel_bounds();
    let mut canvas = Canvas::new(rect.width() as usize, rect.height() as usize, background);
    draw_cloud(&mut canvas, &points.relative_to(rect.left, rect.top), background);
    Some(ImageTile { rect, width: canvas.width, pixels: canvas.to_bytes(), border: None })
}

fn draw_cloud(canvas: &mut Canvas, points: &PointCloud, background: Rgb) {
    points.uncertainty_ellipses().for_each(|each| draw_ellipse(canvas, each, points.frame));
    match points.style {
        PointStyle::Density { blur, one_color } => {
            density::draw_density(canvas, points, blur, one_color.then_some(background))
        }
        PointStyle::Dots { radius, opacity, halo } => {
            let dot = DotSprite::new(radius);
            let halo = (halo > 0.0).then(|| DotSprite::new(radius + halo));
            for (i, (&at, &index)) in points.positions.iter().zip(&points.color_indices).enumerate() {
                let weight = points.weights.as_ref().map_or(1.0, |weights| weights[i]);
                if let Some(halo) = &halo {
                    halo.stamp(canvas, at, background, 0.9 * weight);
                }
                dot.stamp(canvas, at, points.colors[index as usize], opacity * weight);
            }
        }
    }
}

/// Fills a rectangle; a pixel at the edge is blended in proportion to the area inside.
pub(crate) fn fill_rect(canvas: &mut Canvas, rect: Rect, color: Rgb) {
    let overlap = |low: f32, high: f32, center: f32| ((high.min(center + 0.5)) - (low.max(center - 0.5))).max(0.0);
    let coverage = |x: f32, y: f32| overlap(rect.left, rect.right, x) * overlap(rect.top, rect.bottom, y);
    canvas.fill(rect, color, coverage);
}

fn draw_disc(canvas: &mut Canvas, Disc { center: [x, y], radius, color }: Disc) {
    let coverage = |px: f32, py: f32| (radius + 0.5 - (px - x).hypot(py - y)).clamp(0.0, 1.0);
    canvas.fill(Rect::centered([x, y], 2.0 * radius + 2.0, 2.0 * radius + 2.0), color, coverage);
}

/// Draws an ellipse and its outline, clipped to the frame.
fn draw_ellipse(canvas: &mut Canvas, drawn: UncertaintyEllipse, frame: Rect) {
    let UncertaintyEllipse { center, ellipse, color, opacity, outline } = drawn;
    let ([x, y], [cos, sin]) = (center, ellipse.direction);
    // A degenerate ellipse is one pixel wide.
    let [major, minor] = ellipse.radii.map(|radius| radius.max(0.5));
    // Signed distance from the edge to first order: with f = 1 at the edge, (f - 1) / |grad f|.
    let distance = |px: f32, py: f32| {
        let (dx, dy) = (px - x, py - y);
        let (u, v) = ((dx * cos + dy * sin) / major, (dy * cos - dx * sin) / minor);
        let f = u.hypot(v);
        if f > 0.0 { (f - 1.0) * f / (u / major).hypot(v / minor) } else { -minor }
    };
    let half_size = [(major * cos).hypot(minor * sin), (major * sin).hypot(minor * cos)];
    let bounds = Rect::centered(center, 2.0 * half_size[0] + 2.0, 2.0 * half_size[1] + 2.0);
    let bounds = Rect {
        left: bounds.left.max(frame.left),
        top: bounds.top.max(frame.top),
        right: bounds.right.min(frame.right),
        bottom: bounds.bottom.min(frame.bottom),
    };
    canvas.fill(bounds, color, |px, py| (0.5 - distance(px, py)).clamp(0.0, 1.0) * opacity);
    if outline > 0.0 {
        let half = (outline / 2.0).max(0.5);
        let coverage =
            |px: f32, py: f32| (half + 0.5 - (distance(px, py) + half).abs()).clamp(0.0, 1.0) * OUTLINE_OPACITY;
        canvas.fill(bounds, color, coverage);
    }
}

/// Draws an image, scaled by nearest neighbor.
fn draw_tile(canvas: &mut Canvas, tile: &ImageTile) {
    let Rect { left, top, right, bottom } = tile.rect;
    let (width, height) = (tile.width, tile.height());
    let index = |v: f32, low: f32, high: f32, count: usize| {
        (((v - low) / (high - low) * count as f32).max(0.0) as usize).min(count - 1)
    };
    for y in top.round() as i64..bottom.round() as i64 {
        for x in left.round() as i64..right.round() as i64 {
            let (column, row) = (index(x as f32 + 0.5, left, right, width), index(y as f32 + 0.5, top, bottom, height));
            canvas.blend(x, y, tile.pixels[row * width + column].map(|v| f32::from(v) / 255.0), 1.0);
        }
    }
    if let Some(color) = tile.border {
        tile_border(tile.rect).into_iter().for_each(|side| fill_rect(canvas, side, color));
    }
}

/// Returns the four sides of the border around an image.
pub(crate) fn tile_border(Rect { left, top, right, bottom }: Rect) -> [Rect; 4] {
    let t = tile_border_width(right - left);
    [
        Rect { left: left - t, top: top - t, right: right + t, bottom: top },
        Rect { left: left - t, top: bottom, right: right + t, bottom: bottom + t },
        Rect { left: left - t, top, right: left, bottom },
        Rect { left: right, top, right: right + t, bottom },
    ]
}

/// Thickness of a ring, relative to its radius.
pub(crate) const RING_THICKNESS: f32 = 0.36;

fn draw_ring(canvas: &mut Canvas, Disc { center: [x, y], radius, color }: Disc) {
    let half = (RING_THICKNESS * radius / 2.0).max(0.5);
    let coverage = |px: f32, py: f32| (half + 0.5 - ((px - x).hypot(py - y) - (radius - half)).abs()).clamp(0.0, 1.0);
    canvas.fill(Rect::centered([x, y], 2.0 * radius + 2.0, 2.0 * radius + 2.0), color, coverage);
}

fn draw_line(canvas: &mut Canvas, line: Line) {
    let [[ax, ay], [bx, by]] = line.ends;
    let (dx, dy) = (bx - ax, by - ay);
    let squared = (dx * dx + dy * dy).max(f32::MIN_POSITIVE);
    let distance = |x: f32, y: f32| {
        let along = (((x - ax) * dx + (y - ay) * dy) / squared).clamp(0.0, 1.0);
        (x - ax - along * dx).hypot(y - ay - along * dy)
    };
    for (width, color) in line.layers() {
        let half = width / 2.0;
        let reach = half + 1.0;
        let bounds = Rect {
            left: ax.min(bx) - reach,
            top: ay.min(by) - reach,
            right: ax.max(bx) + reach,
            bottom: ay.max(by) + reach,
        };
        canvas.fill(bounds, color, |x, y| (half + 0.5 - distance(x, y)).clamp(0.0, 1.0));
    }
}

/// Precomputed coverage of a disc at every quarter of a pixel, which makes drawing a point a table lookup.
struct DotSprite {
    side: usize,
    reach: i64,
    tables: Vec<Vec<f32>>,
}

/// Number of subpixel positions in each direction.
const SUBPIXELS: usize = 4;

impl DotSprite {
    fn new(radius: f32) -> Self {
        let reach = (radius + 1.0).ceil() as i64;
        let side = 2 * reach as usize + 1;
        // A disc smaller than a pixel covers the pixel in proportion to its area.
        let strength = (std::f32::consts::PI * radius * radius).min(1.0);
        let table = |part: usize| {
            let offset = |part: usize| (part as f32 + 0.5) / SUBPIXELS as f32 - 0.5;
            let (dx, dy) = (offset(part % SUBPIXELS), offset(part / SUBPIXELS));
            let cell = |at: usize| {
                let (x, y) = ((at % side) as f32 - reach as f32 - dx, (at / side) as f32 - reach as f32 - dy);
                (radius.max(0.5) + 0.5 - x.hypot(y)).clamp(0.0, 1.0) * strength
            };
            (0..side * side).map(cell).collect()
        };
        Self { side, reach, tables: (0..SUBPIXELS * SUBPIXELS).map(table).collect() }
    }

    fn stamp(&self, canvas: &mut Canvas, [x, y]: [f32; 2], color: Rgb, opacity: f32) {
        let (left, top) = (x.floor(), y.floor());
        let part = |v: f32| ((v * SUBPIXELS as f32) as usize).min(SUBPIXELS - 1);
        let table = &self.tables[part(y - top) * SUBPIXELS + part(x - left)];
        for (at, &cover) in table.iter().enumerate().filter(|(_, cover)| **cover > 0.0) {
            let (column, row) = ((at % self.side) as i64, (at / self.side) as i64);
            canvas.blend(left as i64 + column - self.reach, top as i64 + row - self.reach, color, cover * opacity);
        }
    }
}
