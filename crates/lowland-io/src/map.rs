//! Maps: coordinates, and what is known about each point.

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
use crate::npy::{self, Array};
use crate::options::Format;
#[cfg(feature = "tables")]
use crate::parquet::ParquetFile;
use crate::source::Bytes;
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
    /// Points about which nothing else is known.
    pub fn new(map: Embedding) -> Self {
        Self { map, ids: None, labels: None, std: None, covariances: None, others: Vec::new() }
    }

    /// The points named, in that order, with all that is known about them. Labels keep their codes.
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

/// What is known about the points of a map that is written.
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
    /// What is known about its points.
    pub fn about(&self) -> About<'_> {
        let (ids, labels) = (self.ids.as_deref(), self.labels.as_ref());
        About { ids, labels, std: self.std.as_deref(), covariances: self.covariances.as_deref() }
    }
}

/// Columns of text as read: names, and the cells of each.
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
    if Format::to_write(path) == Some(Format::Npy) {
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

/// Each pair of coordinates once.
fn pairs(dim: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..dim).flat_map(move |r| (r..dim).map(move |s| (r, s)))
}

/// The column of a covariance: `cov_x_x`, `cov_x_y`, `cov_y_y`, ...
fn covariance_name(r: usize, s: usize) -> String {
    let short = |c: usize| coordinate_name(c).replace("projection_", "");
    format!("cov_{}_{}", short(r), short(s))
}

/// A coordinate's column: `projection_x`, `projection_y`, `projection_z`, `projection_4`, ...
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
    let (bytes, budget) = Bytes::open_unpacked(path, None)?;
    match Format::guess(path) {
        Some(Format::Npy) => {
            let array = Array::parse(&bytes, &budget)?;
            let (rows, dim) = array.rows_and_columns()?;
            if rows == 0 || !array.header.is_numeric() {
                return Err(FileErrorKind::Empty("a map needs points of numbers"));
            }
            Ok(MapTable::new(Embedding::new(array.to_f64()?, dim)?))
        }
        Some(Format::Csv) => from_columns(delimited_columns(&bytes, guess_delimiter(&bytes), &budget)?),
        Some(Format::Tsv) => from_columns(delimited_columns(&bytes, b'\t', &budget)?),
        #[cfg(feature = "tables")]
        Some(format @ Format::Parquet) => from_columns(catch_panics(format.name(), || {
            read_text_columns(ParquetFile::open(bytes::Bytes::from_owner(bytes), &budget)?, &budget)
        })?),
        #[cfg(feature = "tables")]
        Some(Format::Arrow) => {
            let file = ArrowFile::open(bytes::Bytes::from_owner(bytes), &budget)?;
            from_columns(read_text_columns(file, &budget)?)
        }
        #[cfg(not(feature = "tables"))]
        Some(Format::Parquet | Format::Arrow) => Err(FileErrorKind::NotBuilt { format: "parquet", feature: "tables" }),
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(ending: &str, table: &MapTable) -> MapTable {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("map.{ending}"));
        write_map(&path, table.map.points(), table.about()).unwrap();
        read_map(&path).unwrap()
    }

    fn tabular() -> Vec<&'static str> {
        if cfg!(feature = "tables") { vec!["csv", "tsv", "parquet"] } else { vec!["csv", "tsv"] }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn maps_come_back_to_the_last_bit(
            dim in 1usize..6,
            values in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::ZERO, 30),
            words in prop::collection::vec("[a-z ,\"\n;]{0,8}x", 30),
            bare: bool,
        ) {
            let map = Embedding::new(values[..30 / dim * dim].to_vec(), dim).unwrap();
            let ids = words[..30 / dim].to_vec();
            let known = |ids: Vec<String>| ids.iter().map(|id| id.trim().to_string()).collect::<Vec<_>>();
            let table = MapTable {
                ids: (!bare).then(|| known(ids.clone())),
                labels: (!bare).then(|| Labels::new(known(ids))),
                std: (!bare).then(|| values[..30 / dim].to_vec()),
                covariances: (!bare).then(|| {
                    let square = dim * dim;
                    // Symmetric: the entry of a pair depends on the pair alone.
                    let entry = |at: usize| values[(at / square + at % square % dim + at % square / dim) % 30];
                    (0..30 / dim * square).map(entry).collect()
                }),
                others: Vec::new(),
                map,
            };
            for ending in tabular() {
                prop_assert_eq!(&round_trip(ending, &table), &table, "{}", ending);
            }
            prop_assert_eq!(round_trip("npy", &table).map, table.map);
        }
    }

    #[test]
    fn the_columns_have_the_names_other_viewers_know() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("map.csv");
        let map = Embedding::new(vec![1.0, 0.1, 1e300, -2.0], 4).unwrap();
        let labels = Labels::new(["cat"]);
        let about = About { ids: Some(&["a,b".into()]), labels: Some(&labels), std: Some(&[0.5]), covariances: None };
        write_map(&path, map.points(), about).unwrap();
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "id,projection_x,projection_y,projection_z,projection_4,label,std\n\"a,b\",1.0,0.1,1e300,-2.0,cat,0.5\n"
        );
        let flat = Embedding::new(vec![1.0, 2.0], 2).unwrap();
        write_map(&path, flat.points(), About { covariances: Some(&[4.0, 0.5, 0.5, 1.0]), ..About::default() })
            .unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "projection_x,projection_y,cov_x_x,cov_x_y,cov_y_y\n1.0,2.0,4.0,0.5,1.0\n");
        // Some of them are no covariance, but columns like others.
        std::fs::write(&path, text.replace("cov_x_y", "cov")).unwrap();
        let map = read_map(&path).unwrap();
        assert!(map.covariances.is_none() && map.others.len() == 3);
    }

    #[test]
    fn other_columns_are_kept_and_follow_their_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("map.csv");
        std::fs::write(&path, "depth,projection_x,projection_y,id\n1.5,1,2,a\n,3,4,b\n").unwrap();
        let map = read_map(&path).unwrap();
        assert_eq!(map.others, [("depth".to_string(), vec!["1.5".to_string(), String::new()])]);
        let turned = map.select(&[1, 0, 1]);
        assert_eq!((turned.map.rows(), turned.others[0].1[1].as_str()), (3, "1.5"));
        assert_eq!(turned.ids.unwrap(), ["b", "a", "b"]);
    }

    #[test]
    fn what_cannot_be_written_or_read_is_explained() {
        let folder = tempfile::tempdir().unwrap();
        let map = Embedding::new(vec![1.0, 2.0], 2).unwrap();
        let write = |name: &str, ids: Option<&[String]>| {
            write_map(&folder.path().join(name), map.points(), About { ids, ..About::default() })
                .unwrap_err()
                .to_string()
        };
        assert!(write("map.xls", None).contains(".xls; use .csv"));
        assert!(write("map.csv", Some(&[])).contains("expected 0") || write("map.csv", Some(&[])).contains("number"));
        let path = folder.path().join("other.csv");
        std::fs::write(&path, "x,y\n1,2\n").unwrap();
        assert!(read_map(&path).unwrap_err().to_string().contains("no column \"projection_x\"; there is x, y"));
        std::fs::write(&path, "projection_x,projection_y\n1,two\n").unwrap();
        assert!(read_map(&path).unwrap_err().to_string().contains("column \"projection_y\": \"two\""));
        std::fs::write(&path, "projection_x,projection_y\n").unwrap();
        assert!(read_map(&path).unwrap_err().to_string().contains("no points"));
    }
}
