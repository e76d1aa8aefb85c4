//! The flags of `lowland neighbors`.

use std::path::PathBuf;

use clap::Args;
use lowland::Metric;

use super::{CommonArgs, DeviceArgs};

#[derive(Args)]
#[command(
    after_help = "Example:\n  lowland neighbors digits --n-neighbors 30 --out digits-30.npz\n  lowland embed digits --neighbors digits-30.npz --out map.csv"
)]
pub struct NeighborArgs {
    /// Number of neighbors of each point, excluding the point itself
    #[arg(long, value_name = "K", default_value_t = 15)]
    pub n_neighbors: usize,
    /// The metric
    #[arg(long, default_value_t = Metric::Euclidean)]
    pub metric: Metric,
    /// Search exactly, however long it takes
    #[arg(long, conflicts_with = "approximate")]
    pub exact: bool,
    /// Search approximately; the recall is measured and reported
    #[arg(long)]
    pub approximate: bool,
    /// Output file for the graph (arrays indices and distances)
    #[arg(long, short, value_name = "FILE.npz")]
    pub out: PathBuf,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub common: CommonArgs,
}
