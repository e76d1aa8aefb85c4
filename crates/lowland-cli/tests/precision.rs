//! Columns in double precision, from the file to the map, to new rows and back.

mod support;

use support::{folder, good, lowland, write};

/// A table of time stamps within ten minutes and of another column.
fn time_stamps(rows: impl Iterator<Item = u32>) -> String {
    let row = |i: u32| format!("{:.2},{}\n", 1.7e9 + 1.25 * f64::from(i), f64::from(i * i % 17));
    format!("time,x\n{}", rows.map(row).collect::<String>())
}

/// The cells of a table without its header.
fn cells(table: &str) -> Vec<Vec<f64>> {
    let number = |cell: &str| cell.parse().expect("a number");
    table.lines().skip(1).map(|line| line.split(',').map(number).collect()).collect()
}

#[test]
fn time_stamps_are_mapped_placed_and_computed_back() {
    let folder = folder();
    let read = |name: &str| cells(&std::fs::read_to_string(folder.path().join(name)).unwrap());
    write(folder.path(), "t.csv", &time_stamps(0..300));
    write(folder.path(), "one.csv", &time_stamps(17..18));
    let embed =
        ["embed", "t.csv", "--method", "pca", "--save", "m.lowland", "--out", "map.csv", "--no-quality", "--quiet"];
    good(folder.path(), &embed);
    let map = read("map.csv");
    // The time, whose standard deviation is 108 seconds, is the first component.
    let deviation = (map.iter().map(|point| point[0] * point[0]).sum::<f64>() / 300.0).sqrt();
    assert!((deviation - 108.25).abs() < 0.5, "{deviation}");
    good(folder.path(), &["transform", "m.lowland", "one.csv", "--out", "new.csv", "--quiet"]);
    let new = read("new.csv");
    assert!(new[0].iter().zip(&map[17]).all(|(a, b)| (a - b).abs() < 1e-4), "{new:?} {:?}", map[17]);
    good(folder.path(), &["inverse", "m.lowland", "map.csv", "--out", "back.csv", "--quiet"]);
    let back = read("back.csv");
    assert!((back[17][0] - (1.7e9 + 1.25 * 17.0)).abs() < 1e-2, "{:?}", back[17]);
}

#[test]
fn a_share_of_the_variance_is_a_number_of_components_and_is_reported() {
    let folder = folder();
    let output = lowland(
        folder.path(),
        &["embed", "digits", "--method", "pca", "--n-components", "0.5", "--no-quality", "--out", "map.csv"],
    );
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && words.contains("explained variance: 5"), "{words}");
    let map = std::fs::read_to_string(folder.path().join("map.csv")).unwrap();
    let header = map.lines().next().unwrap();
    assert!((3..=8).contains(&header.split(',').filter(|name| *name != "label").count()), "{header}");
}
