//! The licenses of the crates and fonts that a program contains, as one text for those who receive it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// The license of the fonts in `assets/fonts` of our crates: its SPDX identifier and its title.
const FONT_LICENSE: (&str, &str) = ("OFL-1.1", "SIL OPEN FONT LICENSE Version 1.1");

/// A crate or font of another project.
struct ForeignWork {
    /// With the version of a crate.
    name: String,
    license: String,
    texts: Vec<String>,
}

/// Returns the licenses of everything that `package` is linked with for a target, and of embedded fonts.
pub fn third_party(package: &str, target: &str) -> Result<String> {
    let document = metadata(target)?;
    let linked = linked(&document, package)?;
    let mut works = Vec::new();
    for about in document["packages"].as_array().context("cargo metadata lists packages")? {
        if !linked.contains(text(about, "id")) {
            continue;
        }
        let folder = Path::new(text(about, "manifest_path")).parent().context("a folder")?;
        if about["source"].is_null() {
            works.extend(fonts(&folder.join("assets/fonts"))?);
            continue;
        }
        works.push(ForeignWork {
            name: format!("{} {}", text(about, "name"), text(about, "version")),
            license: about["license"].as_str().unwrap_or("see the text").into(),
            texts: license_texts(folder)?,
        });
    }
    ensure!(!works.is_empty(), "{package} is linked with no other crates?");
    Ok(render(works))
}

fn metadata(target: &str) -> Result<Value> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", target]);
    let output = command.output().context("cannot start cargo")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Ids of the packages that `package` depends on, without those of build scripts and tests.
fn linked(document: &Value, package: &str) -> Result<BTreeSet<String>> {
    let packages = document["packages"].as_array().context("cargo metadata lists packages")?;
    let start = packages.iter().find(|about| about["name"] == package && about["source"].is_null());
    let start = text(start.with_context(|| format!("there is no package {package}"))?, "id");
    let nodes = document["resolve"]["nodes"].as_array().context("cargo metadata resolves dependencies")?;
    let nodes: BTreeMap<&str, &Value> = nodes.iter().map(|node| (text(node, "id"), node)).collect();
    let (mut found, mut open) = (BTreeSet::new(), vec![start]);
    while let Some(id) = open.pop() {
        if !found.insert(id.to_string()) {
            continue;
        }
        for dependency in nodes[id]["deps"].as_array().into_iter().flatten() {
            let kinds = dependency["dep_kinds"].as_array();
            if kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null())) {
                open.push(text(dependency, "pkg"));
            }
        }
    }
    Ok(found)
}

/// The texts of the license files of a crate, sorted by name.
fn license_texts(folder: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let is_license =
            ["LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT"].iter().any(|word| name.starts_with(word));
        if is_license && entry.file_type()?.is_file() {
            files.push(entry.path());
        }
    }
    files.sort();
    let read = |path| Ok(String::from_utf8_lossy(&fs::read(path)?).replace("\r\n", "\n").trim().to_string());
    files.into_iter().map(read).collect()
}

/// The fonts of a folder, if there is one: `NAME-LICENSE.txt` is the license of the fonts `NAME-*.ttf`.
fn fonts(folder: &Path) -> Result<Vec<ForeignWork>> {
    let mut found = Vec::new();
    if !folder.exists() {
        return Ok(found);
    }
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(name) = file.strip_suffix("-LICENSE.txt") else {
            continue;
        };
        let text = fs::read_to_string(&path)?.replace("\r\n", "\n").trim().to_string();
        let (license, title) = FONT_LICENSE;
        ensure!(text.contains(title), "{} is not {license}", path.display());
        found.push(ForeignWork { name: format!("font {name}"), license: license.into(), texts: vec![text] });
    }
    Ok(found)
}

/// Each text once, with the crates and fonts that it belongs to.
fn render(mut works: Vec<ForeignWork>) -> String {
    works.sort_by(|a, b| a.name.cmp(&b.name));
    let mut text = String::from("lowland contains these crates and fonts, each under its own license.\n\n");
    for work in &works {
        text.push_str(&format!("  {}  {}\n", work.name, work.license));
    }
    let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for work in &works {
        for license in &work.texts {
            users.entry(license).or_default().push(&work.name);
        }
    }
    let mut sections: Vec<(Vec<&str>, &str)> = users.into_iter().map(|(license, users)| (users, license)).collect();
    sections.sort();
    for (users, license) in sections {
        let line = "=".repeat(80);
        text.push_str(&format!("\n{line}\n{}\n{line}\n\n{license}\n", users.join(", ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn other(name: &str, texts: &[&str]) -> ForeignWork {
        let texts = texts.iter().map(ToString::to_string).collect();
        ForeignWork { name: format!("{name} 1.0.0"), license: "MIT".into(), texts }
    }

    #[test]
    fn a_text_that_crates_share_is_there_once_with_their_names() {
        let text = render(vec![other("b", &["MIT text"]), other("a", &["MIT text", "a notice"])]);
        assert_eq!(text.matches("MIT text").count(), 1);
        assert!(text.contains("a 1.0.0, b 1.0.0\n===") && text.contains("a notice"), "{text}");
        assert!(text.contains("  a 1.0.0  MIT\n  b 1.0.0  MIT\n"), "{text}");
    }

    #[test]
    fn every_embedded_font_is_named_with_its_license() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/lowland-view/assets/fonts");
        let text = render(fonts(&folder).unwrap());
        for entry in fs::read_dir(&folder).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            if let Some((name, _)) = file.strip_suffix(".ttf").and_then(|stem| stem.split_once('-')) {
                assert!(text.contains(&format!("  font {name}  OFL-1.1\n")), "{file}: {name}-LICENSE.txt is missing");
            }
        }
        assert_eq!(text.matches(FONT_LICENSE.1).count(), 3, "each has a copyright of its own");
    }

    #[test]
    fn crates_of_tests_and_build_scripts_are_not_linked() {
        let document = serde_json::json!({
            "packages": [{ "id": "us", "name": "us", "source": null }],
            "resolve": { "nodes": [
                { "id": "us", "deps": [
                    { "pkg": "used", "dep_kinds": [{ "kind": null }] },
                    { "pkg": "tester", "dep_kinds": [{ "kind": "dev" }] },
                    { "pkg": "builder", "dep_kinds": [{ "kind": "build" }] },
                ]},
                { "id": "used", "deps": [] },
            ]},
        });
        assert_eq!(linked(&document, "us").unwrap(), BTreeSet::from(["us".into(), "used".into()]));
    }
}
