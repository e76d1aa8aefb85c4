//! The fonts of pictures: embedded ones for European languages, Hebrew and Arabic, and those of the system for all other scripts.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use harfrust::GlyphId;
use harfrust::font::charmap::Charmap;
use harfrust::font::glyph::outline::{DrawMemory, DrawOptions, OutlineSource, PathElement};
use harfrust::font::{Blob, Font};

/// A font, parsed.
pub(crate) struct FontFace {
    pub font: Font,
    /// The file, and the index of the font in it.
    pub file: Blob,
    pub index: u32,
    /// PostScript name, for PDF files.
    pub name: String,
    /// Whether the outlines are cubic (CFF) rather than quadratic (TrueType).
    pub is_cff: bool,
    /// Position in `EMBEDDED`, or after these, among the fonts of the system: identifies the font within a process.
    pub id: usize,
}

impl FontFace {
    fn new(file: Blob, index: u32, name: String, id: usize) -> Option<Self> {
        let font = Font::new(file.clone(), index)?;
        // Other outlines cannot be embedded in PDF files.
        let is_cff = match font.outline_glyphs().source()? {
            OutlineSource::Glyf => false,
            OutlineSource::Cff => true,
            _ => return None,
        };
        Some(Self { font, file, index, name, is_cff, id })
    }

    pub fn charmap(&self) -> Charmap<'_> {
        self.font.charmap()
    }

    /// Returns the characters of the font as ranges in increasing order.
    fn ranges(&self) -> Vec<[u32; 2]> {
        let mut letters: Vec<u32> = self.charmap().unicodes().map(|(letter, _)| letter).collect();
        letters.sort_unstable();
        let mut ranges: Vec<[u32; 2]> = Vec::new();
        for letter in letters {
            match ranges.last_mut() {
                Some(last) if letter <= last[1] + 1 => last[1] = letter,
                _ => ranges.push([letter; 2]),
            }
        }
        ranges
    }

    /// Factor from the units of the font to the font size.
    pub fn unit(&self) -> f32 {
        1.0 / f32::from(self.font.units_per_em())
    }

    /// Default distance from this glyph to the next, relative to the font size.
    pub fn advance(&self, glyph: u16) -> f32 {
        self.font.glyph_metrics().h_advance(GlyphId::from(glyph)) * self.unit()
    }

    /// Returns the outline of a glyph in the units of the font; the y axis points up.
    pub fn outline(&self, glyph: u16) -> Vec<PathElement> {
        let mut path = Vec::new();
        let drawn = self.font.outline_glyphs().get(GlyphId::from(glyph)).map(|outline| {
            let memory = DrawMemory::default();
            outline.draw(&DrawOptions::new(), memory, &mut path)
        });
        // A glyph that is damaged is empty.
        if !matches!(drawn, Some(Ok(_))) {
            path.clear();
        }
        path
    }
}

/// PostScript names and files of the embedded fonts: regular and bold, Hebrew, Arabic.
const FILES: [(&str, &[u8]); 4] = [
    ("Inter-Regular", include_bytes!("../../assets/fonts/Inter-Regular.ttf")),
    ("Inter-SemiBold", include_bytes!("../../assets/fonts/Inter-SemiBold.ttf")),
    ("NotoSansHebrew-Regular", include_bytes!("../../assets/fonts/NotoSansHebrew-Regular.ttf")),
    ("NotoSansArabic-Regular", include_bytes!("../../assets/fonts/NotoSansArabic-Regular.ttf")),
];

/// Returns the PostScript names and the files (TrueType) of the fonts of pictures, for other programs that draw maps.
pub fn embedded_fonts() -> [(&'static str, &'static [u8]); 4] {
    FILES
}

/// The embedded fonts.
static EMBEDDED: LazyLock<[Arc<FontFace>; 4]> = LazyLock::new(|| {
    let mut id = 0..;
    FILES.map(|(name, file)| {
        let face = FontFace::new(Blob::from(file), 0, name.into(), id.next().unwrap_or_default());
        Arc::new(face.expect("the embedded fonts are valid, see the tests"))
    })
});

/// Height of a capital letter of the embedded fonts, relative to the font size.
pub(crate) const CAP_HEIGHT: f32 = 1490.0 / 2048.0;

/// Returns the main font.
pub(crate) fn main_face(bold: bool) -> Arc<FontFace> {
    EMBEDDED[usize::from(bold)].clone()
}

/// Returns the first font that has a character: embedded fonts, then those of the system.
pub(crate) fn face_with(letter: char, bold: bool) -> Option<Arc<FontFace>> {
    let main = &EMBEDDED[usize::from(bold)];
    let embedded = std::iter::once(main).chain(&EMBEDDED[2..]);
    let has = |face: &&Arc<FontFace>| face.charmap().map_unicode(letter).is_some();
    embedded
        .into_iter()
        .find(has)
        .cloned()
        .or_else(|| SYSTEM.lock().unwrap_or_else(PoisonError::into_inner).find(letter))
}

