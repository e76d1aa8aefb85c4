//! Label files: one label per row of a data set.

use std::path::Path;

use lowland::{Labels, MemoryBudget};

use crate::budget::Budget;
use crate::delimited::{CsvRecords, guess_delimiter, line_of, text_of};
use crate::error::{FileError, FileErrorKind, Result};
use crate::idx;
use crate::npy::NpyArray;
use crate::options::FileFormat;
use crate::source::FileBytes;
use crate::table::labels_from_texts;
use crate::text::split_lines;

/// Reads a label file: IDX, `.npy`, delimited text of one column, or one label per line. There must be `rows` labels.
pub fn labels_of_rows(path: &Path, rows: usize) -> Result<Labels, FileError> {
    labels(path, rows, &MemoryBudget::default()).map_err(|kind| kind.at(path))
}

/// Reads a label file within a budget. There must be `rows` labels.
pub(crate) fn read_labels(path: &Path, rows: usize, budget: &Budget) -> Result<Labels, FileError> {
    labels(path, rows, &budget.for_file_beside()).map_err(|kind| kind.at(path))
}

fn labels(path: &Path, rows: usize, memory: &MemoryBudget) -> Result<Labels> {
    let (bytes, budget) = FileBytes::open_decompressed(path, memory)?;
    let labels = if idx::is_idx(&bytes) {
        labels_from_texts(idx::parse(&bytes)?.values().map(|value| Ok(value.to_string())), &budget)?
    } else if bytes.starts_with(b"\x93NUMPY") {
        NpyArray::parse(&bytes, &budget)?.to_labels()?
    } else {
        // One more than the rows: the first is the name of the column.
        let named = |count: usize| usize::from(count == rows + 1);
        match FileFormat::guess(path) {
            Some(FileFormat::Csv | FileFormat::Tsv) => {
                let count = column(&bytes).try_fold(0, |count, cell| cell.map(|_| count + 1))?;
                labels_from_texts(column(&bytes).skip(named(count)), &budget)?
            }
            _ => {
                let lines = split_lines(&bytes)?;
                labels_from_texts(lines.clone().skip(named(lines.count())).map(|line| Ok(line.trim())), &budget)?
            }
        }
    };
    if labels.codes.len() != rows {
        return Err(FileErrorKind::Count { what: "the labels", expected: rows, found: labels.codes.len() });
    }
    Ok(labels)
}

/// Iterates over the cells of a file of one column.
fn column(bytes: &[u8]) -> impl Iterator<Item = Result<String>> {
    let mut records = CsvRecords::new(bytes, guess_delimiter(bytes));
    std::iter::from_fn(move || records.next().transpose()).map(|record| {
        let record = record?;
        match record.len() {
            1 => text_of(&record)(&record[0]),
            found => Err(FileErrorKind::NotLabels { line: line_of(&record), found }),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_file_of_two_columns_is_an_error_that_says_what_is_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("l.csv");
        std::fs::write(&path, "id,label\n1,a\n2,b\n").unwrap();
        let error = read_labels(&path, 2, &Budget::unlimited()).unwrap_err().to_string();
        assert!(error.contains("line 1 has 2 fields, but a file of labels holds one label per line"), "{error}");
        assert!(error.contains("label_column") && !error.contains("the lines before it"), "{error}");
    }

    #[test]
    fn label_files_of_every_format_are_read_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let npy = crate::npy::encode("<i4", &[3], bytemuck::cast_slice(&[10i32, 9, 10]));
        for (name, bytes) in [
            ("l.idx1-ubyte", vec![0, 0, 8, 1, 0, 0, 0, 3, 10, 9, 10]),
            ("l.npy", npy),
            ("l.csv", b"label\n\"10\"\n9\n10\n".to_vec()),
            ("l.txt", b"10\n9\n10\n".to_vec()),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            let labels = read_labels(&path, 3, &Budget::unlimited()).unwrap();
            assert_eq!((labels.names, labels.codes), (vec!["9".to_string(), "10".into()], vec![1, 0, 1]), "{name}");
            assert!(read_labels(&path, 5, &Budget::unlimited()).unwrap_err().to_string().contains("the rows number 5"));
        }
    }
}
