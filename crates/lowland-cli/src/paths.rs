//! Checks of output paths before the work begins.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Rejects outputs in folders that do not exist, and outputs that would replace an input or each other.
pub fn check(inputs: &[&Path], outputs: &[&PathBuf]) -> Result<(), Failure> {
    for (i, output) in outputs.iter().enumerate() {
        let folder = folder_of(output);
        if !folder.is_dir() {
            let (output, folder) = (output.display(), folder.display());
            return Err(Failure::flag(format!("{output}: there is no folder {folder}; create it first")));
        }
        if output.is_dir() {
            return Err(Failure::flag(format!("{}: is a folder; name a file in it", output.display())));
        }
        if inputs.iter().any(|input| is_same_file(input, output)) {
            return Err(Failure::flag(format!(
                "{}: would replace an input file; choose another name",
                output.display()
            )));
        }
        if outputs[..i].iter().any(|other| is_same_file(other, output)) {
            return Err(Failure::flag(format!(
                "{}: is the path of two outputs; choose different names",
                output.display()
            )));
        }
    }
    Ok(())
}

/// Whether two paths refer to the same file, which need not exist.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    let absolute = |path: &Path| -> Option<PathBuf> {
        path.canonicalize().ok().or_else(|| Some(folder_of(path).canonicalize().ok()?.join(path.file_name()?)))
    };
    absolute(a).is_some_and(|a| absolute(b).is_some_and(|b| a == b))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The extension of a file in lower case, without the dot; empty if there is none.
pub fn extension(path: &Path) -> String {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or("").to_ascii_lowercase()
}

/// The last component of a path, or the text itself if there is none.
pub fn file_name(path: &str) -> String {
    Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy().into_owned())
}
