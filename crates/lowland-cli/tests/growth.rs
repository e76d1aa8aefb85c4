//! Maps that continue an earlier one, alignment, sequences and combined graphs.

mod support;

use std::path::Path;

use support::{bad, folder, good, write};

/// Rows `from..to` of four clusters with an id column.
fn rows(from: usize, to: usize) -> String {
    let mut text = String::from("name,a,b,c\n");
    for i in from..to {
        let noise = |factor: usize| (i * factor % 127) as f64 / 64.0;
        let at = |column: usize| if i % 4 == column { 6.0 } else { 0.0 };
        text += &format!("r{i},{},{},{}\n", noise(89) + at(0), noise(53) + at(1), noise(71) + at(2));
    }
    text
}

fn lines(folder: &Path, name: &str) -> Vec<String> {
    std::fs::read_to_string(folder.join(name)).unwrap().lines().map(String::from).collect()
}

const IDS: [&str; 2] = ["--id-column", "name"];

#[test]
fn a_continued_map_keeps_its_rows_byte_by_byte() {
    let folder = folder();
    let at = folder.path();
    write(at, "old.csv", &rows(0, 90));
    write(at, "all.csv", &rows(30, 120));
    let run = |arguments: &[&str]| good(at, &[arguments, &IDS[..], &["--no-quality"]].concat());
    let old = ["embed", "old.csv", "--method", "umap", "--n-epochs", "40"];
    run(&[&old[..], &["--save", "old.lowland", "--out", "old-map.csv"]].concat());
    run(&["embed", "all.csv", "--continue-from", "old.lowland", "--save", "all.lowland", "--out", "map.csv"]);
    let (before, after) = (lines(at, "old-map.csv"), lines(at, "map.csv"));
    assert_eq!((before.len(), after.len()), (91, 91));
    // Rows 30 to 89 are in both.
    assert_eq!(before[31..], after[1..61]);
    // New rows join; the continued model is one like any other.
    let placed = good(at, &["transform", "all.lowland", "all.csv", "--id-column", "name", "--quiet"]);
    assert_eq!(placed.lines().collect::<Vec<_>>(), after);
    // Tied rows move, and parameters that are given replace those of the model.
    let tied = ["embed", "all.csv", "--continue-from", "old.lowland", "--anchor", "1"];
    run(&[&tied[..], &["--n-epochs", "30", "--out", "tied.csv"]].concat());
    let tied = lines(at, "tied.csv");
    assert!((1..61).all(|row| tied[row] != after[row]));
    // Checkpoints: the run that is resumed ends with the same bytes.
    let again = ["embed", "all.csv", "--continue-from", "old.lowland", "--out", "again.csv"];
    run(&[&again[..], &["--checkpoint", "run.ckpt", "--checkpoint-every", "0"]].concat());
    run(&[&again[..], &["--resume", "run.ckpt"]].concat());
    assert_eq!(lines(at, "again.csv"), after);
    let lost = bad(at, 2, &["embed", "all.csv", "--resume", "run.ckpt", "--out", "m.csv", "--id-column", "name"]);
    assert!(lost.contains("give its --continue-from"), "{lost}");
}

#[test]
fn what_cannot_be_continued_is_refused_in_the_words_of_the_command_line() {
    let folder = folder();
    let at = folder.path();
    write(at, "old.csv", &rows(0, 60));
    write(at, "other.csv", &rows(100, 160));
    let run = |name: &str, more: &[&str]| {
        good(at, &[&["embed", "old.csv", "--save", name, "--out", "map.csv", "--no-quality"], &IDS[..], more].concat());
    };
    run("umap.lowland", &["--method", "umap", "--n-epochs", "20"]);
    run("pca.lowland", &["--method", "pca"]);
    run("landmarks.lowland", &["--method", "umap", "--landmarks", "40", "--n-epochs", "20"]);
    let refused = |code: i32, more: &[&str]| {
        bad(at, code, &[&["embed", "other.csv", "--out", "m.csv", "--id-column", "name"][..], more].concat())
    };
    let error = refused(3, &["--continue-from", "umap.lowland"]);
    assert!(error.contains("have no row in common"), "{error}");
    let error = refused(2, &["--continue-from", "umap.lowland", "--method", "tsne"]);
    assert!(error.contains("was made with umap; omit the flag"), "{error}");
    assert!(refused(2, &["--continue-from", "landmarks.lowland"]).contains("extended from landmarks"));
    assert!(refused(2, &["--continue-from", "umap.lowland", "--anchor", "0"]).contains("expected exact or a number"));
    assert!(refused(2, &["--anchor", "1"]).contains("--continue-from"));
    let same = ["embed", "old.csv", "--out", "m.csv", "--id-column", "name", "--continue-from", "pca.lowland"];
    let error = bad(at, 2, &same);
    assert!(error.contains("a map of pca cannot be continued; those of tsne, "), "{error}");
}

