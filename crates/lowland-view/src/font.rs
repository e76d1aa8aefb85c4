//! Our own letters: a grid of five by seven, two more rows below the baseline, printable ASCII.
//!
//! A glyph is drawn as the strokes that join neighbouring marks of its grid, so that it scales to any size.

use crate::letters::{is_wide, plain};

/// Rows above the baseline, the height of a capital.
const ASCENT: f32 = 6.0;

/// Glyphs from `!` to `~`: rows from the top, those below the baseline only where used.
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

/// A stroke between two marks; a dot where they are the same. Units: one is a sixth of a capital's height, the baseline is
/// at zero and rows below it are positive.
pub(crate) type Stroke = [(f32, f32); 2];

/// Distance between letters, and the width of a space.
const GAP: f32 = 2.0;
const SPACE: f32 = 2.4;
const WIDE: f32 = 8.5;

/// The grid of a character; letters beyond ASCII are spelled plainly.
fn grid(letter: char) -> impl Iterator<Item = &'static [u8]> + Clone {
    let index = (plain(letter) as usize).saturating_sub('!' as usize);
    GLYPHS[index].split(' ').map(str::as_bytes)
}

/// From one letter to the next.
fn advance(letter: char) -> f32 {
    match plain(letter) {
        // Other fonts, to which a layout must leave room, have these as wide as they are high.
        _ if is_wide(letter) => WIDE,
        ' ' => SPACE,
        letter => (grid(letter).next().map_or(1, <[u8]>::len) - 1) as f32 + GAP,
    }
}

/// Width of a line of text when a capital is `height` high.
pub(crate) fn width(text: &str, height: f32) -> f32 {
    (text.chars().map(advance).sum::<f32>() - GAP).max(0.0) * height / ASCENT
}

/// The strokes of a line of text, from its left end on the baseline, when a capital is `height` high.
pub(crate) fn strokes(text: &str, height: f32) -> Vec<Stroke> {
    let unit = height / ASCENT;
    let mut out = Vec::new();
    let mut x = 0.0;
    for letter in text.chars() {
        if plain(letter) == ' ' {
            x += SPACE;
            continue;
        }
        let grid: Vec<&[u8]> = grid(letter).collect();
        let marked = |r: usize, c: usize| grid.get(r).and_then(|row| row.get(c)) == Some(&b'#');
        let place = |r: usize, c: usize| ((x + c as f32) * unit, (r as f32 - ASCENT) * unit);
        for r in 0..grid.len() {
            for c in (0..grid[r].len()).filter(|&c| marked(r, c)) {
                let mut joined = false;
                // Right, down, and the diagonals down where no mark makes the corner already.
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

/// The text, cut with `...` where it would be wider than `room`. Time is linear in what fits.
pub(crate) fn fit(text: &str, height: f32, room: f32) -> String {
    const CUT: &str = "...";
    let (room, dots) = (room * ASCENT / height + GAP, CUT.chars().map(advance).sum::<f32>());
    // Where the text would be cut: after the last letter that leaves room for the dots.
    let (mut wide, mut cut) = (0.0, None);
    for (at, letter) in text.char_indices() {
        if wide + dots <= room {
            cut = Some(at);
        }
        wide += advance(letter);
        if wide > room + 1e-3 {
            return cut.map_or(String::new(), |cut| text[..cut].trim_end().to_owned() + CUT);
        }
    }
    text.to_owned()
}

/// The text broken at spaces into lines no wider than `room`; a word that is wider alone is cut.
pub(crate) fn wrap(text: &str, height: f32, room: f32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), height) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(fit(word, height, room)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_glyph_is_a_rectangle_of_marks_that_differs_from_the_others() {
        for (at, glyph) in GLYPHS.iter().enumerate() {
            let rows: Vec<&str> = glyph.split(' ').collect();
            assert!((7..=9).contains(&rows.len()), "{glyph}");
            assert!(rows.iter().all(|row| row.len() == rows[0].len() && row.len() <= 5), "{glyph}");
            assert!(glyph.contains('#') && glyph.bytes().all(|b| b"# .".contains(&b)), "{glyph}");
            assert!(!GLYPHS[..at].contains(glyph), "{glyph}");
        }
    }

    #[test]
    fn text_is_measured_cut_and_wrapped_to_its_room() {
        let room = width("neighbours", 12.0);
        assert_eq!(fit("neighbours", 12.0, room), "neighbours");
        let cut = fit("neighbours and more", 12.0, room);
        assert!(cut.ends_with("...") && width(&cut, 12.0) <= room, "{cut}");
        assert_eq!(wrap("a b neighbours", 12.0, room), ["a b", "neighbours"]);
        assert_eq!(fit("wide", 12.0, 1.0), "");
        assert_eq!(width("", 12.0), 0.0);
        let right = strokes("neighbours", 12.0).iter().flatten().map(|p| p.0).fold(0.0, f32::max);
        assert!((right - room).abs() < 1e-3);
    }

    #[test]
    fn letters_outside_ascii_are_spelled_plainly() {
        assert_eq!(strokes("\u{e9}\n", 7.0), strokes("e?", 7.0));
        assert!(width("\u{4e2d}", 7.0) > width("?", 7.0));
    }

    #[test]
    fn a_text_of_any_length_is_cut_at_once() {
        let long = "\u{4e2d}<".repeat(5_000_000);
        assert!(fit(&long, 12.0, 300.0).ends_with("...") && wrap(&long, 12.0, 300.0).len() == 1);
    }
}
