//! Paths are checked before the work: what is written must not fall on what is read, nor on each other.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Refuses outputs in folders that do not exist, and outputs that would replace an input or one another.
pub fn check(inputs: &[&Path], outputs: &[&PathBuf]) -> Result<(), Failure> {
    for (i, output) in outputs.iter().enumerate() {
        let folder = folder_of(output);
        if !folder.is_dir() {
            let (output, folder) = (output.display(), folder.display());
            return Err(Failure::flag(format!("{output}: there is no folder {folder}; make it first")));
        }
        if output.is_dir() {
            return Err(Failure::flag(format!("{}: is a folder; name a file in it", output.display())));
        }
        if inputs.iter().any(|input| same(input, output)) {
            return Err(Failure::flag(format!(
                "{}: would replace a file that is read; choose another name",
                output.display()
            )));
        }
        if outputs[..i].iter().any(|other| same(other, output)) {
            return Err(Failure::flag(format!("{}: is named for two outputs; choose two names", output.display())));
        }
    }
    Ok(())
}

/// Whether two paths mean one file, which need not exist yet.
pub fn same(a: &Path, b: &Path) -> bool {
    let whole = |path: &Path| -> Option<PathBuf> {
        path.canonicalize().ok().or_else(|| Some(folder_of(path).canonicalize().ok()?.join(path.file_name()?)))
    };
    whole(a).is_some_and(|a| whole(b).is_some_and(|b| a == b))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
