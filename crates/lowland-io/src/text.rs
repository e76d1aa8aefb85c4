//! Plain text: one string per line.

use lowland::Data;

use crate::budget::Budget;
use crate::check::plural;
use crate::error::{FileErrorKind, Result};
use crate::options::ReadOptions;
use crate::table::Table;

const FORMAT: &str = "text";

/// Reads one string per line. Empty lines are rows, too; the notes say how many there are.
pub(crate) fn read(bytes: &[u8], options: &ReadOptions, budget: &Budget) -> Result<Table> {
    let lines = split_lines(bytes)?.take(options.max_rows.unwrap_or(usize::MAX));
    let lines = lines.map(|line| budget.reserve_text(line)).collect::<Result<Vec<String>>>()?;
    let empty = lines.iter().filter(|line| line.is_empty()).count();
    let mut table = Table::new(Data::text(lines));
    if empty > 0 {
        table.notes.push(format!("{} empty and kept as an empty string", plural(empty, "line is", "lines are")));
    }
    Ok(table)
}

/// Splits text into lines; a newline at the end of the file does not start another one.
pub(crate) fn split_lines(bytes: &[u8]) -> Result<std::str::Lines<'_>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.lines()),
        Err(error) => {
            let line = bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() + 1;
            Err(FileErrorKind::format(FORMAT, format!("line {line} is not UTF-8; convert the file to UTF-8")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_row_and_the_last_newline_is_not_another() {
        let lines = |text: &[u8]| match read(text, &ReadOptions::default(), &Budget::unlimited()).unwrap() {
            Table { data: Data::Text(lines), notes, .. } => (lines.to_vec(), notes.len()),
            _ => panic!("text"),
        };
        assert_eq!(lines(b"one\r\ntwo"), (vec!["one".into(), "two".into()], 0));
        assert_eq!(lines(b"one\n\ntwo\n"), (vec!["one".into(), String::new(), "two".into()], 1));
        let error = read(b"one\nt\xffwo", &ReadOptions::default(), &Budget::unlimited()).unwrap_err();
        assert!(error.to_string().contains("line 2 is not UTF-8"), "{error}");
    }
}
