//! The command line. Fixed flags are declared here, one file per command; flags of the methods come from the library's list
//! of methods.

mod analogies;
mod combine;
mod common;
mod compare;
mod data;
mod device;
mod embed;
mod figure;
mod input;
mod manual;
mod method_parameters;
mod model;
mod neighbors;
mod picture;
mod placement;
mod plot;
mod quality;
mod run;
mod select;
mod sequence;
mod spectrum;
mod trust;
mod write;

use clap::{CommandFactory, Parser, Subcommand};
use lowland::device::Device;

pub use analogies::AnalogyArgs;
pub use combine::CombineArgs;
pub use common::CommonArgs;
pub use compare::CompareArgs;
pub use data::{DataAction, DataArgs};
pub use device::DeviceArgs;
pub use embed::EmbedArgs;
pub use figure::{BorderArg, LegendArg};
pub use input::{HeaderArg, InputArgs, MissingArg, PreprocessingArgs, ReadArgs};
pub use manual::{ManualArgs, ManualFormat};
pub use method_parameters::{
    given_values, method_names, method_names_with_auto, method_values, own_values, values_for_each,
};
pub use model::{InverseArgs, ReconstructArgs, SamplesArgs, ScoreArgs, TransformArgs};
pub use neighbors::NeighborArgs;
pub use picture::{DensityArg, FlaggedArg, PictureArgs, UncertaintyArg, check_images_flag};
pub use placement::{PlacementArgs, Shard};
pub use plot::PlotArgs;
pub use quality::QualityArgs;
pub use run::RunArgs;
pub use select::{SelectArgs, SelectMethod};
pub use sequence::SequenceArgs;
pub use spectrum::SpectrumArgs;
pub use trust::TrustArgs;
pub use write::WriteArgs;

const AFTER_HELP: &str = "\
Examples:
  lowland embed digits --out digits.png                       a map of the built-in digits, and its picture
  lowland embed cells.csv --label-column type --out map.csv   a map of your own table
  lowland quality cells.csv map.csv --label-column type       scores of the map
  lowland trust cells.csv map.csv --label-column type         which of its points and gaps can be believed

Exit codes: 0 success; 1 failure (disk, stdout, threads, numerics); 2 invalid flag or value; 3 unusable input;
4 more memory needed than allowed; 130 stopped by Ctrl-C (a map that existed by then has been written);
141 stdout was closed by its reader.";

/// Maps of high-dimensional data: neighbors, embeddings, scores.
#[derive(Parser)]
#[command(name = "lowland", version, after_help = AFTER_HELP, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Compute a map of a data set
    Embed(EmbedArgs),
    /// Place new rows on the map of a saved model
    Transform(TransformArgs),
    /// Compute the log-likelihood of rows under a saved model
    Score(ScoreArgs),
    /// Compute rows for points of a map with a saved model
    Inverse(InverseArgs),
    /// Compute rows for points of a map, with standard deviations
    Reconstruct(ReconstructArgs),
    /// Sample maps from the posterior of a saved model
    Samples(SamplesArgs),
    /// Choose numbers of neighbors and dimensions, and compare edges, by the bound of lllvm
    Select(SelectArgs),
    /// Score a map against its data
    Quality(QualityArgs),
    /// Say which points and gaps of a map can be believed
    Trust(TrustArgs),
    /// Draw maps as pictures or interactive pages
    Plot(PlotArgs),
    /// Compare several methods on one data set: maps, scores and times in one picture
    Compare(CompareArgs),
    /// Show how a map changes with the exaggeration of t-SNE, on one page with a slider
    Spectrum(SpectrumArgs),
    /// Compute maps of several data sets in which shared rows stay near each other
    Sequence(SequenceArgs),
    /// Test word vectors on analogies: a is to b as c is to which word?
    Analogies(AnalogyArgs),
    /// Find the nearest neighbors and save them for --neighbors
    Neighbors(NeighborArgs),
    /// Combine neighbor graphs of the same rows, for --neighbors
    Combine(CombineArgs),
    /// List, describe and generate built-in data sets
    Data(DataArgs),
    /// List the methods and when to use them
    Methods {
        /// Show one method and its parameters
        name: Option<String>,
        /// Print methods, their parameters and the preprocessing steps as JSON
        #[arg(long)]
        json: bool,
    },
    /// List the devices that computations can run on: the processor and NVIDIA cards
    Devices {
        /// Print the list as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  lowland completions bash > ~/.local/share/bash-completion/completions/lowland")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual, or write its man pages
    Manual(ManualArgs),
}

impl Command {
    /// The number of threads to use; `None` for all cores.
    pub fn threads(&self) -> Option<usize> {
        self.run().map_or(Some(1), RunArgs::threads)
    }

    /// Where the command computes.
    pub fn device(&self) -> Device {
        match self {
            Command::Embed(args) => args.device.device,
            Command::Transform(args) => args.device.device,
            Command::Quality(args) => args.device.device,
            Command::Trust(args) => args.device.device,
            Command::Compare(args) => args.device.device,
            Command::Sequence(args) => args.device.device,
            Command::Neighbors(args) => args.device.device,
            _ => Device::Cpu,
        }
    }

    /// How the command runs; `None` for commands that do not compute anything.
    pub fn run(&self) -> Option<&RunArgs> {
        Some(match self {
            Command::Embed(args) => &args.common.run,
            Command::Transform(args) => &args.run,
            Command::Score(args) => &args.run,
            Command::Inverse(args) => &args.run,
            Command::Reconstruct(args) => &args.run,
            Command::Samples(args) => &args.run,
            Command::Select(args) => &args.common.run,
            Command::Quality(args) => &args.run,
            Command::Trust(args) => &args.run,
            Command::Plot(args) => &args.run,
            Command::Combine(args) => &args.run,
            Command::Compare(args) => &args.common.run,
            Command::Spectrum(args) => &args.common.run,
            Command::Sequence(args) => &args.run,
            Command::Analogies(args) => &args.run,
            Command::Neighbors(args) => &args.common.run,
            Command::Data(DataArgs {
                action: Some(DataAction::Describe { run, .. } | DataAction::Generate { run, .. }),
            }) => run,
            Command::Data(_)
            | Command::Devices { .. }
            | Command::Methods { .. }
            | Command::Completions { .. }
            | Command::Manual(_) => return None,
        })
    }
}

/// The complete command, including the parameters of the methods.
pub fn command() -> clap::Command {
    let with_parameters = |mut subcommand: clap::Command| {
        for flag in method_parameters::flags() {
            subcommand = subcommand.arg(flag);
        }
        subcommand
    };
    let commands = ["embed", "compare", "spectrum", "sequence"];
    commands.into_iter().fold(Cli::command(), |command, name| command.mut_subcommand(name, with_parameters))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }
}
