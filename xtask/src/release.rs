//! Versions: `cargo xtask bump` sets that of the crates, the Python package and the page, wherever it is written.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::run;

/// Files in which the version is written. The Python package and the crates take theirs from the first.
const FILES: [&str; 6] = [
    "Cargo.toml",
    "CITATION.cff",
    "README.md",
    "docs/guide/install.md",
    "viewer/package.json",
    "viewer/package-lock.json",
];
const CHANGELOG: &str = "CHANGELOG.md";

/// Sets the version everywhere, and dates the changes of the current one.
pub fn bump(new: &str) -> Result<()> {
    let old = env!("CARGO_PKG_VERSION");
    ensure!(parts(new)? > parts(old)?, "{new} does not come after {old}");
    let changelog = fs::read_to_string(CHANGELOG)?;
    fs::write(CHANGELOG, with_new_section(&changelog, new)?)?;
    for path in FILES {
        let text = fs::read_to_string(path).with_context(|| path.to_string())?;
        fs::write(path, bumped(path, &text, old, new)?)?;
        println!("{path}: {old} -> {new}");
    }
    // The fuzz targets are a workspace of their own.
    for manifest in ["Cargo.toml", "fuzz/Cargo.toml"] {
        let mut lock = Command::new(env!("CARGO"));
        lock.args(["update", "--workspace", "--offline", "--quiet", "--manifest-path", manifest]);
        run(lock, &format!("cargo update --workspace --manifest-path {manifest}"))?;
    }
    Ok(())
}

/// Writes today's date over "Unreleased" in the changelog, for the release of the current version.
pub fn date() -> Result<()> {
    let today = super::dist::output_of(Command::new("date").args(["-u", "+%F"]))?;
    let heading = format!("## {} - ", env!("CARGO_PKG_VERSION"));
    let changelog = fs::read_to_string(CHANGELOG)?;
    let unreleased = format!("{heading}Unreleased\n");
    ensure!(changelog.contains(&unreleased), "{CHANGELOG} has no heading '{}'", unreleased.trim());
    fs::write(CHANGELOG, changelog.replacen(&unreleased, &format!("{heading}{}\n", today.trim()), 1))?;
    println!("{CHANGELOG}: {heading}{}", today.trim());
    Ok(())
}

fn parts(version: &str) -> Result<Vec<u32>> {
    let parts = version.split('.').map(str::parse).collect::<Result<Vec<u32>, _>>();
    match parts {
        Ok(parts) if parts.len() == 3 => Ok(parts),
        _ => bail!("{version} is not a version such as 0.3.0"),
    }
}

/// A text with the new version. In manifests, only where it is that of our own packages.
fn bumped(path: &str, text: &str, old: &str, new: &str) -> Result<String> {
    let is_ours = |line: &str| match path {
        "Cargo.toml" => line.starts_with("version = ") || line.starts_with("lowland"),
        "viewer/package-lock.json" => line.starts_with("  \"version\"") || line.starts_with("      \"version\""),
        _ => true,
    };
    let mut own_package = true;
    let lines: Vec<String> = text
        .split_inclusive('\n')
        .map(|line| {
            // In the lock file, ours is the first package.
            own_package &= !line.contains("\"node_modules/");
            if is_ours(line) && own_package { line.replace(old, new) } else { line.into() }
        })
        .collect();
    let result = lines.concat();
    ensure!(result != text, "{path} does not state the version {old}");
    Ok(result)
}

/// The changelog with an empty section for a new version.
fn with_new_section(changelog: &str, new: &str) -> Result<String> {
    let at = changelog.find("\n## ").context("the changelog has no sections")? + 1;
    let newest = changelog[at..].lines().next().unwrap_or_default();
    ensure!(!newest.ends_with("Unreleased"), "{newest}: not released yet; `cargo xtask release-date` dates it");
    Ok(format!("{}## {new} - Unreleased\n\n{}", &changelog[..at], &changelog[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> String {
        fs::read_to_string(format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    #[test]
    fn every_file_states_the_current_version_and_would_state_the_next() {
        for path in FILES {
            let text = bumped(path, &read(path), env!("CARGO_PKG_VERSION"), "9.8.7").unwrap();
            assert!(text.contains("9.8.7"), "{path}");
        }
        let manifest = bumped("Cargo.toml", &read("Cargo.toml"), env!("CARGO_PKG_VERSION"), "9.8.7").unwrap();
        let published = manifest.lines().filter(|line| line.starts_with("lowland") && line.contains("version")).count();
        assert_eq!(manifest.matches("9.8.7").count(), published + 1);
        // The versions of other packages stay as they are.
        let lock = read("viewer/package-lock.json");
        let changed = bumped("viewer/package-lock.json", &lock, env!("CARGO_PKG_VERSION"), "9.8.7").unwrap();
        assert_eq!(changed.matches("9.8.7").count(), 2);
    }

    #[test]
    fn the_changelog_begins_with_the_current_version() {
        let changelog = read(CHANGELOG);
        let first = changelog.lines().find(|line| line.starts_with("## ")).unwrap();
        assert!(first.starts_with(&format!("## {} - ", env!("CARGO_PKG_VERSION"))), "{first}");
        assert!(
            with_new_section("# C\n\n## 0.2.0 - 2026-11-19\n\n- a\n", "0.3.0")
                .unwrap()
                .contains("\n## 0.3.0 - Unreleased\n\n## 0.2.0 ")
        );
        assert!(with_new_section("# C\n\n## 0.2.0 - Unreleased\n", "0.3.0").is_err());
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(parts("0.10.0").unwrap() > parts("0.9.9").unwrap());
        assert!(parts("1.0").is_err() && parts("1.0.x").is_err());
    }
}
