//! Ctrl-C keeps the map.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

#[test]
fn ctrl_c_during_the_iterations_keeps_the_map_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    // Unreachable tolerance: the run would go on for a long time.
    let arguments = "embed swiss-roll --n-points 4000 --tol 0 --max-iter 1000000 --json --out map.csv --no-quality";
    let mut child = Command::new(env!("CARGO_BIN_EXE_lowland"))
        .args(arguments.split(' '))
        .current_dir(folder.path())
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
    let map = std::fs::read_to_string(folder.path().join("map.csv")).unwrap();
    assert_eq!(map.lines().count(), 4001);
}
