//! numpy arrays (`.npy`) of every plain type, in C and Fortran order.

mod header;

use std::ops::Range;
use std::sync::Arc;

use lowland::data::{Dense, LabelsBuilder};
use lowland::{Data, Labels};

use crate::block_visitor::{VisitBlock, visit_row_ranges};
use crate::budget::{Budget, STRING_OVERHEAD};
use crate::error::{FileErrorKind, Location, Result};
use crate::options::ReadOptions;
use crate::row_builder::{RowBuilder, array_cell};
use crate::source::FileBytes;
use crate::table::{Table, push_label};

pub(crate) use header::{NpyHeader, NpyKind};

const FORMAT: &str = "numpy";

/// A parsed `.npy` file.
pub(crate) struct NpyArray<'a> {
    pub header: NpyHeader,
    values: &'a [u8],
    /// The rows that are converted; all, unless some were selected.
    rows: Range<usize>,
    budget: &'a Budget,
}

impl<'a> NpyArray<'a> {
    /// Parses a `.npy` file and checks that it is complete. Converted values are reserved from the budget.
    pub fn parse(bytes: &'a [u8], budget: &'a Budget) -> Result<Self> {
        let header = NpyHeader::parse(bytes)?;
        let available = &bytes[header.offset..];
        let declared = header.count().and_then(|count| count.checked_mul(header.width));
        match declared.and_then(|declared| available.get(..declared)) {
            Some(values) => Ok(Self { rows: 0..header.shape.first().copied().unwrap_or(1), header, values, budget }),
            None => Err(FileErrorKind::Truncated {
                what: "values",
                declared: declared.map_or(u64::MAX, |declared| declared as u64),
                available: available.len() as u64,
            }),
        }
    }

    /// Returns the numbers of rows and columns; all dimensions after the first are flattened.
    pub fn rows_and_columns(&self) -> Result<(usize, usize)> {
        match self.header.shape[..] {
            [] => Err(FileErrorKind::format(FORMAT, "it holds a single number, not rows")),
            [n] => Err(FileErrorKind::format(
                FORMAT,
                format!(
                    "it holds {n} numbers in one dimension, not rows; reshape it to ({n}, 1) if each is a row, to (1, {n}) if all are one row"
                ),
            )),
            // Without rows the other sizes are arbitrary.
            [rows, ref rest @ ..] => {
                Ok((rows, rest.iter().fold(1, |product: usize, &size| product.saturating_mul(size))))
            }
        }
    }

    /// Returns the array with only some of its rows. It has more than one dimension.
    fn select_rows(&self, rows: Range<usize>) -> Self {
        let header = NpyHeader { shape: self.header.shape.clone(), ..self.header };
        Self { header, values: self.values, rows, budget: self.budget }
    }

    /// Number of values of a row.
    fn row_len(&self) -> usize {
        self.header.shape.iter().skip(1).fold(1, |product: usize, &size| product.saturating_mul(size))
    }

    /// Converts the values to `f32`, in row-major order; a value out of range is an error that names the cell.
    pub fn to_f32(&self) -> Result<Vec<f32>> {
        let mut out = self.allocate::<f32>(0)?;
        self.in_row_order(|raw| out.push(self.number(raw) as f32));
        if self.header.kind == NpyKind::Float && self.header.width == 8 {
            self.check_range(&out)?;
        }
        Ok(out)
    }

    /// Converts the values to `f64`, in row-major order.
    pub fn to_f64(&self) -> Result<Vec<f64>> {
        let mut out = self.allocate::<f64>(0)?;
        self.in_row_order(|raw| out.push(self.number(raw)));
        Ok(out)
    }

    /// Converts the values to integers; `None` if the type is not an integer or one is out of range.
    pub fn to_i64(&self) -> Result<Option<Vec<i64>>> {
        self.to_integers()
    }

    /// Converts the values to indices; `None` if the type is not an integer or one is negative.
    pub fn to_indices(&self) -> Result<Option<Vec<usize>>> {
        self.to_integers()
    }

    fn to_integers<T: TryFrom<i128>>(&self) -> Result<Option<Vec<T>>> {
        if !matches!(self.header.kind, NpyKind::Int | NpyKind::Unsigned) {
            return Ok(None);
        }
        let mut out = self.allocate::<T>(0)?;
        let mut fits = true;
        self.in_row_order(|raw| match T::try_from(self.integer(raw)) {
            Ok(whole) => out.push(whole),
            Err(_) => fits = false,
        });
        Ok(fits.then_some(out))
    }

    /// Converts the values to text.
    pub fn to_texts(&self) -> Result<Vec<String>> {
        let mut out = self.allocate::<String>(STRING_OVERHEAD - size_of::<String>() + self.header.width)?;
        self.in_row_order(|raw| out.push(self.text(raw)));
        Ok(out)
    }

