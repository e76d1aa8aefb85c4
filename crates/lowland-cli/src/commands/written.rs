//! What came of writing. One file that cannot be written must not cost the others: all are tried, then the first failure
//! is told.

use std::path::{Path, PathBuf};

use lowland::points::bytes;
use lowland_view::PictureFormat;

use super::page;
use super::picture::ending;
use crate::failure::Failure;
use crate::observer::Console;

/// The files that were written, and the first failure.
#[derive(Default)]
pub struct Written {
    files: Vec<PathBuf>,
    failure: Option<Failure>,
}

impl Written {
    /// Writes a file.
    pub fn bytes(&mut self, path: &Path, bytes: &[u8]) {
        self.note(path, lowland_io::write_bytes(path, bytes).map_err(Failure::write));
    }

    /// Takes note of what came of a file.
    pub fn note(&mut self, path: &Path, outcome: Result<(), Failure>) {
        match outcome {
            Ok(()) => self.files.push(path.into()),
            Err(failure) => self.fail(failure),
        }
    }

    /// Takes note of a failure.
    pub fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    /// `wrote digits.png, digits.html (1.2 MiB), digits.csv`; empty where nothing was.
    pub fn words(&self) -> String {
        let name = |path: &PathBuf| match std::fs::metadata(path) {
            // A page is sent to people: its size matters.
            Ok(file) if ending(path) == page::ENDING => format!("{} ({})", path.display(), bytes(file.len())),
            _ => path.display().to_string(),
        };
        // What was asked for to be looked at comes first.
        let looked_at =
            |path: &&PathBuf| ending(path) == page::ENDING || PictureFormat::from_extension(&ending(path)).is_some();
        let (shown, others): (Vec<&PathBuf>, Vec<&PathBuf>) = self.files.iter().partition(looked_at);
        let all: Vec<String> = shown.into_iter().chain(others).map(name).collect();
        if all.is_empty() { String::new() } else { format!("wrote {}", all.join(", ")) }
    }

    /// The same as the end of a sentence that begins otherwise: a file that is missing is not passed over.
    pub fn last_words(&self, how: &str) -> String {
        let failed = if self.failure.is_some() { "not every file could be written" } else { "" };
        [how, failed, &self.words()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
    }

    /// Says which files were written, and gives the first failure.
    pub fn finish(self, console: &mut Console) -> Result<(), Failure> {
        let words = self.words();
        if !words.is_empty() {
            console.note(&words);
        }
        self.outcome()
    }

    /// The first failure.
    pub fn outcome(self) -> Result<(), Failure> {
        self.failure.map_or(Ok(()), Err)
    }
}
