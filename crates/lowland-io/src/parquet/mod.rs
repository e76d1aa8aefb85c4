//! Parquet, through the column readers and writers of the `parquet` crate. Its `arrow` feature is not used: the kernels
//! that it brings take longer to build than the rest of the readers together.

mod decode;
mod page_sizes;
mod schema;
mod write;

use bytes::Bytes;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::get_column_reader;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::budget::Budget;
use crate::catch_panics::catch_panics;
use crate::columnar::{ColumnField, ColumnarFile, DecodedRows, batch_rows};
use crate::error::{FileErrorKind, Result};
use decode::ColumnDecoder;
use schema::ParquetColumn;

pub(crate) use write::{ParquetGroups, write_parquet};

const FORMAT: &str = "parquet";

/// Bytes that an item of a list takes while it is decoded: two levels, its value as stored and as a number.
const LIST_ITEM_BYTES: usize = 2 * size_of::<i16>() + 2 * size_of::<f64>();

fn failed(error: ParquetError) -> FileErrorKind {
    FileErrorKind::format(FORMAT, error.to_string())
}

fn damaged(reason: &str) -> FileErrorKind {
    FileErrorKind::format(FORMAT, format!("{reason}; the file is damaged"))
}

/// An open Parquet file.
pub(crate) struct ParquetFile<'a> {
    bytes: Bytes,
    reader: SerializedFileReader<Bytes>,
    columns: Vec<ParquetColumn>,
    fields: Vec<ColumnField>,
    budget: &'a Budget,
    next_group: usize,
    group: Option<RowGroup>,
}

/// The row group that is being read.
struct RowGroup {
    decoders: Vec<ColumnDecoder>,
    remaining_rows: usize,
    batch_rows: usize,
}

impl<'a> ParquetFile<'a> {
    /// Opens a file of which `rows_held` rows are held at a time, or all.
    pub fn open(bytes: Bytes, budget: &'a Budget, rows_held: Option<usize>) -> Result<Self> {
        catch_panics(FORMAT, || {
            let reader = SerializedFileReader::new(bytes.clone()).map_err(failed)?;
            check_declared_sizes(reader.metadata(), budget, rows_held)?;
            let (fields, columns) = schema::columns(reader.metadata().file_metadata());
            Ok(Self { bytes, reader, columns, fields, budget, next_group: 0, group: None })
        })
    }

    /// Returns the size of the unpacked pages of the largest row group, which is the most that is held of them.
    pub fn largest_group(&self) -> u64 {
        largest_group(self.reader.metadata())
    }

    fn decode(&mut self, columns: &[usize], most: usize) -> Result<Option<DecodedRows>> {
        while self.group.as_ref().is_none_or(|group| group.remaining_rows == 0) {
            if self.next_group == self.reader.num_row_groups() {
                return Ok(None);
            }
            self.group = Some(self.open_group(self.next_group, columns)?);
            self.next_group += 1;
        }
        let Some(group) = &mut self.group else { return Ok(None) };
        let rows = group.batch_rows.min(group.remaining_rows).min(most);
        let columns = group.decoders.iter_mut().map(|decoder| decoder.decode(rows)).collect::<Result<_>>()?;
        group.remaining_rows -= rows;
        Ok(Some(DecodedRows { rows, columns }))
    }

    fn open_group(&self, group: usize, columns: &[usize]) -> Result<RowGroup> {
        let reader = self.reader.get_row_group(group).map_err(failed)?;
        let about = reader.metadata();
        let rows = usize::try_from(about.num_rows()).map_err(|_| damaged("a row group has a negative size"))?;
        let (mut decoders, mut items) = (Vec::with_capacity(columns.len()), 0);
        for &j in columns {
            let column = &self.columns[j];
            let chunk = about.columns().get(column.leaf).ok_or_else(|| damaged("a row group lacks a column"))?;
            page_sizes::check_pages(&self.bytes, chunk, self.budget)?;
            let declared = chunk.num_values();
            let declared = usize::try_from(declared).map_err(|_| damaged("a column has a negative size"))?;
            if column.list_level.is_some() {
                self.budget.check_room("a column of lists", declared, LIST_ITEM_BYTES)?;
                items = items.max(declared);
            }
            let pages = reader.get_column_page_reader(column.leaf).map_err(failed)?;
            let pages = Box::new(CountedPages { pages, remaining: declared as u64 });
            let descriptor = self.reader.metadata().file_metadata().schema_descr().column(column.leaf);
            decoders.push(ColumnDecoder::new(get_column_reader(descriptor, pages), column));
        }
        Ok(RowGroup { decoders, remaining_rows: rows, batch_rows: batch_rows(rows, items) })
    }
}

impl ColumnarFile for ParquetFile<'_> {
    const FORMAT: &'static str = FORMAT;

    fn fields(&self) -> &[ColumnField] {
        &self.fields
    }

    fn next_rows(&mut self, columns: &[usize], most: usize) -> Result<Option<DecodedRows>> {
        catch_panics(FORMAT, || self.decode(columns, most))
    }
}

/// Checks that what the column chunks declare fits: the unpacked pages of one row group at a time, and one number for each
/// value. A column of one repeated value takes no space in the file: only the counts say how large the table becomes.
fn check_declared_sizes(about: &ParquetMetaData, budget: &Budget, rows_held: Option<usize>) -> Result<()> {
    let size = |size: i64| u64::try_from(size).unwrap_or(u64::MAX);
    let columns = about.file_metadata().schema_descr().num_columns() as u64;
    let cells = size(about.file_metadata().num_rows()).saturating_mul(columns);
    let mut values = 0u64;
    for group in about.row_groups() {
        values = group.columns().iter().map(|chunk| size(chunk.num_values())).fold(values, u64::saturating_add);
    }
    let held = rows_held.map_or(u64::MAX, |rows| (rows as u64).saturating_mul(columns));
    let table = cells.max(values).min(held).saturating_mul(size_of::<f32>() as u64);
    if table.saturating_add(largest_group(about)) > budget.remaining() {
        return Err(budget.too_large("the table"));
    }
    Ok(())
}

/// The declared size of the unpacked pages of the largest row group.
fn largest_group(about: &ParquetMetaData) -> u64 {
    let size = |size: i64| u64::try_from(size).unwrap_or(u64::MAX);
    let unpacked = about
        .row_groups()
        .iter()
        .map(|group| group.columns().iter().map(|chunk| size(chunk.uncompressed_size())).fold(0, u64::saturating_add));
    unpacked.max().unwrap_or(0)
}

/// The pages of a column chunk, which together hold no more values than the chunk declares. A few bytes of run-length
/// encoded levels can stand for any number of values, so that the declared number is all that limits them.
struct CountedPages {
    pages: Box<dyn PageReader>,
    remaining: u64,
}

impl PageReader for CountedPages {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        let page = self.pages.get_next_page()?;
        if let Some(page) = page.as_ref().filter(|page| !matches!(page, Page::DictionaryPage { .. })) {
            let excess = || ParquetError::General("the pages of a column hold more values than it declares".into());
            self.remaining = self.remaining.checked_sub(u64::from(page.num_values())).ok_or_else(excess)?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        self.pages.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> ParquetResult<bool> {
        self.pages.at_record_boundary()
    }
}

impl Iterator for CountedPages {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}
