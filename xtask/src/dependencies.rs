//! Checks of dependencies: those that a crate declares are used, and those that are written down are there.

use std::fs;
use std::path::{Path, PathBuf};

/// Declared for their features, as `crates/lowland-io/Cargo.toml` explains.
const FOR_FEATURES: [(&str, &str); 3] = [("lowland-io", "libc"), ("lowland-io", "once_cell"), ("lowland-io", "rustix")];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder").into()
}

/// Adds all Rust source of a folder.
fn collect(path: &Path, text: &mut String) {
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a folder") {
            collect(&entry.expect("an entry").path(), text);
        }
    } else if path.extension().is_some_and(|ending| ending == "rs") {
        text.push_str(&fs::read_to_string(path).expect("source"));
    }
}

/// Names of the dependencies in a manifest.
fn dependencies(manifest: &str) -> Vec<String> {
    let (mut names, mut inside) = (Vec::new(), false);
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]");
        } else if inside && line.starts_with(|first: char| first.is_ascii_alphabetic()) {
            let name: String =
                line.chars().take_while(|letter| letter.is_ascii_alphanumeric() || "-_".contains(*letter)).collect();
            names.push(name);
        }
    }
    names
}

#[test]
fn every_dependency_is_used() {
    let mut folders: Vec<PathBuf> =
        fs::read_dir(root().join("crates")).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    folders.extend([root().join("xtask"), root().join("bench")]);
    for folder in folders.iter().filter(|folder| folder.join("Cargo.toml").exists()) {
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let mut text = String::new();
        collect(folder, &mut text);
        for dependency in dependencies(&manifest) {
            let identifier = dependency.replace('-', "_");
            let is_used =
                [format!("{identifier}::"), format!("use {identifier}")].iter().any(|word| text.contains(word));
            let is_exception = FOR_FEATURES.contains(&(name.as_str(), dependency.as_str()));
            assert!(is_used || is_exception, "{name} does not use {dependency}: delete it from its Cargo.toml");
        }
    }
}

#[test]
fn every_dependency_of_a_manifest_is_found() {
    let manifest = "[package]\nname = \"a\"\n[dependencies]\nb.workspace = true\nc-d = { version = \"1\", features = [\n    \"e\",\n] }\n[dev-dependencies]\nf = \"1\"\n";
    assert_eq!(dependencies(manifest), ["b", "c-d", "f"]);
}

/// Names of the features in a manifest.
fn features(manifest: &str) -> Vec<&str> {
    let section = manifest.split("\n[features]\n").nth(1).unwrap_or_default().split("\n[").next().unwrap_or_default();
    section
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name.trim())
        .filter(|name| *name != "default")
        .collect()
}

#[test]
fn every_feature_of_a_published_crate_is_in_its_readme() {
    let mut count = 0;
    for entry in fs::read_dir(root().join("crates")).expect("a folder") {
        let folder = entry.expect("an entry").path();
        let Ok(manifest) = fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        if manifest.contains("\npublish = false\n") {
            continue;
        }
        let readme = fs::read_to_string(folder.join("README.md")).expect("a published crate has a README");
        for feature in features(&manifest).iter().filter(|feature| !feature.starts_with('#')) {
            assert!(readme.contains(&format!("`{feature}`")), "{}: feature {feature}", folder.display());
            count += 1;
        }
    }
    assert!(count >= 4, "{count} features");
}

#[test]
fn no_dependency_asks_for_a_newer_rust_than_ours() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    let ours = manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).expect("a version");
    let parse = |text: &str| -> Vec<u32> { text.split('.').map(|part| part.parse().expect("a number")).collect() };
    let ours = parse(ours.trim_matches('"'));
    let metadata = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--quiet", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo starts");
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let text = String::from_utf8(metadata.stdout).expect("text");
    let (mut packages, mut path) = (0, "");
    for (index, part) in text.split("\"rust_version\":").enumerate() {
        if let Some(version) = part.strip_prefix('"').filter(|_| index > 0) {
            let version = version.split('"').next().expect("a version");
            assert!(parse(version) <= ours, "{path} asks for Rust {version}");
            packages += 1;
        }
        // The path of a package is before its version of Rust.
        path = part.rsplit("\"manifest_path\":\"").next().and_then(|rest| rest.split('"').next()).unwrap_or_default();
    }
    assert!(packages > 50, "{packages} packages name a version of Rust");
}
