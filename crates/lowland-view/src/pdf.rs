//! Writes a scene as a PDF page: shapes and text in Helvetica, which every reader has.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use lowland::{Error, Result};

use crate::color::Rgb;
use crate::letters::{CAPITAL, helvetica_width, win_ansi};
use crate::raster::{self, HALO, RING, tile_border};
use crate::scene::{Cloud, Disc, Doubt, Ellipse, Item, OUTLINE, Rect, Scene, Style, Text, Tile};

/// Points of a page for a pixel: the usual picture of 1600 pixels is 480 points or 17 cm wide, and its text of 7.5 points.
const POINTS: f32 = 0.3;

/// Opacities come in so many steps.
const OPACITIES: usize = 255;

/// The file.
pub(crate) fn write(scene: &Scene) -> Result<Vec<u8>> {
    let mut page = Page::new(scene);
    for item in &scene.items {
        match item {
            Item::Cloud(cloud) => match raster::pixels(cloud, scene.ground) {
                Some(pixels) => page.tile(&pixels),
                None => page.points(cloud, scene.ground),
            },
            Item::Boxes(boxes) => boxes.iter().for_each(|&(place, color)| page.rect(place, color)),
            Item::Discs(discs) => discs.iter().for_each(|&disc| page.dot(disc)),
            Item::Rings(rings) => rings.iter().for_each(|&disc| page.ring(disc)),
            Item::Tiles(tiles) => tiles.iter().for_each(|tile| page.tile(tile)),
            Item::Texts(texts) => texts.iter().for_each(|text| page.text(text)),
        }
    }
    page.file(scene).map_err(|error| Error::Format { what: "picture", reason: error.to_string() })
}

/// The page's drawing commands, and the images they name.
struct Page {
    content: String,
    images: Vec<(usize, Vec<[u8; 3]>)>,
    /// What was set last, so that it is not set again.
    fill: Option<Rgb>,
    stroke: Option<Rgb>,
    opacity: usize,
    /// The opacities that were set.
    opacities: BTreeSet<usize>,
}

impl Page {
    fn new(scene: &Scene) -> Self {
        let mut page = Self {
            content: String::new(),
            images: Vec::new(),
            fill: None,
            stroke: None,
            opacity: OPACITIES,
            opacities: BTreeSet::new(),
        };
        // From pixels that count down from the top to points that count up. Ends and joins of lines are round.
        let _ = writeln!(page.content, "{POINTS} 0 0 -{POINTS} 0 {} cm 1 J 1 j", scene.height as f32 * POINTS);
        let (right, bottom) = (scene.width as f32, scene.height as f32);
        page.rect(Rect { left: 0.0, top: 0.0, right, bottom }, scene.ground);
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
        // What is meant to be seen is not rounded to nothing.
        let step = ((opacity * OPACITIES as f32).round() as usize).clamp(1, OPACITIES);
        if step != self.opacity {
            self.opacity = step;
            self.opacities.insert(step);
            let _ = write!(self.content, "/A{step} gs ");
        }
    }

    fn rect(&mut self, place: Rect, color: Rgb) {
        self.fill(color);
        let sides = numbers(&[place.left, place.top, place.width(), place.height()]);
        let _ = writeln!(self.content, "{sides} re f");
    }

    /// A line of no length with round ends is a disc.
    fn dot(&mut self, Disc { at, radius, color }: Disc) {
        self.stroke(color);
        let place = numbers(&at);
        let _ = writeln!(self.content, "{} w {place} m {place} l S", numbers(&[2.0 * radius]));
    }

    fn ring(&mut self, Disc { at, radius, color }: Disc) {
        self.outline(at, Ellipse::circle(f64::from(radius)), color, RING * radius);
    }

    /// A line of some width inside of the edge.
    fn outline(&mut self, at: [f32; 2], ellipse: Ellipse, color: Rgb, width: f32) {
        self.stroke(color);
        let _ = write!(self.content, "{} w ", numbers(&[width]));
        let reach = ellipse.reach.map(|reach| (reach - width / 2.0).max(0.0));
        self.curve(at, Ellipse { reach, ..ellipse }, "S");
    }

