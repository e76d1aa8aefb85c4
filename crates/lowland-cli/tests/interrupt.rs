//! Ctrl-C keeps the map, and the run can be resumed.
#![cfg(unix)]

mod support;

use support::folder;
use support::program::Program;

/// Large enough that the iterations take a while after the first.
const RUN: &str = "embed swiss-roll --method spectral --n-points 20000 --n-components 6 --tol 1e-9 --no-quality";

#[test]
fn ctrl_c_during_the_iterations_keeps_the_map_and_a_resumed_run_ends_with_the_same_bytes() {
    let folder = folder();
    let map = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let program = Program::start(folder.path(), &format!("{RUN} --json --out cut.csv --checkpoint run.ckpt"));
    let mut lines = program.lines();
    assert!(lines.any(|line| line.contains("\"step\"")), "no iteration was reported");
    program.interrupt();
    let rest: Vec<String> = lines.collect();
    let (code, words) = program.finish();
    assert_eq!(code, Some(130), "{words}");
    assert!(rest.iter().any(|line| line.contains("the map as it was then is kept")), "{rest:?}");
    assert_eq!(map("cut.csv").lines().count(), 20_001);

    for rest in ["--out whole.csv", "--out again.csv --resume run.ckpt"] {
        let (code, words) = Program::start(folder.path(), &format!("{RUN} -q {rest}")).finish();
        assert_eq!(code, Some(0), "{words}");
    }
    assert!(map("again.csv") == map("whole.csv"), "the resumed run ended elsewhere");
    assert!(map("cut.csv") != map("whole.csv"), "the run was over before it was stopped");
}

#[test]
fn ctrl_c_before_there_is_a_map_ends_at_once() {
    let folder = folder();
    // All pairs of forty thousand rows by a slow metric: minutes of work.
    let arguments = "neighbors swiss-roll --n-points 40000 --metric minkowski(3) --exact --out g.npz";
    let program = Program::start(folder.path(), arguments);
    let mut lines = program.messages();
    assert!(lines.any(|line| line.starts_with("memory")));
    program.interrupt();
    assert_eq!(program.wait().code(), Some(130));
    assert!(lines.any(|line| line.contains("nothing to keep") || line.contains("anything to keep")));
    assert!(!folder.path().join("g.npz").exists());
}

#[test]
fn ctrl_c_while_methods_are_compared_draws_the_maps_there_are() {
    let folder = folder();
    let run = RUN.replace("embed", "compare").replace("--method spectral", "--methods spectral,pca");
    let run = run.replace(" --no-quality", " --json --out c.png");
    let program = Program::start(folder.path(), &run);
    let mut lines = program.lines();
    assert!(lines.any(|line| line.contains("\"step\"")), "no iteration was reported");
    program.interrupt();
    let last = lines.find(|line| line.contains("\"comparison\"")).expect("the maps there are");
    assert!(last.contains("\"spectral\"") && !last.contains("\"pca\""), "{last}");
    assert_eq!(program.wait().code(), Some(130));
    assert!(folder.path().join("c.png").exists());
}
