//! Removes characters that a line of text must not contain.

/// Removes control characters, directional formatting characters and code points that XML forbids; replaces line breaks by spaces.
pub(crate) fn sanitize(text: &str) -> String {
    let is_allowed = |letter: &char| {
        !letter.is_control()
            && !matches!(*letter, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
            && (*letter as u32) & 0xfffe != 0xfffe
            && !('\u{fdd0}'..='\u{fdef}').contains(letter)
    };
    let spaced = text.chars().map(|letter| if letter.is_whitespace() { ' ' } else { letter });
    spaced.filter(is_allowed).collect::<String>().trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_formatting_characters_are_removed() {
        assert_eq!(sanitize("\u{202e}evil\u{0}\u{7f}\n\ttext\u{fffe}\u{2066} \u{200f}x\u{1ffff}"), "evil  text x");
        assert_eq!(sanitize("שלום <b>&"), "שלום <b>&");
    }
}
