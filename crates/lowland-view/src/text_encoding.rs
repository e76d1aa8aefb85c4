//! Text of a picture: sanitization, ASCII substitutes, the Windows-1252 encoding, and the metrics of Helvetica.

/// Removes control characters, directional formatting characters and code points that XML forbids; replaces line breaks by spaces.
pub(crate) fn sanitize(text: &str) -> String {
    let is_allowed = |letter: &char| {
        !letter.is_control()
            && !matches!(*letter, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
            && (*letter as u32) & 0xfffe != 0xfffe
            && !('\u{fdd0}'..='\u{fdef}').contains(letter)
    };
    let spaced = text.chars().map(|letter| if letter.is_whitespace() { ' ' } else { letter });
    spaced.filter(is_allowed).collect::<String>().trim().to_string()
}

/// ASCII substitutes of the Latin letters from U+00C0.
const LATIN_TO_ASCII: &str = concat!(
    "AAAAAAACEEEEIIIIDNOOOOOxOUUUUYTsaaaaaaaceeeeiiiidnooooo/ouuuuyty",
    "AaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIiIiJjKkkLlLlLlLlLl",
    "NnNnNnnNnOoOoOoOoRrRrRrSsSsSsSsTtTtTtUuUuUuUuUuUuWwYyYZzZzZzs"
);

/// Returns the printable ASCII substitute of a character, or `?` if there is none.
pub(crate) fn to_ascii(letter: char) -> char {
    match letter {
        ' '..='~' => letter,
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' => ' ',
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{ad}' => '-',
        '\u{2018}' | '\u{2019}' | '\u{b4}' | '\u{2032}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{ab}' | '\u{bb}' => '"',
        '\u{b7}' | '\u{2022}' | '\u{2026}' => '.',
        '\u{b2}' | '\u{b3}' => char::from(b'0' + (letter as u32 - 0xb0) as u8),
        '\u{b9}' => '1',
        '\u{b5}' | '\u{3bc}' => 'u',
        '\u{c0}'..='\u{17f}' => char::from(LATIN_TO_ASCII.as_bytes()[letter as usize - 0xc0]),
        _ => '?',
    }
}

/// Whether a character is about twice as wide as Latin letters (Hangul, Han, Kana, emoji).
pub(crate) fn is_wide(letter: char) -> bool {
    matches!(letter, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe4f}' | '\u{ff00}'..='\u{ff60}' | '\u{1f300}'..='\u{1faff}' | '\u{20000}'..='\u{3fffd}')
}

/// Returns the byte of a character, or of its ASCII substitute, in Windows code page 1252.
pub(crate) fn win_ansi(letter: char) -> u8 {
    const UPPER: [(char, u8); 17] = [
        ('\u{20ac}', 0x80),
        ('\u{2026}', 0x85),
        ('\u{160}', 0x8a),
        ('\u{152}', 0x8c),
        ('\u{17d}', 0x8e),
        ('\u{2018}', 0x91),
        ('\u{2019}', 0x92),
        ('\u{201c}', 0x93),
        ('\u{201d}', 0x94),
        ('\u{2022}', 0x95),
        ('\u{2013}', 0x96),
        ('\u{2014}', 0x97),
        ('\u{2122}', 0x99),
        ('\u{161}', 0x9a),
        ('\u{153}', 0x9c),
        ('\u{17e}', 0x9e),
        ('\u{178}', 0x9f),
    ];
    match letter {
        ' '..='~' | '\u{a0}'..='\u{ff}' => letter as u8,
        _ => UPPER.iter().find(|(known, _)| *known == letter).map_or(to_ascii(letter) as u8, |(_, byte)| *byte),
    }
}

/// Widths of the characters of Helvetica from the space on, in thousandths of the font size.
const HELVETICA: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833,
    722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556,
    556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334,
    260, 334, 584,
];

/// Height of a capital letter of Helvetica, relative to the font size.
pub(crate) const CAP_HEIGHT: f32 = 0.718;

/// Returns the width of a line of text in Helvetica, given the height of a capital letter.
pub(crate) fn helvetica_width(text: &str, height: f32, bold: bool) -> f32 {
    let width = |letter: char| match letter {
        '\u{2014}' | '\u{2026}' | '\u{152}' | '\u{c6}' | '\u{2122}' => 1000.0,
        '\u{153}' | '\u{e6}' => 900.0,
        '\u{2013}' | '\u{20ac}' => 556.0,
        _ => f32::from(HELVETICA[to_ascii(letter) as usize - ' ' as usize]),
    };
    let bold_factor = if bold { 1.06 } else { 1.0 };
    text.chars().map(width).sum::<f32>() / 1000.0 * height / CAP_HEIGHT * bold_factor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_are_dropped_and_unknown_characters_become_question_marks() {
        let ascii = |text: &str| text.chars().map(to_ascii).collect::<String>();
        assert_eq!(LATIN_TO_ASCII.len(), 0x180 - 0xc0);
        assert_eq!(
            ascii("Ångström Žižek façade ÿ İstanbul Łódź ŉ ſ naïve"),
            "Angstrom Zizek facade y Istanbul Lodz n s naive"
        );
        assert_eq!(ascii("Œuvre œ Ŋŋ Ŵŵ Ŧŧ Ĳ"), "Ouvre o Nn Ww Tt I");
        assert_eq!(ascii("\u{4e2d}\u{5d0}"), "??");
        assert_eq!((win_ansi('é'), win_ansi('—'), win_ansi('\u{5d0}'), win_ansi('ł')), (0xe9, 0x97, b'?', b'l'));
    }

    #[test]
    fn control_and_formatting_characters_are_removed() {
        assert_eq!(sanitize("\u{202e}evil\u{0}\u{7f}\n\ttext\u{fffe}\u{2066} \u{200f}x\u{1ffff}"), "evil  text x");
        assert_eq!(sanitize("שלום <b>&"), "שלום <b>&");
    }
}