    /// Converts the values to labels.
    pub fn to_labels(&self) -> Result<Labels> {
        let mut classes = LabelsBuilder::default();
        let mut result = Ok(());
        self.in_row_order(|raw| {
            if result.is_ok() {
                result = push_label(&mut classes, &self.text(raw), self.budget);
            }
        });
        result.map(|()| classes.finish())
    }

    /// Converts the array to a dense matrix, with the given offsets of the columns or those that it needs.
    pub fn to_data(&self, offsets: Option<&Arc<[f64]>>) -> Result<Data> {
        if !self.header.is_numeric() {
            return Err(FileErrorKind::format(FORMAT, "its values are strings; a map needs numbers"));
        }
        let (_, columns) = self.rows_and_columns()?;
        let rows = self.rows.len();
        let is_wide = self.header.width == 8 || (self.header.width == 4 && self.header.kind != NpyKind::Float);
        if !is_wide && offsets.is_none() {
            return Ok(Data::Dense(Dense::shared(Arc::new(self.to_f32()?), rows, columns)?));
        }
        let mut builder = RowBuilder::new(self.allocate(0)?, columns, offsets, self.budget);
        let mut result = Ok(());
        self.in_row_order(|raw| {
            if result.is_ok() {
                let wide = self.number(raw);
                result = builder.push(wide as f32, || wide, array_cell);
            }
        });
        result?;
        builder.finish(rows)
    }

    /// Reserves memory for all values, each with `more` bytes on the heap, and returns an empty vector for them.
    fn allocate<T>(&self, more: usize) -> Result<Vec<T>> {
        self.budget.reserve("the array", self.len(), size_of::<T>() + more)?;
        Ok(Vec::with_capacity(self.len()))
    }

    fn len(&self) -> usize {
        self.rows.len() * self.row_len()
    }

    /// Calls `visit` with the bytes of each value in row-major order.
    fn in_row_order(&self, mut visit: impl FnMut(&[u8])) {
        let width = self.header.width;
        let shape = &self.header.shape;
        if !self.header.fortran || shape.len() < 2 {
            let row = self.row_len().saturating_mul(width);
            self.values[self.rows.start * row..self.rows.end * row].chunks_exact(width).for_each(visit);
        } else {
            // In Fortran order, index (i, j, ...) is at i + shape[0] (j + ...).
            let mut index = vec![0usize; shape.len()];
            index[0] = self.rows.start;
            for _ in 0..self.len() {
                let at = index.iter().zip(shape).rev().fold(0, |at, (&i, &size)| at * size + i);
                visit(&self.values[at * width..][..width]);
                for (i, &size) in index.iter_mut().zip(shape).rev() {
                    *i += 1;
                    if *i < size {
                        break;
                    }
                    *i = 0;
                }
            }
        }
    }

    /// The bytes of a number in little-endian order, padded with zeros.
    fn little_endian(&self, raw: &[u8]) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..raw.len()].copy_from_slice(raw);
        if self.header.big_endian {
            bytes[..raw.len()].reverse();
        }
        bytes
    }

    fn integer(&self, raw: &[u8]) -> i128 {
        let bits = u64::from_le_bytes(self.little_endian(raw));
        match self.header.kind {
            // Shifting up and down again extends the sign.
            NpyKind::Int => i128::from((bits << (64 - 8 * raw.len())) as i64 >> (64 - 8 * raw.len())),
            _ => i128::from(bits),
        }
    }

    fn number(&self, raw: &[u8]) -> f64 {
        match (self.header.kind, self.header.width) {
            (NpyKind::Float, 8) => f64::from_le_bytes(self.little_endian(raw)),
            (NpyKind::Float, 4) => f32::from_bits(self.integer(raw) as u32).into(),
            (NpyKind::Float, _) => half_to_f64(self.integer(raw) as u16),
            (NpyKind::Bool, _) => f64::from(raw[0] != 0),
            (NpyKind::Int | NpyKind::Unsigned, _) => self.integer(raw) as f64,
            (NpyKind::Bytes | NpyKind::Unicode, _) => f64::NAN,
        }
    }

    fn text(&self, raw: &[u8]) -> String {
        match self.header.kind {
            NpyKind::Float => self.number(raw).to_string(),
            NpyKind::Bool => (raw[0] != 0).to_string(),
            NpyKind::Int | NpyKind::Unsigned => self.integer(raw).to_string(),
            NpyKind::Bytes => String::from_utf8_lossy(raw).trim_end_matches('\0').to_string(),
            NpyKind::Unicode => raw
                .chunks_exact(4)
                .map(|four| u32::from_le_bytes(self.little_endian(four)[..4].try_into().expect("four bytes")))
                .map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect::<String>()
                .trim_end_matches('\0')
                .to_string(),
        }
    }

    /// Returns an error if a finite double became infinite as `f32`.
    fn check_range(&self, narrowed: &[f32]) -> Result<()> {
        if !narrowed.iter().any(|value| value.is_infinite()) {
            return Ok(());
        }
        let (mut at, mut first) = (0, None);
        self.in_row_order(|raw| {
            let wide = self.number(raw);
            if first.is_none() && wide.is_finite() && narrowed[at].is_infinite() {
                first = Some((at, wide));
            }
            at += 1;
        });
        match first {
            None => Ok(()),
            Some((at, wide)) => {
                let columns = self.row_len().max(1);
                Err(FileErrorKind::Overflow {
                    location: Location::Row(at / columns),
                    column: (at % columns).to_string(),
                    found: format!("{wide:e}"),
                })
            }
        }
    }
}

