//! Supervised fits on the command line: `embed --target`.

mod support;

use support::{bad, folder, good, write};

/// Two columns of noise, and as many of `more`: a class that the noise does not show, and one with unknown cells.
fn table(more: &[&str]) -> String {
    let mut text = ["a", "b"].iter().chain(more).copied().collect::<Vec<_>>().join(",") + "\n";
    for i in 0..120u32 {
        let noise = |factor: u32| (f64::from(i.wrapping_mul(factor) % 127) / 16.0).to_string();
        let cell = |name: &&str| match *name {
            "kind" => ["x", "y"][(i % 2) as usize].to_string(),
            _ => ["odd", "", "even"][(i % 3) as usize].to_string(),
        };
        let cells: Vec<String> = [noise(89), noise(53)].into_iter().chain(more.iter().map(cell)).collect();
        text += &(cells.join(",") + "\n");
    }
    text
}

const EMBED: [&str; 6] = ["embed", "t.csv", "--method", "umap", "--no-quality", "--out"];

#[test]
fn a_target_column_supervises_the_fit_and_is_no_data() {
    let folder = folder();
    let at = folder.path();
    write(at, "t.csv", &table(&["kind", "partly"]));
    let text = |name: &str| std::fs::read_to_string(at.join(name)).unwrap();
    let embed = |more: &[&str]| good(at, &[&EMBED[..], more].concat());
    embed(&["kind.csv", "--label-column", "partly", "--target", "kind"]);
    assert!(text("kind.csv").starts_with("projection_x,projection_y,label\n"), "{}", text("kind.csv"));
    assert!(text("kind.csv").lines().nth(3).unwrap().ends_with(",even"), "{}", text("kind.csv"));
    embed(&["plain.csv", "--label-column", "partly", "--target", "kind", "--target-weight", "0"]);
    assert_ne!(text("plain.csv"), text("kind.csv"));
    // Without other labels, the target is the label of the map.
    write(at, "t.csv", &table(&["kind"]));
    embed(&["only.csv", "--target", "kind"]);
    assert!(text("only.csv").trim_end().ends_with(",y"), "{}", text("only.csv"));
    embed(&["labels.csv", "--label-column", "kind", "--target", "labels"]);
    assert_eq!(text("labels.csv"), text("only.csv"));
}

#[test]
fn a_supervised_model_places_rows_without_a_target() {
    let folder = folder();
    let at = folder.path();
    write(at, "t.csv", &table(&["kind"]));
    good(at, &[&EMBED[..], &["map.csv", "--target", "kind", "--save", "m.lowland"]].concat());
    write(at, "new.csv", "a,b\n1.5,2.5\n3.25,0.5\n");
    let placed = good(at, &["transform", "m.lowland", "new.csv", "--quiet"]);
    assert_eq!(placed.lines().count(), 3, "{placed}");
    write(at, "rows.csv", &table(&[]));
    let refused = bad(at, 2, &["trust", "rows.csv", "map.csv", "--model", "m.lowland", "--reruns", "2"]);
    assert!(refused.contains("--reruns 2: the map is supervised"), "{refused}");
}

#[test]
fn targets_that_say_nothing_are_refused_in_the_words_of_the_command_line() {
    let folder = folder();
    let at = folder.path();
    let refused = |more: &[&str], code: i32| bad(at, code, &[&EMBED[..], &["m.csv"], more].concat());
    write(at, "t.csv", "a,b,one\n1,2,x\n2,1,x\n4,4,x\n7,1,x\n");
    let error = refused(&["--target", "one"], 3);
    assert!(error.contains("--target: it has one class only, 'x' (4 rows)"), "{error}");
    write(at, "t.csv", "a,b,none\n1,2,\n2,1,-1\n4,4,\n7,1,-1\n");
    assert!(refused(&["--target", "none"], 3).contains("--target: all values are unknown (-1 or empty)"));
    write(at, "t.csv", "a,b,own\n1,2,p\n2,1,q\n4,4,r\n7,1,s\n");
    let error = refused(&["--target", "own"], 3);
    assert!(error.contains("--target: each of the 4 rows") && error.contains("--target-metric numeric"), "{error}");
    let error = refused(&["--target", "owner"], 3);
    assert!(error.contains("owner"), "{error}");
    // Methods without a neighbor graph to change, and sources without labels.
    let error = bad(at, 3, &["embed", "digits", "--method", "pca", "--target", "labels", "--out", "m.csv"]);
    assert!(error.contains("--target: method pca has no use for it"), "{error}");
    let error = bad(at, 2, &["embed", "swiss-roll", "--target", "labels", "--method", "umap", "--out", "m.csv"]);
    assert!(error.contains("--labels"), "{error}");
    let error = bad(at, 2, &["embed", "digits", "--target", "kind", "--out", "m.csv"]);
    assert!(error.contains("--target labels"), "{error}");
    let error = bad(at, 2, &["embed", "digits", "--method", "auto", "--target", "labels", "--out", "m.csv"]);
    assert!(error.contains("--method auto"), "{error}");
}
