//! Model files on disk. The rest of this crate works on bytes and does not access files.

use std::fs;
use std::io::Write;
use std::path::Path;

use lowland_core::{Error, Result};

fn file_error(path: &Path, error: std::io::Error) -> Error {
    Error::File { path: path.into(), reason: error.to_string() }
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| file_error(path, error))
}

/// Writes a file atomically: under a temporary name in the same folder, which is then renamed.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let temporary = folder.join(format!(".{name}.{}.tmp", std::process::id()));
    let written = fs::File::create(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    });
    written.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        file_error(path, error)
    })
}
