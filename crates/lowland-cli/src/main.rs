//! The program `lowland`; everything is in the library, where tests and fuzz targets reach it too.

use std::process::ExitCode;

fn main() -> ExitCode {
    lowland_cli::main()
}
