//! Python source text: wrapped paragraphs, literals, types of parameters.

use anyhow::{Result, bail};

/// Longest line of the generated files.
const WIDTH: usize = 100;

/// Appends `text` as a paragraph, wrapped and indented.
pub fn paragraph(source: &mut String, indent: usize, text: &str) {
    let indent = " ".repeat(indent);
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && indent.len() + line.chars().count() + 1 + word.chars().count() > WIDTH {
            push_line(source, &indent, &line);
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    push_line(source, &indent, &line);
}

fn push_line(source: &mut String, indent: &str, line: &str) {
    source.push_str(indent);
    source.push_str(line);
    source.push('\n');
}

/// The text as a sentence: with a period at the end, and a capital letter first unless the first word is a name such as t-SNE.
pub fn sentence(text: &str) -> String {
    let text = text.trim();
    let first_word = text.split_whitespace().next().unwrap_or_default();
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    let is_name = first_word.chars().any(char::is_uppercase);
    let first = if is_name { first.into() } else { first.to_uppercase() };
    let period = if text.ends_with(['.', ':', '!', '?']) { "" } else { "." };
    format!("{first}{rest}{period}")
}

/// Names that Python reserves get an underscore at the end.
pub fn identifier(name: &str) -> String {
    const KEYWORDS: [&str; 35] = [
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
        "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
        "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
    ];
    if KEYWORDS.contains(&name) { format!("{name}_") } else { name.into() }
}

/// PythonType of a parameter.
#[derive(Debug, PartialEq)]
pub struct PythonType {
    /// As an annotation: `int | str`.
    pub annotation: String,
    /// As numpydoc writes it: `int or 'auto'`.
    pub documented: String,
}

impl PythonType {
    fn new(annotation: &str, documented: &str) -> Self {
        Self { annotation: annotation.into(), documented: documented.into() }
    }

    /// The type of a parameter from the words by which the library describes its values.
    pub fn from_description(expects: &str) -> Result<Self> {
        let plain = |name: &str| Self::new(name, name);
        Ok(match expects {
            "a whole number" => plain("int"),
            "a number" => plain("float"),
            "true or false" => plain("bool"),
            "a number, or several separated by commas" => {
                Self::new("float | Sequence[float]", "float or list of float")
            }
            "none, or whole numbers separated by commas" => {
                Self::new("str | int | Sequence[int] | None", "'none', int or list of int")
            }
            "three whole numbers separated by commas, or one" => {
                Self::new("int | Sequence[int]", "int or tuple of three int")
            }
            _ if expects.starts_with("a metric") => Self::new("str | Callable[..., float]", "str or callable"),
            _ if expects.starts_with("a whole number or a share") => Self::new("int | float", "int or float"),
            _ => {
                if let Some((number, word)) = expects.split_once(" or ").filter(|(_, word)| is_word(word)) {
                    match number {
                        "a whole number" => {
                            return Ok(Self::new(&format!("int | Literal[\"{word}\"]"), &format!("int or '{word}'")));
                        }
                        "a number" | "a positive number" => {
                            return Ok(Self::new(
                                &format!("float | Literal[\"{word}\"]"),
                                &format!("float or '{word}'"),
                            ));
                        }
                        _ => {}
                    }
                }
                let mut words: Vec<&str> = expects.split(", ").flat_map(|part| part.split(" or ")).collect();
                let takes_integers = words.last() == Some(&"an integer above 0");
                if takes_integers {
                    words.pop();
                }
                if !words.iter().all(|word| is_word(word)) {
                    bail!("no Python type is known for a parameter that takes {expects:?}");
                }
                let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
                let literals: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                let (annotation, documented) = (format!("Literal[{}]", literals.join(", ")), quoted.join(", "));
                if takes_integers {
                    Self::new(&format!("int | {annotation}"), &format!("{documented} or int"))
                } else {
                    Self::new(&annotation, &format!("{{{documented}}}"))
                }
            }
        })
    }

    /// A value of this type as a literal.
    pub fn literal(&self, value: &str) -> String {
        match self.annotation.as_str() {
            "bool" => if value == "true" { "True" } else { "False" }.into(),
            annotation if annotation.starts_with("float") => {
                value.parse().map_or_else(|_| format!("\"{value}\""), float_literal)
            }
            annotation if annotation.starts_with("int") && value.parse::<i64>().is_ok() => value.into(),
            "int | Sequence[int]" => format!("({})", value.replace(',', ", ")),
            _ => format!("\"{value}\""),
        }
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

fn float_literal(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-2 { format!("{value:e}") } else { format!("{value:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_from_descriptions() {
        let documented = |expects| PythonType::from_description(expects).unwrap().documented;
        assert_eq!(documented("a whole number"), "int");
        assert_eq!(documented("a whole number or auto"), "int or 'auto'");
        assert_eq!(documented("auto, exact or fast-gauss"), "{'auto', 'exact', 'fast-gauss'}");
        assert!(PythonType::from_description("a color of your choice").is_err());
    }

    #[test]
    fn literals_have_the_type_of_the_parameter() {
        let literal = |expects, value| PythonType::from_description(expects).unwrap().literal(value);
        assert_eq!(literal("a number", "30"), "30.0");
        assert_eq!(literal("a number", "0.000001"), "1e-6");
        assert_eq!(literal("a number or auto", "auto"), "\"auto\"");
        assert_eq!(literal("true or false", "false"), "False");
    }

    #[test]
    fn sentences_begin_with_a_capital_letter_or_a_name() {
        assert_eq!(sentence("principal components"), "Principal components.");
        assert_eq!(sentence("t-SNE: clusters."), "t-SNE: clusters.");
    }

    #[test]
    fn reserved_names_get_an_underscore() {
        assert_eq!(identifier("lambda"), "lambda_");
        assert_eq!(identifier("tol"), "tol");
    }
}
