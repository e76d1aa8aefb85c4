//! The header of a `.npy` file. numpy writes it in one fixed form, so that a general parser of Python literals is not
//! needed.

use super::FORMAT;
use crate::error::{FileErrorKind, Result};

/// Type, order and shape of the values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NpyHeader {
    pub kind: NpyKind,
    /// Bytes per value.
    pub width: usize,
    pub big_endian: bool,
    pub fortran: bool,
    pub shape: Vec<usize>,
    /// Position of the first value.
    pub offset: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NpyKind {
    Float,
    Int,
    Unsigned,
    Bool,
    /// Fixed-length bytes, padded with zeros.
    Bytes,
    /// Fixed-length UTF-32, padded with zeros.
    Unicode,
}

impl NpyHeader {
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

    /// Number of values; `None` if it overflows.
    pub fn count(&self) -> Option<usize> {
        self.shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size))
    }

    /// Returns whether the values are numbers.
    pub fn is_numeric(&self) -> bool {
        !matches!(self.kind, NpyKind::Bytes | NpyKind::Unicode)
    }
}

/// Returns the text after `'key':` in the header, which is a Python dictionary written by numpy.
fn value_after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let at =
        [format!("'{key}'"), format!("\"{key}\"")].iter().find_map(|quoted| Some(text.find(quoted)? + quoted.len()))?;
    Some(text[at..].trim_start().strip_prefix(':')?.trim_start())
}

/// Parses a type such as `'<f4'` into byte order, kind and width.
fn parse_type(descr: &str) -> Result<(bool, NpyKind, usize)> {
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
        ('f', 2 | 4 | 8) => (NpyKind::Float, size),
        ('i', 1 | 2 | 4 | 8) => (NpyKind::Int, size),
        ('u', 1 | 2 | 4 | 8) => (NpyKind::Unsigned, size),
        ('b', 1) => (NpyKind::Bool, 1),
        // Values without a width would let a few bytes declare any number of values.
        ('S' | 'U', 0) => return Err(unusable()),
        ('S', _) => (NpyKind::Bytes, size),
        ('U', _) => (NpyKind::Unicode, size.checked_mul(4).ok_or_else(unusable)?),
        _ => return Err(unusable()),
    };
    match order {
        '<' | '|' | '=' => Ok((false, kind, width)),
        '>' => Ok((true, kind, width)),
        _ => Err(unusable()),
    }
}
