//! Fuzzing: every reader of untrusted bytes under AddressSanitizer. Needs a nightly compiler and `cargo install cargo-fuzz`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::run;

/// A folder of inputs per target.
const CORPUS: &str = "fuzz/corpus";
/// The binary of all targets, and the environment variable that selects one.
const BINARY: &str = "entry_points";
const SELECTION: &str = "LOWLAND_FUZZ_TARGET";
/// Inputs that the fuzzer finds, which git ignores; `CORPUS` holds the few that tests replay.
const FOUND: &str = "target/fuzz/found";
/// Largest input, in bytes: the largest of the corpus is a third of it.
const MAX_LENGTH: usize = 64 << 10;
/// Largest memory of the process and of one allocation. Reading is limited to 4 MiB, AddressSanitizer needs the rest.
const MAX_MEMORY_MIB: usize = 2048;
const MAX_ALLOCATION_MIB: usize = 256;
/// Time that one input may take, in seconds.
const MAX_SECONDS: usize = 25;

/// Runs `runs` inputs through each of the targets, or through all, each for at most `seconds` (0: without a limit).
pub fn fuzz(targets: &[String], runs: usize, seconds: usize) -> Result<()> {
    let all = targets_of(Path::new(CORPUS))?;
    for target in targets {
        ensure!(all.contains(target), "there is no target {target}; the targets are {}", all.join(", "));
    }
    for target in if targets.is_empty() { &all } else { targets } {
        let found = Path::new(FOUND).join(target);
        fs::create_dir_all(&found).with_context(|| found.display().to_string())?;
        let mut command = Command::new("cargo");
        command.args(["+nightly", "fuzz", "run", "--target-dir", "target/fuzz", BINARY]).arg(&found);
        command.arg(Path::new(CORPUS).join(target)).arg("--").args([
            format!("-runs={runs}"),
            format!("-max_total_time={seconds}"),
            format!("-artifact_prefix={}/crash-of-{target}-", FOUND),
            "-print_final_stats=1".into(),
            format!("-max_len={MAX_LENGTH}"),
            format!("-rss_limit_mb={MAX_MEMORY_MIB}"),
            format!("-malloc_limit_mb={MAX_ALLOCATION_MIB}"),
            format!("-timeout={MAX_SECONDS}"),
            // The thread pools that live as long as the process are not leaks.
            "-detect_leaks=0".into(),
        ]);
        command.env(SELECTION, target);
        // One thread: libFuzzer counts what the thread that runs the input covers.
        command.env("RAYON_NUM_THREADS", "1");
        run(command, &format!("cargo fuzz run {target}"))?;
    }
    Ok(())
}

/// Names of the targets: the folders of the corpus.
fn targets_of(corpus: &Path) -> Result<Vec<String>> {
    let folders = fs::read_dir(corpus).with_context(|| corpus.display().to_string())?;
    let mut names: Vec<String> =
        folders.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect::<Result<_>>()?;
    names.sort();
    Ok(names)
}