    /// Four curves, whose handles are at the usual 0.5523 of the radius, and what is done with them.
    fn curve(&mut self, [x, y]: [f32; 2], ellipse: Ellipse, done: &str) {
        let place = |u: f32, v: f32| {
            let [dx, dy] = ellipse.at([u, v]);
            [x + dx, y + dy]
        };
        let _ = write!(self.content, "{} m ", numbers(&place(1.0, 0.0)));
        let h = 0.5523;
        for [ax, ay, bx, by, cx, cy] in [
            [1.0, h, h, 1.0, 0.0, 1.0],
            [-h, 1.0, -1.0, h, -1.0, 0.0],
            [-1.0, -h, -h, -1.0, 0.0, -1.0],
            [h, -1.0, 1.0, -h, 1.0, 0.0],
        ] {
            let curve = [place(ax, ay), place(bx, by), place(cx, cy)];
            let _ = write!(self.content, "{} c ", numbers(curve.as_flattened()));
        }
        let _ = writeln!(self.content, "{done}");
    }

    fn points(&mut self, cloud: &Cloud, ground: Rgb) {
        let Style::Dots { radius, opacity, halo } = cloud.style else { return };
        let color = |i: usize| cloud.colors[cloud.index[i] as usize];
        if cloud.ellipses.is_some() {
            let frame = [cloud.frame.left, cloud.frame.top, cloud.frame.width(), cloud.frame.height()];
            let before = (self.fill, self.stroke, self.opacity);
            let _ = writeln!(self.content, "q {} re W n", numbers(&frame));
            for Doubt { at, ellipse, color, opacity, outline } in cloud.doubts() {
                self.opacity(opacity);
                self.fill(color);
                self.curve(at, ellipse, "f");
                if outline > 0.0 {
                    self.opacity(OUTLINE);
                    self.outline(at, ellipse, color, outline);
                }
            }
            self.content.push_str("Q\n");
            (self.fill, self.stroke, self.opacity) = before;
        }
        for (i, &at) in cloud.at.iter().enumerate() {
            let weight = cloud.weight.as_ref().map_or(1.0, |weight| weight[i]);
            if halo > 0.0 {
                self.opacity(0.9 * weight);
                self.dot(Disc { at, radius: radius + halo, color: ground });
            }
            self.opacity(opacity * weight);
            self.dot(Disc { at, radius, color: color(i) });
        }
        self.opacity(1.0);
    }

    fn tile(&mut self, tile: &Tile) {
        let Rect { left, bottom, .. } = tile.place;
        // An image is one unit wide and high, its first row at the top of a page that counts up.
        let matrix = numbers(&[tile.place.width(), 0.0, 0.0, -tile.place.height(), left, bottom]);
        let _ = writeln!(self.content, "q {matrix} cm /I{} Do Q", self.images.len());
        self.images.push((tile.width, tile.pixels.clone()));
        if let Some(color) = tile.border {
            tile_border(tile.place).into_iter().for_each(|side| self.rect(side, color));
        }
    }

    fn text(&mut self, text: &Text) {
        let left = text.at[0] - text.anchor.share() * helvetica_width(&text.content, text.height, text.bold);
        let string: String = text.content.chars().map(|letter| format!("{:02x}", win_ansi(letter))).collect();
        let font = if text.bold { "F2" } else { "F1" };
        // The page is upside down, so the letters are turned once more.
        let matrix = numbers(&[1.0, 0.0, 0.0, -1.0, left, text.at[1]]);
        let line = format!("BT /{font} {} Tf {matrix} Tm", numbers(&[text.height / CAPITAL]));
        if let Some(halo) = text.halo {
            self.stroke(halo);
            self.opacity(0.85);
            let _ = writeln!(self.content, "{} w {line} 1 Tr <{string}> Tj ET", numbers(&[2.0 * HALO * text.height]));
            self.opacity(1.0);
        }
        self.fill(text.color);
        let _ = writeln!(self.content, "{line} 0 Tr <{string}> Tj ET");
    }

