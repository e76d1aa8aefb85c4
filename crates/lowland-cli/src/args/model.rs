//! The flags of the commands that use a saved model.

use std::path::PathBuf;

use clap::Args;

use super::{InputArgs, RunArgs, WriteArgs};

#[derive(Args)]
#[command(after_help = "Example:\n  lowland transform mnist.lowland t10k-images-idx3-ubyte.gz --out new.csv")]
pub struct TransformArgs {
    /// Model saved by `lowland embed --save`
    pub model: PathBuf,
    /// Output file for the map of the new rows (.csv .tsv .parquet .npy, .png .svg .pdf, .html); may be repeated.
    /// Default: CSV on stdout
    #[arg(long, short, value_name = "FILE")]
    pub out: Vec<PathBuf>,
    #[command(flatten)]
    pub write: WriteArgs,
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Args)]
#[command(after_help = "Example:\n  lowland score motion.lowland new.csv --out likelihoods.csv")]
pub struct ScoreArgs {
    /// Model saved by `lowland embed --save` (method gplvm)
    pub model: PathBuf,
    /// Output file for the log-likelihood of each row (.csv). Default: CSV on stdout
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Args)]
#[command(after_help = "Example:\n  lowland inverse digits.lowland points.csv --out rows.csv")]
pub struct InverseArgs {
    /// Model saved by `lowland embed --save` (methods lvm, lllvm and gplvm)
    pub model: PathBuf,
    /// Points of the map: .csv .tsv .parquet .npy as written by `embed`
    pub map: PathBuf,
    /// Output file for the rows (.csv .tsv .parquet .npy)
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,
    #[command(flatten)]
    pub write: WriteArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Args)]
#[command(after_help = "Example:\n  lowland reconstruct digits.lowland points.csv --out rows.csv")]
pub struct ReconstructArgs {
    /// Model saved by `lowland embed --save` (method lllvm; pca, svd, lvm and gplvm without standard deviations)
    pub model: PathBuf,
    /// Points of the map: .csv .tsv .parquet .npy as written by `embed`
    pub map: PathBuf,
    /// Output file for the rows, each column followed by its standard deviation (.csv .tsv .parquet .npy)
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,
    #[command(flatten)]
    pub write: WriteArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Args)]
#[command(after_help = "Example:\n  lowland samples roll.lowland --count 50 --out samples.csv")]
pub struct SamplesArgs {
    /// Model saved by `lowland embed --save` (method lllvm)
    pub model: PathBuf,
    /// Number of maps
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub count: usize,
    /// Output file: one row per row of each map
    #[arg(long, short, value_name = "FILE.csv")]
    pub out: PathBuf,
    #[command(flatten)]
    pub run: RunArgs,
}
