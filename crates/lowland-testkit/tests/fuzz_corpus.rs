//! The inputs of the fuzz targets, with the compiler of every day.

use std::fs;
use std::path::{Path, PathBuf};

use lowland_testkit::entry_points::{ENTRY_POINTS, clean_up};

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

#[test]
fn every_input_of_the_corpus_is_accepted_or_rejected_without_a_panic() {
    for entry in ENTRY_POINTS {
        let folder = fuzz_folder().join("corpus").join(entry.name);
        let inputs = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let accepted = inputs.map(|input| input.unwrap().path()).filter(|path| {
            let bytes = fs::read(path).unwrap();
            // A panic says where it was, not for which input.
            std::panic::catch_unwind(|| (entry.run)(&bytes)).unwrap_or_else(|_| panic!("{}", path.display()))
        });
        // A corpus of a format that has changed since would test nothing.
        assert!(accepted.count() > 0, "{}: no input was accepted", entry.name);
    }
    clean_up();
}

#[test]
fn every_entry_point_has_a_fuzz_target() {
    let manifest = fs::read_to_string(fuzz_folder().join("Cargo.toml")).unwrap();
    for entry in ENTRY_POINTS {
        assert!(manifest.contains(&format!("\nname = \"{}\"\n", entry.name)), "{} is missing", entry.name);
    }
    assert_eq!(manifest.matches("[[bin]]").count(), ENTRY_POINTS.len());
}
