//! Writes a map in blocks of rows. The file does not depend on how the rows are divided into blocks.

use std::io::Write;
use std::path::Path;

use lowland::AnnotatedEmbedding;

use crate::error::{FileError, FileErrorKind, Result};
use crate::map::{check_map, map_columns};
use crate::npy;
use crate::options::{FileFormat, WriteOptions};
#[cfg(feature = "tables")]
use crate::parquet::ParquetGroups;
use crate::write_columns::{cannot_write, write_header, write_rows};
use crate::write_file::write_atomically;

/// Receives the rows of a map, block by block.
pub struct MapWriter<'a> {
    path: &'a Path,
    file: &'a mut dyn Write,
    options: WriteOptions,
    format: MapFormat,
    rows: usize,
}

/// What is written, and what is held until it can be.
enum MapFormat {
    Delimited(u8),
    /// The coordinates so far, and their number per row: the header, which comes first, contains the number of rows.
    Npy(Vec<f64>, usize),
    #[cfg(feature = "tables")]
    Parquet(Box<ParquetGroups>),
}

/// Writes a map that `fill` hands to a [`MapWriter`] to a `.csv`, `.tsv`, `.parquet` or `.npy` file, as
/// [`write_map`](crate::write_map) does. If `fill` fails, nothing is written. Of a `.npy` file the coordinates are held in memory until all
/// are known, of Parquet a row group of 2^20 rows.
pub fn write_map_in_blocks<E: From<FileError>>(
    path: &Path,
    options: &WriteOptions,
    fill: impl FnOnce(&mut MapWriter) -> Result<(), E>,
) -> Result<(), E> {
    let at_path = |kind: FileErrorKind| E::from(kind.at(path));
    let format = match FileFormat::to_write(path) {
        Some(FileFormat::Csv) => MapFormat::Delimited(b','),
        Some(FileFormat::Tsv) => MapFormat::Delimited(b'\t'),
        Some(FileFormat::Npy) => MapFormat::Npy(Vec::new(), 0),
        #[cfg(feature = "tables")]
        Some(FileFormat::Parquet) => MapFormat::Parquet(Box::default()),
        _ => return Err(at_path(cannot_write(path, "a map", ".csv, .tsv, .parquet or .npy"))),
    };
    // Errors of `fill` are handed through.
    let mut failed = None;
    let written = write_atomically(path, |file| {
        let mut writer = MapWriter { path, file, options: *options, format, rows: 0 };
        match fill(&mut writer) {
            Ok(()) => writer.finish(),
            Err(error) => {
                failed = Some(error);
                Err(FileErrorKind::Empty("not written"))
            }
        }
    });
    match failed {
        Some(error) => Err(error),
        None => written.map_err(at_path),
    }
}

impl MapWriter<'_> {
    /// Adds rows. All blocks have the same columns.
    pub fn write(&mut self, block: &AnnotatedEmbedding) -> Result<(), FileError> {
        self.add(block).map_err(|kind| kind.at(self.path))
    }

    fn add(&mut self, block: &AnnotatedEmbedding) -> Result<()> {
        if block.rows() == 0 {
            return Ok(());
        }
        check_map(block)?;
        let columns = map_columns(block);
        match &mut self.format {
            MapFormat::Delimited(delimiter) => {
                if self.rows == 0 {
                    write_header(self.file, *delimiter, &columns, &self.options)?;
                }
                write_rows(self.file, *delimiter, block.rows(), &columns, &self.options)?;
            }
            MapFormat::Npy(values, dim) => {
                values.extend_from_slice(block.embedding.values());
                *dim = block.embedding.dim();
            }
            #[cfg(feature = "tables")]
            MapFormat::Parquet(groups) => groups.add(self.file, block.rows(), &columns)?,
        }
        self.rows += block.rows();
        Ok(())
    }

    fn finish(self) -> Result<()> {
        if self.rows == 0 {
            return Err(FileErrorKind::Empty("every row has a missing or non-finite cell"));
        }
        match self.format {
            MapFormat::Delimited(_) => Ok(()),
            MapFormat::Npy(values, dim) => {
                let header = npy::encode("<f8", &[self.rows, dim], &[]);
                self.file.write_all(&header)?;
                Ok(self.file.write_all(bytemuck::cast_slice(&values))?)
            }
            #[cfg(feature = "tables")]
            MapFormat::Parquet(groups) => groups.finish(self.file),
        }
    }
}
