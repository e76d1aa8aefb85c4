//! `cargo xtask dist`: the artifacts of a release in dist/, each tested where it will be used. Nothing is uploaded.
//!
//! On Linux, Zig is the linker, which links against any version of glibc: programs and wheels run on systems from 2014 on. What is
//! needed for that comes from PyPI into a virtual environment of its own.

mod build;
mod check;
mod chroot;
mod licenses;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;

use crate::python::Environment;

/// The folder of the artifacts.
const FOLDER: &str = "dist";
/// Version of glibc of the artifacts for Linux, that of the standard library of Rust.
const GLIBC: &str = "2.17";
/// Packages for building, with their versions.
const REQUIREMENTS: &str = "xtask/requirements-dist.txt";

/// What a release consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Artifact {
    /// The Python package
    Wheel,
    /// The source of the Python package
    Sdist,
    /// The program with its manual and completions
    Binary,
}

/// What to build and test.
#[derive(Debug, clap::Args)]
pub struct DistArgs {
    /// Only these artifacts
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Artifact::Wheel, Artifact::Sdist, Artifact::Binary])]
    only: Vec<Artifact>,
    /// Target triple; it must run on this machine
    #[arg(long, default_value_t = host())]
    target: String,
    /// Leave out the tests
    #[arg(long, conflicts_with = "skip_build")]
    skip_tests: bool,
    /// Test what is in dist/ already
    #[arg(long)]
    skip_build: bool,
}

/// A line of the summary.
struct Step {
    name: String,
    seconds: f64,
    result: String,
}

/// The steps that were made.
#[derive(Default)]
struct Summary(Vec<Step>);

impl Summary {
    /// Makes a step and keeps its time and what it returns.
    fn step(&mut self, name: impl Into<String>, work: impl FnOnce() -> Result<String>) -> Result<()> {
        let (name, started) = (name.into(), Instant::now());
        let result = work().with_context(|| name.clone())?;
        let seconds = started.elapsed().as_secs_f64();
        println!("== {name}: {result} ({seconds:.0} s)");
        self.0.push(Step { name, seconds, result });
        Ok(())
    }

    fn print(&self) {
        println!("\n| Step | Result | Seconds |\n|---|---|---|");
        for Step { name, seconds, result } in &self.0 {
            println!("| {name} | {result} | {seconds:.0} |");
        }
    }
}

/// Builds and tests the artifacts.
pub fn dist(arguments: &DistArgs) -> Result<()> {
    let mut summary = Summary::default();
    fs::create_dir_all(FOLDER)?;
    if !arguments.skip_build {
        build(arguments, &mut summary)?;
    }
    if !arguments.skip_tests {
        test(arguments, &mut summary)?;
    }
    summary.print();
    Ok(())
}

fn build(arguments: &DistArgs, summary: &mut Summary) -> Result<()> {
    let tools = Environment::create_in("target/dist/tools")?;
    tools.pip(&["install", "--requirement", REQUIREMENTS])?;
    let builder = build::Builder { tools, target: &arguments.target };
    for artifact in &arguments.only {
        summary.step(format!("build {}", name(*artifact)), || {
            let path = match artifact {
                Artifact::Wheel => builder.wheel()?,
                Artifact::Sdist => builder.sdist()?,
                Artifact::Binary => builder.binary()?,
            };
            Ok(format!("{}, {}", file_name(&path), format_size(&path)?))
        })?;
    }
    build::write_checksums(Path::new(FOLDER))
}

fn test(arguments: &DistArgs, summary: &mut Summary) -> Result<()> {
    check::checksums(Path::new(FOLDER))?;
    for artifact in &arguments.only {
        match artifact {
            Artifact::Wheel => check::wheel(&find(".whl")?, summary)?,
            Artifact::Sdist => check::sdist(&find(".tar.gz")?, summary)?,
            Artifact::Binary => check::binary(&find(&archive_ending(&arguments.target))?, &arguments.target, summary)?,
        }
    }
    Ok(())
}

fn name(artifact: Artifact) -> &'static str {
    match artifact {
        Artifact::Wheel => "wheel",
        Artifact::Sdist => "sdist",
        Artifact::Binary => "binary",
    }
}

/// Version of the workspace.
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Name of the archive of the program without its ending, and of the folder in it.
fn archive_stem(target: &str) -> String {
    format!("lowland-{}-{target}", version())
}

/// How the name of the archive of the program ends.
fn archive_ending(target: &str) -> String {
    format!("{target}.{}", if target.contains("windows") { "zip" } else { "tar.gz" })
}

/// The one artifact whose name ends so. The sdist has no target in its name.
fn find(ending: &str) -> Result<PathBuf> {
    let prefix = format!("lowland-{}", version());
    let is_meant = |name: &str| {
        name.strip_prefix(&prefix)
            .is_some_and(|rest| if ending == ".tar.gz" { rest == ending } else { rest.ends_with(ending) })
    };
    let entries = fs::read_dir(FOLDER)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let mut found: Vec<PathBuf> = entries.into_iter().filter(|path| is_meant(&file_name(path))).collect();
    match (found.pop(), found.is_empty()) {
        (Some(path), true) => Ok(std::path::absolute(path)?),
        (Some(_), false) => bail!("{FOLDER}/ has several files {prefix}*{ending}: delete those that are not meant"),
        (None, _) => bail!("{FOLDER}/ has no {prefix}*{ending}: build it first"),
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn format_size(path: &Path) -> Result<String> {
    Ok(format!("{:.1} MiB", fs::metadata(path)?.len() as f64 / f64::from(1 << 20)))
}

/// The triple of this machine.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().map(|output| output.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&output).into_owned();
    text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default().into()
}

/// Runs a program and returns what it printed; fails with its messages.
pub fn output_of(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{command:?}: {}\n{stdout}{stderr}", output.status);
    Ok(stdout.into_owned())
}
