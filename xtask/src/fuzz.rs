//! Fuzzing: every reader of untrusted bytes under AddressSanitizer. Needs a nightly compiler and `cargo install cargo-fuzz`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::run;

const FOLDER: &str = "fuzz";
/// Inputs that the fuzzer finds, which git ignores; `fuzz/corpus` holds the few that tests replay.
const FOUND: &str = "target/fuzz/found";
/// Largest input, in bytes: the largest of the corpus is a third of it.
const MAX_LENGTH: usize = 64 << 10;
/// Largest memory of the process and of one allocation. Reading is limited to 4 MiB, AddressSanitizer needs the rest.
const MAX_MEMORY_MIB: usize = 2048;
const MAX_ALLOCATION_MIB: usize = 256;
/// Time that one input may take, in seconds.
const MAX_SECONDS: usize = 25;

/// Runs `runs` inputs through each of the targets, or through all.
pub fn fuzz(targets: &[String], runs: usize) -> Result<()> {
    let all = targets_of(&fs::read_to_string(Path::new(FOLDER).join("Cargo.toml"))?);
    for target in targets {
        ensure!(all.contains(target), "there is no target {target}; the targets are {}", all.join(", "));
    }
    for target in if targets.is_empty() { &all } else { targets } {
        let found = Path::new(FOUND).join(target);
        fs::create_dir_all(&found).with_context(|| found.display().to_string())?;
        let mut command = Command::new("cargo");
        command.args(["+nightly", "fuzz", "run", "--target-dir", "target/fuzz", target]).arg(&found);
        command.arg(Path::new(FOLDER).join("corpus").join(target)).arg("--").args([
            format!("-runs={runs}"),
            format!("-max_len={MAX_LENGTH}"),
            format!("-rss_limit_mb={MAX_MEMORY_MIB}"),
            format!("-malloc_limit_mb={MAX_ALLOCATION_MIB}"),
            format!("-timeout={MAX_SECONDS}"),
            // The thread pools that live as long as the process are not leaks.
            "-detect_leaks=0".into(),
        ]);
        // One thread: libFuzzer counts what the thread that runs the input covers.
        command.env("RAYON_NUM_THREADS", "1");
        run(command, &format!("cargo fuzz run {target}"))?;
    }
    Ok(())
}

/// Names of the targets in the manifest.
fn targets_of(manifest: &str) -> Vec<String> {
    let bins = manifest.split("[[bin]]").skip(1);
    bins.filter_map(|bin| Some(bin.split("name = \"").nth(1)?.split('"').next()?.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_targets_are_the_binaries_of_the_manifest() {
        let manifest = "[package]\nname = \"x\"\n[[bin]]\nname = \"a\"\n[[bin]]\npath = \"p\"\nname = \"b\"\n";
        assert_eq!(targets_of(manifest), ["a", "b"]);
    }
}
