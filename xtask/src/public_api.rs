//! The public API of the crate `lowland`, as a file: a change of it shows in a review, and decides the next version.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::dist::output_of;
use crate::run;
use crate::viewer::has;

const RECORD: &str = "crates/lowland/public-api.txt";
const VERSION: &str = "0.52.0";
/// Build scripts run again if the variable for unstable features changes, and with them all that depends on them.
const FOLDER: &str = "target/public-api";

/// Writes the record; or fails if it is not up to date.
pub fn record(check: bool) -> Result<()> {
    ensure!(has("cargo-public-api"), "cargo-public-api is missing: cargo install --locked cargo-public-api@{VERSION}");
    let mut rustdoc = Command::new(env!("CARGO"));
    // The only unstable feature that is used, and not by what is built: the format of the documentation.
    rustdoc.args(["rustdoc", "--quiet", "--package", "lowland", "--lib", "--", "-Zunstable-options"]);
    rustdoc
        .args(["--output-format", "json", "--cap-lints", "allow"])
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_DIR", FOLDER);
    run(rustdoc, "cargo rustdoc --output-format json")?;
    let documentation = format!("{FOLDER}/doc/lowland.json");
    let mut list = Command::new("cargo-public-api");
    list.args(["public-api", "-sss", "--rustdoc-json", &documentation]);
    let list = output_of(&mut list)?;
    if !check {
        fs::write(RECORD, list)?;
        return Ok(());
    }
    let recorded = fs::read_to_string(RECORD).context(RECORD)?;
    let missing = |these: &str, others: &str, sign: &str| -> String {
        let lines = these.lines().filter(|line| !others.lines().any(|other| other == *line));
        lines.map(|line| format!("{sign} {line}\n")).collect()
    };
    let changes = missing(&recorded, &list, "-") + &missing(&list, &recorded, "+");
    ensure!(changes.is_empty(), "{RECORD} is out of date, `cargo xtask public-api` writes it:\n{changes}");
    Ok(())
}
