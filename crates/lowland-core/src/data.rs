//! The input: dense rows, sparse rows, or strings.

use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use twox_hash::XxHash3_64;

use super::{Error, Result};
use crate::archive::Archive;

/// What a map is made of.
#[derive(Debug, Clone)]
pub enum Data {
    /// Rows of numbers.
    Dense(Dense),
    /// Rows of numbers, mostly zero.
    Sparse(Sparse),
    /// One string a row; compared by edit distance.
    Text(Arc<[String]>),
}

/// Row-major `f32` rows. The storage is shared and read-only, so that it may be a memory-mapped file.
#[derive(Clone)]
pub struct Dense {
    values: Arc<dyn AsRef<[f32]> + Send + Sync>,
    rows: usize,
    dim: usize,
    cache: Arc<ContentCache>,
}

/// Compressed sparse rows, columns ascending and unique within each row.
#[derive(Debug, Clone, PartialEq)]
pub struct Sparse {
    indptr: Arc<[usize]>,
    indices: Arc<[u32]>,
    values: Arc<[f32]>,
    dim: usize,
    cache: Arc<ContentCache>,
}

/// What was computed of the content, kept so that rows are hashed once and checked for NaN once however often it is asked for.
/// Content does not change, and clones share it.
#[derive(Debug, Default)]
struct ContentCache {
    is_finite: OnceLock<()>,
    row_hashes: OnceLock<Vec<u64>>,
}

impl PartialEq for ContentCache {
    /// Says nothing about the content itself.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The size and kind of data: enough to say what work on them will need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataShape {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns; 0 for strings.
    pub dim: usize,
    /// Whether rows are stored sparsely.
    pub sparse: bool,
    /// Bytes the values take.
    pub bytes: u64,
}

impl Dense {
    /// Rows of length `dim` laid end to end.
    pub fn new(values: Vec<f32>, dim: usize) -> Result<Self> {
        let rows = values.len().checked_div(dim).unwrap_or(0);
        Self::shared(Arc::new(values), rows, dim)
    }

    /// Rows in storage owned by someone else, such as a memory-mapped file.
    pub fn shared(values: Arc<dyn AsRef<[f32]> + Send + Sync>, rows: usize, dim: usize) -> Result<Self> {
        let found = (*values).as_ref().len();
        match rows.checked_mul(dim) {
            Some(expected) if expected == found => Ok(Self { values, rows, dim, cache: Arc::default() }),
            expected => {
                Err(Error::Shape { what: "values of a dense matrix", expected: expected.unwrap_or(usize::MAX), found })
            }
        }
    }

    /// All values, row after row.
    pub fn values(&self) -> &[f32] {
        (*self.values).as_ref()
    }

    /// One row.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.values()[i * self.dim..(i + 1) * self.dim]
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn dim(&self) -> usize {
        self.dim
    }
}

impl std::fmt::Debug for Dense {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Dense {{ {} x {} }}", self.rows, self.dim)
    }
}

