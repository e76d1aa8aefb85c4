//! Archives: named arrays in one checksummed byte string, used for model files and checkpoints.

mod format;

use std::collections::BTreeMap;

use crate::{Error, Result};

use format::VERSION;

/// The kind of content of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveKind {
    /// A fitted model.
    Model,
    /// The state of an unfinished run.
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

/// The values of one entry.
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

/// Named arrays, sorted by name.
#[derive(Debug, Clone, PartialEq)]
pub struct Archive {
    kind: ArchiveKind,
    version: u32,
    entries: BTreeMap<String, Array>,
    incomplete: bool,
}

macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident: $variant:ident -> $element:ty),* $(,)?) => {
        $($(#[$doc])*
        pub fn $name(&self, name: &str) -> Result<&[$element]> {
            match self.entries.get(name) {
                Some(Array::$variant(values)) => Ok(values),
                Some(_) => Err(self.invalid(format!("'{name}' has another type"))),
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
    /// Creates an empty archive.
    pub fn new(kind: ArchiveKind) -> Self {
        Self { kind, version: VERSION, entries: BTreeMap::new(), incomplete: false }
    }

    /// Adds or replaces an entry.
    pub fn put(&mut self, name: impl Into<String>, array: impl Into<Array>) {
        self.entries.insert(name.into(), array.into());
    }

    /// Records that some of the state could not be read, from a device that failed, so that this must not replace an earlier checkpoint.
    pub fn mark_incomplete(&mut self) {
        self.incomplete = true;
    }

    /// Returns whether everything that belongs here could be read.
    pub fn is_complete(&self) -> bool {
        !self.incomplete
    }

    /// Removes an entry.
    pub fn remove(&mut self, name: &str) {
        self.entries.remove(name);
    }

    /// Returns whether there is an entry with this name.
    pub fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// Returns the names of the entries.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Returns an entry of any type.
    pub fn get(&self, name: &str) -> Option<&Array> {
        self.entries.get(name)
    }

    getters! {
        /// Returns an entry of double precision.
        f64s: F64 -> f64,
        /// Returns an entry of single precision.
        f32s: F32 -> f32,
        /// Returns an entry of counters.
        u64s: U64 -> u64,
        /// Returns an entry of indices.
        u32s: U32 -> u32,
        /// Returns an entry of strings.
        texts: Text -> String,
    }

    /// Returns an entry of double precision; fails if a value is NaN or infinite.
    pub fn finite(&self, name: &str) -> Result<&[f64]> {
        let values = self.f64s(name)?;
        match values.iter().find(|v| !v.is_finite()) {
            Some(v) => Err(self.invalid(format!("'{name}' contains {v}"))),
            None => Ok(values),
        }
    }

    /// Returns an entry that is a single counter.
    pub fn number(&self, name: &str) -> Result<u64> {
        match self.u64s(name)? {
            [number] => Ok(*number),
            other => Err(self.invalid(format!("'{name}' has {} numbers instead of one", other.len()))),
        }
    }

    /// Returns an entry that is a single counter, as a size in memory.
    pub fn size(&self, name: &str) -> Result<usize> {
        let number = self.number(name)?;
        usize::try_from(number).map_err(|_| self.invalid(format!("'{name}' = {number} is too large")))
    }

    /// Returns an entry that is a single string.
    pub fn text(&self, name: &str) -> Result<&str> {
        match self.texts(name)? {
            [text] => Ok(text),
            other => Err(self.invalid(format!("'{name}' has {} strings instead of one", other.len()))),
        }
    }

    /// Returns an entry of counters as sizes in memory, such as row offsets.
    pub fn sizes(&self, name: &str) -> Result<Vec<usize>> {
        self.u64s(name)?
            .iter()
            .map(|&v| usize::try_from(v).map_err(|_| self.invalid(format!("'{name}' contains {v}, too large"))))
            .collect()
    }

    /// Version of the format that the archive was read from or will be written in.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Returns the error for inconsistent content.
    pub fn invalid(&self, reason: String) -> Error {
        Error::Format { what: self.kind.name(), reason }
    }
}

#[cfg(test)]
mod tests;
