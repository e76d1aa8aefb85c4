//! Maps: coordinates of points with their ids, labels and uncertainties.

use std::io::Write;
use std::path::Path;

use lowland::{Embedding, Points};

#[cfg(feature = "tables")]
use crate::arrow_ipc::ArrowFile;
use crate::budget::Budget;
#[cfg(feature = "tables")]
use crate::columnar::read_text_columns;
use crate::delimited::{CsvRecords, guess_delimiter, line_of, text_of};
use crate::error::{FileError, FileErrorKind, Location, Result};
use crate::npy::{self, NpyArray};
use crate::options::FileFormat;
#[cfg(feature = "tables")]
use crate::parquet::ParquetFile;
use crate::source::FileBytes;
#[cfg(feature = "tables")]
use crate::source::catch_panics;
use crate::table::Labels;
use crate::write_columns::{ColumnValues, OutputColumn, write, write_delimited};
use crate::write_file::write_atomically;

/// A map read from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct MapTable {
    /// The points.
    pub map: Embedding,
    /// A name for each point.
    pub ids: Option<Vec<String>>,
    /// A class for each point.
    pub labels: Option<Labels>,
    /// A standard deviation for each point.
    pub std: Option<Vec<f64>>,
    /// A covariance for each point: all of a square matrix, point after point.
    pub covariances: Option<Vec<f64>>,
    /// Other columns of the file: names, and their cells.
    pub others: Vec<(String, Vec<String>)>,
}

impl MapTable {
    /// Creates a map of points without ids, labels or uncertainties.
    pub fn new(map: Embedding) -> Self {
        Self { map, ids: None, labels: None, std: None, covariances: None, others: Vec::new() }
    }

    /// Returns the given points, in that order, with all of their columns. Labels keep their codes.
    pub fn select(&self, rows: &[usize]) -> Self {
        let values = rows.iter().flat_map(|&i| self.map.row(i).iter().copied()).collect();
        let texts = |cells: &Vec<String>| rows.iter().map(|&i| cells[i].clone()).collect::<Vec<_>>();
        Self {
            map: Embedding::new(values, self.map.dim()).expect("whole rows"),
            ids: self.ids.as_ref().map(texts),
            labels: self.labels.as_ref().map(|labels| labels.select(rows)),
            std: self.std.as_ref().map(|std| rows.iter().map(|&i| std[i]).collect()),
            covariances: self.covariances.as_ref().map(|all| {
                let size = self.map.dim().pow(2);
                rows.iter().flat_map(|&i| all[i * size..(i + 1) * size].iter().copied()).collect()
            }),
            others: self.others.iter().map(|(name, cells)| (name.clone(), texts(cells))).collect(),
        }
    }
}

/// Columns that are written along with the coordinates of a map.
#[derive(Debug, Clone, Copy, Default)]
pub struct About<'a> {
    /// A name for each point.
    pub ids: Option<&'a [String]>,
    /// A class for each point.
    pub labels: Option<&'a Labels>,
    /// A standard deviation for each point.
    pub std: Option<&'a [f64]>,
    /// A covariance for each point: all of a square matrix, point after point.
    pub covariances: Option<&'a [f64]>,
}

impl MapTable {
    /// The columns other than the coordinates.
    pub fn about(&self) -> About<'_> {
        let (ids, labels) = (self.ids.as_deref(), self.labels.as_ref());
        About { ids, labels, std: self.std.as_deref(), covariances: self.covariances.as_deref() }
    }
}

/// Columns of a file as text.
pub(crate) struct TextColumns {
    pub names: Vec<String>,
    pub cells: Vec<Vec<String>>,
}

/// Writes a map as `.csv`, `.tsv`, `.parquet` (columns `id`, `projection_x`, `projection_y`, `projection_z`,
/// `projection_4`, ..., `label`, `std`, `cov_x_x`, `cov_x_y`, ..., of which each pair is there once) or `.npy` (coordinates only, `f64`).
pub fn write_map(path: &Path, map: Points, about: About) -> Result<(), FileError> {
    write_any(path, map, about).map_err(|kind| kind.at(path))
}

