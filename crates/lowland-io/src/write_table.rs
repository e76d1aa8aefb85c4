//! Writes a data set.

use std::path::Path;

use lowland::Data;
use lowland::data::Dense;

use crate::error::{FileError, FileErrorKind, Result};
use crate::npy;
use crate::npz;
use crate::options::{FileFormat, WriteOptions};
use crate::table::Table;
use crate::write_columns::{ColumnValues, OutputColumn, cannot_write, write};
use crate::write_file::write_atomically;

/// Writes a table. Dense rows go to `.csv`, `.tsv`, `.parquet` (columns `id`, the data, `label`), `.npy` (the data only) or
/// `.npz` (arrays `X`, `labels`, `ids`, `truth`); sparse rows to `.npz`; strings to `.txt`.
pub fn write_table(path: &Path, table: &Table, options: &WriteOptions) -> Result<(), FileError> {
    write_any(path, table, options).map_err(|kind| kind.at(path))
}

fn write_any(path: &Path, table: &Table, options: &WriteOptions) -> Result<()> {
    table.check_counts()?;
    table.data.check_finite()?;
    let put = |bytes: &[u8]| write_atomically(path, |file| Ok(file.write_all(bytes)?));
    match (FileFormat::to_write(path), &table.data) {
        (Some(FileFormat::Npy), Data::Dense(x)) => put(&encode(x)),
        (Some(FileFormat::Npz), Data::Dense(x)) => put(&npz::encode(&with_annotations(table, vec![("X", encode(x))]))?),
        (Some(FileFormat::Npz), Data::Sparse(x)) => put(&npz::encode(&with_annotations(table, npz::sparse_arrays(x)))?),
        (Some(FileFormat::Text), Data::Text(lines)) => {
            if let Some(line) = lines.iter().position(|line| line.contains(['\n', '\r'])) {
                return Err(FileErrorKind::format("text", format!("row {line} (from 0) has a line break in it")));
            }
            put(lines.iter().flat_map(|line| [line, "\n"]).collect::<String>().as_bytes())
        }
        (_, Data::Dense(x)) => write_columns(path, table, x, options),
        (_, Data::Sparse(_)) => Err(cannot_write(path, "a sparse table", ".npz")),
        (_, Data::Text(_)) => Err(cannot_write(path, "a table of strings", ".txt")),
    }
}

fn encode(x: &Dense) -> Vec<u8> {
    match x.offsets() {
        None => npy::encode("<f4", &[x.rows(), x.dim()], bytemuck::cast_slice(x.values())),
        Some(_) => npy::encode("<f8", &[x.rows(), x.dim()], bytemuck::cast_slice(&x.to_f64())),
    }
}

/// Adds the arrays of the labels, ids and true coordinates.
fn with_annotations<'a>(table: &Table, mut arrays: Vec<(&'a str, Vec<u8>)>) -> Vec<(&'a str, Vec<u8>)> {
    if let Some(labels) = &table.labels {
        let names: Vec<&str> = (0..labels.codes.len()).map(|i| labels.name(i)).collect();
        arrays.push(("labels", npy::encode_texts(&names)));
    }
    if let Some(ids) = &table.ids {
        arrays.push(("ids", npy::encode_texts(ids)));
    }
    if let Some(truth) = &table.truth {
        arrays.push(("truth", npy::encode("<f8", &[truth.rows(), truth.dim()], bytemuck::cast_slice(truth.values()))));
    }
    arrays
}

