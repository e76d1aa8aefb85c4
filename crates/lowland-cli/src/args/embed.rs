//! The flags of `lowland embed`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use lowland::growth::AnchorStrength;
use lowland::params::ParamValue;
use lowland::quality::ScoredRows;
use lowland::registry::DEFAULT_METHOD;

use super::{CommonArgs, DeviceArgs, PlacementArgs, WriteArgs, method_names_with_auto};

const EMBED_HELP: &str = "\
Examples:
  lowland embed digits --out digits.png --out digits.html
  lowland embed train-images-idx3-ubyte.gz --live
  lowland embed swiss-roll --n-points 5000 --method spectral --n-neighbors 12 --out roll.parquet --out roll.png
  lowland embed train-images-idx3-ubyte.gz --pca 50 --save mnist.lowland --report mnist.json --out mnist.csv
  lowland embed genes.npz --log1p --metric cosine --checkpoint run.ckpt --out map.csv
  lowland embed cells.csv --id-column cell --fixed known.csv --out all.csv
  lowland embed all-cells.csv --continue-from cells.lowland --out all.csv --save all.lowland
  lowland embed names.txt --metric levenshtein --out names.csv
  lowland embed cells.csv --method auto --out map.png
  lowland embed 'parts/*.parquet' --fit-rows 1000000 --save all.lowland --out sample.png --out placed/
  lowland embed cells.csv --method umap --target type --save typed.lowland --out typed.png

--out may be repeated; the extension selects the format: .csv .tsv .parquet .npy (the map), .png .svg .pdf (a picture), .html (an
interactive page for any browser). A picture or page comes with the map as .csv, unless another --out has it. Without --out the map
is written to stdout as CSV (not with --json).";

/// The values of `--quality`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScoredRowsArg {
    Sample,
    Exact,
}

impl From<ScoredRowsArg> for ScoredRows {
    fn from(rows: ScoredRowsArg) -> Self {
        match rows {
            ScoredRowsArg::Sample => Self::BRIEF,
            ScoredRowsArg::Exact => Self::All,
        }
    }
}

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
    /// Continue the map of a saved model: its rows, recognized by their values, keep their positions or are tied to them (--anchor), and
    /// the other rows join them. Method, parameters and preprocessing are those of the model unless they are given
    #[arg(long, value_name = "MODEL.lowland", conflicts_with = "fixed")]
    pub continue_from: Option<PathBuf>,
    /// How strongly the rows of --continue-from are tied to their positions: exact, or a number, where 1 is as strong as all neighbors
    /// of a row together
    #[arg(long, value_name = "STRENGTH", default_value = "exact", requires = "continue_from", value_parser = parse_anchor,
        allow_negative_numbers = true)]
    pub anchor: AnchorStrength,
    /// Rotate, reflect, scale and shift the map to fit another one, by the ids of the rows that both have (row by row without ids)
    #[arg(long, value_name = "MAP")]
    pub align_to: Option<PathBuf>,
    /// Column with the class or number of each row that supervises the fit (tsne, lvm, ssne, ee, mapit, umap, spectral); unknown
    /// where it is empty or -1. `labels` takes the labels of --labels, --label-column or a built-in data set
    #[arg(long, value_name = "COLUMN", allow_negative_numbers = true, conflicts_with = "fixed")]
    pub target: Option<String>,
    /// Fit a random sample of this many rows, drawn in one pass, and place all rows on its map: each part of the data set into a file of
    /// its own in the folder --out (placed/), with a column that flags rows far from every row of the sample
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..), conflicts_with_all = ["fixed", "neighbors"])]
    pub fit_rows: Option<u64>,
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
    /// Rows over which the map is scored: sample (3,000 rows, with standard errors; all rows if there are no more) or exact (all
    /// rows, which can take longer than the fit)
    #[arg(long, value_name = "ROWS", default_value = "sample")]
    pub quality: ScoredRowsArg,
    /// Do not score the map, and do not say what of it can be believed
    #[arg(long, conflicts_with = "quality")]
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
    pub placement: PlacementArgs,
    #[command(flatten)]
    pub write: WriteArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Parses the strength of anchors.
pub fn parse_anchor(text: &str) -> Result<AnchorStrength, String> {
    AnchorStrength::parse(text).ok_or_else(|| format!("expected {}", AnchorStrength::EXPECTS))
}
