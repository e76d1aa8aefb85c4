//! From text to glyphs: bidirectional order, fonts of the characters, ligatures and positions.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use harfrust::{Buffer, Direction, ShapeOptions, ShaperFont, shape};
use unicode_bidi::{BidiInfo, Level};

use super::fonts::{CAP_HEIGHT, FontFace, face_with, main_face};

/// A glyph of a line of text.
#[derive(Clone)]
pub(crate) struct Glyph {
    /// Index in the faces of the line.
    pub face: usize,
    pub id: u16,
    /// Origin relative to the start of the line on the baseline, in units of the font size; y points up.
    pub position: [f32; 2],
    /// Bytes of the text that the glyph stands for, together with the other glyphs of the same range.
    pub text: Range<usize>,
}

/// A line of text as glyphs, from left to right.
#[derive(Clone, Default)]
pub(crate) struct GlyphLine {
    pub faces: Vec<Arc<FontFace>>,
    pub glyphs: Vec<Glyph>,
    /// Width relative to the font size.
    pub width: f32,
    /// Characters that no font has; each is drawn as a box.
    pub missing: BTreeSet<char>,
}

/// Returns the font size at which capital letters have a height.
pub(crate) fn font_size(cap_height: f32) -> f32 {
    cap_height / CAP_HEIGHT
}

/// Converts a line of text to glyphs.
pub(crate) fn glyph_line(text: &str, bold: bool) -> GlyphLine {
    let mut line = GlyphLine::default();
    if text.is_ascii() {
        line.push_run(text, 0..text.len(), false, bold);
        return line;
    }
    let bidi = BidiInfo::new(text, None);
    for paragraph in &bidi.paragraphs {
        let (levels, runs) = bidi.visual_runs(paragraph, paragraph.range.clone());
        for run in runs {
            let is_rtl = levels.get(run.start).is_some_and(Level::is_rtl);
            line.push_run(text, run, is_rtl, bold);
        }
    }
    line
}

impl GlyphLine {
    /// Appends text of one direction.
    fn push_run(&mut self, text: &str, run: Range<usize>, is_rtl: bool, bold: bool) {
        let mut parts: Vec<(Arc<FontFace>, Range<usize>)> = Vec::new();
        let main = main_face(bold);
        for (at, letter) in text[run.clone()].char_indices() {
            let end = run.start + at + letter.len_utf8();
            // Accents and joiners stay with the letter before them, spaces with the word.
            if let Some((face, before)) = parts.last_mut()
                && (follows(letter) || letter == ' ' && face.charmap().map_unicode(letter).is_some())
            {
                before.end = end;
                continue;
            }
            let found = face_with(letter, bold);
            if found.is_none() {
                self.missing.insert(letter);
            }
            let face = found.unwrap_or_else(|| main.clone());
            match parts.last_mut() {
                Some((last, before)) if last.id == face.id => before.end = end,
                _ => parts.push((face, run.start + at..end)),
            }
        }
        if is_rtl {
            parts.reverse();
        }
        for (face, part) in parts {
            self.push_part(text, &face, part, is_rtl);
        }
    }

    /// Appends text of one direction and one font.
    fn push_part(&mut self, text: &str, face: &Arc<FontFace>, part: Range<usize>, is_rtl: bool) {
        let at = self.faces.iter().position(|known| known.id == face.id).unwrap_or_else(|| {
            self.faces.push(face.clone());
            self.faces.len() - 1
        });
        let mut buffer = Buffer::new();
        buffer.push_str(&text[part.clone()]);
        buffer.set_pre_context(&text[..part.start]);
        buffer.set_post_context(&text[part.end..]);
        buffer.guess_segment_properties();
        buffer.set_direction(if is_rtl { Direction::RightToLeft } else { Direction::LeftToRight });
        // Fails only for buffers without a direction or with glyphs.
        if shape(&ShaperFont::new(&face.font), &mut buffer, ShapeOptions::new()).is_err() {
            return;
        }
        let unit = face.unit();
        let infos = buffer.glyph_infos();
        let mut starts: Vec<usize> = infos.iter().map(|info| part.start + info.cluster as usize).collect();
        starts.push(part.end);
        starts.sort_unstable();
        starts.dedup();
        for (info, position) in infos.iter().zip(buffer.glyph_positions()) {
            let start = part.start + info.cluster as usize;
            let end = starts[starts.partition_point(|&other| other <= start)];
            let [dx, dy] = [position.x_offset, position.y_offset].map(|offset| offset as f32 * unit);
            self.glyphs.push(Glyph {
                face: at,
                id: info.glyph_id as u16,
                position: [self.width + dx, dy],
                text: start..end,
            });
            self.width += position.x_advance as f32 * unit;
        }
    }
}

/// Whether a character modifies the one before it: an accent, a joiner or a variation selector.
fn follows(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36f}' | '\u{200c}' | '\u{200d}' | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{1f3fb}'..='\u{1f3ff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clusters(text: &str) -> Vec<&str> {
        glyph_line(text, false).glyphs.iter().map(|glyph| &text[glyph.text.clone()]).collect()
    }

    #[test]
    fn hebrew_and_arabic_run_from_right_to_left() {
        assert_eq!(clusters("אבג"), ["ג", "ב", "א"]);
        // Numbers within them do not.
        assert_eq!(clusters("a אב 12"), ["a", " ", "1", "2", " ", "ב", "א"]);
    }

    #[test]
    fn arabic_letters_are_joined() {
        let forms = |text: &str| glyph_line(text, false).glyphs.iter().map(|glyph| glyph.id).collect::<Vec<_>>();
        // The letter has a form of its own at each place of a word, and alone. Its dot is a glyph too.
        let (alone, word) = (forms("ب"), forms("ببب"));
        let bases: BTreeSet<u16> =
            word.iter().copied().filter(|id| word.iter().filter(|other| *other == id).count() == 1).collect();
        assert!(bases.len() == 3 && alone.iter().all(|id| !bases.contains(id)), "{alone:?} {word:?}");
    }

    #[test]
    fn accents_stay_with_their_letters_and_missing_characters_are_reported() {
        let composed = glyph_line("e\u{301}x", false);
        assert_eq!(composed.glyphs[0].text, 0..3);
        assert!(composed.missing.is_empty());
        let missing = glyph_line("a\u{10fffd}b", true);
        assert_eq!(missing.missing.iter().copied().collect::<Vec<_>>(), ['\u{10fffd}']);
        assert!(missing.glyphs.len() == 3 && missing.glyphs[1].id == 0);
    }

    #[test]
    fn positions_advance_from_left_to_right_and_letters_are_kerned() {
        let line = glyph_line("AVAVA", false);
        assert!(line.glyphs.windows(2).all(|pair| pair[0].position[0] < pair[1].position[0]));
        let alone = glyph_line("A", false).width + glyph_line("V", false).width;
        assert!(glyph_line("AV", false).width < alone);
        assert_eq!(glyph_line("", false).width, 0.0);
    }
}
