//! `lowland trust`, `embed --trust` and the summary of `embed`.

mod support;

use support::{bad, folder, good, lowland};

#[test]
fn trust_writes_a_table_that_can_be_drawn_and_prints_its_summary() {
    let folder = folder();
    let at = folder.path();
    good(
        at,
        &[
            "embed",
            "swiss-roll",
            "--method",
            "tsne",
            "--max-iter",
            "400",
            "--out",
            "roll.csv",
            "--quiet",
            "--no-quality",
        ],
    );
    let text = good(at, &["trust", "swiss-roll", "roll.csv", "--out", "trust.csv", "--quiet"]);
    assert!(text.contains("of the points keep most of their neighbors"), "{text}");
    let table = std::fs::read_to_string(at.join("trust.csv")).unwrap();
    let columns = "kept,lost,intruders,spread,jump,fragile,p_value,flagged,island,bridge_to";
    assert_eq!(table.lines().next().unwrap(), format!("projection_x,projection_y,{columns}"));
    // The same bytes for any number of threads.
    for threads in ["1", "2", "3"] {
        let name = format!("threads-{threads}.csv");
        good(at, &["trust", "swiss-roll", "roll.csv", "--out", &name, "--quiet", "--threads", threads]);
        assert_eq!(std::fs::read_to_string(at.join(&name)).unwrap(), table, "{threads} threads");
    }
    let json = good(at, &["trust", "swiss-roll", "trust.csv", "--json"]);
    let line = json.lines().find(|line| line.contains("\"event\":\"trust\"")).expect("an event");
    for entry in ["\"gaps\":[", "\"islands\":[", "\"null_noise\":", "\"summary\":["] {
        assert!(line.contains(entry), "{entry} {line}");
    }
}

