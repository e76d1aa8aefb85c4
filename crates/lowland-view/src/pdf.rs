//! Writes a scene as a PDF page, with the parts of the fonts that it uses.

mod fonts;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::color::Rgb;
use crate::error::{PictureError, Result};
use crate::raster::{RING_THICKNESS, rasterize_cloud, tile_border};
use crate::scene::{
    Disc, Ellipse, HALO_OPACITY, HALO_WIDTH, ImageTile, Line, OUTLINE_OPACITY, PointCloud, PointStyle, Rect, Scene,
    SceneItem, Text, UncertaintyEllipse,
};
use crate::text::{font_size, glyph_line};
use fonts::PageFonts;

/// Pixels per inch unless specified: a picture of 1600 pixels is 480 points (17 cm) wide, and its text has a size of 7.5 points.
const DEFAULT_DPI: f32 = 240.0;

/// Typographic points per pixel.
fn points_per_pixel(scene: &Scene) -> f32 {
    72.0 / scene.dpi.unwrap_or(DEFAULT_DPI)
}

/// Number of the object of the first image.
const FIRST_IMAGE: usize = 6;

/// Number of distinct opacities.
const OPACITY_STEPS: usize = 255;

/// Returns the contents of the file.
pub(crate) fn write(scene: &Scene) -> Result<Vec<u8>> {
    let mut page = PdfPage::new(scene);
    for item in &scene.items {
        match item {
            SceneItem::Cloud(cloud) => match rasterize_cloud(cloud, scene.background) {
                Some(tile) => page.tile(&tile),
                None => page.points(cloud, scene.background),
            },
            SceneItem::Boxes(boxes) => boxes.iter().for_each(|&(rect, color)| page.rect(rect, color)),
            SceneItem::Discs(discs) => discs.iter().for_each(|&disc| page.disc(disc)),
            SceneItem::Rings(rings) => rings.iter().for_each(|&disc| page.ring(disc)),
            SceneItem::Lines(lines) => lines.iter().for_each(|&line| page.line(line)),
            SceneItem::Tiles(tiles) => tiles.iter().for_each(|tile| page.tile(tile)),
            SceneItem::Texts(texts) => texts.iter().for_each(|text| page.text(text)),
        }
    }
    page.file(scene)
}

/// The drawing operators of the page, and the images they refer to.
struct PdfPage {
    content: String,
    images: Vec<(usize, Vec<[u8; 3]>)>,
    fonts: PageFonts,
    /// Current colors and opacity, which are written only when they change.
    fill: Option<Rgb>,
    stroke: Option<Rgb>,
    opacity: usize,
    /// All opacities in use.
    opacities: BTreeSet<usize>,
}

impl PdfPage {
    fn new(scene: &Scene) -> Self {
        let mut page = Self {
            content: String::new(),
            images: Vec::new(),
            fonts: PageFonts::default(),
            fill: None,
            stroke: None,
            opacity: OPACITY_STEPS,
            opacities: BTreeSet::new(),
        };
        let scale = points_per_pixel(scene);
        // Transforms pixels from the top to points from the bottom. Line caps and joins are round.
        let _ = writeln!(page.content, "{scale} 0 0 -{scale} 0 {} cm 1 J 1 j", scene.height as f32 * scale);
        let (right, bottom) = (scene.width as f32, scene.height as f32);
        page.rect(Rect { left: 0.0, top: 0.0, right, bottom }, scene.background);
        page
    }

    fn fill(&mut self, color: Rgb) {
        if self.fill.replace(color) != Some(color) {
            let _ = write!(self.content, "{} rg ", numbers(&color));
        }
    }

    fn stroke(&mut self, color: Rgb) {
        if self.stroke.replace(color) != Some(color) {
            let _ = write!(self.content, "{} RG ", numbers(&color));
        }
    }

    fn opacity(&mut self, opacity: f32) {
        // A small opacity is not rounded to zero.
        let step = ((opacity * OPACITY_STEPS as f32).round() as usize).clamp(1, OPACITY_STEPS);
        if step != self.opacity {
            self.opacity = step;
            self.opacities.insert(step);
            let _ = write!(self.content, "/A{step} gs ");
        }
    }

    fn rect(&mut self, rect: Rect, color: Rgb) {
        self.fill(color);
        let sides = numbers(&[rect.left, rect.top, rect.width(), rect.height()]);
        let _ = writeln!(self.content, "{sides} re f");
    }

    /// Draws a disc as a line of length zero with round caps.
    fn disc(&mut self, Disc { center, radius, color }: Disc) {
        self.stroke(color);
        let center = numbers(&center);
        let _ = writeln!(self.content, "{} w {center} m {center} l S", numbers(&[2.0 * radius]));
    }

