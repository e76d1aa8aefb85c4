//! Maps: coordinates of points with their ids, labels and uncertainties.

use std::io::Write;
use std::path::Path;

use lowland::{
    AnnotatedEmbedding, Embedding, Labels, MemoryBudget, Reliability, ReliabilityColumn, check_computed_embedding,
};

#[cfg(feature = "tables")]
use crate::arrow_ipc::ArrowFile;
use crate::budget::Budget;
#[cfg(feature = "tables")]
use crate::catch_panics::catch_panics;
#[cfg(feature = "tables")]
use crate::columnar::read_text_columns;
use crate::delimited::{CsvRecords, guess_delimiter, line_of, text_of};
use crate::error::{FileError, FileErrorKind, Location, NumberRemedy, Result};
use crate::npy::{self, NpyArray};
use crate::options::{FileFormat, WriteOptions};
#[cfg(feature = "tables")]
use crate::parquet::ParquetFile;
use crate::source::FileBytes;
use crate::write_columns::{ColumnValues, OutputColumn, write, write_delimited};
use crate::write_file::write_atomically;

/// Columns of a file as text.
pub(crate) struct TextColumns {
    pub names: Vec<String>,
    pub cells: Vec<Vec<String>>,
}

/// Writes an embedding as `.csv`, `.tsv`, `.parquet` (columns `id`, `projection_x`, `projection_y`, `projection_z`,
/// `projection_4`, ..., `label`, `std`, `cov_x_x`, `cov_x_y`, ..., each pair once, the columns of reliability, then its other columns) or `.npy`
/// (coordinates only, `f64`). An embedding with values that are not finite is not written.
pub fn write_map(path: &Path, map: &AnnotatedEmbedding, options: &WriteOptions) -> Result<(), FileError> {
    write_any(path, map, options).map_err(|kind| kind.at(path))
}

/// Writes an embedding as CSV into a stream, such as standard output.
pub fn write_map_csv(out: &mut dyn Write, map: &AnnotatedEmbedding, options: &WriteOptions) -> Result<(), FileError> {
    let write = |out: &mut dyn Write| {
        check_map(map)?;
        write_delimited(out, b',', map.rows(), &map_columns(map), options)
    };
    write(out).map_err(|kind| kind.at(Path::new("standard output")))
}

/// Every map is checked here before it is written.
pub(crate) fn check_map(map: &AnnotatedEmbedding) -> Result<()> {
    check_computed_embedding(map.points(), map.std.as_deref(), map.covariances.as_deref())?;
    Ok(map.check()?)
}

fn write_any(path: &Path, map: &AnnotatedEmbedding, options: &WriteOptions) -> Result<()> {
    check_map(map)?;
    if FileFormat::to_write(path) == Some(FileFormat::Npy) {
        let points = map.points();
        let bytes = npy::encode("<f8", &[points.rows(), points.dim()], bytemuck::cast_slice(points.values()));
        return write_atomically(path, |file| Ok(file.write_all(&bytes)?));
    }
    write(path, "a map", ".csv, .tsv, .parquet or .npy", &map_columns(map), options)
}

/// The columns that are written of a map.
pub(crate) fn map_columns(map: &AnnotatedEmbedding) -> Vec<OutputColumn<'_>> {
    let (values, dim) = (map.embedding.values(), map.embedding.dim());
    let column = |name: &str, values| OutputColumn { name: name.into(), values };
    let coordinates =
        (0..dim).map(|start| column(&coordinate_name(start), ColumnValues::F64 { values, start, step: dim }));
    let ids = map.ids.as_ref().map(|ids| column("id", ColumnValues::Ids(ids)));
    let labels = map.labels.as_ref().map(|labels| column("label", ColumnValues::Labels(labels)));
    let std = map.std.as_ref().map(|values| column("std", ColumnValues::F64 { values, start: 0, step: 1 }));
    let covariances = map.covariances.iter().flat_map(|values| {
        pairs(dim).map(move |(r, s)| {
            column(&covariance_name(r, s), ColumnValues::F64 { values, start: r * dim + s, step: dim * dim })
        })
    });
    let reliability = map.reliability.iter().flat_map(Reliability::iter);
    let reliability =
        reliability.map(|(known, values)| column(known.name(), ColumnValues::F64 { values, start: 0, step: 1 }));
    let others = map.columns.iter().map(|(name, cells)| column(name, ColumnValues::Ids(cells)));
    ids.into_iter()
        .chain(coordinates)
        .chain(labels)
        .chain(std)
        .chain(covariances)
        .chain(reliability)
        .chain(others)
        .collect()
}

