//! A built-in font of printable ASCII: glyphs on a grid of five by seven cells, with two more rows below the baseline.
//!
//! A glyph is drawn as strokes between adjacent marks of its grid, so that it can be scaled to any size.

use crate::text_encoding::{is_wide, to_ascii};

/// Height of a capital letter in rows.
const ASCENT: f32 = 6.0;

/// Glyphs from `!` to `~`, row by row from the top; rows below the baseline are present only where needed.
#[rustfmt::skip]
const GLYPHS: [&str; 94] = [
    /* ! */ "# # # # # . #",
    /* " */ "#.# #.# ... ... ... ... ...",
    /* # */ ".#.#. .#.#. ##### .#.#. ##### .#.#. .#.#.",
    /* $ */ "..#.. .#### #.#.. .###. ..#.# ####. ..#..",
    /* % */ "##... ##..# ...#. ..#.. .#... #..## ...##",
    /* & */ ".##.. #..#. #.#.. .#... #.#.# #..#. .##.#",
    /* ' */ "# # . . . . .",
    /* ( */ "..# .#. #.. #.. #.. .#. ..#",
    /* ) */ "#.. .#. ..# ..# ..# .#. #..",
    /* * */ "..... ..#.. #.#.# .###. #.#.# ..#.. .....",
    /* + */ "..... ..#.. ..#.. ##### ..#.. ..#.. .....",
    /* , */ ".. .. .. .. .. .. .# #.",
    /* - */ ".... .... .... #### .... .... ....",
    /* . */ ". . . . . . #",
    /* / */ "....# ....# ...#. ..#.. .#... #.... #....",
    /* 0 */ ".##. #..# #..# #..# #..# #..# .##.",
    /* 1 */ "..#.. .##.. #.#.. ..#.. ..#.. ..#.. #####",
    /* 2 */ ".###. #...# ....# ...#. ..#.. .#... #####",
    /* 3 */ ".###. #...# ....# ..##. ....# #...# .###.",
    /* 4 */ "...#. ..##. .#.#. #..#. ##### ...#. ...#.",
    /* 5 */ "##### #.... ####. ....# ....# #...# .###.",
    /* 6 */ ".###. #...# #.... ####. #...# #...# .###.",
    /* 7 */ "##### ....# ...#. ...#. ..#.. ..#.. ..#..",
    /* 8 */ ".###. #...# #...# .###. #...# #...# .###.",
    /* 9 */ ".###. #...# #...# .#### ....# #...# .###.",
    /* : */ ". . # . . . #",
    /* ; */ ".. .. .# .. .. .. .# #.",
    /* < */ "...# ..#. .#.. #... .#.. ..#. ...#",
    /* = */ "..... ..... ##### ..... ##### ..... .....",
    /* > */ "#... .#.. ..#. ...# ..#. .#.. #...",
    /* ? */ ".###. #...# ....# ...#. ..#.. ..... ..#..",
    /* @ */ ".###. #...# #.### #.#.# #.### #.... .###.",
    /* A */ "..#.. .#.#. #...# #...# ##### #...# #...#",
    /* B */ "####. #...# #...# ####. #...# #...# ####.",
    /* C */ ".###. #...# #.... #.... #.... #...# .###.",
    /* D */ "####. #...# #...# #...# #...# #...# ####.",
    /* E */ "##### #.... #.... ####. #.... #.... #####",
    /* F */ "##### #.... #.... ####. #.... #.... #....",
    /* G */ ".###. #...# #.... #..## #...# #...# .###.",
    /* H */ "#...# #...# #...# ##### #...# #...# #...#",
    /* I */ "### .#. .#. .#. .#. .#. ###",
    /* J */ "...# ...# ...# ...# ...# #..# .##.",
    /* K */ "#...# #..#. #.#.. ##... #.#.. #..#. #...#",
    /* L */ "#.... #.... #.... #.... #.... #.... #####",
    /* M */ "#...# ##.## #.#.# #.#.# #...# #...# #...#",
    /* N */ "#...# ##..# #.#.# #.#.# #..## #...# #...#",
    /* O */ ".###. #...# #...# #...# #...# #...# .###.",
    /* P */ "####. #...# #...# ####. #.... #.... #....",
    /* Q */ ".###. #...# #...# #...# #.#.# #..#. .##.#",
    /* R */ "####. #...# #...# ####. #.#.. #..#. #...#",
    /* S */ ".###. #...# #.... .###. ....# #...# .###.",
    /* T */ "##### ..#.. ..#.. ..#.. ..#.. ..#.. ..#..",
    /* U */ "#...# #...# #...# #...# #...# #...# .###.",
    /* V */ "#...# #...# #...# .#.#. .#.#. .#.#. ..#..",
    /* W */ "#...# #...# #...# #.#.# #.#.# #.#.# .#.#.",
    /* X */ "#...# #...# .#.#. ..#.. .#.#. #...# #...#",
    /* Y */ "#...# #...# .#.#. ..#.. ..#.. ..#.. ..#..",
    /* Z */ "##### ....# ...#. ..#.. .#... #.... #####",
    /* [ */ "### #.. #.. #.. #.. #.. ###",
    /* \ */ "#.... #.... .#... ..#.. ...#. ....# ....#",
    /* ] */ "### ..# ..# ..# ..# ..# ###",
    /* ^ */ "..#.. .#.#. #...# ..... ..... ..... .....",
    /* _ */ "..... ..... ..... ..... ..... ..... ..... #####",
    /* ` */ "#. .# .. .. .. .. ..",
    /* a */ ".... .... .##. ...# .### #..# .###",
    /* b */ "#... #... ###. #..# #..# #..# ###.",
    /* c */ ".... .... .##. #..# #... #..# .##.",
    /* d */ "...# ...# .### #..# #..# #..# .###",
    /* e */ ".... .... .##. #..# #### #... .###",
    /* f */ "..## .#.. #### .#.. .#.. .#.. .#..",
    /* g */ ".... .... .### #..# #..# #..# .### ...# .##.",
    /* h */ "#... #... ###. #..# #..# #..# #..#",
    /* i */ "# . # # # # #",
    /* j */ ".# .. .# .# .# .# .# .# #.",
    /* k */ "#... #... #..# #.#. ##.. #.#. #..#",
    /* l */ "#. #. #. #. #. #. .#",
    /* m */ "..... ..... ####. #.#.# #.#.# #.#.# #.#.#",
    /* n */ ".... .... ###. #..# #..# #..# #..#",
    /* o */ ".... .... .##. #..# #..# #..# .##.",
    /* p */ ".... .... ###. #..# #..# #..# ###. #... #...",
    /* q */ ".... .... .### #..# #..# #..# .### ...# ...#",
    /* r */ "... ... #.# ##. #.. #.. #..",
    /* s */ ".... .... .### #... .##. ...# ###.",
    /* t */ ".#. .#. ### .#. .#. .#. ..#",
    /* u */ ".... .... #..# #..# #..# #..# .###",
    /* v */ "..... ..... #...# #...# .#.#. .#.#. ..#..",
    /* w */ "..... ..... #...# #...# #.#.# #.#.# .#.#.",
    /* x */ "..... ..... #...# .#.#. ..#.. .#.#. #...#",
    /* y */ ".... .... #..# #..# #..# #..# .### ...# .##.",
    /* z */ ".... .... #### ...# .##. #... ####",
    /* { */ "..# .#. .#. #.. .#. .#. ..#",
    /* | */ "# # # # # # # #",
    /* } */ "#.. .#. .#. ..# .#. .#. #..",
    /* ~ */ "..... ..... .#..# #.#.# #..#. ..... .....",
];

