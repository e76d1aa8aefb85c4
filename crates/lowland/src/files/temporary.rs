//! Files without a name, or with a temporary one, until they are complete.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use super::system::{SystemFile, current};

const PREFIX: &str = ".lowland-";
const SUFFIX: &str = ".tmp";
/// Most names that are tried.
const MAX_TRIES: usize = 100;

/// A file that is being written; deleted when dropped, unless it was given its final name.
///
/// On Linux it has no name, so that nothing remains of it if the process is killed. Where that is not possible, and for the
/// moment in which it replaces another file (a link can not), it has a temporary name and is locked: such a file without a
/// lock was left behind by a process that is gone.
pub(super) struct TemporaryFile {
    file: SystemFile,
    folder: PathBuf,
    name: Option<PathBuf>,
}

impl TemporaryFile {
    pub fn create(folder: &Path, mode: u32) -> io::Result<Self> {
        let new = |file: File, name| Self { file: file.into(), folder: folder.into(), name };
        if let Some(file) = create_unnamed(folder, mode) {
            return Ok(new(file, None));
        }
        for _ in 0..MAX_TRIES {
            let name = unique_name(folder);
            match new_options(mode).create_new(true).open(&name) {
                Ok(file) => {
                    let temporary = new(file, Some(name));
                    temporary.lock();
                    // Before it was locked, another process may have taken it for abandoned.
                    if temporary.name.as_ref().is_some_and(|name| name.exists()) {
                        return Ok(temporary);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("no temporary file could be created"))
    }

    pub fn file(&mut self) -> &mut SystemFile {
        &mut self.file
    }

    /// File systems without locks have no abandoned files either that could be recognized.
    fn lock(&self) {
        let _ = self.file.as_file().lock();
    }

    /// Writes the content to disk and gives the file its final name; `replaces` says whether there was a file of this name.
    #[cfg_attr(not(target_os = "linux"), allow(unused_variables))]
    pub fn persist(mut self, target: &Path, replaces: bool) -> io::Result<()> {
        let system = current();
        system.sync(self.file.as_file())?;
        #[cfg(target_os = "linux")]
        if self.name.is_none() {
            if !replaces {
                match system.link(self.file.as_file(), target) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    other => return other,
                }
            }
            self.lock();
            let name = unique_name(&self.folder);
            system.link(self.file.as_file(), &name)?;
            self.name = Some(name);
        }
        let name = self.name.take().ok_or_else(|| io::Error::other("a temporary file has no name"))?;
        system.rename(&name, target).inspect_err(|_| {
            let _ = fs::remove_file(&name);
        })
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = fs::remove_file(name);
        }
    }
}

fn new_options(mode: u32) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options
}

/// Creates a file without a name, where the file system can.
#[cfg(target_os = "linux")]
fn create_unnamed(folder: &Path, mode: u32) -> Option<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::TMPFILE.bits() as i32;
    let file = new_options(mode).custom_flags(flags).open(folder).ok()?;
    // Without /proc it could not be given a name.
    fs::symlink_metadata(descriptor_path(&file)).ok().map(|_| file)
}

#[cfg(not(target_os = "linux"))]
fn create_unnamed(_: &Path, _: u32) -> Option<File> {
    None
}

/// The path of an open file.
#[cfg(target_os = "linux")]
pub(super) fn descriptor_path(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// A name that no other file has: of this process, this moment and this call.
fn unique_name(folder: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let moment = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    folder.join(format!("{PREFIX}{process:x}-{moment:x}-{count:x}{SUFFIX}"))
}

/// Deletes temporary files of processes that are gone, once for each folder.
pub(super) fn remove_abandoned(folder: &Path) {
    static SEARCHED: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);
    let Ok(folder) = folder.canonicalize() else { return };
    if SEARCHED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().insert(folder.clone()) {
        remove_unlocked(&folder);
    }
}

fn remove_unlocked(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_temporary = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if !is_temporary || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let path = entry.path();
        // Opened for writing, so that files of others are left alone.
        if let Ok(file) = OpenOptions::new().write(true).open(&path)
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn files_of_processes_that_are_gone_are_deleted_and_others_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (abandoned, alive) = (unique_name(folder.path()), unique_name(folder.path()));
        fs::write(&abandoned, b"half").unwrap();
        let locked = File::create(&alive).unwrap();
        locked.lock().unwrap();
        fs::write(folder.path().join(".lowland-notes"), b"mine").unwrap();
        remove_unlocked(folder.path());
        let alive = alive.file_name().unwrap().to_str().unwrap().to_string();
        assert_eq!(names(folder.path()), [alive, ".lowland-notes".into()]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_has_no_name_until_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        for content in [b"old", b"new"] {
            let mut temporary = TemporaryFile::create(folder.path(), 0o600).unwrap();
            temporary.file().write_all(content).unwrap();
            let target = folder.path().join("target");
            let exists = target.exists();
            assert_eq!(names(folder.path()).len(), usize::from(exists));
            temporary.persist(&target, exists).unwrap();
            assert_eq!(names(folder.path()), ["target"]);
            assert_eq!(fs::read(&target).unwrap(), content);
        }
    }

    #[test]
    fn a_named_temporary_file_is_locked_and_deleted_if_it_is_not_completed() {
        let folder = tempfile::tempdir().unwrap();
        let name = unique_name(folder.path());
        let file = new_options(0o600).create_new(true).open(&name).unwrap();
        let temporary = TemporaryFile { file: file.into(), folder: folder.path().into(), name: Some(name.clone()) };
        temporary.lock();
        remove_unlocked(folder.path());
        assert!(name.exists(), "a locked file was taken for abandoned");
        drop(temporary);
        assert!(!name.exists());
    }
}
