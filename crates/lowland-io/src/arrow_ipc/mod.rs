//! Arrow IPC, file and stream, decoded here: the Arrow crates that do it bring kernels that are never called. A file is a
//! stream between a magic word and a footer, so both are read as streams. The messages are walked once beforehand, so
//! that their declared sizes are checked before anything is allocated.

mod batch;
mod decode;
mod flatbuffer;
mod schema;

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use bytes::Bytes;

use crate::budget::Budget;
use crate::columnar::{ColumnCells, ColumnField, ColumnarFile, DecodedRows, batch_rows};
use crate::error::{FileErrorKind, Result};
use batch::{ArrayData, BatchLayout};
use flatbuffer::{FlatTable, Malformed};
use schema::{DICTIONARY_BATCH, RECORD_BATCH, SCHEMA};

pub(crate) use schema::{ArrowField, ArrowType, embedded_schema};

const FORMAT: &str = "arrow";
const MAGIC: &[u8] = b"ARROW1";
const CONTINUATION: u32 = u32::MAX;
/// Bytes that a text of a dictionary takes besides its letters.
const DICTIONARY_ENTRY_BYTES: usize = 48;

impl From<Malformed> for FileErrorKind {
    fn from(_: Malformed) -> Self {
        damaged("its metadata contradict themselves")
    }
}

fn damaged(reason: &str) -> FileErrorKind {
    FileErrorKind::format(FORMAT, format!("{reason}; the file is cut off or damaged"))
}

/// An open Arrow file or stream.
pub(crate) struct ArrowFile<'a> {
    stream: Bytes,
    messages: std::vec::IntoIter<StreamMessage>,
    columns: Vec<ArrowField>,
    fields: Vec<ColumnField>,
    dictionaries: HashMap<i64, Rc<ColumnCells>>,
    batch: Option<RecordBatch>,
    budget: &'a Budget,
}

/// Where a message lies in the stream.
struct StreamMessage {
    header: Range<usize>,
    body: Range<usize>,
}

/// The record batch that is being read.
struct RecordBatch {
    arrays: Vec<ArrayData>,
    rows: usize,
    next_row: usize,
    batch_rows: usize,
}

impl<'a> ArrowFile<'a> {
    /// Opens a file of which `rows_held` rows are held at a time, or all.
    pub fn open(bytes: Bytes, budget: &'a Budget, rows_held: Option<usize>) -> Result<Self> {
        let stream = stream_of(bytes)?;
        let messages = find_messages(&stream, budget, rows_held)?;
        let mut columns = None;
        for message in &messages {
            let header = &stream[message.header.clone()];
            let table = FlatTable::root(header)?;
            if table.u8(1, 0)? == SCHEMA {
                let schema = table.table(2)?.ok_or(Malformed)?;
                if schema.i16(0, 0)? != 0 {
                    return Err(FileErrorKind::format(FORMAT, "it is big-endian; write it again on another machine"));
                }
                columns = Some(schema::parse_schema(schema, header.len())?);
                break;
            }
        }
        let columns = columns.ok_or_else(|| FileErrorKind::format(FORMAT, "it has no schema"))?;
        let fields = columns.iter().map(ArrowField::describe).collect();
        let (messages, dictionaries) = (messages.into_iter(), HashMap::new());
        Ok(Self { stream, messages, columns, fields, dictionaries, batch: None, budget })
    }

    /// Reads messages up to and including the next record batch.
    fn next_batch(&mut self, columns: &[usize]) -> Result<Option<RecordBatch>> {
        for message in self.messages.by_ref() {
            let table = FlatTable::root(&self.stream[message.header.clone()])?;
            let (kind, header) = (table.u8(1, 0)?, table.table(2)?);
            let (version, body) = (table.i16(0, 0)?, self.stream.slice(message.body.clone()));
            match (kind, header) {
                (DICTIONARY_BATCH, Some(dictionary)) => {
                    let layout = dictionary.table(1)?.ok_or(Malformed)?;
                    let (id, is_delta) = (dictionary.i64(0, 0)?, dictionary.u8(2, 0)? != 0);
                    let wanted = columns.iter().find_map(|&j| dictionary_field(&self.columns[j], id));
                    let Some(mut field) = wanted.cloned() else { continue };
                    // The dictionary itself holds plain values.
                    field.dictionary = None;
                    let mut layout = BatchLayout::parse(layout, version, body)?;
                    let array = layout.load(&field)?;
                    self.budget.reserve("a dictionary", array.len, DICTIONARY_ENTRY_BYTES)?;
                    let cells = decode::decode(&field, &array, 0..array.len, &self.dictionaries, self.budget)?;
                    let cells = match self.dictionaries.remove(&id).filter(|_| is_delta) {
                        Some(known) => decode::concatenate(&known, cells)?,
                        None => cells,
                    };
                    self.dictionaries.insert(id, Rc::new(cells));
                }
                (RECORD_BATCH, Some(layout)) => {
                    let mut layout = BatchLayout::parse(layout, version, body)?;
                    let rows = layout.rows;
                    let mut arrays: Vec<Option<ArrayData>> = Vec::with_capacity(self.columns.len());
                    for (j, field) in self.columns.iter().enumerate() {
                        let wanted = columns.contains(&j);
                        arrays.push(if wanted {
                            Some(layout.load(field)?)
                        } else {
                            layout.skip(field).map(|()| None)?
                        });
                    }
                    let take = |&j: &usize| arrays[j].clone().filter(|array| array.len == rows);
                    let arrays: Option<Vec<ArrayData>> = columns.iter().map(take).collect();
                    let arrays = arrays.ok_or_else(|| damaged("a column has another number of rows than its batch"))?;
                    let items = arrays.iter().flat_map(|array| &array.children).map(|items| items.len).max();
                    let batch_rows = batch_rows(rows, items.unwrap_or(0));
                    return Ok(Some(RecordBatch { arrays, rows, next_row: 0, batch_rows }));
                }
                _ => (),
            }
        }
        Ok(None)
    }
}

