//! Running the command as scripts do.

// Each file of tests uses some of these.
#![allow(dead_code)]

pub mod program;

use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use tempfile::TempDir;

pub fn lowland(folder: &Path, arguments: &[&str]) -> Output {
    let output = Command::cargo_bin("lowland")
        .expect("the binary is built with the tests")
        .current_dir(folder)
        .args(arguments)
        .timeout(program::TIMEOUT)
        .output()
        .expect("it runs");
    assert_ne!(output.status.code(), Some(101), "a panic: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Runs, expects success, gives stdout.
pub fn good(folder: &Path, arguments: &[&str]) -> String {
    let output = lowland(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Runs, expects this exit code, gives stderr.
pub fn bad(folder: &Path, code: i32, arguments: &[&str]) -> String {
    let output = lowland(folder, arguments);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
    stderr
}

pub fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

pub fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).expect("a writable folder");
}

/// A table of 40 rows with a header, two classes and names.
pub fn small_table() -> String {
    let rows = (0..40).map(|i| {
        let (x, class) = (f64::from(i) * 0.1, if i % 2 == 0 { "even" } else { "odd" });
        format!("r{i},{x},{},{},{class}\n", (x * 3.0).sin(), f64::from(i % 2) * 5.0)
    });
    format!("name,a,b,c,kind\n{}", rows.collect::<String>())
}
