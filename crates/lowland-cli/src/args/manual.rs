//! The flags of `lowland manual`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// How the manual is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ManualFormat {
    /// Man pages
    Man,
    /// One page in Markdown
    Markdown,
}

#[derive(Args)]
#[command(after_help = "Example:\n  lowland manual --out ~/.local/share/man/man1")]
pub struct ManualArgs {
    /// How the manual is written
    #[arg(long, value_enum, default_value = "man", value_name = "FORMAT")]
    pub format: ManualFormat,
    /// Folder to write the man pages of all commands to, instead of printing the one of lowland
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}