/// Converts an IEEE 754 half-precision number.
pub(crate) fn half_to_f64(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let fraction = f64::from(bits & 0x3ff);
    sign * match (bits >> 10) & 0x1f {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1.0 + fraction / 1024.0) * 2f64.powi(i32::from(exponent) - 15),
    }
}

/// The bytes of a file in memory whose values are used without a copy.
struct ValuesInPlace {
    bytes: FileBytes,
    range: Range<usize>,
}

impl AsRef<[f32]> for ValuesInPlace {
    fn as_ref(&self) -> &[f32] {
        bytemuck::cast_slice(&self.bytes[self.range.clone()])
    }
}

/// Reads a `.npy` file. Little-endian `f4` in C order is not converted: it is read once, or used where it lies if it is in
/// memory already. It is not used from a mapped file, which other programs may truncate during the run. Of such an array only
/// the first `max_rows` are read.
pub(crate) fn read(
    mut bytes: FileBytes,
    max_rows: Option<usize>,
    offsets: Option<&Arc<[f64]>>,
    budget: &Budget,
) -> Result<Data> {
    let array = NpyArray::parse(&bytes, budget)?;
    let header = &array.header;
    let in_place = cfg!(target_endian = "little")
        && (header.kind, header.width, header.big_endian, header.fortran) == (NpyKind::Float, 4, false, false)
        && bytemuck::try_cast_slice::<u8, f32>(array.values).is_ok();
    if !in_place || offsets.is_some() {
        return array.to_data(offsets);
    }
    let (rows, columns) = array.rows_and_columns()?;
    let rows = max_rows.map_or(rows, |most| most.min(rows));
    let range = header.offset..header.offset + rows * columns * size_of::<f32>();
    if matches!(bytes, FileBytes::Mapped { .. }) {
        budget.reserve("the array", range.len(), 1)?;
    }
    let values: Arc<dyn AsRef<[f32]> + Send + Sync> = match bytes.read_floats(range.clone())? {
        Some(values) => Arc::new(values),
        None => Arc::new(ValuesInPlace { bytes, range }),
    };
    Ok(Data::Dense(Dense::shared(values, rows, columns)?))
}

/// Reads a `.npy` file in blocks of `block_rows` rows.
pub(crate) fn read_blocks(
    bytes: &[u8],
    options: &ReadOptions,
    budget: &Budget,
    block_rows: usize,
    visit: &mut VisitBlock,
) -> Result<()> {
    let array = NpyArray::parse(bytes, budget)?;
    let (rows, _) = array.rows_and_columns()?;
    visit_row_ranges(rows, options, budget, block_rows, visit, |range| {
        array.select_rows(range).to_data(options.offsets.as_ref()).map(Table::new)
    })
}

/// Encodes a `.npy` file: `kind` is the type string (`<f8`), `values` its little-endian bytes in C order.
pub(crate) fn encode(kind: &str, shape: &[usize], values: &[u8]) -> Vec<u8> {
    let sizes: String = shape.iter().map(|size| format!("{size},")).collect();
    let mut text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // Align the values to 64 bytes, so that programs which map the file can use them where they lie.
    while !(10 + text.len() + 1).is_multiple_of(64) {
        text.push(' ');
    }
    text.push('\n');
    let mut out = Vec::with_capacity(10 + text.len() + values.len());
    out.extend_from_slice(b"\x93NUMPY\x01\x00");
    out.extend_from_slice(&(text.len() as u16).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(values);
    out
}

/// Encodes a `.npy` file of strings.
pub(crate) fn encode_texts<T: AsRef<str>>(texts: &[T]) -> Vec<u8> {
    let width = texts.iter().map(|text| text.as_ref().chars().count()).max().unwrap_or(0).max(1);
    let mut values = Vec::with_capacity(texts.len() * width * 4);
    for text in texts {
        let codes = text.as_ref().chars().map(u32::from).chain(std::iter::repeat(0)).take(width);
        codes.for_each(|code| values.extend_from_slice(&code.to_le_bytes()));
    }
    encode(&format!("<U{width}"), &[texts.len()], &values)
}

#[cfg(test)]
mod tests;
