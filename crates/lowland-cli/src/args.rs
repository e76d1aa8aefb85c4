//! The command line: the fixed flags are declared here, the methods' flags come from the library's list of methods.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Args, CommandFactory, Parser, Subcommand, ValueEnum};
use lowland::methods::{DEFAULT_METHOD, METHODS, MethodInfo};
use lowland::{Metric, Seed};

use crate::failure::Failure;
pub use crate::picture_args::{CompareArgs, PlotArgs};
use crate::select_args::SelectArgs;
use crate::usage::available_memory;

const AFTER_HELP: &str = "\
Examples:
  lowland embed digits --out digits.png                       a map of the built-in digits, and its picture
  lowland embed cells.csv --label-column type --out map.csv   a table of your own
  lowland quality cells.csv map.csv --label-column type       how far the map can be believed

Exit codes: 0 done; 1 failed (disk, threads, numerics); 2 wrong flag or value; 3 the input cannot be used;
4 more memory needed than allowed; 130 stopped by Ctrl-C (a map that was there has been written);
141 the reader of stdout went away.";

/// Maps of high-dimensional data: neighbours, embeddings, scores.
#[derive(Parser)]
#[command(name = "lowland", version, after_help = AFTER_HELP, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Make a map of a data set
    Embed(EmbedArgs),
    /// Place new rows on a saved map
    Transform(TransformArgs),
    /// Say how likely a saved model takes rows to be
    Score(ScoreArgs),
    /// Make rows for the points of a map with a saved model
    Inverse(InverseArgs),
    /// Make rows for the points of a map, with error bars
    Reconstruct(ReconstructArgs),
    /// Draw maps from the posterior of a saved model
    Samples(SamplesArgs),
    /// Choose the numbers of neighbours and dimensions, and judge edges, by how likely the data become
    Select(SelectArgs),
    /// Score a map against its data
    Quality(QualityArgs),
    /// Draw maps: pictures and pages
    Plot(PlotArgs),
    /// Map one data set by several methods, with their scores and times, in one picture
    Compare(CompareArgs),
    /// Ask word vectors for analogies: a is to b as c is to which word?
    Analogies(AnalogyArgs),
    /// Find the nearest neighbours and save them, to be used again with --neighbors
    Neighbors(NeighborArgs),
    /// List, describe and generate the built-in data sets
    Data(DataArgs),
    /// List the methods, with advice on when to use which
    Methods {
        /// Show one method with its parameters
        name: Option<String>,
        /// Print methods, their parameters and the preprocessing steps as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  lowland completions bash > ~/.local/share/bash-completion/completions/lowland")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

const EMBED_HELP: &str = "\
Examples:
  lowland embed digits --out digits.png --out digits.html
  lowland embed train-images-idx3-ubyte.gz --method tsne --live
  lowland embed swiss-roll --n-points 5000 --method spectral --n-neighbors 12 --out roll.parquet --out roll.png
  lowland embed train-images-idx3-ubyte.gz --pca 50 --save mnist.lowland --report mnist.json --out mnist.csv
  lowland embed genes.npz --log1p --metric cosine --checkpoint run.ckpt --out map.csv
  lowland embed names.txt --metric levenshtein --out names.csv

--out repeats; its ending says what is written: .csv .tsv .parquet .npy (the map), .png .svg .pdf (a picture), .html (a page to
explore in any browser). Beside a picture or a page the map is written as .csv, unless another --out holds it. Without --out
the map goes to stdout as CSV (not with --json).";

#[derive(Args)]
#[command(after_help = EMBED_HELP)]
pub struct EmbedArgs {
    /// The method (see `lowland methods`)
    #[arg(long, value_name = "NAME", default_value = DEFAULT_METHOD, value_parser = method_names())]
    pub method: String,
    /// A neighbour graph made by `lowland neighbors` (or arrays indices and distances in an .npz)
    #[arg(long, value_name = "FILE")]
    pub neighbors: Option<PathBuf>,
    /// Where to write; repeats
    #[arg(long, short, value_name = "FILE")]
    pub out: Vec<PathBuf>,
    /// Show the map while it is fitted, on a page of this machine alone (127.0.0.1), with a button to stop
    #[arg(long, conflicts_with = "quiet")]
    pub live: bool,
    /// Save the model, for `lowland transform`
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Write a report: parameters, times, memory, trace, scores
    #[arg(long, value_name = "FILE.json")]
    pub report: Option<PathBuf>,
    /// Do not score the map
    #[arg(long)]
    pub no_quality: bool,
    /// Keep the state of the run here, to go on from with --resume
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// Seconds between checkpoints (0: at every iteration)
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, requires = "checkpoint")]
    pub checkpoint_every: f64,
    /// Go on from a checkpoint of the same data and parameters
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub prepare: PrepareArgs,
    #[command(flatten)]
    pub memory: MemoryArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Args)]
