//! Buffers to cells.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use bytes::Bytes;
use parquet::data_type::ByteArray;

use super::batch::ArrayData;
use super::damaged;
use super::schema::{ArrowField, ArrowType, DictionaryEncoding};
use crate::budget::Budget;
use crate::columnar::{CellValues, ColumnCells, TemporalType, TextEncoding};
use crate::error::{FileErrorKind, Result};
use crate::npy::half_to_f64;

/// Bytes that an item of a list takes while it is decoded: as stored and as a number.
const LIST_ITEM_BYTES: usize = 2 * size_of::<f64>();

/// Decodes the rows in `range` of a column.
pub(super) fn decode(
    field: &ArrowField,
    array: &ArrayData,
    range: Range<usize>,
    dictionaries: &HashMap<i64, Rc<ColumnCells>>,
    budget: &Budget,
) -> Result<ColumnCells> {
    if range.end > array.len {
        return Err(damaged("a column is shorter than declared"));
    }
    let decoder = ArrayDecoder { array, range, dictionaries, budget };
    let validity = decoder.validity()?;
    let values = match &field.dictionary {
        Some(encoding) => decoder.dictionary(encoding, validity.as_deref())?,
        None => decoder.values(field)?,
    };
    Ok(ColumnCells { values, validity })
}

/// Appends texts to a dictionary.
pub(super) fn concatenate(known: &ColumnCells, more: ColumnCells) -> Result<ColumnCells> {
    let (CellValues::Text { values: first, encoding }, CellValues::Text { values: second, .. }) =
        (&known.values, &more.values)
    else {
        return Err(FileErrorKind::format(super::FORMAT, "it adds to a dictionary of other values than text"));
    };
    let validity = |cells: &ColumnCells, count: usize| cells.validity.clone().unwrap_or_else(|| vec![true; count]);
    let both = [validity(known, first.len()), validity(&more, second.len())].concat();
    let values = CellValues::Text { values: first.iter().chain(second).cloned().collect(), encoding: *encoding };
    Ok(ColumnCells { values, validity: both.contains(&false).then_some(both) })
}

struct ArrayDecoder<'a> {
    array: &'a ArrayData,
    range: Range<usize>,
    dictionaries: &'a HashMap<i64, Rc<ColumnCells>>,
    budget: &'a Budget,
}

