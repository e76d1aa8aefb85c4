//! `cargo xtask generate`: Python source that follows from the methods of the library.
//!
//! The library describes its methods, their parameters and their defaults; `lowland methods --json` prints that description, and the
//! estimators of the Python package are written from it. The result is committed, so that building the package needs no generator.

mod arguments;
mod description;
mod estimators;
mod text;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use description::MethodDescription;

const FOLDER: &str = "python/src/lowland";

/// Writes the generated files.
pub fn write() -> Result<()> {
    for (name, content) in files()? {
        let path = Path::new(FOLDER).join(name);
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
    for (name, content) in files()? {
        let path = Path::new(FOLDER).join(name);
        let current = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        ensure!(current == content, "{} is out of date: run `cargo xtask generate`", path.display());
    }
    Ok(())
}

/// Names and contents of the generated files.
fn files() -> Result<[(&'static str, String); 2]> {
    let methods = describe_methods()?;
    Ok([("_registry.py", estimators::registry(&methods)), ("estimators.py", estimators::classes(&methods)?)])
}

/// Asks the program for its methods.
fn describe_methods() -> Result<Vec<MethodDescription>> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--quiet", "--package", "lowland-cli", "--", "methods", "--json"]);
    let output = command.output().context("cannot start cargo")?;
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
