//! Where a file is written, and what it keeps of the file that it replaces.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Most links that are followed, as in Linux.
const MAX_LINKS: usize = 40;

/// What a path refers to when it is written.
pub(super) enum WriteTarget {
    /// A pipe or device, which is written to directly.
    Device,
    /// A file, or the place of one.
    File(FileTarget),
}

/// A file that is written or replaced.
pub(super) struct FileTarget {
    /// Its path, with links followed.
    pub path: PathBuf,
    /// The file that is replaced.
    pub replaced: Option<Metadata>,
}

/// Follows links, also to a file that does not exist yet.
pub fn resolve_links(path: &Path) -> io::Result<PathBuf> {
    if let Ok(resolved) = path.canonicalize() {
        return Ok(resolved);
    }
    let mut resolved = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&resolved) {
            Ok(target) => resolved = folder_of(&resolved).join(target),
            Err(_) => return Ok(resolved),
        }
    }
    Err(io::Error::other("the link leads to itself"))
}

/// Returns the error that writing a file to this path would give, as far as it is known beforehand: no such folder, a folder
/// of this name, a file that may not be written.
pub fn check_target(path: &Path) -> io::Result<()> {
    match WriteTarget::resolve(path)? {
        WriteTarget::Device => Ok(()),
        WriteTarget::File(target) if target.folder().is_dir() => Ok(()),
        WriteTarget::File(target) => {
            let folder = lowland_core::message::display_path(target.folder());
            Err(io::Error::new(io::ErrorKind::NotFound, format!("there is no folder {folder}; create it first")))
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl WriteTarget {
    pub fn resolve(path: &Path) -> io::Result<Self> {
        let replaced = match fs::metadata(path) {
            Ok(about) if about.is_dir() => {
                return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder; name a file in it"));
            }
            // Also a file that is open as a descriptor (/dev/stdout) and has no path any more.
            Ok(about) if !about.is_file() || path.canonicalize().is_err() => return Ok(WriteTarget::Device),
            Ok(about) => Some(about),
            // There is none, or creating one will tell what is wrong.
            Err(_) => None,
        };
        let path = resolve_links(path)?;
        if let Some(about) = &replaced {
            // A file can be replaced by anyone who may write to its folder, and opened by the superuser whatever its mode.
            if about.permissions().readonly() {
                let reason = "is read-only; make it writable or choose another name";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
            }
            OpenOptions::new().write(true).open(&path)?;
        }
        Ok(WriteTarget::File(FileTarget { path, replaced }))
    }
}

impl FileTarget {
    pub fn folder(&self) -> &Path {
        folder_of(&self.path)
    }

    /// The mode to create the file with (the umask applies): nobody else may read the new content of a private file, not even
    /// while it is written.
    pub fn initial_mode(&self) -> u32 {
        if self.replaced.is_some() { 0o600 } else { 0o666 }
    }

    /// Gives a file the mode, and where permitted the owner and group, of the one that it replaces.
    #[cfg(unix)]
    pub fn copy_access(&self, file: &File) -> io::Result<()> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let Some(old) = &self.replaced else { return Ok(()) };
        let new = file.metadata()?;
        let mut mode = old.mode() & 0o7777;
        if (new.uid(), new.gid()) != (old.uid(), old.gid()) && fchown(file, Some(old.uid()), Some(old.gid())).is_err() {
            // Bits that act in the name of the owner or group are not kept for another one.
            mode &= 0o777;
            if fchown(file, None, Some(old.gid())).is_err() {
                // The group is another one now: it may do what everyone may.
                mode &= !0o070 | ((mode & 0o007) << 3);
            }
        }
        file.set_permissions(fs::Permissions::from_mode(mode))
    }

    #[cfg(not(unix))]
    pub fn copy_access(&self, _: &File) -> io::Result<()> {
        Ok(())
    }
}