    fn line(&mut self, line: Line) {
        let [from, to] = line.ends.map(|end| numbers(&end));
        for (width, color) in line.layers() {
            self.stroke(color);
            let _ = writeln!(self.content, "{} w {from} m {to} l S", numbers(&[width]));
        }
    }

    fn ring(&mut self, Disc { center, radius, color }: Disc) {
        self.outline(center, Ellipse::circle(f64::from(radius)), color, RING_THICKNESS * radius);
    }

    /// Draws an outline inside of the edge of an ellipse.
    fn outline(&mut self, center: [f32; 2], ellipse: Ellipse, color: Rgb, width: f32) {
        self.stroke(color);
        let _ = write!(self.content, "{} w ", numbers(&[width]));
        let radii = ellipse.radii.map(|radius| (radius - width / 2.0).max(0.0));
        self.path(center, Ellipse { radii, ..ellipse }, "S");
    }

    /// Writes an ellipse as four Bezier curves, followed by a painting operator.
    fn path(&mut self, [x, y]: [f32; 2], ellipse: Ellipse, operator: &str) {
        let point = |u: f32, v: f32| {
            let [dx, dy] = ellipse.point_at([u, v]);
            [x + dx, y + dy]
        };
        let _ = write!(self.content, "{} m ", numbers(&point(1.0, 0.0)));
        // Distance of the control points for the best approximation of a circle.
        let h = 0.5523;
        for [ax, ay, bx, by, cx, cy] in [
            [1.0, h, h, 1.0, 0.0, 1.0],
            [-h, 1.0, -1.0, h, -1.0, 0.0],
            [-1.0, -h, -h, -1.0, 0.0, -1.0],
            [h, -1.0, 1.0, -h, 1.0, 0.0],
        ] {
            let curve = [point(ax, ay), point(bx, by), point(cx, cy)];
            let _ = write!(self.content, "{} c ", numbers(curve.as_flattened()));
        }
        let _ = writeln!(self.content, "{operator}");
    }

    fn points(&mut self, cloud: &PointCloud, background: Rgb) {
        let PointStyle::Dots { radius, opacity, halo } = cloud.style else { return };
        let color = |i: usize| cloud.colors[cloud.color_indices[i] as usize];
        if cloud.ellipses.is_some() {
            let frame = [cloud.frame.left, cloud.frame.top, cloud.frame.width(), cloud.frame.height()];
            let before = (self.fill, self.stroke, self.opacity);
            let _ = writeln!(self.content, "q {} re W n", numbers(&frame));
            for UncertaintyEllipse { center, ellipse, color, opacity, outline } in cloud.uncertainty_ellipses() {
                self.opacity(opacity);
                self.fill(color);
                self.path(center, ellipse, "f");
                if outline > 0.0 {
                    self.opacity(OUTLINE_OPACITY);
                    self.outline(center, ellipse, color, outline);
                }
            }
            self.content.push_str("Q\n");
            (self.fill, self.stroke, self.opacity) = before;
        }
        for (i, &center) in cloud.positions.iter().enumerate() {
            let weight = cloud.weights.as_ref().map_or(1.0, |weights| weights[i]);
            if halo > 0.0 {
                self.opacity(0.9 * weight);
                self.disc(Disc { center, radius: radius + halo, color: background });
            }
            self.opacity(opacity * weight);
            self.disc(Disc { center, radius, color: color(i) });
        }
        self.opacity(1.0);
    }

    fn tile(&mut self, tile: &ImageTile) {
        let Rect { left, bottom, .. } = tile.rect;
        // Images are unit squares whose first row is at the top, in coordinates that point up.
        let matrix = numbers(&[tile.rect.width(), 0.0, 0.0, -tile.rect.height(), left, bottom]);
        let _ = writeln!(self.content, "q {matrix} cm /I{} Do Q", self.images.len());
        self.images.push((tile.width, tile.pixels.clone()));
        if let Some(color) = tile.border {
            tile_border(tile.rect).into_iter().for_each(|side| self.rect(side, color));
        }
    }

    fn text(&mut self, text: &Text) {
        let (line, size) = (glyph_line(&text.content, text.bold), font_size(text.height));
        let left = text.position[0] - text.anchor.fraction() * line.width * size;
        // The y axis of the page is flipped, so text is flipped back.
        let matrix = numbers(&[1.0, 0.0, 0.0, -1.0, left, text.position[1]]);
        let shown = self.fonts.show(&line, &text.content, size);
        if let Some(halo) = text.halo {
            self.stroke(halo);
            self.opacity(HALO_OPACITY);
            let _ = write!(self.content, "{} w ", numbers(&[2.0 * HALO_WIDTH * text.height]));
            let _ = writeln!(self.content, "/Artifact BMC BT 1 Tr {matrix} Tm {shown}ET EMC");
            self.opacity(1.0);
        }
        self.fill(text.color);
        let _ = writeln!(self.content, "BT 0 Tr {matrix} Tm {shown}ET");
    }

