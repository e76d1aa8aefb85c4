//! Tests of the command line: files, streams, exit codes.

mod support;

use support::{bad, folder, good, lowland, small_table, write};

#[test]
fn the_readme_command_leaves_a_picture_and_a_map_and_prints_scores() {
    let folder = folder();
    let output = lowland(folder.path(), &["embed", "digits", "--out", "digits.png"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("trustworthiness"), "{stderr}");
    assert!(stderr.contains("wrote digits.png, digits.csv"), "{stderr}");
    let picture = std::fs::read(folder.path().join("digits.png")).unwrap();
    assert_eq!(&picture[..8], b"\x89PNG\r\n\x1a\n");
    let map = std::fs::read_to_string(folder.path().join("digits.csv")).unwrap();
    assert!(map.starts_with("projection_x,projection_y,label"), "{}", &map[..80]);
    assert_eq!(map.lines().count(), 1798);
}

#[test]
fn the_map_beside_a_picture_never_replaces_the_input() {
    let folder = folder();
    write(folder.path(), "t.csv", &small_table());
    let arguments = ["embed", "t.csv", "--label-column", "kind", "--id-column", "name", "--out", "t.png", "--quiet"];
    good(folder.path(), &arguments);
    assert_eq!(std::fs::read_to_string(folder.path().join("t.csv")).unwrap(), small_table());
    assert!(folder.path().join("t.map.csv").exists());
}

#[test]
fn the_map_beside_a_page_never_replaces_what_is_not_a_map() {
    let folder = folder();
    let at = folder.path();
    let embed = ["embed", "digits", "--max-rows", "40", "--method", "pca", "--no-quality", "--quiet", "--out"];
    let text = |name: &str| std::fs::read_to_string(at.join(name)).unwrap();
    write(at, "results.csv", "a,b\n1,2\n");
    good(at, &[&embed[..], &["results.html"]].concat());
    assert_eq!(text("results.csv"), "a,b\n1,2\n");
    assert_eq!(text("results.map.csv").lines().count(), 41);
    // A map of ours is replaced by the new one.
    write(at, "again.csv", "projection_x,projection_y\n1,2\n");
    good(at, &[&embed[..], &["again.html"]].concat());
    assert_eq!(text("again.csv"), text("results.map.csv"));
}

#[test]
fn a_csv_with_labels_and_ids_becomes_a_map_with_both() {
    let folder = folder();
    write(folder.path(), "t.csv", &small_table());
    let arguments = ["embed", "t.csv", "--label-column", "kind", "--id-column", "name", "--method", "pca", "--quiet"];
    let map = good(folder.path(), &arguments);
    assert!(map.starts_with("id,projection_x,projection_y,label\nr0,"), "{map}");
    assert!(map.trim_end().ends_with(",odd"));
}

#[test]
fn the_same_seed_gives_the_same_bytes_for_any_number_of_threads() {
    let folder = folder();
    let run = |threads: &str| {
        let blobs = ["embed", "blobs", "--n-points", "600", "--max-iter", "50", "--seed", "5", "--quiet", "--threads"];
        good(folder.path(), &[&blobs[..], &[threads]].concat())
    };
    let first = run("1");
    assert_eq!(run("2"), first);
    assert_eq!(run("3"), first);
}

#[test]
fn a_saved_model_places_its_training_rows() {
    let folder = folder();
    write(folder.path(), "t.csv", &small_table());
    let input = ["t.csv", "--label-column", "kind", "--id-column", "name"];
    let embed = ["embed", "--method", "pca", "--standardize", "--save", "m.lowland", "--quiet"];
    let map = good(folder.path(), &[&embed[..], &input].concat());
    let again = good(folder.path(), &[&["transform", "m.lowland", "--quiet"][..], &input].concat());
    assert_eq!(map, again);

    let bytes = std::fs::read(folder.path().join("m.lowland")).unwrap();
    std::fs::write(folder.path().join("cut.lowland"), &bytes[..bytes.len() / 2]).unwrap();
    let words = bad(folder.path(), 3, &["transform", "cut.lowland", "t.csv"]);
    assert!(words.contains("cut.lowland") && words.contains("checksum"), "{words}");
    write(folder.path(), "narrow.csv", "1,2\n3,4\n");
    let words = bad(folder.path(), 3, &["transform", "m.lowland", "narrow.csv"]);
    assert!(words.contains("expected 3, found 2"), "{words}");
}

#[test]
fn a_saved_model_says_how_sure_and_how_likely_it_is_and_makes_rows_for_points() {
    let folder = folder();
    let at = folder.path();
    write(at, "t.csv", &small_table());
    let named = ["--label-column", "kind", "--id-column", "name"];
    let fit = ["embed", "t.csv", "--method", "lvm", "--save", "m.lowland", "--out", "map.csv", "--quiet"];
    good(at, &[&fit[..], &named].concat());
    let placed = good(at, &[&["transform", "m.lowland", "t.csv", "--quiet"][..], &named].concat());
    assert!(placed.starts_with("id,projection_x,projection_y,label,std\n"), "{placed}");
    good(at, &[&["embed", "t.csv", "--method", "gplvm", "--save", "g.lowland", "--quiet"][..], &named].concat());
    let scores = good(at, &[&["score", "g.lowland", "t.csv", "--quiet"][..], &named].concat());
    assert_eq!((scores.lines().next(), scores.lines().count()), (Some("row,score"), 41));
    good(at, &["inverse", "m.lowland", "map.csv", "--out", "rows.csv", "--quiet"]);
    let rows = std::fs::read_to_string(at.join("rows.csv")).unwrap();
    assert!(rows.starts_with("id,a,b,c,label\nr0,"), "{rows}");
    let words = bad(at, 2, &[&["score", "m.lowland", "t.csv"][..], &named].concat());
    assert!(words.contains("no likelihood"), "{words}");
}

#[test]
fn neighbor_graphs_are_saved_and_reused() {
    let folder = folder();
    good(folder.path(), &["neighbors", "digits", "--n-neighbors", "20", "--out", "g.npz", "--quiet"]);
    let embed = ["embed", "digits", "--method", "lvm", "--max-iter", "20", "--no-quality", "--quiet"];
    let direct = good(folder.path(), &embed);
    let reused = good(folder.path(), &[&embed[..], &["--neighbors", "g.npz"]].concat());
    assert_eq!(direct, reused);
    let few = ["embed", "digits", "--method", "lvm", "--max-iter", "2", "--no-quality", "--neighbors", "g.npz"];
    let output = lowland(folder.path(), &[&few[..], &["--n-neighbors", "30", "--out", "m.csv"]].concat());
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(words.contains("--n-neighbors reduced from 30 to 20"), "{words}");
    let words = bad(folder.path(), 3, &["embed", "swiss-roll", "--neighbors", "g.npz"]);
    assert!(words.contains("neighbor graph"), "{words}");
}

#[test]
fn a_report_holds_parameters_times_and_scores() {
    let folder = folder();
    let embed = ["embed", "s-curve", "--n-points", "300", "--report", "r.json", "--out", "m.npy", "--quiet"];
    let fit = |more: &[&str]| -> serde_json::Value {
        good(folder.path(), &[&embed[..], more].concat());
        serde_json::from_slice(&std::fs::read(folder.path().join("r.json")).unwrap()).unwrap()
    };
    let report = fit(&[]);
    assert_eq!(report["method"], "tsne");
    assert_eq!(report["parameters"]["perplexity"], 30);
    assert_eq!(report["input"]["rows"], 300);
    assert!(report["total"]["wall_seconds"].as_f64().unwrap() > 0.0);
    assert!(report["stages"].as_array().unwrap().iter().any(|stage| stage["name"] == "neighbors"));
    let scores = report["scores"]["values"].as_array().unwrap();
    assert!(scores.iter().any(|score| score["name"] == "trustworthiness" && score["value"].as_f64().unwrap() > 0.8));
    // A method with standard deviations lists the least certain points.
    let report = fit(&["--method", "lvm"]);
    let outliers = report["outliers"].as_array().unwrap();
    assert_eq!(outliers.len(), 100);
    assert!(outliers[0]["std"].as_f64().unwrap() >= outliers[99]["std"].as_f64().unwrap());
    // Exact sums have no error.
    assert!(report["repulsion"].is_null() && report["predicted_noise"].is_null());
}

#[test]
fn a_report_holds_the_error_of_the_repulsion_the_curvature_and_the_predicted_noise() {
    let folder = folder();
    let embed = ["embed", "s-curve", "--n-points", "1200", "--no-quality", "--report", "r.json", "--out", "m.npy"];
    let fit = |method: &str| -> serde_json::Value {
        let more = ["--method", method, "--engine", "fast-gauss", "--max-iter", "60", "--quiet"];
        good(folder.path(), &[&embed[..], &more].concat());
        serde_json::from_slice(&std::fs::read(folder.path().join("r.json")).unwrap()).unwrap()
    };
    for method in ["ee", "ssne"] {
        let report = fit(method);
        let (repulsion, noise) = (&report["repulsion"], &report["predicted_noise"]);
        let number = |value: &serde_json::Value| value.as_f64().unwrap_or_else(|| panic!("{method}: {report}"));
        assert_eq!(repulsion["engine"], "fast-gauss", "{report}");
        let error = number(&repulsion["error"]);
        assert!(error > 0.0 && (error <= 0.01 || repulsion["above_tolerance"].is_string()), "{report}");
        assert!(number(&noise["deviation"]) > 0.0 && number(&noise["relative_deviation"]) > 0.0, "{report}");
        // The expected change has the sign of the mean curvature, and keeps its bound.
        let change = number(&noise["relative_change"]);
        assert!(change * number(&noise["mean_curvature"]) > 0.0, "{report}");
        assert_eq!(noise["relative_bound"].is_null(), method == "ssne", "{report}");
        assert!(noise["relative_bound"].as_f64().is_none_or(|bound| change.abs() <= bound), "{report}");
        let notes = report["notes"].as_array().unwrap();
        assert!(notes.iter().any(|note| note.as_str().unwrap().starts_with("mean curvature")), "{report}");
    }
}

#[test]
fn large_maps_are_scored_on_a_sample_with_standard_errors_unless_exact_scores_are_asked_for() {
    let folder = folder();
    let embed = ["embed", "s-curve", "--n-points", "3100", "--method", "pca", "--report", "r.json", "--out", "m.npy"];
    let fit = |more: &[&str]| -> (String, serde_json::Value) {
        let output = lowland(folder.path(), &[&embed[..], more].concat());
        let words = String::from_utf8(output.stderr).unwrap();
        let report: serde_json::Value =
            serde_json::from_slice(&std::fs::read(folder.path().join("r.json")).unwrap()).unwrap();
        let scores = report["scores"]["values"].as_array().unwrap();
        (words, scores.iter().find(|score| score["name"] == "trustworthiness").unwrap().clone())
    };
    let (words, sampled) = fit(&[]);
    assert_eq!(sampled["sampled"], 3000);
    assert!(words.contains("[sample of 3000]") && words.contains(" ± "), "{words}");
    let (_, exact) = fit(&["--quality", "exact"]);
    assert!(exact["sampled"].is_null() && exact["standard_error"].is_null());
    let error = (sampled["value"].as_f64().unwrap() - exact["value"].as_f64().unwrap()).abs();
    assert!(error > 0.0 && error < 5.0 * sampled["standard_error"].as_f64().unwrap(), "{sampled} {exact}");
}

#[test]
fn json_lines_are_json_and_end_with_the_report() {
    let folder = folder();
    let lines = good(folder.path(), &["embed", "helix", "--n-points", "200", "--json", "--out", "m.csv"]);
    let events: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(events.iter().any(|event| event["event"] == "stage"));
    assert_eq!(events.last().unwrap()["event"], "done");
}

#[test]
fn a_checkpoint_is_taken_up_only_with_what_it_was_made_of() {
    let folder = folder();
    let whole = ["embed", "swiss-roll", "--n-points", "2500", "--max-iter", "30", "--no-quality", "--quiet"];
    let map = good(folder.path(), &whole);
    let keep = ["--checkpoint", "run.ckpt", "--checkpoint-every", "0"];
    assert_eq!(good(folder.path(), &[&whole[..], &keep].concat()), map);
    let resume = ["--resume", "run.ckpt"];
    assert_eq!(good(folder.path(), &[&whole[..], &resume].concat()), map);
    let words = bad(folder.path(), 2, &[&whole[..], &resume, &["--perplexity", "12"]].concat());
    assert!(words.contains("--perplexity 30"), "{words}");
    let words = bad(folder.path(), 3, &["embed", "s-curve", "--resume", "run.ckpt"]);
    assert!(words.contains("other data"), "{words}");
}

#[test]
fn a_neighbor_graph_sets_the_metric_and_rejects_another() {
    let folder = folder();
    let at = folder.path();
    let roll = ["swiss-roll", "--n-points", "800"];
    let graph = ["neighbors", "--n-neighbors", "20", "--metric", "cosine", "--out", "g.npz", "--quiet"];
    good(at, &[&graph[..], &roll].concat());
    let embed = [&["embed", "--method", "lvm", "--max-iter", "20", "--no-quality", "--quiet"][..], &roll].concat();
    let with_graph = [&embed[..], &["--neighbors", "g.npz"]].concat();
    let direct = good(at, &[&embed[..], &["--metric", "cosine"]].concat());
    assert_eq!(good(at, &with_graph), direct);
    let words = bad(at, 2, &[&with_graph[..], &["--metric", "euclidean"]].concat());
    assert!(words.contains("made with cosine"), "{words}");
}

#[test]
fn columns_and_ids_are_matched_by_name() {
    let folder = folder();
    let at = folder.path();
    write(at, "t.csv", &small_table());
    let named = ["--label-column", "kind", "--id-column", "name"];
    let fit = ["embed", "t.csv", "--method", "pca", "--save", "m.lowland", "--out", "map.csv", "--quiet"];
    good(at, &[&fit[..], &named].concat());
    write(at, "swapped.csv", &small_table().replacen("name,a,b,c,kind", "name,b,a,c,kind", 1));
    let words = bad(at, 3, &[&["transform", "m.lowland", "swapped.csv"][..], &named].concat());
    assert!(words.contains("column 0 is \"b\" where the model was fitted on \"a\""), "{words}");

    let scores = |map: &str| good(at, &[&["quality", "t.csv", map, "--quiet"][..], &named].concat());
    let map = std::fs::read_to_string(at.join("map.csv")).unwrap();
    let (header, rows) = map.split_once('\n').unwrap();
    let reversed: Vec<&str> = rows.lines().rev().collect();
    write(at, "reversed.csv", &format!("{header}\n{}\n", reversed.join("\n")));
    assert_eq!(scores("reversed.csv"), scores("map.csv"));
    write(at, "other.csv", &map.replace("r7,", "x,"));
    let words = bad(at, 3, &[&["quality", "t.csv", "other.csv"][..], &named].concat());
    assert!(words.contains("id r7"), "{words}");
}

#[test]
fn quality_scores_a_map_against_its_data_and_another_map() {
    let folder = folder();
    good(folder.path(), &["embed", "digits", "--method", "pca", "--out", "a.csv", "--quiet"]);
    good(folder.path(), &["embed", "digits", "--method", "svd", "--out", "b.parquet", "--quiet"]);
    let text = good(folder.path(), &["quality", "digits", "a.csv", "--against", "b.parquet", "--json"]);
    let value: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let distance = value["procrustes"].as_f64().unwrap();
    assert!(distance > 0.0 && distance < 1.0, "{distance}");
    let names: Vec<&str> =
        value["scores"]["values"].as_array().unwrap().iter().map(|score| score["name"].as_str().unwrap()).collect();
    for name in ["knn recall", "trustworthiness", "continuity", "triplet accuracy", "first neighbor recall"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let words = bad(folder.path(), 3, &["quality", "swiss-roll", "a.csv"]);
    assert!(words.contains("1797"), "{words}");
}

#[test]
fn strings_are_mapped_by_edit_distance() {
    let folder = folder();
    let words: Vec<String> = (0..40).map(|i| format!("{}{}", "ab".repeat(i % 7 + 1), "c".repeat(i % 5))).collect();
    write(folder.path(), "w.txt", &words.join("\n"));
    let map = good(folder.path(), &["embed", "w.txt", "--metric", "levenshtein", "--perplexity", "6", "--quiet"]);
    assert_eq!(map.lines().count(), 41);
    let words = bad(folder.path(), 3, &["embed", "w.txt"]);
    assert!(words.contains("levenshtein"), "{words}");
}

#[test]
fn bad_input_is_named_with_its_place_and_the_way_out() {
    let folder = folder();
    let at = folder.path();
    assert!(bad(at, 3, &["embed", "no-such.csv"]).contains("no such file"));
    write(at, "nan.csv", "a,b\n1,2\n3,nan\n5,6\n");
    let words = bad(at, 3, &["embed", "nan.csv", "--method", "pca"]);
    assert!(words.contains("line 3, column \"b\"") && words.contains("--missing drop"), "{words}");
    assert_eq!(good(at, &["embed", "nan.csv", "--method", "pca", "--missing", "drop", "--quiet"]).lines().count(), 3);
    write(at, "ragged.csv", "1,2\n3,4,5\n");
    assert!(bad(at, 3, &["embed", "ragged.csv"]).contains("line 2"));
    write(at, "empty.csv", "");
    assert!(bad(at, 3, &["embed", "empty.csv"]).contains("empty"));
    write(at, "word.csv", "a,b\n1,x\n2,y\n");
    assert!(bad(at, 3, &["embed", "word.csv"]).contains("--label-column"));
    write(at, "one.csv", "1,2,3\n");
    assert_eq!(good(at, &["embed", "one.csv", "--quiet"]).lines().count(), 2);
    write(at, "few.csv", "1,2\n3,5\n4,4\n9,1\n0,7\n2,2\n8,3\n");
    let output = lowland(at, &["embed", "few.csv", "--out", "few.npy"]);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(words.contains("trustworthiness (3)"), "few points are scored with a small k: {words}");
    assert!(bad(at, 4, &["embed", "digits", "--max-memory", "10kB"]).contains("the limit is"));
}

#[test]
fn an_array_that_cannot_fit_is_refused_before_its_values_are_looked_at() {
    let folder = folder();
    // 50 GB by its header, nearly all of it a hole; a look at the first value would find that it is not finite.
    let mut bytes =
        b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (12500000, 1000)}".to_vec();
    bytes.resize(128, b' ');
    bytes.extend(f32::NAN.to_le_bytes());
    let path = folder.path().join("large.npy");
    std::fs::write(&path, bytes).unwrap();
    assert!(bad(folder.path(), 3, &["embed", "large.npy", "--max-memory", "8GB"]).contains("values"), "only promised");
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(128 + 50_000_000_000).unwrap();
    let words = bad(folder.path(), 4, &["embed", "large.npy", "--max-memory", "8GB"]);
    assert!(words.contains("the limit is 7.5 GiB"), "{words}");
    assert!(
        bad(folder.path(), 3, &["embed", "large.npy", "--max-memory", "8GB", "--max-rows", "10"]).contains("row 0")
    );
}

#[test]
fn messages_name_flags_and_never_rewrite_file_names() {
    let folder = folder();
    let at = folder.path();
    let missing = bad(at, 3, &["embed", "max_memory.csv"]);
    assert!(missing.contains("max_memory.csv") && !missing.contains("--max-memory"), "{missing}");
    let memory = bad(at, 4, &["embed", "digits", "--max-memory", "10kB"]);
    assert!(memory.contains("raise --max-memory") && !memory.contains("max_memory"), "{memory}");
    write(at, "few.csv", "1,2\n3,5\n4,4\n9,1\n0,7\n2,2\n8,3\n");
    let output = lowland(at, &["embed", "few.csv", "--method", "tsne", "--no-quality", "--out", "few.npy"]);
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(messages.contains("warning: --perplexity reduced"), "{messages}");
}

#[test]
fn transform_returns_the_fitted_coordinates_of_training_rows() {
    let folder = folder();
    let at = folder.path();
    for method in ["tsne", "lvm", "isomap", "pca"] {
        let input = ["digits", "--max-rows", "120", "--quiet"];
        let map =
            good(at, &[&["embed", "--method", method, "--no-quality", "--save", "m.lowland"], &input[..]].concat());
        assert_eq!(good(at, &[&["transform", "m.lowland"], &input[..]].concat()), map, "{method}");
        // A row that was not fitted is placed as if it were alone.
        let more = good(at, &["transform", "m.lowland", "digits", "--max-rows", "121", "--quiet"]);
        assert!(more.starts_with(&map) && more.lines().count() == 122, "{method}");
    }
}

#[test]
fn invalid_flags_are_rejected_before_any_work() {
    let folder = folder();
    let at = folder.path();
    assert!(bad(at, 2, &["embed", "digits", "--out", "map.xyz"]).contains(".parquet"));
    for flag in ["--out", "--save", "--report", "--checkpoint"] {
        assert!(bad(at, 2, &["embed", "digits", flag, "nowhere/map.csv"]).contains("no folder"), "{flag}");
    }
    write(at, "t.csv", &small_table());
    assert!(bad(at, 2, &["embed", "t.csv", "--out", "t.csv"]).contains("would replace"));
    assert!(bad(at, 2, &["embed", "digits", "--out", "m.csv", "--save", "./m.csv"]).contains("two outputs"));
    assert!(bad(at, 2, &["embed", "digits", "--json"]).contains("--out"));
    assert!(bad(at, 2, &["embed", "digits", "--label-column", "x"]).contains("built in"));
    assert!(
        bad(at, 2, &["embed", "digits", "--method", "pca", "--neighbors", "t.csv"]).contains("does not use neighbors")
    );
    assert!(bad(at, 4, &["embed", "blobs", "--n-points", "4000000000000"]).contains("--n-points"));
    assert!(bad(at, 4, &["embed", "digits", "--n-components", "18446744073709551615"]).contains("memory"));
    assert!(bad(at, 2, &["embed", "digits", "--perplexity", "many"]).contains("a number"));
    assert!(bad(at, 2, &["embed", "digits", "--perplexity", "0"]).contains("--perplexity 0"));
    assert!(bad(at, 2, &["embed", "digits", "--metric", "euclid"]).contains("braycurtis"));
    assert!(bad(at, 2, &["embed", "digits", "--method", "pca", "--n-neighbors", "5"]).contains("belongs to lvm"));
    assert!(bad(at, 2, &["embed", "digits", "--method", "magic"]).contains("spectral"));
    assert!(bad(at, 2, &["embed", "digits", "--threads", "0"]).contains("threads"));
    assert!(bad(at, 2, &["embed"]).contains("INPUT"));
    assert!(
        bad(at, 2, &["neighbors", "digits", "--exact", "--approximate", "--out", "g.npz"]).contains("cannot be used")
    );
}

#[test]
fn help_lists_and_completions_answer() {
    let folder = folder();
    let at = folder.path();
    assert!(good(at, &["embed", "--help"]).contains("--n-neighbors"));
    assert!(good(at, &["--help"]).contains("Exit codes"));
    assert!(good(at, &["methods"]).contains("(the default)"));
    assert!(good(at, &["methods", "spectral"]).contains("--n-neighbors [default: 15]"));
    assert!(good(at, &["data"]).contains("swiss-roll"));
    assert!(good(at, &["data", "describe", "digits"]).contains("classes   10"));
    assert!(good(at, &["completions", "bash"]).contains("_lowland"));
    assert!(good(at, &["manual"]).contains(".TH lowland 1"));
    assert!(good(at, &["manual", "--format", "markdown"]).contains("## embed"));
    good(at, &["manual", "--out", "."]);
    assert!(at.join("lowland-embed.1").exists());
    assert!(bad(at, 2, &["manual", "--format", "markdown", "--out", "."]).contains("--out"));
    good(at, &["data", "generate", "torus", "--n-points", "50", "--out", "t.csv"]);
    assert_eq!(good(at, &["embed", "t.csv", "--method", "pca", "--quiet"]).lines().count(), 51);
}

#[test]
fn landmarks_make_a_map_of_all_rows_and_its_vectors_answer_analogies() {
    let folder = folder();
    let at = folder.path();
    write(at, "table.csv", &small_table());
    let columns = ["--id-column", "name", "--label-column", "kind"];
    let embed =
        ["embed", "table.csv", "--method", "tsm", "--landmarks", "20", "--tau", "0.8", "--out", "map.csv", "--quiet"];
    good(at, &[&embed[..], &columns].concat());
    let map = std::fs::read_to_string(at.join("map.csv")).expect("the map");
    assert_eq!(map.lines().count(), 41);
    let scores = good(at, &[&["quality", "table.csv", "map.csv", "--tau", "0.8"][..], &columns].concat());
    assert!(scores.contains("mean deviation") && scores.contains("Jaccard"), "{scores}");
    write(at, "questions.txt", ": gram-rows\nr1 r2 r3 r4\nr1 r2 r3 nobody\n");
    let answers = good(at, &["analogies", "--vectors", "map.csv", "--questions", "questions.txt"]);
    assert!(answers.contains("of 1, 1 left out") && answers.contains("syntactic"), "{answers}");
    write(at, "broken.txt", "r1 r2 r3\n");
    assert!(bad(at, 3, &["analogies", "--vectors", "map.csv", "--questions", "broken.txt"]).contains("line 1"));
    assert!(bad(at, 2, &["embed", "table.csv", "--method", "tsm", "--tau", "1.5"]).contains("tau"));
}

#[test]
fn a_page_is_one_file_with_the_map_beside_it_and_its_size_is_told() {
    let folder = folder();
    write(folder.path(), "t.csv", &small_table());
    let arguments =
        ["embed", "t.csv", "--label-column", "kind", "--id-column", "name", "--method", "pca", "--out", "page.html"];
    let output = lowland(folder.path(), &arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("wrote page.html (") && stderr.contains("KiB), page.csv"), "{stderr}");
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    for part in
        ["\"rows\":40", "\"name\":\"pca\"", "\"name\":\"label\"", "\"name\":\"a\"", "id=\"kept-0\"", "id=\"ids\""]
    {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn plot_and_compare_write_pages_of_several_maps() {
    let folder = folder();
    write(folder.path(), "t.csv", &small_table());
    let of_table = ["--label-column", "kind", "--id-column", "name", "--quiet"];
    for method in ["pca", "spectral"] {
        let out = format!("{method}.csv");
        good(
            folder.path(),
            &[&["embed", "t.csv", "--method", method, "--no-quality", "--out", &out][..], &of_table].concat(),
        );
    }
    let plot = ["plot", "pca.csv", "spectral.csv", "--data", "t.csv", "--out", "two.html", "--out", "two.png"];
    good(folder.path(), &[&plot[..], &of_table].concat());
    good(
        folder.path(),
        &[&["compare", "t.csv", "--methods", "pca,spectral", "--out", "c.html"][..], &of_table].concat(),
    );
    let page = std::fs::read_to_string(folder.path().join("c.html")).unwrap();
    assert!(page.contains("\"table\":{\"header\":[\"method\""));
    for name in ["two.html", "c.html"] {
        let page = std::fs::read_to_string(folder.path().join(name)).unwrap();
        for part in ["id=\"map-1\"", "id=\"kept-1\"", "\"name\":\"spectral\""] {
            assert!(page.contains(part), "{name}: {part}");
        }
    }
    assert!(folder.path().join("two.png").exists());
}

/// Fifty points on a bent ribbon.
fn ribbon() -> String {
    let rows = (0..50).map(|i| {
        let t = f64::from(i) * 0.08;
        format!("{},{},{}\n", t.cos(), t.sin(), f64::from(i % 5) * 0.1)
    });
    format!("a,b,c\n{}", rows.collect::<String>())
}

#[test]
fn select_prints_a_table_draws_a_picture_and_recommends() {
    let folder = folder();
    write(folder.path(), "r.csv", &ribbon());
    let few = ["--starts", "2", "--max-iter", "15"];
    let lists =
        ["select", "r.csv", "--n-neighbors", "4..8:2", "--n-components", "1,2", "--out", "s.png", "--out", "s.csv"];
    let output = lowland(folder.path(), &[&lists[..], &few].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.contains("take n_neighbors"), "{stderr}");
    assert!(stderr.contains("memory: about"), "{stderr}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 7);
    assert_eq!(std::fs::read_to_string(folder.path().join("s.csv")).unwrap().lines().count(), 7);
    assert_eq!(&std::fs::read(folder.path().join("s.png")).unwrap()[..4], b"\x89PNG");
    let json = good(folder.path(), &[&["select", "r.csv", "--n-neighbors", "4,6", "--json"], &few[..]].concat());
    assert!(json.lines().last().unwrap().contains("\"recommendation\""), "{json}");
    assert!(bad(folder.path(), 2, &["select", "r.csv", "--n-neighbors", "9..3"]).contains("expected a list"));
    bad(folder.path(), 2, &["select", "r.csv", "--method", "lvm"]);
    assert!(bad(folder.path(), 2, &["select", "r.csv", "--n-neighbors", "50"]).contains("from 1 to 49"));
    bad(folder.path(), 4, &["select", "r.csv", "--max-memory", "1KiB"]);
    // Alpha set by the bound ruins the map: that is said, once for all choices.
    let free = ["--alpha", "optimise", "--n-neighbors", "5,6", "--starts", "1", "--max-iter", "40"];
    let output = lowland(folder.path(), &[&["select", "swiss-roll", "--n-points", "40"], &free[..]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(stderr.matches("collapsed").count(), 1, "{stderr}");
    assert!(stderr.contains("(n_neighbors 5, n_components 2; n_neighbors 6, n_components 2)"), "{stderr}");
}

#[test]
fn the_threshold_that_select_finds_is_that_of_tsm() {
    let folder = folder();
    let at = folder.path();
    let angles = ["select", "digits", "--method", "tsm", "--density", "0.03"];
    let output = lowland(at, &[&angles[..], &["--out", "angles.png", "--out", "angles.csv"]].concat());
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && stdout.contains("nearest neighbors"), "{stderr}");
    let tau = stderr.split("take --tau ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a threshold");
    let fit = ["embed", "digits", "--method", "tsm", "--density", "0.03", "--max-iter", "2", "--out", "map.npy"];
    let fitted = lowland(at, &fit);
    let notes = String::from_utf8_lossy(&fitted.stderr);
    assert!(notes.contains(&format!("tau {tau} ")), "{tau}: {notes}");
    let table = std::fs::read_to_string(at.join("angles.csv")).unwrap();
    let nearest: u64 = table.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!((table.lines().count(), nearest), (181, 1797));
    assert_eq!(&std::fs::read(at.join("angles.png")).unwrap()[..4], b"\x89PNG");
    assert!(good(at, &[&angles[..], &["--json"]].concat()).contains("\"event\":\"angles\""));
    assert!(bad(at, 2, &["select", "digits", "--method", "tsm", "--density", "0"]).contains("density"));
    assert!(bad(at, 2, &["select", "digits", "--method", "tsm", "--screen-edges"]).contains("--method lllvm"));
}

#[test]
fn edges_are_compared_and_screened() {
    let folder = folder();
    write(folder.path(), "r.csv", &ribbon());
    let few = ["select", "r.csv", "--n-neighbors", "5", "--starts", "2", "--max-iter", "15"];
    let with = |more: &[&str]| good(folder.path(), &[&few[..], more].concat());
    let screened = with(&["--screen-edges", "3", "--quiet"]);
    assert!(screened.contains("most suspicious edges") && screened.contains("without the first 3"), "{screened}");
    assert!(with(&["--without-edge", "1,2", "--quiet"]).contains("without 1,2"));
    let json = with(&["--screen-edges", "3", "--json"]);
    let last: serde_json::Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    assert!(last["verdict"].as_str().unwrap().contains("bound") && last["graphs"][0]["mean"].is_f64(), "{json}");
    assert_eq!((&last["graphs"][0]["graph"], last["graphs"].as_array().unwrap().len()), (&"all edges".into(), 2));
    assert!(last["graphs"][1]["std"].is_f64() && last["suspects"].as_array().unwrap().len() == 3);
    let path: String = (0..49).map(|i| format!("{i},{}\n", i + 1)).collect();
    write(folder.path(), "path.csv", &format!("i,j\n{path}"));
    assert!(with(&["--edges", "path.csv"]).contains("the file's edges"));
    // No header, and spaces: still every edge.
    write(folder.path(), "spaced.csv", &path.replace(',', ", "));
    assert_eq!(with(&["--edges", "spaced.csv"]), with(&["--edges", "path.csv"]));
    assert!(bad(folder.path(), 2, &[&few[..], &["--screen-edges", "3", "--out", "e.png"]].concat()).contains(".csv"));
    bad(folder.path(), 3, &[&few[..], &["--without-edge", "0,40"]].concat());
    write(folder.path(), "wrong.csv", "i,j\nx,y\n");
    bad(folder.path(), 3, &[&few[..], &["--edges", "wrong.csv"]].concat());
}

#[test]
fn a_posterior_rebuilds_rows_with_error_bars_and_draws_maps() {
    let folder = folder();
    write(folder.path(), "r.csv", &ribbon());
    let embed = ["embed", "r.csv", "--method", "lllvm", "--starts", "1", "--max-iter", "20", "--save", "m.lowland"];
    good(folder.path(), &[&embed[..], &["--out", "map.csv", "--report", "r.json", "--quiet"]].concat());
    assert!(std::fs::read_to_string(folder.path().join("r.json")).unwrap().contains("\"covariances\": ["));
    // Covariances go with the map, of new rows too, and are drawn.
    let columns = "projection_x,projection_y,std,cov_x_x,cov_x_y,cov_y_y\n";
    assert!(std::fs::read_to_string(folder.path().join("map.csv")).unwrap().starts_with(columns));
    good(folder.path(), &["transform", "m.lowland", "r.csv", "--out", "new.csv", "--out", "new.html", "--quiet"]);
    assert!(std::fs::read_to_string(folder.path().join("new.csv")).unwrap().starts_with(columns));
    assert!(std::fs::read_to_string(folder.path().join("new.html")).unwrap().contains("id=\"covariances-0\""));
    good(
        folder.path(),
        &["plot", "map.csv", "--uncertainty", "ellipses", "--out", "e.svg", "--out", "e.html", "--quiet"],
    );
    let drawn = std::fs::read_to_string(folder.path().join("e.svg")).unwrap();
    assert_eq!(drawn.matches("<ellipse ").count(), 50);
    assert!(drawn.contains("ellipses of one standard deviation"));
    assert!(std::fs::read_to_string(folder.path().join("e.html")).unwrap().contains("id=\"covariances-0\""));
    good(folder.path(), &["reconstruct", "m.lowland", "map.csv", "--out", "rows.csv"]);
    let rows = std::fs::read_to_string(folder.path().join("rows.csv")).unwrap();
    assert!(rows.starts_with("a,a_std,b,b_std,c,c_std\n"), "{}", &rows[..60]);
    assert_eq!(rows.lines().count(), 51);
    good(folder.path(), &["samples", "m.lowland", "--count", "3", "--out", "samples.csv"]);
    let samples = std::fs::read_to_string(folder.path().join("samples.csv")).unwrap();
    assert!(samples.starts_with("sample,row,projection_x,projection_y\n0,0,"));
    assert_eq!(samples.lines().count(), 151);
    let words = bad(folder.path(), 4, &["samples", "m.lowland", "--out", "more.csv", "--max-memory", "1KiB"]);
    assert!(words.contains("m.lowland") && words.contains("raise --max-memory"), "{words}");
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_not_utf_8_is_an_error_or_a_file_name() {
    use std::os::unix::ffi::OsStrExt;
    let folder = folder();
    let name = std::ffi::OsStr::from_bytes(b"\xff.csv");
    let run = |arguments: &[&std::ffi::OsStr]| {
        let mut command = assert_cmd::Command::cargo_bin("lowland").unwrap();
        command.current_dir(folder.path()).args(arguments).timeout(support::program::TIMEOUT).output().unwrap()
    };
    let missing = run(&["embed".as_ref(), name, "--quiet".as_ref()]);
    assert_eq!(missing.status.code(), Some(3), "{}", String::from_utf8_lossy(&missing.stderr));
    let flag = run(&["embed".as_ref(), "digits".as_ref(), "--method".as_ref(), name]);
    assert_eq!(flag.status.code(), Some(2), "{}", String::from_utf8_lossy(&flag.stderr));
}

#[test]
fn fixed_rows_keep_their_positions_and_the_others_are_placed() {
    let folder = folder();
    let at = folder.path();
    write(at, "t.csv", &small_table());
    write(at, "known.csv", "id,projection_x,projection_y\nr39,7,-1\nr0,1,2\nr20,4,0.5\nr5,0.25,3\nr34,6,0\n");
    let columns = ["--label-column", "kind", "--id-column", "name"];
    let embed = [&["embed", "t.csv", "--fixed", "known.csv", "--quiet"][..], &columns].concat();
    let map = good(at, &[&embed[..], &["--save", "m.lowland"]].concat());
    for line in ["r0,1.0,2.0,even", "r5,0.25,3.0,odd", "r20,4.0,0.5,even", "r39,7.0,-1.0,odd"] {
        assert!(map.lines().any(|found| found == line), "{line}: {map}");
    }
    assert_eq!(map.lines().count(), 41);
    let again = good(at, &[&["transform", "m.lowland", "t.csv", "--quiet"][..], &columns].concat());
    assert_eq!(again, map);
    // Without ids, they are row numbers.
    write(at, "rows.csv", "id,projection_x\n39,7\n0,1\n20,4\n");
    let numbers =
        small_table().lines().map(|line| format!("{}\n", line.split_once(',').unwrap().1)).collect::<String>();
    write(at, "n.csv", &numbers);
    let map = good(at, &["embed", "n.csv", "--label-column", "kind", "--fixed", "rows.csv", "--quiet"]);
    assert!(map.starts_with("projection_x,label\n1.0,even\n"), "{map}");
    write(at, "unknown.csv", "id,projection_x,projection_y\nr0,1,2\nx1,1,1\nr3,0,0\n");
    let error = bad(at, 2, &[&["embed", "t.csv", "--fixed", "unknown.csv"][..], &columns].concat());
    assert!(error.contains("--fixed (row x1): no row of the data has this id"), "{error}");
    let error = bad(at, 2, &[&embed[..], &["--n-components", "3"]].concat());
    assert!(error.contains("--n-components 3") && error.contains("fixed positions have 2 coordinates"), "{error}");
    let error = bad(at, 2, &[&embed[..], &["--perplexity", "20"]].concat());
    assert!(error.contains("--perplexity 20: it has no effect with fixed positions"), "{error}");
    let error = bad(at, 2, &[&embed[..], &["--landmarks", "10"]].concat());
    assert!(error.contains("cannot be combined with --landmarks"), "{error}");
}

#[test]
fn notes_about_similarities_are_worded_in_flags() {
    let folder = folder();
    let arguments = ["embed", "digits", "--max-rows", "200", "--method", "tsm", "--max-iter", "5", "--out", "d.csv"];
    let output = lowland(folder.path(), &arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("that --density 0.01 selects") && stderr.contains("--tau 0."), "{stderr}");
    assert!(stderr.contains("--n-components 4") && !stderr.contains("n_components"), "{stderr}");
}

#[test]
fn missing_cells_are_refused_or_inferred() {
    let folder = folder();
    let at = folder.path();
    // A noisy half circle, with a cell of its third column, which is the first plus one, missing in every fifth row.
    let row = |i: usize| {
        let angle = i as f64 * 0.05;
        let third = if i % 5 == 2 { String::new() } else { (1.0 + angle.cos()).to_string() };
        format!("{},{},{third}\n", angle.cos(), angle.sin() + 0.01 * ((i * 37) % 11) as f64)
    };
    write(at, "gaps.csv", &format!("a,b,c\n{}", (0..60).map(row).collect::<String>()));
    let embed = ["embed", "gaps.csv", "--method", "lllvm", "--starts", "1", "--n-components", "1", "--quiet"];
    assert!(bad(at, 3, &embed).contains("--missing"));
    let asked =
        [&embed[..], &["--missing-values", "marginalize", "--inferred", "cells.csv", "--save", "m.lowland"]].concat();
    let map = good(at, &asked);
    assert_eq!(map.lines().count(), 61);
    let cells = std::fs::read_to_string(at.join("cells.csv")).unwrap();
    assert!(cells.starts_with("row,column,value,std\n2,c,"), "{cells}");
    for line in cells.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let (row, value): (f64, f64) = (fields[0].parse().unwrap(), fields[2].parse().unwrap());
        assert!((value - 1.0 - (row * 0.05).cos()).abs() < 0.05, "{line}");
    }
    assert_eq!(cells.lines().count(), 13);
    write(at, "new.csv", "a,b,c\n1,0,2\n");
    assert_eq!(good(at, &["transform", "m.lowland", "new.csv", "--quiet"]).lines().count(), 2);
    // Landmarks need all cells.
    let error = bad(at, 3, &[&asked[..9], &["--missing-values", "marginalize", "--landmarks", "20"]].concat());
    assert!(error.contains("row 2, column 2"), "{error}");
}
