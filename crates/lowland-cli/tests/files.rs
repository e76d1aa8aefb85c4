//! What is promised about files and streams: any name, nothing lost silently, old file or new file.
#![cfg(unix)]

mod support;

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use lowland::Metric;
use lowland::neighbors::NeighborGraph;
use support::{bad, folder, good, small_table, write};

const BIN: &str = env!("CARGO_BIN_EXE_lowland");
const COLUMNS: [&str; 4] = ["--label-column", "kind", "--id-column", "name"];

fn names(folder: &Path) -> Vec<OsString> {
    let mut names: Vec<OsString> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

/// Runs a line of shell, with `lowland` as `$0`.
fn shell(folder: &Path, line: &str) -> Output {
    Command::new("sh").args(["-c", line, BIN]).current_dir(folder).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn paths_need_not_be_utf_8_and_other_arguments_that_are_not_give_an_error() {
    let folder = folder();
    let name = |bytes| OsStr::from_bytes(bytes).to_owned();
    let (data, map, model) = (name(b"d\xff.csv"), name(b"m\xff.csv"), name(b"s\xff.lowland"));
    std::fs::write(folder.path().join(&data), small_table()).unwrap();
    let run = |arguments: &[&OsStr]| Command::new(BIN).current_dir(folder.path()).args(arguments).output().unwrap();
    let [embed, method, pca, out, save, quality, transform] =
        ["embed", "--method", "pca", "--out", "--save", "quality", "transform"].map(OsStr::new);
    let columns = COLUMNS.map(OsStr::new);
    let done = run(&[&[embed, &data, method, pca, out, &map, save, &model], &columns[..]].concat());
    assert!(done.status.success(), "{}", stderr(&done));
    assert!(folder.path().join(&map).exists());
    for arguments in [[quality, data.as_os_str(), &map], [transform, &model, &data]] {
        let done = run(&[&arguments, &columns[..]].concat());
        assert!(done.status.success(), "{}", stderr(&done));
    }
    for arguments in [&[name(b"\xff")][..], &["embed".into(), "digits".into(), "--method".into(), name(b"p\xff")]] {
        let failed = run(&arguments.iter().map(OsString::as_os_str).collect::<Vec<_>>());
        assert_eq!(failed.status.code(), Some(2), "{}", stderr(&failed));
        assert!(!stderr(&failed).contains("panicked"), "{}", stderr(&failed));
    }
}

#[test]
fn results_that_cannot_be_written_to_stdout_are_reported() {
    let folder = folder();
    write(folder.path(), "t.csv", &small_table());
    good(folder.path(), &[&["embed", "t.csv", "--method", "pca", "--out", "m.csv", "--quiet"][..], &COLUMNS].concat());
    let columns = COLUMNS.join(" ");
    for command in [
        format!("quality t.csv m.csv {columns} --json"),
        format!("quality t.csv m.csv {columns}"),
        format!("data describe t.csv {columns} --json"),
        format!("embed t.csv --method pca {columns}"),
        format!("embed t.csv --method pca {columns} --json --out again.csv"),
        "methods --json".into(),
        "completions bash".into(),
        "--help".into(),
        "--version".into(),
    ] {
        for (redirection, reason) in [("> /dev/full", "No space left"), (">&-", "Bad file descriptor")] {
            let output = shell(folder.path(), &format!("\"$0\" {command} {redirection}"));
            let words = stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{command} {redirection}: {words}");
            assert!(words.contains("cannot write to standard output") && words.contains(reason), "{command}: {words}");
        }
        // Nobody reads: the exit code is that of SIGPIPE, and there is no message.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut closed = Command::new(BIN);
        closed.args(command.split(' ')).current_dir(folder.path()).stdout(writer).stderr(Stdio::piped());
        let output = closed.spawn().unwrap().wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(141), "{command}: {}", stderr(&output));
        assert!(!stderr(&output).contains("error: "), "{command}: {}", stderr(&output));
    }
    assert!(folder.path().join("again.csv").exists(), "files are written all the same");
    // What writes nothing to stdout does not need it.
    let output = shell(folder.path(), &format!("\"$0\" embed t.csv --method pca {columns} --out x.csv >&-"));
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn outputs_keep_their_mode_and_read_only_files_are_refused_before_the_work() {
    let folder = folder();
    let path = folder.path().join("map.csv");
    let mode = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    std::fs::write(&path, "old").unwrap();
    mode(0o600);
    let embed = ["embed", "swiss-roll", "--n-points", "50", "--method", "pca", "--out", "map.csv", "--quiet"];
    good(folder.path(), &embed);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let before = std::fs::read(&path).unwrap();
    mode(0o400);
    let words = bad(folder.path(), 2, &embed);
    assert!(words.contains("map.csv: is read-only"), "{words}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(names(folder.path()), ["map.csv"]);
}

#[test]
fn a_limit_on_the_size_of_files_leaves_old_files_or_complete_new_ones() {
    let folder = folder();
    write(folder.path(), "t.csv", &small_table());
    let outputs = ["m.csv", "m.tsv", "m.parquet", "m.npy", "m.png", "m.svg", "m.pdf", "m.html", "m.lowland", "m.json"];
    let flags: Vec<String> = outputs
        .iter()
        .map(|name| match *name {
            "m.lowland" => format!("--save {name}"),
            "m.json" => format!("--report {name}"),
            _ => format!("--out {name}"),
        })
        .collect();
    let arguments = format!("embed t.csv --method pca {} {} --threads 1", COLUMNS.join(" "), flags.join(" "));
    let run = |limit: u64| {
        let mut command = Command::new(BIN);
        command.args(arguments.split(' ')).current_dir(folder.path());
        let limit = libc::rlimit { rlim_cur: limit, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: only sets a limit of the child.
        unsafe {
            command.pre_exec(move || {
                libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit);
                Ok(())
            })
        };
        command.output().unwrap()
    };
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let whole = run(libc::RLIM_INFINITY);
    assert!(whole.status.success(), "{}", stderr(&whole));
    // Reports hold times: they are complete if they are JSON.
    let expected: Vec<Vec<u8>> = outputs.iter().map(|name| read(name)).collect();
    let mut sizes: Vec<u64> = expected.iter().map(|bytes| bytes.len() as u64).collect();
    sizes.sort_unstable();
    let limits = [0, 1, sizes[0] - 1, sizes[2] + 1, sizes[5] - 1, sizes[8], sizes[9] - 1];
    for limit in limits {
        outputs.iter().for_each(|name| write(folder.path(), name, "old"));
        let output = run(limit);
        assert_eq!(output.status.code(), Some(1), "{limit}: {:?} {}", output.status.signal(), stderr(&output));
        assert!(stderr(&output).contains("File too large"), "{}", stderr(&output));
        for (name, expected) in outputs.iter().zip(&expected) {
            let now = read(name);
            let is_report = *name == "m.json" && serde_json::from_slice::<serde_json::Value>(&now).is_ok();
            assert!(
                now == b"old" || now == *expected || is_report,
                "{name} at a limit of {limit} is neither old nor new"
            );
            if expected.len() as u64 > limit && *name != "m.json" {
                assert_eq!(now, b"old", "{name} at a limit of {limit}");
            }
        }
        assert_eq!(names(folder.path()).len(), outputs.len() + 1, "{:?}", names(folder.path()));
    }
}

#[test]
fn a_killed_run_leaves_a_usable_checkpoint_and_nothing_else() {
    let folder = folder();
    let arguments = "embed digits --method tsne --max-iter 100000 --tol 0 --checkpoint run.ckpt --checkpoint-every 0 --json \
                     --no-quality --out map.csv";
    for round in 0..4 {
        let mut command = Command::new(BIN);
        command
            .args(arguments.split_whitespace())
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let steps = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert!(steps.filter(|line| line.contains("\"step\"")).nth(round + 2).is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        let words =
            bad(folder.path(), 2, &["embed", "digits", "--resume", "run.ckpt", "--method", "pca", "--out", "x.csv"]);
        assert!(words.contains("the checkpoint was made with --method tsne"), "{words}");
    }
    // A process that was killed while it replaced a file may leave one, which the next one deletes.
    let left: Vec<OsString> = names(folder.path()).into_iter().filter(|name| name != "run.ckpt").collect();
    assert!(left.len() <= 4, "{left:?}");
    write(folder.path(), ".lowland-1-2-3.tmp", "left by a process that was killed");
    good(folder.path(), &["embed", "digits", "--method", "pca", "--out", "map.csv", "--quiet", "--no-quality"]);
    assert_eq!(names(folder.path()), ["map.csv", "run.ckpt"]);
}

#[test]
fn an_input_that_is_truncated_during_the_run_does_not_end_it() {
    let folder = folder();
    good(folder.path(), &["data", "generate", "digits", "--out", "x.npy", "--quiet"]);
    let mut command = Command::new(BIN);
    let arguments = "embed x.npy --method tsne --max-iter 100000 --tol 0 --json --out map.csv --out page.html";
    command.args(arguments.split(' ')).current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("\"step\"")));
    std::fs::File::options().write(true).open(folder.path().join("x.npy")).unwrap().set_len(0).unwrap();
    // SAFETY: signals our own child, which is still running.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    lines.for_each(drop);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{:?} {}", output.status.signal(), stderr(&output));
    assert!(folder.path().join("map.csv").exists());
}

#[test]
fn messages_hold_no_escape_sequences_and_no_megabytes() {
    let folder = folder();
    let evil = "a\u{1b}]0;owned\u{7}\u{9b}2J.csv";
    let is_clean = |words: &str| !words.contains(['\u{1b}', '\u{7}', '\u{9b}']);
    for arguments in [
        vec!["embed", evil, "--method", "pca"],
        vec!["embed", "digits", "--out", evil, "--method", evil],
        vec!["quality", "digits", evil],
        vec!["transform", evil, "digits"],
        vec![evil],
    ] {
        let output = Command::new(BIN).args(&arguments).current_dir(folder.path()).output().unwrap();
        assert!(!output.status.success() && is_clean(&stderr(&output)), "{arguments:?}: {:?}", stderr(&output));
    }
    write(folder.path(), evil, &small_table());
    let output = support::lowland(
        folder.path(),
        &[&["embed", evil, "--method", "pca", "--out", "m.csv"][..], &COLUMNS].concat(),
    );
    assert!(output.status.success() && stderr(&output).contains("owned") && is_clean(&stderr(&output)));
    let long = "x".repeat(1 << 20);
    write(folder.path(), "cell.csv", &format!("a,b\n1,2\n3,{long}\n"));
    write(folder.path(), "name.csv", &format!("a,{long}\n1,2\n3,?\n"));
    for name in ["cell.csv", "name.csv"] {
        let words = bad(folder.path(), 3, &["embed", name]);
        assert!(words.contains("xxxx... (104857") && words.len() < 1000, "{name}: {} bytes", words.len());
    }
}

#[test]
fn values_beyond_32_bit_floats_are_not_generated() {
    let folder = folder();
    let words = bad(folder.path(), 2, &["data", "generate", "blobs", "--noise", "1e300", "--out", "b.csv"]);
    assert!(words.contains("--noise 1e300: a standard deviation from 0 to 1e37"), "{words}");
    assert!(names(folder.path()).is_empty());
}

#[test]
fn cells_that_spreadsheets_would_evaluate_are_marked_on_request() {
    let folder = folder();
    write(folder.path(), "t.csv", &small_table().replace("r0,", "=1+2,"));
    let embed = [&["embed", "t.csv", "--method", "pca", "--quiet", "--no-quality"][..], &COLUMNS].concat();
    assert!(good(folder.path(), &embed).contains("\n=1+2,"));
    assert!(good(folder.path(), &[&embed[..], &["--escape-formulas"]].concat()).contains("\n'=1+2,"));
}

#[test]
fn distances_that_are_not_symmetric_and_graphs_of_other_points_are_named() {
    let folder = folder();
    let rows = (0..40i32).map(|i| (0..40).map(|j| (i - j).abs().to_string()).collect::<Vec<_>>().join(","));
    let mut rows: Vec<String> = rows.collect();
    rows[3] = rows[3].replacen("3,", "9,", 1);
    write(folder.path(), "d.csv", &rows.join("\n"));
    let words = bad(
        folder.path(),
        3,
        &["embed", "d.csv", "--header", "no", "--metric", "precomputed", "--method", "isomap", "--out", "m.csv"],
    );
    assert!(words.contains("row 0, column 3 is 3, but row 3, column 0 is 9"), "{words}");
    let graph = NeighborGraph::uniform(1, (1..41).collect(), vec![1.0; 40], 50, Metric::Euclidean).unwrap();
    lowland_io::write_graph(&folder.path().join("g.npz"), &graph).unwrap();
    write(folder.path(), "t.csv", &small_table());
    let words =
        bad(folder.path(), 3, &[&["embed", "t.csv", "--neighbors", "g.npz", "--out", "m.csv"][..], &COLUMNS].concat());
    assert!(words.contains("points that the neighbor graph refers to: expected 40, found 50"), "{words}");
}

/// Control characters in names could change the terminal (its title, its colors, what it shows) or hide text.
#[test]
fn names_of_data_do_not_control_the_terminal() {
    const NAME: &str = "\u{1b}]0;hacked\u{7}\u{1b}[2J\u{1b}[31m\u{9b}2J\u{202e}x\u{8}";
    let folder = folder();
    let at = folder.path();
    let rows = (0..40).map(|i| {
        let x = f64::from(i) * 0.1;
        format!("\"{NAME} {i}\",{x},{},{},\"{NAME} {}\"\n", (x * 3.0).sin(), f64::from(i % 2) * 5.0, i % 2)
    });
    let table = format!("name,\"a{NAME}\",b,c,\"kind{NAME}\"\n{}", rows.collect::<String>());
    write(at, "data.csv", &table);
    let label = format!("kind{NAME}");
    let input = ["data.csv", "--id-column", "name", "--label-column", label.as_str()];
    let is_harmless = |letter: char| letter == '\n' || letter == '\r' || !letter.is_control() && letter != '\u{202e}';
    let runs: [&[&str]; 8] = [
        &[
            "embed",
            "--method",
            "lvm",
            "--n-neighbors",
            "5",
            "--report",
            "r.json",
            "--out",
            "m.csv",
            "--out",
            "m.png",
            "--out",
            "m.html",
        ],
        &["quality", "m.csv"],
        &["compare", "--methods", "pca,svd", "--out", "c.png"],
        &["trust", "m.csv", "--n-neighbors", "5", "--out", "t.csv"],
        &["neighbors", "--n-neighbors", "5", "--out", "g.npz"],
        &["embed", "--label-column", "nosuch", "--out", "x.csv"],
        &["embed", "--id-column", "nosuch", "--out", "x.csv"],
        &["embed", "--supervise", "b", "--method", "pca", "--out", "x.csv"],
    ];
    for run in runs {
        let with_input = if run.contains(&"nosuch") { &input[..1] } else { &input[..] };
        let output = support::lowland(at, &[&run[..1], with_input, &run[1..]].concat());
        for (stream, bytes) in [("stdout", output.stdout), ("stderr", output.stderr)] {
            let text = String::from_utf8(bytes).unwrap();
            let harmful: String = text.chars().filter(|&letter| !is_harmless(letter)).collect();
            assert!(harmful.is_empty(), "{run:?}: {harmful:?} in {stream}: {text:?}");
        }
    }
    for flags in [["--inset", "nosuch"], ["--color", "nosuch"], ["--map-labels", "nosuch"], ["--map-labels", "islands"]]
    {
        let output = support::lowland(
            at,
            &["plot", "m.csv", "--data", "data.csv", "--id-column", "name", "--out", "p.svg", flags[0], flags[1]],
        );
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.chars().all(is_harmless), "{flags:?}: {text:?}");
    }
}
