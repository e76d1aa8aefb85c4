//! The flags of `lowland select`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use lowland::Metric;
use lowland::select::{SubsampleKind, Subsamples};

use super::CommonArgs;

const SELECT_HELP: &str = "\
Examples:
  lowland select roll.csv --n-neighbors 4..20:2 --n-components 1..3 --out bounds.png --out bounds.csv
  lowland select big.npy --n-components 1..6 --subsamples 10
  lowland select roll.csv --n-neighbors 9 --without-edge 28,29
  lowland select roll.csv --n-neighbors 9 --screen-edges
  lowland select words.bin --method tsm --density 0.01 --out angles.png

A LIST is 3,5,8 or 3..30 or 3..30:3, both ends included. The table is printed on stdout.";

#[derive(Args)]
#[command(after_help = SELECT_HELP)]
pub struct SelectArgs {
    /// Criterion: lllvm, the lower bound on the evidence; tsm, the threshold, from the angles between rows
    #[arg(long, value_name = "NAME", default_value = "lllvm")]
    pub method: SelectMethod,
    /// Numbers of neighbors to try
    #[arg(long, value_name = "LIST", default_value = "4..16:3")]
    pub n_neighbors: NumberList,
    /// Numbers of dimensions to try
    #[arg(long, value_name = "LIST", default_value = "2")]
    pub n_components: NumberList,
    /// Number of random starts per combination (lllvm)
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub starts: usize,
    /// Number of subsamples on which the bounds are compared, if there are more rows than --subsample-rows (lllvm)
    #[arg(long, value_name = "N", default_value_t = Subsamples::default().count)]
    pub subsamples: usize,
    /// How the rows of a subsample are drawn: near, the nearest rows of a random row; all, from all rows, for data with much
    /// noise and little curvature (lllvm)
    #[arg(long, value_name = "KIND", default_value = "near")]
    pub subsample: SubsampleArg,
    /// Number of rows of a subsample (lllvm)
    #[arg(long, value_name = "N", default_value_t = Subsamples::default().rows)]
    pub subsample_rows: usize,
    /// Share of all pairs that should be similar (tsm)
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    pub density: f64,
    /// Precision of the prior of the embedding, or optimise (lllvm)
    #[arg(long, value_name = "ALPHA", default_value = "1e-3")]
    pub alpha: String,
    /// Metric by which neighbors are found
    #[arg(long, default_value_t = Metric::Euclidean)]
    pub metric: Metric,
    /// Maximum number of iterations of each fit
    #[arg(long, value_name = "N")]
    pub max_iter: Option<usize>,
    /// Change of the bound, per value of the data, at which a start stops (lllvm)
    #[arg(long, value_name = "TOL")]
    pub tol: Option<f64>,
    /// Compare the bounds with and without the edge between two rows; may be repeated
    #[arg(long, value_name = "I,J")]
    pub without_edge: Vec<EdgeArg>,
    /// Compare with the graph whose edges are listed in a file, one I,J per line
    #[arg(long, value_name = "FILE")]
    pub edges: Option<PathBuf>,
    /// Show the N edges that look most like short circuits
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "10")]
    pub screen_edges: Option<usize>,
    /// Output file (.csv for the table, .png for a picture); may be repeated
    #[arg(long, short, value_name = "FILE")]
    pub out: Vec<PathBuf>,
    #[command(flatten)]
    pub common: CommonArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SelectMethod {
    Lllvm,
    Tsm,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SubsampleArg {
    Near,
    All,
}

/// A list such as `3,5,8`, `3..30` or `3..30:3`, both ends included; sorted, without duplicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberList(pub Vec<usize>);

impl SelectArgs {
    /// The rows on which bounds are compared.
    pub fn subsamples(&self) -> Subsamples {
        let kind = match self.subsample {
            SubsampleArg::Near => SubsampleKind::Near,
            SubsampleArg::All => SubsampleKind::All,
        };
        Subsamples { count: self.subsamples, rows: self.subsample_rows, kind }
    }

    /// Whether edges are compared, rather than numbers chosen.
    pub fn compares_edges(&self) -> bool {
        !self.without_edge.is_empty() || self.edges.is_some() || self.screen_edges.is_some()
    }
}

impl FromStr for NumberList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || format!("'{text}': expected a list such as 3,5,8 or 3..30 or 3..30:3");
        let number = |text: &str| text.trim().parse::<usize>().map_err(|_| invalid());
        let mut all = Vec::new();
        for part in text.split(',') {
            match part.split_once("..") {
                None => all.push(number(part)?),
                Some((low, rest)) => {
                    let (high, step) = rest.split_once(':').unwrap_or((rest, "1"));
                    let (low, high, step) = (number(low)?, number(high)?, number(step)?);
                    if low > high || step == 0 || (high - low) / step > 10_000 {
                        return Err(invalid());
                    }
                    all.extend((low..=high).step_by(step));
                }
            }
        }
        all.sort_unstable();
        all.dedup();
        Ok(Self(all))
    }
}

/// The edge between two rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdgeArg(pub usize, pub usize);

impl FromStr for EdgeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let pair = text.split_once(',').and_then(|(i, j)| Some(Self(i.trim().parse().ok()?, j.trim().parse().ok()?)));
        pair.ok_or_else(|| format!("'{text}': expected two rows, as in 28,29"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_numbers_are_parsed_in_every_form() {
        let numbers = |text: &str| text.parse::<NumberList>().map(|numbers| numbers.0);
        assert_eq!(numbers("8,3, 5"), Ok(vec![3, 5, 8]));
        assert_eq!(numbers("3..6"), Ok(vec![3, 4, 5, 6]));
        assert_eq!(numbers("1,3..10:3"), Ok(vec![1, 3, 6, 9]));
        assert!(["", "a", "5..3", "3..9:0", "1..", "0..99999999"].iter().all(|text| numbers(text).is_err()));
        assert_eq!("28,29".parse(), Ok(EdgeArg(28, 29)));
        assert!("28".parse::<EdgeArg>().is_err());
    }
}
