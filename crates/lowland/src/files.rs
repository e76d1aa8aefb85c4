//! Atomic writing of files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use lowland_core::{Error, Result};

fn file_error(path: &Path, error: &io::Error) -> Error {
    Error::File { path: path.into(), reason: error.to_string() }
}

/// Reads a whole file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| file_error(path, &error))
}

/// Writes a whole file atomically.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_atomically(path, |file| file.write_all(bytes)).map_err(|error: io::Error| file_error(path, &error))
}

/// Writes a file under a temporary name in the same folder and renames it, so that readers see the old content or the new.
/// `fill` writes the content. Pipes and devices are written to directly, and of a link the target is replaced.
pub fn write_atomically<E: From<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    if fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        let mut device = OpenOptions::new().write(true).open(path)?;
        return fill(&mut device);
    }
    let target = fs::canonicalize(path);
    let path = target.as_deref().unwrap_or(path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".lowland-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The usual permissions of a new file (the umask applies), not the private ones of a temporary file.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder)?;
    let mut buffered = BufWriter::new(&mut file);
    fill(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    let written: &File = file.as_file();
    written.sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