#[command(after_help = "Example:\n  lowland transform mnist.lowland t10k-images-idx3-ubyte.gz --out new.csv")]
pub struct TransformArgs {
    /// A model saved by `lowland embed --save`
    pub model: PathBuf,
    /// Where to write the new rows' map (.csv .tsv .parquet .npy, .png .svg .pdf, .html); repeats. Default: CSV on stdout
    #[arg(long, short, value_name = "FILE")]
    pub out: Vec<PathBuf>,
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Args)]
#[command(after_help = "Example:\n  lowland score mnist.lowland t10k-images-idx3-ubyte.gz --out likelihoods.csv")]
pub struct ScoreArgs {
    /// A model saved by `lowland embed --save` (method lvm)
    pub model: PathBuf,
    /// Where to write the log-likelihood of each row (.csv). Default: CSV on stdout
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Args)]
#[command(after_help = "Example:\n  lowland inverse digits.lowland points.csv --out rows.csv")]
pub struct InverseArgs {
    /// A model saved by `lowland embed --save` (method lvm)
    pub model: PathBuf,
    /// Points of the map: .csv .tsv .parquet .npy as `embed` writes it
    pub map: PathBuf,
    /// Where to write the rows (.csv .tsv .parquet .npy)
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Args)]
#[command(after_help = "Example:\n  lowland reconstruct digits.lowland points.csv --out rows.csv")]
pub struct ReconstructArgs {
    /// A model saved by `lowland embed --save` (methods lllvm, with error bars, and lvm)
    pub model: PathBuf,
    /// Points of the map: .csv .tsv .parquet .npy as `embed` writes it
    pub map: PathBuf,
    /// Where to write the rows, each column followed by its standard deviation (.csv .tsv .parquet .npy)
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Args)]
#[command(after_help = "Example:\n  lowland samples roll.lowland --count 50 --out samples.csv")]
pub struct SamplesArgs {
    /// A model saved by `lowland embed --save` (method lllvm)
    pub model: PathBuf,
    /// Maps to draw
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub count: usize,
    /// Where to write them: a row for each row of each map
    #[arg(long, short, value_name = "FILE.csv")]
    pub out: PathBuf,
    #[command(flatten)]
    pub memory: MemoryArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Args)]
#[command(after_help = "Example:\n  lowland quality digits digits.csv --n-neighbors 30")]
pub struct QualityArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// The map: .csv .tsv .parquet .npy as `embed` writes it
    #[arg(help_heading = "Map and scores")]
    pub map: PathBuf,
    /// A second map, to measure the Procrustes distance between the two
    #[arg(long, value_name = "MAP", help_heading = "Map and scores")]
    pub against: Option<PathBuf>,
    /// Neighbours a point in the scores
    #[arg(long, value_name = "K", default_value_t = 15, help_heading = "Map and scores")]
    pub n_neighbors: usize,
    /// The metric of the data
    #[arg(long, default_value_t = Metric::Euclidean, help_heading = "Map and scores")]
    pub metric: Metric,
    /// Also score norms, and angles whose cosine exceeds this, as `tsm` keeps them
    #[arg(long, value_name = "COSINE", help_heading = "Map and scores")]
    pub tau: Option<f64>,
    #[command(flatten)]
    pub prepare: PrepareArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Args)]
#[command(
    after_help = "Example:\n  lowland embed words.bin --method tsm --n-components 32 --out words.csv\n  lowland analogies --vectors words.csv --questions questions-words.txt"
)]
pub struct AnalogyArgs {
    /// Named vectors: a map as `embed` writes it (.csv .tsv .parquet, with its ids), or word vectors (.bin .vec .txt)
    #[arg(long, value_name = "FILE")]
    pub vectors: PathBuf,
    /// Questions: a line `: category`, then lines of four words
    #[arg(long, value_name = "FILE")]
    pub questions: PathBuf,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Args)]
