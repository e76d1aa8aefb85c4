//! The Python package: its wheel, and its tests in a fresh virtual environment.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::run;
use crate::viewer::go_on_without;

/// The virtual environment, under the folder that git ignores.
const ENVIRONMENT: &str = "target/python";
const REQUIREMENTS: &str = "python/requirements-test.txt";

/// Builds the package without optimisation, so that what the other tests compiled is used again, and tests it as installed.
pub fn test() -> Result<()> {
    let environment = match Environment::fresh() {
        Ok(environment) => environment,
        Err(error) => {
            println!("{error:#}");
            return go_on_without("Python 3.10 with venv is", "python3 python3-venv", "the Python package");
        }
    };
    // Everything that is tested, pinned; the index is asked once.
    environment.pip(&["install", "--requirement", REQUIREMENTS])?;
    let wheel = environment.wheel(&["--profile", "dev"], "target/wheels")?;
    environment.pip(&["install", "--no-deps", "--force-reinstall", &wheel.to_string_lossy()])?;
    let mut pytest = Command::new(environment.program("python"));
    // From the folder of the tests, so that the installed package is imported and not the sources beside it.
    pytest.current_dir("python/tests").args([
        "-m",
        "pytest",
        "--doctest-modules",
        "--doctest-glob=*.md",
        "--pyargs",
        "lowland",
        ".",
        "../../docs/guide/python.md",
    ]);
    // Models go from the command line's program to Python and back.
    let program = std::path::absolute("target/debug/lowland")?;
    ensure!(program.exists(), "target/debug/lowland is missing: cargo build");
    pytest.env("LOWLAND_PROGRAM", program);
    run(pytest, "pytest")
}

/// Leaves a release wheel in dist/.
pub fn wheel() -> Result<()> {
    let environment = Environment::fresh()?;
    let maturin = std::fs::read_to_string(REQUIREMENTS)?;
    let maturin =
        maturin.lines().find(|line| line.starts_with("maturin==")).context("no maturin in the requirements")?;
    environment.pip(&["install", maturin])?;
    let wheel = environment.wheel(&["--release", "--strip"], "dist")?;
    let size = std::fs::metadata(&wheel)?.len() as f64 / (1 << 20) as f64;
    println!("{} ({size:.1} MiB)", wheel.display());
    Ok(())
}

struct Environment(PathBuf);

impl Environment {
    /// A new one, whatever was there before.
    fn fresh() -> Result<Self> {
        let question = "import sys, venv, ensurepip; print(sys.version_info >= (3, 10))";
        let output = Command::new("python3").args(["-c", question]).output();
        let output = output.context("python3 is missing: install Python 3.10 or later")?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr).trim().to_string();
            bail!("python3 lacks a module it needs for virtual environments (on Debian: python3-venv): {words}");
        }
        ensure!(output.stdout.starts_with(b"True"), "python3 is older than 3.10: install a later one");
        let mut create = Command::new("python3");
        create.args(["-m", "venv", "--clear", ENVIRONMENT]);
        run(create, &format!("python3 -m venv {ENVIRONMENT}"))?;
        Ok(Self(std::path::absolute(ENVIRONMENT)?))
    }

    fn program(&self, name: &str) -> PathBuf {
        self.0.join(if cfg!(windows) { "Scripts" } else { "bin" }).join(name)
    }

    fn pip(&self, arguments: &[&str]) -> Result<()> {
        let mut command = Command::new(self.program("python"));
        command.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]).args(arguments);
        run(command, &format!("pip {}", arguments.join(" ")))
    }

    /// Builds a wheel into `folder`, which then holds no other.
    fn wheel(&self, arguments: &[&str], folder: &str) -> Result<PathBuf> {
        let folder = std::path::absolute(folder)?;
        std::fs::create_dir_all(&folder)?;
        for old in wheels(&folder)? {
            std::fs::remove_file(old)?;
        }
        let mut command = Command::new(self.program("maturin"));
        command.current_dir("python").args(["build", "--quiet", "--out"]).arg(&folder).args(arguments);
        command.arg("--interpreter").arg(self.program("python"));
        run(command, &format!("maturin build {}", arguments.join(" ")))?;
        wheels(&folder)?.pop().context("maturin left no wheel")
    }
}

fn wheels(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    Ok(entries.into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "whl")).collect())
}
