//! Decoded cells of one column.

use std::borrow::Cow;
use std::fmt::Write;
use std::rc::Rc;

use parquet::data_type::ByteArray;

use super::temporal::TemporalType;

/// Decoded cells of one column.
#[derive(Debug)]
pub(crate) struct ColumnCells {
    pub values: CellValues,
    /// Whether each cell has a value; `None` if all have.
    pub validity: Option<Vec<bool>>,
}

/// The values of the cells; where a cell has none the entry is arbitrary.
#[derive(Debug)]
pub(crate) enum CellValues {
    /// So many cells without a value.
    Null(usize),
    Boolean(Vec<bool>),
    Signed(Vec<i64>),
    Unsigned(Vec<u64>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Decimal {
        unscaled: Vec<i128>,
        scale: i32,
    },
    Temporal {
        values: Vec<i64>,
        kind: TemporalType,
    },
    Text {
        values: Vec<ByteArray>,
        encoding: TextEncoding,
    },
    /// Indices into the cells of a dictionary.
    Dictionary {
        indices: Vec<usize>,
        dictionary: Rc<ColumnCells>,
    },
    /// Cell `i` holds the items from `offsets[i]` to `offsets[i + 1]`.
    List {
        offsets: Vec<usize>,
        items: Box<ColumnCells>,
    },
}

/// What the bytes of a text column are declared to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextEncoding {
    /// Text: anything else is an error.
    Utf8,
    /// Anything: what is not UTF-8 counts as missing.
    Binary,
}

/// Text that is not UTF-8.
#[derive(Debug)]
pub(crate) struct NotUtf8;

impl ColumnCells {
    /// Returns whether some cell may have no value.
    pub fn may_have_nulls(&self) -> bool {
        matches!(self.values, CellValues::Null(_)) || self.validity.is_some()
    }

    /// Returns whether cell `i` has no value.
    pub fn is_null(&self, i: usize) -> bool {
        matches!(self.values, CellValues::Null(_)) || self.validity.as_ref().is_some_and(|valid| !valid[i])
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        match &self.values {
            CellValues::Null(count) => *count,
            CellValues::Boolean(values) => values.len(),
            CellValues::Signed(values) => values.len(),
            CellValues::Unsigned(values) => values.len(),
            CellValues::Float32(values) => values.len(),
            CellValues::Float64(values) => values.len(),
            CellValues::Decimal { unscaled, .. } => unscaled.len(),
            CellValues::Temporal { values, .. } => values.len(),
            CellValues::Text { values, .. } => values.len(),
            CellValues::Dictionary { indices, .. } => indices.len(),
            CellValues::List { offsets, .. } => offsets.len() - 1,
        }
    }

