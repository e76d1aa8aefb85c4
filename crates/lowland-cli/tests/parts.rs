//! Data sets of several files: placed in blocks, parts and shards, with the bytes of one file.

mod support;

use std::path::Path;
use std::time::SystemTime;

use support::{bad, folder, good, write};

const ROWS: [usize; 4] = [30, 1, 57, 12];
const COLUMNS: [&str; 4] = ["--label-column", "kind", "--id-column", "name"];

fn row(i: usize) -> String {
    let x = i as f64 * 0.37;
    format!("r{i},{},{},{},{}\n", x.sin() + x, (x * 0.7).cos() * 3.0, (i % 7) as f64, ["a", "b", "c"][i % 3])
}

/// Writes the parts, the same rows as one file, and a model.
fn prepare(folder: &Path) {
    std::fs::create_dir(folder.join("parts")).unwrap();
    let header = "name,x,y,z,kind\n";
    let (mut all, mut next) = (String::new(), 0);
    for (at, rows) in ROWS.into_iter().enumerate() {
        let text: String = (next..next + rows).map(row).collect();
        write(folder, &format!("parts/p{at}.csv"), &format!("{header}{text}"));
        (all, next) = (all + &text, next + rows);
    }
    write(folder, "all.csv", &format!("{header}{all}"));
    let train: String = (0..80).map(|i| row(3 * i + 1)).collect();
    write(folder, "train.csv", &format!("{header}{train}"));
    let fit = ["embed", "train.csv", "--max-iter", "60", "--perplexity", "8", "--save", "m.lowland", "--out", "t.csv"];
    good(folder, &[&fit[..], &COLUMNS, &["--no-quality", "--quiet"]].concat());
}

fn transform(folder: &Path, arguments: &[&str]) {
    good(folder, &[&["transform", "m.lowland"], arguments, &COLUMNS].concat());
}

