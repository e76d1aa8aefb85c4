//! Checks of output paths before the work begins.

use std::path::{Path, PathBuf};

use lowland::message::display_path;

use crate::failure::Failure;

/// Rejects outputs that cannot be written (in folders that do not exist, over files that are read-only), and outputs that would
/// replace an input or each other.
pub fn check(inputs: &[&Path], outputs: &[&PathBuf]) -> Result<(), Failure> {
    for (i, output) in outputs.iter().enumerate() {
        lowland_io::check_target(output)
            .map_err(|error| Failure::flag(format!("{}: {error}", display_path(output))))?;
        if inputs.iter().any(|input| is_same_file(input, output)) {
            return Err(Failure::flag(format!(
                "{}: would replace an input file; choose another name",
                display_path(output)
            )));
        }
        if outputs[..i].iter().any(|other| is_same_file(other, output)) {
            return Err(Failure::flag(format!(
                "{}: is the path of two outputs; choose different names",
                display_path(output)
            )));
        }
    }
    Ok(())
}

/// Whether two paths refer to the same file, which need not exist.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    let absolute = |path: &Path| -> Option<PathBuf> {
        let path = lowland_io::resolve_links(path).ok()?;
        path.canonicalize().ok().or_else(|| Some(folder_of(&path).canonicalize().ok()?.join(path.file_name()?)))
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

/// The last component of a path, or the path itself if there is none.
pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
