//! `cargo xtask test`: everything CI runs, with one command.

mod bench;
#[cfg(test)]
mod dependencies;
mod dist;
#[cfg(test)]
mod docs;
mod fuzz;
mod generate;
mod kernels;
#[cfg(test)]
mod layers;
#[cfg(test)]
mod promises;
mod public_api;
mod python;
mod release;
mod site;
mod viewer;
mod watchdog;
mod workflows;

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::{Parser, Subcommand};

use watchdog::Limits;

#[derive(Parser)]
#[command(about = "Project tasks")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Formatting, lints, all tests, documentation, workflows, the page in a browser, the Python package: what CI runs
    Test {
        /// Also what takes long: kills of every method, many interrupted fits in one Python process
        #[arg(long)]
        extended: bool,
    },
    /// The Python package's release wheel, in dist/
    Wheel,
    /// Set the version of the crates, the Python package and the page, and begin its section of the changelog
    Bump {
        /// The new version, such as 0.3.0
        version: String,
    },
    /// Write today's date over "Unreleased" in the changelog, before a release is tagged
    ReleaseDate,
    /// The artifacts of a release in dist/: wheel, source, program; each is tested where it will be used
    Dist(dist::DistArgs),
    /// The Python package's tests only
    Python,
    /// The tests of scikit-learn, umap-learn and openTSNE with the classes of lowland.compat in the place of their own; writes
    /// bench/results/compat.md
    Compat,
    /// Write the Python estimators from the library's description of its methods, and the Rust code of the pages as tests
    Generate {
        /// Instead, fail if the committed files are out of date
        #[arg(long)]
        check: bool,
    },
    /// Write the public API of the crate lowland to crates/lowland/public-api.txt (needs cargo-public-api)
    PublicApi {
        /// Instead, fail if the committed file is out of date
        #[arg(long)]
        check: bool,
    },
    /// Compile the CUDA kernels that have changed (needs Python, and no graphics card)
    Kernels,
    /// Formatting and lints only
    Check,
    /// Check the workflows and what else GitHub reads; part of test
    Workflows,
    /// Bundle the interactive page from viewer/ (needs Node and npm)
    Viewer {
        /// Instead, run its checks and tests
        #[arg(long)]
        test: bool,
    },
    /// The documentation as web pages, in target/site/html
    Site,
    /// Fuzz the readers of files, models, checkpoints, arguments and requests (needs nightly Rust and cargo-fuzz)
    Fuzz {
        /// Targets, by default all (see fuzz/Cargo.toml)
        targets: Vec<String>,
        /// Number of inputs per target; 0 runs only the corpus
        #[arg(long, default_value_t = 1_000_000)]
        runs: usize,
        /// Largest time per target; 0 is without a limit
        #[arg(long, default_value_t = 0)]
        seconds: usize,
    },
    /// Run the benchmarks: bench/results and docs/scoreboard.md (see bench/README.md)
    Bench {
        /// --list, --only TEXT, --quick, --missing, ... (see `cargo xtask bench -- --help`), or `build-time`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

fn main() -> Result<()> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    std::env::set_current_dir(root).context("the workspace's folder")?;
    match Cli::parse().task {
        Task::Check => check(),
        Task::Workflows => workflows::check(),
        Task::Viewer { test: false } => viewer::build(),
        Task::Viewer { test: true } => viewer::test(),
        Task::Test { extended } => {
            check()?;
            rust_tests(extended)?;
            // The README's first command names no program: `cargo run` must know which one is meant.
            cargo(&["run", "--quiet", "--", "methods"], &[])?;
            cargo(&["doc", "--workspace", "--no-deps", "--quiet"], &[("RUSTDOCFLAGS", "-D warnings")])?;
            workflows::check()?;
            viewer::test()?;
            python::test(extended)
        }
        Task::PublicApi { check } => public_api::record(check),
        Task::Kernels => kernels::compile(),
        Task::Bump { version } => release::bump(&version),
        Task::ReleaseDate => release::date(),
        Task::Dist(arguments) => dist::dist(&arguments),
        Task::Wheel => python::wheel(),
        Task::Compat => python::compat(),
        Task::Python => python::test(false),
        Task::Site => site::build(),
        Task::Fuzz { targets, runs, seconds } => fuzz::fuzz(&targets, runs, seconds),
        Task::Generate { check: false } => generate::write(),
        Task::Generate { check: true } => generate::check(),
        Task::Bench { arguments } => bench::run_benchmarks(&arguments),
    }
}

fn check() -> Result<()> {
    cargo(&["fmt", "--all", "--", "--check"], &[])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"], &[])
}

/// Builds the tests without a time limit and runs them with one.
fn rust_tests(extended: bool) -> Result<()> {
    cargo(&["test", "--workspace", "--quiet", "--no-run"], &[])?;
    let run_tests = |arguments: &[&str], limits: Limits| {
        let mut tests = Command::new(env!("CARGO"));
        tests.args(arguments);
        // With a single thread, libtest does not say which test is slow.
        if std::thread::available_parallelism().is_ok_and(|threads| threads.get() == 1) {
            tests.env("RUST_TEST_THREADS", "2");
        }
        watchdog::run(tests, &format!("cargo {}", arguments.join(" ")), limits)
    };
    let limits = Limits::from_environment()?;
    run_tests(&["test", "--workspace"], limits)?;
    // What there is of graphics cards in a build without them, and that it is a program.
    run_tests(&["test", "--package", "lowland-cuda", "--no-default-features"], limits)?;
    cargo(&["check", "--package", "lowland-cli", "--no-default-features", "--quiet"], &[])?;
    if extended {
        run_tests(
            &["test", "--workspace", "--lib", "--bins", "--tests", "--", "--ignored", "--nocapture"],
            limits.extended(),
        )?;
    }
    Ok(())
}

fn cargo(arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments).envs(environment.iter().copied());
    run(command, &format!("cargo {}", arguments.join(" ")))
}

fn run(mut command: Command, what: &str) -> Result<()> {
    println!("== {what}");
    let started = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {what}"))?;
    ensure!(status.success(), "{what}: {status}");
    println!("== {what}: {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}