#[test]
fn maps_are_aligned_by_shared_ids() {
    let folder = folder();
    let at = folder.path();
    write(at, "old.csv", &rows(0, 60));
    write(at, "all.csv", &rows(20, 80));
    let embed = |input: &str, more: &[&str]| {
        good(at, &[&["embed", input, "--method", "pca", "--no-quality"][..], &IDS[..], more].concat())
    };
    embed("old.csv", &["--out", "old-map.csv"]);
    // The same map turned by a right angle, three times as large.
    let mut turned = String::from("projection_x,projection_y,id\n");
    for line in &lines(at, "old-map.csv")[1..] {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells[at].parse::<f64>().unwrap();
        turned += &format!("{},{},{}\n", -3.0 * number(2) + 5.0, 3.0 * number(1), cells[0]);
    }
    write(at, "turned.csv", &turned);
    embed("old.csv", &["--align-to", "turned.csv", "--save", "m.lowland", "--out", "aligned.csv"]);
    let first = |text: &str| {
        let numbers = text.split(',').filter(|cell| !cell.starts_with('r')).take(2);
        numbers.map(|cell| cell.parse::<f64>().unwrap()).collect::<Vec<_>>()
    };
    for (a, b) in lines(at, "aligned.csv")[1..].iter().zip(turned.lines().skip(1)) {
        assert!(first(a).iter().zip(first(b)).all(|(a, b)| (a - b).abs() < 1e-3), "{a} {b}");
    }
    let placed = good(at, &["transform", "m.lowland", "old.csv", "--id-column", "name", "--quiet"]);
    assert_eq!(first(placed.lines().nth(5).unwrap()), first(&lines(at, "aligned.csv")[5]));
    embed("all.csv", &["--align-to", "turned.csv", "--out", "shared.csv"]);
    write(at, "strangers.csv", "projection_x,projection_y,id\n1,2,x\n3,4,y\n");
    let arguments = ["embed", "all.csv", "--id-column", "name", "--out", "m.csv", "--align-to"];
    let error = bad(at, 3, &[&arguments[..], &["strangers.csv"]].concat());
    assert!(error.contains("--align-to strangers.csv") && error.contains("no row in common"), "{error}");
    write(at, "bare.csv", "projection_x,projection_y\n1,2\n3,4\n");
    let error = bad(at, 2, &[&arguments[..], &["bare.csv"]].concat());
    assert!(error.contains("add a column id"), "{error}");
}

