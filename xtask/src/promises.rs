//! `docs/promises.md` names, for every promise of the README, tests that exist.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder").into()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Parts of a line that are in backquotes.
fn quoted(line: &str) -> Vec<&str> {
    line.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_promise_of_the_readme_has_a_test() {
    let (readme, page) = (read("README.md"), read("docs/promises.md"));
    let section = readme.split("## What you can rely on").nth(1).expect("the section of promises");
    let section = section.split("\n## ").next().expect("the text of the section");
    let promises: Vec<&str> = section.lines().filter_map(|line| line.strip_prefix("- ")).collect();
    assert!(!promises.is_empty());
    for promise in promises {
        let rest = page.split(&format!("\n## {promise}\n")).nth(1);
        let rest = rest.unwrap_or_else(|| panic!("docs/promises.md has no heading '{promise}'"));
        let tests = rest.split("\n## ").next().expect("the text of the section");
        assert!(tests.lines().any(|line| line.starts_with("| `")), "no test for '{promise}'");
    }
}

#[test]
fn every_test_named_for_a_promise_exists() {
    let page = read("docs/promises.md");
    let rows = page.lines().filter(|line| line.starts_with('|') && line.contains('`'));
    for row in rows {
        let names = quoted(row);
        let [.., test, file] = names[..] else { panic!("a row without a test and its file: {row}") };
        let source = read(file);
        let found = ["fn", "def"].iter().any(|keyword| source.contains(&format!("{keyword} {test}(")));
        assert!(found, "{file} has no test {test}");
    }
}

#[test]
fn every_check_named_for_a_promise_runs_for_every_method() {
    let (page, suite) = (read("docs/promises.md"), read("crates/lowland-testkit/src/lib.rs"));
    for row in page.lines().filter(|line| line.contains("testkit/src/checks.rs`")) {
        let test = quoted(row)[0];
        assert!(suite.contains(&format!("{test},")), "{test} is not in method_suite!");
    }
}
