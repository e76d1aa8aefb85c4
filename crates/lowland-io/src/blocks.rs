//! Reading a file in blocks of rows, so that files larger than the memory can be read.
//!
//! Delimited text, `.npy`, IDX, Parquet, Arrow and `.h5ad` are read block by block; of the pages of a mapped file, those of the last
//! block are in memory. Other formats are read as a whole and handed on in blocks.

use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use lowland::Labels;
use lowland::message::excerpt_of_sentence;

#[cfg(feature = "tables")]
use crate::arrow_ipc::ArrowFile;
use crate::block_visitor::VisitBlock;
use crate::budget::Budget;
use crate::check::check_block;
#[cfg(feature = "tables")]
use crate::columnar::read_table_blocks;
use crate::error::{FileError, FileErrorKind, Result};
use crate::labels::read_labels;
use crate::options::{FileFormat, ReadOptions};
#[cfg(feature = "tables")]
use crate::parquet::ParquetFile;
use crate::read::{check_options, format_of, read_checked};
use crate::source::{FileBytes, SharedBytes};
use crate::table::Table;
use crate::{delimited, idx, npy};

/// Rows of a file that follow each other.
#[derive(Debug)]
pub struct RowBlock {
    /// The row of the file with which the block begins, counted from 0 with the rows that were dropped.
    pub first_row: usize,
    /// The rows.
    pub table: Table,
}

/// Calls `visit` with the rows of a file in blocks of `block_rows` rows, each checked as [`read`](crate::read) checks a file. Returns the
/// number of rows read. What a block takes of the memory is reserved until `visit` returns. With [`Missing::Drop`](crate::Missing), rows
/// without ids have their numbers in the file as ids, and a block can be without rows.
pub fn read_blocks(
    path: &Path,
    options: &ReadOptions,
    block_rows: usize,
    visit: &mut dyn FnMut(RowBlock) -> ControlFlow<()>,
) -> Result<usize, FileError> {
    let mut read = || {
        let (bytes, budget) = FileBytes::open(path, &options.memory)?;
        let format = format_of(path, options)?;
        check_options(format, options)?;
        if bytes.is_empty() {
            return Err(FileErrorKind::Empty("the file is empty"));
        }
        let whole = !matches!(
            format,
            FileFormat::Csv
                | FileFormat::Tsv
                | FileFormat::Npy
                | FileFormat::Idx
                | FileFormat::Parquet
                | FileFormat::Arrow
                | FileFormat::H5ad
        );
        if whole {
            let table = read_checked(path, (bytes.decompress(&budget)?, budget), options.labels.clone(), options)?;
            return Ok(visit_table(table, block_rows.max(1), visit));
        }
        let is_text = matches!(format, FileFormat::Csv | FileFormat::Tsv);
        let bytes = if is_text { bytes } else { bytes.decompress(&budget)? };
        let bytes = SharedBytes(Arc::new(bytes));
        let labels = block_labels(path, format, &bytes, options, &budget)?;
        let mut first_row = 0;
        read_format(format, &bytes, options, &budget, block_rows.max(1), &mut |mut table| {
            let rows = table.rows();
            if let Some(labels) = &labels {
                table.labels = Some(labels.select(&(first_row..first_row + rows).collect::<Vec<_>>()));
            }
            let mut table = check_block(table, options, first_row)?;
            table.notes.iter_mut().for_each(|note| *note = excerpt_of_sentence(note));
            let next = visit(RowBlock { first_row, table });
            first_row += rows;
            bytes.0.release_pages();
            Ok(next)
        })?;
        Ok(first_row)
    };
    read().map_err(|kind: FileErrorKind| kind.at(path))
}

/// Returns the most memory that [`read_blocks`] needs for a file besides its blocks: of Parquet, the unpacked pages of a row group. Other
/// files have none, or are read whole.
pub fn reader_memory(path: &Path, options: &ReadOptions) -> Result<u64, FileError> {
    let read = || {
        let (bytes, budget) = FileBytes::open(path, &options.memory)?;
        match format_of(path, options)? {
            #[cfg(feature = "tables")]
            FileFormat::Parquet => {
                let bytes = SharedBytes(Arc::new(bytes.decompress(&budget)?));
                Ok(ParquetFile::open(bytes::Bytes::from_owner(bytes), &budget, Some(1))?.largest_group())
            }
            _ => Ok(0),
        }
    };
    read().map_err(|kind: FileErrorKind| kind.at(path))
}

