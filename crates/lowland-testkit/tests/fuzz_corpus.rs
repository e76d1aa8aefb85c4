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

/// `cargo xtask fuzz` takes the names of the targets from the corpus.
#[test]
fn every_folder_of_the_corpus_belongs_to_an_entry_point() {
    for folder in fs::read_dir(fuzz_folder().join("corpus")).unwrap() {
        let name = folder.unwrap().file_name();
        assert!(ENTRY_POINTS.iter().any(|entry| name == entry.name), "{}", name.display());
    }
}
