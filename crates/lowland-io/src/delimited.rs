//! Delimited text: `.csv` and `.tsv`, with or without a header line.

use std::io::{Cursor, Read};
use std::ops::ControlFlow;

use csv::ByteRecord;
use lowland::data::LabelsBuilder;

use crate::block_visitor::VisitBlock;
use crate::budget::Budget;
use crate::error::{FileErrorKind, Location, NumberRemedy, Result};
use crate::options::{Header, Missing, ReadOptions};
use crate::row_builder::RowBuilder;
use crate::table::{Table, push_label};

const FORMAT: &str = "delimited text";

/// Reads delimited text.
pub(crate) fn read(bytes: &[u8], delimiter: u8, options: &ReadOptions, budget: &Budget) -> Result<Table> {
    let mut table = None;
    read_blocks(&|| Ok(Box::new(bytes)), delimiter, options, budget, usize::MAX, &mut |block| {
        table = Some(block);
        Ok(ControlFlow::Break(()))
    })?;
    table.ok_or(FileErrorKind::Empty("the file is empty"))
}

/// Opens delimited text at its beginning; a header of numbers makes it necessary to read it twice.
pub(crate) type OpenText<'a> = &'a dyn Fn() -> Result<Box<dyn Read + 'a>>;

/// Reads delimited text in blocks of `block_rows` rows. The notes are those of the first block.
pub(crate) fn read_blocks(
    open: OpenText,
    delimiter: u8,
    options: &ReadOptions,
    budget: &Budget,
    block_rows: usize,
    visit: &mut VisitBlock,
) -> Result<()> {
    let mut records = CsvRecords::from_reader(open()?, delimiter)?;
    let Some(first) = records.next()? else { return Err(FileErrorKind::Empty("the file is empty")) };
    let second = records.next()?;
    let mut notes = Vec::new();
    let has_header = match options.header {
        Header::Yes => true,
        Header::No => false,
        Header::Auto => is_numbered_header(&first, open, delimiter)? || looks_like_header(&first, second.as_ref()),
    };
    let names = if has_header { Some(first.iter().map(text_of(&first)).collect::<Result<Vec<_>>>()?) } else { None };
    let width = first.len();
    let roles = DelimitedRoles::new(width, names.as_deref(), options, &mut notes)?;
    if has_header && options.header == Header::Auto {
        notes.push("the first line was taken as column names".into());
    }
    let features: Vec<usize> = (0..width).filter(|&j| !roles.contains(j)).collect();
    if features.is_empty() {
        return Err(FileErrorKind::Empty(
            "every column is taken for labels, a target or ids, none is left for the data",
        ));
    }
    let layout = TextLayout { names, width, roles, features, has_header };
    let reserved = budget.reserved();
    let (mut block, mut total) = (RecordBlock::new(&layout, options, budget), 0);
    let mut pending = [if has_header { None } else { Some(first) }, second].into_iter().flatten();
    while total < options.max_rows.unwrap_or(usize::MAX) {
        let Some(record) = pending.next().map_or_else(|| records.next(), |record| Ok(Some(record)))? else { break };
        block.push(&record, total == 0)?;
        total += 1;
        if block.rows == block_rows {
            if visit(block.finish(std::mem::take(&mut notes))?)?.is_break() {
                return Ok(());
            }
            budget.release_to(reserved);
            block = RecordBlock::new(&layout, options, budget);
        }
    }
    if total == 0 {
        return Err(FileErrorKind::Empty("the file holds nothing but a line of column names"));
    }
    if block.rows > 0 {
        let _ = visit(block.finish(notes)?)?;
    }
    Ok(())
}

/// What the columns of delimited text are.
struct TextLayout {
    names: Option<Vec<String>>,
    width: usize,
    roles: DelimitedRoles,
    /// The columns with the data.
    features: Vec<usize>,
    has_header: bool,
}

/// A block of rows that is being read.
struct RecordBlock<'a> {
    layout: &'a TextLayout,
    options: &'a ReadOptions,
    budget: &'a Budget,
    rows: usize,
    values: RowBuilder<'a>,
    labels: LabelsBuilder,
    target: LabelsBuilder,
    ids: Vec<String>,
}

impl<'a> RecordBlock<'a> {
    fn new(layout: &'a TextLayout, options: &'a ReadOptions, budget: &'a Budget) -> Self {
        Self {
            layout,
            options,
            budget,
            rows: 0,
            values: RowBuilder::new(Vec::new(), layout.features.len(), options.offsets.as_ref(), budget),
            labels: LabelsBuilder::default(),
            target: LabelsBuilder::default(),
            ids: Vec::new(),
        }
    }

