//! The flags of `lowland trust`.

use std::path::PathBuf;

use clap::Args;
use lowland::Metric;
use lowland::trust::TrustParams;

use super::{DeviceArgs, InputArgs, PreprocessingArgs, RunArgs, WriteArgs};

const TRUST_HELP: &str = "\
Examples:
  lowland trust digits digits.csv --out reliable.csv
  lowland trust cells.csv umap.npy --pca 50 --out reliable.parquet --out reliable.html
  lowland trust cells.csv map.csv --model cells.lowland --json

The map can be that of any program. --out writes it with the columns kept, lost, intruders, spread, jump, fragile, p_value, flagged, island and
bridge_to, and unstable with --reruns, by which `lowland plot --color` can color the points.";

#[derive(Args)]
#[command(after_help = TRUST_HELP)]
pub struct TrustArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// The map: .csv .tsv .parquet .npy, one point per row of the data
    #[arg(help_heading = "Map and reliability")]
    pub map: PathBuf,
    /// Model of the map, saved by `lowland embed --save`: its preprocessing, metric and perplexity are used
    #[arg(long, value_name = "FILE", help_heading = "Map and reliability")]
    pub model: Option<PathBuf>,
    /// Output file for the map with its reliability (.csv .tsv .parquet, .png .svg .pdf, .html); may be repeated
    #[arg(long, short, value_name = "FILE", help_heading = "Map and reliability")]
    pub out: Vec<PathBuf>,
    /// Number of nearest rows of each point
    #[arg(long, value_name = "K", default_value_t = TrustParams::default().n_neighbors, help_heading = "Map and reliability")]
    pub n_neighbors: usize,
    /// Metric of the data (default: that of the model, or euclidean)
    #[arg(long, help_heading = "Map and reliability")]
    pub metric: Option<Metric>,
    /// False-discovery rate of the flags: share of the flagged points that are flagged by chance
    #[arg(long, value_name = "RATE", default_value_t = TrustParams::default().fdr, help_heading = "Map and reliability")]
    pub fdr: f64,
    /// Fit the map again this many times, with other seeds and a tenth of the rows left out, and report how far each point moves
    /// (column unstable); 2 or more
    #[arg(long, value_name = "R", requires = "model", help_heading = "Map and reliability")]
    pub reruns: Option<usize>,
    #[command(flatten)]
    pub write: WriteArgs,
    #[command(flatten)]
    pub preprocessing: PreprocessingArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub run: RunArgs,
}
