//! The flags of `lowland data`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{InputArgs, RunArgs, WriteArgs};

#[derive(Args)]
pub struct DataArgs {
    #[command(subcommand)]
    pub action: Option<DataAction>,
}

#[derive(Subcommand)]
pub enum DataAction {
    /// List the built-in data sets
    List,
    /// Describe a data set: rows, columns, classes, constant columns, repeated rows
    Describe {
        #[command(flatten)]
        input: InputArgs,
        #[command(flatten)]
        run: RunArgs,
    },
    /// Write a built-in data set to a file
    #[command(after_help = "Example:\n  lowland data generate swiss-roll --n-points 5000 --out roll.csv")]
    Generate {
        /// Output file (.csv .tsv .parquet .npy)
        #[arg(long, short, value_name = "FILE")]
        out: PathBuf,
        #[command(flatten)]
        write: WriteArgs,
        #[command(flatten)]
        input: InputArgs,
        #[command(flatten)]
        run: RunArgs,
    },
}
