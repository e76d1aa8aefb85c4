//! The header of a `.npy` file, parsed by hand: it decides what may be allocated, and numpy writes it in one fixed form,
//! so that a parser of Python literals (a dozen crates) is not needed.

use super::FORMAT;
use crate::error::{FileErrorKind, Result};

/// The header: what the values are and how they lie.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Header {
    pub kind: Kind,
    /// Bytes a value.
    pub width: usize,
    pub big_endian: bool,
    pub fortran: bool,
    pub shape: Vec<usize>,
    /// Where the values begin.
    pub offset: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Float,
    Int,
    Unsigned,
    Bool,
    /// Fixed-length bytes, padded with zeros.
    Bytes,
    /// Fixed-length UTF-32, padded with zeros.
    Unicode,
}

impl Header {
    /// Parses the start of a `.npy` file.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let bad = |reason: &str| FileErrorKind::format(FORMAT, reason);
        let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or_else(|| bad("it does not begin as a .npy file does"))?;
        let (length, start) = match rest {
            [1, _, a, b, ..] => (u16::from_le_bytes([*a, *b]) as usize, 10),
            [2 | 3, _, a, b, c, d, ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, 12),
            _ => return Err(bad("its version is unknown")),
        };
        let offset = length.saturating_add(start);
        let text = bytes.get(start..offset).ok_or(FileErrorKind::Truncated {
            what: "header",
            declared: length as u64,
            available: bytes.len().saturating_sub(start) as u64,
        })?;
        let text = std::str::from_utf8(text).map_err(|_| bad("its header is not text"))?;
        let descr = value_after(text, "descr").ok_or_else(|| bad("its header names no type"))?;
        let (big_endian, kind, width) = parse_type(descr)?;
        let fortran = match value_after(text, "fortran_order") {
            Some(value) if value.starts_with("True") => true,
            Some(value) if value.starts_with("False") => false,
            _ => return Err(bad("its header does not say the order of the values")),
        };
        let shape = value_after(text, "shape")
            .and_then(|value| value.strip_prefix('(')?.split_once(')'))
            .and_then(|(inside, _)| {
                let sizes = inside.split(',').map(str::trim).filter(|size| !size.is_empty());
                sizes.map(|size| size.trim_end_matches('L').parse().ok()).collect::<Option<Vec<usize>>>()
            })
            .ok_or_else(|| bad("its header has no shape"))?;
        Ok(Self { kind, width, big_endian, fortran, shape, offset })
    }

    /// Values in all; `None` when that is beyond counting.
    pub fn count(&self) -> Option<usize> {
        self.shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size))
    }

    /// Whether the values are numbers.
    pub fn is_numeric(&self) -> bool {
        !matches!(self.kind, Kind::Bytes | Kind::Unicode)
    }
}

/// The text after `'key':` in the header, which is the text of a Python dictionary written by numpy.
fn value_after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let at =
        [format!("'{key}'"), format!("\"{key}\"")].iter().find_map(|quoted| Some(text.find(quoted)? + quoted.len()))?;
    Some(text[at..].trim_start().strip_prefix(':')?.trim_start())
}

/// `'<f4'`: byte order, kind, width.
fn parse_type(descr: &str) -> Result<(bool, Kind, usize)> {
    let quoted = descr.strip_prefix(['\'', '"']).and_then(|rest| rest.split(['\'', '"']).next());
    let name = quoted.ok_or_else(|| {
        FileErrorKind::format(
            FORMAT,
            "it holds records of several fields; save one plain array, or write it as Parquet or csv",
        )
    })?;
    let unusable = || {
        let reason = match name.trim_start_matches(['|', '<', '>', '=']).chars().next() {
            Some('O') => "its values are Python objects; save it as a plain array: x.astype('float32')".to_string(),
            Some('c') => "its values are complex numbers; save real and imaginary parts as columns".to_string(),
            _ => format!("values of type {name:?} cannot be read; save it as a plain array: x.astype('float32')"),
        };
        FileErrorKind::format(FORMAT, reason)
    };
    let mut letters = name.chars();
    let order = letters.next().ok_or_else(unusable)?;
    let letter = letters.next().ok_or_else(unusable)?;
    let size: usize = letters.as_str().parse().map_err(|_| unusable())?;
    let (kind, width) = match (letter, size) {
        ('f', 2 | 4 | 8) => (Kind::Float, size),
        ('i', 1 | 2 | 4 | 8) => (Kind::Int, size),
        ('u', 1 | 2 | 4 | 8) => (Kind::Unsigned, size),
        ('b', 1) => (Kind::Bool, 1),
        // Values of no width would let a few bytes declare any number of them.
        ('S' | 'U', 0) => return Err(unusable()),
        ('S', _) => (Kind::Bytes, size),
        ('U', _) => (Kind::Unicode, size.checked_mul(4).ok_or_else(unusable)?),
        _ => return Err(unusable()),
    };
    match order {
        '<' | '|' | '=' => Ok((false, kind, width)),
        '>' => Ok((true, kind, width)),
        _ => Err(unusable()),
    }
}
