//! The script of the interactive page: TypeScript in `viewer/`, bundled into a committed file so that users need no Node.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

use super::run;

const FOLDER: &str = "viewer";
/// Path of the browser on Debian.
const CHROMIUM: &str = "/usr/bin/chromium";
/// Debian packages that the tests need.
const NODE_PACKAGES: &str = "nodejs npm";
const CHROMIUM_PACKAGE: &str = "chromium";

/// Bundles `viewer/src` into `crates/lowland-view/assets/page.html`.
pub fn build() -> Result<()> {
    ensure!(has("node") && has("npm"), "Node and npm are missing: {}", install_hint(NODE_PACKAGES));
    install()?;
    npm("build")
}

/// Checks types, that the committed page is up to date, and runs unit tests and tests in a browser. If a program is missing, a
/// warning says what is not tested; in CI this is an error.
pub fn test() -> Result<()> {
    install_in_ci("node", NODE_PACKAGES);
    let untested = "the page's types, bundle and tests";
    if !has("node") || !has("npm") {
        return skip_or_fail("Node and npm are", NODE_PACKAGES, untested);
    }
    if let Err(error) = install() {
        println!("{error}");
        return skip_or_fail("The packages of viewer/package-lock.json are", NODE_PACKAGES, untested);
    }
    for task in ["types", "verify", "test"] {
        npm(task)?;
    }
    install_in_ci(CHROMIUM, CHROMIUM_PACKAGE);
    if !has(CHROMIUM) {
        return skip_or_fail("Chromium is", CHROMIUM_PACKAGE, "the page in a real browser");
    }
    super::cargo(&["build", "--quiet", "--package", "lowland-cli"], &[])?;
    npm("browser")
}

/// Whether a program can be started.
pub fn has(program: &str) -> bool {
    let quiet = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

/// Whether the user may do everything.
pub fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}

/// Installs missing packages in CI, if run as root.
pub fn install_in_ci(program: &str, packages: &str) {
    if has(program) || !in_ci() || !is_root() {
        return;
    }
    for arguments in ["update -qq".to_string(), format!("install -y -qq --no-install-recommends {packages}")] {
        let mut command = Command::new("apt-get");
        command.args(arguments.split(' ')).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null());
        if let Err(error) = run(command, &format!("apt-get {arguments}")) {
            println!("{error}");
        }
    }
}

fn install_hint(packages: &str) -> String {
    format!("on Debian and Ubuntu, `sudo apt-get install {packages}`")
}

/// Warns about what is not tested; fails in CI.
pub fn skip_or_fail(what: &str, packages: &str, untested: &str) -> Result<()> {
    ensure!(!in_ci(), "{what} not there, so {untested} cannot be tested: {}", install_hint(packages));
    let line = "!".repeat(100);
    println!(
        "{line}\n!! {what} not there, so NOT TESTED: {untested}.\n!! To test it: {}\n{line}",
        install_hint(packages)
    );
    Ok(())
}

/// Installs the packages of the lock file, if it changed since the last installation.
fn install() -> Result<()> {
    let age = |path: &str| Path::new(FOLDER).join(path).metadata().and_then(|file| file.modified()).ok();
    let (wanted, there) = (age("package-lock.json"), age("node_modules/.package-lock.json"));
    if there.is_some() && there >= wanted {
        return Ok(());
    }
    let mut command = Command::new("npm");
    command.args(["ci", "--no-audit", "--no-fund", "--loglevel", "error"]).current_dir(FOLDER);
    run(command, "npm ci")
}

fn npm(task: &str) -> Result<()> {
    let mut command = Command::new("npm");
    command.args(["run", "--silent", task]).current_dir(FOLDER);
    run(command, &format!("npm run {task}"))
}