/// The fonts of the system. They are listed when the first character needs them, and each is read once, in the order of preference,
/// until one has the character.
struct SystemFonts {
    database: fontdb::Database,
    /// Fonts in the order of preference, and the ranges of characters of the first of them.
    order: Vec<fontdb::ID>,
    ranges: Vec<Vec<[u32; 2]>>,
    /// Fonts in use by their position in `order`.
    loaded: HashMap<usize, Arc<FontFace>>,
}

static SYSTEM: LazyLock<Mutex<SystemFonts>> = LazyLock::new(|| Mutex::new(SystemFonts::new()));

/// Families of the system in order of preference; others follow by name.
const PREFERRED: [&str; 8] = [
    "Noto Sans CJK SC",
    "Noto Sans",
    "Source Han Sans",
    "PingFang SC",
    "Microsoft YaHei",
    "Segoe UI",
    "Arial Unicode MS",
    "DejaVu Sans",
];

impl SystemFonts {
    fn new() -> Self {
        let mut database = fontdb::Database::new();
        database.load_system_fonts();
        // So that tests draw ideographs on any machine.
        #[cfg(test)]
        database.load_font_data(tests::IDEOGRAPHS.to_vec());
        Self::with(database)
    }

    fn with(database: fontdb::Database) -> Self {
        let mut faces: Vec<&fontdb::FaceInfo> = database.faces().collect();
        // Fonts with serifs, of fixed width, of other weights and other styles come last.
        faces.sort_by_cached_key(|face| {
            let family = face.families.first().map_or(String::new(), |(name, _)| name.clone());
            let rank = PREFERRED.iter().position(|known| family.starts_with(known)).unwrap_or(PREFERRED.len());
            let is_regular = face.style == fontdb::Style::Normal && face.weight == fontdb::Weight::NORMAL;
            let is_sans = !family.contains("Serif") && !face.monospaced;
            (!is_regular, !is_sans, rank, family, face.post_script_name.clone(), face.index)
        });
        let order = faces.into_iter().map(|face| face.id).collect();
        Self { database, order, ranges: Vec::new(), loaded: HashMap::new() }
    }

    fn find(&mut self, letter: char) -> Option<Arc<FontFace>> {
        for at in 0..self.order.len() {
            if at == self.ranges.len() {
                let ranges = self.load(at).map_or(Vec::new(), |face| face.ranges());
                self.ranges.push(ranges);
            }
            let after = self.ranges[at].partition_point(|range| range[1] < letter as u32);
            if self.ranges[at].get(after).is_some_and(|range| range[0] <= letter as u32) {
                if !self.loaded.contains_key(&at) {
                    let face = self.load(at)?;
                    self.loaded.insert(at, Arc::new(face));
                }
                return self.loaded.get(&at).cloned();
            }
        }
        None
    }

    /// Reads a font; returns `None` if it cannot be read or embedded in files.
    fn load(&self, at: usize) -> Option<FontFace> {
        let name = self.database.face(self.order[at])?.post_script_name.clone();
        let parse = |file: &[u8], index| FontFace::new(Blob::from(file.to_vec()), index, name, EMBEDDED.len() + at);
        self.database.with_face_data(self.order[at], parse)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two fonts in one file; the first has 文, the second 中 (tests/fonts/make.py).
    pub(super) const IDEOGRAPHS: &[u8] = include_bytes!("../../tests/fonts/ideographs.ttc");

    #[test]
    fn ideographs_are_found_in_any_font_of_a_collection() {
        let mut database = fontdb::Database::new();
        database.load_font_data(IDEOGRAPHS.to_vec());
        let mut fonts = SystemFonts::with(database);
        for (letter, index, name) in [('文', 0, "LowlandTest-6587"), ('中', 1, "LowlandTest-4E2D")] {
            let face = fonts.find(letter).unwrap_or_else(|| panic!("no font has {letter}"));
            assert_eq!((face.index, face.name.as_str(), face.is_cff), (index, name, false));
            let glyph = face.charmap().map_unicode(letter).unwrap().to_u32() as u16;
            assert!(face.outline(glyph).len() > 8 && face.advance(glyph) > 0.9, "{letter} has an outline");
        }
        assert!(fonts.find('漢').is_none());
    }

    #[test]
    fn embedded_fonts_hold_european_scripts_hebrew_and_arabic() {
        for letter in "Az09é…ĐαΩЖя€−→אשبﷲ".chars().filter(|&letter| letter != 'ﷲ') {
            assert!(face_with(letter, false).is_some_and(|face| face.id < 4), "{letter}");
        }
        for bold in [false, true] {
            let face = main_face(bold);
            let metrics = face.font.metrics();
            let cap_height = metrics.cap_height.unwrap().to_f32() / f32::from(metrics.units_per_em);
            assert!((cap_height - CAP_HEIGHT).abs() < 1e-3, "{cap_height}");
        }
    }

    #[test]
    fn a_private_character_is_in_no_font() {
        assert!(face_with('\u{10fffd}', false).is_none());
        assert!(face_with('\u{10fffd}', false).is_none(), "known from the first search");
    }
}