/// A stroke between two points, or a dot if they are equal. The y coordinate is 0 at the baseline and increases downward.
pub(crate) type Stroke = [(f32, f32); 2];

/// Distance between characters, in cells.
const GAP: f32 = 2.0;
/// Width of a space, in cells.
const SPACE: f32 = 2.4;
/// Width of a full-width character, in cells.
const FULL_WIDTH: f32 = 8.5;

/// Returns the grid of a character, or of its ASCII substitute.
fn grid(letter: char) -> impl Iterator<Item = &'static [u8]> + Clone {
    let index = (to_ascii(letter) as usize).saturating_sub('!' as usize);
    GLYPHS[index].split(' ').map(str::as_bytes)
}

/// Returns the distance from one character to the next, in cells.
fn advance(letter: char) -> f32 {
    match to_ascii(letter) {
        // The fonts of SVG viewers draw these as wide as they are high.
        _ if is_wide(letter) => FULL_WIDTH,
        ' ' => SPACE,
        letter => (grid(letter).next().map_or(1, <[u8]>::len) - 1) as f32 + GAP,
    }
}

/// Returns the width of a line of text, given the height of a capital letter.
pub(crate) fn width(text: &str, height: f32) -> f32 {
    (text.chars().map(advance).sum::<f32>() - GAP).max(0.0) * height / ASCENT
}

