//! The layers of the workspace: `crates/layers.txt` declares them, and a test checks every dependency against it.
//!
//! Crates are listed lowest first, and a crate may depend on crates listed before it. Below each crate are its modules, one
//! layer per line, lowest first: a module may use modules of its own line and of the lines before.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

const LAYERS: &str = "crates/layers.txt";

struct Crate {
    name: String,
    /// Layer of each module, counted from the lowest.
    modules: HashMap<String, usize>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder").into()
}

fn declared() -> Vec<Crate> {
    let text = fs::read_to_string(root().join(LAYERS)).expect("the declaration of the layers");
    let mut crates: Vec<Crate> = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#') && !line.is_empty()) {
        match line.strip_prefix("    ") {
            None => crates.push(Crate { name: line.trim().into(), modules: HashMap::new() }),
            Some(layer) => {
                let modules = &mut crates.last_mut().expect("a crate before its modules").modules;
                modules.extend(layer.split_whitespace().map(|module| (module.to_string(), number)));
            }
        }
    }
    crates
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// The modules that a file names right after `crate::`, with the line number; test code is left out.
fn uses(source: &str) -> Vec<(usize, String)> {
    let code = source.split("#[cfg(test)]\nmod").next().unwrap_or_default();
    let mut found = Vec::new();
    for (number, line) in code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
        for (at, _) in line.match_indices("crate::") {
            let before = line[..at].chars().next_back();
            if before.is_some_and(|c| c == '$' || c.is_alphanumeric() || c == '_') {
                continue;
            }
            let rest = &line[at + "crate::".len()..];
            let names = match rest.strip_prefix('{') {
                Some(list) => list.split('}').next().unwrap_or_default().split(',').map(str::trim).collect(),
                None => vec![rest],
            };
            let module = |name: &str| name.split(|c: char| !c.is_alphanumeric() && c != '_').next().map(str::to_string);
            found.extend(names.into_iter().filter_map(module).map(|name| (number + 1, name)));
        }
    }
    found
}

#[test]
fn modules_depend_on_lower_layers_only() {
    let mut violations = Vec::new();
    for Crate { name, modules } in declared() {
        let folder = root().join("crates").join(&name).join("src");
        for path in sources(&folder) {
            let relative = path.strip_prefix(&folder).expect("within").to_string_lossy().into_owned();
            let own = relative.split('/').next().unwrap_or_default().trim_end_matches(".rs");
            if relative.contains("test") || ["lib", "main"].contains(&own) || !relative.ends_with(".rs") {
                continue;
            }
            let Some(&layer) = modules.get(own) else {
                violations.push(format!("{name}: module {own} is not in {LAYERS}"));
                continue;
            };
            for (line, used) in uses(&fs::read_to_string(&path).expect("a source file")) {
                if modules.get(&used).is_some_and(|&other| other > layer) {
                    violations.push(format!("{name}/src/{relative}:{line}: {own} uses {used}, of a higher layer"));
                }
            }
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn crates_depend_on_crates_listed_before_them() {
    let crates = declared();
    let position = |name: &str| crates.iter().position(|known| known.name == name);
    for folder in fs::read_dir(root().join("crates")).expect("the crates").map(|entry| entry.expect("an entry").path())
    {
        if !folder.is_dir() {
            continue;
        }
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let own = position(&name).unwrap_or_else(|| panic!("{name} is not in {LAYERS}"));
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let dependencies = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        for line in dependencies.lines().filter(|line| line.starts_with("lowland")) {
            let used = line.split(['.', ' ', '=']).next().unwrap_or_default();
            let Some(other) = position(used) else { continue };
            assert!(other < own, "{name} depends on {used}, which is listed after it in {LAYERS}");
        }
    }
}

#[test]
fn uses_are_found_in_every_form() {
    let source = "use crate::data::Data;\nuse crate::{Error, run::Step};\nlet x = crate::simd::exp(1.0); // crate::a\n";
    let names: Vec<String> = uses(source).into_iter().map(|(_, name)| name).collect();
    assert_eq!(names, ["data", "Error", "run", "simd", "a"]);
    assert_eq!(uses("//! crate::higher\n#[cfg(test)]\nmod tests { use crate::higher; }"), []);
}
