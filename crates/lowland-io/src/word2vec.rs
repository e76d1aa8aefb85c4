//! Word vectors: the binary format of word2vec, and the text format of word2vec, fastText and GloVe.

use lowland::Data;
use lowland::message::excerpt;

use crate::budget::Budget;
use crate::error::{FileErrorKind, Location, NumberRemedy, Result};
use crate::options::ReadOptions;
use crate::table::Table;

const BINARY_FORMAT: &str = "word2vec binary";
const TEXT_FORMAT: &str = "word vector text";

/// Reads the binary format: `n dim\n`, then each word, a space, `dim` little-endian floats and an optional newline.
pub(crate) fn read_binary(bytes: &[u8], options: &ReadOptions, budget: &Budget) -> Result<Table> {
    let end = bytes.iter().take(64).position(|&byte| byte == b'\n');
    let header = end.map_or(Ok(None), |end| counts(&bytes[..end], BINARY_FORMAT))?;
    let Some((words, dim)) = header.filter(|&(_, dim)| dim > 0) else {
        return Err(FileErrorKind::format(
            BINARY_FORMAT,
            "it does not begin with a line of two counts, words and dimensions",
        ));
    };
    let mut rest = &bytes[end.map_or(0, |end| end + 1)..];
    // A word takes at least its space and its numbers.
    let least = dim.checked_mul(4).and_then(|size| size.checked_add(1)?.checked_mul(words));
    if least.is_none_or(|least| least > rest.len()) {
        return Err(FileErrorKind::Truncated {
            what: "words",
            declared: least.map_or(u64::MAX, |least| least as u64),
            available: rest.len() as u64,
        });
    }
    let keep = words.min(options.max_rows.unwrap_or(usize::MAX));
    budget.reserve("the vectors", keep * dim, size_of::<f32>())?;
    let (mut values, mut ids) = (Vec::with_capacity(keep * dim), Vec::new());
    let mut repaired = 0;
    for word in 0..keep {
        rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        let space = rest.iter().position(|&byte| byte == b' ');
        let entry = space.and_then(|space| Some((&rest[..space], rest.get(space + 1..)?.split_at_checked(dim * 4)?)));
        let Some((name, (numbers, after))) = entry else {
            return Err(FileErrorKind::format(BINARY_FORMAT, format!("it ends in word {word} (from 0) of {words}")));
        };
        let name = String::from_utf8_lossy(name);
        repaired += usize::from(matches!(name, std::borrow::Cow::Owned(_)));
        ids.push(budget.reserve_text(name)?);
        values.extend(numbers.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])));
        rest = after;
    }
    let mut table = Table::new(Data::dense(values, dim)?);
    table.ids = Some(ids);
    if repaired > 0 {
        table.notes.push(format!("{repaired} words are not UTF-8; the broken letters were replaced"));
    }
    Ok(table)
}

/// Reads the text format: one word per line and its numbers, separated by spaces, after an optional line of two counts.
pub(crate) fn read_text(bytes: &[u8], options: &ReadOptions, budget: &Budget) -> Result<Table> {
    let mut lines = bytes.split(|&byte| byte == b'\n').enumerate().map(|(at, line)| (at as u64 + 1, line));
    let mut lines = std::iter::from_fn(move || lines.find(|(_, line)| !line.trim_ascii().is_empty())).peekable();
    let Some(&(_, first)) = lines.peek() else { return Err(FileErrorKind::Empty("the file is empty")) };
    let declared = counts(first, TEXT_FORMAT)?.filter(|&(_, dim)| dim > 0);
    if declared.is_some() {
        lines.next();
    }
    let Some(&(_, first)) = lines.peek() else {
        return Err(FileErrorKind::Empty("there is a line of counts and nothing else"));
    };
    let dim = declared.map_or_else(|| fields(first).count().saturating_sub(1), |(_, dim)| dim);
    if dim == 0 {
        return Err(FileErrorKind::format(TEXT_FORMAT, "its first line has no numbers"));
    }
    let (mut values, mut ids) = (Vec::new(), Vec::new());
    let keep = options.max_rows.unwrap_or(usize::MAX);
    for (line, text) in lines.take(keep) {
        let location = Location::Line(line);
        let all: Vec<&[u8]> = fields(text).collect();
        if all.len() <= dim {
            return Err(FileErrorKind::Ragged { line, expected: dim.saturating_add(1), found: all.len() });
        }
        // The numbers are the last `dim` fields: GloVe has words with spaces in them.
        let (word, numbers) = all.split_at(all.len() - dim);
        budget.reserve("the vectors", dim, size_of::<f32>())?;
        for (column, field) in numbers.iter().enumerate() {
            let found = || String::from_utf8_lossy(field).into_owned();
            match std::str::from_utf8(field).ok().and_then(|field| field.parse::<f32>().ok()) {
                Some(value) if value.is_infinite() && field.iter().any(u8::is_ascii_digit) => {
                    return Err(FileErrorKind::Overflow { location, column: column.to_string(), found: found() });
                }
                Some(value) => values.push(value),
                None => {
                    let advice = "each line holds a word and then its numbers, the same count in every line";
                    return Err(FileErrorKind::NotNumber {
                        location,
                        column: column.to_string(),
                        found: found(),
                        remedy: NumberRemedy::Advice(advice),
                    });
                }
            }
        }
        ids.push(
            budget.reserve_text(word.iter().map(|part| String::from_utf8_lossy(part)).collect::<Vec<_>>().join(" "))?,
        );
    }
    if let Some((words, _)) = declared.filter(|&(words, _)| words.min(keep) != ids.len()) {
        return Err(FileErrorKind::format(
            TEXT_FORMAT,
            format!("its first line counts {words} words, {} follow", ids.len()),
        ));
    }
    let mut table = Table::new(Data::dense(values, dim)?);
    table.ids = Some(ids);
    Ok(table)
}