    fn file(self, scene: &Scene) -> std::io::Result<Vec<u8>> {
        let mut file = Objects::new();
        let (width, height) = (scene.width as f32 * POINTS, scene.height as f32 * POINTS);
        // Objects: 1 catalogue, 2 pages, 3 page, 4 content, 5 and 6 fonts, 7 about the document, then images.
        let state = |step: &usize| {
            let opacity = numbers(&[*step as f32 / OPACITIES as f32]);
            format!("/A{step} << /ca {opacity} /CA {opacity} >> ")
        };
        let states: String = self.opacities.iter().map(state).collect();
        let images: String = (0..self.images.len()).map(|at| format!("/I{at} {} 0 R ", 8 + at)).collect();
        file.add("<< /Type /Catalog /Pages 2 0 R >>");
        file.add("<< /Type /Pages /Kids [3 0 R] /Count 1 >>");
        file.add(&format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {}] /Contents 4 0 R /Resources << /Font << /F1 5 0 R /F2 6 0 R >> \
             /ExtGState << {states}>> /XObject << {images}>> >> >>",
            numbers(&[width, height])
        ));
        file.stream("", self.content.as_bytes())?;
        for font in ["Helvetica", "Helvetica-Bold"] {
            let font = format!("/Type /Font /Subtype /Type1 /BaseFont /{font} /Encoding /WinAnsiEncoding");
            file.add(&format!("<< {font} >>"));
        }
        let title: String = scene.title.encode_utf16().map(|unit| format!("{unit:04x}")).collect();
        file.add(&format!("<< /Title <feff{title}> /Creator (lowland) >>"));
        for (wide, pixels) in &self.images {
            let about = format!(
                "/Type /XObject /Subtype /Image /Width {wide} /Height {} /ColorSpace /DeviceRGB /BitsPerComponent 8 ",
                pixels.len() / wide
            );
            file.stream(&about, pixels.as_flattened())?;
        }
        Ok(file.finish())
    }
}

/// Numbers with three decimals, without zeros at their ends.
fn numbers(values: &[f32]) -> String {
    let short = |v: &f32| format!("{v:.3}").trim_end_matches('0').trim_end_matches('.').to_string();
    values.iter().map(short).collect::<Vec<_>>().join(" ")
}

/// Numbered objects, and where each begins.
struct Objects {
    bytes: Vec<u8>,
    starts: Vec<usize>,
}

impl Objects {
    fn new() -> Self {
        // Bytes beyond ASCII in a comment tell programs that move the file that it is not text.
        Self { bytes: b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n".to_vec(), starts: Vec::new() }
    }

    fn add(&mut self, body: &str) {
        self.begin();
        self.bytes.extend(body.as_bytes());
        self.bytes.extend(b"\nendobj\n");
    }

    fn begin(&mut self) {
        self.starts.push(self.bytes.len());
        let head = format!("{} 0 obj\n", self.starts.len());
        self.bytes.extend(head.as_bytes());
    }

    fn stream(&mut self, about: &str, body: &[u8]) -> std::io::Result<()> {
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
        packed.write_all(body)?;
        let packed = packed.finish()?;
        self.begin();
        let head = format!("<< {about}/Filter /FlateDecode /Length {} >>\nstream\n", packed.len());
        self.bytes.extend(head.as_bytes());
        self.bytes.extend(packed);
        self.bytes.extend(b"\nendstream\nendobj\n");
        Ok(())
    }

    /// With the table of where the objects are.
    fn finish(mut self) -> Vec<u8> {
        let table = self.bytes.len();
        let count = self.starts.len() + 1;
        let mut tail = format!("xref\n0 {count}\n0000000000 65535 f \n");
        self.starts.iter().for_each(|start| tail.push_str(&format!("{start:010} 00000 n \n")));
        tail.push_str(&format!("trailer\n<< /Size {count} /Root 1 0 R /Info 7 0 R >>\nstartxref\n{table}\n%%EOF\n"));
        self.bytes.extend(tail.as_bytes());
        self.bytes
    }
}
