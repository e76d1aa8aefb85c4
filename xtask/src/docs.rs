//! Checks of the documentation: numbers that benchmarks record are stated in one place, and tables of numbers name their source.

use std::fs;
use std::path::{Path, PathBuf};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder").join("docs")
}

/// The pages of the methods and their text.
fn pages() -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(docs().join("methods")).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.map(|path| (path.clone(), fs::read_to_string(path).expect("a page"))).collect()
}

/// Growth is measured by `cargo xtask bench` and reported in docs/scoreboard.md; a copy elsewhere would go out of date.
#[test]
fn growth_exponents_are_stated_on_the_scoreboard_only() {
    assert!(fs::read_to_string(docs().join("scoreboard.md")).expect("a page").contains("exponent of CPU time"));
    for (path, text) in pages() {
        for (number, line) in text.lines().enumerate() {
            let states_exponent = line.contains("exponent of ") || line.contains("exponent 1.");
            assert!(!states_exponent, "{}:{}: refer to scoreboard.md#growth", path.display(), number + 1);
        }
    }
}

/// A table has measurements if its cells have at least this many decimal numbers.
const MEASUREMENTS: usize = 3;
/// The source of a table is named at most this many lines above it, or below it.
const LINES_ABOVE: usize = 8;
const LINES_BELOW: usize = 4;

/// Number of decimal numbers (`0.5`, `.5`) outside of code.
fn decimals(line: &str) -> usize {
    let is_decimal = |pair: &[u8]| pair[0] == b'.' && pair[1].is_ascii_digit();
    line.split('`').step_by(2).map(|text| text.as_bytes().windows(2).filter(|pair| is_decimal(pair)).count()).sum()
}

/// Whether a text refers to a record or the scoreboard, or has a date with a commit (`2026-11-16, commit 5e9bc51`).
fn names_source(text: &str) -> bool {
    let is_date = |word: &str| word.len() == 10 && word.split('-').map(str::len).eq([4, 2, 2]);
    let is_commit = |word: &str| word.len() >= 7 && word.bytes().take(7).all(|byte| byte.is_ascii_hexdigit());
    let ends_with_date =
        |text: &str| text.rsplit(|c: char| !c.is_ascii_digit() && c != '-').next().is_some_and(is_date);
    let parts: Vec<&str> = text.split(", commit ").collect();
    let has_commit = parts.windows(2).any(|pair| ends_with_date(pair[0]) && is_commit(pair[1]));
    has_commit || text.contains("bench/results/") || text.contains("scoreboard.md")
}

/// Returns the line numbers, from 1, of tables of measurements without a source near them. Tables of parameters and of formulas are none.
fn tables_without_source(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let is_row = |at: usize| lines.get(at).is_some_and(|line| line.starts_with('|'));
    let starts = (0..lines.len()).filter(|&at| is_row(at) && (at == 0 || !is_row(at - 1)));
    let lacks_source = |&start: &usize| {
        let end = (start..).find(|&at| !is_row(at)).expect("tables end");
        let is_other = lines[start].contains("Default") || lines[start].contains("Formula");
        if is_other || lines[start + 1..end].iter().map(|line| decimals(line)).sum::<usize>() < MEASUREMENTS {
            return false;
        }
        let in_section = |line: &&&str| !line.starts_with('#');
        let above = lines[..start].iter().rev().take(LINES_ABOVE).take_while(in_section);
        let below = lines[end..].iter().take(LINES_BELOW).take_while(in_section);
        let mut near: Vec<&str> = above.map(|line| line.trim()).collect();
        near.reverse();
        near.extend(below.map(|line| line.trim()));
        !names_source(&near.join(" "))
    };
    starts.filter(lacks_source).map(|start| start + 1).collect()
}

#[test]
fn tables_of_measurements_name_their_source() {
    for (path, text) in pages() {
        let found = tables_without_source(&text);
        assert!(
            found.is_empty(),
            "{}, lines {found:?}: link the record in bench/results, or add date and commit (2026-11-16, commit 5e9bc51)",
            path.display()
        );
    }
}

#[test]
fn tables_without_a_source_are_found() {
    let table = "| d | error |\n|---|---|\n| 1 | 0.5, 0.25 |\n| 2 | .125 |\n";
    assert_eq!(tables_without_source(&format!("# Page\n\nText.\n\n{table}")), [5]);
    for source in [
        "([record](../../bench/results/2026-11-18-umap.md))",
        "(2026-11-16,\ncommit 5e9bc51):",
        "2026-11-16, commit 5e9bc51",
    ] {
        assert!(tables_without_source(&format!("{source}\n\n{table}")).is_empty(), "{source}");
        // The section before is about something else.
        assert_eq!(tables_without_source(&format!("{source}\n\n## Next\n\n{table}")).len(), 1, "{source}");
    }
    for other in ["commit 5e9bc51", "2026-11-16", "16, commit 5e9bc51", "2026-11-16, commit later"] {
        assert_eq!(tables_without_source(&format!("{other}\n\n{table}")).len(), 1, "{other}");
    }
    assert!(tables_without_source(&table.replace("error", "Default")).is_empty());
}
