//! Reads a file of any format: selects the reader, then applies what all formats have in common.

use std::path::{Path, PathBuf};

use lowland::data::DataShape;
use lowland::message::{display_path, excerpt_of_sentence};

#[cfg(feature = "tables")]
use crate::arrow_ipc::ArrowFile;
use crate::budget::Budget;
#[cfg(feature = "tables")]
use crate::catch_panics::catch_panics;
use crate::check::{self, check_table};
#[cfg(feature = "tables")]
use crate::columnar::read_table;
use crate::error::{FileError, FileErrorKind, Result};
#[cfg(feature = "hdf5")]
use crate::h5ad;
use crate::labels::read_labels;
use crate::options::{FileFormat, ReadOptions};
#[cfg(feature = "tables")]
use crate::parquet::ParquetFile;
use crate::source::FileBytes;
use crate::table::Table;
use crate::{delimited, idx, npy, npz, text, word2vec};

/// Reads a file of any [`FileFormat`] and [checks](crate::check) it; the notes say what was guessed or dropped.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Table, FileError> {
    let read = || {
        let unpacked = FileBytes::open_decompressed(path, &options.memory)?;
        // MNIST's images and labels are two files; the names tell that they belong together.
        let beside =
            || idx::labels_beside(path).filter(|_| format_of(path, options).is_ok_and(|f| f == FileFormat::Idx));
        read_checked(path, unpacked, options.labels.clone().or_else(beside), options)
    };
    read().map_err(|kind| kind.at(path))
}

/// Returns the shape that the header of an uncompressed `.npy` file declares, so that a file that is far too large can be
/// rejected before it is read. Returns `None` for other formats and on errors, which [`read`] will report.
pub fn declared_shape(path: &Path, options: &ReadOptions) -> Option<DataShape> {
    // A pipe can only be read once.
    let named = path.is_file() && format_of(path, options).ok()? == FileFormat::Npy;
    let (bytes, _) = named.then(|| FileBytes::open(path, &options.memory).ok())??;
    let header = npy::NpyHeader::parse(&bytes).ok()?;
    // A header may declare more than the file holds; reading will report that.
    let promised = header.count()?.checked_mul(header.width)?;
    bytes.get(header.offset..)?.get(..promised)?;
    let (&rows, rest) = header.shape.split_first()?;
    let rows = rows.min(options.max_rows.unwrap_or(usize::MAX));
    let dim = rest.iter().try_fold(1usize, |product, &size| product.checked_mul(size))?;
    let bytes = (rows as u64).checked_mul(dim as u64)?.checked_mul(size_of::<f32>() as u64)?;
    Some(DataShape { rows, dim, sparse: false, bytes })
}

/// Reads the content of a file from memory; the format is taken from `name` unless the options give it.
pub fn read_memory(name: &Path, bytes: Vec<u8>, options: &ReadOptions) -> Result<Table, FileError> {
    let read = || {
        let budget = Budget::new(bytes.len(), &options.memory);
        let unpacked = FileBytes::Owned(bytes).decompress(&budget)?;
        read_checked(name, (unpacked, budget), options.labels.clone(), options)
    };
    read().map_err(|kind: FileErrorKind| kind.at(name))
}

pub(crate) fn format_of(path: &Path, options: &ReadOptions) -> Result<FileFormat> {
    let format = options.format.or_else(|| FileFormat::guess(path));
    format.ok_or_else(|| FileErrorKind::UnknownFormat { known: FileFormat::names() })
}

pub(crate) fn read_checked(
    name: &Path,
    (bytes, budget): (FileBytes, Budget),
    labels: Option<PathBuf>,
    options: &ReadOptions,
) -> Result<Table> {
    if bytes.is_empty() {
        return Err(FileErrorKind::Empty("the file is empty"));
    }
    if options.max_rows == Some(0) {
        let (value, allowed) = ("0".into(), "at least one row".into());
        return Err(lowland::Error::Parameter { name: "max_rows", value, allowed }.into());
    }
    // A label file has one label for every row of the file: rows are left out only after all have been read.
    let all_rows = ReadOptions { max_rows: if labels.is_some() { None } else { options.max_rows }, ..options.clone() };
    let mut table = read_as(format_of(name, options)?, bytes, &all_rows, &budget)?;
    if let Some(labels) = labels {
        let read = read_labels(&labels, table.rows(), &budget);
        table.labels = Some(read.map_err(|error| FileErrorKind::Labels(error.into()))?);
        table.notes.push(format!("labels come from {}", display_path(&labels)));
    }
    if let Some(most) = options.max_rows.filter(|&most| most < table.rows()) {
        table = table.select(&(0..most).collect::<Vec<_>>());
    }
    budget.reserve("the check for repeated rows", table.rows(), check::DUPLICATE_CHECK_BYTES)?;
    let mut table = check_table(table, options)?;
    // Names of columns and arrays may be of any length.
    table.notes.iter_mut().for_each(|note| *note = excerpt_of_sentence(note));
    drop(budget);
    options.memory.reserve(table.memory_besides_rows());
    Ok(table)
}

