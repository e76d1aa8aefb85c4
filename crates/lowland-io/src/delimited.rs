//! Delimited text: `.csv` and `.tsv`, with or without a line of names.

use csv::ByteRecord;
use lowland::Data;

use crate::budget::Budget;
use crate::error::{FileErrorKind, Location, Result};
use crate::options::{Header, Missing, ReadOptions};
use crate::table::{LabelsBuilder, Table};

const FORMAT: &str = "delimited text";

pub(crate) const COLUMN_REMEDY: &str = "If the column holds classes or names, say so with label_column or id_column \
                      (--label-column, --id-column)";
const REMEDY_FIRST_LINE: &str = "If this line holds the column names, say header = yes (--header yes); if the column \
                                 holds classes or names, say so with label_column or id_column (--label-column, --id-column)";

/// Reads delimited text that has been unpacked.
pub(crate) fn read(bytes: &[u8], delimiter: u8, options: &ReadOptions, budget: &Budget) -> Result<Table> {
    let mut records = CsvRecords::new(bytes, delimiter);
    let Some(first) = records.next()? else { return Err(FileErrorKind::Empty("the file is empty")) };
    let second = records.next()?;
    let mut notes = Vec::new();
    let has_header = match options.header {
        Header::Yes => true,
        Header::No => false,
        Header::Auto => is_count(&first, bytes, delimiter)? || looks_like_header(&first, second.as_ref()),
    };
    let names = if has_header { Some(first.iter().map(text_of(&first)).collect::<Result<Vec<_>>>()?) } else { None };
    let width = first.len();
    let roles = Roles::new(width, names.as_deref(), options, &mut notes)?;
    if has_header && options.header == Header::Auto {
        notes.push("the first line was taken as column names".into());
    }

    let features: Vec<usize> = (0..width).filter(|&j| Some(j) != roles.label && Some(j) != roles.id).collect();
    let column = |j: usize| match &names {
        Some(names) => format!("{:?}", names[j]),
        None => format!("{j} (from 0)"),
    };
    let (mut values, mut labels, mut ids) = (Vec::new(), LabelsBuilder::default(), Vec::new());
    let mut rows = 0;
    let mut pending = [if has_header { None } else { Some(first) }, second].into_iter().flatten();
    while rows < options.max_rows.unwrap_or(usize::MAX) {
        let Some(record) = pending.next().map_or_else(|| records.next(), |record| Ok(Some(record)))? else { break };
        let line = line_of(&record);
        if record.len() != width {
            return Err(FileErrorKind::Ragged { line, expected: width, found: record.len() });
        }
        budget.reserve("the table", features.len(), size_of::<f32>())?;
        for &j in &features {
            match number(&record[j]) {
                Cell::Number(value) => values.push(value),
                Cell::Missing if options.missing == Missing::Drop => values.push(f32::NAN),
                other => {
                    let (location, column) = (Location::Line(line), column(j));
                    let found = String::from_utf8_lossy(&record[j]).trim().to_string();
                    return Err(match other {
                        Cell::TooLarge => FileErrorKind::Overflow { location, column, found },
                        Cell::Text => {
                            let remedy = if rows == 0 && !has_header { REMEDY_FIRST_LINE } else { COLUMN_REMEDY };
                            FileErrorKind::NotNumber { location, column, found, remedy }
                        }
                        _ => FileErrorKind::Missing { location, column, found, count: 1 },
                    });
                }
            }
        }
        let text = text_of(&record);
        if let Some(j) = roles.label {
            labels.add(&text(&record[j])?, budget)?;
        }
        if let Some(j) = roles.id {
            ids.push(budget.reserve_text(text(&record[j])?)?);
        }
        rows += 1;
    }
    if rows == 0 {
        return Err(FileErrorKind::Empty("the file holds nothing but a line of column names"));
    }
    if features.is_empty() {
        return Err(FileErrorKind::Empty("every column is taken for labels or ids, none is left for the data"));
    }
    let mut table = Table::new(Data::dense(values, features.len())?);
    table.labels = roles.label.map(|_| labels.finish());
    table.ids = roles.id.map(|_| ids);
    table.columns = names.map(|names| features.iter().map(|&j| names[j].clone()).collect());
    table.notes = notes;
    Ok(table)
}

