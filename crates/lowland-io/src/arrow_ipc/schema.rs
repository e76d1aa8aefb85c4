//! The schema of an Arrow stream.

use super::flatbuffer::{FlatTable, Malformed};
use crate::columnar::{ColumnField, ColumnKind, TemporalType, TextEncoding, TimeUnit, zone_offset};

type Result<T> = std::result::Result<T, Malformed>;

/// Lists within lists that are followed.
const MAX_DEPTH: usize = 32;

/// Header types of a message.
pub(super) const SCHEMA: u8 = 1;
pub(super) const DICTIONARY_BATCH: u8 = 2;
pub(super) const RECORD_BATCH: u8 = 3;

/// A column, or what is inside one.
#[derive(Debug, Clone)]
pub(crate) struct ArrowField {
    pub name: String,
    pub kind: ArrowType,
    pub children: Vec<ArrowField>,
    /// The values are indices into a dictionary.
    pub dictionary: Option<DictionaryEncoding>,
}

/// A dictionary and the type of the indices into it.
#[derive(Debug, Clone)]
pub(crate) struct DictionaryEncoding {
    pub id: i64,
    pub bits: u32,
    pub is_signed: bool,
}

/// The type of a column. Those that cannot be read are only told apart by their buffers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ArrowType {
    Null,
    Boolean,
    Integer { bits: u32, is_signed: bool },
    Float { bits: u32 },
    Decimal { bits: u32, scale: i32 },
    Temporal { kind: TemporalType, bits: u32 },
    Duration(TimeUnit),
    Text { has_long_offsets: bool, encoding: TextEncoding },
    TextView(TextEncoding),
    FixedBinary { width: usize },
    List { has_long_offsets: bool },
    FixedList { len: usize },
    Interval,
    Struct,
    Union { is_dense: bool },
    Map,
    RunEndEncoded,
    ListView,
}

/// Parses the schema in the header of a message.
pub(super) fn parse_schema(schema: FlatTable, size: usize) -> Result<Vec<ArrowField>> {
    // Big-endian files are not read.
    if schema.i16(0, 0)? != 0 {
        return Err(Malformed);
    }
    // Tables may be shared, and shared again: fewer fields than bytes keep that from growing without bound.
    let mut remaining = size;
    schema.tables(1)?.into_iter().map(|field| parse_field(field, 0, &mut remaining)).collect()
}