    /// Adds a row. Text in the `first` row of the file may be a header.
    fn push(&mut self, record: &ByteRecord, first: bool) -> Result<()> {
        let TextLayout { names, width, roles, features, has_header } = self.layout;
        let line = line_of(record);
        if record.len() != *width {
            return Err(FileErrorKind::Ragged { line, expected: *width, found: record.len() });
        }
        let column = |j: usize| match names {
            Some(names) => format!("{:?}", names[j]),
            None => format!("{j} (from 0)"),
        };
        self.budget.reserve("the table", features.len(), size_of::<f32>())?;
        for &j in features {
            match number(&record[j]) {
                ParsedCell::Number(value) => {
                    self.values.push(value, || wide_number(&record[j]), |_, _| (Location::Line(line), column(j)))?;
                }
                ParsedCell::Missing if self.options.missing != Missing::Refuse => self.values.push_missing(1),
                other => {
                    let (location, column) = (Location::Line(line), column(j));
                    let found = String::from_utf8_lossy(&record[j]).trim().to_string();
                    return Err(match other {
                        ParsedCell::TooLarge => FileErrorKind::Overflow { location, column, found },
                        ParsedCell::Text => {
                            let remedy =
                                if first && !has_header { NumberRemedy::HeaderOrColumn } else { NumberRemedy::Column };
                            FileErrorKind::NotNumber { location, column, found, remedy }
                        }
                        _ => FileErrorKind::Missing { location, column, found, count: 1 },
                    });
                }
            }
        }
        let text = text_of(record);
        if let Some(j) = roles.label {
            push_label(&mut self.labels, &text(&record[j])?, self.budget)?;
        }
        if let Some(j) = roles.target {
            push_label(&mut self.target, &text(&record[j])?, self.budget)?;
        }
        if let Some(j) = roles.id {
            self.ids.push(self.budget.reserve_text(text(&record[j])?)?);
        }
        self.rows += 1;
        Ok(())
    }

    /// Returns the rows as a table.
    fn finish(self, notes: Vec<String>) -> Result<Table> {
        let TextLayout { names, roles, features, .. } = self.layout;
        let mut table = Table::new(self.values.finish(self.rows)?);
        table.labels = roles.label.map(|_| self.labels.finish());
        table.target = roles.target.map(|_| self.target.finish());
        table.ids = roles.id.map(|_| self.ids);
        table.columns = names.as_ref().map(|names| features.iter().map(|&j| names[j].clone()).collect());
        table.notes = notes;
        Ok(table)
    }
}

/// Number of bytes at the beginning of a file from which the separator is guessed.
pub(crate) const GUESSED_BYTES: usize = 1 << 20;

/// Returns the separator that occurs most often in the first line, outside quotes; a comma if none occurs.
pub(crate) fn guess_delimiter(bytes: &[u8]) -> u8 {
    let mut counts = [(b',', 0), (b'\t', 0), (b';', 0), (b'|', 0)];
    let mut quoted = false;
    for &byte in bytes.iter().take(GUESSED_BYTES) {
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
pub(crate) struct CsvRecords<'a>(csv::Reader<Box<dyn Read + 'a>>);

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl<'a> CsvRecords<'a> {
    pub fn new(bytes: &'a [u8], delimiter: u8) -> Self {
        Self::of_text(Box::new(bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)), delimiter)
    }

    /// Reads the records of a stream.
    pub fn from_reader(mut reader: Box<dyn Read + 'a>, delimiter: u8) -> Result<Self> {
        let mut first = Vec::with_capacity(BYTE_ORDER_MARK.len());
        reader.by_ref().take(BYTE_ORDER_MARK.len() as u64).read_to_end(&mut first)?;
        if first == BYTE_ORDER_MARK {
            first.clear();
        }
        Ok(Self::of_text(Box::new(Cursor::new(first).chain(reader)), delimiter))
    }

    fn of_text(text: Box<dyn Read + 'a>, delimiter: u8) -> Self {
        let mut builder = csv::ReaderBuilder::new();
        builder.delimiter(delimiter).has_headers(false).flexible(true).buffer_capacity(1 << 16);
        Self(builder.from_reader(text))
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
fn is_numbered_header(first: &ByteRecord, open: OpenText, delimiter: u8) -> Result<bool> {
    let index = first.iter().take_while(|field| field.is_empty()).count();
    let mut counted = first.iter().skip(index).enumerate();
    let least = if index > 0 { 1 } else { 3 };
    Ok(first.len() - index >= least
        && counted.all(|(j, field)| field == j.to_string().as_bytes())
        && (index > 0 || !has_permutation_line(open, delimiter)?))
}

/// Returns whether a line after the first has the same numbers 0, 1, 2, ... in any order: then the lines are permutations
/// or ranks, and the first one is data as well.
fn has_permutation_line(open: OpenText, delimiter: u8) -> Result<bool> {
    let mut records = CsvRecords::from_reader(open()?, delimiter)?;
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

/// The columns with the labels, the target and the ids; the others are data.
struct DelimitedRoles {
    label: Option<usize>,
    target: Option<usize>,
    id: Option<usize>,
}

impl DelimitedRoles {
    fn contains(&self, column: usize) -> bool {
        [self.label, self.target, self.id].contains(&Some(column))
    }

    fn new(width: usize, names: Option<&[String]>, options: &ReadOptions, notes: &mut Vec<String>) -> Result<Self> {
        let find = |name: &Option<String>| name.as_ref().map(|name| find_column(name, width, names)).transpose();
        let (label, target) = (find(&options.label_column)?, find(&options.target_column)?);
        let mut id = find(&options.id_column)?;
        let Some(names) = names else { return Ok(Self { label, target, id }) };
        // The index that pandas writes has no name; as data it would dominate all distances.
        if id.is_none() && label != Some(0) && target != Some(0) && width > 1 && names[0].is_empty() {
            id = Some(0);
            notes.push("the first column has no name and was taken as ids".into());
        }
        if label.is_none() {
            let telling = ["label", "labels", "class", "target", "cluster", "species", "y"];
            let data = names.iter().enumerate().filter(|&(j, _)| Some(j) != target).map(|(_, name)| name);
            for name in data.filter(|name| telling.contains(&name.to_ascii_lowercase().as_str())) {
                notes.push(format!(
                    "column {name:?} was taken as data; if it holds classes, name it as the label column"
                ));
            }
        }
        Ok(Self { label, target, id })
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
