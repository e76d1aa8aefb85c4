//! Archives of numpy arrays: `numpy.savez`, and `scipy.sparse.save_npz`.

use std::io::{Cursor, Read, Write};

use lowland::data::Sparse;
use lowland::message::list_names;
use lowland::{Data, Embedding};
use zip::ZipArchive;
use zip::write::SimpleFileOptions;

use crate::budget::Budget;
use crate::error::{FileErrorKind, Result};
use crate::npy::{self, NpyArray, NpyHeader};
use crate::options::ReadOptions;
use crate::source::read_limited;
use crate::sparse::{self, CompressedMatrix, MatrixShape};
use crate::table::Table;

const FORMAT: &str = "npz";

/// Usual names of the arrays with the data, the labels and the ids.
const DATA_NAMES: [&str; 5] = ["X", "x", "data", "features", "arr_0"];
const LABEL_NAMES: [&str; 5] = ["y", "labels", "label", "target", "classes"];
const ID_NAMES: [&str; 2] = ["ids", "names"];

/// An open `.npz` archive.
pub(crate) struct NpzArchive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    names: Vec<String>,
    budget: &'a Budget,
}

impl<'a> NpzArchive<'a> {
    pub fn open(bytes: &'a [u8], budget: &'a Budget) -> Result<Self> {
        let zip = ZipArchive::new(Cursor::new(bytes)).map_err(unreadable)?;
        let names = zip.file_names().filter_map(Result::ok);
        let names = names.filter_map(|name| name.strip_suffix(".npy").map(str::to_string)).collect();
        Ok(Self { zip, names, budget })
    }

    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// Returns the first of these names that is in the archive.
    pub fn first_of(&self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().copied().find(|name| self.has(name))
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Converts an array; its bytes are freed afterwards.
    fn array<T>(&mut self, name: &str, convert: impl FnOnce(&NpyArray) -> Result<T>) -> Result<T> {
        let bytes = self.load(name)?;
        let converted = convert(&NpyArray::parse(&bytes, self.budget)?)?;
        self.budget.release(bytes.len());
        Ok(converted)
    }

    /// Reads and decompresses the bytes of an array.
    pub fn load(&mut self, name: &str) -> Result<Vec<u8>> {
        if !self.has(name) {
            return Err(FileErrorKind::NoSuch { what: "array", name: name.into(), available: self.names.clone() });
        }
        let entry = self.zip.by_name(&format!("{name}.npy")).map_err(unreadable)?;
        read_limited(entry, self.budget, &format!("array {name:?}"))
    }

    /// Reads the header of an array only.
    fn header(&mut self, name: &str) -> Result<NpyHeader> {
        let mut start = Vec::new();
        let entry = self.zip.by_name(&format!("{name}.npy")).map_err(unreadable)?;
        // Headers of plain arrays are 128 bytes; those of wide records can reach a few thousand.
        entry.take(1 << 16).read_to_end(&mut start)?;
        NpyHeader::parse(&start)
    }

    /// Returns the names of the numeric arrays with two or more dimensions.
    fn matrices(&mut self) -> Vec<String> {
        let names = self.names.clone();
        let is_matrix = |header: NpyHeader| header.is_numeric() && header.shape.len() >= 2;
        names.into_iter().filter(|name| self.header(name).is_ok_and(is_matrix)).collect()
    }

    fn floats(&mut self, name: &str) -> Result<Vec<f32>> {
        self.array(name, |array| array.to_f32())
    }

    /// Reads an array of indices.
    pub fn indices(&mut self, name: &str) -> Result<Vec<usize>> {
        let indices = self.array(name, |array| array.to_indices())?;
        indices
            .ok_or_else(|| FileErrorKind::format(FORMAT, format!("array {name:?} must hold whole numbers, 0 or more")))
    }

    pub fn texts(&mut self, name: &str) -> Result<Vec<String>> {
        self.array(name, |array| array.to_texts())
    }

    /// Returns whether the archive was written by `scipy.sparse.save_npz`.
    pub fn is_sparse(&self) -> bool {
        ["format", "shape", "data"].iter().all(|name| self.has(name))
    }

    /// Reads the sparse matrix.
    pub fn sparse(&mut self) -> Result<Sparse> {
        let layout = self.texts("format")?.join("");
        let shape = self.indices("shape")?;
        let [rows, dim] = shape[..] else {
            return Err(FileErrorKind::format(
                FORMAT,
                format!("a sparse matrix has two dimensions, not {}", shape.len()),
            ));
        };
        let shape = MatrixShape::within(rows, dim, self.budget)?;
        let values = self.floats("data")?;
        sparse::reserve_scratch(values.len(), self.budget)?;
        match layout.as_str() {
            "csr" | "csc" => {
                let stored =
                    CompressedMatrix { indptr: self.indices("indptr")?, indices: self.indices("indices")?, values };
                if layout == "csr" { sparse::from_csr(stored, shape) } else { sparse::from_csc(stored, shape) }
            }
            "coo" => {
                // scipy 1.13 and later may write one array of coordinates instead of two.
                let (row, col) = if self.has("coords") {
                    let mut both = self.indices("coords")?;
                    let columns = both.split_off(both.len() / 2);
                    (both, columns)
                } else {
                    (self.indices("row")?, self.indices("col")?)
                };
                sparse::from_coo(&row, col, values, shape)
            }
            other => Err(FileErrorKind::format(
                FORMAT,
                format!(
                    "it holds a sparse matrix in {other:?} layout; save it as csr: scipy.sparse.save_npz(f, x.tocsr())"
                ),
            )),
        }
    }
}

fn unreadable(error: zip::result::ZipError) -> FileErrorKind {
    FileErrorKind::format(FORMAT, error.to_string())
}

/// Reads the data, and the labels and ids if there are any.
pub(crate) fn read(bytes: &[u8], options: &ReadOptions, budget: &Budget) -> Result<Table> {
    let mut archive = NpzArchive::open(bytes, budget)?;
    let mut table = if archive.is_sparse() && options.key.is_none() {
        Table::new(Data::Sparse(archive.sparse()?))
    } else {
        let name = data_array(&mut archive, options)?;
        let mut table = Table::new(archive.array(&name, |array| array.to_data(options.offsets.as_ref()))?);
        if archive.names().len() > 1 {
            table.notes.push(format!("array {name:?} was taken as the data"));
        }
        table
    };
    let rows = table.rows();
    // An array that was requested must match (the count is checked later); others are used only if they match.
    let guess = |archive: &mut NpzArchive, names: &[&'static str], what: &str, notes: &mut Vec<String>| {
        let name = archive.first_of(names)?;
        let shape = archive.header(name).ok()?.shape;
        if shape == [rows] {
            return Some(name.to_string());
        }
        notes.push(format!("array {name:?} was not taken as {what}: its shape is {shape:?} instead of [{rows}]"));
        None
    };
    let mut notes = std::mem::take(&mut table.notes);
    let label = options.label_column.clone();
    let label = label.or_else(|| guess(&mut archive, &LABEL_NAMES, "labels", &mut notes));
    let id = options.id_column.clone();
    let id = id.or_else(|| guess(&mut archive, &ID_NAMES, "ids", &mut notes));
    table.notes = notes;
    if let Some(name) = label {
        table.labels = Some(archive.array(&name, |array| array.to_labels())?);
        table.notes.push(format!("array {name:?} was taken as labels"));
    }
    if let Some(name) = &options.target_column {
        table.target = Some(archive.array(name, |array| array.to_labels())?);
    }
    if let Some(name) = id {
        table.ids = Some(archive.texts(&name)?);
    }
    if archive.has("truth") && archive.header("truth").is_ok_and(|header| header.shape.first() == Some(&rows)) {
        table.truth = archive.array("truth", |truth| match truth.rows_and_columns() {
            Ok((_, columns @ 1..)) => Ok(Some(Embedding::new(truth.to_f64()?, columns)?)),
            _ => Ok(None),
        })?;
    }
    Ok(table)
}

fn data_array(archive: &mut NpzArchive, options: &ReadOptions) -> Result<String> {
    if let Some(key) = &options.key {
        return Ok(key.clone());
    }
    let matrices = archive.matrices();
    match &matrices[..] {
        [only] => Ok(only.clone()),
        [] => Err(FileErrorKind::format(
            FORMAT,
            format!("none of its arrays ({}) has rows and columns of numbers", list_names(archive.names())),
        )),
        several => match DATA_NAMES.iter().find(|name| several.iter().any(|known| known == *name)) {
            Some(name) => Ok((*name).to_string()),
            None => Err(FileErrorKind::format(
                FORMAT,
                format!("it holds several arrays ({}); say which with key (--key)", list_names(several)),
            )),
        },
    }
}

/// Encodes an archive of arrays, each already in `.npy` form.
pub(crate) fn encode(arrays: &[(&str, Vec<u8>)]) -> Result<Vec<u8>> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        // A fixed time stamp, so that the same arrays give the same bytes.
        let options = SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored)
            .large_file(bytes.len() as u64 >= u64::from(u32::MAX))
            .last_modified_time(zip::DateTime::default());
        zip.start_file(format!("{name}.npy"), options).map_err(unreadable)?;
        zip.write_all(bytes)?;
    }
    Ok(zip.finish().map_err(unreadable)?.into_inner())
}

