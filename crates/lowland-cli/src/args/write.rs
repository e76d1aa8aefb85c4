//! The flags of tables that are written.

use clap::Args;
use lowland_io::WriteOptions;

#[derive(Args, Clone, Copy)]
#[command(next_help_heading = "Output")]
pub struct WriteArgs {
    /// Put ' before ids and labels in .csv and .tsv files that spreadsheet programs would evaluate (such as =1+2)
    #[arg(long)]
    pub escape_formulas: bool,
}

impl WriteArgs {
    pub fn options(self) -> WriteOptions {
        WriteOptions { escape_formulas: self.escape_formulas }
    }
}
