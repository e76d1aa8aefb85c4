//! `lowland`: maps of high-dimensional data from the shell. Data go to stdout, messages to stderr.
//!
//! This is the program as a library: [`main`] is all of it, [`main_with`] is what the Python package runs, and [`fuzzing`] is what
//! fuzz targets call.

mod args;
mod caption;
mod commands;
mod console;
mod failure;
pub mod fuzzing;
mod input;
mod live;
mod paths;
mod print;
mod report;
mod signals;
mod terms;
mod usage;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches};
use lowland::device::with_device;
use lowland::message::Note;

use args::{Cli, Command};
use failure::Failure;

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    // Paths need not be UTF-8.
    main_with(&std::env::args_os().collect::<Vec<OsString>>())
}

/// Runs the program with these arguments, the name of the program first.
pub fn main_with(arguments: &[OsString]) -> ExitCode {
    signals::install();
    match run(arguments).and_then(|code| print::check_json().map(|()| code)) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

fn run(arguments: &[OsString]) -> Result<ExitCode, Failure> {
    let (command, matches) = parse(&mut args::command(), arguments)?;
    limit_arenas();
    report_fewer_threads(command.threads(), command.run().is_none_or(|run| run.quiet));
    // One pool for everything that the command does.
    lowland::with_threads(command.threads(), || with_device(command.device(), || run_command(&command, &matches)))??
}

/// Parses the arguments, the name of the program first.
fn parse(command: &mut clap::Command, arguments: &[OsString]) -> Result<(Command, ArgMatches), Failure> {
    args::check_images_flag(arguments)?;
    let matches = command.try_get_matches_from_mut(arguments)?;
    let Cli { command } = Cli::from_arg_matches(&matches)?;
    Ok((command, matches))
}

/// Lets all threads allocate from one arena if the address space is limited: each arena of glibc reserves 64 MiB of it.
fn limit_arenas() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if lowland::address_space_limit().is_some() {
        // SAFETY: mallopt only sets a number that the allocator reads.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}

/// Says so if fewer threads are started than asked for.
fn report_fewer_threads(threads: Option<usize>, quiet: bool) {
    let wanted = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let used = lowland::threads_within_limits(threads);
    if used >= wanted || quiet {
        return;
    }
    print::print_stderr(&match lowland::address_space_limit() {
        Some(limit) => {
            let limit = lowland::data::format_bytes(limit);
            format!("{used} of {wanted} threads: the address space is limited to {limit} (ulimit -v)")
        }
        None => Note::ThreadsLimited { requested: wanted, used }.describe(&terms::FlagTerms),
    });
}

fn run_command(command: &Command, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let (_, matches) = matches.subcommand().expect("a subcommand is required");
    match command {
        Command::Embed(args) => commands::embed(args, matches),
        Command::Transform(args) => commands::transform(args),
        Command::Score(args) => commands::score(args),
        Command::Inverse(args) => commands::inverse(args),
        Command::Reconstruct(args) => commands::reconstruct(args),
        Command::Samples(args) => commands::samples(args),
        Command::Select(args) => commands::select(args),
        Command::Quality(args) => commands::quality(args),
        Command::Trust(args) => commands::trust(args),
        Command::Plot(args) => commands::plot(args),
        Command::Compare(args) => commands::compare(args, matches),
        Command::Combine(args) => commands::combine(args),
        Command::Spectrum(args) => commands::spectrum(args, matches),
        Command::Sequence(args) => commands::sequence(args, matches),
        Command::Analogies(args) => commands::analogies(args),
        Command::Neighbors(args) => commands::neighbors(args),
        Command::Data(args) => commands::data(&args.action),
        Command::Devices { json } => commands::list_devices(*json),
        Command::Methods { name, json } => commands::methods(name.as_deref(), *json),
        Command::Completions { shell } => commands::completions(*shell),
        Command::Manual(args) => commands::manual(args.format, args.out.as_deref()),
    }
}
