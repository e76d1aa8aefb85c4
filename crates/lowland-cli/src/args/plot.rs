//! The flags of `lowland plot`.

use std::path::PathBuf;

use clap::Args;

use super::{DensityArg, PictureArgs, ReadArgs, RunArgs};

const PLOT_HELP: &str = "\
Examples:
  lowland plot map.csv --out map.png
  lowland plot map.csv --report run.json --uncertainty fade --certain 0.95 --out map.pdf
  lowland plot a.csv b.csv c.csv --names tsne,lvm,pca --out three.svg
  lowland plot digits.csv --data digits --images --out digits.png
  lowland plot cells.csv --data cells.h5ad --color total_counts --out cells.png
  lowland plot words.csv --words --out words.pdf

--out may be repeated; the extension selects the format: .png .svg .pdf (a picture), .html (an interactive page).
Several maps are aligned to the first (Procrustes: translation, rotation, reflection, scale) and drawn side by side.";

#[derive(Args)]
#[command(after_help = PLOT_HELP)]
pub struct PlotArgs {
    /// Maps: .csv .tsv .parquet .npy as written by `embed`
    #[arg(value_name = "MAP", required = true)]
    pub maps: Vec<PathBuf>,
    /// Output file (.png .svg .pdf .html); may be repeated
    #[arg(long, short, value_name = "FILE", required = true)]
    pub out: Vec<PathBuf>,
    /// Data of the maps (a file or a built-in name): classes, ids, columns to color by, images
    #[arg(long, value_name = "INPUT")]
    pub data: Option<PathBuf>,
    /// Report of `embed --report`, for the caption; one per map, in the same order
    #[arg(long, value_name = "FILE.json")]
    pub report: Vec<PathBuf>,
    /// Titles of the maps, separated by commas (default: the file names)
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    pub names: Vec<String>,
    /// Draw the density of the points (auto: from 100,000 points, or from 20,000 without colors)
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = "Picture")]
    pub density: DensityArg,
    #[command(flatten)]
    pub picture: PictureArgs,
    #[command(flatten)]
    pub read: ReadArgs,
    #[command(flatten)]
    pub run: RunArgs,
}
