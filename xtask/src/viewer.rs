//! The page's script: TypeScript in `viewer/`, bundled into one file that is committed, so that a user needs no Node.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

use super::run;

const FOLDER: &str = "viewer";
/// Debian's.
const CHROMIUM: &str = "/usr/bin/chromium";

/// Bundles `viewer/src` into `crates/lowland-view/assets/page.html`.
pub fn build() -> Result<()> {
    ensure!(has("node") && has("npm"), "Node and npm are missing: {}", how_to_get("nodejs npm"));
    install()?;
    npm("build")
}

/// Type check, whether the committed page is what the sources build, unit tests, tests in a browser. What cannot be done for
/// lack of a program is said loudly, and is an error in CI.
pub fn test() -> Result<()> {
    get_missing("node", "nodejs npm")?;
    if !has("node") || !has("npm") {
        return missing("Node and npm", "nodejs npm", "the page's types, bundle and tests");
    }
    if let Err(error) = install() {
        println!("{error}");
        return missing(
            "The packages that viewer/package-lock.json names",
            "npm",
            "the page's types, bundle and tests",
        );
    }
    for task in ["types", "verify", "test"] {
        npm(task)?;
    }
    get_missing(CHROMIUM, "chromium")?;
    if !has(CHROMIUM) {
        return missing("Chromium", "chromium", "the page in a real browser");
    }
    super::cargo(&["build", "--quiet", "--package", "lowland-cli"], &[])?;
    npm("browser")
}

fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

fn has(program: &str) -> bool {
    let quiet = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

/// In CI, where it may, installs what is not there.
fn get_missing(program: &str, packages: &str) -> Result<()> {
    let root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout.trim_ascii() == b"0");
    if has(program) || !in_ci() || !root {
        return Ok(());
    }
    for arguments in ["update -qq".to_string(), format!("install -y -qq --no-install-recommends {packages}")] {
        let mut command = Command::new("apt-get");
        command.args(arguments.split(' ')).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null());
        run(command, &format!("apt-get {arguments}"))?;
    }
    Ok(())
}

fn how_to_get(packages: &str) -> String {
    format!("on Debian and Ubuntu, `sudo apt-get install {packages}`")
}

fn missing(what: &str, packages: &str, untested: &str) -> Result<()> {
    let words = format!("{what} not found, so NOT TESTED: {untested}. To test: {}", how_to_get(packages));
    ensure!(!in_ci(), "{words}");
    let line = "!".repeat(100);
    println!("{line}\n!! {words}\n{line}");
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
