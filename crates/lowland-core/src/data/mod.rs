//! The input: dense rows, sparse rows, or strings.

mod cache;
mod dense;
mod narrowing;
mod sparse;

pub use dense::Dense;
pub use narrowing::Narrowing;
pub use sparse::Sparse;

use std::hash::Hasher;
use std::sync::Arc;

use rayon::prelude::*;
use twox_hash::XxHash3_64;

use crate::archive::Archive;
use crate::{Error, Result};

use cache::ContentCache;

/// The data that a method is fitted to: one row per point.
#[derive(Debug, Clone)]
pub enum Data {
    /// Rows of numbers.
    Dense(Dense),
    /// Rows of numbers, most of them zero.
    Sparse(Sparse),
    /// One string per row, compared by edit distance.
    Text(Arc<[String]>),
}

/// Size and kind of data, from which time and memory are estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataShape {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns; 0 for strings.
    pub dim: usize,
    /// Whether rows are stored sparsely.
    pub sparse: bool,
    /// Size of the values in bytes.
    pub bytes: u64,
}

impl Data {
    /// Creates dense data from row-major values with `dim` columns.
    pub fn dense(values: Vec<f32>, dim: usize) -> Result<Self> {
        Dense::new(values, dim).map(Data::Dense)
    }

    /// Creates dense data from row-major values in double precision. Columns are rounded to single precision, after subtracting
    /// an offset where their values are large against their differences (time stamps, coordinates far from the origin); with
    /// `offsets`, those and no others. Fails if a value is out of the range of single precision.
    pub fn from_f64(
        values: impl ExactSizeIterator<Item = f64>,
        rows: usize,
        dim: usize,
        offsets: Option<Arc<[f64]>>,
    ) -> Result<Self> {
        let (values, offsets) = narrowing::narrow(values, dim, offsets)?;
        Ok(Data::Dense(Dense::shared(Arc::new(values), rows, dim)?.shifted_by(offsets)?))
    }

    /// Returns what was subtracted from each column before it was stored in single precision; `None` if nothing was.
    pub fn offsets(&self) -> Option<&[f64]> {
        match self {
            Data::Dense(x) => x.offsets(),
            _ => None,
        }
    }

    /// Returns the columns with an offset: rounded as they are, they would lose much of their spread.
    pub fn rounded_columns(&self) -> Vec<usize> {
        let offsets = self.offsets().unwrap_or_default();
        offsets.iter().enumerate().filter(|(_, offset)| **offset != 0.0).map(|(j, _)| j).collect()
    }

    /// Returns the rows as stored, without offsets: for computations that only depend on differences.
    pub fn without_offsets(&self) -> Self {
        match self {
            Data::Dense(x) => Data::Dense(x.without_offsets()),
            other => other.clone(),
        }
    }

    /// Returns the rows with the offsets added, in single precision: for computations that depend on the origin.
    pub fn unshifted(&self) -> Self {
        self.with_offsets(None)
    }

    /// Returns the rows with other offsets.
    pub fn with_offsets(&self, offsets: Option<&[f64]>) -> Self {
        match self {
            Data::Dense(x) if x.offsets() != offsets && offsets.is_none_or(|offsets| offsets.len() == x.dim()) => {
                Data::Dense(x.with_offsets(offsets))
            }
            other => other.clone(),
        }
    }

    /// Creates data from one string per row.
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

    /// Returns the kind of data: `dense`, `sparse` or `text`.
    pub fn kind(&self) -> &'static str {
        match self {
            Data::Dense(_) => "dense",
            Data::Sparse(_) => "sparse",
            Data::Text(_) => "text",
        }
    }

    /// Returns the size and kind of the data.
    pub fn shape(&self) -> DataShape {
        let bytes = match self {
            Data::Dense(x) => x.values().len() * 4,
            Data::Sparse(x) => x.values().len() * 8 + x.indptr().len() * 8,
            Data::Text(x) => x.iter().map(|line| line.len() + 24).sum(),
        };
        let sparse = matches!(self, Data::Sparse(_));
        DataShape { rows: self.rows(), dim: self.dim(), sparse, bytes: bytes as u64 }
    }

    /// Returns the given rows, in that order.
    pub fn select(&self, rows: &[usize]) -> Self {
        match self {
            Data::Dense(x) => Data::Dense(x.select(rows)),
            Data::Sparse(x) => Data::Sparse(x.select(rows)),
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

    /// Returns an error if a value is NaN or infinite. The error names the first such cell and their number. Data that
    /// passed once is not scanned again.
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
        Err(Error::NotFinite { row, column, value: values[at], count, name: None })
    }

    /// Like [`Self::check_finite`], except that NaN is allowed in dense data, as a missing cell.
    pub fn check_finite_or_missing(&self) -> Result<()> {
        let Data::Dense(x) = self else { return self.check_finite() };
        let Some(at) = x.values().iter().position(|v| v.is_infinite()) else { return Ok(()) };
        let count = x.values()[at..].iter().filter(|v| v.is_infinite()).count();
        Err(Error::NotFinite {
            row: at / self.dim(),
            column: at % self.dim(),
            value: x.values()[at],
            count,
            name: None,
        })
    }

    /// Returns a 64-bit hash of row `i`. `-0.0` hashes like `0.0`, and only the nonzero entries of sparse rows count.
    pub fn row_hash(&self, i: usize) -> u64 {
        let mut hasher = XxHash3_64::new();
        let mut write = |bytes: &[u8]| Hasher::write(&mut hasher, bytes);
        match self {
            Data::Dense(x) => {
                // In chunks, since the hasher is slow with four bytes at a time. Adding 0.0 turns -0.0 into 0.0.
                let mut chunk = [0.0; 256];
                for values in x.row(i).chunks(chunk.len()) {
                    chunk.iter_mut().zip(values).for_each(|(p, v)| *p = v + 0.0);
                    write(bytemuck::cast_slice(&chunk[..values.len()]));
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
        hasher.finish()
    }

    /// Returns, for each row, the index of the first equal row (its own index if there is no earlier one).
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

    /// Returns the hash of every row, which is computed only once.
    pub fn row_hashes(&self) -> std::borrow::Cow<'_, [u64]> {
        let compute = || (0..self.rows()).into_par_iter().with_min_len(256).map(|i| self.row_hash(i)).collect();
        match self.cache() {
            Some(cache) => cache.row_hashes.get_or_init(compute).as_slice().into(),
            None => compute().into(),
        }
    }

    /// Returns a hash of the content and the shape, which identifies the data of a checkpoint.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = XxHash3_64::new();
        let mut write = |word: u64| Hasher::write(&mut hasher, &word.to_le_bytes());
        write(self.rows() as u64);
        write(self.dim() as u64);
        self.row_hashes().iter().for_each(|&hash| write(hash));
        self.offsets().unwrap_or_default().iter().for_each(|offset| write(offset.to_bits()));
        hasher.finish()
    }

    /// Writes the data to an archive under `name/`, without offsets.
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

    /// Reads data that was saved under `name/`.
    pub fn load(name: &str, archive: &Archive) -> Result<Self> {
        let &[rows, dim] = archive.sizes(&format!("{name}/shape"))?.as_slice() else {
            return Err(archive.invalid(format!("'{name}/shape' must contain the numbers of rows and columns")));
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
mod tests;
