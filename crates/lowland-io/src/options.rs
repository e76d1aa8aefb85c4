//! Options of reading, and the file formats.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use lowland::MemoryBudget;

/// Options of [`read`](crate::read). The default detects what can be detected and rejects missing values.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Column with the labels: its name, or its index from 0 (negative from the end). In `.h5ad` a column of `obs`.
    pub label_column: Option<String>,
    /// Column with the target of a supervised fit, named like the labels; it may be the same column.
    pub target_column: Option<String>,
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
    /// File with the labels: IDX, `.npy`, or text with one label per line.
    pub labels: Option<PathBuf>,
    /// The format, if it is not to be taken from the file extension.
    pub format: Option<FileFormat>,
    /// Maximum number of rows to read.
    pub max_rows: Option<usize>,
    /// What to subtract from each column before it is stored in single precision, as in the data of a model
    /// ([`Model::offsets`](lowland::Model::offsets)), whose new rows these are. By default, the columns that need it have offsets of
    /// their own.
    pub offsets: Option<Arc<[f64]>>,
    /// Memory that reading may take, for the decompressed bytes and the table together. What the table holds besides its
    /// rows stays reserved in it. Without a limit, a file may take 300 times its size, and at least 1 GiB.
    pub memory: MemoryBudget,
}

/// Options of writing tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteOptions {
    /// Puts `'` before cells of CSV and TSV files that spreadsheet programs would evaluate: text that begins with `=`, `+`,
    /// `-`, `@`, a tab or a carriage return. By default cells are written as they are, so that they read back unchanged.
    pub escape_formulas: bool,
}

/// Whether the first line of delimited text holds column names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Header {
    /// Detect it from the first lines.
    #[default]
    Auto,
    /// It is a header.
    Yes,
    /// It is data.
    No,
}

/// What to do with rows that have missing or non-finite cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// Return an error that names the first such cell.
    #[default]
    Refuse,
    /// Drop such rows, and note how many.
    Drop,
    /// Keep missing cells of dense data, as NaN; infinite cells are still refused.
    Keep,
}

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileFormat {
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
    /// One string per line.
    Text,
}

impl FileFormat {
    /// All formats.
    pub const ALL: [FileFormat; 11] = [
        FileFormat::Csv,
        FileFormat::Tsv,
        FileFormat::Npy,
        FileFormat::Npz,
        FileFormat::Parquet,
        FileFormat::Arrow,
        FileFormat::Idx,
        FileFormat::Word2vec,
        FileFormat::Vectors,
        FileFormat::H5ad,
        FileFormat::Text,
    ];

    /// The name, as for `--format`.
    pub fn name(self) -> &'static str {
        match self {
            FileFormat::Csv => "csv",
            FileFormat::Tsv => "tsv",
            FileFormat::Npy => "npy",
            FileFormat::Npz => "npz",
            FileFormat::Parquet => "parquet",
            FileFormat::Arrow => "arrow",
            FileFormat::Idx => "idx",
            FileFormat::Word2vec => "word2vec",
            FileFormat::Vectors => "vectors",
            FileFormat::H5ad => "h5ad",
            FileFormat::Text => "text",
        }
    }

    /// Detects the format from the extension of a file; a further `.gz` is ignored.
    pub fn guess(path: &Path) -> Option<Self> {
        // What is not UTF-8 is no ending that is known, and may stand before one.
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        // MNIST's own names: train-images-idx3-ubyte, also written train-images.idx3-ubyte.
        if let Some((_, tail)) = name.rsplit_once("idx")
            && tail.starts_with(|c: char| c.is_ascii_digit())
        {
            return Some(FileFormat::Idx);
        }
        Some(match name.rsplit_once('.')?.1 {
            "csv" => FileFormat::Csv,
            "tsv" | "tab" => FileFormat::Tsv,
            "npy" => FileFormat::Npy,
            "npz" => FileFormat::Npz,
            "parquet" | "pq" => FileFormat::Parquet,
            "arrow" | "feather" | "ipc" | "arrows" => FileFormat::Arrow,
            "idx" => FileFormat::Idx,
            "bin" => FileFormat::Word2vec,
            "vec" => FileFormat::Vectors,
            "h5ad" => FileFormat::H5ad,
            "txt" => FileFormat::Text,
            _ => return None,
        })
    }

    /// Detects the format to write. Nothing is compressed here, so a name that ends in `.gz` has none.
    pub(crate) fn to_write(path: &Path) -> Option<Self> {
        let packed = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gz"));
        if packed { None } else { Self::guess(path) }
    }

    /// The names of all formats, for messages.
    pub(crate) fn names() -> String {
        Self::ALL.map(FileFormat::name).join(", ")
    }
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for FileFormat {
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
    fn formats_are_detected_from_extensions() {
        let guess = |name: &str| FileFormat::guess(Path::new(name));
        assert_eq!(guess("a/b.csv"), Some(FileFormat::Csv));
        assert_eq!(guess("B.TSV.GZ"), Some(FileFormat::Tsv));
        assert_eq!(guess("train-images-idx3-ubyte.gz"), Some(FileFormat::Idx));
        assert_eq!(guess("t10k-labels.idx1-ubyte"), Some(FileFormat::Idx));
        assert_eq!(guess("cells.h5ad"), Some(FileFormat::H5ad));
        assert_eq!(guess("model.idxs.pkl"), None);
        assert_eq!(guess("noending"), None);
    }

    #[test]
    fn every_format_parses_from_its_name() {
        for format in FileFormat::ALL {
            assert_eq!(format.to_string().parse::<FileFormat>().unwrap(), format);
        }
        assert!("xls".parse::<FileFormat>().unwrap_err().to_string().contains("parquet"));
    }
}