impl ColumnarFile for ArrowFile<'_> {
    const FORMAT: &'static str = FORMAT;

    fn fields(&self) -> &[ColumnField] {
        &self.fields
    }

    fn next_rows(&mut self, columns: &[usize], most: usize) -> Result<Option<DecodedRows>> {
        while self.batch.as_ref().is_none_or(|batch| batch.next_row == batch.rows) {
            // Free the last batch before the next is unpacked.
            self.batch = None;
            self.batch = self.next_batch(columns)?;
            if self.batch.is_none() {
                return Ok(None);
            }
        }
        let Some(batch) = &mut self.batch else { return Ok(None) };
        let range = batch.next_row..(batch.next_row + batch.batch_rows.min(most)).min(batch.rows);
        batch.next_row = range.end;
        let decode = |(&j, array): (&usize, &ArrayData)| {
            decode::decode(&self.columns[j], array, range.clone(), &self.dictionaries, self.budget)
        };
        let columns = columns.iter().zip(&batch.arrays).map(decode).collect::<Result<_>>()?;
        Ok(Some(DecodedRows { rows: range.len(), columns }))
    }
}

/// The field within `field` that uses the dictionary with this id.
fn dictionary_field(field: &ArrowField, id: i64) -> Option<&ArrowField> {
    if field.dictionary.as_ref().is_some_and(|dictionary| dictionary.id == id) {
        return Some(field);
    }
    field.children.iter().find_map(|child| dictionary_field(child, id))
}

/// The stream inside a file, up to and without the end-of-stream mark.
fn stream_of(bytes: Bytes) -> Result<Bytes> {
    if bytes.starts_with(b"FEA1") {
        return Err(FileErrorKind::format(
            FORMAT,
            "it is Feather version 1; write it again with a current pyarrow or as Parquet",
        ));
    }
    if !bytes.starts_with(MAGIC) {
        return Ok(bytes);
    }
    // Magic and padding, the stream, the footer, its length, magic.
    let tail = bytes.len().checked_sub(10).filter(|&tail| tail >= 8 && bytes.ends_with(MAGIC));
    let end = tail.and_then(|tail| tail.checked_sub(u32_at(&bytes, tail)? as usize)).filter(|&end| end >= 8);
    match end {
        Some(end) => Ok(bytes.slice(8..end)),
        None => Err(damaged("it has no footer")),
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// Finds the messages, and checks that each lies within the stream, that its packed buffers declare no more than the
/// limit, and that its rows are no more than its bytes can hold (at the least a bit each).
fn find_messages(stream: &Bytes, budget: &Budget, rows_held: Option<usize>) -> Result<Vec<StreamMessage>> {
    let cut = || damaged("a message runs beyond the end");
    let (mut at, mut unpacked, mut largest, mut rows, mut messages) = (0usize, 0u64, 0u64, 0u64, Vec::new());
    while at < stream.len() {
        let mut length = u32_at(stream, at).ok_or_else(cut)?;
        at += 4;
        if length == CONTINUATION {
            length = u32_at(stream, at).ok_or_else(cut)?;
            at += 4;
        }
        if length == 0 {
            break;
        }
        let header = at..at.checked_add(length as usize).filter(|&end| end <= stream.len()).ok_or_else(cut)?;
        let table = FlatTable::root(&stream[header.clone()])?;
        let length = usize::try_from(table.i64(3, 0)?).ok();
        let end = length.and_then(|length| header.end.checked_add(length)).filter(|&end| end <= stream.len());
        let body = header.end..end.ok_or_else(cut)?;
        at = body.end;
        let layout = match (table.u8(1, 0)?, table.table(2)?) {
            (RECORD_BATCH, layout) => layout,
            (DICTIONARY_BATCH, Some(dictionary)) => dictionary.table(1)?,
            _ => None,
        };
        if let Some(layout) = layout {
            let layout = BatchLayout::parse(layout, table.i16(0, 0)?, stream.slice(body.clone()))?;
            unpacked = unpacked.saturating_add(layout.unpacked_size());
            largest = largest.max(layout.unpacked_size());
            rows = rows.saturating_add(layout.rows as u64);
        }
        // In blocks, one batch is unpacked at a time.
        if rows_held.map_or(unpacked, |_| largest) > budget.remaining() {
            return Err(budget.too_large("the table"));
        }
        messages.push(StreamMessage { header, body });
    }
    if rows > unpacked.saturating_add(stream.len() as u64).saturating_mul(8) {
        return Err(FileErrorKind::format(FORMAT, format!("it declares {rows} rows, more than its bytes can hold")));
    }
    Ok(messages)
}