/// Iterates over the pairs of coordinates, each once.
fn pairs(dim: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..dim).flat_map(move |r| (r..dim).map(move |s| (r, s)))
}

/// Name of the column of a covariance: `cov_x_x`, `cov_x_y`, `cov_y_y`, ...
fn covariance_name(r: usize, s: usize) -> String {
    let short = |c: usize| coordinate_name(c).replace("projection_", "");
    format!("cov_{}_{}", short(r), short(s))
}

/// Name of the column of a coordinate: `projection_x`, `projection_y`, `projection_z`, `projection_4`, ...
pub fn coordinate_name(coordinate: usize) -> String {
    match coordinate {
        0..3 => format!("projection_{}", ["x", "y", "z"][coordinate]),
        _ => format!("projection_{}", coordinate + 1),
    }
}

/// Reads a map that [`write_map`] wrote, or any table with columns of these names.
pub fn read_map(path: &Path) -> Result<AnnotatedEmbedding, FileError> {
    read_map_within(path, &MemoryBudget::default())
}

/// Like [`read_map`], within a budget in which the coordinates stay reserved.
pub fn read_map_within(path: &Path, memory: &MemoryBudget) -> Result<AnnotatedEmbedding, FileError> {
    let map = read_any(path, memory).map_err(|kind| kind.at(path))?;
    memory.reserve(map.embedding.values().len() as u64 * 8);
    Ok(map)
}

fn read_any(path: &Path, memory: &MemoryBudget) -> Result<AnnotatedEmbedding> {
    let (bytes, budget) = FileBytes::open_decompressed(path, memory)?;
    match FileFormat::guess(path) {
        Some(FileFormat::Npy) => {
            let array = NpyArray::parse(&bytes, &budget)?;
            let (rows, dim) = array.rows_and_columns()?;
            if rows == 0 || !array.header.is_numeric() {
                return Err(FileErrorKind::Empty("a map needs points of numbers"));
            }
            Ok(Embedding::new(array.to_f64()?, dim)?.into())
        }
        Some(FileFormat::Csv) => from_columns(delimited_columns(&bytes, guess_delimiter(&bytes), &budget)?),
        Some(FileFormat::Tsv) => from_columns(delimited_columns(&bytes, b'\t', &budget)?),
        #[cfg(feature = "tables")]
        Some(format @ FileFormat::Parquet) => from_columns(catch_panics(format.name(), || {
            read_text_columns(ParquetFile::open(bytes::Bytes::from_owner(bytes), &budget, None)?, &budget)
        })?),
        #[cfg(feature = "tables")]
        Some(FileFormat::Arrow) => {
            let file = ArrowFile::open(bytes::Bytes::from_owner(bytes), &budget, None)?;
            from_columns(read_text_columns(file, &budget)?)
        }
        #[cfg(not(feature = "tables"))]
        Some(FileFormat::Parquet | FileFormat::Arrow) => {
            Err(FileErrorKind::NotBuilt { format: "parquet", feature: "tables" })
        }
        _ => Err(FileErrorKind::UnknownFormat { known: "csv, tsv, parquet, npy".into() }),
    }
}