#[test]
fn sequences_tie_shared_rows_and_say_how_far_they_move() {
    let folder = folder();
    let at = folder.path();
    for (day, from) in [0, 30, 60].into_iter().enumerate() {
        write(at, &format!("day{day}.csv"), &rows(from, from + 70));
    }
    std::fs::create_dir(at.join("maps")).unwrap();
    let days = ["day0.csv", "day1.csv", "day2.csv"];
    let sequence = |more: &[&str]| good(at, &[&["sequence"][..], &days, &IDS, more, &["--maps", "maps"]].concat());
    let umap = ["--method", "umap", "--n-epochs", "40"];
    let moved = |table: &str| {
        let line = |line: &str| line.split_whitespace().nth(3).unwrap().parse::<f64>().unwrap();
        table.lines().skip(2).map(line).collect::<Vec<f64>>()
    };
    let exact = sequence(&[&umap[..], &["--anchor", "exact", "--models", "maps", "--out", "days.png"]].concat());
    assert_eq!(moved(&exact), [0.0, 0.0], "{exact}");
    assert_eq!(lines(at, "maps/day1.csv")[31..], lines(at, "maps/day2.csv")[1..41]);
    assert!(at.join("maps/day2.lowland").is_file() && at.join("days.png").is_file());
    let loose = sequence(&[&umap[..], &["--anchor", "0.0001"]].concat());
    let tied = sequence(&[&umap[..], &["--anchor", "5", "--passes", "2"]].concat());
    assert!(moved(&tied)[0] < moved(&loose)[0] && tied.contains("recall"), "{loose}{tied}");
    // Without ids, rows are matched by their values.
    for (day, from) in [0, 30, 60].into_iter().enumerate() {
        let text: String =
            rows(from, from + 70).lines().map(|line| line.split_once(',').unwrap().1.to_owned() + "\n").collect();
        write(at, &format!("day{day}.csv"), &text);
    }
    let bare = good(at, &[&["sequence"][..], &days, &umap, &["--anchor", "exact", "--maps", "maps"]].concat());
    assert_eq!(moved(&bare), [0.0, 0.0]);
    write(at, "day1.csv", &rows(500, 570));
    let error = bad(at, 3, &[&["sequence"][..], &days[..2], &IDS, &["--maps", "maps"]].concat());
    assert!(error.contains("have no row in common") || error.contains("name"), "{error}");
    write(at, "day0.csv", &rows(0, 70));
    let error = bad(at, 3, &[&["sequence"][..], &days[..2], &IDS, &["--maps", "maps"]].concat());
    assert!(error.contains("data sets 1 and 2 of the sequence have no row in common"), "{error}");
    let error = bad(at, 2, &[&["sequence"][..], &days[..2], &["--maps", "nowhere"]].concat());
    assert!(error.contains("--maps nowhere: there is no such folder"), "{error}");
}

#[test]
fn graphs_are_combined_for_methods_with_precomputed_affinities() {
    let folder = folder();
    let at = folder.path();
    write(at, "cells.csv", &rows(0, 80));
    for metric in ["euclidean", "cosine"] {
        let out = format!("{metric}.npz");
        good(at, &["neighbors", "cells.csv", "--id-column", "name", "--metric", metric, "--out", &out]);
    }
    for how in ["union", "intersection"] {
        good(at, &["combine", "euclidean.npz", "cosine.npz", "--how", how, "--out", "both.npz"]);
        for method in ["umap", "tsne"] {
            let embed = ["embed", "cells.csv", "--id-column", "name", "--neighbors", "both.npz", "--method", method];
            good(at, &[&embed[..], &["--affinity", "precomputed", "--no-quality", "--out", "map.csv"]].concat());
        }
    }
    let embed = [
        "embed",
        "cells.csv",
        "--id-column",
        "name",
        "--method",
        "umap",
        "--affinity",
        "precomputed",
        "--out",
        "m.csv",
    ];
    let error = bad(at, 2, &embed);
    assert!(error.contains("--affinity precomputed: needs a neighbor graph with memberships"), "{error}");
    let error = bad(at, 3, &[&embed[..], &["--neighbors", "euclidean.npz"]].concat());
    assert!(error.contains("memberships are from 0 to 1"), "{error}");
    write(at, "few.csv", &rows(0, 20));
    good(at, &["neighbors", "few.csv", "--id-column", "name", "--n-neighbors", "5", "--out", "few.npz"]);
    let error = bad(at, 3, &["combine", "euclidean.npz", "few.npz", "--how", "union", "--out", "both.npz"]);
    assert!(error.contains("80 rows") && error.contains("20"), "{error}");
    let error =
        bad(at, 2, &["combine", "euclidean.npz", "cosine.npz", "--how", "union", "--weight", "1", "--out", "b.npz"]);
    assert!(error.contains("--weight 1: above 0 and below 1"), "{error}");
}