/// The separator that the first line uses most, outside quotes; a comma where none is used.
pub(crate) fn guess_delimiter(bytes: &[u8]) -> u8 {
    let mut counts = [(b',', 0), (b'\t', 0), (b';', 0), (b'|', 0)];
    let mut quoted = false;
    for &byte in bytes.iter().take(1 << 20) {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => break,
            _ if quoted => (),
            _ => counts.iter_mut().filter(|(delimiter, _)| *delimiter == byte).for_each(|(_, count)| *count += 1),
        }
    }
    // The first of equals wins, and a comma leads the list.
    counts.into_iter().rev().max_by_key(|&(_, count)| count).map_or(b',', |(delimiter, _)| delimiter)
}

/// The records of a file, blank lines skipped, whatever their lengths.
pub(crate) struct CsvRecords<'a>(csv::Reader<&'a [u8]>);

impl<'a> CsvRecords<'a> {
    pub fn new(bytes: &'a [u8], delimiter: u8) -> Self {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut builder = csv::ReaderBuilder::new();
        Self(builder.delimiter(delimiter).has_headers(false).flexible(true).from_reader(bytes))
    }

    pub fn next(&mut self) -> Result<Option<ByteRecord>> {
        let mut record = ByteRecord::new();
        let more =
            self.0.read_byte_record(&mut record).map_err(|error| FileErrorKind::format(FORMAT, error.to_string()))?;
        Ok(more.then_some(record))
    }
}

/// The line a record starts on, from 1.
pub(crate) fn line_of(record: &ByteRecord) -> u64 {
    record.position().map_or(0, csv::Position::line)
}

/// Fields of a record as text.
pub(crate) fn text_of(record: &ByteRecord) -> impl Fn(&[u8]) -> Result<String> {
    let line = line_of(record);
    move |field| match std::str::from_utf8(field) {
        Ok(text) => Ok(text.trim().to_string()),
        Err(_) => Err(FileErrorKind::format(FORMAT, format!("line {line} is not UTF-8; convert the file to UTF-8"))),
    }
}

enum Cell {
    Number(f32),
    Missing,
    TooLarge,
    Text,
}

fn number(field: &[u8]) -> Cell {
    let field = field.trim_ascii();
    match std::str::from_utf8(field).ok().and_then(|text| text.parse::<f32>().ok()) {
        Some(value) if value.is_finite() => Cell::Number(value),
        _ if is_missing(field) => Cell::Missing,
        // A text of digits that comes out infinite was too large; `inf` itself is left for the check to name.
        Some(value) if value.is_infinite() && field.iter().any(u8::is_ascii_digit) => Cell::TooLarge,
        Some(value) => Cell::Number(value),
        None => Cell::Text,
    }
}