#[command(
    after_help = "Example:\n  lowland neighbors digits --n-neighbors 30 --out digits-30.npz\n  lowland embed digits --neighbors digits-30.npz --out map.csv"
)]
pub struct NeighborArgs {
    /// Neighbours a point, the point itself not counted
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
    /// Where to write the graph (arrays indices, distances)
    #[arg(long, short, value_name = "FILE.npz")]
    pub out: PathBuf,
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub prepare: PrepareArgs,
    #[command(flatten)]
    pub memory: MemoryArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

#[derive(Args)]
pub struct DataArgs {
    #[command(subcommand)]
    pub action: Option<DataAction>,
}

#[derive(Subcommand)]
pub enum DataAction {
    /// List the built-in data sets
    List,
    /// Describe a data set: rows, columns, classes, what is unusual
    Describe {
        #[command(flatten)]
        input: InputArgs,
        #[command(flatten)]
        run: RunArgs,
    },
    /// Write a built-in data set to a file
    #[command(after_help = "Example:\n  lowland data generate swiss-roll --n-points 5000 --out roll.csv")]
    Generate {
        /// Where to write (.csv .tsv .parquet .npy)
        #[arg(long, short, value_name = "FILE")]
        out: PathBuf,
        #[command(flatten)]
        input: InputArgs,
        #[command(flatten)]
        run: RunArgs,
    },
}

#[derive(Args, Clone)]
#[command(next_help_heading = "Input")]
pub struct InputArgs {
    /// A file (.npy .npz .csv .tsv .parquet .arrow .h5ad .bin .vec .txt, MNIST IDX; also .gz), or a built-in name (see `lowland data`)
    pub input: String,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// How the input is read.
#[derive(Args, Clone)]
#[command(next_help_heading = "Input")]
pub struct ReadArgs {
    /// Points to generate (built-in generators)
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub n_points: Option<usize>,
    /// Standard deviation of the noise (built-in generators)
    #[arg(long, value_name = "SIGMA", allow_negative_numbers = true)]
    pub noise: Option<f64>,
    /// Read only the first N rows
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub max_rows: Option<usize>,
    /// The column that holds the class (a name, or a number from 0; -1 is the last)
    #[arg(long, value_name = "COLUMN", allow_negative_numbers = true)]
    pub label_column: Option<String>,
    /// The column that names the rows
    #[arg(long, value_name = "COLUMN", allow_negative_numbers = true)]
    pub id_column: Option<String>,
    /// Classes from another file, one a row
    #[arg(long, value_name = "FILE", conflicts_with = "label_column")]
    pub labels: Option<PathBuf>,
    /// The array of an .npz, or the obsm entry of an .h5ad
    #[arg(long, value_name = "NAME")]
    pub key: Option<String>,
    /// Read the file as this format, whatever its ending
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Whether the first line names the columns
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub header: HeaderArg,
    /// What to do with rows that have NaN, infinite or missing cells
    #[arg(long, value_name = "WHAT", default_value = "refuse")]
    pub missing: MissingArg,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum HeaderArg {
    Auto,
    Yes,
    No,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum MissingArg {
    /// Stop, naming row and column
    Refuse,
    /// Leave such rows out, and say how many
    Drop,
}

#[derive(Args, Clone)]
#[command(next_help_heading = "Preparation, in this order")]
pub struct PrepareArgs {
    /// Take log(1 + x) of every value
    #[arg(long)]
    pub log1p: bool,
    /// Bring every column to mean 0 and standard deviation 1
    #[arg(long)]
    pub standardize: bool,
    /// Bring every row to length 1
    #[arg(long)]
    pub normalize: bool,
    /// Reduce to N principal components
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, allow_negative_numbers = true)]
    pub pca: usize,
}

#[derive(Args, Clone)]
#[command(next_help_heading = "Run")]
pub struct RunArgs {
    /// Seed of everything random
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    pub seed: u64,
    /// Threads (default: all cores); the result is the same for any number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024), allow_negative_numbers = true)]
    pub threads: Option<u64>,
    /// Say nothing but errors
    #[arg(long, short)]
    pub quiet: bool,
    /// Events and results as JSON lines on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Clone)]
#[command(next_help_heading = "Run")]
pub struct MemoryArgs {
    /// Refuse work that needs more memory than this, such as 8GiB (default: what is free now)
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub max_memory: Option<u64>,
}

impl MemoryArgs {
    pub fn limit(&self) -> Option<u64> {
        self.max_memory.or_else(available_memory)
    }
}

impl RunArgs {
    pub fn seed(&self) -> Seed {
        Seed(self.seed)
    }

