//! Text of a picture: fonts, shaping, widths, and breaking into lines.

mod fonts;
mod sanitize;
mod shaping;

pub use fonts::embedded_fonts;
pub(crate) use fonts::{CAP_HEIGHT, FontFace};
pub(crate) use sanitize::sanitize;
pub(crate) use shaping::{Glyph, GlyphLine, font_size, glyph_line};

/// Ends text that was cut.
const ELLIPSIS: &str = "…";

/// Characters are wider than this, relative to the font size, except accents.
const NARROWEST: f32 = 0.2;

/// Returns the width of a line of text, given the height of a capital letter.
pub(crate) fn width(text: &str, height: f32) -> f32 {
    glyph_line(text, false).width * font_size(height)
}

/// Returns the width of a line of bold text.
pub(crate) fn bold_width(text: &str, height: f32) -> f32 {
    glyph_line(text, true).width * font_size(height)
}

/// Truncates text with an ellipsis to a width. The time does not depend on the length of the text.
pub(crate) fn truncate(text: &str, height: f32, max_width: f32) -> String {
    // A text with more characters is too wide.
    let most = (max_width / (NARROWEST * font_size(height))).max(0.0) as usize + 16;
    let start: String = text.chars().take(most).collect();
    let fits = |text: &str| width(text, height) <= max_width + 1e-3;
    if start.len() == text.len() && fits(&start) {
        return start;
    }
    let with_ellipsis = |end: usize| start[..end].trim_end().to_owned() + ELLIPSIS;
    let ends: Vec<usize> = start.char_indices().map(|(at, letter)| at + letter.len_utf8()).collect();
    // The widths of the beginnings of a text increase with their lengths, up to kerning.
    match ends.partition_point(|&end| fits(&with_ellipsis(end))) {
        0 => String::new(),
        count => with_ellipsis(ends[count - 1]),
    }
}

/// Breaks text into lines of at most a width, at spaces and next to Chinese, Japanese and Korean characters; a longer word is truncated.
pub(crate) fn wrap(text: &str, height: f32, max_width: f32) -> Vec<String> {
    let (space, mut left) = (width(" ", height), 0.0);
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        for (at, part) in breakable_parts(word).into_iter().enumerate() {
            let part = truncate(part, height, max_width);
            let (needed, gap) = (width(&part, height), if at == 0 { space } else { 0.0 });
            match lines.last_mut() {
                Some(line) if gap + needed <= left => {
                    line.push_str(if at == 0 { " " } else { "" });
                    line.push_str(&part);
                    left -= gap + needed;
                }
                _ => {
                    lines.push(part);
                    left = max_width - needed;
                }
            }
        }
    }
    lines
}

/// Splits a word where a line may end within it.
fn breakable_parts(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut after_ideograph = false;
    for (at, letter) in word.char_indices() {
        let ideograph = is_ideograph(letter);
        if at > start && (ideograph || after_ideograph) && letter.is_alphanumeric() {
            parts.push(&word[start..at]);
            start = at;
        }
        after_ideograph = ideograph;
    }
    parts.push(&word[start..]);
    parts
}

fn is_ideograph(letter: char) -> bool {
    matches!(letter, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3fffd}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_truncated_and_wrapped_to_a_width() {
        let max_width = width("neighbors", 12.0);
        assert_eq!(truncate("neighbors", 12.0, max_width), "neighbors");
        let cut = truncate("neighbors and more", 12.0, max_width);
        assert!(cut.ends_with('…') && cut.len() > 6 && width(&cut, 12.0) <= max_width + 0.01, "{cut}");
        assert_eq!(wrap("a b neighbors", 12.0, max_width + 0.1), ["a b", "neighbors"]);
        assert_eq!(truncate("wide", 12.0, 1.0), "");
        assert_eq!(width("", 12.0), 0.0);
    }

    #[test]
    fn lines_end_between_ideographs() {
        // The characters of tests/fonts, which all have the same width.
        let lines = wrap("中文中文中文中文", 12.0, 3.5 * width("中", 12.0));
        assert!(lines.len() == 3 && lines.concat() == "中文中文中文中文", "{lines:?}");
    }

    #[test]
    fn very_long_text_is_truncated_quickly() {
        let long = "\u{4e2d}<".repeat(5_000_000);
        assert!(truncate(&long, 12.0, 300.0).ends_with('…'));
        let word = "x".repeat(10_000_000);
        assert_eq!(wrap(&word, 12.0, 300.0).len(), 1);
    }
}