/// What people write for a value that is not there.
pub(crate) fn is_missing(field: &[u8]) -> bool {
    ["", "na", "n/a", "nan", "-nan", "+nan", "null", "none", "?"]
        .iter()
        .any(|word| field.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether the first line is 0, 1, 2, ... as pandas writes above an array. Empty cells above the index tell it from data;
/// without them there must be three numbers, and no later line with the same ones.
fn is_count(first: &ByteRecord, bytes: &[u8], delimiter: u8) -> Result<bool> {
    let index = first.iter().take_while(|field| field.is_empty()).count();
    let mut counted = first.iter().skip(index).enumerate();
    let least = if index > 0 { 1 } else { 3 };
    Ok(first.len() - index >= least
        && counted.all(|(j, field)| field == j.to_string().as_bytes())
        && (index > 0 || !counts_again(bytes, delimiter)?))
}

/// Whether a line after the first has the same numbers 0, 1, 2, ... in any order: then all lines are permutations or
/// ranks, and the first one is data as well.
fn counts_again(bytes: &[u8], delimiter: u8) -> Result<bool> {
    let mut records = CsvRecords::new(bytes, delimiter);
    records.next()?;
    let mut seen = Vec::new();
    while let Some(record) = records.next()? {
        seen.clear();
        seen.resize(record.len(), false);
        let all = record.iter().all(|field| {
            let value = std::str::from_utf8(field).ok().and_then(|text| text.parse::<usize>().ok());
            value.and_then(|value| seen.get_mut(value)).is_some_and(|seen| !std::mem::replace(seen, true))
        });
        if all {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A first line holds names if a column is not a number in it but is one in the second line, or if nothing in it is a
/// number.
fn looks_like_header(first: &ByteRecord, second: Option<&ByteRecord>) -> bool {
    let is_text = |field: &[u8]| matches!(number(field), Cell::Text);
    let is_number = |field: &[u8]| matches!(number(field), Cell::Number(_));
    let Some(second) = second else { return first.iter().any(is_text) && !first.iter().any(is_number) };
    let turns_number = first.iter().zip(second).any(|(above, below)| is_text(above) && is_number(below));
    turns_number || (first.iter().any(is_text) && !first.iter().any(is_number) && first.iter().ne(second.iter()))
}

/// Which columns are not data.
struct Roles {
    label: Option<usize>,
    id: Option<usize>,
}

impl Roles {
    fn new(width: usize, names: Option<&[String]>, options: &ReadOptions, notes: &mut Vec<String>) -> Result<Self> {
        let find = |name: &Option<String>| name.as_ref().map(|name| find_column(name, width, names)).transpose();
        let label = find(&options.label_column)?;
        let mut id = find(&options.id_column)?;
        let Some(names) = names else { return Ok(Self { label, id }) };
        // The index that pandas writes has no name: as data it would drown everything else.
        if id.is_none() && label != Some(0) && width > 1 && names[0].is_empty() {
            id = Some(0);
            notes.push("the first column has no name and was taken as ids".into());
        }
        if label.is_none() {
            let telling = ["label", "labels", "class", "target", "cluster", "species", "y"];
            for name in names.iter().filter(|name| telling.contains(&name.to_ascii_lowercase().as_str())) {
                notes.push(format!("column {name:?} was taken as data; if it holds classes, say label_column"));
            }
        }
        Ok(Self { label, id })
    }
}

/// A column by its name, else by its index from 0 (negative from the end).
pub(crate) fn find_column(name: &str, width: usize, names: Option<&[String]>) -> Result<usize> {
    if let Some(at) = names.and_then(|names| names.iter().position(|known| known == name)) {
        return Ok(at);
    }
    let index = name.parse::<i64>().ok().map(|index| if index < 0 { index + width as i64 } else { index });
    match index.and_then(|index| usize::try_from(index).ok()).filter(|&index| index < width) {
        Some(index) => Ok(index),
        None => Err(FileErrorKind::NoSuch {
            what: "column",
            name: name.into(),
            available: match names {
                Some(names) => names.to_vec(),
                None => vec![format!("columns 0 to {}, without names", width.saturating_sub(1))],
            },
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str, options: ReadOptions) -> Result<Table> {
        let delimiter = options.delimiter.unwrap_or(guess_delimiter(text.as_bytes()));
        read(text.as_bytes(), delimiter, &options, &Budget::unlimited())
    }

    fn values(table: &Table) -> &[f32] {
        match &table.data {
            Data::Dense(x) => x.values(),
            _ => panic!("dense"),
        }
    }

    fn options(label: &str) -> ReadOptions {
        ReadOptions { label_column: Some(label.into()), ..Default::default() }
    }

    #[test]
    fn names_labels_and_ids_are_found_by_name_or_index() {
        let text = "name,a,b,kind\n\"x, y\",1,2.5,cat\nz,-3e2,+4,dog\n";
        for (label, id) in [("kind", "name"), ("3", "0"), ("-1", "-4")] {
            let table = parse(text, ReadOptions { id_column: Some(id.into()), ..options(label) }).unwrap();
            assert_eq!(values(&table), [1.0, 2.5, -300.0, 4.0]);
            assert_eq!(table.ids.as_deref().unwrap(), ["x, y", "z"]);
            assert_eq!(table.labels.as_ref().unwrap().names, ["cat", "dog"]);
            assert_eq!(table.columns.as_deref().unwrap(), ["a", "b"]);
        }
    }

    #[test]
    fn headers_are_guessed() {
        for (text, has) in [
            ("a,b\n1,2\n", true),
            ("1,2\n3,4\n", false),
            ("0,1,2\n5,6,7\n", true),
            (",0,1\n0,5,6\n", true),
            (",0\n0,5\n", true),
            (",0,1\n0,1,2\n1,2,0\n", true),
            ("0,1\n1,0\n1,1\n0,0\n", false),
            ("0,1,2\n5,6,7\n2,0,1\n", false),
            ("0,1,2\n0,1,1\n2,2,0\n", true),
            ("1,0,2\n5,6,7\n", false),
            ("5.1,3.5,setosa\n4.9,3.0,setosa\n", false),
            ("a,b,species\n5.1,3.5,setosa\n", true),
            ("1;2\r\n3;4\r\n", false),
            ("\u{feff}a\tb\n1\t2\n", true),
        ] {
            let label = if text.contains("setosa") { options("2") } else { ReadOptions::default() };
            let table = parse(text, label).unwrap();
            assert_eq!(table.columns.is_some(), has, "{text:?}");
        }
    }

    #[test]
    fn an_unnamed_first_column_is_the_pandas_index_and_not_data() {
        let table = parse(",a,b\n7,1,2\n9,3,4\n", ReadOptions::default()).unwrap();
        assert_eq!(values(&table), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(table.ids.unwrap(), ["7", "9"]);
    }

    #[test]
    fn errors_name_line_column_text_and_remedy() {
        let message = |text: &str, options| parse(text, options).unwrap_err().to_string();
        let text = message("a,b\n1,2\n3,cat\n", ReadOptions::default());
        assert!(text.contains("line 3, column \"b\": \"cat\"") && text.contains("--label-column"), "{text}");
        let text = message("1,2\n3,4,5\n", ReadOptions::default());
        assert!(
            text.contains("line 2 has 3 fields, the lines before it have 2") && text.contains("delimiter"),
            "{text}"
        );
        for hole in ["", "NA", "NaN", "null", "?"] {
            let text = message(&format!("a,b\n1,2\n3,{hole}\n"), ReadOptions::default());
            assert!(text.contains("line 3, column \"b\" is") && text.contains("drop"), "{text}");
        }
        assert!(message("1,2\n3,1e39\n", ReadOptions::default()).contains("1e39 is beyond"));
        assert!(message("a,b\n1,2\n", options("c")).contains("no column \"c\"; there is a, b"));
        assert!(message("", ReadOptions::default()).contains("empty"));
        assert!(message("a,b\n", ReadOptions::default()).contains("no rows"));
        assert!(message("a\nx\n", options("a")).contains("none is left"));
        let bytes = b"a,b\n1,\xff\n";
        assert!(
            read(bytes, b',', &options("b"), &Budget::unlimited())
                .unwrap_err()
                .to_string()
                .contains("line 2 is not UTF-8")
        );
    }

    #[test]
    fn missing_cells_become_nan_when_rows_may_be_dropped() {
        let table = parse("1,2\n,4\n", ReadOptions { missing: Missing::Drop, ..Default::default() }).unwrap();
        assert!(values(&table)[2].is_nan());
    }

    #[test]
    fn one_row_is_enough_and_rows_can_be_limited() {
        assert_eq!(parse("1,2", ReadOptions::default()).unwrap().rows(), 1);
        let limited = ReadOptions { max_rows: Some(2), ..Default::default() };
        assert_eq!(parse("1\n2\n3\nrubbish\n", limited).unwrap().rows(), 2);
    }

    proptest! {
        #[test]
        fn numbers_come_back_as_they_were_written(rows in prop::collection::vec(prop::array::uniform3(-1e30f32..1e30), 1..20)) {
            let text: String = rows.iter().map(|r| format!("{:?},{:e},{}\n", r[0], r[1], r[2])).collect();
            let table = parse(&text, ReadOptions { header: Header::No, ..Default::default() }).unwrap();
            prop_assert_eq!(values(&table), rows.concat());
        }

        #[test]
        fn any_bytes_give_a_table_or_an_error(bytes in prop::collection::vec(prop::sample::select(b"01.,;\"\n\r\t e-aN?\xff".to_vec()), 0..60)) {
            let budget = Budget::unlimited();
            let _ = read(&bytes, guess_delimiter(&bytes), &ReadOptions::default(), &budget);
            let _ = read(&bytes, b',', &ReadOptions { missing: Missing::Drop, ..options("0") }, &budget);
        }
    }
}