    pub fn threads(&self) -> Option<usize> {
        self.threads.map(|count| count as usize)
    }
}

/// The whole command, the methods' parameters included.
pub fn command() -> clap::Command {
    let with_parameters = |mut verb: clap::Command| {
        for name in parameter_names() {
            verb = verb.arg(parameter_flag(name));
        }
        verb
    };
    Cli::command().mut_subcommand("embed", with_parameters).mut_subcommand("compare", with_parameters)
}

/// The method's parameters that were given; a parameter of another method is refused.
pub fn method_values(matches: &ArgMatches, info: &MethodInfo) -> Result<Vec<(&'static str, String)>, Failure> {
    let given = given_values(matches);
    refuse_parameters_of_others(&given, &[info])?;
    Ok(given)
}

/// The parameters that were given, for each of several methods those it has; one that none of them has is refused.
pub fn values_for_each(
    matches: &ArgMatches,
    infos: &[&MethodInfo],
) -> Result<Vec<Vec<(&'static str, String)>>, Failure> {
    let given = given_values(matches);
    refuse_parameters_of_others(&given, infos)?;
    let of = |info: &&MethodInfo| given.iter().filter(|(name, _)| has(info, name)).cloned().collect();
    Ok(infos.iter().map(of).collect())
}

fn given_values(matches: &ArgMatches) -> Vec<(&'static str, String)> {
    parameter_names().into_iter().filter_map(|name| Some((name, matches.get_one::<String>(name)?.clone()))).collect()
}

fn refuse_parameters_of_others(given: &[(&'static str, String)], infos: &[&MethodInfo]) -> Result<(), Failure> {
    let Some((name, _)) = given.iter().find(|(name, _)| !infos.iter().any(|info| has(info, name))) else {
        return Ok(());
    };
    let takers: Vec<&str> = takers(name).map(|other| other.name).collect();
    let asked: Vec<&str> = infos.iter().map(|info| info.name).collect();
    Err(Failure::flag(format!(
        "--{} is not a parameter of {}; it belongs to {}",
        dashes(name),
        asked.join(", "),
        takers.join(", ")
    )))
}

fn has(info: &MethodInfo, name: &str) -> bool {
    info.params().iter().any(|spec| spec.name == name)
}

/// The flag of a parameter.
pub fn dashes(name: &str) -> String {
    name.replace('_', "-")
}

/// Parameter names of all methods, each once, in the order the methods list them.
fn parameter_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for spec in METHODS.iter().flat_map(MethodInfo::params) {
        if !names.contains(&spec.name) {
            names.push(spec.name);
        }
    }
    names
}

fn takers(name: &str) -> impl Iterator<Item = &'static MethodInfo> + '_ {
    METHODS.iter().filter(move |info| has(info, name))
}

fn parameter_flag(name: &'static str) -> Arg {
    let specs: Vec<_> = takers(name)
        .map(|info| (info.name, info.params().into_iter().find(|spec| spec.name == name).expect("a taker has it")))
        .collect();
    let defaults: Vec<&str> = specs.iter().map(|(_, spec)| spec.default.as_str()).collect();
    let default = if defaults.iter().all(|default| *default == defaults[0]) {
        defaults[0].to_string()
    } else {
        specs.iter().map(|(method, spec)| format!("{method} {}", spec.default)).collect::<Vec<_>>().join(", ")
    };
    let methods = if specs.len() == METHODS.len() {
        String::new()
    } else {
        format!(" ({})", specs.iter().map(|(method, _)| *method).collect::<Vec<_>>().join(", "))
    };
    let spec = &specs[0].1;
    Arg::new(name)
        .long(dashes(name))
        .value_name("VALUE")
        .help(format!("{}{methods} [default: {default}]", spec.help.trim_end_matches('.')))
        .long_help(format!("{} {}: {}{methods} [default: {default}]", spec.help, "Takes", spec.expects))
        .help_heading("Method parameters")
        .allow_hyphen_values(true)
}

pub fn method_names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(METHODS.iter().map(|info| info.name))
}

/// `8GiB`, `500MB`, `1000000`.
fn parse_size(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kib" => 1024.0,
        "kb" => 1e3,
        "m" | "mib" => f64::from(1 << 20),
        "mb" => 1e6,
        "g" | "gib" => f64::from(1 << 30),
        "gb" => 1e9,
        "t" | "tib" => (1u64 << 40) as f64,
        _ => return Err(format!("unknown unit '{unit}'; use for example 8GiB or 500MB")),
    };
    match number.parse::<f64>() {
        Ok(number) if number > 0.0 => Ok((number * factor) as u64),
        _ => Err("expected a size such as 8GiB or 500MB".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!(parse_size("2GiB"), Ok(2 << 30));
        assert_eq!(parse_size("1.5 MB"), Ok(1_500_000));
        assert_eq!(parse_size("77"), Ok(77));
        assert!(parse_size("lots").is_err());
        assert!(parse_size("3 parsecs").is_err());
    }
}
