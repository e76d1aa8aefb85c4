//! A check of the documentation: numbers that benchmarks record are stated in one place.

use std::fs;
use std::path::Path;

/// Growth is measured by `cargo xtask bench` and reported in docs/scoreboard.md; a copy elsewhere would go out of date.
#[test]
fn growth_exponents_are_stated_on_the_scoreboard_only() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder").join("docs");
    assert!(fs::read_to_string(docs.join("scoreboard.md")).expect("a page").contains("exponent of CPU time"));
    for entry in fs::read_dir(docs.join("methods")).expect("a folder") {
        let path = entry.expect("an entry").path();
        let text = fs::read_to_string(&path).expect("a page");
        for (number, line) in text.lines().enumerate() {
            let states_exponent = line.contains("exponent of ") || line.contains("exponent 1.");
            assert!(!states_exponent, "{}:{}: refer to scoreboard.md#growth", path.display(), number + 1);
        }
    }
}
