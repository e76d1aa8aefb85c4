//! The flags of the commands that use a saved model.

use std::path::PathBuf;

use clap::Args;

use super::{DeviceArgs, InputArgs, PlacementArgs, RunArgs, Shard, WriteArgs};

const TRANSFORM_HELP: &str = "\
Examples:
  lowland transform mnist.lowland t10k-images-idx3-ubyte.gz --out new.csv
  lowland transform model.lowland 'parts/*.parquet' --out placed/
  lowland transform model.lowland parts/ --out placed/ --shard 3/8

The input can be a folder or a pattern: a data set of several files, which is placed block by block in bounded memory. With --out FOLDER/,
each part becomes a file of its own, written when it is complete; a run that was stopped continues where it stopped if it is started
again.";

#[derive(Args)]
#[command(after_help = TRANSFORM_HELP)]
pub struct TransformArgs {
    /// Model saved by `lowland embed --save`
    pub model: PathBuf,
    /// Output file for the map of the new rows (.csv .tsv .parquet .npy, .png .svg .pdf, .html); may be repeated. A
    /// folder (placed/) for a data set of several files.
    /// Default: CSV on stdout
    #[arg(long, short, value_name = "FILE")]
    pub out: Vec<PathBuf>,
    /// Compare each new row with all training rows, and sum over all points of the map. Without it, models of many rows use an index
    /// that finds about 99 % of the neighbors and a repulsion that is interpolated within the fit's tolerance
    #[arg(long)]
    pub exact: bool,
    /// Place only every N-th part, from the I-th on (1/N to N/N), so that N processes can share the work
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    #[command(flatten)]
    pub placement: PlacementArgs,
    #[command(flatten)]
    pub write: WriteArgs,
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
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
