//! Delimited text: `.csv` and `.tsv`, with or without a header line.

use csv::ByteRecord;
use lowland::data::LabelsBuilder;

use crate::budget::Budget;
use crate::error::{FileErrorKind, Location, NumberRemedy, Result};
use crate::options::{Header, Missing, ReadOptions};
use crate::row_builder::RowBuilder;
use crate::table::{Table, push_label};

const FORMAT: &str = "delimited text";

/// Reads delimited text.
pub(crate) fn read(bytes: &[u8], delimiter: u8, options: &ReadOptions, budget: &Budget) -> Result<Table> {
    let mut records = CsvRecords::new(bytes, delimiter);
    let Some(first) = records.next()? else { return Err(FileErrorKind::Empty("the file is empty")) };
    let second = records.next()?;
    let mut notes = Vec::new();
    let has_header = match options.header {
        Header::Yes => true,
        Header::No => false,
        Header::Auto => is_numbered_header(&first, bytes, delimiter)? || looks_like_header(&first, second.as_ref()),
    };
    let names = if has_header { Some(first.iter().map(text_of(&first)).collect::<Result<Vec<_>>>()?) } else { None };
    let width = first.len();
    let roles = DelimitedRoles::new(width, names.as_deref(), options, &mut notes)?;
    if has_header && options.header == Header::Auto {
        notes.push("the first line was taken as column names".into());
    }

    let features: Vec<usize> = (0..width).filter(|&j| Some(j) != roles.label && Some(j) != roles.id).collect();
    let column = |j: usize| match &names {
        Some(names) => format!("{:?}", names[j]),
        None => format!("{j} (from 0)"),
    };
    let (mut labels, mut ids) = (LabelsBuilder::default(), Vec::new());
    let mut builder = RowBuilder::new(Vec::new(), features.len(), options.offsets.as_ref(), budget);
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
                ParsedCell::Number(value) => {
                    builder.push(value, || wide_number(&record[j]), |_, _| (Location::Line(line), column(j)))?;
                }
                ParsedCell::Missing if options.missing != Missing::Refuse => builder.push_missing(1),
                other => {
                    let (location, column) = (Location::Line(line), column(j));
                    let found = String::from_utf8_lossy(&record[j]).trim().to_string();
                    return Err(match other {
                        ParsedCell::TooLarge => FileErrorKind::Overflow { location, column, found },
                        ParsedCell::Text => {
                            let remedy = if rows == 0 && !has_header {
                                NumberRemedy::HeaderOrColumn
                            } else {
                                NumberRemedy::Column
                            };
                            FileErrorKind::NotNumber { location, column, found, remedy }
                        }
                        _ => FileErrorKind::Missing { location, column, found, count: 1 },
                    });
                }
            }
        }
        let text = text_of(&record);
        if let Some(j) = roles.label {
            push_label(&mut labels, &text(&record[j])?, budget)?;
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
    let mut table = Table::new(builder.finish(rows)?);
    table.labels = roles.label.map(|_| labels.finish());
    table.ids = roles.id.map(|_| ids);
    table.columns = names.map(|names| features.iter().map(|&j| names[j].clone()).collect());
    table.notes = notes;
    Ok(table)
}

/// Returns the separator that occurs most often in the first line, outside quotes; a comma if none occurs.
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
    // The first of equals wins, and the comma comes first.
    counts.into_iter().rev().max_by_key(|&(_, count)| count).map_or(b',', |(delimiter, _)| delimiter)
}

/// The records of a file, of any length; blank lines are skipped.
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

/// Returns a function that converts fields of a record to text.
pub(crate) fn text_of(record: &ByteRecord) -> impl Fn(&[u8]) -> Result<String> {
    let line = line_of(record);
    move |field| match std::str::from_utf8(field) {
        Ok(text) => Ok(text.trim().to_string()),
        Err(_) => Err(FileErrorKind::format(FORMAT, format!("line {line} is not UTF-8; convert the file to UTF-8"))),
    }
}

enum ParsedCell {
    Number(f32),
    Missing,
    TooLarge,
    Text,
}

