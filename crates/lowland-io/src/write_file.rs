//! Atomic writing of files.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use crate::budget::Budget;
use crate::error::{FileError, FileErrorKind, Result};

/// Writes a file under a temporary name in the same folder, then renames it: a reader sees the old file or the complete
/// new one.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    write_atomically(path, |file| Ok(file.write_all(bytes)?)).map_err(|kind| kind.at(path))
}

/// Reads a whole file of at most `limit` bytes.
pub fn read_bytes(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let read = || {
        let size = fs::metadata(path)?.len();
        if size > limit {
            return Err(FileErrorKind::TooLarge { what: "the file".into(), limit });
        }
        crate::source::read_limited(File::open(path)?, &Budget::new(0, Some(limit)), "the file")
    };
    read().map_err(|kind: FileErrorKind| kind.at(path))
}

/// Writes what `fill` produces to a temporary file, then renames it.
pub(crate) fn write_atomically(path: &Path, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    // Renaming over a pipe or a device would replace it.
    if fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir()) {
        let mut device = OpenOptions::new().write(true).open(path)?;
        return fill(&mut device);
    }
    // The target of a link is replaced, not the link.
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
    let mut buffered = std::io::BufWriter::new(&mut file);
    fill(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        write_bytes(&path, b"old").unwrap();
        let failed = write_atomically(&path, |file| {
            file.write_all(b"half of the new")?;
            Err(FileErrorKind::Empty("made to fail"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        write_bytes(&path, b"new").unwrap();
        assert_eq!(read_bytes(&path, 3).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_over_the_limit_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        write_bytes(&path, &[0; 10]).unwrap();
        assert!(matches!(read_bytes(&path, 9).unwrap_err().kind, FileErrorKind::TooLarge { limit: 9, .. }));
    }

    #[test]
    fn a_missing_folder_is_an_error_with_the_path() {
        let error = write_bytes(Path::new("no/such/folder/x"), b"").unwrap_err();
        assert!(error.to_string().starts_with("no/such/folder/x: "), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn the_target_of_a_link_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("elsewhere")).unwrap();
        let (target, link) = (folder.path().join("elsewhere/model"), folder.path().join("link"));
        fs::write(&target, b"old").unwrap();
        std::os::unix::fs::symlink("elsewhere/model", &link).unwrap();
        write_bytes(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"new");
    }

    #[cfg(unix)]
    #[test]
    fn new_files_have_the_permissions_of_the_umask() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (ours, plain) = (folder.path().join("ours"), folder.path().join("plain"));
        write_bytes(&ours, b"x").unwrap();
        fs::write(&plain, b"x").unwrap();
        let mode = |path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(ours), mode(plain));
    }
}
