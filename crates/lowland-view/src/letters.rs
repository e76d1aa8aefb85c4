//! Letters beyond our own: what may stand in a picture's text, plain spellings, and the widths of Helvetica.

/// The text without what is no letter: control characters, marks that turn the direction of the text around them, and code points
/// that XML forbids. Breaks become spaces.
pub(crate) fn clean(text: &str) -> String {
    let kept = |letter: &char| {
        !letter.is_control()
            && !matches!(*letter, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
            && (*letter as u32) & 0xfffe != 0xfffe
            && !('\u{fdd0}'..='\u{fdef}').contains(letter)
    };
    let spaced = text.chars().map(|letter| if letter.is_whitespace() { ' ' } else { letter });
    spaced.filter(kept).collect::<String>().trim().to_string()
}

/// Latin letters from U+00C0, without their accents.
const PLAIN: &str = concat!(
    "AAAAAAACEEEEIIIIDNOOOOOxOUUUUYTsaaaaaaaceeeeiiiidnooooo/ouuuuyty",
    "AaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIiIiJjKkkLlLlLlLlLl",
    "NnNnNnnNnOoOoOoOoRrRrRrSsSsSsSsTtTtTtUuUuUuUuUuUuWwYyYZzZzZzs"
);

/// The letter of printable ASCII that stands for a letter; `?` where none does.
pub(crate) fn plain(letter: char) -> char {
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
        '\u{c0}'..='\u{17f}' => char::from(PLAIN.as_bytes()[letter as usize - 0xc0]),
        _ => '?',
    }
}

/// Whether the letter is about twice as wide as others (Hangul, Han, Kana, emoji).
pub(crate) fn is_wide(letter: char) -> bool {
    matches!(letter, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe4f}' | '\u{ff00}'..='\u{ff60}' | '\u{1f300}'..='\u{1faff}' | '\u{20000}'..='\u{3fffd}')
}

/// The byte that a font of the Windows code page 1252 has for a letter, or for its plain spelling.
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
        _ => UPPER.iter().find(|(known, _)| *known == letter).map_or(plain(letter) as u8, |(_, byte)| *byte),
    }
}

/// Widths of Helvetica from the space on, in thousandths of the size.
const HELVETICA: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833,
    722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556,
    556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334,
    260, 334, 584,
];

/// The height of a capital in Helvetica, of the size of the font.
pub(crate) const CAPITAL: f32 = 0.718;

/// Width of a line of Helvetica when a capital is `height` high; accents do not widen a letter, bold does a little.
pub(crate) fn helvetica_width(text: &str, height: f32, bold: bool) -> f32 {
    let width = |letter: char| match letter {
        '\u{2014}' | '\u{2026}' | '\u{152}' | '\u{c6}' | '\u{2122}' => 1000.0,
        '\u{153}' | '\u{e6}' => 900.0,
        '\u{2013}' | '\u{20ac}' => 556.0,
        _ => f32::from(HELVETICA[plain(letter) as usize - ' ' as usize]),
    };
    let wider = if bold { 1.06 } else { 1.0 };
    text.chars().map(width).sum::<f32>() / 1000.0 * height / CAPITAL * wider
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_are_dropped_and_the_rest_is_a_question_mark() {
        let spelled = |text: &str| text.chars().map(plain).collect::<String>();
        assert_eq!(PLAIN.len(), 0x180 - 0xc0);
        assert_eq!(
            spelled("Ångström Žižek façade ÿ İstanbul Łódź ŉ ſ naïve"),
            "Angstrom Zizek facade y Istanbul Lodz n s naive"
        );
        assert_eq!(spelled("Œuvre œ Ŋŋ Ŵŵ Ŧŧ Ĳ"), "Ouvre o Nn Ww Tt I");
        assert_eq!(spelled("\u{4e2d}\u{5d0}"), "??");
        assert_eq!((win_ansi('é'), win_ansi('—'), win_ansi('\u{5d0}'), win_ansi('ł')), (0xe9, 0x97, b'?', b'l'));
    }

    #[test]
    fn nothing_that_steers_the_text_is_left() {
        assert_eq!(clean("\u{202e}evil\u{0}\u{7f}\n\ttext\u{fffe}\u{2066} \u{200f}x\u{1ffff}"), "evil  text x");
        assert_eq!(clean("שלום <b>&"), "שלום <b>&");
    }
}
