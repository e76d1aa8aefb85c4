//! Text as outlines of glyphs, each defined once.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use harfrust::font::glyph::outline::PathElement;

use super::{escape_xml, format_number, hex};
use crate::scene::{HALO_OPACITY, HALO_WIDTH, Text};
use crate::text::{FontFace, font_size, glyph_line};

/// Units of the outlines per font size.
const UNITS: f32 = 1000.0;

/// The glyphs of a picture by font and number.
#[derive(Default)]
pub(super) struct GlyphOutlines(BTreeMap<(usize, u16), Arc<FontFace>>);

impl GlyphOutlines {
    /// Draws a line of text, and writes it invisibly on top, so that it can be selected and searched.
    pub fn write_text(&mut self, out: &mut String, text: &Text) {
        let (line, size) = (glyph_line(&text.content, text.bold), font_size(text.height));
        let (width, color) = (line.width * size, hex(text.color));
        let left = text.position[0] - text.anchor.fraction() * width;
        let scale = size / UNITS;
        let place = format!(
            "translate({} {}) scale({scale:.5} -{scale:.5})",
            format_number(left),
            format_number(text.position[1])
        );
        let halo = text.halo.map_or(String::new(), |halo| {
            let thickness = format_number(2.0 * HALO_WIDTH * text.height / scale);
            let halo = hex(halo);
            format!(
                " stroke=\"{halo}\" stroke-width=\"{thickness}\" stroke-opacity=\"{HALO_OPACITY}\" stroke-linejoin=\"round\" \
                 paint-order=\"stroke\""
            )
        });
        let _ = write!(out, "<g transform=\"{place}\" fill=\"{color}\"{halo} aria-hidden=\"true\">");
        // A halo belongs to the whole line: below all of its letters.
        let passes = if text.halo.is_some() { 2 } else { 1 };
        for pass in 0..passes {
            if pass == 1 {
                let _ = write!(out, "</g><g transform=\"{place}\" fill=\"{color}\" aria-hidden=\"true\">");
            }
            for glyph in &line.glyphs {
                let face = &line.faces[glyph.face];
                self.0.entry((face.id, glyph.id)).or_insert_with(|| face.clone());
                let [x, y] = glyph.position.map(|v| format_number(v * UNITS));
                let y = if y == "0" { String::new() } else { format!(" y=\"{y}\"") };
                let _ = write!(out, "<use href=\"#g{}-{}\" x=\"{x}\"{y}/>", face.id, glyph.id);
            }
        }
        let [x, y, font, length] = [left, text.position[1], size, width].map(format_number);
        let bold = if text.bold { " font-weight=\"600\"" } else { "" };
        let content = escape_xml(&text.content);
        let _ = writeln!(
            out,
            "</g><text x=\"{x}\" y=\"{y}\" font-size=\"{font}\" textLength=\"{length}\" lengthAdjust=\"spacingAndGlyphs\" \
             fill-opacity=\"0\"{bold}>{content}</text>"
        );
    }

    /// Writes the outlines of the glyphs in use.
    pub fn write_definitions(&self, out: &mut String) {
        if self.0.is_empty() {
            return;
        }
        out.push_str("<defs>\n");
        for (&(id, glyph), face) in &self.0 {
            let _ = writeln!(
                out,
                "<path id=\"g{id}-{glyph}\" d=\"{}\"/>",
                path_data(&face.outline(glyph), face.unit() * UNITS)
            );
        }
        out.push_str("</defs>\n");
    }
}

/// Returns a path in the notation of SVG.
fn path_data(path: &[PathElement], scale: f32) -> String {
    let mut out = String::new();
    for part in path {
        let (letter, numbers): (char, &[f32]) = match part {
            PathElement::MoveTo { x, y } => ('M', &[*x, *y]),
            PathElement::LineTo { x, y } => ('L', &[*x, *y]),
            PathElement::QuadTo { cx0, cy0, x, y } => ('Q', &[*cx0, *cy0, *x, *y]),
            PathElement::CurveTo { cx0, cy0, cx1, cy1, x, y } => ('C', &[*cx0, *cy0, *cx1, *cy1, *x, *y]),
            PathElement::Close => ('Z', &[]),
        };
        out.push(letter);
        for (at, number) in numbers.iter().enumerate() {
            let text = format_number((number * scale * 10.0).round() / 10.0);
            // A minus sign separates numbers too.
            if at > 0 && !text.starts_with('-') {
                out.push(' ');
            }
            out.push_str(&text);
        }
    }
    out
}
