//! The flags of `lowland spectrum`.

use std::path::PathBuf;

use clap::Args;

use super::{CommonArgs, PictureArgs, WriteArgs};

const SPECTRUM_HELP: &str = "\
Examples:
  lowland spectrum digits --out spectrum.html
  lowland spectrum mnist.npy --labels labels.npy --perplexity 50 --exaggerations 1,4,12 --out spectrum.html --out spectrum.png

Fits t-SNE at each exaggeration, starting from the map before, and aligns the maps. The page has a slider that moves the points from
one map to the next: a small exaggeration keeps more neighbors, a large one shows more compact clusters. The parameters are those of
`lowland methods tsne`. A picture (.png .svg .pdf) has all maps side by side. The table of scores is printed on stdout.";

#[derive(Args)]
#[command(after_help = SPECTRUM_HELP)]
pub struct SpectrumArgs {
    /// The exaggerations, ascending, separated by commas
    #[arg(long, value_name = "A,B,..", value_delimiter = ',', default_value = "1,2,4,8,16,30")]
    pub exaggerations: Vec<f64>,
    /// Output file (.html .png .svg .pdf); may be repeated
    #[arg(long, short, value_name = "FILE", required = true)]
    pub out: Vec<PathBuf>,
    /// Also write the aligned maps to this folder, as exaggeration-N.csv
    #[arg(long, value_name = "FOLDER")]
    pub maps: Option<PathBuf>,
    #[command(flatten)]
    pub write: WriteArgs,
    #[command(flatten)]
    pub picture: PictureArgs,
    #[command(flatten)]
    pub common: CommonArgs,
}
