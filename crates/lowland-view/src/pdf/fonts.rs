//! The fonts of a PDF page, reduced to the glyphs that it uses, with a table from glyphs back to text.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use subsetter::GlyphRemapper;

use super::{PdfObjects, numbers};
use crate::error::{PictureError, Result};
use crate::text::{CAP_HEIGHT, FontFace, Glyph, GlyphLine};

/// The fonts of a page, in the order of first use.
#[derive(Default)]
pub(super) struct PageFonts {
    fonts: Vec<PageFont>,
    /// Position in `fonts` by the id of the face.
    by_id: HashMap<usize, usize>,
}

struct PageFont {
    face: Arc<FontFace>,
    /// Numbers of the glyphs in the reduced font.
    glyphs: GlyphRemapper,
    /// Text of each number.
    text: BTreeMap<u16, String>,
}

/// Number of objects of a font: the font, its descendant, its descriptor, its file and its table of text.
const OBJECTS: usize = 5;

impl PageFonts {
    /// Returns the operators that show a line of text from the current position.
    pub fn show(&mut self, line: &GlyphLine, content: &str, size: f32) -> String {
        let mut out = String::new();
        let (mut current, mut rise) = (None, 0.0);
        // Position after the glyphs so far, relative to the font size.
        let mut x = 0.0;
        let same_text = |a: &Glyph, b: &Glyph| a.text == b.text;
        let mut at = 0;
        // Several glyphs for the same text, such as a letter and its accent, are marked with it.
        for cluster in line.glyphs.chunk_by(same_text) {
            let is_marked = cluster.len() > 1;
            if is_marked {
                let units = utf16_hex(&content[cluster[0].text.clone()]);
                let _ = write!(out, "/Span<</ActualText<feff{units}>>> BDC ");
            }
            for glyph in cluster {
                let (font, number) = self.glyph(line, at, content);
                at += 1;
                let [target, y] = glyph.position;
                let y = if y.abs() * size < 0.0005 { 0.0 } else { y };
                if current != Some(font) {
                    let _ = write!(out, "/F{font} {} Tf ", numbers(&[size]));
                }
                if y != rise {
                    let _ = write!(out, "{} Ts ", numbers(&[y * size]));
                }
                (current, rise) = (Some(font), y);
                // Consecutive glyphs are shown by one operator.
                let joined = !is_marked && out.ends_with("] TJ ");
                out.truncate(out.len() - if joined { "] TJ ".len() } else { 0 });
                out.push_str(if joined { "" } else { "[" });
                if (target - x).abs() > 0.0005 {
                    let _ = write!(out, "{}", numbers(&[(x - target) * 1000.0]));
                }
                let _ = write!(out, "<{number:04x}>] TJ ");
                x = target + line.faces[glyph.face].advance(glyph.id);
            }
            if is_marked {
                out.push_str("EMC ");
            }
        }
        if rise != 0.0 {
            out.push_str("0 Ts ");
        }
        out
    }

    /// Returns the font of a glyph and its number in the reduced font.
    fn glyph(&mut self, line: &GlyphLine, at: usize, content: &str) -> (usize, u16) {
        let glyph = &line.glyphs[at];
        let face = &line.faces[glyph.face];
        let font = *self.by_id.entry(face.id).or_insert_with(|| {
            self.fonts.push(PageFont { face: face.clone(), glyphs: GlyphRemapper::new(), text: BTreeMap::new() });
            self.fonts.len() - 1
        });
        let known = &mut self.fonts[font];
        let number = known.glyphs.remap(glyph.id);
        // Of several glyphs for the same text, the first one stands for it.
        let is_first = at.checked_sub(1).is_none_or(|before| line.glyphs[before].text != glyph.text);
        let text = if is_first { &content[glyph.text.clone()] } else { "" };
        known.text.entry(number).or_insert_with(|| text.into());
        (font, number)
    }

    /// Returns the entries of the dictionary of resources, given the number of the object of the first font.
    pub fn resources(&self, first: usize) -> String {
        (0..self.fonts.len()).map(|at| format!("/F{at} {} 0 R ", first + at * OBJECTS)).collect()
    }