impl Sparse {
    /// Checks the three arrays; sorts each row by column if it is not. Duplicate columns are refused.
    pub fn new(indptr: Vec<usize>, mut indices: Vec<u32>, mut values: Vec<f32>, dim: usize) -> Result<Self> {
        let bad = |reason: String| Error::Format { what: "sparse matrix", reason };
        if indptr.first() != Some(&0) || indptr.last() != Some(&indices.len()) || indptr.windows(2).any(|w| w[0] > w[1])
        {
            return Err(bad(format!("indptr must rise from 0 to the number of entries, {}", indices.len())));
        }
        if indices.len() != values.len() {
            return Err(Error::Shape {
                what: "values of a sparse matrix",
                expected: indices.len(),
                found: values.len(),
            });
        }
        for (row, bounds) in indptr.windows(2).enumerate() {
            let (start, end) = (bounds[0], bounds[1]);
            if !indices[start..end].is_sorted() {
                let mut entries: Vec<(u32, f32)> =
                    indices[start..end].iter().copied().zip(values[start..end].iter().copied()).collect();
                entries.sort_by_key(|entry| entry.0);
                for (offset, (column, value)) in entries.into_iter().enumerate() {
                    indices[start + offset] = column;
                    values[start + offset] = value;
                }
            }
            let columns = &indices[start..end];
            if columns.last().is_some_and(|&last| last as usize >= dim) {
                return Err(bad(format!(
                    "row {row} has column {}, the matrix has {dim} columns",
                    columns[columns.len() - 1]
                )));
            }
            if let Some(pair) = columns.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(bad(format!("row {row} has column {} twice", pair[0])));
            }
        }
        Ok(Self { indptr: indptr.into(), indices: indices.into(), values: values.into(), dim, cache: Arc::default() })
    }

    /// Columns and values of one row.
    pub fn row(&self, i: usize) -> (&[u32], &[f32]) {
        let range = self.indptr[i]..self.indptr[i + 1];
        (&self.indices[range.clone()], &self.values[range])
    }

    /// Where each row starts; one longer than the rows.
    pub fn indptr(&self) -> &[usize] {
        &self.indptr
    }

    /// Columns of all entries.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Values of all entries.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.indptr.len() - 1
    }

    /// Number of columns.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The same pattern with other values.
    pub fn with_values(&self, values: Vec<f32>) -> Self {
        assert_eq!(values.len(), self.values.len(), "one value for each stored entry");
        Self { values: values.into(), cache: Arc::default(), ..self.clone() }
    }
}

impl Data {
    /// Dense rows of length `dim` laid end to end.
    pub fn dense(values: Vec<f32>, dim: usize) -> Result<Self> {
        Dense::new(values, dim).map(Data::Dense)
    }

