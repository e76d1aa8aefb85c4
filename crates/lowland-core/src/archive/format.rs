//! The binary format of archives.
//!
//! Layout, little-endian: `LOWLAND\n`, version (u32), kind (u32), number of entries (u64); for each entry the length of its
//! name (u32), the name, its type (u8), its number of elements (u64), the elements; finally an xxh3-64 hash of all of the
//! above. Archives contain no code, and a length is never trusted beyond the number of bytes available.

use std::collections::BTreeMap;

use twox_hash::XxHash3_64;

use super::{Archive, ArchiveKind, Array};
use crate::{Error, Result};

const MAGIC: &[u8; 8] = b"LOWLAND\n";
/// Version that is written. Version 1 can still be read, whose models lack the hashes of the training rows, and version 2, whose
/// models lack notes, outcomes, offsets and the means of linear maps.
pub(super) const VERSION: u32 = 3;
const OLDEST_VERSION: u32 = 1;

impl Archive {
    /// Serializes the archive.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&self.version.to_le_bytes());
        out.extend_from_slice(&(self.kind as u32).to_le_bytes());
        out.extend_from_slice(&(self.entries.len() as u64).to_le_bytes());
        for (name, array) in &self.entries {
            out.extend_from_slice(&(name.len() as u32).to_le_bytes());
            out.extend_from_slice(name.as_bytes());
            match array {
                Array::F64(v) => put_numbers(&mut out, 0, v, |x| x.to_le_bytes()),
                Array::F32(v) => put_numbers(&mut out, 1, v, |x| x.to_le_bytes()),
                Array::U64(v) => put_numbers(&mut out, 2, v, |x| x.to_le_bytes()),
                Array::U32(v) => put_numbers(&mut out, 3, v, |x| x.to_le_bytes()),
                Array::Text(v) => {
                    out.push(4);
                    out.extend_from_slice(&(v.len() as u64).to_le_bytes());
                    for text in v {
                        out.extend_from_slice(&(text.len() as u64).to_le_bytes());
                        out.extend_from_slice(text.as_bytes());
                    }
                }
            }
        }
        let checksum = XxHash3_64::oneshot(&out);
        out.extend_from_slice(&checksum.to_le_bytes());
        out
    }

    /// Reads an archive from untrusted bytes.
    pub fn from_bytes(bytes: &[u8], kind: ArchiveKind) -> Result<Self> {
        let mut archive = Archive::new(kind);
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            return Err(archive.invalid("it does not start with the signature of a lowland file".into()));
        };
        let Some((body, checksum)) = rest.split_last_chunk::<8>() else {
            return Err(archive.invalid("it is truncated".into()));
        };
        let mut reader = ByteReader { bytes: body };
        let version = reader.u32().ok_or_else(|| archive.invalid("it is truncated".into()))?;
        if !(OLDEST_VERSION..=VERSION).contains(&version) {
            let reason = format!(
                "it has version {version}, and this program reads versions {OLDEST_VERSION} to {VERSION}; use the program \
                 that wrote it or fit again"
            );
            return Err(archive.invalid(reason));
        }
        if XxHash3_64::oneshot(&bytes[..bytes.len() - 8]) != u64::from_le_bytes(*checksum) {
            return Err(archive.invalid("its checksum does not match: it is damaged or truncated".into()));
        }
        let malformed = || Error::Format { what: kind.name(), reason: "its entries are malformed".into() };
        let found = reader.u32().ok_or_else(malformed)?;
        if found != kind as u32 {
            let other = [ArchiveKind::Model, ArchiveKind::Checkpoint].into_iter().find(|other| *other as u32 == found);
            return Err(other.map_or_else(malformed, |other| archive.invalid(format!("it is a {}", other.name()))));
        }
        archive.version = version;
        archive.entries = reader.entries().ok_or_else(malformed)?;
        Ok(archive)
    }
}

fn put_numbers<T: Copy, const N: usize>(out: &mut Vec<u8>, tag: u8, values: &[T], bytes: impl Fn(T) -> [u8; N]) {
    out.push(tag);
    out.extend_from_slice(&(values.len() as u64).to_le_bytes());
    values.iter().for_each(|&v| out.extend_from_slice(&bytes(v)));
}

/// Reads from the front of a byte slice; `None` if it is too short.
struct ByteReader<'a> {
    bytes: &'a [u8],
}

impl<'a> ByteReader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.bytes.split_at_checked(count)?;
        self.bytes = tail;
        Some(head)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.take(8)?.try_into().ok()?)).ok()
    }

    fn string(&mut self, length: usize) -> Option<String> {
        String::from_utf8(self.take(length)?.to_vec()).ok()
    }

    fn numbers<T, const N: usize>(&mut self, count: usize, read: impl Fn([u8; N]) -> T) -> Option<Vec<T>> {
        let bytes = self.take(count.checked_mul(N)?)?;
        Some(bytes.as_chunks::<N>().0.iter().map(|&chunk| read(chunk)).collect())
    }

    fn entries(&mut self) -> Option<BTreeMap<String, Array>> {
        let count = self.length()?;
        let mut entries = BTreeMap::new();
        for _ in 0..count {
            let length = self.u32()? as usize;
            let name = self.string(length)?;
            let tag = self.take(1)?[0];
            let count = self.length()?;
            let array = match tag {
                0 => Array::F64(self.numbers(count, f64::from_le_bytes)?),
                1 => Array::F32(self.numbers(count, f32::from_le_bytes)?),
                2 => Array::U64(self.numbers(count, u64::from_le_bytes)?),
                3 => Array::U32(self.numbers(count, u32::from_le_bytes)?),
                4 => {
                    let mut texts = Vec::new();
                    for _ in 0..count {
                        let length = self.length()?;
                        texts.push(self.string(length)?);
                    }
                    Array::Text(texts)
                }
                _ => return None,
            };
            entries.insert(name, array);
        }
        self.bytes.is_empty().then_some(entries)
    }
}
