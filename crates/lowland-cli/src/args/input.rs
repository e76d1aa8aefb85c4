//! The flags of the input: what is read, how, and how it is preprocessed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Args, Clone)]
#[command(next_help_heading = "Input")]
pub struct InputArgs {
    /// A file (.npy .npz .csv .tsv .parquet .arrow .h5ad .bin .vec .txt, MNIST IDX; also .gz), or the name of a built-in
    /// data set (see `lowland data`)
    pub input: PathBuf,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// How the input is read.
#[derive(Args, Clone)]
#[command(next_help_heading = "Input")]
pub struct ReadArgs {
    /// Number of points to generate (built-in generators)
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub n_points: Option<usize>,
    /// Standard deviation of the noise (built-in generators)
    #[arg(long, value_name = "SIGMA", allow_negative_numbers = true)]
    pub noise: Option<f64>,
    /// Read only the first N rows
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub max_rows: Option<usize>,
    /// Column with the class of each row (a name, or a number counting from 0; -1 is the last)
    #[arg(long, value_name = "COLUMN", allow_negative_numbers = true)]
    pub label_column: Option<String>,
    /// Column with the target of a supervised fit; commands that have one set it.
    #[arg(skip)]
    pub target_column: Option<String>,
    /// Column with the name of each row
    #[arg(long, value_name = "COLUMN", allow_negative_numbers = true)]
    pub id_column: Option<String>,
    /// File with the class of each row, one per line
    #[arg(long, value_name = "FILE", conflicts_with = "label_column")]
    pub labels: Option<PathBuf>,
    /// Array of an .npz, or obsm entry of an .h5ad
    #[arg(long, value_name = "NAME")]
    pub key: Option<String>,
    /// Format of the file, regardless of its extension
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Whether the first line contains column names
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub header: HeaderArg,
    /// How to handle rows with NaN, infinite or missing cells
    #[arg(long, value_name = "WHAT", default_value = "refuse")]
    pub missing: MissingArg,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum HeaderArg {
    Auto,
    Yes,
    No,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum MissingArg {
    /// Fail, naming row and column
    Refuse,
    /// Drop such rows, and report how many
    Drop,
    /// Keep missing cells, for a method that accepts them (lllvm with --missing-values marginalize)
    Keep,
}

#[derive(Args, Clone)]
#[command(next_help_heading = "Preprocessing, in this order")]
pub struct PreprocessingArgs {
    /// Take log(1 + x) of every value
    #[arg(long)]
    pub log1p: bool,
    /// Scale every column to mean 0 and standard deviation 1
    #[arg(long)]
    pub standardize: bool,
    /// Scale every row to length 1
    #[arg(long)]
    pub normalize: bool,
    /// Reduce to N principal components
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, allow_negative_numbers = true)]
    pub pca: usize,
}
