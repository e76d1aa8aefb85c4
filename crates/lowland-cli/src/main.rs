//! `lowland`: maps of high-dimensional data from the shell. Data go to stdout, words to stderr.

mod args;
mod commands;
mod failure;
mod input;
mod live;
mod observer;
mod paths;
mod picture_args;
mod report;
mod select_args;
mod usage;

use std::process::ExitCode;

use clap::FromArgMatches;

use args::{Cli, Command};
use failure::Failure;

fn main() -> ExitCode {
    if let Err(failure) = picture_args::check_images(std::env::args()) {
        return failure.report();
    }
    let matches = args::command().get_matches();
    let outcome = Cli::from_arg_matches(&matches).map_err(Failure::usage).and_then(|cli| match cli.command {
        Command::Embed(embed) => {
            let (_, matches) = matches.subcommand().expect("embed was given");
            commands::embed(&embed, matches)
        }
        Command::Transform(transform) => commands::transform(&transform),
        Command::Score(score) => commands::score(&score),
        Command::Inverse(inverse) => commands::inverse(&inverse),
        Command::Reconstruct(reconstruct) => commands::reconstruct(&reconstruct),
        Command::Samples(samples) => commands::samples(&samples),
        Command::Select(select) => commands::select(&select),
        Command::Quality(quality) => commands::quality(&quality),
        Command::Plot(plot) => commands::plot(&plot),
        Command::Compare(compare) => {
            let (_, matches) = matches.subcommand().expect("compare was given");
            commands::compare(&compare, matches)
        }
        Command::Analogies(analogies) => commands::analogies(&analogies),
        Command::Neighbors(neighbors) => commands::neighbors(&neighbors),
        Command::Data(data) => commands::data(&data.action),
        Command::Methods { name, json } => commands::methods(name.as_deref(), json),
        Command::Completions { shell } => commands::completions(shell),
    });
    match outcome {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
