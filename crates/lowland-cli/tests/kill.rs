//! `kill -9` at any moment: every file is the old one or a complete new one, and the checkpoint resumes to the same bytes.

mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use lowland::Seed;
use lowland::registry::METHODS;
use lowland::run::{Archive, ArchiveKind};
use support::program::Program;
use support::{small_table, write};

/// The files of a run, and what they contain before it.
const OUTPUTS: [&str; 3] = ["map.csv", "map.png", "model.lowland"];
const OLD: &[u8] = b"old";
const CHECKPOINT: &str = "run.ckpt";
/// Time after which a complete run has failed.
const MAX_RUN_TIME: Duration = Duration::from_secs(60);

/// A folder in memory where there is one: the checkpoints of thousands of iterations need not reach a disk.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

fn arguments(method: &str, rest: &str) -> String {
    let iterations = METHODS.iter().find(|info| info.name == method).expect("a method").params();
    let iterations = iterations.iter().any(|spec| spec.name == "max_iter");
    let max_iter = if iterations { " --max-iter 30" } else { "" };
    format!(
        "embed t.csv --label-column kind --id-column name --method {method}{max_iter} -q --no-quality --threads 1 \
         --checkpoint {CHECKPOINT} --checkpoint-every 0 --out map.csv --out map.png --save model.lowland{rest}"
    )
}

/// Files of a complete run, and how long it took.
fn complete_run(method: &str) -> ([Vec<u8>; 3], Duration) {
    let folder = folder();
    write(folder.path(), "t.csv", &small_table());
    let started = Instant::now();
    let program = Program::start(folder.path(), &arguments(method, ""));
    // The end of the process is noticed late; its last file is not.
    while OUTPUTS.iter().any(|name| !folder.path().join(name).exists()) && started.elapsed() < MAX_RUN_TIME {
        std::thread::sleep(Duration::from_millis(1));
    }
    let time = started.elapsed();
    let (code, words) = program.finish();
    assert_eq!(code, Some(0), "{method}: {words}");
    (OUTPUTS.map(|name| std::fs::read(folder.path().join(name)).unwrap()), time)
}

/// Kills runs of a method at `count` moments between their start and their end. Returns how many had left a checkpoint, and how
/// many had written an output.
fn kill_at_random_moments(method: &str, count: usize) -> (usize, usize) {
    let (complete, time) = complete_run(method);
    let (mut resumed, mut written) = (0, 0);
    for trial in 0..count {
        let folder = folder();
        write(folder.path(), "t.csv", &small_table());
        for name in OUTPUTS {
            std::fs::write(folder.path().join(name), OLD).unwrap();
        }
        let program = Program::start(folder.path(), &arguments(method, ""));
        // Evenly spaced moments, each moved at random by up to one space; a few are after the end.
        let jitter = (Seed(7).item(trial).0 >> 11) as f64 / (1u64 << 53) as f64;
        std::thread::sleep(time.mul_f64(1.1 * (trial as f64 + jitter) / count as f64));
        program.kill();
        program.wait();
        let check = |when: &str, may_be_old: bool| {
            for (name, complete) in OUTPUTS.iter().zip(&complete) {
                let found = std::fs::read(folder.path().join(name)).unwrap();
                let is_old = may_be_old && found == OLD;
                assert!(
                    is_old || found == *complete,
                    "{method}, trial {trial}, {when}: {name} is neither old nor complete"
                );
            }
        };
        check("after the kill", true);
        written += usize::from(std::fs::read(folder.path().join(OUTPUTS[0])).unwrap() != OLD);
        let Ok(bytes) = std::fs::read(folder.path().join(CHECKPOINT)) else { continue };
        Archive::from_bytes(&bytes, ArchiveKind::Checkpoint).unwrap_or_else(|error| panic!("{method}: {error}"));
        let (code, words) =
            Program::start(folder.path(), &arguments(method, &format!(" --resume {CHECKPOINT}"))).finish();
        assert_eq!(code, Some(0), "{method}, trial {trial}: {words}");
        check("after the resumed run", false);
        resumed += 1;
    }
    (resumed, written)
}

#[test]
fn fifty_kills_of_tsne_leave_old_or_complete_files_and_checkpoints_that_resume() {
    let (resumed, written) = kill_at_random_moments("tsne", 50);
    assert!(resumed > 0 && written < 50, "{resumed} runs were killed during their iterations, {written} after them");
}

#[test]
fn fifty_kills_of_lvm_leave_old_or_complete_files_and_checkpoints_that_resume() {
    let (resumed, written) = kill_at_random_moments("lvm", 50);
    assert!(resumed > 0 && written < 50, "{resumed} runs were killed during their iterations, {written} after them");
}

#[test]
#[ignore = "minutes: cargo xtask test --extended"]
#[allow(clippy::print_stderr)]
fn a_hundred_kills_of_every_method_leave_old_or_complete_files_and_checkpoints_that_resume() {
    for info in METHODS {
        let (resumed, written) = kill_at_random_moments(info.name, 100);
        eprintln!("{}: 100 kills, {resumed} resumed, {written} after the map was written", info.name);
    }
}