fn text(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn parts_have_the_bytes_of_one_file_for_any_blocks_shards_and_threads() {
    let folder = folder();
    let folder = folder.path();
    prepare(folder);
    transform(folder, &["all.csv", "--out", "whole.csv"]);
    let whole = text(folder, "whole.csv");
    let header = whole.lines().next().unwrap();
    for (at, flags) in [
        &["parts", "--block-rows", "1"][..],
        &["parts/*.csv", "--block-rows", "7", "--threads", "1"],
        &["parts/p?.csv", "--threads", "2"],
    ]
    .into_iter()
    .enumerate()
    {
        let out = format!("placed{at}/");
        transform(folder, &[flags, &["--out", &out]].concat());
        let parts: Vec<String> = (0..4).map(|part| text(folder, &format!("{out}p{part}.csv"))).collect();
        assert!(parts.iter().all(|part| part.starts_with(header)));
        let rows: String = parts.iter().map(|part| part.split_once('\n').unwrap().1).collect();
        assert_eq!(format!("{header}\n{rows}"), whole, "{flags:?}");
    }
    for shard in ["1/3", "2/3", "3/3"] {
        transform(folder, &["parts", "--out", "sharded/", "--shard", shard]);
    }
    for part in 0..4 {
        let name = format!("p{part}.csv");
        assert_eq!(text(folder, &format!("sharded/{name}")), text(folder, &format!("placed0/{name}")));
    }
    // All parts in one file.
    transform(folder, &["parts/*.csv", "--out", "together.csv", "--block-rows", "10"]);
    assert_eq!(text(folder, "together.csv"), whole);
    transform(folder, &["all.csv", "--out", "whole.parquet"]);
    transform(folder, &["parts", "--out", "together.parquet", "--block-rows", "9"]);
    let bytes = |name: &str| std::fs::read(folder.join(name)).unwrap();
    assert_eq!(bytes("together.parquet"), bytes("whole.parquet"));
    transform(folder, &["parts", "--out", "columns/", "--part-format", "parquet"]);
    assert!(folder.join("columns/p3.parquet").exists());
}

fn changed(folder: &Path, name: &str) -> SystemTime {
    std::fs::metadata(folder.join(name)).unwrap().modified().unwrap()
}

// Unix: the shell limits the size of files.
#[cfg(unix)]
#[test]
fn a_run_continues_where_it_stopped() {
    let folder = folder();
    let folder = folder.path();
    prepare(folder);
    // The third part cannot be written: files are limited to 2 KiB (the ids make it larger).
    let script = "trap '' XFSZ; ulimit -f 4; exec \"$0\" transform m.lowland parts --out placed/ \
                  --label-column kind --id-column name";
    let failed = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_lowland")])
        .current_dir(folder)
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&failed.stderr);
    assert_eq!(failed.status.code(), Some(1), "{message}");
    assert!(message.contains("p2.csv") && message.contains("2 of 4 parts are in placed/"), "{message}");
    let names = || {
        let mut names: Vec<String> = std::fs::read_dir(folder.join("placed"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(), [".lowland", "p0.csv", "p1.csv"], "no temporary file is left");
    let before = changed(folder, "placed/p0.csv");
    transform(folder, &["parts", "--out", "placed/"]);
    assert_eq!(names().len(), 5);
    assert_eq!(changed(folder, "placed/p0.csv"), before, "placed once");
}

#[test]
fn parts_that_are_placed_already_stay_as_they_are() {
    let folder = folder();
    let folder = folder.path();
    prepare(folder);
    transform(folder, &["parts", "--out", "placed/"]);
    let before = changed(folder, "placed/p0.csv");
    // A part that has changed is placed again, the others are not.
    write(folder, "parts/p1.csv", &format!("name,x,y,z,kind\n{}{}", row(5), row(6)));
    transform(folder, &["parts", "--out", "placed/"]);
    assert_eq!(text(folder, "placed/p1.csv").lines().count(), 3);
    assert_eq!(changed(folder, "placed/p0.csv"), before);
    // Another model, or other flags, into the same folder.
    let fit = ["embed", "train.csv", "--method", "pca", "--save", "n.lowland", "--out", "t.csv", "--quiet"];
    good(folder, &[&fit[..], &COLUMNS].concat());
    let message = bad(folder, 2, &[&["transform", "n.lowland", "parts", "--out", "placed/"], &COLUMNS[..]].concat());
    assert!(message.contains("an earlier run placed parts there with another model"), "{message}");
    let other = ["transform", "m.lowland", "parts", "--out", "placed/", "--exact"];
    assert!(bad(folder, 2, &[&other, &COLUMNS[..]].concat()).contains("with other flags"));
}

#[test]
fn unusable_parts_are_named_before_the_work_begins_where_that_is_possible() {
    let folder = folder();
    let folder = folder.path();
    prepare(folder);
    let run = |code| bad(folder, code, &[&["transform", "m.lowland", "parts", "--out", "out/"], &COLUMNS[..]].concat());
    let part = |text: &str| write(folder, "parts/p3.csv", text);
    part("name,x,y,kind\nr,1,2,a\n");
    let message = run(3);
    assert!(message.contains("p3.csv: 2 columns where the model was fitted on 3"), "{message}");
    part("name,x,z,y,kind\nr,1,2,3,a\n");
    let message = run(3);
    assert!(message.contains("p3.csv: column 1 is \"z\" where the model was fitted on \"y\""), "{message}");
    assert!(!folder.join("out/p0.csv").exists(), "found before the first part was placed");
    part(&format!("name,x,y,z,kind\n{}r,1,NaN,2,a\n", row(1)));
    let message = run(3);
    assert!(message.contains("p3.csv: line 3, column \"y\" is NaN") && message.contains("3 of 4 parts"), "{message}");
    // Rows can be dropped; the others keep their numbers.
    let dropped = ["transform", "m.lowland", "parts", "--out", "kept/", "--missing", "drop", "--label-column", "kind"];
    assert!(bad(folder, 3, &dropped).contains("name"), "the column of names is data without --id-column");
    // An empty part is left out.
    part("name,x,y,z,kind\n");
    transform(folder, &["parts", "--out", "out/"]);
    assert!(folder.join("out/p2.csv").exists() && !folder.join("out/p3.csv").exists());
    // Two parts, one output.
    write(folder, "parts/p2.tsv", "name\tx\ty\tz\tkind\nr\t1\t2\t3\ta\n");
    let clash = ["transform", "m.lowland", "parts", "--out", "out2/", "--part-format", "npy"];
    assert!(bad(folder, 2, &[&clash, &COLUMNS[..]].concat()).contains("would both be written to"));
    let onto_itself = ["transform", "m.lowland", "parts/*.csv", "--out", "parts/"];
    assert!(bad(folder, 2, &[&onto_itself, &COLUMNS[..]].concat()).contains("would replace the part"));
    assert!(bad(folder, 3, &["transform", "m.lowland", "none/*.csv", "--out", "o/"]).contains("none/*.csv"));
    assert!(bad(folder, 3, &["transform", "m.lowland", "parts/*.npy", "--out", "o/"]).contains("no file matches"));
    assert!(bad(folder, 2, &["transform", "m.lowland", "parts", "--out", "x.png"]).contains("a slash"));
    assert!(bad(folder, 2, &["transform", "m.lowland", "parts", "--out", "o/", "--shard", "5/4"]).contains("I/N"));
    let little = ["transform", "m.lowland", "parts/p0.csv", "--out", "o/", "--max-memory", "30MB"];
    let message = bad(folder, 4, &[&little, &COLUMNS[..]].concat());
    assert!(message.contains("--max-memory"), "{message}");
}

#[test]
fn a_sample_is_fitted_and_all_rows_are_placed() {
    let folder = folder();
    let folder = folder.path();
    prepare(folder);
    // One row far from all others; with this seed it is not in the sample.
    write(folder, "parts/p9.csv", "name,x,y,z,kind\nfar,900,-900,900,a\nnear,20.5,1.25,3,b\n");
    let fit = ["embed", "parts", "--fit-rows", "60", "--perplexity", "8", "--max-iter", "60", "--seed", "4"];
    let more = ["--out", "placed/", "--out", "sample.csv", "--save", "s.lowland", "--report", "r.json"];
    let run = |blocks: &str, out: &str| {
        let all = [&fit[..], &["--block-rows", blocks, "--out", out], &COLUMNS, &["--quiet"]].concat();
        good(folder, &all);
    };
    good(folder, &[&fit[..], &more, &COLUMNS, &["--quiet"]].concat());
    let report: serde_json::Value = serde_json::from_str(&text(folder, "r.json")).unwrap();
    let placed = &report["placement"];
    assert_eq!((placed["rows"].as_u64(), placed["placed_parts"].as_u64()), (Some(102), Some(5)), "{placed}");
    assert!(placed["held_out"]["placed"].as_f64().is_some_and(|share| share > 0.2), "{placed}");
    let sample = text(folder, "sample.csv");
    assert_eq!(sample.lines().count(), 61);
    let rows: String = [0, 1, 2, 3, 9].iter().map(|part| text(folder, &format!("placed/p{part}.csv"))).collect();
    // Rows of the sample keep their places.
    for line in sample.lines().skip(1) {
        let (id, place) = line.split_once(',').unwrap();
        let coordinates = place.rsplit_once(',').unwrap().0;
        assert!(rows.contains(&format!("{id},{coordinates},")), "{line}");
    }
    let far: Vec<&str> = rows.lines().filter(|line| line.ends_with(",true")).collect();
    assert!(far.iter().any(|line| line.starts_with("far,")) && far.len() < 20, "{far:?}");
    // The same sample and the same bytes for other blocks.
    run("5", "again/");
    assert_eq!(text(folder, "again/p2.csv"), text(folder, "placed/p2.csv"));
    let message = bad(folder, 2, &["embed", "parts", "--fit-rows", "60", "--out", "all.csv"]);
    assert!(message.contains("into one folder"), "{message}");
    assert!(bad(folder, 2, &["embed", "parts", "--out", "placed/"]).contains("--fit-rows"));
}

#[test]
fn a_folder_is_one_data_set_for_every_command() {
    let folder = folder();
    let folder = folder.path();
    prepare(folder);
    for (input, out) in [("all.csv", "a.csv"), ("parts", "b.csv"), ("parts/p*.csv", "c.csv")] {
        good(folder, &[&["embed", input, "--method", "pca", "--out", out, "--quiet"], &COLUMNS[..]].concat());
    }
    assert_eq!(text(folder, "a.csv"), text(folder, "b.csv"));
    assert_eq!(text(folder, "a.csv"), text(folder, "c.csv"));
}

/// The job files of the documentation, run as their schedulers run them: by a shell.
#[cfg(unix)]
#[test]
fn job_files_of_the_documentation_place_all_parts() {
    let folder = folder();
    let folder = folder.path();
    prepare(folder);
    // Without a column of names, which the job files do not know of.
    let bare = |text: String| -> String {
        text.lines()
            .map(|line| line.split_once(',').unwrap().1.rsplit_once(',').unwrap().0.to_string() + "\n")
            .collect()
    };
    for part in 0..4 {
        let name = format!("parts/p{part}.csv");
        write(folder, &name, &bare(text(folder, &name)));
    }
    let jobs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/jobs");
    let program = Path::new(env!("CARGO_BIN_EXE_lowland")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    for task in 1..=3 {
        let done = std::process::Command::new("sh")
            .arg(jobs.join("place.sbatch"))
            .current_dir(folder)
            .env("PATH", &path)
            .envs([
                ("MODEL", "m.lowland"),
                ("PARTS", "parts/*.csv"),
                ("OUT", "placed"),
                ("SLURM_ARRAY_TASK_COUNT", "3"),
            ])
            .env("SLURM_ARRAY_TASK_ID", task.to_string())
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    assert!((0..4).all(|part| folder.join(format!("placed/p{part}.csv")).exists()));
    let yaml = std::fs::read_to_string(jobs.join("place-job.yaml")).unwrap();
    let (_, after) = yaml.split_once("            - >-\n").unwrap();
    let lines = after.lines().take_while(|line| line.starts_with("              "));
    let command = lines.map(str::trim).collect::<Vec<_>>().join(" ");
    let local = command
        .replace("/data/parts/*.parquet", "parts/*.csv")
        .replace("/data/model.lowland", "m.lowland")
        .replace("/data/placed/", "kubernetes/");
    assert!(!local.contains("/data"), "{local}");
    for index in 0..8 {
        let done = std::process::Command::new("sh")
            .args(["-c", &local])
            .current_dir(folder)
            .env("PATH", &path)
            .env("JOB_COMPLETION_INDEX", index.to_string())
            .output()
            .unwrap();
        assert!(done.status.success(), "{local}: {}", String::from_utf8_lossy(&done.stderr));
    }
    assert!((0..4).all(|part| folder.join(format!("kubernetes/p{part}.csv")).exists()));
}