fn write_columns(path: &Path, table: &Table, x: &Dense, options: &WriteOptions) -> Result<()> {
    let wide = x.offsets().map(|_| x.to_f64());
    let features = (0..x.dim()).map(|start| OutputColumn {
        name: match &table.columns {
            Some(names) => names[start].clone(),
            None => format!("x{start}"),
        },
        values: match &wide {
            Some(values) => ColumnValues::F64 { values, start, step: x.dim() },
            None => ColumnValues::F32 { values: x.values(), start, step: x.dim() },
        },
    });
    let ids = table.ids.as_ref().map(|ids| OutputColumn { name: "id".into(), values: ColumnValues::Ids(ids) });
    let labels =
        table.labels.as_ref().map(|labels| OutputColumn { name: "label".into(), values: ColumnValues::Labels(labels) });
    let columns: Vec<OutputColumn> = ids.into_iter().chain(features).chain(labels).collect();
    write(path, "a table", ".csv, .tsv, .parquet, .npy or .npz", &columns, options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::ReadOptions;
    use lowland::Seed;
    use lowland::data::Sparse;

    fn round_trip(name: &str, table: &Table, options: &ReadOptions) -> Table {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        write_table(&path, table, &WriteOptions::default()).unwrap();
        crate::read(&path, options).unwrap()
    }

    #[test]
    fn generated_data_round_trip_in_every_format() {
        let table = crate::builtin("blobs", Some(40), None, Seed(1)).unwrap();
        let mut table = Table { ids: Some((0..40).map(|i| format!("p{i}")).collect()), ..table };
        table.columns = Some((0..10).map(|j| format!("c{j}")).collect());
        let named =
            ReadOptions { label_column: Some("label".into()), id_column: Some("id".into()), ..Default::default() };
        let mut endings = vec!["t.csv", "t.tsv"];
        if cfg!(feature = "tables") {
            endings.push("t.parquet");
        }
        for name in endings {
            let back = round_trip(name, &table, &named);
            assert_eq!(back.data.fingerprint(), table.data.fingerprint(), "{name}");
            assert_eq!(
                (back.labels, back.ids, back.columns),
                (table.labels.clone(), table.ids.clone(), table.columns.clone())
            );
        }
        assert_eq!(round_trip("t.npy", &table, &ReadOptions::default()).data.fingerprint(), table.data.fingerprint());
        let back = round_trip("t.npz", &table, &ReadOptions::default());
        assert_eq!((back.labels, back.ids), (table.labels, table.ids));
    }

    #[test]
    fn compressed_extensions_are_rejected_and_nothing_is_written() {
        let table = crate::builtin("blobs", Some(10), None, Seed(1)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for name in ["t.csv.gz", "t.tsv.GZ", "t.npy.gz", "t.npz.gz", "t.parquet.gz"] {
            let error =
                write_table(&folder.path().join(name), &table, &WriteOptions::default()).unwrap_err().to_string();
            assert!(error.to_lowercase().contains("a table cannot be written as .gz; use .csv"), "{error}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn true_coordinates_round_trip_in_npz() {
        let table = crate::builtin("helix", Some(30), None, Seed(1)).unwrap();
        let back = round_trip("t.npz", &table, &ReadOptions::default());
        assert_eq!((back.data.fingerprint(), back.truth), (table.data.fingerprint(), table.truth));
    }

    #[test]
    fn sparse_rows_are_written_as_npz_and_strings_as_txt() {
        let x = Sparse::new(vec![0, 1, 3], vec![1, 0, 2], vec![1.0, 2.0, 3.0], 3).unwrap();
        let sparse = Table::new(Data::Sparse(x));
        let back = round_trip("t.npz", &sparse, &ReadOptions::default());
        assert_eq!(back.data.fingerprint(), sparse.data.fingerprint());
        let text = Table::new(Data::text(vec!["a b".into(), String::new(), "c".into()]));
        assert_eq!(round_trip("t.txt", &text, &ReadOptions::default()).data.fingerprint(), text.data.fingerprint());
        let refuse = |name: &str, table: &Table| {
            write_table(Path::new(name), table, &WriteOptions::default()).unwrap_err().to_string()
        };
        assert!(refuse("t.csv", &sparse).contains("a sparse table cannot be written as .csv; use .npz"));
        assert!(refuse("t.csv", &text).contains("use .txt"));
        assert!(refuse("t.txt", &Table::new(Data::text(vec!["a\nb".into()]))).contains("line break"));
    }

    #[test]
    fn rows_that_are_not_finite_are_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let table = Table::new(Data::dense(vec![1.0, f32::INFINITY], 2).unwrap());
        for name in ["t.csv", "t.npy", "t.npz"] {
            let error =
                write_table(&folder.path().join(name), &table, &WriteOptions::default()).unwrap_err().to_string();
            assert!(error.contains("row 0, column 1 is inf"), "{error}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