    fn file(self, scene: &Scene) -> Result<Vec<u8>> {
        let mut file = PdfObjects::new();
        let [width, height] = [scene.width, scene.height].map(|pixels| pixels as f32 * points_per_pixel(scene));
        // Objects: 1 catalog, 2 page tree, 3 page, 4 content, 5 document information, then images, then fonts.
        let state = |step: &usize| {
            let opacity = numbers(&[*step as f32 / OPACITY_STEPS as f32]);
            format!("/A{step} << /ca {opacity} /CA {opacity} >> ")
        };
        let states: String = self.opacities.iter().map(state).collect();
        let images: String = (0..self.images.len()).map(|at| format!("/I{at} {} 0 R ", FIRST_IMAGE + at)).collect();
        let first_font = FIRST_IMAGE + self.images.len();
        let fonts = self.fonts.resources(first_font);
        file.add("<< /Type /Catalog /Pages 2 0 R >>");
        file.add("<< /Type /Pages /Kids [3 0 R] /Count 1 >>");
        file.add(&format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {}] /Contents 4 0 R /Resources << /Font << {fonts}>> \
             /ExtGState << {states}>> /XObject << {images}>> >> >>",
            numbers(&[width, height])
        ));
        file.stream("", self.content.as_bytes())?;
        let title: String = scene.title.encode_utf16().map(|unit| format!("{unit:04x}")).collect();
        file.add(&format!("<< /Title <feff{title}> /Creator (lowland) >>"));
        for (width, pixels) in &self.images {
            let dictionary = format!(
                "/Type /XObject /Subtype /Image /Width {width} /Height {} /ColorSpace /DeviceRGB /BitsPerComponent 8 ",
                pixels.len() / width
            );
            file.stream(&dictionary, pixels.as_flattened())?;
        }
        self.fonts.write(first_font, &mut file)?;
        Ok(file.finish())
    }
}

/// Formats numbers with up to three decimals.
fn numbers(values: &[f32]) -> String {
    let format = |v: &f32| format!("{v:.3}").trim_end_matches('0').trim_end_matches('.').to_string();
    values.iter().map(format).collect::<Vec<_>>().join(" ")
}

/// The objects of a PDF file and their offsets.
struct PdfObjects {
    bytes: Vec<u8>,
    offsets: Vec<usize>,
}

impl PdfObjects {
    fn new() -> Self {
        // A comment with bytes outside of ASCII marks the file as binary.
        Self { bytes: b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n".to_vec(), offsets: Vec::new() }
    }

    fn add(&mut self, body: &str) {
        self.begin();
        self.bytes.extend(body.as_bytes());
        self.bytes.extend(b"\nendobj\n");
    }

    fn begin(&mut self) {
        self.offsets.push(self.bytes.len());
        let head = format!("{} 0 obj\n", self.offsets.len());
        self.bytes.extend(head.as_bytes());
    }

    fn stream(&mut self, dictionary: &str, body: &[u8]) -> Result<()> {
        let compress = || -> std::io::Result<Vec<u8>> {
            let mut compressed = ZlibEncoder::new(Vec::new(), Compression::default());
            compressed.write_all(body)?;
            compressed.finish()
        };
        let compressed = compress().map_err(|error| PictureError::Encoding { reason: error.to_string() })?;
        self.begin();
        let head = format!("<< {dictionary}/Filter /FlateDecode /Length {} >>\nstream\n", compressed.len());
        self.bytes.extend(head.as_bytes());
        self.bytes.extend(compressed);
        self.bytes.extend(b"\nendstream\nendobj\n");
        Ok(())
    }

    /// Appends the cross-reference table and the trailer.
    fn finish(mut self) -> Vec<u8> {
        let table = self.bytes.len();
        let count = self.offsets.len() + 1;
        let mut tail = format!("xref\n0 {count}\n0000000000 65535 f \n");
        self.offsets.iter().for_each(|start| tail.push_str(&format!("{start:010} 00000 n \n")));
        tail.push_str(&format!("trailer\n<< /Size {count} /Root 1 0 R /Info 5 0 R >>\nstartxref\n{table}\n%%EOF\n"));
        self.bytes.extend(tail.as_bytes());
        self.bytes
    }
}
