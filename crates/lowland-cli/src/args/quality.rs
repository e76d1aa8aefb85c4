//! The flags of `lowland quality`.

use std::path::PathBuf;

use clap::Args;
use lowland::Metric;

use super::{DeviceArgs, InputArgs, PreprocessingArgs, RunArgs};

#[derive(Args)]
#[command(after_help = "Example:\n  lowland quality digits digits.csv --n-neighbors 30")]
pub struct QualityArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// The map: .csv .tsv .parquet .npy as written by `embed`
    #[arg(help_heading = "Map and scores")]
    pub map: PathBuf,
    /// Second map; the Procrustes distance between the two is computed
    #[arg(long, value_name = "MAP", help_heading = "Map and scores")]
    pub against: Option<PathBuf>,
    /// Number of neighbors of each point in the scores
    #[arg(long, value_name = "K", default_value_t = 15, help_heading = "Map and scores")]
    pub n_neighbors: usize,
    /// Metric of the data
    #[arg(long, default_value_t = Metric::Euclidean, help_heading = "Map and scores")]
    pub metric: Metric,
    /// Score all rows, however long it takes (by default a sample, if all would take about a minute)
    #[arg(long, help_heading = "Map and scores")]
    pub exact: bool,
    /// Also score norms, and angles whose cosine exceeds this value, which `tsm` preserves
    #[arg(long, value_name = "COSINE", help_heading = "Map and scores")]
    pub tau: Option<f64>,
    #[command(flatten)]
    pub preprocessing: PreprocessingArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub run: RunArgs,
}