fn delimited_columns(bytes: &[u8], delimiter: u8, budget: &Budget) -> Result<TextColumns> {
    let mut records = CsvRecords::new(bytes, delimiter);
    let Some(first) = records.next()? else { return Err(FileErrorKind::Empty("the file is empty")) };
    let names = first.iter().map(text_of(&first)).collect::<Result<Vec<_>>>()?;
    let mut cells = vec![Vec::new(); names.len()];
    while let Some(record) = records.next()? {
        if record.len() != names.len() {
            return Err(FileErrorKind::Ragged { line: line_of(&record), expected: names.len(), found: record.len() });
        }
        let text = text_of(&record);
        for (column, field) in cells.iter_mut().zip(&record) {
            column.push(budget.reserve_text(text(field)?)?);
        }
    }
    Ok(TextColumns { names, cells })
}

fn from_columns(mut columns: TextColumns) -> Result<AnnotatedEmbedding> {
    let position = |name: &str| columns.names.iter().position(|known| known == name);
    let coordinates: Vec<usize> = (0..columns.names.len()).map_while(|c| position(&coordinate_name(c))).collect();
    let (id, label, std) = (position("id"), position("label"), position("std"));
    if coordinates.is_empty() {
        return Err(FileErrorKind::NoSuch { what: "column", name: "projection_x".into(), available: columns.names });
    }
    let numbers = |column: usize| -> Result<Vec<f64>> {
        let parse = |(row, cell): (usize, &String)| {
            cell.parse().map_err(|_| FileErrorKind::NotNumber {
                location: Location::Row(row),
                column: format!("{:?}", columns.names[column]),
                found: cell.clone(),
                remedy: NumberRemedy::Advice("the coordinates of a map are numbers"),
            })
        };
        columns.cells[column].iter().enumerate().map(parse).collect()
    };
    let by_column = coordinates.iter().map(|&column| numbers(column)).collect::<Result<Vec<_>>>()?;
    let rows = by_column[0].len();
    if rows == 0 {
        return Err(FileErrorKind::Empty("the map has no points"));
    }
    let values = (0..rows).flat_map(|i| by_column.iter().map(move |column| column[i])).collect();
    let std_values = std.map(numbers).transpose()?;
    // All of them or none.
    let dim = coordinates.len();
    let square: Option<Vec<usize>> = pairs(dim).map(|(r, s)| position(&covariance_name(r, s))).collect();
    let covariances = square.as_ref().map(|columns| -> Result<Vec<f64>> {
        let mut all = vec![0.0; rows * dim * dim];
        for (&column, (r, s)) in columns.iter().zip(pairs(dim)) {
            for (own, value) in all.chunks_exact_mut(dim * dim).zip(numbers(column)?) {
                (own[r * dim + s], own[s * dim + r]) = (value, value);
            }
        }
        Ok(all)
    });
    let covariances = covariances.transpose()?;
    let known = |column: usize| {
        let square = square.as_ref().is_some_and(|columns| columns.contains(&column));
        coordinates.contains(&column) || [id, label, std].contains(&Some(column)) || square
    };
    let mut other: Vec<usize> = (0..columns.names.len()).filter(|&column| !known(column)).collect();
    let mut reliability = Reliability::default();
    other.retain(|&column| {
        let values = ReliabilityColumn::from_name(&columns.names[column])
            .filter(|&known| reliability.get(known).is_none())
            .zip(parse_reliability(&columns.cells[column]));
        values.is_none_or(|(known, values)| {
            reliability.set(known, values);
            false
        })
    });
    Ok(AnnotatedEmbedding {
        embedding: Embedding::new(values, coordinates.len())?,
        std: std_values,
        covariances,
        labels: label.map(|column| Labels::new(&columns.cells[column])),
        reliability: (!reliability.is_empty()).then_some(reliability),
        ids: id.map(|column| std::mem::take(&mut columns.cells[column])),
        columns: other
            .into_iter()
            .map(|column| (columns.names[column].clone(), std::mem::take(&mut columns.cells[column])))
            .collect(),
    })
}

/// Returns the values of a column of reliability; an empty cell is not known. Text makes it a column like others.
fn parse_reliability(cells: &[String]) -> Option<Vec<f64>> {
    cells.iter().map(|cell| if cell.is_empty() { Some(f64::NAN) } else { cell.parse().ok() }).collect()
}

#[cfg(test)]
mod tests;