impl ArrayDecoder<'_> {
    fn buffer(&self, at: usize) -> Result<&Bytes> {
        self.array.buffers.get(at).ok_or_else(|| damaged("a column lacks a buffer"))
    }

    /// The entries of a buffer of entries of `N` bytes, from `range.start` to `range.end`.
    fn entries<const N: usize, T>(
        &self,
        buffer: usize,
        range: Range<usize>,
        convert: impl Fn([u8; N]) -> T,
    ) -> Result<Vec<T>> {
        let bounds = range.start.checked_mul(N).zip(range.end.checked_mul(N));
        let bytes = bounds.and_then(|(start, end)| self.buffer(buffer).ok()?.get(start..end));
        let bytes = bytes.ok_or_else(|| damaged("a buffer is too short"))?;
        let mut entry = [0; N];
        let convert = |bytes: &[u8]| {
            entry.copy_from_slice(bytes);
            convert(entry)
        };
        Ok(bytes.chunks_exact(N).map(convert).collect())
    }

    fn numbers<const N: usize, T>(&self, convert: impl Fn([u8; N]) -> T) -> Result<Vec<T>> {
        self.entries(1, self.range.clone(), convert)
    }

    fn bits(&self, buffer: usize) -> Result<Vec<bool>> {
        let bytes = self.buffer(buffer)?;
        if self.range.end.div_ceil(8) > bytes.len() {
            return Err(damaged("a buffer is too short"));
        }
        Ok(self.range.clone().map(|i| bytes[i / 8] >> (i % 8) & 1 == 1).collect())
    }

    /// Whether each cell has a value; `None` if all have.
    fn validity(&self) -> Result<Option<Vec<bool>>> {
        if !self.array.has_nulls || self.array.buffers.first().is_none_or(Bytes::is_empty) {
            return Ok(None);
        }
        let valid = self.bits(0)?;
        Ok(valid.contains(&false).then_some(valid))
    }

    fn values(&self, field: &ArrowField) -> Result<CellValues> {
        Ok(match &field.kind {
            ArrowType::Null => CellValues::Null(self.range.len()),
            ArrowType::Boolean => CellValues::Boolean(self.bits(1)?),
            &ArrowType::Integer { bits, is_signed: true } => CellValues::Signed(self.signed(bits)?),
            ArrowType::Integer { bits, .. } => CellValues::Unsigned(match bits {
                8 => self.numbers(|[byte]| u64::from(byte))?,
                16 => self.numbers(|bytes| u64::from(u16::from_le_bytes(bytes)))?,
                32 => self.numbers(|bytes| u64::from(u32::from_le_bytes(bytes)))?,
                _ => self.numbers(u64::from_le_bytes)?,
            }),
            ArrowType::Float { bits: 16 } => {
                CellValues::Float64(self.numbers(|bytes| half_to_f64(u16::from_le_bytes(bytes)))?)
            }
            ArrowType::Float { bits: 32 } => CellValues::Float32(self.numbers(f32::from_le_bytes)?),
            ArrowType::Float { .. } => CellValues::Float64(self.numbers(f64::from_le_bytes)?),
            &ArrowType::Decimal { bits, scale } => {
                let unscaled = match bits {
                    32 => self.numbers(|bytes| i128::from(i32::from_le_bytes(bytes)))?,
                    64 => self.numbers(|bytes| i128::from(i64::from_le_bytes(bytes)))?,
                    128 => self.numbers(i128::from_le_bytes)?,
                    _ => self.wide_decimals()?,
                };
                CellValues::Decimal { unscaled, scale }
            }
            ArrowType::Temporal { kind, bits } => {
                CellValues::Temporal { values: self.signed(*bits)?, kind: kind.clone() }
            }
            ArrowType::Duration(unit) => {
                CellValues::Temporal { values: self.signed(64)?, kind: TemporalType::Duration(*unit) }
            }
            &ArrowType::Text { has_long_offsets, encoding } => {
                let offsets = self.offsets(has_long_offsets)?;
                CellValues::Text { values: self.slices(2, offsets.windows(2).map(|w| w[0]..w[1]))?, encoding }
            }
            &ArrowType::TextView(encoding) => CellValues::Text { values: self.views()?, encoding },
            &ArrowType::FixedBinary { width } => {
                let cell = |i: usize| i.saturating_mul(width)..(i + 1).saturating_mul(width);
                let values = self.slices(1, self.range.clone().map(cell))?;
                CellValues::Text { values, encoding: TextEncoding::Binary }
            }
            &ArrowType::List { has_long_offsets } => self.list(field, self.offsets(has_long_offsets)?)?,
            &ArrowType::FixedList { len } => {
                self.range.end.checked_mul(len).ok_or_else(|| damaged("a list is too long"))?;
                self.list(field, (self.range.start..=self.range.end).map(|i| i * len).collect())?
            }
            ArrowType::Interval
            | ArrowType::Struct
            | ArrowType::Union { .. }
            | ArrowType::Map
            | ArrowType::RunEndEncoded
            | ArrowType::ListView => {
                let reason = format!("column {:?} holds nested values, which cannot be read", field.name);
                return Err(FileErrorKind::format(super::FORMAT, reason));
            }
        })
    }

    fn signed(&self, bits: u32) -> Result<Vec<i64>> {
        match bits {
            8 => self.numbers(|[byte]| i64::from(byte as i8)),
            16 => self.numbers(|bytes| i64::from(i16::from_le_bytes(bytes))),
            32 => self.numbers(|bytes| i64::from(i32::from_le_bytes(bytes))),
            _ => self.numbers(i64::from_le_bytes),
        }
    }

    /// Decimals of 256 bits, if they have no more than 38 digits.
    fn wide_decimals(&self) -> Result<Vec<i128>> {
        let halves = self.numbers(|bytes: [u8; 32]| {
            let (low, high) = bytes.split_at(16);
            let half = |bytes: &[u8]| i128::from_le_bytes(bytes.try_into().expect("sixteen bytes"));
            (half(low), half(high))
        })?;
        let narrow = |(low, high): (i128, i128)| (high == low >> 127).then_some(low);
        let narrowed: Option<Vec<i128>> = halves.into_iter().map(narrow).collect();
        narrowed.ok_or_else(|| FileErrorKind::format(super::FORMAT, "a decimal has more than 38 digits"))
    }

    /// Where the texts or lists of the rows begin, and where the last one ends.
    fn offsets(&self, are_long: bool) -> Result<Vec<usize>> {
        if self.range.is_empty() {
            return Ok(vec![0]);
        }
        let range = self.range.start..self.range.end + 1;
        let offsets: Vec<i64> = match are_long {
            true => self.entries(1, range, i64::from_le_bytes)?,
            false => self.entries(1, range, |bytes| i64::from(i32::from_le_bytes(bytes)))?,
        };
        if offsets[0] < 0 || !offsets.is_sorted() {
            return Err(damaged("the offsets of a column fall"));
        }
        Ok(offsets.into_iter().map(|offset| offset as usize).collect())
    }

    /// Parts of a buffer.
    fn slices(&self, buffer: usize, ranges: impl Iterator<Item = Range<usize>>) -> Result<Vec<ByteArray>> {
        let bytes = self.buffer(buffer)?;
        let slice = |range: Range<usize>| match range.start <= range.end && range.end <= bytes.len() {
            true => Ok(ByteArray::from(bytes.slice(range))),
            false => Err(damaged("a text lies beyond its buffer")),
        };
        ranges.map(slice).collect()
    }

    /// Texts of up to 12 bytes lie in their view, longer ones in one of the buffers after it.
    fn views(&self) -> Result<Vec<ByteArray>> {
        let views = self.entries(1, self.range.clone(), |view: [u8; 16]| view)?;
        let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes")) as usize;
        let text = |view: &[u8; 16]| match number(&view[..4]) {
            len @ 0..=12 => Ok(ByteArray::from(&view[4..4 + len])),
            len => {
                let (buffer, start) = (number(&view[8..12]), number(&view[12..]));
                let bytes = buffer.checked_add(2).and_then(|at| self.array.buffers.get(at));
                let bytes = bytes.filter(|bytes| start.checked_add(len).is_some_and(|end| end <= bytes.len()));
                let bytes = bytes.ok_or_else(|| damaged("a text lies beyond its buffer"))?;
                Ok(ByteArray::from(bytes.slice(start..start + len)))
            }
        };
        views.iter().map(text).collect()
    }

    /// Lists with these offsets into the items.
    fn list(&self, field: &ArrowField, offsets: Vec<usize>) -> Result<CellValues> {
        let (Some(item), Some(items)) = (field.children.first(), self.array.children.first()) else {
            return Err(damaged("a list has no items"));
        };
        let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
        self.budget.check_room("a column of lists", last - first, LIST_ITEM_BYTES)?;
        let items = decode(item, items, first..last, self.dictionaries, self.budget)?;
        let offsets = offsets.into_iter().map(|offset| offset - first).collect();
        Ok(CellValues::List { offsets, items: Box::new(items) })
    }

    fn dictionary(&self, encoding: &DictionaryEncoding, valid: Option<&[bool]>) -> Result<CellValues> {
        let dictionary = self.dictionaries.get(&encoding.id).cloned();
        let dictionary = dictionary.ok_or_else(|| damaged("a column uses a dictionary that is not there"))?;
        let count = dictionary.len();
        let indices = match (encoding.bits, encoding.is_signed) {
            (8, false) => self.numbers(|[byte]| i64::from(byte))?,
            (16, false) => self.numbers(|bytes| i64::from(u16::from_le_bytes(bytes)))?,
            (32, false) => self.numbers(|bytes| i64::from(u32::from_le_bytes(bytes)))?,
            (bits, _) => self.signed(bits)?,
        };
        let index = |(i, index): (usize, i64)| match usize::try_from(index) {
            // Where there is no value there may be any index.
            _ if valid.is_some_and(|valid| !valid[i]) => Ok(0),
            Ok(index) if index < count => Ok(index),
            _ => Err(damaged("a column names an entry beyond its dictionary")),
        };
        let indices = indices.into_iter().enumerate().map(index).collect::<Result<_>>()?;
        Ok(CellValues::Dictionary { indices, dictionary })
    }
}
