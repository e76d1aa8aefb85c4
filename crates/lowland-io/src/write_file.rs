//! Atomic writing of files.

use std::path::Path;

use lowland::MemoryBudget;
use lowland::files::SystemFile;
pub(crate) use lowland::files::write_atomically;

use crate::budget::Budget;
use crate::error::{FileError, FileErrorKind, Result};

/// Writes a whole file ([`lowland::files::write_atomically`]): a reader sees the old file or the complete new one.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    write_atomically(path, |file| Ok(file.write_all(bytes)?)).map_err(|kind: FileErrorKind| kind.at(path))
}

/// Reads a whole file that fits into the memory twice: it is held while what it contains is made from it.
pub fn read_bytes(path: &Path, memory: &MemoryBudget) -> Result<Vec<u8>, FileError> {
    let read = || {
        let budget = Budget::for_stream(memory);
        let size = std::fs::metadata(path)?.len();
        if size > budget.remaining() {
            return Err(budget.too_large("the file"));
        }
        crate::source::read_limited(SystemFile::open(path)?, &budget, "the file")
    };
    read().map_err(|kind: FileErrorKind| kind.at(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn limited(bytes: u64) -> MemoryBudget {
        MemoryBudget::new(Some(bytes))
    }

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
        assert_eq!(read_bytes(&path, &limited(6)).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_over_the_limit_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        write_bytes(&path, &[0; 10]).unwrap();
        assert!(matches!(read_bytes(&path, &limited(18)).unwrap_err().kind, FileErrorKind::TooLarge { limit: 9, .. }));
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
