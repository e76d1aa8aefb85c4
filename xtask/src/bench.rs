//! The scoreboard: builds ours, the Rust peers and an environment with the Python peers, then hands over to bench/scoreboard.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{cargo, run};

/// The peers' virtual environment, under the folder that git ignores; bench/run.sh uses it too.
const ENVIRONMENT: &str = "target/peers";
const REQUIREMENTS: &str = "bench/scoreboard/requirements.txt";
const RUST_PEERS: [&str; 6] = [
    "build",
    "--release",
    "--manifest-path",
    "bench/scoreboard/rust-peers/Cargo.toml",
    "--target-dir",
    "target/rust-peers",
];

/// Measures what the arguments ask for.
pub fn run_scoreboard(arguments: &[String]) -> Result<()> {
    cargo(&["build", "--release", "--package", "lowland-bench", "--package", "lowland-cli"], &[])?;
    let with_annembed: Vec<&str> = RUST_PEERS.into_iter().chain(["--features", "annembed"]).collect();
    if cargo(&with_annembed, &[]).is_err() {
        println!("annembed needs OpenBLAS (on Debian: libopenblas-dev): it will be shown as failed");
        cargo(&RUST_PEERS, &[])?;
    }
    install()?;
    let mut scoreboard = Command::new(Path::new(ENVIRONMENT).join("bin/python"));
    scoreboard.arg("bench/scoreboard/run.py").args(arguments);
    run(scoreboard, "the scoreboard")
}

/// The Python peers, unless those that are asked for are there.
fn install() -> Result<()> {
    let (asked, stamp) = (std::fs::read_to_string(REQUIREMENTS)?, Path::new(ENVIRONMENT).join("installed"));
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == asked) {
        return Ok(());
    }
    let mut create = Command::new("python3");
    create.args(["-m", "venv", ENVIRONMENT]);
    run(create, &format!("python3 -m venv {ENVIRONMENT}"))?;
    let mut pip = Command::new(Path::new(ENVIRONMENT).join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--requirement", REQUIREMENTS]);
    run(pip, &format!("pip install --requirement {REQUIREMENTS}"))?;
    std::fs::write(&stamp, asked).with_context(|| stamp.display().to_string())
}
