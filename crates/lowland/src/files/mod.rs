//! Atomic writing of files: a reader sees the old content or the complete new one, whenever the writer ends.

mod system;
mod target;
mod temporary;

use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use lowland_core::{Error, Result};

pub use system::{FileSystem, SystemFile, with_file_system};
pub use target::{check_target, resolve_links};

use target::WriteTarget;
use temporary::TemporaryFile;

fn file_error(path: &Path, error: &io::Error) -> Error {
    Error::File { path: path.into(), reason: error.to_string() }
}

/// Reads a whole file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = SystemFile::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map(|_| bytes).map_err(|error| file_error(path, &error))
}

/// Writes a whole file atomically.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_atomically(path, |file| file.write_all(bytes)).map_err(|error: io::Error| file_error(path, &error))
}

/// Writes a file under no name or a temporary one in the same folder, and gives it its name when it is complete and on disk.
/// `fill` writes the content. A file that is replaced keeps its mode and, where permitted, its owner and group; a read-only
/// one is not replaced. Of a link the target is written, which need not exist. Pipes and devices are written to directly.
pub fn write_atomically<E: From<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let target = match WriteTarget::resolve(path)? {
        WriteTarget::Device => return fill(&mut SystemFile::append(path)?),
        WriteTarget::File(target) => target,
    };
    temporary::remove_abandoned(target.folder());
    let mut temporary = TemporaryFile::create(target.folder(), target.initial_mode())?;
    let mut buffered = BufWriter::new(temporary.file());
    fill(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    target.copy_access(temporary.file().as_file())?;
    Ok(temporary.persist(&target.path, target.replaced.is_some())?)
}
