//! `cargo xtask site`: the documentation as web pages, with search and references of the command line and of Python.

use std::process::Command;

use anyhow::Result;

use crate::python::Environment;
use crate::{cargo, run};

const REQUIREMENTS: &str = "docs/site/requirements.txt";

/// Builds target/site/html; fails on links that lead nowhere.
pub fn build() -> Result<()> {
    cargo(&["build", "--quiet", "--package", "lowland-cli"], &[])?;
    let environment = Environment::create_in("target/site/environment")?;
    environment.pip(&["install", "--requirement", REQUIREMENTS])?;
    let mut command = Command::new(environment.program("python"));
    command.args(["docs/site/build.py", "target/debug/lowland"]);
    run(command, "docs/site/build.py")
}