fn number(field: &[u8]) -> ParsedCell {
    let field = field.trim_ascii();
    match std::str::from_utf8(field).ok().and_then(|text| text.parse::<f32>().ok()) {
        Some(value) if value.is_finite() => ParsedCell::Number(value),
        _ if is_missing(field) => ParsedCell::Missing,
        // Digits that parse as infinity are out of range; `inf` itself is reported by the check of the table.
        Some(value) if value.is_infinite() && field.iter().any(u8::is_ascii_digit) => ParsedCell::TooLarge,
        Some(value) => ParsedCell::Number(value),
        None => ParsedCell::Text,
    }
}

/// The number of a field in double precision.
fn wide_number(field: &[u8]) -> f64 {
    std::str::from_utf8(field.trim_ascii()).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

/// Returns whether a field is one of the usual spellings of a missing value.
pub(crate) fn is_missing(field: &[u8]) -> bool {
    ["", "na", "n/a", "nan", "-nan", "+nan", "null", "none", "?"]
        .iter()
        .any(|word| field.eq_ignore_ascii_case(word.as_bytes()))
}

/// Returns whether the first line is 0, 1, 2, ..., the header that pandas writes for an array. Empty cells above the index
/// distinguish it from data; without them there must be three numbers, and no later line with the same ones.
fn is_numbered_header(first: &ByteRecord, bytes: &[u8], delimiter: u8) -> Result<bool> {
    let index = first.iter().take_while(|field| field.is_empty()).count();
    let mut counted = first.iter().skip(index).enumerate();
    let least = if index > 0 { 1 } else { 3 };
    Ok(first.len() - index >= least
        && counted.all(|(j, field)| field == j.to_string().as_bytes())
        && (index > 0 || !has_permutation_line(bytes, delimiter)?))
}

/// Returns whether a line after the first has the same numbers 0, 1, 2, ... in any order: then the lines are permutations
/// or ranks, and the first one is data as well.
fn has_permutation_line(bytes: &[u8], delimiter: u8) -> Result<bool> {
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

/// Returns whether the first line is a header: some column is a number in the second line but not in the first, or nothing
/// in the first is a number.
fn looks_like_header(first: &ByteRecord, second: Option<&ByteRecord>) -> bool {
    let is_text = |field: &[u8]| matches!(number(field), ParsedCell::Text);
    let is_number = |field: &[u8]| matches!(number(field), ParsedCell::Number(_));
    let Some(second) = second else { return first.iter().any(is_text) && !first.iter().any(is_number) };
    let turns_number = first.iter().zip(second).any(|(above, below)| is_text(above) && is_number(below));
    turns_number || (first.iter().any(is_text) && !first.iter().any(is_number) && first.iter().ne(second.iter()))
}

/// The columns with the labels and the ids; the others are data.
struct DelimitedRoles {
    label: Option<usize>,
    id: Option<usize>,
}

impl DelimitedRoles {
    fn new(width: usize, names: Option<&[String]>, options: &ReadOptions, notes: &mut Vec<String>) -> Result<Self> {
        let find = |name: &Option<String>| name.as_ref().map(|name| find_column(name, width, names)).transpose();
        let label = find(&options.label_column)?;
        let mut id = find(&options.id_column)?;
        let Some(names) = names else { return Ok(Self { label, id }) };
        // The index that pandas writes has no name; as data it would dominate all distances.
        if id.is_none() && label != Some(0) && width > 1 && names[0].is_empty() {
            id = Some(0);
            notes.push("the first column has no name and was taken as ids".into());
        }
        if label.is_none() {
            let telling = ["label", "labels", "class", "target", "cluster", "species", "y"];
            for name in names.iter().filter(|name| telling.contains(&name.to_ascii_lowercase().as_str())) {
                notes.push(format!(
                    "column {name:?} was taken as data; if it holds classes, name it as the label column"
                ));
            }
        }
        Ok(Self { label, id })
    }
}

/// Finds a column by its name, else by its index from 0 (negative from the end).
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
mod tests;
