//! `cargo xtask generate`: Python source that follows from the methods of the library, and tests that follow from the documentation.
//!
//! The library describes its methods, their parameters and their defaults; `lowland methods --json` prints that description, and the
//! estimators of the Python package are written from it. The result is committed, so that building the package needs no generator.

mod arguments;
mod description;
mod documented;
mod estimators;
mod text;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use description::MethodDescription;

const FOLDER: &str = "python/src/lowland";
const DOCUMENTED: &str = "crates/lowland/tests/documented.rs";

/// Writes the generated files.
pub fn write() -> Result<()> {
    for (path, content) in files()? {
        if std::fs::read_to_string(&path).is_ok_and(|current| current == content) {
            continue;
        }
        std::fs::write(&path, content).with_context(|| path.display().to_string())?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

/// Fails when a generated file is out of date.
pub fn check() -> Result<()> {
    for (path, content) in files()? {
        let current = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        ensure!(current == content, "{} is out of date: run `cargo xtask generate`", path.display());
    }
    Ok(())
}

/// Paths and contents of the generated files.
fn files() -> Result<[(PathBuf, String); 3]> {
    let (methods, folder) = (describe_methods()?, Path::new(FOLDER));
    Ok([
        (folder.join("_registry.py"), estimators::registry(&methods)),
        (folder.join("estimators.py"), estimators::classes(&methods)?),
        (DOCUMENTED.into(), documented::tests()?),
    ])
}

/// Asks the program for its methods. It is built with the features of the whole workspace, as for the tests, which share its libraries.
fn describe_methods() -> Result<Vec<MethodDescription>> {
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--workspace", "--bin", "lowland"]);
    crate::run(build, "cargo build --workspace --bin lowland")?;
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let program = Path::new(&target).join("debug/lowland").with_extension(std::env::consts::EXE_EXTENSION);
    let output = Command::new(&program).args(["methods", "--json"]).output().context("cannot start lowland")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "lowland methods --json: {}\n{errors}", output.status);
    let document: Value = serde_json::from_slice(&output.stdout).context("lowland methods --json")?;
    MethodDescription::read_all(&document)
}

#[cfg(test)]
mod tests {
    #[test]
    fn generated_files_are_up_to_date() {
        std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).unwrap();
        super::check().unwrap();
    }
}
