//! Tests of `lowland spectrum` and of `--method auto`.

mod support;

use support::{bad, folder, good, lowland, small_table, write};

#[test]
fn a_spectrum_is_a_page_with_a_slider_a_picture_maps_and_a_table_of_scores() {
    let folder = folder();
    let at = folder.path();
    let digits = ["spectrum", "digits", "--max-rows", "200", "--perplexity", "10", "--exaggerations", "1,4,12"];
    let out = [
        "--max-iter",
        "120",
        "--exaggeration-iter",
        "50",
        "--out",
        "s.html",
        "--out",
        "s.png",
        "--maps",
        ".",
        "--quiet",
    ];
    let table = good(at, &[&digits[..], &out].concat());
    assert!(table.starts_with("scores of the maps by exaggeration:\nexaggeration "), "{table}");
    assert!(table.contains("knn recall (15)"), "{table}");
    let names: Vec<&str> = table.lines().skip(2).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["1", "4", "12"]);
    let page = std::fs::read_to_string(at.join("s.html")).unwrap();
    assert!(page.contains(r#""slider":{"label":"exaggeration","values":[1.0,4.0,12.0]}"#));
    for name in ["1", "4", "12"] {
        let map = std::fs::read_to_string(at.join(format!("exaggeration-{name}.csv"))).unwrap();
        assert_eq!(map.lines().count(), 201);
    }
    // The same input and seed give the same bytes.
    assert_eq!(good(at, &[&digits[..], &out, &["--threads", "1"]].concat()), table);
    assert_eq!(std::fs::read_to_string(at.join("s.html")).unwrap(), page);
}

#[test]
fn a_spectrum_rejects_what_it_cannot_use_before_any_work() {
    let folder = folder();
    let at = folder.path();
    let spectrum = ["spectrum", "digits", "--out", "s.html"];
    let error = |more: &[&str]| bad(at, 2, &[&spectrum[..], more].concat());
    assert!(error(&["--exaggeration", "4"]).contains("--exaggerations"));
    assert!(error(&["--landmarks", "100"]).contains("--max-rows"));
    assert!(error(&["--n-neighbors", "4"]).contains("not a parameter of tsne"));
    assert!(
        error(&["--exaggerations", "4,2", "--max-rows", "50"]).contains("--exaggerations 4,2: at least one number")
    );
    assert!(error(&["--exaggerations", "1,5000", "--max-rows", "50"]).contains("--exaggerations 5000: from 1 to"));
    assert!(error(&["--maps", "nowhere"]).contains("no such folder"));
    assert!(bad(at, 2, &["spectrum", "digits"]).contains("--out"));
    assert!(bad(at, 2, &["spectrum", "digits", "--out", "s.csv"]).contains(".html"));
}

#[test]
fn auto_prints_the_choice_with_its_reason_and_fits_it_to_all_rows() {
    let folder = folder();
    let at = folder.path();
    let embed =
        ["embed", "swiss-roll", "--n-points", "300", "--method", "auto", "--out", "m.csv", "--report", "r.json"];
    let output = lowland(at, &embed);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("neighbors kept") && stderr.contains("has the largest mean"), "{stderr}");
    assert!(stderr.contains("(240 rows fitted, 60 held out)"), "{stderr}");
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(at.join("r.json")).unwrap()).unwrap();
    let chosen = report["method_choice"]["method"].as_str().unwrap();
    assert_eq!(report["method"], chosen);
    assert_eq!(report["method_choice"]["scores"].as_array().unwrap().len(), 7);
    // The map is that of the chosen method.
    let map = std::fs::read_to_string(at.join("m.csv")).unwrap();
    good(at, &["embed", "swiss-roll", "--n-points", "300", "--method", chosen, "--out", "again.csv", "--quiet"]);
    assert_eq!(std::fs::read_to_string(at.join("again.csv")).unwrap(), map);
}

#[test]
fn auto_answers_few_rows_distances_strings_and_foreign_parameters() {
    let folder = folder();
    let at = folder.path();
    write(at, "t.csv", &small_table());
    let columns = ["--label-column", "kind", "--id-column", "name", "--out", "m.csv"];
    let output = lowland(at, &[&["embed", "t.csv", "--method", "auto"][..], &columns].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.contains("tsne is the default; fewer than 60 rows"), "{stderr}");
    let auto = ["embed", "digits", "--max-rows", "80", "--method", "auto", "--out", "m.csv"];
    assert!(bad(at, 2, &[&auto[..], &["--inducing", "5"]].concat()).contains("none of the methods that are compared"));
    write(at, "d.csv", "0,1\n1,0\n");
    let distances =
        ["embed", "d.csv", "--header", "no", "--metric", "precomputed", "--method", "auto", "--out", "m.csv"];
    assert!(bad(at, 2, &distances).contains("name a method"));
    write(at, "known.csv", "id,projection_x,projection_y\n0,7,-1\n1,1,2\n");
    assert!(bad(at, 2, &[&auto[..], &["--fixed", "known.csv"]].concat()).contains("leave it out with --fixed"));
    let words: Vec<String> =
        (0..70).map(|i| format!("{}{}", "ab".repeat(i % 7 + 1), "c".repeat(i % 5) + &i.to_string())).collect();
    write(at, "w.txt", &words.join("\n"));
    let strings =
        ["embed", "w.txt", "--metric", "levenshtein", "--method", "auto", "--perplexity", "5", "--out", "w.csv"];
    let output = lowland(at, &strings);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.contains("pca is left out"), "{stderr}");
}