    /// Writes the objects of all fonts.
    pub fn write(&self, first: usize, file: &mut PdfObjects) -> Result<()> {
        self.fonts.iter().enumerate().try_for_each(|(at, font)| font.write(first + at * OBJECTS, at, file))
    }
}

impl PageFont {
    fn write(&self, object: usize, at: usize, file: &mut PdfObjects) -> Result<()> {
        let FontFace { file: whole, index, is_cff, .. } = &*self.face;
        let reduced = subsetter::subset(whole, *index, &self.glyphs);
        let reduced = reduced.map_err(|error| PictureError::Encoding {
            reason: format!("the font {} cannot be embedded: {error}", self.face.name),
        })?;
        // The tag in front of the name says that the font is a part of another.
        let tag: String = format!("{at:06}").bytes().map(|digit| char::from(digit - b'0' + b'A')).collect();
        let name: String =
            self.face.name.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-').collect();
        let name = format!("{tag}+{name}");
        file.add(&format!(
            "<< /Type /Font /Subtype /Type0 /BaseFont /{name} /Encoding /Identity-H /DescendantFonts [{} 0 R] /ToUnicode {} 0 R >>",
            object + 1,
            object + 4
        ));
        let subtype = if *is_cff { "CIDFontType0" } else { "CIDFontType2 /CIDToGIDMap /Identity" };
        let advances: Vec<f32> = self.glyphs.remapped_gids().map(|glyph| 1000.0 * self.face.advance(glyph)).collect();
        file.add(&format!(
            "<< /Type /Font /Subtype /{subtype} /BaseFont /{name} /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) \
             /Supplement 0 >> /FontDescriptor {} 0 R /DW 1000 /W [0 [{}]] >>",
            object + 2,
            numbers(&advances)
        ));
        let metrics = self.face.font.metrics();
        let unit = 1000.0 * self.face.unit();
        let bounds = [metrics.bounds.x_min, metrics.bounds.y_min, metrics.bounds.x_max, metrics.bounds.y_max];
        let line = metrics.hhea_line.as_ref();
        let (ascent, descent) =
            line.map_or((800.0, -200.0), |line| (line.ascender.to_f32() * unit, line.descender.to_f32() * unit));
        let file_key = if *is_cff { "FontFile3" } else { "FontFile2" };
        file.add(&format!(
            "<< /Type /FontDescriptor /FontName /{name} /Flags 4 /FontBBox [{}] /ItalicAngle 0 /Ascent {} /Descent {} \
             /CapHeight {} /StemV 80 /{file_key} {} 0 R >>",
            numbers(&bounds.map(|side| side.to_f32() * unit)),
            numbers(&[ascent]),
            numbers(&[descent]),
            numbers(&[1000.0 * CAP_HEIGHT]),
            object + 3
        ));
        let dictionary =
            if *is_cff { "/Subtype /CIDFontType0C ".into() } else { format!("/Length1 {} ", reduced.len()) };
        file.stream(&dictionary, &reduced)?;
        file.stream("", self.text_table().as_bytes())
    }

    /// Returns the table from the numbers of the glyphs to text.
    fn text_table(&self) -> String {
        let mut out = String::from(
            "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n\
             /CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n\
             /CMapName /Adobe-Identity-UCS def /CMapType 2 def\n\
             1 begincodespacerange <0000> <ffff> endcodespacerange\n",
        );
        let known: Vec<(&u16, &String)> = self.text.iter().filter(|(_, text)| !text.is_empty()).collect();
        // A block has at most a hundred entries.
        for block in known.chunks(100) {
            let _ = writeln!(out, "{} beginbfchar", block.len());
            for (number, text) in block {
                let units = utf16_hex(text);
                let _ = writeln!(out, "<{number:04x}> <{units}>");
            }
            out.push_str("endbfchar\n");
        }
        out + "endcmap CMapName currentdict /CMap defineresource pop end end\n"
    }
}

/// Returns text as hexadecimal digits of UTF-16.
fn utf16_hex(text: &str) -> String {
    text.encode_utf16().map(|unit| format!("{unit:04x}")).collect()
}
