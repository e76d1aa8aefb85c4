//! The bytes of a file: mapped where that is possible, unpacked where it is compressed, never more than the limit.

use std::fs::File;
use std::io::Read;
use std::ops::Deref;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use memmap2::Mmap;

use crate::budget::Budget;
use crate::error::Result;

/// All bytes of a file.
pub(crate) enum Bytes {
    /// A mapped file.
    Mapped(Mmap),
    /// Bytes in memory, from a pipe or unpacked.
    Owned(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Owned(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Bytes {
    /// The bytes as they are on disk.
    pub fn open(path: &Path) -> Result<Self> {
        let mut file = File::open(path)?;
        let about = file.metadata()?;
        if about.is_dir() {
            return Err(std::io::Error::from(std::io::ErrorKind::IsADirectory).into());
        }
        if about.is_file() && about.len() > 0 {
            // SAFETY: read-only and private to us; as with every map, another program must not shorten the file meanwhile.
            return Ok(Bytes::Mapped(unsafe { Mmap::map(&file)? }));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Bytes::Owned(bytes))
    }

    /// The bytes, unpacked if they are gzip (known by their first two bytes, whatever the name).
    pub fn open_unpacked(path: &Path, max_bytes: Option<u64>) -> Result<(Self, Budget)> {
        Self::open(path)?.unpacked(max_bytes)
    }

    /// The bytes, unpacked if they are gzip, and what is left for the table made of them.
    pub fn unpacked(self, max_bytes: Option<u64>) -> Result<(Self, Budget)> {
        let budget = Budget::new(self.len(), max_bytes);
        let bytes = if is_gzip(&self) { Bytes::Owned(unpacked(&self, &budget)?) } else { self };
        Ok((bytes, budget))
    }
}

fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// The content of a gzip file.
pub(crate) fn unpacked(packed: &[u8], budget: &Budget) -> Result<Vec<u8>> {
    read_within(MultiGzDecoder::new(packed), budget, "the gzip file")
}

/// Reads to the end, growing as the bytes come, and stops where the budget ends; the bytes are taken from it.
pub(crate) fn read_within(reader: impl Read, budget: &Budget, what: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(budget.remaining().saturating_add(1)).read_to_end(&mut bytes)?;
    budget.reserve(what, bytes.len(), 1)?;
    Ok(bytes)
}

/// Runs a reader of a large format that is not ours. Such readers have been seen to panic on damaged files; to the user
/// that is a damaged file like any other.
#[cfg(any(feature = "tables", feature = "hdf5"))]
pub(crate) fn catch_panics<T>(format: &'static str, read: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).unwrap_or_else(|_| {
        Err(crate::error::FileErrorKind::format(format, "the content contradicts itself; the file is damaged"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::FileErrorKind;
    use std::io::Write;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    }

    #[test]
    fn gzip_is_unpacked_in_all_its_parts_and_stops_at_the_limit() {
        let two = [packed(b"1,2\n"), packed(b"3,4\n")].concat();
        let unpacked = |bytes: &[u8], max_bytes| unpacked(bytes, &Budget::new(bytes.len(), max_bytes));
        assert_eq!(unpacked(&two, None).unwrap(), b"1,2\n3,4\n");
        let bomb = packed(&vec![b'0'; 1 << 20]);
        assert!(bomb.len() < 1 << 12);
        assert_eq!(unpacked(&bomb, Some(1 << 20)).unwrap().len(), 1 << 20);
        let error = unpacked(&bomb, Some((1 << 20) - 1)).unwrap_err();
        assert!(matches!(error, FileErrorKind::TooLarge { limit: 1_048_575, .. }), "{error}");
        assert!(matches!(unpacked(&bomb[..bomb.len() - 9], None), Err(FileErrorKind::Io(_))));
    }

    #[test]
    fn what_is_not_a_regular_file_is_an_error_or_read_as_it_comes() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Bytes::open(folder.path()).is_err());
        assert!(Bytes::open(&folder.path().join("none")).is_err());
    }
}
