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
        assert!(text.contains("fragile did not tell torn points from others in validation"), "{text}");
    }
    let text = good(at, &["trust", "digits", "--max-rows", "300", "map.csv", "--quiet"]);
    assert!(text.contains("stand-in; --model FILE uses that of the method"), "{text}");
    let fit = ["embed", "digits", "--max-rows", "300", "--trust", "--json", "--method", "lvm", "--out", "map.csv"];
    let events = good(at, &fit);
    assert!(events.contains(r#""loss":{"method":"lvm","own":true,"scale":1.0,"perplexity":null}"#), "{events}");
}

#[test]
fn the_text_says_how_islands_were_found_and_what_the_data_say_of_each() {
    let folder = folder();
    let at = folder.path();
    let fit = ["embed", "blobs", "--n-points", "500", "--quiet", "--no-quality", "--out", "map.csv"];
    good(at, &[&fit[..], &["--method", "umap"]].concat());
    let text = good(at, &["trust", "blobs", "--n-points", "500", "map.csv", "--quiet"]);
    let line = text.lines().find(|line| line.starts_with("islands: at least 15 points")).expect("the parameters");
    let width: f64 = line.split("at most ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let json = good(at, &["trust", "blobs", "--n-points", "500", "map.csv", "--json", "--quiet"]);
    let number =
        |name: &str| -> f64 { json.split(name).nth(1).unwrap().split([',', '}']).next().unwrap().parse().unwrap() };
    assert!((width / number("\"gap_width\":") - 1.0).abs() < 0.01, "{line}");
    let noise = format!("with noise of {:.2} of the distance", number("\"null_noise\":"));
    assert!(text.contains(&noise), "{text}");
    let islands = json.matches("\"weakest_connection\":").count();
    let table: Vec<&str> =
        text.split("weakest connection\n").nth(1).unwrap().lines().take_while(|line| !line.is_empty()).collect();
    assert!(islands > 1 && table.len() == islands && table[0].contains("group"), "{text}");
}

#[test]
fn jump_and_fragile_are_omitted_with_the_reason() {
    let folder = folder();
    let at = folder.path();
    let blobs = ["blobs", "--n-points", "200", "--quiet"];
    let embed =
        |flags: &[&str]| good(at, &[&["embed"], &blobs[..], flags, &["--no-quality", "--out", "map.csv"]].concat());
    let trust = |flags: &[&str]| {
        let text = good(at, &[&["trust", "blobs", "map.csv"], &blobs[1..], flags, &["--out", "t.csv"]].concat());
        (text, std::fs::read_to_string(at.join("t.csv")).unwrap())
    };
    let omitted = |(text, table): (String, String), reason: &str| {
        for column in ["jump", "fragile"] {
            assert!(text.contains(&format!("{column}: omitted, {reason}")), "{reason}: {text}");
            assert!(!table.lines().next().unwrap().contains(column), "{table}");
        }
        assert!(table.lines().next().unwrap().contains("p_value,flagged"), "{}", &table[..200]);
    };
    embed(&["--method", "pca", "--n-components", "3"]);
    omitted(trust(&[]), "the loss is evaluated on maps of 2 dimensions, and this one has 3");
    embed(&["--method", "pca"]);
    omitted(trust(&["--metric", "cosine"]), "rows are moved along their differences, which needs the Euclidean metric");
    omitted(trust(&["--n-neighbors", "3"]), "needs 30 neighbors of each row, and there are 15");
}

#[test]
fn a_map_with_ids_is_put_in_the_order_of_the_data() {
    let folder = folder();
    let at = folder.path();
    let value = |i: u64, salt: u64| ((i * 7919 + salt * 104_729) % 1009) as f64 / 1009.0;
    let line = |i: u64| format!("row{i},{},{}\n", value(i, 1), value(i * i, 2));
    let table = |order: &mut dyn Iterator<Item = u64>| order.map(line).collect::<String>();
    support::write(at, "data.csv", &format!("id,a,b\n{}", table(&mut (0..200))));
    support::write(at, "map.csv", &format!("id,projection_x,projection_y\n{}", table(&mut (0..200))));
    support::write(
        at,
        "mixed.csv",
        &format!("id,projection_x,projection_y\n{}", table(&mut (0..200).map(|i| i * 77 % 200))),
    );
    let trust = |map: &str, out: &str| {
        let output = lowland(at, &["trust", "data.csv", "--id-column", "id", map, "--out", out]);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words}");
        (words, std::fs::read_to_string(at.join(out)).unwrap())
    };
    let (same_words, same) = trust("map.csv", "same.csv");
    let (words, reordered) = trust("mixed.csv", "reordered.csv");
    assert_eq!(same, reordered);
    let message = "put in the order of the data by their ids";
    assert!(words.contains(message) && !same_words.contains(message), "{words}");
    // Without its ids, the map is one of other rows.
    let bare: String = (0..200).map(|i| line(i * 77 % 200).split_once(',').unwrap().1.to_string()).collect();
    support::write(at, "bare.csv", &format!("projection_x,projection_y\n{bare}"));
    let words = bad(at, 3, &["trust", "data.csv", "--id-column", "id", "bare.csv"]);
    assert!(words.contains("in another order"), "{words}");
}

#[test]
fn without_a_neighbor_graph_the_summary_is_estimated_from_a_sample() {
    let folder = folder();
    let at = folder.path();
    let fit = &["embed", "gaussian", "--n-points", "10001", "--method", "pca", "--out", "map.npy"][..];
    let output = lowland(at, &[fit, &["--report", "r.json"]].concat());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("pca has no exact neighbor graph of the 10001 rows"), "{text}");
    assert!(text.contains("from 1000 of 10001 rows) keep most of their neighbors"), "{text}");
    assert!(text.contains("Whether the gaps of the map are in the data was not examined"), "{text}");
    let report = std::fs::read_to_string(at.join("r.json")).unwrap();
    assert!(report.contains("\"sampled_rows\": 1000") && report.contains("\"keeping\""), "{report}");
    // The estimate is that of all rows, within four standard errors.
    let kept = |text: &str, before: &str| -> f64 {
        let words = text.split(before).nth(1).unwrap();
        words.split('%').next().unwrap().trim().parse().unwrap()
    };
    let all = good(at, &["trust", "gaussian", "--n-points", "10001", "map.npy", "--quiet"]);
    let truth: f64 = all.split('%').next().unwrap().parse().unwrap();
    assert!((kept(&text, "\nAbout ") - truth).abs() < 6.5, "{text} {all}");
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
