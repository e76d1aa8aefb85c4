//! The flags of `lowland embed`.

use std::path::PathBuf;

use clap::Args;
use lowland::registry::DEFAULT_METHOD;

use super::{CommonArgs, WriteArgs, method_names_with_auto};

const EMBED_HELP: &str = "\
Examples:
  lowland embed digits --out digits.png --out digits.html
  lowland embed train-images-idx3-ubyte.gz --live
  lowland embed swiss-roll --n-points 5000 --method spectral --n-neighbors 12 --out roll.parquet --out roll.png
  lowland embed train-images-idx3-ubyte.gz --pca 50 --save mnist.lowland --report mnist.json --out mnist.csv
  lowland embed genes.npz --log1p --metric cosine --checkpoint run.ckpt --out map.csv
  lowland embed cells.csv --id-column cell --fixed known.csv --out all.csv
  lowland embed names.txt --metric levenshtein --out names.csv
  lowland embed cells.csv --method auto --out map.png

--out may be repeated; the extension selects the format: .csv .tsv .parquet .npy (the map), .png .svg .pdf (a picture), .html (an
interactive page for any browser). A picture or page comes with the map as .csv, unless another --out has it. Without --out the map
is written to stdout as CSV (not with --json).";

#[derive(Args)]
#[command(after_help = EMBED_HELP)]
pub struct EmbedArgs {
    /// The method (see `lowland methods`); auto compares a few on a part of the rows and takes the best
    #[arg(long, value_name = "NAME", default_value = DEFAULT_METHOD, value_parser = method_names_with_auto())]
    pub method: String,
    /// Neighbor graph written by `lowland neighbors` (or an .npz with arrays indices and distances)
    #[arg(long, value_name = "FILE")]
    pub neighbors: Option<PathBuf>,
    /// Map of some rows, whose positions are kept; the others are placed by locally linear extension instead of a fit. Rows are
    /// matched by the column id (row numbers from 0 if the data has no ids)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["neighbors", "checkpoint", "resume"])]
    pub fixed: Option<PathBuf>,
    /// Output file; may be repeated
    #[arg(long, short, value_name = "FILE")]
    pub out: Vec<PathBuf>,
    /// Show the map during the fit on a page served on this machine only (127.0.0.1), with a button to stop
    #[arg(long, conflicts_with = "quiet")]
    pub live: bool,
    /// Save the model, for `lowland transform`
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Write the missing cells with the values that the method has inferred (lllvm with --missing-values marginalize)
    #[arg(long, value_name = "FILE.csv")]
    pub inferred: Option<PathBuf>,
    /// Write a report: parameters, times, memory, trace, scores
    #[arg(long, value_name = "FILE.json")]
    pub report: Option<PathBuf>,
    /// Do not score the map, and do not say what of it can be believed
    #[arg(long)]
    pub no_quality: bool,
    /// Compute all reliability scores and write them with the map, as `lowland trust` does
    #[arg(long, conflicts_with = "no_quality")]
    pub trust: bool,
    /// Fit the map again this many times, with other seeds and a tenth of the rows left out, and report how far each point moves
    /// (column unstable); 2 or more
    #[arg(long, value_name = "R", requires = "trust")]
    pub reruns: Option<usize>,
    /// Write checkpoints of the run to this file, for --resume
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// Seconds between checkpoints (0: after every iteration)
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, requires = "checkpoint")]
    pub checkpoint_every: f64,
    /// Continue from a checkpoint of the same data and parameters
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub write: WriteArgs,
    #[command(flatten)]
    pub common: CommonArgs,
}
