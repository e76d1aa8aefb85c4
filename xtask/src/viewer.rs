//! The page's script: TypeScript in `viewer/`, bundled into one file that is committed, so that a user needs no Node.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

use super::run;

const FOLDER: &str = "viewer";
/// Debian's.
const CHROMIUM: &str = "/usr/bin/chromium";
/// What the tests need besides cargo, as Debian names it.
const NODE_PACKAGES: &str = "nodejs npm";
const CHROMIUM_PACKAGE: &str = "chromium";

/// Bundles `viewer/src` into `crates/lowland-view/assets/page.html`.
pub fn build() -> Result<()> {
    ensure!(has("node") && has("npm"), "Node and npm are missing: {}", how_to_get(NODE_PACKAGES));
    install()?;
    npm("build")
}

/// Type check, whether the committed page is what the sources build, unit tests, tests in a browser. What cannot be done for
/// lack of a program is said loudly; in CI it is an error, or nobody would notice that nothing is tested any more.
pub fn test() -> Result<()> {
    get_in_ci("node", NODE_PACKAGES);
    let untested = "the page's types, bundle and tests";
    if !has("node") || !has("npm") {
        return go_on_without("Node and npm are", NODE_PACKAGES, untested);
    }
    if let Err(error) = install() {
        println!("{error}");
        return go_on_without("The packages of viewer/package-lock.json are", NODE_PACKAGES, untested);
    }
    for task in ["types", "verify", "test"] {
        npm(task)?;
    }
    get_in_ci(CHROMIUM, CHROMIUM_PACKAGE);
    if !has(CHROMIUM) {
        return go_on_without("Chromium is", CHROMIUM_PACKAGE, "the page in a real browser");
    }
    super::cargo(&["build", "--quiet", "--package", "lowland-cli"], &[])?;
    npm("browser")
}

fn has(program: &str) -> bool {
    let quiet = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

/// In CI, where it may, installs what is not there.
fn get_in_ci(program: &str, packages: &str) {
    let is_root = || Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout.trim_ascii() == b"0");
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

fn how_to_get(packages: &str) -> String {
    format!("on Debian and Ubuntu, `sudo apt-get install {packages}`")
}

/// Says loudly what is not tested; an error in CI.
pub fn go_on_without(what: &str, packages: &str, untested: &str) -> Result<()> {
    ensure!(!in_ci(), "{what} not there, so {untested} cannot be tested: {}", how_to_get(packages));
    let line = "!".repeat(100);
    println!(
        "{line}\n!! {what} not there, so NOT TESTED: {untested}.\n!! To test it: {}\n{line}",
        how_to_get(packages)
    );
    Ok(())
}

/// Exactly what the lock file names, when it has changed since it was last put in place.
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
