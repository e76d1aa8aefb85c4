//! The flags of `lowland compare`.

use std::path::PathBuf;

use clap::Args;

use super::{CommonArgs, DeviceArgs, PictureArgs, WriteArgs, method_names};

const COMPARE_HELP: &str = "\
Examples:
  lowland compare digits --methods tsne,lvm,mapit,pca --out compare.png
  lowland compare mnist.npy --labels labels.npy --methods tsne,lvm --perplexity 50 --out compare.pdf --json

The methods share one neighbor graph. A parameter applies to every method that has it. The table of scores and times is drawn below
the maps and printed on stdout.";

#[derive(Args)]
#[command(after_help = COMPARE_HELP)]
pub struct CompareArgs {
    /// The methods, separated by commas (see `lowland methods`)
    #[arg(long, value_name = "A,B,..", value_delimiter = ',', required = true, value_parser = method_names())]
    pub methods: Vec<String>,
    /// Output file (.png .svg .pdf .html); may be repeated
    #[arg(long, short, value_name = "FILE", required = true)]
    pub out: Vec<PathBuf>,
    /// Also write the aligned maps to this folder, as METHOD.csv
    #[arg(long, value_name = "FOLDER")]
    pub maps: Option<PathBuf>,
    #[command(flatten)]
    pub write: WriteArgs,
    #[command(flatten)]
    pub picture: PictureArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub common: CommonArgs,
}
