//! The flags of `lowland combine`.

use std::path::PathBuf;

use clap::Args;
use lowland::neighbors::Combination;
use lowland::params::ParamValue;

use super::RunArgs;

const COMBINE_HELP: &str = "\
Examples:
  lowland neighbors genes.csv --out genes.npz
  lowland neighbors proteins.csv --metric cosine --out proteins.npz
  lowland combine genes.npz proteins.npz --how intersection --out both.npz
  lowland embed genes.csv --method umap --neighbors both.npz --affinity precomputed --out map.csv

The values of the combined graph are memberships from 0 to 1 (as in umap-learn, whose operators + and * these are), which umap, tsne,
ssne and ee take with --affinity precomputed.";

#[derive(Args)]
#[command(after_help = COMBINE_HELP)]
pub struct CombineArgs {
    /// Neighbor graphs of the same rows, written by `lowland neighbors`; two or more
    #[arg(value_name = "GRAPH.npz", required = true, num_args = 2..)]
    pub graphs: Vec<PathBuf>,
    /// union (neighbors in either graph) or intersection (neighbors in both)
    #[arg(long, value_name = "HOW", value_parser = parse_combination)]
    pub how: Combination,
    /// Weight of the later graph in an intersection, from 0 to 1
    #[arg(long, value_name = "W", default_value_t = 0.5, allow_negative_numbers = true)]
    pub weight: f64,
    /// Output file for the combined graph
    #[arg(long, short, value_name = "FILE.npz")]
    pub out: PathBuf,
    #[command(flatten)]
    pub run: RunArgs,
}

fn parse_combination(text: &str) -> Result<Combination, String> {
    Combination::parse(text).ok_or_else(|| format!("expected {}", Combination::EXPECTS))
}
