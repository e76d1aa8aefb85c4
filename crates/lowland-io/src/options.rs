//! How to read a file.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// How to read a file. The default guesses everything that can be guessed and refuses what cannot be meant.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Column with the labels: its name, or its index from 0 (negative from the end). In `.h5ad` a column of `obs`.
    pub label_column: Option<String>,
    /// Column with the ids: its name, or its index from 0 (negative from the end).
    pub id_column: Option<String>,
    /// Whether the first line holds column names.
    pub header: Header,
    /// Field separator of delimited text; guessed when absent.
    pub delimiter: Option<u8>,
    /// What to do with rows that have missing or non-finite cells.
    pub missing: Missing,
    /// Which array of an `.npz`, or which `obsm` entry of an `.h5ad` (`X_pca`).
    pub key: Option<String>,
    /// Labels from another file: IDX, `.npy`, or text with one label a line.
    pub labels: Option<PathBuf>,
    /// The format, where the ending of the name does not say it.
    pub format: Option<Format>,
    /// Read at most so many rows, from the start.
    pub max_rows: Option<usize>,
    /// The most memory that reading may take: what is unpacked and the table made of it, together. Default: 300 times
    /// the file, and at least 1 GiB.
    pub max_bytes: Option<u64>,
}

/// Whether the first line of delimited text holds column names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Header {
    /// Guess from the first two lines.
    #[default]
    Auto,
    /// It does.
    Yes,
    /// It does not.
    No,
}

/// What to do with rows that have missing or non-finite cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// Refuse the file, naming the first such cell.
    #[default]
    Refuse,
    /// Leave such rows out, and note how many.
    Drop,
}

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Comma-separated text.
    Csv,
    /// Tab-separated text.
    Tsv,
    /// One numpy array.
    Npy,
    /// Named numpy arrays, or a scipy sparse matrix.
    Npz,
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow IPC file or stream (`.arrow`, `.feather`).
    Arrow,
    /// MNIST IDX.
    Idx,
    /// word2vec, binary.
    Word2vec,
    /// word2vec or GloVe, text.
    Vectors,
    /// AnnData.
    H5ad,
    /// One string a line.
    Text,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 11] = [
        Format::Csv,
        Format::Tsv,
        Format::Npy,
        Format::Npz,
        Format::Parquet,
        Format::Arrow,
        Format::Idx,
        Format::Word2vec,
        Format::Vectors,
        Format::H5ad,
        Format::Text,
    ];

    /// The name, as `--format` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Tsv => "tsv",
            Format::Npy => "npy",
            Format::Npz => "npz",
            Format::Parquet => "parquet",
            Format::Arrow => "arrow",
            Format::Idx => "idx",
            Format::Word2vec => "word2vec",
            Format::Vectors => "vectors",
            Format::H5ad => "h5ad",
            Format::Text => "text",
        }
    }

    /// The format that the ending of a name stands for; `.gz` after it is allowed.
    pub fn guess(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        // MNIST's own names: train-images-idx3-ubyte, also written train-images.idx3-ubyte.
        if let Some((_, tail)) = name.rsplit_once("idx")
            && tail.starts_with(|c: char| c.is_ascii_digit())
        {
            return Some(Format::Idx);
        }
        Some(match name.rsplit_once('.')?.1 {
            "csv" => Format::Csv,
            "tsv" | "tab" => Format::Tsv,
            "npy" => Format::Npy,
            "npz" => Format::Npz,
            "parquet" | "pq" => Format::Parquet,
            "arrow" | "feather" | "ipc" | "arrows" => Format::Arrow,
            "idx" => Format::Idx,
            "bin" => Format::Word2vec,
            "vec" => Format::Vectors,
            "h5ad" => Format::H5ad,
            "txt" => Format::Text,
            _ => return None,
        })
    }

    /// The format to write under this name. Nothing is packed here, so a name that ends in `.gz` has none.
    pub(crate) fn to_write(path: &Path) -> Option<Self> {
        let packed = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz"));
        if packed { None } else { Self::guess(path) }
    }

    /// All names, for messages.
    pub(crate) fn names() -> String {
        Self::ALL.map(Format::name).join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = lowland::Error;

    fn from_str(name: &str) -> lowland::Result<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| lowland::Error::Parameter {
            name: "format",
            value: name.into(),
            allowed: format!("one of {}", Self::names()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_of_a_name_tells_the_format() {
        let guess = |name: &str| Format::guess(Path::new(name));
        assert_eq!(guess("a/b.csv"), Some(Format::Csv));
        assert_eq!(guess("B.TSV.GZ"), Some(Format::Tsv));
        assert_eq!(guess("train-images-idx3-ubyte.gz"), Some(Format::Idx));
        assert_eq!(guess("t10k-labels.idx1-ubyte"), Some(Format::Idx));
        assert_eq!(guess("cells.h5ad"), Some(Format::H5ad));
        assert_eq!(guess("model.idxs.pkl"), None);
        assert_eq!(guess("noending"), None);
    }

    #[test]
    fn every_format_reads_back_from_its_name() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
        }
        assert!("xls".parse::<Format>().unwrap_err().to_string().contains("parquet"));
    }
}
