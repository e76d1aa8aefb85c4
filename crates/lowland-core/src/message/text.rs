//! Text from files, file names and arguments in messages. Such text may be of any length, and may hold sequences that a
//! terminal would execute.

use std::borrow::Cow;
use std::path::Path;

/// Longest excerpt of a text, in characters.
const MAX_EXCERPT: usize = 80;
/// Longest sentence, in characters.
const MAX_SENTENCE: usize = 600;
/// Most names of a listing.
const MAX_LISTED: usize = 20;

/// Whether a character acts on a terminal instead of being shown by it: control characters, and marks that change the
/// direction of the text around them.
fn is_unsafe(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escape(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_escaped(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// Escapes characters that act on a terminal.
pub fn escape_control(text: &str) -> Cow<'_, str> {
    escape(text, is_unsafe)
}

/// Like [`escape_control`] for text of several lines: line breaks and tabs stay as they are.
pub fn escape_control_in_lines(text: &str) -> Cow<'_, str> {
    escape(text, |c| is_unsafe(c) && c != '\n' && c != '\t')
}

/// Returns the beginning of a text, and its length if that is not all; characters that act on a terminal are escaped.
pub fn excerpt(text: &str) -> String {
    cut(text, MAX_EXCERPT)
}

/// Like [`excerpt`] for sentences that may hold text from a file.
pub fn excerpt_of_sentence(text: &str) -> String {
    cut(text, MAX_SENTENCE)
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => escape_control(text).into_owned(),
        Some((end, _)) => format!("{}... ({} bytes in all)", escape_control(&text[..end]), text.len()),
    }
}

/// Lists names in a message, the first ones if there are many: `a, b, c and 7 more`.
pub fn list_names<T: AsRef<str>>(names: &[T]) -> String {
    let shown: Vec<String> = names.iter().take(MAX_LISTED).map(|name| excerpt(name.as_ref())).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Returns a path for a message; characters that act on a terminal are escaped.
pub fn display_path(path: &Path) -> String {
    escape_control(&path.to_string_lossy()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_act_on_a_terminal_are_escaped() {
        assert_eq!(escape_control("größer 日本"), "größer 日本");
        assert_eq!(escape_control("\u{1b}]0;x\u{7}\n\u{9b}2J\u{202e}"), r"\u{1b}]0;x\u{7}\n\u{9b}2J\u{202e}");
        assert_eq!(escape_control_in_lines("a\tb\n\u{1b}c\r"), "a\tb\n\\u{1b}c\\r");
        assert_eq!(display_path(Path::new("a\u{1b}[2J.csv")), r"a\u{1b}[2J.csv");
    }

    #[test]
    fn long_texts_and_lists_are_cut() {
        let long = "ä".repeat(1 << 20);
        assert_eq!(excerpt(&long), format!("{}... (2097152 bytes in all)", "ä".repeat(80)));
        assert_eq!(excerpt(&"a".repeat(80)), "a".repeat(80));
        assert_eq!(list_names(&["a", "b"]), "a, b");
        assert!(list_names(&["x"; 1000]).ends_with("x, x and 980 more"));
    }
}
