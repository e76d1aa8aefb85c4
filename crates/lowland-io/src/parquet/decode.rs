//! Column chunks to cells.

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, Int96};

use super::schema::{ParquetColumn, ValueType};
use super::{damaged, failed};
use crate::columnar::{CellValues, ColumnCells};
use crate::error::Result;
use crate::npy::half_to_f64;

/// Julian day of 1970-01-01.
const UNIX_EPOCH_JULIAN_DAY: i64 = 2_440_588;
const NANOSECONDS_PER_DAY: i64 = 86_400_000_000_000;

/// Decodes a column chunk, some rows at a time.
pub(super) struct ColumnDecoder {
    reader: ColumnReader,
    column: ParquetColumn,
    definition: Vec<i16>,
    repetition: Vec<i16>,
}

impl ColumnDecoder {
    pub fn new(reader: ColumnReader, column: &ParquetColumn) -> Self {
        Self { reader, column: column.clone(), definition: Vec::new(), repetition: Vec::new() }
    }

    /// Decodes exactly `rows` rows.
    pub fn decode(&mut self, rows: usize) -> Result<ColumnCells> {
        self.definition.clear();
        self.repetition.clear();
        let levels = Levels { definition: &mut self.definition, repetition: &mut self.repetition, rows };
        let meaning = &self.column.value_type;
        let (list_level, max_level) = (self.column.list_level, self.column.max_level);
        let values = match &mut self.reader {
            ColumnReader::BoolColumnReader(reader) => StoredValues::Boolean(levels.read(reader)?),
            ColumnReader::Int32ColumnReader(reader) => {
                let values = levels.read(reader)?;
                let is_unsigned = *meaning == ValueType::Unsigned;
                let widen = |value: i32| if is_unsigned { i64::from(value as u32) } else { i64::from(value) };
                StoredValues::Integer(values.into_iter().map(widen).collect())
            }
            ColumnReader::Int64ColumnReader(reader) => StoredValues::Integer(levels.read(reader)?),
            ColumnReader::Int96ColumnReader(reader) => {
                StoredValues::Integer(levels.read(reader)?.iter().map(nanoseconds).collect())
            }
            ColumnReader::FloatColumnReader(reader) => StoredValues::Float32(levels.read(reader)?),
            ColumnReader::DoubleColumnReader(reader) => StoredValues::Float64(levels.read(reader)?),
            ColumnReader::ByteArrayColumnReader(reader) => StoredValues::Bytes(levels.read(reader)?),
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                StoredValues::Bytes(levels.read(reader)?.into_iter().map(ByteArray::from).collect())
            }
        };
        let has_item = |level: i16| list_level.is_none_or(|from| level >= from);
        let mut validity: Option<Vec<bool>> = None;
        if max_level > 0 {
            let mut items = self.definition.iter().filter(|&&level| has_item(level));
            if items.any(|&level| level != max_level) {
                let items = self.definition.iter().filter(|&&level| has_item(level));
                validity = Some(items.map(|&level| level == max_level).collect());
            }
        }
        // A column declared to hold nulls only has no values.
        let cells = match meaning {
            ValueType::Null => {
                ColumnCells { values: CellValues::Null(validity.map_or(rows, |valid| valid.len())), validity: None }
            }
            _ => values.into_cells(meaning, validity)?,
        };
        match list_level {
            None => Ok(cells),
            Some(level) => self.lists(cells, level, rows),
        }
    }

    /// Divides items among rows: a repetition level of 0 starts a row, and its definition level says whether the row is
    /// null, an empty list, or has an item.
    fn lists(&self, items: ColumnCells, list_level: i16, rows: usize) -> Result<ColumnCells> {
        let (mut offsets, mut valid, mut count) = (Vec::with_capacity(rows + 1), Vec::with_capacity(rows), 0);
        for (&repetition, &definition) in self.repetition.iter().zip(&self.definition) {
            if repetition == 0 {
                offsets.push(count);
                valid.push(definition >= list_level - 1);
            }
            count += usize::from(definition >= list_level);
        }
        offsets.push(count);
        if offsets.len() != rows + 1 || self.repetition.first().is_some_and(|&first| first != 0) {
            return Err(damaged("the lists of a column do not match its rows"));
        }
        let validity = valid.contains(&false).then_some(valid);
        Ok(ColumnCells { values: CellValues::List { offsets, items: Box::new(items) }, validity })
    }
}

/// Where the levels of the rows go.
struct Levels<'a> {
    definition: &'a mut Vec<i16>,
    repetition: &'a mut Vec<i16>,
    rows: usize,
}

