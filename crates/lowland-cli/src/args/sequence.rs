//! The flags of `lowland sequence`.

use std::path::PathBuf;

use clap::Args;
use lowland::growth::AnchorStrength;
use lowland::registry::DEFAULT_METHOD;

use super::embed::parse_anchor;
use super::{DeviceArgs, PictureArgs, PreprocessingArgs, ReadArgs, RunArgs, WriteArgs, method_names};

const SEQUENCE_HELP: &str = "\
Examples:
  lowland sequence monday.csv tuesday.csv wednesday.csv --id-column user --maps maps --out week.png
  lowland sequence 2023.csv 2024.csv --id-column cell --method umap --anchor 0.3 --passes 3 --models models --maps maps

A map of every file. Rows that two consecutive files share, by their ids or without ids by their values, are tied to each other, so
that the maps can be compared; the first map is that of `lowland embed`. The table on stdout says how far shared rows moved (in units
of the size of the map) and what share of the nearest neighbors each map keeps.";

#[derive(Args)]
#[command(after_help = SEQUENCE_HELP)]
pub struct SequenceArgs {
    /// The files, in order, with the same columns
    #[arg(value_name = "INPUT", required = true, num_args = 2..)]
    pub inputs: Vec<PathBuf>,
    /// The method: tsne, ssne, ee, mapit, umap or pacmap
    #[arg(long, value_name = "NAME", default_value = DEFAULT_METHOD, value_parser = method_names())]
    pub method: String,
    /// How strongly shared rows are tied to the map before: exact, or a number, where 1 is as strong as all neighbors of a row together
    #[arg(long, value_name = "STRENGTH", default_value = "0.1", value_parser = parse_anchor, allow_negative_numbers = true)]
    pub anchor: AnchorStrength,
    /// Number of times that every map is fitted; from the second on, it is tied to the maps before and after it
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub passes: usize,
    /// Write the maps to this folder, as INPUT.csv
    #[arg(long, value_name = "FOLDER", required_unless_present_any = ["out", "models"])]
    pub maps: Option<PathBuf>,
    /// Save the models to this folder, as INPUT.lowland
    #[arg(long, value_name = "FOLDER")]
    pub models: Option<PathBuf>,
    /// Picture with all maps (.png .svg .pdf); may be repeated
    #[arg(long, short, value_name = "FILE")]
    pub out: Vec<PathBuf>,
    #[command(flatten)]
    pub write: WriteArgs,
    #[command(flatten)]
    pub picture: PictureArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub read: ReadArgs,
    #[command(flatten)]
    pub preprocessing: PreprocessingArgs,
    #[command(flatten)]
    pub run: RunArgs,
}