/// The schema that Arrow writers store in the metadata of Parquet files: a message in base 64.
pub(crate) fn embedded_schema(base64: &str) -> Option<Vec<ArrowField>> {
    let bytes = decode_base64(base64)?;
    let bytes = bytes.strip_prefix(&[0xff; 4]).unwrap_or(&bytes).get(4..)?;
    let message = FlatTable::root(bytes).ok()?;
    if message.u8(1, 0).ok()? != SCHEMA {
        return None;
    }
    parse_schema(message.table(2).ok()??, bytes.len()).ok()
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut values = [None; 256];
    ALPHABET.iter().enumerate().for_each(|(value, &letter)| values[usize::from(letter)] = Some(value as u32));
    let (mut out, mut bits, mut count) = (Vec::with_capacity(text.len() / 4 * 3), 0u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        bits = bits << 6 | values[usize::from(letter)]?;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    Some(out)
}

fn parse_field(field: FlatTable, depth: usize, remaining: &mut usize) -> Result<ArrowField> {
    *remaining = remaining.checked_sub(1).filter(|_| depth < MAX_DEPTH).ok_or(Malformed)?;
    let name = field.string(0)?.unwrap_or_default();
    *remaining = remaining.checked_sub(name.len()).ok_or(Malformed)?;
    let children = field.tables(5)?.into_iter().map(|child| parse_field(child, depth + 1, remaining));
    let children = children.collect::<Result<Vec<_>>>()?;
    let dictionary = field.table(4)?.map(|encoding| -> Result<DictionaryEncoding> {
        let (bits, is_signed) = match encoding.table(1)? {
            Some(int) => (int.i32(0, 0)?, int.u8(1, 0)? != 0),
            None => (32, true),
        };
        Ok(DictionaryEncoding { id: encoding.i64(0, 0)?, bits: integer_bits(bits)?, is_signed })
    });
    let kind = parse_type(field.u8(2, 0)?, field.table(3)?.ok_or(Malformed)?)?;
    let expected = match kind {
        ArrowType::List { .. } | ArrowType::FixedList { .. } | ArrowType::Map | ArrowType::ListView => Some(1),
        ArrowType::RunEndEncoded => Some(2),
        _ => None,
    };
    if expected.is_some_and(|expected| children.len() != expected) {
        return Err(Malformed);
    }
    Ok(ArrowField { name: name.into(), kind, children, dictionary: dictionary.transpose()? })
}

fn integer_bits(bits: i32) -> Result<u32> {
    match bits {
        8 | 16 | 32 | 64 => Ok(bits as u32),
        _ => Err(Malformed),
    }
}

fn time_unit(unit: i16) -> Result<TimeUnit> {
    match unit {
        0 => Ok(TimeUnit::Second),
        1 => Ok(TimeUnit::Millisecond),
        2 => Ok(TimeUnit::Microsecond),
        3 => Ok(TimeUnit::Nanosecond),
        _ => Err(Malformed),
    }
}

/// Parses the type with this number in the union of types.
fn parse_type(number: u8, about: FlatTable) -> Result<ArrowType> {
    let size = |slot| usize::try_from(about.i32(slot, 0)?).map_err(|_| Malformed);
    let timestamp = |unit, zone| TemporalType::Timestamp(unit, zone);
    Ok(match number {
        1 => ArrowType::Null,
        2 => ArrowType::Integer { bits: integer_bits(about.i32(0, 0)?)?, is_signed: about.u8(1, 0)? != 0 },
        3 => ArrowType::Float { bits: *[16, 32, 64].get(about.i16(0, 0)? as usize).ok_or(Malformed)? },
        4 => ArrowType::Text { has_long_offsets: false, encoding: TextEncoding::Binary },
        5 => ArrowType::Text { has_long_offsets: false, encoding: TextEncoding::Utf8 },
        6 => ArrowType::Boolean,
        7 => match about.i32(2, 128)? {
            bits @ (32 | 64 | 128 | 256) => ArrowType::Decimal { bits: bits as u32, scale: about.i32(1, 0)? },
            _ => return Err(Malformed),
        },
        8 if about.i16(0, 1)? == 0 => ArrowType::Temporal { kind: TemporalType::Date, bits: 32 },
        8 => ArrowType::Temporal { kind: timestamp(TimeUnit::Millisecond, None), bits: 64 },
        9 => match about.i32(1, 32)? {
            bits @ (32 | 64) => {
                ArrowType::Temporal { kind: TemporalType::Time(time_unit(about.i16(0, 1)?)?), bits: bits as u32 }
            }
            _ => return Err(Malformed),
        },
        10 => {
            let zone = about.string(1)?.map(zone_offset);
            ArrowType::Temporal { kind: timestamp(time_unit(about.i16(0, 0)?)?, zone), bits: 64 }
        }
        11 => ArrowType::Interval,
        12 => ArrowType::List { has_long_offsets: false },
        13 => ArrowType::Struct,
        14 => ArrowType::Union { is_dense: about.i16(0, 0)? != 0 },
        15 => ArrowType::FixedBinary { width: size(0)? },
        16 => ArrowType::FixedList { len: size(0)? },
        17 => ArrowType::Map,
        18 => ArrowType::Duration(time_unit(about.i16(0, 1)?)?),
        19 => ArrowType::Text { has_long_offsets: true, encoding: TextEncoding::Binary },
        20 => ArrowType::Text { has_long_offsets: true, encoding: TextEncoding::Utf8 },
        21 => ArrowType::List { has_long_offsets: true },
        22 => ArrowType::RunEndEncoded,
        23 => ArrowType::TextView(TextEncoding::Binary),
        24 => ArrowType::TextView(TextEncoding::Utf8),
        25 | 26 => ArrowType::ListView,
        _ => return Err(Malformed),
    })
}

impl ArrowField {
    /// The column as the readers share it.
    pub fn describe(&self) -> ColumnField {
        let (kind, type_name) = match self.item() {
            None => (self.scalar_kind(), self.scalar_name().to_string()),
            Some(item) => match item.scalar_kind() {
                ColumnKind::Number => (ColumnKind::Vector, "vectors".into()),
                ColumnKind::Text => (ColumnKind::Text, format!("lists of {}", item.scalar_name())),
                _ => (ColumnKind::Nested, "nested values".into()),
            },
        };
        ColumnField { name: self.name.clone(), kind, type_name }
    }

    /// What the lists of this column hold; `None` if it does not hold lists.
    fn item(&self) -> Option<&ArrowField> {
        let is_list = matches!(self.kind, ArrowType::List { .. } | ArrowType::FixedList { .. });
        self.children.first().filter(|_| is_list && self.dictionary.is_none())
    }

    fn scalar_kind(&self) -> ColumnKind {
        match self.kind {
            ArrowType::List { .. }
            | ArrowType::FixedList { .. }
            | ArrowType::Interval
            | ArrowType::Struct
            | ArrowType::Union { .. }
            | ArrowType::Map
            | ArrowType::RunEndEncoded
            | ArrowType::ListView => ColumnKind::Nested,
            _ if self.dictionary.is_some() => ColumnKind::Text,
            ArrowType::Null
            | ArrowType::Boolean
            | ArrowType::Integer { .. }
            | ArrowType::Float { .. }
            | ArrowType::Decimal { .. } => ColumnKind::Number,
            _ => ColumnKind::Text,
        }
    }

    /// The name in messages.
    fn scalar_name(&self) -> &'static str {
        match self.kind {
            _ if self.scalar_kind() == ColumnKind::Nested => "nested values",
            _ if self.dictionary.is_some() => "categories",
            ArrowType::Null => "nothing but nulls",
            ArrowType::Boolean => "booleans",
            ArrowType::Integer { .. } => "integers",
            ArrowType::Float { .. } => "floats",
            ArrowType::Decimal { .. } => "decimals",
            ArrowType::Temporal { .. } | ArrowType::Duration(_) => "dates or times",
            ArrowType::Text { encoding: TextEncoding::Utf8, .. } | ArrowType::TextView(TextEncoding::Utf8) => "text",
            _ => "binary data",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_64_is_decoded_with_and_without_padding() {
        for (text, expected) in [("", ""), ("TQ==", "M"), ("TWE", "Ma"), ("TWFu", "Man")] {
            assert_eq!(decode_base64(text).unwrap(), expected.as_bytes());
        }
        assert!(decode_base64("T*==").is_none());
    }
}