impl Levels<'_> {
    /// Reads the values that are not null.
    fn read<T: DataType>(self, reader: &mut ColumnReaderImpl<T>) -> Result<Vec<T::T>> {
        let mut values = Vec::with_capacity(self.rows);
        let read = reader.read_records(self.rows, Some(self.definition), Some(self.repetition), &mut values);
        let (records, ..) = read.map_err(failed)?;
        if records != self.rows {
            return Err(damaged("a column has fewer values than the table has rows"));
        }
        Ok(values)
    }
}

/// Values that are not null, as stored.
enum StoredValues {
    Boolean(Vec<bool>),
    Integer(Vec<i64>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Bytes(Vec<ByteArray>),
}

impl StoredValues {
    fn into_cells(self, meaning: &ValueType, validity: Option<Vec<bool>>) -> Result<ColumnCells> {
        let valid = validity.as_deref();
        let values = match (self, meaning) {
            (Self::Boolean(values), _) => CellValues::Boolean(spread(values, valid)),
            (Self::Float32(values), _) => CellValues::Float32(spread(values, valid)),
            (Self::Float64(values), _) => CellValues::Float64(spread(values, valid)),
            (Self::Integer(values), ValueType::Unsigned) => {
                CellValues::Unsigned(spread(values, valid).into_iter().map(|value| value as u64).collect())
            }
            (Self::Integer(values), ValueType::Temporal(kind)) => {
                CellValues::Temporal { values: spread(values, valid), kind: kind.clone() }
            }
            (Self::Integer(values), &ValueType::Decimal { scale }) => {
                CellValues::Decimal { unscaled: spread(values, valid).into_iter().map(i128::from).collect(), scale }
            }
            (Self::Integer(values), _) => CellValues::Signed(spread(values, valid)),
            (Self::Bytes(values), ValueType::Half) => {
                let number = |bytes: &ByteArray| match *bytes.data() {
                    [low, high] => half_to_f64(u16::from_le_bytes([low, high])),
                    _ => f64::NAN,
                };
                CellValues::Float64(spread(values.iter().map(number).collect(), valid))
            }
            (Self::Bytes(values), &ValueType::Decimal { scale }) => {
                let unscaled = values.iter().map(|bytes| big_endian(bytes.data())).collect::<Result<_>>()?;
                CellValues::Decimal { unscaled: spread(unscaled, valid), scale }
            }
            (Self::Bytes(values), ValueType::Text(encoding)) => {
                CellValues::Text { values: spread(values, valid), encoding: *encoding }
            }
            (Self::Bytes(values), _) => CellValues::Null(spread(values, valid).len()),
        };
        Ok(ColumnCells { values, validity })
    }
}

/// Puts values at the cells that have one; the others get a default.
fn spread<T: Default>(values: Vec<T>, valid: Option<&[bool]>) -> Vec<T> {
    let Some(valid) = valid else { return values };
    let mut values = values.into_iter();
    valid.iter().map(|&valid| if valid { values.next().unwrap_or_default() } else { T::default() }).collect()
}

/// The nanoseconds since 1970 of a timestamp of 96 bits: nanoseconds of the day, and the Julian day.
fn nanoseconds(value: &Int96) -> i64 {
    let &[low, high, day] = value.data() else { return 0 };
    let nanos = (u64::from(high) << 32 | u64::from(low)) as i64;
    (i64::from(day) - UNIX_EPOCH_JULIAN_DAY).wrapping_mul(NANOSECONDS_PER_DAY).wrapping_add(nanos)
}

/// A big-endian number in two's complement.
fn big_endian(bytes: &[u8]) -> Result<i128> {
    let sign = if bytes.first().is_some_and(|first| first & 0x80 != 0) { 0xff } else { 0 };
    let extra = bytes.len().saturating_sub(16);
    let (extended, low) = bytes.split_at(extra);
    let mut out = [sign; 16];
    out[16 - low.len()..].copy_from_slice(low);
    let value = i128::from_be_bytes(out);
    if extended.iter().any(|&byte| byte != sign) || (value < 0) != (sign != 0) {
        return Err(crate::error::FileErrorKind::format(super::FORMAT, "a decimal has more than 38 digits"));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columnar::{TemporalType, TimeUnit};

    #[test]
    fn decimals_of_any_width_are_read() {
        assert_eq!(big_endian(&[0xff]).unwrap(), -1);
        assert_eq!(big_endian(&[1, 0]).unwrap(), 256);
        assert_eq!(big_endian(&[0xff; 20]).unwrap(), -1);
        assert_eq!(big_endian(&[]).unwrap(), 0);
        assert!(big_endian(&[1; 20]).is_err());
    }

    #[test]
    fn timestamps_of_96_bits_count_from_1970() {
        let mut value = Int96::new();
        value.set_data(1_000_000_000, 0, 2_440_589);
        let kind = TemporalType::Timestamp(TimeUnit::Nanosecond, None);
        assert_eq!(kind.format(nanoseconds(&value)), "1970-01-02T00:00:01");
    }
}
