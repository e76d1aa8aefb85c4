//! Named arrays in one checksummed byte string: what models and checkpoints are saved as.
//!
//! Layout, little-endian: `LOWLAND\n`, version (u32), kind (u32), number of entries (u64); for each entry the length of its
//! name (u32), the name, its type (u8), its number of elements (u64), the elements; last an xxh3-64 of everything before.
//! No code is ever read from such a file, and no length in it is trusted beyond the bytes that are there.

use std::collections::BTreeMap;

use twox_hash::XxHash3_64;

use crate::{Error, Result};

const MAGIC: &[u8; 8] = b"LOWLAND\n";
/// The version that is written. Version 1 is read too; its models do not have the hashes of the training rows.
const VERSION: u32 = 2;
const OLDEST_VERSION: u32 = 1;

/// What an archive is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveKind {
    /// A fitted model.
    Model,
    /// An unfinished run.
    Checkpoint,
}

impl ArchiveKind {
    fn name(self) -> &'static str {
        match self {
            ArchiveKind::Model => "model",
            ArchiveKind::Checkpoint => "checkpoint",
        }
    }
}

/// One entry.
#[derive(Debug, Clone, PartialEq)]
pub enum Array {
    /// Double precision.
    F64(Vec<f64>),
    /// Single precision.
    F32(Vec<f32>),
    /// Counters.
    U64(Vec<u64>),
    /// Indices.
    U32(Vec<u32>),
    /// Strings.
    Text(Vec<String>),
}

/// Named arrays, in the order of their names.
#[derive(Debug, Clone, PartialEq)]
pub struct Archive {
    kind: ArchiveKind,
    version: u32,
    entries: BTreeMap<String, Array>,
}

macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident: $variant:ident -> $element:ty),* $(,)?) => {
        $($(#[$doc])*
        pub fn $name(&self, name: &str) -> Result<&[$element]> {
            match self.entries.get(name) {
                Some(Array::$variant(values)) => Ok(values),
                Some(_) => Err(self.invalid(format!("'{name}' is of another type"))),
                None => Err(self.invalid(format!("'{name}' is missing"))),
            }
        })*
    };
}

macro_rules! from_vec {
    ($($element:ty => $variant:ident),*) => {
        $(impl From<Vec<$element>> for Array {
            fn from(values: Vec<$element>) -> Self {
                Array::$variant(values)
            }
        }
        impl From<&[$element]> for Array {
            fn from(values: &[$element]) -> Self {
                Array::$variant(values.to_vec())
            }
        })*
    };
}

from_vec!(f64 => F64, f32 => F32, u64 => U64, u32 => U32, String => Text);

impl From<&str> for Array {
    fn from(text: &str) -> Self {
        Array::Text(vec![text.into()])
    }
}

impl From<u64> for Array {
    fn from(number: u64) -> Self {
        Array::U64(vec![number])
    }
}

impl Archive {
    /// An empty one.
    pub fn new(kind: ArchiveKind) -> Self {
        Self { kind, version: VERSION, entries: BTreeMap::new() }
    }

    /// Adds or replaces an entry.
    pub fn put(&mut self, name: impl Into<String>, array: impl Into<Array>) {
        self.entries.insert(name.into(), array.into());
    }

    /// Takes an entry out.
    pub fn remove(&mut self, name: &str) {
        self.entries.remove(name);
    }

    /// Whether there is such an entry.
    pub fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// The entries' names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// An entry of any type.
    pub fn get(&self, name: &str) -> Option<&Array> {
        self.entries.get(name)
    }

    getters! {
        /// An entry of doubles.
        f64s: F64 -> f64,
        /// An entry of singles.
        f32s: F32 -> f32,
        /// An entry of counters.
        u64s: U64 -> u64,
        /// An entry of indices.
        u32s: U32 -> u32,
        /// An entry of strings.
        texts: Text -> String,
    }

    /// An entry of doubles, none of them NaN or infinite.
    pub fn finite(&self, name: &str) -> Result<&[f64]> {
        let values = self.f64s(name)?;
        match values.iter().find(|v| !v.is_finite()) {
            Some(v) => Err(self.invalid(format!("'{name}' holds {v}"))),
            None => Ok(values),
        }
    }

    /// A single counter.
    pub fn number(&self, name: &str) -> Result<u64> {
        match self.u64s(name)? {
            [number] => Ok(*number),
            other => Err(self.invalid(format!("'{name}' has {} numbers instead of one", other.len()))),
        }
    }

    /// A single counter that sizes something in memory.
    pub fn size(&self, name: &str) -> Result<usize> {
        let number = self.number(name)?;
        usize::try_from(number).map_err(|_| self.invalid(format!("'{name}' = {number} is too large")))
    }

    /// A single string.
    pub fn text(&self, name: &str) -> Result<&str> {
        match self.texts(name)? {
            [text] => Ok(text),
            other => Err(self.invalid(format!("'{name}' has {} strings instead of one", other.len()))),
        }
    }