/// Parses a line of exactly two counts; `None` if it is something else.
fn counts(line: &[u8], format: &'static str) -> Result<Option<(usize, usize)>> {
    let all: Vec<&[u8]> = fields(line).take(3).collect();
    let [words, dim] = all[..] else { return Ok(None) };
    if !all.concat().iter().all(u8::is_ascii_digit) {
        return Ok(None);
    }
    let parse = |digits: &[u8]| {
        let digits = String::from_utf8_lossy(digits);
        let too_large = |_| format!("its first line counts {}, more than any file can hold", excerpt(&digits));
        digits.parse().map_err(|error| FileErrorKind::format(format, too_large(error)))
    };
    Ok(Some((parse(words)?, parse(dim)?)))
}

fn fields(line: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    line.split(|byte| matches!(byte, b' ' | b'\t' | b'\r')).filter(|field| !field.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn binary(words: &[(&str, [f32; 2])], newline: bool) -> Vec<u8> {
        let mut out = format!("{} 2\n", words.len()).into_bytes();
        for (word, vector) in words {
            out.extend_from_slice(word.as_bytes());
            out.push(b' ');
            vector.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
            if newline {
                out.push(b'\n');
            }
        }
        out
    }

    fn values(table: &Table) -> &[f32] {
        match &table.data {
            Data::Dense(x) => x.values(),
            _ => panic!("dense"),
        }
    }

    #[test]
    fn binary_vectors_are_read_with_and_without_newlines() {
        for newline in [true, false] {
            let bytes = binary(&[("in", [1.0, -2.5]), ("größer", [0.0, 7.0])], newline);
            let table = read_binary(&bytes, &ReadOptions::default(), &Budget::unlimited()).unwrap();
            assert_eq!(table.ids.as_deref().unwrap(), ["in", "größer"]);
            assert_eq!(values(&table), [1.0, -2.5, 0.0, 7.0]);
            let one =
                read_binary(&bytes, &ReadOptions { max_rows: Some(1), ..Default::default() }, &Budget::unlimited())
                    .unwrap();
            assert_eq!(one.rows(), 1);
        }
    }

    #[test]
    fn text_vectors_are_read_with_and_without_counts_and_with_spaces_in_words() {
        for header in ["", "3 2\n"] {
            let text = format!("{header}in 1 -2.5 \n. . 0 7\nof 1e-3 2\r\n");
            let table = read_text(text.as_bytes(), &ReadOptions::default(), &Budget::unlimited());
            let table = table.unwrap();
            assert_eq!(table.ids.as_deref().unwrap(), ["in", ". .", "of"]);
            assert_eq!(values(&table), [1.0, -2.5, 0.0, 7.0, 1e-3, 2.0]);
        }
    }

    #[test]
    fn a_first_line_with_a_zero_is_a_word_and_not_the_counts() {
        let table = read_text(b"7 0\n8 1\n", &ReadOptions::default(), &Budget::unlimited()).unwrap();
        assert_eq!(table.ids.as_deref().unwrap(), ["7", "8"]);
        assert_eq!(values(&table), [0.0, 1.0]);
    }

    #[test]
    fn text_vectors_name_the_line_that_is_wrong() {
        let message = |text: &str| {
            read_text(text.as_bytes(), &ReadOptions::default(), &Budget::unlimited()).unwrap_err().to_string()
        };
        assert!(message("a 1 2\nb 3\n").contains("line 2 has 2 fields"));
        assert!(message("a 1 2\nb x 3\n").contains("line 2, column 0: \"x\""));
        assert!(message("a 1 2\nb 1e60 3\n").contains("1e60"));
        assert!(message("5 2\na 1 2\n").contains("counts 5 words, 1 follow"));
        assert!(message("words\n").contains("no numbers"));
        let count = "99999999999999999999999";
        assert!(message(&format!("{count} 1\na 1\n")).contains(&format!("counts {count}, more than")));
        assert!(message(&format!("1 {}\na 1\n", u64::MAX)).contains("line 2 has 2 fields"));
    }

    #[test]
    fn counts_that_the_file_cannot_hold_are_refused_before_anything_is_allocated() {
        for header in ["1000000000000 300\n", "18446744073709551615 18446744073709551615\n", "3 0\n", "x\n"] {
            let bytes = [header.as_bytes(), b"word 1234"].concat();
            assert!(read_binary(&bytes, &ReadOptions::default(), &Budget::unlimited()).is_err());
        }
    }

    proptest! {
        #[test]
        fn mutilated_vectors_give_a_table_or_an_error(cut in 0usize..60, at in 0usize..28, byte: u8) {
            let mut bytes = binary(&[("in", [1.0, -2.5]), ("of", [0.0, 7.0])], true);
            bytes[at] = byte;
            bytes.truncate(cut);
            let _ = read_binary(&bytes, &ReadOptions::default(), &Budget::unlimited());
            let mut text = b"2 3\nword 1 2 3\nother 4 5 6\n....\n".to_vec();
            text[at] = byte;
            text.truncate(cut);
            let _ = read_text(&text, &ReadOptions::default(), &Budget::unlimited());
        }
    }
}