/// Rejects options that do not apply to the format: ignored silently, they would be noticed only in the map.
pub(crate) fn check_options(format: FileFormat, options: &ReadOptions) -> Result<()> {
    let has_columns = !matches!(
        format,
        FileFormat::Npy | FileFormat::Idx | FileFormat::Word2vec | FileFormat::Vectors | FileFormat::Text
    );
    let has_keys = matches!(format, FileFormat::Npz | FileFormat::H5ad | FileFormat::Parquet | FileFormat::Arrow);
    let refuse = |name, value: &String, allowed: &str| {
        let (value, allowed) = (value.clone(), format!("{format} files have no {allowed}"));
        Err(lowland::Error::Parameter { name, value, allowed }.into())
    };
    match options {
        ReadOptions { label_column: Some(name), .. } if !has_columns => {
            refuse("label_column", name, "columns to choose from; give the labels in a file of their own (labels)")
        }
        ReadOptions { target_column: Some(name), .. } if !has_columns => refuse(
            "target",
            name,
            "columns to choose from; give the target in a file of its own (labels), and use target labels",
        ),
        ReadOptions { id_column: Some(name), .. } if !has_columns => {
            refuse("id_column", name, "columns to choose from")
        }
        ReadOptions { key: Some(key), .. } if !has_keys => refuse("key", key, "parts to choose from"),
        _ => Ok(()),
    }
}

fn read_as(format: FileFormat, bytes: FileBytes, options: &ReadOptions, budget: &Budget) -> Result<Table> {
    check_options(format, options)?;
    match format {
        FileFormat::Csv => {
            let delimiter = options.delimiter.unwrap_or_else(|| delimited::guess_delimiter(&bytes));
            delimited::read(&bytes, delimiter, options, budget)
        }
        FileFormat::Tsv => delimited::read(&bytes, options.delimiter.unwrap_or(b'\t'), options, budget),
        FileFormat::Npy => npy::read(bytes, options.max_rows, options.offsets.as_ref(), budget).map(Table::new),
        FileFormat::Npz => npz::read(&bytes, options, budget),
        FileFormat::Idx => idx::read(&bytes, options.offsets.as_ref(), budget).map(Table::new),
        FileFormat::Word2vec => word2vec::read_binary(&bytes, options, budget),
        FileFormat::Vectors => word2vec::read_text(&bytes, options, budget),
        FileFormat::Text => text::read(&bytes, options, budget),
        #[cfg(feature = "tables")]
        FileFormat::Parquet => catch_panics(format.name(), || {
            read_table(ParquetFile::open(bytes::Bytes::from_owner(bytes), budget, None)?, options, budget)
        }),
        #[cfg(feature = "tables")]
        FileFormat::Arrow => {
            read_table(ArrowFile::open(bytes::Bytes::from_owner(bytes), budget, None)?, options, budget)
        }
        #[cfg(not(feature = "tables"))]
        FileFormat::Parquet | FileFormat::Arrow => {
            Err(FileErrorKind::NotBuilt { format: format.name(), feature: "tables" })
        }
        #[cfg(feature = "hdf5")]
        FileFormat::H5ad => h5ad::read(bytes, options, budget),
        #[cfg(not(feature = "hdf5"))]
        FileFormat::H5ad => Err(FileErrorKind::NotBuilt { format: format.name(), feature: "hdf5" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lowland::MemoryBudget;

    #[test]
    fn options_that_do_not_apply_to_the_format_are_rejected() {
        let refused = |name: &str, options: ReadOptions| {
            read_memory(name.as_ref(), b"1,2\n3,4\n".to_vec(), &options).unwrap_err().to_string()
        };
        let label = || ReadOptions { label_column: Some("kind".into()), ..Default::default() };
        assert!(refused("a.txt", label()).contains("label_column = kind: text files have no columns"));
        assert!(refused("a.npy", label()).contains("a file of their own"));
        assert!(
            refused("a.vec", ReadOptions { id_column: Some("0".into()), ..Default::default() }).contains("id_column")
        );
        assert!(refused("a.csv", ReadOptions { key: Some("X".into()), ..Default::default() }).contains("key = X"));
        assert!(refused("a.csv", ReadOptions { max_rows: Some(0), ..Default::default() }).contains("at least one row"));
    }

    #[test]
    fn errors_of_the_memory_limit_name_remedies_that_work() {
        let read = |max_bytes, max_rows| {
            let options = ReadOptions { memory: MemoryBudget::new(Some(max_bytes)), max_rows, ..Default::default() };
            read_memory("a.csv".as_ref(), "1,2\n".repeat(100).into_bytes(), &options)
        };
        let error = read(1000, None).unwrap_err().to_string();
        assert!(error.contains("free memory") && error.contains("max_rows"), "{error}");
        assert_eq!(read(1000, Some(10)).unwrap().rows(), 10, "the first remedy helps");
        assert_eq!(read(100_000, None).unwrap().rows(), 100, "so does the second");
    }

    #[test]
    fn a_label_file_has_one_label_for_every_row_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let (data, labels) = (folder.path().join("x.csv"), folder.path().join("y.txt"));
        std::fs::write(&data, "1,2\nNA,4\n5,6\n7,8\n").unwrap();
        std::fs::write(&labels, "a\nb\nc\nd\n").unwrap();
        let options = ReadOptions {
            labels: Some(labels.clone()),
            missing: crate::Missing::Drop,
            max_rows: Some(3),
            ..Default::default()
        };
        let table = read(&data, &options).unwrap();
        let known = table.labels.unwrap();
        assert_eq!((0..2).map(|i| known.name(i)).collect::<Vec<_>>(), ["a", "c"]);
        std::fs::write(&labels, "a\nb\n").unwrap();
        let error = read(&data, &options).unwrap_err().to_string();
        assert!(error.contains("y.txt: the labels number 2, the rows number 4"), "{error}");
    }
}
