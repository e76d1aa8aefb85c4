//! The flags of `plot` and `compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use lowland_view::SIDE_RANGE;

use crate::args::{InputArgs, MemoryArgs, PrepareArgs, ReadArgs, RunArgs, method_names};
use crate::failure::Failure;

const PLOT_HELP: &str = "\
Examples:
  lowland plot map.csv --out map.png
  lowland plot map.csv --report run.json --uncertainty fade --certain 0.95 --out map.pdf
  lowland plot a.csv b.csv c.csv --names lvm,tsne,pca --out three.svg
  lowland plot digits.csv --data digits --images --out digits.png
  lowland plot cells.csv --data cells.h5ad --color total_counts --out cells.png
  lowland plot words.csv --words --out words.pdf

--out repeats; its ending says what is written: .png .svg .pdf (a picture), .html (a page to explore).
Several maps are laid over the first (Procrustes: moved, turned, mirrored, scaled) and drawn side by side.";

#[derive(Args)]
#[command(after_help = PLOT_HELP)]
pub struct PlotArgs {
    /// Maps: .csv .tsv .parquet .npy as `embed` writes them
    #[arg(value_name = "MAP", required = true)]
    pub maps: Vec<PathBuf>,
    /// Where to write (.png .svg .pdf .html); repeats
    #[arg(long, short, value_name = "FILE", required = true)]
    pub out: Vec<PathBuf>,
    /// The data of the maps (a file or a built-in name): classes, names, columns to colour by, images
    #[arg(long, value_name = "INPUT")]
    pub data: Option<String>,
    /// A report of `embed --report`, for the caption; repeats, one a map in their order
    #[arg(long, value_name = "FILE.json")]
    pub report: Vec<PathBuf>,
    /// Titles of the maps, separated by commas (default: the files' names)
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    pub names: Vec<String>,
    /// Shade by the number of points at each place (auto: from 100,000 points, or from 20,000 without colours)
    #[arg(long, value_name = "WHEN", default_value = "auto", help_heading = "Picture")]
    pub density: DensityArg,
    #[command(flatten)]
    pub picture: PictureArgs,
    #[command(flatten)]
    pub read: ReadArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

const COMPARE_HELP: &str = "\
Examples:
  lowland compare digits --methods lvm,tsne,mapit,pca --out compare.png
  lowland compare mnist.npy --labels labels.npy --methods lvm,tsne --perplexity 50 --out compare.pdf --json

One neighbour graph is computed and shared. A method's parameter is given to every method that has it. The table of scores and
times stands under the maps and on stdout.";

#[derive(Args)]
#[command(after_help = COMPARE_HELP)]
pub struct CompareArgs {
    /// The methods, separated by commas (see `lowland methods`)
    #[arg(long, value_name = "A,B,..", value_delimiter = ',', required = true, value_parser = method_names())]
    pub methods: Vec<String>,
    /// Where to write (.png .svg .pdf .html); repeats
    #[arg(long, short, value_name = "FILE", required = true)]
    pub out: Vec<PathBuf>,
    /// Write the aligned maps here too, as METHOD.csv
    #[arg(long, value_name = "FOLDER")]
    pub maps: Option<PathBuf>,
    #[command(flatten)]
    pub picture: PictureArgs,
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub prepare: PrepareArgs,
    #[command(flatten)]
    pub memory: MemoryArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

/// How a picture looks.
#[derive(Args, Clone)]
#[command(next_help_heading = "Picture")]
pub struct PictureArgs {
    /// The line at the top
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// The text below (default: method, parameters and scores, where a report tells them)
    #[arg(long, value_name = "TEXT")]
    pub caption: Option<String>,
    /// Colour by `label`, `std`, a column of the map or of --data, or `none` (default: label, where there is one)
    #[arg(long, value_name = "COLUMN")]
    pub color: Option<String>,
    /// Diameter of a point in pixels (default: by the number of points)
    #[arg(long, value_name = "PIXELS", value_parser = parse_point_size, allow_negative_numbers = true)]
    pub point_size: Option<f32>,
    /// Show the standard deviations of the points
    #[arg(long, value_name = "HOW", default_value = "none")]
    pub uncertainty: UncertaintyArg,
    /// Draw only this share of the points, the most certain ones: 0.95 hides the 5 % of the largest std
    #[arg(long, value_name = "SHARE", value_parser = parse_share, allow_negative_numbers = true)]
    pub certain: Option<f64>,
    /// Draw rows of the data as small grey images where there is room (square, or WIDTHxHEIGHT)
    #[arg(long, value_name = "WxH", num_args = 0..=1, default_missing_value = "square", require_equals = true)]
    pub images: Option<String>,
    /// Write the ids of the points beside them where there is room
    #[arg(long)]
    pub words: bool,
    /// Maps in a row (default: by their number)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub columns: Option<u32>,
    /// Pixels across (default: 1600)
    #[arg(long, value_name = "PIXELS", value_parser = parse_side, allow_negative_numbers = true)]
    pub width: Option<u32>,
    /// Pixels down (default: what the maps need)
    #[arg(long, value_name = "PIXELS", value_parser = parse_side, allow_negative_numbers = true)]
    pub height: Option<u32>,
    /// The ground: light, dark, or a colour such as 202830
    #[arg(long, value_name = "COLOR", default_value = "light", value_parser = parse_ground)]
    pub background: [u8; 3],
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DensityArg {
    Auto,
    On,
    Off,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UncertaintyArg {
    /// All points alike
    None,
    /// Uncertain points are faint
    Fade,
    /// Ellipses of one standard deviation; circles where the map has no covariances (columns cov_x_x, ...)
    Ellipses,
}

/// `--images 8x8` would be `--images` and a file of that name: says how it is written.
pub fn check_images(words: impl Iterator<Item = String>) -> Result<(), Failure> {
    let is_size = |word: &str| {
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|letter| letter.is_ascii_digit());
        word.split_once('x').is_some_and(|(width, height)| digits(width) && digits(height))
    };
    let words: Vec<String> = words.collect();
    match words.windows(2).find(|pair| pair[0] == "--images" && is_size(&pair[1])) {
        Some(pair) => Err(Failure::flag(format!("write --images={}, without a space", pair[1]))),
        None => Ok(()),
    }
}

/// A number for which something holds; `expected` says what.
fn parse_if<T: std::str::FromStr>(text: &str, holds: impl Fn(&T) -> bool, expected: String) -> Result<T, String> {
    text.parse().ok().filter(holds).ok_or(expected)
}

fn parse_side(text: &str) -> Result<u32, String> {
    let expected = format!("expected from {} to {} pixels", SIDE_RANGE.start(), SIDE_RANGE.end());
    parse_if(text, |side| SIDE_RANGE.contains(side), expected)
}

fn parse_point_size(text: &str) -> Result<f32, String> {
    parse_if(text, |&size| size > 0.0 && size <= 1000.0, "expected more than 0 and at most 1000 pixels".into())
}

fn parse_share(text: &str) -> Result<f64, String> {
    parse_if(text, |&share| share > 0.0 && share <= 1.0, "expected a share above 0 and at most 1, such as 0.95".into())
}

fn parse_ground(text: &str) -> Result<[u8; 3], String> {
    match text {
        "light" => Ok([255; 3]),
        "dark" => Ok([0x16, 0x18, 0x1d]),
        _ => {
            let digits = text.strip_prefix('#').unwrap_or(text);
            let valid = digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            let hex = valid.then(|| u32::from_str_radix(digits, 16).ok()).flatten();
            let hex = hex.ok_or("expected light, dark, or six hexadecimal digits such as 202830")?;
            Ok([16, 8, 0].map(|shift| (hex >> shift) as u8))
        }
    }
}
