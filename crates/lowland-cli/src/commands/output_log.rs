//! Records which files were written. A file that cannot be written does not prevent the others: all are tried, then the first
//! failure is reported.

use std::path::{Path, PathBuf};

use lowland::data::format_bytes;
use lowland::message::display_path;
use lowland_view::PictureFormat;

use super::outputs::PAGE_EXTENSION;
use crate::console::Console;
use crate::failure::Failure;
use crate::paths::extension;

/// The files that were written, and the first failure.
#[derive(Default)]
pub struct OutputLog {
    files: Vec<PathBuf>,
    failure: Option<Failure>,
}

impl OutputLog {
    /// Writes a file and records the result.
    pub fn write(&mut self, path: &Path, bytes: &[u8]) {
        self.record(path, lowland_io::write_bytes(path, bytes).map_err(Failure::write));
    }

    /// Records the result of writing a file.
    pub fn record(&mut self, path: &Path, result: Result<(), Failure>) {
        match result {
            Ok(()) => self.files.push(path.into()),
            Err(failure) => self.fail(failure),
        }
    }

    /// Records a failure.
    pub fn fail(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    /// Lists the files: `wrote digits.png, digits.html (1.2 MiB), digits.csv`; empty if there are none.
    pub fn summary(&self) -> String {
        let describe = |path: &PathBuf| match std::fs::metadata(path) {
            // Pages are sent to people, so their size matters.
            Ok(file) if extension(path) == PAGE_EXTENSION => {
                format!("{} ({})", display_path(path), format_bytes(file.len()))
            }
            _ => display_path(path),
        };
        // Pictures and pages first.
        let is_visual = |path: &&PathBuf| {
            let extension = extension(path);
            extension == PAGE_EXTENSION || PictureFormat::from_extension(&extension).is_some()
        };
        let (visual, others): (Vec<&PathBuf>, Vec<&PathBuf>) = self.files.iter().partition(is_visual);
        let all: Vec<String> = visual.into_iter().chain(others).map(describe).collect();
        if all.is_empty() { String::new() } else { format!("wrote {}", all.join(", ")) }
    }

    /// The summary after a word on how the run ended; says if a file is missing.
    pub fn final_message(&self, ending: &str) -> String {
        let failed = if self.failure.is_some() { "not every file could be written" } else { "" };
        [ending, failed, &self.summary()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
    }

    /// Prints the summary and returns the first failure.
    pub fn finish(self, console: &mut Console) -> Result<(), Failure> {
        let summary = self.summary();
        if !summary.is_empty() {
            console.info(&summary);
        }
        self.into_result()
    }

    /// The first failure.
    pub fn into_result(self) -> Result<(), Failure> {
        self.failure.map_or(Ok(()), Err)
    }
}