/// Encodes the arrays of a sparse matrix under the names that scipy uses.
pub(crate) fn sparse_arrays(x: &Sparse) -> Vec<(&'static str, Vec<u8>)> {
    let indptr: Vec<i64> = x.indptr().iter().map(|&start| start as i64).collect();
    let indices: Vec<i64> = x.indices().iter().map(|&j| i64::from(j)).collect();
    let shape = [x.rows() as i64, x.dim() as i64];
    vec![
        ("indices", npy::encode("<i8", &[indices.len()], bytemuck::cast_slice(&indices))),
        ("indptr", npy::encode("<i8", &[indptr.len()], bytemuck::cast_slice(&indptr))),
        ("format", npy::encode("|S3", &[], b"csr")),
        ("shape", npy::encode("<i8", &[2], bytemuck::cast_slice(&shape))),
        ("data", npy::encode("<f4", &[x.values().len()], bytemuck::cast_slice(x.values()))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(values: &[f32], dim: usize) -> Vec<u8> {
        npy::encode("<f4", &[values.len() / dim, dim], bytemuck::cast_slice(values))
    }

    #[test]
    fn the_data_array_is_the_only_matrix_or_has_a_usual_name_or_was_requested() {
        let labels = || ("labels", npy::encode_texts(&["b", "a"]));
        let read_with = |arrays: &[(&str, Vec<u8>)], key: Option<&str>| {
            let options = ReadOptions { key: key.map(str::to_string), ..Default::default() };
            read(&encode(arrays).unwrap(), &options, &Budget::unlimited())
        };
        let one = read_with(&[("points", matrix(&[1.0, 2.0], 1)), labels()], None).unwrap();
        assert_eq!(one.labels.unwrap().codes, [1, 0]);
        let two = [("Z", matrix(&[1.0, 2.0], 2)), ("X", matrix(&[1.0, 2.0], 1)), labels()];
        assert_eq!(read_with(&two, None).unwrap().data.dim(), 1);
        let asked = read_with(&two, Some("Z")).unwrap();
        assert_eq!((asked.data.dim(), asked.labels), (2, None), "labels that do not fit are not guessed");
        let note = "array \"labels\" was not taken as labels: its shape is [2] instead of [1]";
        assert!(asked.notes.iter().any(|known| known == note), "{:?}", asked.notes);
        let error = read_with(&[("a", matrix(&[1.0], 1)), ("b", matrix(&[1.0], 1))], None).unwrap_err();
        assert!(error.to_string().contains("a, b") && error.to_string().contains("--key"), "{error}");
        let error = read_with(&two, Some("Q")).unwrap_err();
        assert!(error.to_string().contains("no array \"Q\"; available: Z, X, labels"), "{error}");
    }

    #[test]
    fn sparse_matrices_round_trip() {
        let x = Sparse::new(vec![0, 2, 2, 3], vec![0, 4, 2], vec![1.0, -2.5, 3.0], 5).unwrap();
        let bytes = encode(&sparse_arrays(&x)).unwrap();
        match read(&bytes, &ReadOptions::default(), &Budget::unlimited()).unwrap().data {
            Data::Sparse(y) => assert_eq!(x, y),
            other => panic!("{}", other.kind()),
        }
    }

    #[test]
    fn an_array_that_decompresses_beyond_the_limit_is_rejected() {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        zip.start_file("X.npy", SimpleFileOptions::default()).unwrap();
        zip.write_all(&npy::encode("|u1", &[1000, 1000], &vec![0; 1_000_000])).unwrap();
        let bytes = zip.finish().unwrap().into_inner();
        assert!(bytes.len() < 10_000);
        assert_eq!(read(&bytes, &ReadOptions::default(), &Budget::unlimited()).unwrap().rows(), 1000);
        // The array itself fits into two million bytes, the four million of its values do not.
        for limit in [100_000, 2_000_000, 4_999_999] {
            let error = read(&bytes, &ReadOptions::default(), &Budget::limited(limit)).unwrap_err();
            assert!(matches!(error, FileErrorKind::TooLarge { .. }), "{error}");
        }
        assert!(read(&bytes, &ReadOptions::default(), &Budget::limited(5_001_000)).is_ok());
    }
}
