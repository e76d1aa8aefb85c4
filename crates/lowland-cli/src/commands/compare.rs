//! `lowland compare`: one data set, several methods, one picture.

use std::process::ExitCode;

use clap::ArgMatches;
use lowland::methods::MethodInfo;

use crate::args::{CompareArgs, values_for_each};
use crate::failure::Failure;

pub fn compare(args: &CompareArgs, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let infos: Vec<&MethodInfo> = args.methods.iter().map(|name| MethodInfo::find(name)).collect::<Result<_, _>>()?;
    let values = values_for_each(matches, &infos)?;
    Err(Failure::flag(format!("not yet: {} methods", values.len())))
}
