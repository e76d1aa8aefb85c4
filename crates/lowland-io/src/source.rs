//! The bytes of a file: memory-mapped where possible, decompressed where needed, never more than the limit.

use std::io::{Read, Seek, SeekFrom};
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use lowland::MemoryBudget;
use lowland::files::SystemFile;
use memmap2::Mmap;

use crate::budget::Budget;
use crate::error::{FileErrorKind, Result};

/// All bytes of a file.
pub(crate) enum FileBytes {
    /// A memory-mapped file. It is unmapped as soon as the table is read: if another program truncates it meanwhile, access
    /// to the mapping ends the process.
    Mapped { map: Mmap, file: SystemFile },
    /// Bytes read from a pipe, or decompressed.
    Owned(Vec<u8>),
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            FileBytes::Mapped { map, .. } => map,
            FileBytes::Owned(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for FileBytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl FileBytes {
    /// Opens a file without decompressing it. A pipe or device, whose size is not known, is read up to a limit.
    pub fn open(path: &Path, memory: &MemoryBudget) -> Result<(Self, Budget)> {
        let file = SystemFile::open(path)?;
        let about = file.as_file().metadata()?;
        if about.is_dir() {
            return Err(std::io::Error::from(std::io::ErrorKind::IsADirectory).into());
        }
        if about.is_file() && about.len() > 0 {
            // SAFETY: the mapping is read-only; as with every mapping, another program must not truncate the file meanwhile.
            let map = unsafe { Mmap::map(file.as_file())? };
            let budget = Budget::new(map.len(), memory);
            return Ok((FileBytes::Mapped { map, file }, budget));
        }
        let stream = Budget::for_stream(memory);
        let bytes = read_limited(file, &stream, "the stream, whose size is not known beforehand,")?;
        let budget = Budget::new(bytes.len(), memory);
        drop(stream);
        budget.reserve("the stream", bytes.len(), 1)?;
        Ok((FileBytes::Owned(bytes), budget))
    }

    /// Reads a range of 32-bit floats of a mapped file from the file itself; `None` if it is not mapped. Unlike access to the
    /// mapping, this gives an error if the file was truncated.
    pub fn read_floats(&mut self, range: Range<usize>) -> Result<Option<Vec<f32>>> {
        let FileBytes::Mapped { file, .. } = self else { return Ok(None) };
        let mut values = vec![0f32; range.len() / size_of::<f32>()];
        file.seek(SeekFrom::Start(range.start as u64))?;
        match file.read_exact(bytemuck::cast_slice_mut(&mut values)) {
            Ok(()) => Ok(Some(values)),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Err(FileErrorKind::Truncated {
                what: "values",
                declared: range.len() as u64,
                available: file.as_file().metadata()?.len().saturating_sub(range.start as u64),
            }),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the pages of a mapped file that were read to the operating system, which reads them again when they are needed: while
    /// a file is read in blocks, those that were read do not count as memory of the process.
    pub fn release_pages(&self) {
        #[cfg(unix)]
        if let FileBytes::Mapped { map, .. } = self {
            // SAFETY: the mapping is of a file and never written to, so that its pages have the same content when they are read again.
            let _ = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
        }
    }

    /// Opens a file and decompresses it if it is gzip (recognized by its first two bytes, whatever its name).
    pub fn open_decompressed(path: &Path, memory: &MemoryBudget) -> Result<(Self, Budget)> {
        let (bytes, budget) = Self::open(path, memory)?;
        Ok((bytes.decompress(&budget)?, budget))
    }

    /// Decompresses the bytes if they are gzip.
    pub fn decompress(self, budget: &Budget) -> Result<Self> {
        Ok(if is_gzip(&self) { FileBytes::Owned(decompress_gzip(&self, budget)?) } else { self })
    }
}

/// The bytes of a file, shared by its reader and whoever releases the pages that were read.
#[derive(Clone)]
pub(crate) struct SharedBytes(pub Arc<FileBytes>);

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// Decompresses a gzip file.
pub(crate) fn decompress_gzip(packed: &[u8], budget: &Budget) -> Result<Vec<u8>> {
    read_limited(MultiGzDecoder::new(packed), budget, "the gzip file")
}

/// Reads to the end, or until the budget is exhausted. The bytes are reserved from it before they are allocated, a part at
/// a time, so that a stream without an end is refused early.
pub(crate) fn read_limited(mut reader: impl Read, budget: &Budget, what: &str) -> Result<Vec<u8>> {
    const FIRST: usize = 64 << 10;
    let mut bytes: Vec<u8> = Vec::new();
    loop {
        if bytes.len() == bytes.capacity() {
            // As vectors grow, but never beyond the budget.
            let room = usize::try_from(budget.remaining()).unwrap_or(usize::MAX);
            let more = bytes.capacity().max(FIRST).min(room);
            if more == 0 {
                let mut next = [0];
                return if read_some(&mut reader, &mut next)? == 0 { Ok(bytes) } else { Err(budget.too_large(what)) };
            }
            budget.reserve(what, more, 1)?;
            bytes.reserve_exact(more);
        }
        let start = bytes.len();
        let end = bytes.capacity().min(start + (1 << 20));
        bytes.resize(end, 0);
        let read = read_some(&mut reader, &mut bytes[start..]);
        bytes.truncate(start + *read.as_ref().unwrap_or(&0));
        if read? == 0 {
            budget.release(bytes.capacity() - bytes.len());
            bytes.shrink_to_fit();
            return Ok(bytes);
        }
    }
}

/// Reads some bytes; 0 at the end.
fn read_some(reader: &mut impl Read, into: &mut [u8]) -> Result<usize> {
    loop {
        match reader.read(into) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            read => return Ok(read?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    }

    #[test]
    fn all_members_of_a_gzip_file_are_decompressed_up_to_the_limit() {
        let two = [packed(b"1,2\n"), packed(b"3,4\n")].concat();
        let unpacked =
            |bytes: &[u8], limit| decompress_gzip(bytes, &Budget::new(bytes.len(), &MemoryBudget::new(limit)));
        assert_eq!(unpacked(&two, None).unwrap(), b"1,2\n3,4\n");
        let bomb = packed(&vec![b'0'; 1 << 20]);
        assert!(bomb.len() < 1 << 12);
        assert_eq!(unpacked(&bomb, Some(1 << 20)).unwrap().len(), 1 << 20);
        let error = unpacked(&bomb, Some((1 << 20) - 1)).unwrap_err();
        assert!(matches!(error, FileErrorKind::TooLarge { limit: 1_048_575, .. }), "{error}");
        assert!(matches!(unpacked(&bomb[..bomb.len() - 9], None), Err(FileErrorKind::Io(_))));
    }

    #[test]
    fn folders_and_missing_files_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let memory = MemoryBudget::default();
        assert!(FileBytes::open(folder.path(), &memory).is_err());
        assert!(FileBytes::open(&folder.path().join("none"), &memory).is_err());
    }

    // A pipe cannot be mapped, and its size is not known beforehand.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_is_read_to_its_end() {
        use std::os::fd::AsRawFd;
        let (reader, mut writer) = std::io::pipe().unwrap();
        let sent = packed(&b"1,2\n".repeat(1000));
        let bytes = sent.clone();
        let writing = std::thread::spawn(move || writer.write_all(&bytes).unwrap());
        let path = format!("/proc/self/fd/{}", reader.as_raw_fd());
        let memory = MemoryBudget::default();
        let (read, budget) = FileBytes::open(Path::new(&path), &memory).unwrap();
        writing.join().unwrap();
        assert!(matches!(read, FileBytes::Owned(_)));
        assert_eq!(*read, *sent);
        assert_eq!(*read.decompress(&budget).unwrap(), *b"1,2\n".repeat(1000));
        let (device, _) = FileBytes::open(Path::new("/dev/null"), &memory).unwrap();
        assert!(matches!(device, FileBytes::Owned(_)) && device.is_empty());
    }
}
