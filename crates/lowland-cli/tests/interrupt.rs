//! Ctrl-C keeps the map, and the run can be resumed.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

/// Large enough that the iterations take a while after the first.
const RUN: &str = "embed swiss-roll --method spectral --n-points 20000 --n-components 6 --tol 1e-9 --no-quality";

fn lowland(folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lowland"));
    command.args(arguments.split(' ')).current_dir(folder);
    command
}

#[test]
fn ctrl_c_during_the_iterations_keeps_the_map_and_a_resumed_run_ends_with_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let map = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let mut child = lowland(folder.path(), &format!("{RUN} --json --out cut.csv --checkpoint run.ckpt"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let step = lines.by_ref().map(Result::unwrap).find(|line| line.contains("\"step\""));
    assert!(step.is_some(), "no iteration was reported");
    // SAFETY: signals our own child, which is still running.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    let status = child.wait().unwrap();
    let mut words = String::new();
    child.stderr.take().unwrap().read_to_string(&mut words).unwrap();
    assert_eq!(status.code(), Some(130), "{words}");
    assert!(rest.iter().any(|line| line.contains("the map as it was then is kept")), "{rest:?}");
    assert_eq!(map("cut.csv").lines().count(), 20_001);

    assert!(lowland(folder.path(), &format!("{RUN} -q --out whole.csv")).status().unwrap().success());
    assert!(lowland(folder.path(), &format!("{RUN} -q --out again.csv --resume run.ckpt")).status().unwrap().success());
    assert!(map("again.csv") == map("whole.csv"), "the resumed run ended elsewhere");
    assert!(map("cut.csv") != map("whole.csv"), "the run was over before it was stopped");
}

#[test]
fn ctrl_c_before_there_is_a_map_ends_at_once() {
    let folder = tempfile::tempdir().unwrap();
    // All pairs of forty thousand rows by a slow metric: minutes of work.
    let arguments = "neighbors swiss-roll --n-points 40000 --metric minkowski(3) --exact --out g.npz";
    let mut child = lowland(folder.path(), arguments).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.starts_with("memory")));
    // SAFETY: signals our own child, which is still running.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(lines.any(|line| line.contains("nothing to keep") || line.contains("anything to keep")));
    assert!(!folder.path().join("g.npz").exists());
}

#[test]
fn ctrl_c_while_methods_are_compared_draws_the_maps_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let run = RUN.replace("embed", "compare").replace("--method spectral", "--methods spectral,pca");
    let run = run.replace(" --no-quality", " --json --out c.png");
    let mut child = lowland(folder.path(), &run).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("\"step\"")), "no iteration was reported");
    // SAFETY: signals our own child, which is still running.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let last = lines.find(|line| line.contains("\"comparison\"")).expect("the maps there are");
    assert!(last.contains("\"spectral\"") && !last.contains("\"pca\""), "{last}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(folder.path().join("c.png").exists());
}