/// Returns the strokes of a line of text relative to its start on the baseline, given the height of a capital letter.
pub(crate) fn strokes(text: &str, height: f32) -> Vec<Stroke> {
    let unit = height / ASCENT;
    let mut out = Vec::new();
    let mut x = 0.0;
    for letter in text.chars() {
        if to_ascii(letter) == ' ' {
            x += SPACE;
            continue;
        }
        let grid: Vec<&[u8]> = grid(letter).collect();
        let marked = |r: usize, c: usize| grid.get(r).and_then(|row| row.get(c)) == Some(&b'#');
        let place = |r: usize, c: usize| ((x + c as f32) * unit, (r as f32 - ASCENT) * unit);
        for r in 0..grid.len() {
            for c in (0..grid[r].len()).filter(|&c| marked(r, c)) {
                let mut joined = false;
                // To the right, down, and diagonally down unless a mark already joins them.
                for (to_r, to_c, free) in [
                    (r, c + 1, true),
                    (r + 1, c, true),
                    (r + 1, c + 1, !marked(r, c + 1) && !marked(r + 1, c)),
                    (r + 1, c.wrapping_sub(1), !marked(r, c.wrapping_sub(1)) && !marked(r + 1, c)),
                ] {
                    if free && marked(to_r, to_c) {
                        out.push([place(r, c), place(to_r, to_c)]);
                        joined = true;
                    }
                }
                if !joined {
                    out.push([place(r, c); 2]);
                }
            }
        }
        x += advance(letter);
    }
    out
}

/// Truncates text with `...` to a width. The time is linear in the length of the result.
pub(crate) fn truncate(text: &str, height: f32, max_width: f32) -> String {
    const ELLIPSIS: &str = "...";
    let (available, dots) = (max_width * ASCENT / height + GAP, ELLIPSIS.chars().map(advance).sum::<f32>());
    // The text is cut after the last character that leaves space for the dots.
    let (mut width, mut cut) = (0.0, None);
    for (at, letter) in text.char_indices() {
        if width + dots <= available {
            cut = Some(at);
        }
        width += advance(letter);
        if width > available + 1e-3 {
            return cut.map_or(String::new(), |cut| text[..cut].trim_end().to_owned() + ELLIPSIS);
        }
    }
    text.to_owned()
}

/// Breaks text at spaces into lines of at most a width; a longer word is truncated.
pub(crate) fn wrap(text: &str, height: f32, max_width: f32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), height) <= max_width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(truncate(word, height, max_width)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glyphs_are_rectangular_and_distinct() {
        for (at, glyph) in GLYPHS.iter().enumerate() {
            let rows: Vec<&str> = glyph.split(' ').collect();
            assert!((7..=9).contains(&rows.len()), "{glyph}");
            assert!(rows.iter().all(|row| row.len() == rows[0].len() && row.len() <= 5), "{glyph}");
            assert!(glyph.contains('#') && glyph.bytes().all(|b| b"# .".contains(&b)), "{glyph}");
            assert!(!GLYPHS[..at].contains(glyph), "{glyph}");
        }
    }

    #[test]
    fn text_is_truncated_and_wrapped_to_a_width() {
        let max_width = width("neighbors", 12.0);
        assert_eq!(truncate("neighbors", 12.0, max_width), "neighbors");
        let cut = truncate("neighbors and more", 12.0, max_width);
        assert!(cut.ends_with("...") && width(&cut, 12.0) <= max_width, "{cut}");
        assert_eq!(wrap("a b neighbors", 12.0, max_width), ["a b", "neighbors"]);
        assert_eq!(truncate("wide", 12.0, 1.0), "");
        assert_eq!(width("", 12.0), 0.0);
        let right = strokes("neighbors", 12.0).iter().flatten().map(|p| p.0).fold(0.0, f32::max);
        assert!((right - max_width).abs() < 1e-3);
    }

    #[test]
    fn characters_outside_ascii_are_substituted() {
        assert_eq!(strokes("\u{e9}\n", 7.0), strokes("e?", 7.0));
        assert!(width("\u{4e2d}", 7.0) > width("?", 7.0));
    }

    #[test]
    fn very_long_text_is_truncated_quickly() {
        let long = "\u{4e2d}<".repeat(5_000_000);
        assert!(truncate(&long, 12.0, 300.0).ends_with("...") && wrap(&long, 12.0, 300.0).len() == 1);
    }
}