/// Reads the labels that a file of their own holds.
fn block_labels(
    path: &Path,
    format: FileFormat,
    bytes: &SharedBytes,
    options: &ReadOptions,
    budget: &Budget,
) -> Result<Option<Labels>> {
    let beside = || idx::labels_beside(path).filter(|_| format == FileFormat::Idx);
    let Some(file) = options.labels.clone().or_else(beside) else { return Ok(None) };
    let rows = match format {
        FileFormat::Npy => npy::NpyArray::parse(&bytes.0, budget)?.rows_and_columns()?.0,
        FileFormat::Idx => idx::parse(&bytes.0)?.shape[0],
        _ => {
            let allowed = format!("for .npy and IDX files when a file is read in blocks; {format} files name a column");
            let value = file.display().to_string();
            return Err(lowland::Error::Parameter { name: "labels", value, allowed }.into());
        }
    };
    read_labels(&file, rows, budget).map(Some).map_err(|error| FileErrorKind::Labels(error.into()))
}

fn read_format(
    format: FileFormat,
    bytes: &SharedBytes,
    options: &ReadOptions,
    budget: &Budget,
    block_rows: usize,
    visit: &mut VisitBlock,
) -> Result<()> {
    match format {
        FileFormat::Csv | FileFormat::Tsv => {
            let open = || -> Result<Box<dyn Read + '_>> {
                let bytes: &[u8] = &bytes.0;
                Ok(if bytes.starts_with(&[0x1f, 0x8b]) {
                    Box::new(MultiGzDecoder::new(bytes))
                } else {
                    Box::new(bytes)
                })
            };
            let delimiter = match (options.delimiter, format) {
                (Some(delimiter), _) => delimiter,
                (None, FileFormat::Tsv) => b'\t',
                (None, _) => {
                    let mut beginning = Vec::new();
                    open()?.take(delimited::GUESSED_BYTES as u64).read_to_end(&mut beginning)?;
                    delimited::guess_delimiter(&beginning)
                }
            };
            delimited::read_blocks(&open, delimiter, options, budget, block_rows, visit)
        }
        FileFormat::Npy => npy::read_blocks(&bytes.0, options, budget, block_rows, visit),
        FileFormat::Idx => idx::read_blocks(&bytes.0, options, budget, block_rows, visit),
        #[cfg(feature = "tables")]
        FileFormat::Parquet => {
            let file = ParquetFile::open(bytes::Bytes::from_owner(bytes.clone()), budget, Some(block_rows))?;
            read_table_blocks(file, options, budget, block_rows, visit)
        }
        #[cfg(feature = "tables")]
        FileFormat::Arrow => {
            let file = ArrowFile::open(bytes::Bytes::from_owner(bytes.clone()), budget, Some(block_rows))?;
            read_table_blocks(file, options, budget, block_rows, visit)
        }
        #[cfg(feature = "hdf5")]
        FileFormat::H5ad => crate::h5ad::read_blocks(bytes.clone(), options, budget, block_rows, visit),
        other => Err(FileErrorKind::format(other.name(), "it is not read in blocks")),
    }
}

/// Calls `visit` with blocks of a table that was read as a whole; returns the number of rows.
fn visit_table(table: Table, block_rows: usize, visit: &mut dyn FnMut(RowBlock) -> ControlFlow<()>) -> usize {
    let mut notes = table.notes.clone();
    for first_row in (0..table.rows()).step_by(block_rows) {
        let block = table.select(&(first_row..table.rows().min(first_row + block_rows)).collect::<Vec<_>>());
        let table = Table { notes: std::mem::take(&mut notes), ..block };
        if visit(RowBlock { first_row, table }).is_break() {
            break;
        }
    }
    table.rows()
}

#[cfg(test)]
mod tests;
