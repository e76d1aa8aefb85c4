//! Tests of `plot` and `compare` through the command line.

mod support;

use std::path::Path;

use support::{bad, folder, good, lowland, small_table, write};

/// A name no file can have, though its folder is there.
fn unwritable(ending: &str) -> String {
    format!("{}.{ending}", "x".repeat(300))
}

/// A map of 30 points on a crooked line, with everything a map can have; turned and mirrored on request.
fn map(turned: bool) -> String {
    let point = |i: i32| {
        let (x, y) = (f64::from(i), (f64::from(i) * 0.4).sin() * 5.0 + f64::from(i % 3));
        if turned { (3.0 * y - 7.0, 3.0 * x + 100.0) } else { (x, y) }
    };
    let row = |i: i32| {
        let ((x, y), class) = (point(i), ["one", "two"][(i % 2) as usize]);
        format!("r{i},{x},{y},{class},{},{},{}\n", 0.1 * f64::from(i % 5), f64::from(i) * 1.5, i % 4)
    };
    format!("id,projection_x,projection_y,label,std,depth,group\n{}", (0..30).map(row).collect::<String>())
}

fn read(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn svg(folder: &Path, arguments: &[&str]) -> String {
    good(folder, &[&["plot", "--quiet", "--out", "x.svg"], arguments].concat());
    String::from_utf8(read(folder, "x.svg")).unwrap()
}

/// The text of a picture, line by line, with spaces between the lines.
fn text_of(svg: &str) -> String {
    svg.split("</text>").filter_map(|part| part.rsplit('>').next()).map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Centres of the circles of a radius, in the order of the file.
fn circles(svg: &str) -> Vec<[f64; 2]> {
    let value = |line: &str, name: &str| -> f64 {
        let rest = line.split(&format!(" {name}=\"")).nth(1).unwrap();
        rest.split('"').next().unwrap().parse().unwrap()
    };
    svg.lines().filter(|line| line.starts_with("<circle")).map(|line| [value(line, "cx"), value(line, "cy")]).collect()
}

#[test]
fn the_extension_determines_the_format() {
    let folder = folder();
    let at = folder.path();
    write(at, "map.csv", &map(false));
    good(at, &["plot", "map.csv", "--out", "a.png", "--out", "a.svg", "--out", "a.PDF", "--quiet"]);
    assert!(read(at, "a.png").starts_with(b"\x89PNG\r\n\x1a\n"));
    assert!(read(at, "a.svg").starts_with(b"<svg xmlns=") && read(at, "a.svg").ends_with(b"</svg>\n"));
    assert!(read(at, "a.PDF").starts_with(b"%PDF-1.4") && read(at, "a.PDF").ends_with(b"%%EOF\n"));
    // The same flags give the same bytes, and `embed` draws the same formats.
    good(at, &["plot", "map.csv", "--out", "b.png", "--quiet", "--title", "map"]);
    assert_eq!(read(at, "a.png"), read(at, "b.png"));
    write(at, "t.csv", &small_table());
    let input = ["t.csv", "--label-column", "kind", "--id-column", "name", "--method", "pca", "--quiet"];
    good(at, &[&["embed", "--out", "e.pdf", "--out", "e.svg"][..], &input].concat());
    assert!(read(at, "e.pdf").starts_with(b"%PDF-1.4") && read(at, "e.svg").starts_with(b"<svg"));
}

#[test]
fn a_rotated_reflected_and_scaled_map_is_aligned_to_the_first() {
    let folder = folder();
    let at = folder.path();
    write(at, "a.csv", &map(false));
    write(at, "b.csv", &map(true));
    let picture = svg(at, &["a.csv", "b.csv", "--names", "first,second", "--color", "none"]);
    assert!(picture.contains(">first</text>") && picture.contains(">second</text>"));
    let places = circles(&picture);
    assert_eq!(places.len(), 60);
    let shift = places[30][0] - places[0][0];
    assert!(shift > 100.0);
    for i in 0..30 {
        let (one, two) = (places[i], places[30 + i]);
        assert!((two[0] - one[0] - shift).abs() < 0.05 && (two[1] - one[1]).abs() < 0.05, "{i}");
    }
    write(at, "c.csv", "projection_x,projection_y\n1,2\n3,4\n");
    let output = lowland(at, &["plot", "a.csv", "c.csv", "--color", "none", "--out", "x.png"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("c is not aligned to a"));
    assert!(output.status.success());
}

/// Length, width and turn of the ellipses, in the order of the file.
fn ellipses(svg: &str) -> Vec<[f64; 3]> {
    let value = |line: &str, before: &str, after: char| -> f64 {
        line.split(before).nth(1).unwrap().split(after).next().unwrap().parse().unwrap()
    };
    let lines = svg.lines().filter(|line| line.starts_with("<ellipse"));
    lines.map(|line| [value(line, "rx=\"", '"'), value(line, "ry=\"", '"'), value(line, "rotate(", ' ')]).collect()
}

#[test]
fn covariances_are_rotated_with_an_aligned_map() {
    let folder = folder();
    let at = folder.path();
    // The second is the first with its axes exchanged, at three times the size.
    let table = |turned: bool| {
        let row = |i: i32| {
            let (x, y) = (f64::from(i), f64::from(i * i % 7));
            let (xx, xy, yy) = (4.0, 0.1 * f64::from(i % 5) + 0.5, 1.0);
            if turned {
                format!("{},{},1,{},{},{}\n", 3.0 * y, 3.0 * x, 9.0 * yy, 9.0 * xy, 9.0 * xx)
            } else {
                format!("{x},{y},1,{xx},{xy},{yy}\n")
            }
        };
        let rows: String = (0..12).map(row).collect();
        format!("projection_x,projection_y,std,cov_x_x,cov_x_y,cov_y_y\n{rows}")
    };
    write(at, "a.csv", &table(false));
    write(at, "b.csv", &table(true));
    let found = ellipses(&svg(at, &["a.csv", "b.csv", "--uncertainty", "ellipses"]));
    assert_eq!(found.len(), 24);
    for (one, two) in found[..12].iter().zip(&found[12..]) {
        assert!(one[0] > 1.5 * one[1] && one[2] < -1.0, "{one:?}");
        assert!(one.iter().zip(two).all(|(a, b)| (a - b).abs() < 0.05), "{one:?} {two:?}");
    }
    // Where directions are not known, circles, and words that say so.
    write(at, "c.csv", &table(false).replace("cov_x_y", "other"));
    let circles = svg(at, &["c.csv", "--uncertainty", "ellipses"]);
    assert!(
        ellipses(&circles).is_empty()
            && circles.contains("circles of one standard deviation (a single value per point")
    );
}

#[test]
fn points_are_colored_by_label_by_number_or_not_at_all() {
    let folder = folder();
    let at = folder.path();
    write(at, "map.csv", &map(false));
    let by = |column: &str| svg(at, &["map.csv", "--color", column]);
    assert!(svg(at, &["map.csv"]).contains(">one</text>") && by("label").contains(">two</text>"));
    // Many numbers are a scale with ticks, few are classes.
    assert!(by("depth").contains(">depth</text>") && by("depth").contains(">40</text>"));
    assert!(by("group").contains(">3</text>") && !by("group").contains(">group</text>"));
    assert!(by("std").contains(">0.4</text>"));
    assert!(!by("none").contains(">one</text>"));
    assert!(svg(at, &["map.csv", "--label-column", "group"]).contains(">3</text>"));
    write(at, "classes.txt", &"x\ny\nz\n".repeat(10));
    assert!(svg(at, &["map.csv", "--labels", "classes.txt"]).contains(">z</text>"));
    write(at, "t.csv", &small_table());
    let words = bad(
        at,
        3,
        &["plot", "map.csv", "--data", "t.csv", "--id-column", "name", "--label-column", "kind", "--out", "x.png"],
    );
    assert!(words.contains("no point with the id r30"), "{words}");
    let words = bad(at, 2, &["plot", "map.csv", "--color", "nope", "--out", "x.png"]);
    assert!(words.contains("label, std, none") && words.contains("depth"), "{words}");
}

#[test]
fn captions_come_from_the_report_unless_flags_set_them() {
    let folder = folder();
    let at = folder.path();
    let embed = ["embed", "digits", "--max-rows", "150", "--method", "spectral", "--quiet", "--out", "map.csv"];
    good(at, &[&embed[..], &["--report", "r.json"]].concat());
    let picture = svg(at, &["map.csv", "--report", "r.json"]);
    assert!(picture.contains(">digits</text>") && picture.contains(">spectral, n_neighbors "), "{picture}");
    assert!(picture.contains("| knn recall 0."));
    let picture = svg(at, &["map.csv", "--report", "r.json", "--title", "<T & \"t\">", "--caption", "C"]);
    assert!(picture.contains(">&lt;T &amp; &quot;t&quot;&gt;</text>") && picture.contains(">C</text>"));
    write(at, "bad.json", "{");
    let words = bad(at, 3, &["plot", "map.csv", "--report", "bad.json", "--out", "x.png"]);
    assert!(words.contains("bad.json: not a report"), "{words}");
}

#[test]
fn uncertain_points_are_hidden_faded_or_circled() {
    let folder = folder();
    let at = folder.path();
    write(at, "map.csv", &map(false));
    let count = |arguments: &[&str]| circles(&svg(at, &[&["map.csv", "--color", "none"], arguments].concat())).len();
    assert_eq!(count(&[]), 30);
    assert_eq!(count(&["--certain", "0.8"]), 24);
    assert_eq!(count(&["--uncertainty", "ellipses"]), 60);
    assert!(svg(at, &["map.csv", "--uncertainty", "fade"]).contains(" opacity=\"0."));
    write(at, "bare.csv", "projection_x,projection_y\n1,2\n3,4\n");
    for flags in [["--certain", "0.9"], ["--uncertainty", "fade"]] {
        let words = bad(at, 2, &[&["plot", "bare.csv", "--out", "x.png"][..], &flags].concat());
        assert!(words.contains("no column std"), "{words}");
    }
    assert!(bad(at, 2, &["plot", "map.csv", "--certain", "1.5", "--out", "x.png"]).contains("such as 0.95"));
}

#[test]
fn images_and_ids_are_drawn_at_the_points() {
    let folder = folder();
    let at = folder.path();
    let digits = ["--data", "digits", "--max-rows", "150"];
    good(
        at,
        &["embed", "digits", "--max-rows", "150", "--method", "pca", "--no-quality", "--quiet", "--out", "map.csv"],
    );
    let picture = svg(at, &[&["map.csv", "--images"], &digits[..]].concat());
    assert!(picture.matches("<image ").count() > 20);
    let words = bad(at, 2, &[&["plot", "map.csv", "--images=7x9", "--out", "x.png"], &digits[..]].concat());
    assert!(words.contains("64 columns are not images of 7 x 9"), "{words}");
    assert!(bad(at, 2, &["plot", "map.csv", "--images", "--out", "x.png"]).contains("--data"));
    assert!(bad(at, 2, &["plot", "map.csv", "--words", "--out", "x.png"]).contains("no names"));
    write(at, "words.csv", &map(false));
    assert!(svg(at, &["words.csv", "--words"]).contains(">r0</text>"));
    let words = bad(at, 3, &["plot", "words.csv", "--data", "digits", "--out", "x.png"]);
    assert!(words.contains("words.csv") && words.contains("30 points") && words.contains("1797 rows"), "{words}");
}

#[test]
fn invalid_plots_are_rejected_before_anything_is_written() {
    let folder = folder();
    let at = folder.path();
    write(at, "map.csv", &map(false));
    for (code, arguments, words) in [
        (2, &["plot", "map.csv"][..], "--out"),
        (2, &["plot", "map.csv", "--out", "x.xls"], ".png .svg .pdf"),
        (2, &["plot", "map.csv", "--out", "nowhere/x.png"], "no folder"),
        (2, &["plot", "map.csv", "--out", "x.png", "--names", "a,b"], "2 for 1 maps"),
        (2, &["plot", "map.csv", "--out", "x.png", "--background", "zz"], "hexadecimal"),
        (2, &["plot", "map.csv", "--out", "x.png", "--width", "3"], "from 32 to 16384"),
        (3, &["plot", "absent.csv", "--out", "x.png"], "absent.csv"),
    ] {
        let said = bad(at, code, arguments);
        assert!(said.contains(words), "{said}");
        assert!(!at.join("x.png").exists());
    }
    write(at, "nan.csv", "projection_x,projection_y\n1,2\nNaN,4\n");
    let said = bad(at, 3, &["plot", "nan.csv", "--out", "x.png"]);
    assert!(said.contains("nan.csv: row 1, column 0") && !said.contains("--missing"), "{said}");
    write(at, "negative.csv", "projection_x,projection_y,std\n1,2,0.5\n3,4,-0.5\n");
    assert!(bad(at, 3, &["plot", "negative.csv", "--out", "x.png"]).contains("row 1 is -0.5"));
    let said = bad(at, 2, &["plot", "map.csv", "--format", "csv", "--out", "x.png"]);
    assert!(said.contains("--format says how --data is read"), "{said}");
    let said = bad(at, 2, &["plot", "map.csv", "--images", "8x8", "--out", "x.png"]);
    assert!(said.contains("write --images=8x8"), "{said}");
    assert!(bad(at, 2, &["plot", "map.csv", "--out", "map.csv"]).contains(".png"));
}

#[test]
fn methods_are_compared_on_one_graph_with_scores_and_times() {
    let folder = folder();
    let at = folder.path();
    let compare = ["compare", "digits", "--max-rows", "250", "--quiet", "--out", "c.svg"];
    let table =
        good(at, &[&compare[..], &["--methods", "spectral,lvm,pca", "--n-neighbors", "8", "--maps", "."]].concat());
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 4, "{table}");
    assert!(lines[0].starts_with("method") && lines[0].contains("trustworthiness (15)") && lines[0].ends_with("time"));
    assert!(lines[1].starts_with("spectral ") && lines[3].starts_with("pca ") && table.contains('*'), "{table}");
    let picture = String::from_utf8(read(at, "c.svg")).unwrap();
    assert!(picture.contains(">spectral</text>") && picture.contains(">trustworthiness</text>"));
    assert!(picture.contains("8 neighbors, euclidean"));
    // The graph that is shared gives the map that the method makes alone; the first map is not moved.
    let alone = ["embed", "digits", "--max-rows", "250", "--method", "spectral", "--n-neighbors", "8", "--quiet"];
    assert_eq!(String::from_utf8(read(at, "spectral.csv")).unwrap(), good(at, &alone));

    let said = good(at, &[&compare[..], &["--methods", "pca,tsne", "--max-iter", "20", "--json"]].concat());
    let last: serde_json::Value =
        serde_json::from_str(said.lines().rfind(|l| l.contains("comparison")).unwrap()).unwrap();
    assert_eq!((&last["methods"][1]["method"], &last["neighbors"]["n_neighbors"]), (&"tsne".into(), &90.into()));
    assert_eq!(last["methods"][1]["parameters"]["max_iter"], 20);
    assert!(last["methods"][0]["scores"]["values"][0]["value"].is_number());

    // A method that fails does not cost the others their picture.
    write(at, "t.csv", &small_table());
    let columns =
        ["compare", "t.csv", "--label-column", "kind", "--id-column", "name", "--n-components", "5", "--out", "t.png"];
    std::fs::create_dir(at.join("maps")).unwrap();
    let said = bad(at, 1, &[&columns[..], &["--methods", "pca,spectral", "--maps", "maps"]].concat());
    assert!(said.contains("pca is left out") && said.contains("at most 3"), "{said}");
    assert!(read(at, "t.png").starts_with(b"\x89PNG"));
    assert!(at.join("maps/spectral.csv").exists() && !at.join("maps/pca.csv").exists());
    assert!(bad(at, 2, &[&columns[..], &["--methods", "pca,svd"]].concat()).contains("at most 3"));

    for (arguments, words) in [
        (&["--methods", "pca,pca"][..], "names pca twice"),
        (&["--methods", "pca,svd", "--perplexity", "5"], "--perplexity is not a parameter of pca, svd"),
        (&["--methods", "pca", "--maps", "nowhere"], "no such folder"),
    ] {
        let said = bad(at, 2, &[&compare[..], arguments].concat());
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn methods_share_one_neighbor_graph_and_are_scored_by_one_metric() {
    let folder = folder();
    let at = folder.path();
    let rows = ["digits", "--max-rows", "200", "--metric", "cosine", "--json"];
    let compare = [&["compare", "--methods", "pca,isomap,lle", "--out", "c.svg", "--maps", "."], &rows[..]].concat();
    let said = good(at, &compare);
    let told = |said: &str, event: &str| -> serde_json::Value {
        serde_json::from_str(said.lines().rfind(|line| line.contains(event)).unwrap()).unwrap()
    };
    let all = told(&said, "comparison");
    assert_eq!((&all["neighbors"]["metric"], &all["metric"]), (&"cosine".into(), &"cosine".into()));
    assert!(all["neighbors"]["n_neighbors"].as_u64().unwrap() >= 10);
    let alone = told(&good(at, &[&["quality", "digits", "pca.csv"], &rows[1..]].concat()), "scores");
    assert_eq!(all["methods"][0]["scores"]["values"], alone["scores"]["values"]);
    let picture = String::from_utf8(read(at, "c.svg")).unwrap();
    let text = text_of(&picture);
    assert!(text.contains("Scores by cosine distances") && text.contains("isomap, n_neighbors 10"), "{text}");
}

#[test]
fn figures_have_the_size_text_colors_and_names_that_the_flags_ask_for() {
    let folder = folder();
    let at = folder.path();
    write(at, "map.csv", &map(false));
    let paper = ["map.csv", "--width", "85mm", "--font-size", "7", "--plain", "--letters"];
    let picture = svg(at, &paper);
    assert!(picture.contains("width=\"85.01mm\"") && picture.contains("viewBox=\"0 0 1004 "), "{}", &picture[..200]);
    assert!(picture.contains(">a</text>") && !picture.contains("30 points") && !picture.contains(">map</text>"));
    good(at, &[&["plot", "--quiet", "--out", "x.png", "--dpi", "150"], &paper[..]].concat());
    let png = read(at, "x.png");
    assert_eq!(u32::from_be_bytes(png[16..20].try_into().unwrap()), 502);
    assert!(png.windows(4).any(|bytes| bytes == b"pHYs"));
    // Names of columns, from coarse to fine; the legend stays.
    let levels = svg(at, &["map.csv", "--map-labels", "label,group", "--color", "label"]);
    assert!(levels.matches(">one</text>").count() == 2 && levels.contains(">3</text>"));
    let islands = svg(at, &["map.csv", "--map-labels", "islands", "--color", "none"]);
    assert!(islands.contains("</text>"));
    write(at, "mine.txt", "one = #102030\n#405060\n");
    let colored = svg(at, &["map.csv", "--palette", "mine.txt", "--map-labels", "off"]);
    assert!(colored.contains("fill=\"#102030\"") && colored.contains("fill=\"#405060\""));
    write(at, "mine.txt", "one: red\n");
    assert!(bad(at, 2, &["plot", "map.csv", "--palette", "mine.txt", "--out", "x.png"]).contains("line 1"));
    let inset = svg(at, &["map.csv", "--inset", "0,10,-8,8", "--color", "none", "--plain"]);
    assert!(circles(&inset).len() > 35, "the points of the region are drawn twice");
    assert!(bad(at, 2, &["plot", "map.csv", "--inset", "nosuch", "--out", "x.png"]).contains("nor a class"));
    let output = lowland(at, &["plot", "map.csv", "--title", "\u{10fffd}", "--out", "x.png"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("U+10FFFD"), "{said}");
}

#[test]
fn pages_have_the_names_that_the_flags_ask_for_or_refuse_them() {
    let folder = folder();
    let at = folder.path();
    write(at, "map.csv", &map(false));
    let start = |flags: &[&str]| {
        good(at, &[&["plot", "map.csv", "--quiet", "--out", "x.html"], flags].concat());
        let page = String::from_utf8(read(at, "x.html")).unwrap();
        let header = page.split("id=\"header\">").nth(1).and_then(|rest| rest.split("</script>").next()).unwrap();
        let header: serde_json::Value = serde_json::from_str(header).unwrap();
        let column =
            header["start"]["mode"]["column"].as_u64().map(|column| header["columns"][column as usize]["name"].clone());
        (header["start"]["names"].as_bool().unwrap(), column)
    };
    assert_eq!(start(&[]), (true, None));
    assert_eq!(start(&["--map-labels", "off"]), (false, None));
    for column in ["islands", "group"] {
        assert_eq!(start(&["--map-labels", column]), (true, Some(column.into())));
        let said = bad(at, 2, &["plot", "map.csv", "--map-labels", column, "--color", "label", "--out", "y.html"]);
        assert!(said.contains("leave out --color"), "{said}");
    }
    let said = bad(at, 2, &["plot", "map.csv", "--map-labels", "label,group", "--out", "y.html", "--out", "y.png"]);
    assert!(said.contains("names of one level"), "{said}");
    assert!(!at.join("y.html").exists() && !at.join("y.png").exists());
}

#[test]
fn compare_finds_wrong_flags_of_the_picture_before_it_fits() {
    let folder = folder();
    let compare = ["compare", "digits", "--max-rows", "60", "--methods", "pca,svd", "--out", "c.png"];
    for (flags, words) in [
        (&["--color", "nosuch"][..], "available: label"),
        (&["--color", "std"], "not every map has"),
        (&["--uncertainty", "fade"], "no column std"),
        (&["--certain", "0.9"], "no column std"),
        (&["--certain", "1.5"], "such as 0.95"),
        (&["--point-size", "0"], "more than 0"),
        (&["--width", "5"], "from 32 to 16384"),
        (&["--width", "2mm"], "from 32 to 16384"),
        (&["--width", "3 ells"], "such as 85mm"),
        (&["--dpi", "1"], "from 10 to 2400"),
        (&["--font-size", "0"], "from 1 to 200"),
        (&["--palette", "nosuch"], "okabe-ito"),
        (&["--map-labels", "nosuch"], "no such column"),
        (&["--map-labels", "islands"], "nothing is known"),
        (&["--inset", "1,0,0,1"], "X0 < X1"),
        (&["--words"], "no names"),
        (&["--images=3x3"], "64 columns are not images of 3 x 3"),
        (&["--images", "8x8"], "write --images=8x8"),
    ] {
        let said = bad(folder.path(), 2, &[&compare[..], flags].concat());
        assert!(said.contains(words) && !said.contains("pca:"), "{flags:?}: {said}");
    }
    // What only some of the methods can be asked for is enough.
    let some = ["compare", "digits", "--max-rows", "60", "--methods", "pca,lvm", "--max-iter", "5", "--quiet"];
    good(folder.path(), &[&some[..], &["--uncertainty", "fade", "--out", "c.png"]].concat());
}

#[test]
fn one_file_that_cannot_be_written_costs_no_other() {
    let folder = folder();
    let at = folder.path();
    write(at, "map.csv", &map(false));
    let (png, html, csv) = (unwritable("png"), unwritable("html"), unwritable("csv"));
    let outs = ["--out", &png, "--out", &html, "--out", "a.svg", "--out", "a.html"];
    bad(at, 1, &[&["plot", "map.csv", "--quiet"], &outs[..]].concat());
    assert!(at.join("a.svg").exists() && at.join("a.html").exists());
    let compare = ["compare", "digits", "--max-rows", "60", "--methods", "pca,svd", "--maps", "."];
    let output = lowland(at, &[&compare[..], &["--out", &png, "--out", "b.svg", "--out", "b.html"]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("method"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("wrote b.svg, b.html (") && said.contains("), ./pca.csv, ./svd.csv"), "{said}");
    assert!(["b.svg", "b.html", "svd.csv"].iter().all(|name| at.join(name).exists()));
    let embed = ["embed", "digits", "--max-rows", "60", "--method", "pca", "--save", "m.lowland", "--quiet"];
    bad(at, 1, &[&embed[..], &["--out", &csv, "--out", "c.csv", "--out", &png, "--out", "c.svg"]].concat());
    assert!(at.join("c.csv").exists() && at.join("c.svg").exists());
    let place = ["transform", "m.lowland", "digits", "--max-rows", "30", "--quiet"];
    bad(at, 1, &[&place[..], &["--out", &csv, "--out", "d.csv", "--out", "d.html"]].concat());
    assert!(at.join("d.csv").exists());
    let page = String::from_utf8(read(at, "d.html")).unwrap();
    assert!(page.contains("\"rows\":30") && page.contains("30 rows placed on a map of 60"));
}

#[test]
fn points_of_maps_belong_together_by_their_ids() {
    let folder = folder();
    let at = folder.path();
    let backwards = |text: &str| {
        let mut lines: Vec<&str> = text.lines().collect();
        lines[1..].reverse();
        lines.join("\n") + "\n"
    };
    write(at, "a.csv", &map(false));
    write(at, "b.csv", &backwards(&map(true)));
    let places = circles(&svg(at, &["a.csv", "b.csv", "--color", "none"]));
    let shift = places[30][0] - places[0][0];
    for i in 0..30 {
        let (one, two) = (places[i], places[30 + i]);
        assert!((two[0] - one[0] - shift).abs() < 0.05 && (two[1] - one[1]).abs() < 0.05, "{i}");
    }
    good(at, &["plot", "a.csv", "b.csv", "--quiet", "--out", "both.html"]);
    // Other points are not laid over each other, and not linked.
    write(at, "c.csv", &map(true).replace("r7,", "other,"));
    let output = lowland(at, &["plot", "a.csv", "c.csv", "--out", "x.svg"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("c is not aligned to a: their ids"), "{said}");
    write(at, "few.csv", "projection_x,projection_y\n1,2\n3,4\n");
    for (file, words) in [("c.csv", "different ids"), ("few.csv", "a.csv has 30 points, few.csv has 2")] {
        let plot = ["plot", "a.csv", file, "--color", "none", "--out", "y.png", "--out", "y.html"];
        let said = bad(at, 3, &plot);
        assert!(said.contains(words) && said.contains("write a page for each") && !at.join("y.png").exists(), "{said}");
    }
}

#[test]
fn few_numbers_and_empty_names_are_classes_in_pictures_and_pages_alike() {
    let folder = folder();
    let at = folder.path();
    write(at, "map.csv", &map(false).replace(",two,", ",,"));
    let picture = svg(at, &["map.csv"]);
    assert!(picture.contains(">(empty)</text>") && picture.contains(">one</text>"), "{picture}");
    good(at, &["plot", "map.csv", "--quiet", "--out", "x.html"]);
    let page = String::from_utf8(read(at, "x.html")).unwrap();
    let header = page.split("id=\"header\">").nth(1).and_then(|rest| rest.split("</script>").next()).unwrap();
    let header: serde_json::Value = serde_json::from_str(header).unwrap();
    let kind = |name: &str| {
        let columns = header["columns"].as_array().unwrap();
        columns.iter().find(|column| column["name"] == name).unwrap()["kind"].clone()
    };
    assert_eq!([kind("label"), kind("group"), kind("depth")], ["class", "class", "number"]);
}
