//! The flags that the commands on a data set have in common.

use clap::Args;

use super::{InputArgs, PreprocessingArgs, RunArgs};

/// The input, its preprocessing, and how the command runs.
#[derive(Args)]
pub struct CommonArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub preprocessing: PreprocessingArgs,
    #[command(flatten)]
    pub run: RunArgs,
}