#[test]
fn embed_prints_a_summary_and_writes_all_scores_if_asked_to() {
    let folder = folder();
    let at = folder.path();
    let embed = ["embed", "digits", "--max-rows", "400", "--method", "tsne", "--max-iter", "300", "--seed", "1"];
    let output = lowland(at, &[&embed[..], &["--out", "plain.csv", "--report", "plain.json"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("of the points keep most of their neighbors"), "{stderr}");
    assert!(!std::fs::read_to_string(at.join("plain.csv")).unwrap().contains("kept"));
    assert!(std::fs::read_to_string(at.join("plain.json")).unwrap().contains("\"null_noise\""));
    good(at, &[&embed[..], &["--trust", "--quiet", "--out", "all.csv", "--save", "digits.lowland"]].concat());
    let all = std::fs::read_to_string(at.join("all.csv")).unwrap();
    assert!(all.starts_with("projection_x,projection_y,label,kept,"), "{}", &all[..100]);
    // The command finds what the fit found, also with the metric and preprocessing of the model.
    let trust = ["trust", "digits", "--max-rows", "400", "plain.csv", "--seed", "1", "--quiet", "--out"];
    good(at, &[&trust[..], &["same.csv"]].concat());
    good(at, &[&trust[..], &["model.csv", "--model", "digits.lowland"]].concat());
    assert_eq!(std::fs::read_to_string(at.join("model.csv")).unwrap(), all);
    // Without the model, the loss of t-SNE at its best scale stands in for its own.
    let columns = |text: &str, wanted: bool| -> Vec<Vec<String>> {
        let names: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        let is_of_loss = |at: usize| ["jump", "fragile"].contains(&names[at]);
        let fields = |line: &str| {
            line.split(',')
                .enumerate()
                .filter(|(at, _)| is_of_loss(*at) == wanted)
                .map(|(_, v)| v.to_string())
                .collect()
        };
        text.lines().map(fields).collect()
    };
    let same = std::fs::read_to_string(at.join("same.csv")).unwrap();
    assert_eq!(columns(&same, false), columns(&all, false));
    assert_ne!(columns(&same, true), columns(&all, true));
}

#[test]
fn the_loss_is_that_of_the_method_that_made_the_map() {
    let folder = folder();
    let at = folder.path();
    let methods = ["tsne", "ssne", "ee", "mapit", "lvm", "umap"];
    for method in methods.into_iter().chain(["pca"]) {
        let embed = ["embed", "digits", "--max-rows", "300", "--quiet", "--method", method, "--no-quality"];
        good(at, &[&embed[..], &["--out", "map.csv", "--save", "m.lowland"]].concat());
        let trust = ["trust", "digits", "--max-rows", "300", "map.csv", "--quiet"];
        let text = good(at, &[&trust[..], &["--model", "m.lowland"]].concat());
        let (own, stand_in) =
            (format!("by the loss of {method}, which made the map"), "by the loss of tsne, as a stand-in");
        assert!(text.contains(if methods.contains(&method) { &own } else { stand_in }), "{method}: {text}");
    }
    let text = good(at, &["trust", "digits", "--max-rows", "300", "map.csv", "--quiet"]);
    assert!(text.contains("stand-in; --model FILE uses that of the method"), "{text}");
    let fit = ["embed", "digits", "--max-rows", "300", "--trust", "--json", "--method", "lvm", "--out", "map.csv"];
    let events = good(at, &fit);
    assert!(events.contains(r#""loss":{"method":"lvm","own":true,"scale":1.0,"perplexity":null}"#), "{events}");
}

#[test]
fn rows_that_cannot_be_compared_are_said_so_in_one_line() {
    let folder = folder();
    let at = folder.path();
    let same = format!("a,b\n{}", "1,2\n".repeat(50));
    for (rows, reason) in [
        ("a,b\n1,2\n", "there are fewer than three rows"),
        ("a,b\n1,2\n3,4\n", "there are fewer than three rows"),
        (same.as_str(), "all rows are equal"),
    ] {
        support::write(at, "rows.csv", rows);
        let output = lowland(at, &["embed", "rows.csv", "--out", "map.csv"]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        assert!(text.contains(reason) && text.contains("scores and reliability are omitted"), "{text}");
        assert!(!text.contains("omitted, ") && !text.contains("another order"), "{text}");
    }
    let words = bad(at, 3, &["trust", "rows.csv", "map.csv"]);
    assert!(words.contains("50 of the 50 rows have 15 or more copies"), "{words}");
}

#[test]
fn pictures_show_the_perplexity_that_was_used() {
    let folder = folder();
    let at = folder.path();
    good(at, &["embed", "blobs", "--n-points", "40", "--out", "map.svg", "--report", "r.json", "--quiet"]);
    let picture = std::fs::read_to_string(at.join("map.svg")).unwrap();
    assert!(picture.contains("perplexity 13.0") && !picture.contains("perplexity 30"), "{picture}");
    assert!(std::fs::read_to_string(at.join("r.json")).unwrap().contains("\"perplexity\": \"13.0\""));
}

#[test]
fn maps_that_say_nothing_about_the_data_are_refused() {
    let folder = folder();
    let at = folder.path();
    good(
        at,
        &["embed", "blobs", "--n-points", "300", "--method", "pca", "--out", "map.csv", "--quiet", "--no-quality"],
    );
    let words = bad(at, 3, &["trust", "blobs", "--n-points", "299", "map.csv"]);
    assert!(words.contains("expected 299, found 300"), "{words}");
    let words = bad(at, 3, &["trust", "gaussian", "--n-points", "300", "map.csv"]);
    assert!(words.contains("its points are not these rows, or are in another order"), "{words}");
    let words = bad(at, 3, &["trust", "blobs", "--n-points", "300", "map.csv", "--n-neighbors", "150"]);
    assert!(words.contains("304") && words.contains("300"), "{words}");
    let words = bad(at, 2, &["trust", "blobs", "--n-points", "300", "map.csv", "--fdr", "1.5"]);
    assert!(words.contains("--fdr") && words.contains("above 0 and below 1"), "{words}");
    let lines = std::iter::repeat_n("1,2\n", 300).collect::<String>();
    support::write(at, "one.csv", &format!("projection_x,projection_y\n{lines}"));
    let words = bad(at, 3, &["trust", "blobs", "--n-points", "300", "one.csv"]);
    assert!(words.contains("all 300 points are at one place"), "{words}");
}

#[test]
fn reruns_add_a_column_for_the_command_and_the_fit() {
    let folder = folder();
    let at = folder.path();
    let embed =
        ["embed", "digits", "--max-rows", "300", "--max-iter", "300", "--trust", "--quiet", "--save", "m.lowland"];
    good(at, &[&embed[..], &["--reruns", "2", "--out", "fit.csv"]].concat());
    let table = std::fs::read_to_string(at.join("fit.csv")).unwrap();
    assert!(table.lines().next().unwrap().contains(",unstable,"), "{}", table.lines().next().unwrap());
    let trust = ["trust", "digits", "--max-rows", "300", "fit.csv", "--quiet", "--model", "m.lowland", "--reruns"];
    let text = good(at, &[&trust[..], &["2", "--out", "again.csv", "--threads", "1"]].concat());
    assert!(text.contains("Between reruns the median point moves by"), "{text}");
    // The same runs, whichever command makes them and on any number of threads.
    assert_eq!(std::fs::read_to_string(at.join("again.csv")).unwrap(), table);
    let words = bad(at, 2, &[&trust[..], &["1"]].concat());
    assert!(words.contains("--reruns") && words.contains("at least 2"), "{words}");
    bad(at, 2, &["trust", "digits", "--max-rows", "300", "fit.csv", "--reruns", "2"]);
}
