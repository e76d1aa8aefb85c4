//! `cargo xtask bench`: prepares the benchmarks in bench/ and runs them (see bench/README.md).

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{cargo, run};

/// Virtual environment with the Python peers, in a folder that git ignores.
const ENVIRONMENT: &str = "target/bench/python";
const REQUIREMENTS: &str = "bench/peers/requirements.txt";
const BUILD_RUST_PEERS: [&str; 6] =
    ["build", "--release", "--manifest-path", "bench/peers/rust/Cargo.toml", "--target-dir", "target/bench/rust-peers"];

/// Runs the benchmarks with these arguments, or measures build times if the first is `build-time`.
pub fn run_benchmarks(arguments: &[String]) -> Result<()> {
    if let Some(("build-time", rest)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return python("python3".as_ref(), "bench.build_time", rest);
    }
    // Listing the cases needs neither the programs nor the peers.
    if arguments.iter().any(|argument| ["--list", "--help", "-h"].contains(&argument.as_str())) {
        return python("python3".as_ref(), "bench.run", arguments);
    }
    cargo(&["build", "--release", "--package", "lowland-bench", "--package", "lowland-cli"], &[])?;
    let with_annembed: Vec<&str> = BUILD_RUST_PEERS.into_iter().chain(["--features", "annembed"]).collect();
    if cargo(&with_annembed, &[]).is_err() {
        println!("annembed needs OpenBLAS (on Debian: libopenblas-dev): its cases will fail");
        cargo(&BUILD_RUST_PEERS, &[])?;
    }
    install_python_peers()?;
    python(&Path::new(ENVIRONMENT).join("bin/python"), "bench.run", arguments)
}

/// Runs a Python module of the benchmarks.
fn python(interpreter: &Path, module: &str, arguments: &[String]) -> Result<()> {
    let mut command = Command::new(interpreter);
    command.args(["-m", module]).args(arguments);
    run(command, &format!("python -m {module}"))
}

/// Installs the Python peers unless the required versions are installed already.
fn install_python_peers() -> Result<()> {
    let (required, stamp) = (std::fs::read_to_string(REQUIREMENTS)?, Path::new(ENVIRONMENT).join("installed"));
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == required) {
        return Ok(());
    }
    let mut create = Command::new("python3");
    create.args(["-m", "venv", ENVIRONMENT]);
    run(create, &format!("python3 -m venv {ENVIRONMENT}"))?;
    let mut pip = Command::new(Path::new(ENVIRONMENT).join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--requirement", REQUIREMENTS]);
    run(pip, &format!("pip install --requirement {REQUIREMENTS}"))?;
    std::fs::write(&stamp, required).with_context(|| stamp.display().to_string())
}