    /// Strings.
    pub fn text(lines: Vec<String>) -> Self {
        Data::Text(lines.into())
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Data::Dense(x) => x.rows(),
            Data::Sparse(x) => x.rows(),
            Data::Text(x) => x.len(),
        }
    }

    /// Number of columns; 0 for strings.
    pub fn dim(&self) -> usize {
        match self {
            Data::Dense(x) => x.dim(),
            Data::Sparse(x) => x.dim(),
            Data::Text(_) => 0,
        }
    }

    /// `dense`, `sparse` or `text`.
    pub fn kind(&self) -> &'static str {
        match self {
            Data::Dense(_) => "dense",
            Data::Sparse(_) => "sparse",
            Data::Text(_) => "text",
        }
    }

    /// Size and kind.
    pub fn shape(&self) -> DataShape {
        let bytes = match self {
            Data::Dense(x) => x.values().len() * 4,
            Data::Sparse(x) => x.values().len() * 8 + x.indptr().len() * 8,
            Data::Text(x) => x.iter().map(|line| line.len() + 24).sum(),
        };
        let sparse = matches!(self, Data::Sparse(_));
        DataShape { rows: self.rows(), dim: self.dim(), sparse, bytes: bytes as u64 }
    }

    /// The rows named, in that order.
    pub fn select(&self, rows: &[usize]) -> Self {
        match self {
            Data::Dense(x) => {
                let mut values = Vec::with_capacity(rows.len() * x.dim());
                rows.iter().for_each(|&i| values.extend_from_slice(x.row(i)));
                Data::Dense(Dense::shared(Arc::new(values), rows.len(), x.dim()).expect("whole rows"))
            }
            Data::Sparse(x) => {
                let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
                for &i in rows {
                    let (columns, entries) = x.row(i);
                    indices.extend_from_slice(columns);
                    values.extend_from_slice(entries);
                    indptr.push(indices.len());
                }
                Data::Sparse(Sparse {
                    indptr: indptr.into(),
                    indices: indices.into(),
                    values: values.into(),
                    dim: x.dim,
                    cache: Arc::default(),
                })
            }
            Data::Text(x) => Data::Text(rows.iter().map(|&i| x[i].clone()).collect()),
        }
    }

    fn cache(&self) -> Option<&ContentCache> {
        match self {
            Data::Dense(x) => Some(&x.cache),
            Data::Sparse(x) => Some(&x.cache),
            Data::Text(_) => None,
        }
    }

    /// Rejects NaN and infinities, naming the first one and their number. Data that passed once are not scanned again.
    pub fn check_finite(&self) -> Result<()> {
        if self.cache().is_some_and(|cache| cache.is_finite.get().is_some()) {
            return Ok(());
        }
        let values = match self {
            Data::Dense(x) => x.values(),
            Data::Sparse(x) => x.values(),
            Data::Text(_) => &[],
        };
        let Some(at) = values.iter().position(|v| !v.is_finite()) else {
            if let Some(cache) = self.cache() {
                let _ = cache.is_finite.set(());
            }
            return Ok(());
        };
        let (row, column) = match self {
            Data::Sparse(x) => (x.indptr().partition_point(|&start| start <= at) - 1, x.indices()[at] as usize),
            _ => (at / self.dim(), at % self.dim()),
        };
        let count = values[at..].iter().filter(|v| !v.is_finite()).count();
        Err(Error::NotFinite { row, column, value: values[at], count })
    }

    /// A 64-bit hash of the content of row `i`; `-0.0` hashes as `0.0`, and sparse rows by their non-zero entries only.
    pub fn row_hash(&self, i: usize) -> u64 {
        let mut hasher = XxHash3_64::new();
        let mut write = |bytes: &[u8]| std::hash::Hasher::write(&mut hasher, bytes);
        match self {
            Data::Dense(x) => {
                // In pieces, since the hasher is slow at four bytes a time; adding 0.0 turns -0.0 into 0.0.
                let mut piece = [0.0; 256];
                for values in x.row(i).chunks(piece.len()) {
                    piece.iter_mut().zip(values).for_each(|(p, v)| *p = v + 0.0);
                    write(bytemuck::cast_slice(&piece[..values.len()]));
                }
            }
            Data::Sparse(x) => {
                let (columns, values) = x.row(i);
                for (j, v) in columns.iter().zip(values).filter(|(_, v)| **v != 0.0) {
                    write(&j.to_le_bytes());
                    write(&v.to_bits().to_le_bytes());
                }
            }
            Data::Text(x) => write(x[i].as_bytes()),
        }
        std::hash::Hasher::finish(&hasher)
    }

    /// For each row, the first row equal to it (itself where there is none before it).
    pub fn first_equal_rows(&self) -> Vec<u32> {
        let mut order: Vec<(u64, u32)> = self.row_hashes().iter().copied().zip(0..).collect();
        order.par_sort_unstable();
        let mut first = vec![0; self.rows()];
        for equal in order.chunk_by(|a, b| a.0 == b.0) {
            equal.iter().for_each(|&(_, i)| first[i as usize] = equal[0].1);
        }
        first
    }

    /// Number of rows that repeat an earlier one.
    pub fn repeated_rows(&self) -> usize {
        self.first_equal_rows().iter().enumerate().filter(|&(i, &first)| i != first as usize).count()
    }

    /// The hash of every row, computed once.
    pub fn row_hashes(&self) -> std::borrow::Cow<'_, [u64]> {
        let compute = || (0..self.rows()).into_par_iter().with_min_len(256).map(|i| self.row_hash(i)).collect();
        match self.cache() {
            Some(cache) => cache.row_hashes.get_or_init(compute).as_slice().into(),
            None => compute().into(),
        }
    }

    /// A hash of the whole content and its shape, to recognize the data that a checkpoint belongs to.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = XxHash3_64::new();
        let mut write = |word: u64| std::hash::Hasher::write(&mut hasher, &word.to_le_bytes());
        write(self.rows() as u64);
        write(self.dim() as u64);
        self.row_hashes().iter().for_each(|&hash| write(hash));
        std::hash::Hasher::finish(&hasher)
    }

    /// Writes it under `name/`, for models that place new rows beside the training rows.
    pub fn save(&self, name: &str, archive: &mut Archive) {
        archive.put(format!("{name}/shape"), vec![self.rows() as u64, self.dim() as u64]);
        match self {
            Data::Dense(x) => archive.put(format!("{name}/dense"), x.values()),
            Data::Sparse(x) => {
                archive.put(format!("{name}/indptr"), x.indptr().iter().map(|&v| v as u64).collect::<Vec<_>>());
                archive.put(format!("{name}/indices"), x.indices());
                archive.put(format!("{name}/sparse"), x.values());
            }
            Data::Text(x) => archive.put(format!("{name}/text"), x.to_vec()),
        }
    }

    /// Reads it back.
    pub fn load(name: &str, archive: &Archive) -> Result<Self> {
        let &[rows, dim] = archive.sizes(&format!("{name}/shape"))?.as_slice() else {
            return Err(archive.invalid(format!("'{name}/shape' should hold rows and columns")));
        };
        let data = if archive.has(&format!("{name}/dense")) {
            let values = archive.f32s(&format!("{name}/dense"))?.to_vec();
            Data::Dense(Dense::shared(Arc::new(values), rows, dim)?)
        } else if archive.has(&format!("{name}/sparse")) {
            let indices = archive.u32s(&format!("{name}/indices"))?.to_vec();
            let values = archive.f32s(&format!("{name}/sparse"))?.to_vec();
            Data::Sparse(Sparse::new(archive.sizes(&format!("{name}/indptr"))?, indices, values, dim)?)
        } else {
            Data::text(archive.texts(&format!("{name}/text"))?.to_vec())
        };
        if data.rows() != rows {
            return Err(archive.invalid(format!("'{name}' has {} rows instead of {rows}", data.rows())));
        }
        data.check_finite()?;
        Ok(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparse_matrix_sorts_its_rows_and_refuses_what_cannot_be_meant() {
        let x = Sparse::new(vec![0, 2, 3], vec![4, 1, 0], vec![1.0, 2.0, 3.0], 5).unwrap();
        assert_eq!(x.row(0), (&[1, 4][..], &[2.0, 1.0][..]));
        assert!(Sparse::new(vec![0, 2], vec![1, 1], vec![1.0, 2.0], 5).is_err());
        assert!(Sparse::new(vec![0, 1], vec![5], vec![1.0], 5).is_err());
        assert!(Sparse::new(vec![0, 3], vec![1], vec![1.0], 5).is_err());
        assert!(Sparse::new(vec![], vec![], vec![], 5).is_err());
    }

    #[test]
    fn equal_rows_are_found_whatever_the_sign_of_zero() {
        let x = Data::dense(vec![0.0, 1.0, 5.0, 1.0, -0.0, 1.0], 2).unwrap();
        assert_eq!(x.first_equal_rows(), [0, 1, 0]);
    }

    #[test]
    fn the_first_bad_cell_is_named() {
        let x = Data::dense(vec![0.0, 1.0, 5.0, f32::NAN, f32::INFINITY, 1.0], 2).unwrap();
        let error = x.check_finite().unwrap_err();
        assert!(matches!(error, Error::NotFinite { row: 1, column: 1, count: 2, .. }), "{error}");
    }

    #[test]
    fn data_of_every_kind_come_back_from_an_archive() {
        let sparse = Sparse::new(vec![0, 1, 1], vec![2], vec![1.5], 3).unwrap();
        let all = [
            Data::dense(vec![1.0, 2.0, 3.0, 4.0], 2).unwrap(),
            Data::Sparse(sparse),
            Data::text(vec!["one".into(), "two".into()]),
        ];
        for data in all {
            let mut archive = Archive::new(crate::archive::ArchiveKind::Model);
            data.save("x", &mut archive);
            let back = Data::load("x", &archive).unwrap();
            assert_eq!((back.fingerprint(), back.kind()), (data.fingerprint(), data.kind()));
        }
    }

    #[test]
    fn selecting_rows_keeps_their_content() {
        let x = Data::Sparse(Sparse::new(vec![0, 1, 3, 3], vec![0, 0, 2], vec![1.0, 2.0, 3.0], 3).unwrap());
        let y = x.select(&[2, 1, 1]);
        assert_eq!(y.row_hash(1), x.row_hash(1));
        assert_eq!(y.row_hash(0), x.row_hash(2));
        assert_eq!(y.rows(), 3);
    }
}