    /// Counters as sizes, such as row offsets.
    pub fn sizes(&self, name: &str) -> Result<Vec<usize>> {
        self.u64s(name)?
            .iter()
            .map(|&v| usize::try_from(v).map_err(|_| self.invalid(format!("'{name}' holds {v}, too large"))))
            .collect()
    }

    /// The version of the format it was read from, or will be written in.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The error for content that does not fit together.
    pub fn invalid(&self, reason: String) -> Error {
        Error::Format { what: self.kind.name(), reason }
    }

    /// The file's bytes.
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

    /// Reads a file's bytes, which may be anything.
    pub fn from_bytes(bytes: &[u8], kind: ArchiveKind) -> Result<Self> {
        let mut archive = Archive::new(kind);
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            return Err(archive.invalid("it does not start as one of ours does".into()));
        };
        let Some((body, checksum)) = rest.split_last_chunk::<8>() else {
            return Err(archive.invalid("it is cut short".into()));
        };
        let mut reader = Reader { bytes: body };
        let version = reader.u32().ok_or_else(|| archive.invalid("it is cut short".into()))?;
        if !(OLDEST_VERSION..=VERSION).contains(&version) {
            let reason = format!(
                "it is of version {version}, this program reads versions {OLDEST_VERSION} to {VERSION}; use the program that \
                 wrote it or fit again"
            );
            return Err(archive.invalid(reason));
        }
        if XxHash3_64::oneshot(&bytes[..bytes.len() - 8]) != u64::from_le_bytes(*checksum) {
            return Err(archive.invalid("its checksum does not match: it was damaged or cut short".into()));
        }
        let garbled = || Error::Format { what: kind.name(), reason: "its entries are garbled".into() };
        let found = reader.u32().ok_or_else(garbled)?;
        if found != kind as u32 {
            let other = [ArchiveKind::Model, ArchiveKind::Checkpoint].into_iter().find(|other| *other as u32 == found);
            return Err(other.map_or_else(garbled, |other| archive.invalid(format!("it is a {}", other.name()))));
        }
        archive.version = version;
        archive.entries = reader.entries().ok_or_else(garbled)?;
        Ok(archive)
    }
}

fn put_numbers<T: Copy, const N: usize>(out: &mut Vec<u8>, tag: u8, values: &[T], bytes: impl Fn(T) -> [u8; N]) {
    out.push(tag);
    out.extend_from_slice(&(values.len() as u64).to_le_bytes());
    values.iter().for_each(|&v| out.extend_from_slice(&bytes(v)));
}

/// Takes bytes off the front; `None` when there are too few.
struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample() -> Archive {
        let mut archive = Archive::new(ArchiveKind::Model);
        archive.put("x", vec![1.0, f64::NAN, -0.0]);
        archive.put("small", vec![1.5f32]);
        archive.put("n", 7u64);
        archive.put("index", vec![3u32, 4]);
        archive.put("words", vec!["é".to_string(), String::new()]);
        archive
    }

    #[test]
    fn an_archive_comes_back_as_it_was() {
        let bytes = sample().to_bytes();
        let back = Archive::from_bytes(&bytes, ArchiveKind::Model).unwrap();
        assert_eq!(back.to_bytes(), bytes);
        assert_eq!(back.number("n").unwrap(), 7);
        assert!(back.f64s("n").is_err());
        assert!(back.f64s("absent").unwrap_err().to_string().contains("'absent' is missing"));
    }

    #[test]
    fn a_checkpoint_is_not_a_model() {
        assert!(Archive::from_bytes(&sample().to_bytes(), ArchiveKind::Checkpoint).is_err());
    }

    #[test]
    fn every_truncation_is_refused() {
        let bytes = sample().to_bytes();
        for length in 0..bytes.len() {
            assert!(Archive::from_bytes(&bytes[..length], ArchiveKind::Model).is_err(), "{length} bytes");
        }
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_noticed(at in 0usize..1000, change in 1u8..) {
            let mut bytes = sample().to_bytes();
            let at = at % bytes.len();
            bytes[at] ^= change;
            prop_assert!(Archive::from_bytes(&bytes, ArchiveKind::Model).is_err());
        }

        #[test]
        fn hostile_content_with_a_right_checksum_does_not_crash(at in 0usize..1000, put in prop::collection::vec(any::<u8>(), 1..12)) {
            // A good file with a few bytes replaced after the version, and the checksum made right again.
            let good = sample().to_bytes();
            let mut bytes = good[..good.len() - 8].to_vec();
            let start = 12 + at % (bytes.len() - 12);
            bytes[start..].iter_mut().zip(&put).for_each(|(byte, &new)| *byte = new);
            bytes.extend_from_slice(&XxHash3_64::oneshot(&bytes).to_le_bytes());
            if let Ok(archive) = Archive::from_bytes(&bytes, ArchiveKind::Model) {
                prop_assert_eq!(archive.to_bytes().len(), bytes.len());
            }
        }
    }
}
