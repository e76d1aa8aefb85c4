//! Builds the Python package and tests it in a new virtual environment.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::run;
use crate::viewer::skip_or_fail;
use crate::watchdog::{self, Limits};

/// The virtual environment, in a folder that git ignores.
const ENVIRONMENT: &str = "target/python";
const REQUIREMENTS: &str = "python/requirements-test.txt";

/// Tests the package as installed from a wheel. The wheel is built with the dev profile, which the other tests have compiled already.
pub fn test(extended: bool) -> Result<()> {
    let environment = match Environment::create() {
        Ok(environment) => environment,
        Err(error) => {
            println!("{error:#}");
            return skip_or_fail("Python 3.10 with venv is", "python3 python3-venv", "the Python package");
        }
    };
    environment.pip(&["install", "--requirement", REQUIREMENTS])?;
    let wheel = environment.wheel(&["--profile", "dev"], "target/wheels")?;
    environment.pip(&["install", "--no-deps", "--force-reinstall", &wheel.to_string_lossy()])?;
    let mut pytest = Command::new(environment.program("python"));
    // Run in the folder of the tests, so that Python imports the installed package and not its source.
    pytest.current_dir("python/tests").args([
        "-m",
        "pytest",
        "--doctest-modules",
        "--doctest-glob=*.md",
        "--pyargs",
        "lowland",
        ".",
        "../README.md",
        "../../docs/guide/python.md",
        "../../docs/guide/coming-from.md",
    ]);
    // The tests exchange models with the command line program.
    let program = std::path::absolute(format!("target/debug/lowland{}", std::env::consts::EXE_SUFFIX))?;
    ensure!(program.exists(), "{} is missing: cargo build", program.display());
    pytest.env("LOWLAND_PROGRAM", program);
    let mut limits = Limits::from_environment()?;
    if extended {
        pytest.args(["-o", "faulthandler_timeout=3600"]).env("LOWLAND_EXTENDED", "1");
        limits = limits.extended();
    }
    watchdog::run(pytest, "pytest", limits)
}

/// Builds a release wheel in dist/.
pub fn wheel() -> Result<()> {
    let environment = Environment::create()?;
    let maturin = std::fs::read_to_string(REQUIREMENTS)?;
    let maturin =
        maturin.lines().find(|line| line.starts_with("maturin==")).context("maturin is missing in the requirements")?;
    environment.pip(&["install", maturin])?;
    let wheel = environment.wheel(&["--release", "--strip"], "dist")?;
    let size = std::fs::metadata(&wheel)?.len() as f64 / (1 << 20) as f64;
    println!("{} ({size:.1} MiB)", wheel.display());
    Ok(())
}

/// Runs the tests of the packages that `lowland.compat` replaces with its classes in the place of theirs, and writes the record.
pub fn compat() -> Result<()> {
    let environment = Environment::create()?;
    environment.pip(&["install", "--requirement", REQUIREMENTS, "--requirement", "python/compat/requirements.txt"])?;
    let wheel = environment.wheel(&["--release", "--strip"], "target/wheels")?;
    environment.pip(&["install", "--no-deps", "--force-reinstall", &wheel.to_string_lossy()])?;
    let mut originals = Command::new(environment.program("python"));
    // The second folder keeps the source archives of packages that do not install their tests.
    originals.current_dir("python/compat").args([
        "originals.py",
        "../../bench/results/compat.md",
        "../../target/compat",
    ]);
    run(originals, "originals.py")
}

/// A virtual environment.
pub struct Environment(PathBuf);

impl Environment {
    /// Creates the environment of the tests, replacing any earlier one.
    pub fn create() -> Result<Self> {
        Self::create_in(ENVIRONMENT)
    }

    /// Creates a new environment in a folder, replacing any earlier one.
    pub fn create_in(folder: &str) -> Result<Self> {
        Self::create_with("python3", folder)
    }

    /// Creates a new environment of another Python, replacing any earlier one.
    pub fn create_with(interpreter: &str, folder: &str) -> Result<Self> {
        let script = "import sys, venv, ensurepip; print(sys.version_info >= (3, 10))";
        let output = Command::new(interpreter).args(["-c", script]).output();
        let output = output.with_context(|| format!("{interpreter} is missing: install Python 3.10 or newer"))?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr).trim().to_string();
            bail!("{interpreter} cannot create virtual environments (on Debian, install python3-venv): {message}");
        }
        ensure!(output.stdout.starts_with(b"True"), "{interpreter} is older than 3.10: install a newer version");
        let mut create = Command::new(interpreter);
        create.args(["-m", "venv", "--clear", folder]);
        run(create, &format!("{interpreter} -m venv {folder}"))?;
        Ok(Self(std::path::absolute(folder)?))
    }

    /// Path of a program of the environment.
    pub fn program(&self, name: &str) -> PathBuf {
        self.0.join(if cfg!(windows) { "Scripts" } else { "bin" }).join(name)
    }

    /// Runs pip.
    pub fn pip(&self, arguments: &[&str]) -> Result<()> {
        let mut command = Command::new(self.program("python"));
        command.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]).args(arguments);
        run(command, &format!("pip {}", arguments.join(" ")))
    }

    /// Builds a wheel in `folder`, replacing any earlier one.
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
        wheels(&folder)?.pop().context("maturin did not write a wheel")
    }
}

/// Wheels in a folder.
fn wheels(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    Ok(entries.into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "whl")).collect())
}
