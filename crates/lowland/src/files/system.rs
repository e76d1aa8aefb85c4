//! The calls to the operating system by which files are read and written, which tests replace to inject faults.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::rc::Rc;

/// The calls to the operating system by which files are read and written. The provided methods make them; tests override
/// some with calls that fail, are interrupted, or transfer fewer bytes than asked for.
pub trait FileSystem {
    /// Reads some bytes.
    fn read(&self, mut file: &File, buffer: &mut [u8]) -> io::Result<usize> {
        file.read(buffer)
    }

    /// Writes some bytes.
    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        file.write(bytes)
    }

    /// Waits until the content of a file is on disk.
    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    /// Gives a file without a name its first one.
    #[cfg(target_os = "linux")]
    fn link(&self, file: &File, name: &Path) -> io::Result<()> {
        use rustix::fs::{AtFlags, CWD, linkat};
        Ok(linkat(CWD, super::temporary::descriptor_path(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
    }

    /// Renames a file, over another one if there is one.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }
}

struct OperatingSystem;

impl FileSystem for OperatingSystem {}

thread_local! {
    static CURRENT: RefCell<Rc<dyn FileSystem>> = RefCell::new(Rc::new(OperatingSystem));
}

/// Runs `work` with another file system on this thread.
#[doc(hidden)]
pub fn with_file_system<T>(system: Rc<dyn FileSystem>, work: impl FnOnce() -> T) -> T {
    struct RestoreGuard(Option<Rc<dyn FileSystem>>);
    impl Drop for RestoreGuard {
        fn drop(&mut self) {
            if let Some(before) = self.0.take() {
                CURRENT.with(|current| *current.borrow_mut() = before);
            }
        }
    }
    let _guard = RestoreGuard(Some(CURRENT.with(|current| current.replace(system))));
    work()
}

/// The file system of this thread.
pub(super) fn current() -> Rc<dyn FileSystem> {
    CURRENT.with(|current| Rc::clone(&current.borrow()))
}

/// A file that is read and written through the [`FileSystem`]. Calls that a signal interrupts are made again.
#[derive(Debug)]
pub struct SystemFile(File);

impl SystemFile {
    /// Opens a file for reading.
    pub fn open(path: &Path) -> io::Result<Self> {
        File::open(path).map(Self)
    }

    /// Opens a file, pipe or device for writing, without removing its content.
    pub(super) fn append(path: &Path) -> io::Result<Self> {
        OpenOptions::new().write(true).open(path).map(Self)
    }

    /// The file itself.
    pub fn as_file(&self) -> &File {
        &self.0
    }
}

impl From<File> for SystemFile {
    fn from(file: File) -> Self {
        Self(file)
    }
}

fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

impl Read for SystemFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let system = current();
        retry(|| system.read(&self.0, buffer))
    }
}

impl Write for SystemFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let system = current();
        retry(|| system.write(&self.0, bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for SystemFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.0.seek(position)
    }
}
