//! The flags of `lowland analogies`.

use std::path::PathBuf;

use clap::Args;

use super::RunArgs;

#[derive(Args)]
#[command(
    after_help = "Example:\n  lowland embed words.bin --method tsm --n-components 32 --out words.csv\n  lowland analogies --vectors words.csv --questions questions-words.txt"
)]
pub struct AnalogyArgs {
    /// Named vectors: a map as written by `embed` (.csv .tsv .parquet, with ids), or word vectors (.bin .vec .txt)
    #[arg(long, value_name = "FILE")]
    pub vectors: PathBuf,
    /// Questions: a line `: category`, then lines of four words
    #[arg(long, value_name = "FILE")]
    pub questions: PathBuf,
    #[command(flatten)]
    pub run: RunArgs,
}