    /// Returns the values as numbers, or `None` if the cells do not hold numbers.
    pub fn to_f64(&self) -> Option<Cow<'_, [f64]>> {
        let numbers: Vec<f64> = match &self.values {
            CellValues::Null(count) => vec![f64::NAN; *count],
            CellValues::Boolean(values) => values.iter().map(|&value| f64::from(u8::from(value))).collect(),
            CellValues::Signed(values) => values.iter().map(|&value| value as f64).collect(),
            CellValues::Unsigned(values) => values.iter().map(|&value| value as f64).collect(),
            CellValues::Float32(values) => values.iter().map(|&value| value.into()).collect(),
            CellValues::Float64(values) => return Some(Cow::Borrowed(values)),
            CellValues::Decimal { unscaled, scale } => {
                let unit = 10f64.powi(*scale);
                unscaled.iter().map(|&value| value as f64 / unit).collect()
            }
            CellValues::Temporal { .. }
            | CellValues::Text { .. }
            | CellValues::Dictionary { .. }
            | CellValues::List { .. } => return None,
        };
        Some(Cow::Owned(numbers))
    }

    /// Calls `visit` with the text of cell `i`: numbers in the fewest digits that read back, missing values empty.
    pub fn with_text<T>(&self, i: usize, visit: impl FnOnce(&str) -> T) -> Result<T, NotUtf8> {
        if self.is_null(i) {
            return Ok(visit(""));
        }
        match &self.values {
            CellValues::Text { values, encoding } => match (std::str::from_utf8(values[i].data()), encoding) {
                (Ok(text), _) => Ok(visit(text)),
                (Err(_), TextEncoding::Binary) => Ok(visit("")),
                (Err(_), TextEncoding::Utf8) => Err(NotUtf8),
            },
            CellValues::Dictionary { indices, dictionary } => dictionary.with_text(indices[i], visit),
            _ => {
                let mut text = String::new();
                self.format(i, &mut text)?;
                Ok(visit(&text))
            }
        }
    }

    fn format(&self, i: usize, out: &mut String) -> Result<(), NotUtf8> {
        let _ = match &self.values {
            CellValues::Boolean(values) => write!(out, "{}", values[i]),
            CellValues::Signed(values) => write!(out, "{}", values[i]),
            CellValues::Unsigned(values) => write!(out, "{}", values[i]),
            CellValues::Float32(values) => write!(out, "{}", f64::from(values[i])),
            CellValues::Float64(values) => write!(out, "{}", values[i]),
            CellValues::Decimal { unscaled, scale } => {
                out.push_str(&decimal(unscaled[i], *scale));
                Ok(())
            }
            CellValues::Temporal { values, kind } => write!(out, "{}", kind.format(values[i])),
            CellValues::List { offsets, items } => {
                for at in offsets[i]..offsets[i + 1] {
                    out.push_str(if at == offsets[i] { "[" } else { ", " });
                    items.format_item(at, out)?;
                }
                out.push_str(if offsets[i] == offsets[i + 1] { "[]" } else { "]" });
                Ok(())
            }
            CellValues::Null(_) | CellValues::Text { .. } | CellValues::Dictionary { .. } => {
                self.with_text(i, |text| out.push_str(text))?;
                Ok(())
            }
        };
        Ok(())
    }

    /// Appends an item of a list. Floats keep their decimal point.
    fn format_item(&self, i: usize, out: &mut String) -> Result<(), NotUtf8> {
        let _ = match &self.values {
            CellValues::Float32(values) if !self.is_null(i) => write!(out, "{:?}", values[i]),
            CellValues::Float64(values) if !self.is_null(i) => write!(out, "{:?}", values[i]),
            _ => return self.with_text(i, |text| out.push_str(text)),
        };
        Ok(())
    }
}

/// A decimal number with `scale` digits after the point.
fn decimal(unscaled: i128, scale: i32) -> String {
    let (sign, digits) = (if unscaled < 0 { "-" } else { "" }, unscaled.unsigned_abs().to_string());
    if scale <= 0 {
        let zeros = if unscaled == 0 { 0 } else { scale.unsigned_abs().min(1000) as usize };
        return format!("{sign}{digits}{}", "0".repeat(zeros));
    }
    let scale = scale.min(1000) as usize;
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    format!("{sign}{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(values: CellValues, i: usize) -> String {
        ColumnCells { values, validity: None }.with_text(i, str::to_owned).unwrap()
    }

    #[test]
    fn decimals_keep_their_digits() {
        for (unscaled, scale, expected) in [(12345, 2, "123.45"), (-5, 3, "-0.005"), (7, 0, "7"), (7, -2, "700")] {
            assert_eq!(decimal(unscaled, scale), expected);
        }
    }

    #[test]
    fn lists_and_dictionaries_have_a_text_form() {
        let list = |items| CellValues::List {
            offsets: vec![0, 2, 2, 3],
            items: Box::new(ColumnCells { values: items, validity: None }),
        };
        let narrow = || list(CellValues::Float32(vec![1.0, 0.1, 0.5]));
        assert_eq!((text(narrow(), 0), text(narrow(), 1)), ("[1.0, 0.1]".into(), "[]".into()));
        assert_eq!(text(list(CellValues::Float64(vec![1.0, 2.0, 0.1])), 2), "[0.1]");
        let words =
            CellValues::Text { values: vec![ByteArray::from("a"), ByteArray::from("b")], encoding: TextEncoding::Utf8 };
        let dictionary = Rc::new(ColumnCells { values: words, validity: Some(vec![true, false]) });
        let coded = || CellValues::Dictionary { indices: vec![0, 1], dictionary: dictionary.clone() };
        assert_eq!((text(coded(), 0), text(coded(), 1)), ("a".into(), String::new()));
    }

    #[test]
    fn only_declared_text_must_be_utf8() {
        let cells = |encoding| ColumnCells {
            values: CellValues::Text { values: vec![ByteArray::from(vec![0xff])], encoding },
            validity: None,
        };
        assert!(cells(TextEncoding::Utf8).with_text(0, |_| ()).is_err());
        assert_eq!(cells(TextEncoding::Binary).with_text(0, str::len).unwrap(), 0);
    }
}