/// Writes a map as CSV into a stream, such as standard output.
pub fn write_map_csv(out: &mut dyn Write, map: Points, about: About) -> Result<(), FileError> {
    let columns = columns(map, about);
    write_delimited(out, b',', map.rows(), &columns).map_err(|kind| kind.at(Path::new("standard output")))
}

fn write_any(path: &Path, map: Points, about: About) -> Result<()> {
    if FileFormat::to_write(path) == Some(FileFormat::Npy) {
        let bytes = npy::encode("<f8", &[map.rows(), map.dim()], bytemuck::cast_slice(map.values()));
        return write_atomically(path, |file| Ok(file.write_all(&bytes)?));
    }
    write(path, "a map", ".csv, .tsv, .parquet or .npy", &columns(map, about))
}

fn columns<'a>(map: Points<'a>, About { ids, labels, std, covariances }: About<'a>) -> Vec<OutputColumn<'a>> {
    let coordinates = (0..map.dim()).map(|start| OutputColumn {
        name: coordinate_name(start),
        values: ColumnValues::F64 { values: map.values(), start, step: map.dim() },
    });
    let ids = ids.map(|ids| OutputColumn { name: "id".into(), values: ColumnValues::Ids(ids) });
    let labels = labels.map(|labels| OutputColumn { name: "label".into(), values: ColumnValues::Labels(labels) });
    let std =
        std.map(|values| OutputColumn { name: "std".into(), values: ColumnValues::F64 { values, start: 0, step: 1 } });
    let step = map.dim().pow(2);
    let covariances = covariances.into_iter().flat_map(|values| {
        pairs(map.dim()).map(move |(r, s)| OutputColumn {
            name: covariance_name(r, s),
            values: ColumnValues::F64 { values, start: r * map.dim() + s, step },
        })
    });
    ids.into_iter().chain(coordinates).chain(labels).chain(std).chain(covariances).collect()
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
pub fn read_map(path: &Path) -> Result<MapTable, FileError> {
    read_any(path).map_err(|kind| kind.at(path))
}

fn read_any(path: &Path) -> Result<MapTable> {
    let (bytes, budget) = FileBytes::open_decompressed(path, None)?;
    match FileFormat::guess(path) {
        Some(FileFormat::Npy) => {
            let array = NpyArray::parse(&bytes, &budget)?;
            let (rows, dim) = array.rows_and_columns()?;
            if rows == 0 || !array.header.is_numeric() {
                return Err(FileErrorKind::Empty("a map needs points of numbers"));
            }
            Ok(MapTable::new(Embedding::new(array.to_f64()?, dim)?))
        }
        Some(FileFormat::Csv) => from_columns(delimited_columns(&bytes, guess_delimiter(&bytes), &budget)?),
        Some(FileFormat::Tsv) => from_columns(delimited_columns(&bytes, b'\t', &budget)?),
        #[cfg(feature = "tables")]
        Some(format @ FileFormat::Parquet) => from_columns(catch_panics(format.name(), || {
            read_text_columns(ParquetFile::open(bytes::Bytes::from_owner(bytes), &budget)?, &budget)
        })?),
        #[cfg(feature = "tables")]
        Some(FileFormat::Arrow) => {
            let file = ArrowFile::open(bytes::Bytes::from_owner(bytes), &budget)?;
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

fn from_columns(mut columns: TextColumns) -> Result<MapTable> {
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
                remedy: "The coordinates of a map are numbers",
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
    let other: Vec<usize> = (0..columns.names.len()).filter(|&column| !known(column)).collect();
    Ok(MapTable {
        map: Embedding::new(values, coordinates.len())?,
        std: std_values,
        covariances,
        labels: label.map(|column| Labels::new(&columns.cells[column])),
        ids: id.map(|column| std::mem::take(&mut columns.cells[column])),
        others: other
            .into_iter()
            .map(|column| (columns.names[column].clone(), std::mem::take(&mut columns.cells[column])))
            .collect(),
    })
}

#[cfg(test)]
mod tests;
