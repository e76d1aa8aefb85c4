//! numpy arrays: the values of every plain type, in either order.

mod header;

use std::sync::Arc;

use lowland::{Data, Dense};

use crate::budget::{Budget, STRING_OVERHEAD};
use crate::error::{FileErrorKind, Location, Result};
use crate::source::Bytes;
use crate::table::{Labels, LabelsBuilder};

pub(crate) use header::{Header, Kind};

const FORMAT: &str = "numpy";

/// An array in memory.
pub(crate) struct Array<'a> {
    pub header: Header,
    values: &'a [u8],
    budget: &'a Budget,
}

impl<'a> Array<'a> {
    /// Parses a whole `.npy` file; what it declares must be there. What its values become is taken from the budget.
    pub fn parse(bytes: &'a [u8], budget: &'a Budget) -> Result<Self> {
        let header = Header::parse(bytes)?;
        let available = &bytes[header.offset..];
        let declared = header.count().and_then(|count| count.checked_mul(header.width));
        match declared.and_then(|declared| available.get(..declared)) {
            Some(values) => Ok(Self { header, values, budget }),
            None => Err(FileErrorKind::Truncated {
                what: "values",
                declared: declared.map_or(u64::MAX, |declared| declared as u64),
                available: available.len() as u64,
            }),
        }
    }

    /// Rows and columns: all dimensions after the first are laid side by side.
    pub fn rows_and_columns(&self) -> Result<(usize, usize)> {
        match self.header.shape[..] {
            [] => Err(FileErrorKind::format(FORMAT, "it holds a single number, not rows")),
            [n] => Err(FileErrorKind::format(
                FORMAT,
                format!(
                    "it holds {n} numbers in one dimension, not rows; reshape it to ({n}, 1) if each is a row, to (1, {n}) if all are one row"
                ),
            )),
            // With no rows the other sizes mean nothing and may be anything.
            [rows, ref rest @ ..] => {
                Ok((rows, rest.iter().fold(1, |product: usize, &size| product.saturating_mul(size))))
            }
        }
    }

    /// The values as `f32`, row after row; what does not fit is refused, naming the cell.
    pub fn to_f32(&self) -> Result<Vec<f32>> {
        let mut out = self.room::<f32>(0)?;
        self.in_row_order(|raw| out.push(self.number(raw) as f32));
        if self.header.kind == Kind::Float && self.header.width == 8 {
            self.check_range(&out)?;
        }
        Ok(out)
    }

    /// The values as `f64`, row after row.
    pub fn to_f64(&self) -> Result<Vec<f64>> {
        let mut out = self.room::<f64>(0)?;
        self.in_row_order(|raw| out.push(self.number(raw)));
        Ok(out)
    }

    /// The values as whole numbers; `None` if they are not of a whole type or beyond its range.
    pub fn to_whole(&self) -> Result<Option<Vec<i64>>> {
        self.to_integers()
    }

    /// The values as counts or positions; `None` if one is negative or not whole.
    pub fn to_indices(&self) -> Result<Option<Vec<usize>>> {
        self.to_integers()
    }

    fn to_integers<T: TryFrom<i128>>(&self) -> Result<Option<Vec<T>>> {
        if !matches!(self.header.kind, Kind::Int | Kind::Unsigned) {
            return Ok(None);
        }
        let mut out = self.room::<T>(0)?;
        let mut fits = true;
        self.in_row_order(|raw| match T::try_from(self.whole(raw)) {
            Ok(whole) => out.push(whole),
            Err(_) => fits = false,
        });
        Ok(fits.then_some(out))
    }

    /// The values as text: strings as they are, numbers as people write them.
    pub fn to_texts(&self) -> Result<Vec<String>> {
        let mut out = self.room::<String>(STRING_OVERHEAD - size_of::<String>() + self.header.width)?;
        self.in_row_order(|raw| out.push(self.text(raw)));
        Ok(out)
    }

    /// One class a value.
    pub fn to_labels(&self) -> Result<Labels> {
        let mut classes = LabelsBuilder::default();
        let mut outcome = Ok(());
        self.in_row_order(|raw| {
            if outcome.is_ok() {
                outcome = classes.add(&self.text(raw), self.budget);
            }
        });
        outcome.map(|()| classes.finish())
    }

    /// The values laid out as a dense matrix.
    pub fn to_data(&self) -> Result<Data> {
        if !self.header.is_numeric() {
            return Err(FileErrorKind::format(FORMAT, "its values are strings; a map needs numbers"));
        }
        let (rows, columns) = self.rows_and_columns()?;
        Ok(Data::Dense(Dense::shared(Arc::new(self.to_f32()?), rows, columns)?))
    }

    /// An empty vector with room for all values, each with `more` bytes of its own elsewhere.
    fn room<T>(&self, more: usize) -> Result<Vec<T>> {
        self.budget.reserve("the array", self.len(), size_of::<T>() + more)?;
        Ok(Vec::with_capacity(self.len()))
    }

    fn len(&self) -> usize {
        self.header.count().expect("counted when it was parsed")
    }

    /// Calls `visit` with the bytes of each value, the last index running fastest.
    fn in_row_order(&self, mut visit: impl FnMut(&[u8])) {
        let width = self.header.width;
        let shape = &self.header.shape;
        if !self.header.fortran || shape.len() < 2 {
            self.values.chunks_exact(width).for_each(visit);
        } else {
            // Fortran order: index (i, j, ...) lies at i + shape[0] (j + ...). The first index is the slow one here.
            let mut index = vec![0usize; shape.len()];
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

    /// The bytes of a number, little end first, filled up with zeros.
    fn little_endian(&self, raw: &[u8]) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..raw.len()].copy_from_slice(raw);
        if self.header.big_endian {
            bytes[..raw.len()].reverse();
        }
        bytes
    }

    fn whole(&self, raw: &[u8]) -> i128 {
        let bits = u64::from_le_bytes(self.little_endian(raw));
        match self.header.kind {
            // Shifting up and down again carries the sign.
            Kind::Int => i128::from((bits << (64 - 8 * raw.len())) as i64 >> (64 - 8 * raw.len())),
            _ => i128::from(bits),
        }
    }

    fn number(&self, raw: &[u8]) -> f64 {
        match (self.header.kind, self.header.width) {
            (Kind::Float, 8) => f64::from_le_bytes(self.little_endian(raw)),
            (Kind::Float, 4) => f32::from_bits(self.whole(raw) as u32).into(),
            (Kind::Float, _) => half_to_f64(self.whole(raw) as u16),
            (Kind::Bool, _) => f64::from(raw[0] != 0),
            (Kind::Int | Kind::Unsigned, _) => self.whole(raw) as f64,
            (Kind::Bytes | Kind::Unicode, _) => f64::NAN,
        }
    }

    fn text(&self, raw: &[u8]) -> String {
        match self.header.kind {
            Kind::Float => self.number(raw).to_string(),
            Kind::Bool => (raw[0] != 0).to_string(),
            Kind::Int | Kind::Unsigned => self.whole(raw).to_string(),
            Kind::Bytes => String::from_utf8_lossy(raw).trim_end_matches('\0').to_string(),
            Kind::Unicode => raw
                .chunks_exact(4)
                .map(|four| u32::from_le_bytes(self.little_endian(four)[..4].try_into().expect("four bytes")))
                .map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect::<String>()
                .trim_end_matches('\0')
                .to_string(),
        }
    }

    /// Refuses doubles that became infinite as `f32`.
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
                let columns = self.header.shape.get(1..).map_or(1, |rest| rest.iter().product::<usize>()).max(1);
                Err(FileErrorKind::Overflow {
                    location: Location::Row(at / columns),
                    column: (at % columns).to_string(),
                    found: format!("{wide:e}"),
                })
            }
        }
    }
}

/// IEEE 754 half precision.
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

/// A mapped file whose values are used where they lie.
struct MappedValues {
    bytes: Bytes,
    start: usize,
    end: usize,
}

impl AsRef<[f32]> for MappedValues {
    fn as_ref(&self) -> &[f32] {
        bytemuck::cast_slice(&self.bytes[self.start..self.end])
    }
}

/// Reads a `.npy` file. Little-endian `f4` in C order is not copied.
pub(crate) fn read(bytes: Bytes, budget: &Budget) -> Result<Data> {
    let array = Array::parse(&bytes, budget)?;
    let header = &array.header;
    let in_place = cfg!(target_endian = "little")
        && (header.kind, header.width, header.big_endian, header.fortran) == (Kind::Float, 4, false, false)
        && bytemuck::try_cast_slice::<u8, f32>(array.values).is_ok();
    if !in_place {
        return array.to_data();
    }
    let (rows, columns) = array.rows_and_columns()?;
    let (start, end) = (header.offset, header.offset + array.values.len());
    Ok(Data::Dense(Dense::shared(Arc::new(MappedValues { bytes, start, end }), rows, columns)?))
}

/// The bytes of a `.npy` file: `kind` is the type string (`<f8`), `values` its little-endian bytes in C order.
pub(crate) fn encode(kind: &str, shape: &[usize], values: &[u8]) -> Vec<u8> {
    let sizes: String = shape.iter().map(|size| format!("{size},")).collect();
    let mut text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // The values start at a multiple of 64 bytes, so that a mapped file is aligned.
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

/// The bytes of a `.npy` file of strings.
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn npy(text: &str, values: &[u8]) -> Vec<u8> {
        let mut out = b"\x93NUMPY\x01\x00".to_vec();
        out.extend_from_slice(&(text.len() as u16).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
        out.extend_from_slice(values);
        out
    }

    fn values(bytes: Vec<u8>) -> Vec<f32> {
        match read(Bytes::Owned(bytes), &Budget::unlimited()).unwrap() {
            Data::Dense(x) => x.values().to_vec(),
            _ => panic!("dense"),
        }
    }

    #[test]
    fn big_endian_fortran_and_half_floats_are_read() {
        let text = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n";
        let raw: Vec<u8> = [1i16, 2, 3, 4, -5, 6].iter().flat_map(|v| v.to_be_bytes()).collect();
        assert_eq!(values(npy(text, &raw)), [1.0, 3.0, -5.0, 2.0, 4.0, 6.0]);
        let text = "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 5), }\n";
        let raw: Vec<u8> = [0x3c00u16, 0xc000, 0x0001, 0x7bff, 0x3555].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(values(npy(text, &raw)), [1.0, -2.0, 5.960_464_5e-8, 65504.0, 0.333_251_95]);
    }

    #[test]
    fn little_endian_f4_in_c_order_is_used_where_it_lies() {
        let bytes = encode("<f4", &[2, 2], bytemuck::cast_slice(&[1.0f32, 2.0, 3.0, 4.0]));
        let start = bytes.as_ptr() as usize;
        let range = start..start + bytes.len();
        let Data::Dense(x) = read(Bytes::Owned(bytes), &Budget::unlimited()).unwrap() else { panic!("dense") };
        assert_eq!(x.values(), [1.0, 2.0, 3.0, 4.0]);
        assert!(range.contains(&(x.values().as_ptr() as usize)), "the values were copied");
    }

    #[test]
    fn a_header_that_claims_more_than_there_is_gives_an_error_and_no_allocation() {
        for shape in ["1000000000000000, 3", "18446744073709551615, 18446744073709551615", "5, 1"] {
            let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}\n");
            let error = Array::parse(&npy(&text, &[0; 8]), &Budget::unlimited()).err().unwrap();
            assert!(matches!(error, FileErrorKind::Truncated { available: 8, .. }), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_a_matrix_is_explained() {
        let message = |descr: &str, shape: &str| {
            let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n");
            read(Bytes::Owned(npy(&text, &[0; 64])), &Budget::unlimited()).unwrap_err().to_string()
        };
        assert!(message("'<f4'", "(4,)").contains("reshape it to (4, 1)"));
        assert!(message("'<f4'", "()").contains("single number"));
        assert!(message("'|O'", "(4, 1)").contains("Python objects"));
        assert!(message("'<c8'", "(4, 1)").contains("complex"));
        assert!(message("[('a', '<f4')]", "(4, 1)").contains("records"));
        assert!(message("'<U2'", "(4, 1)").contains("strings"));
    }

    #[test]
    fn doubles_beyond_f32_are_refused_by_cell_and_infinities_left_for_the_check() {
        let raw: Vec<u8> = [0.0, f64::INFINITY, 1.0, -1e300].iter().flat_map(|v: &f64| v.to_le_bytes()).collect();
        let error = read(Bytes::Owned(encode("<f8", &[2, 2], &raw)), &Budget::unlimited()).unwrap_err();
        assert!(error.to_string().contains("row 1 (from 0), column 1: -1e300"), "{error}");
        assert_eq!(values(encode("<f8", &[1, 2], &raw[..16])), [0.0, f32::INFINITY]);
    }

    #[test]
    fn strings_come_back() {
        let texts = ["a", "", "größer", "日本"];
        assert_eq!(Array::parse(&encode_texts(&texts), &Budget::unlimited()).unwrap().to_texts().unwrap(), texts);
    }

    proptest! {
        #[test]
        fn fortran_order_of_any_shape_is_undone(shape in prop::collection::vec(1usize..5, 2..5)) {
            // Each value is its own position in C order; written in Fortran order it must come back sorted.
            let count: usize = shape.iter().product();
            let strides: Vec<usize> = (0..shape.len()).map(|d| shape[d + 1..].iter().product()).collect();
            let mut raw = Vec::new();
            for mut at in 0..count {
                let mut position = 0;
                for (size, stride) in shape.iter().zip(&strides) {
                    position += (at % size) * stride;
                    at /= size;
                }
                raw.extend_from_slice(&(position as f32).to_le_bytes());
            }
            let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
            let text = format!("{{'descr': '<f4', 'fortran_order': True, 'shape': ({}), }}\n", sizes.join(", "));
            prop_assert_eq!(values(npy(&text, &raw)), (0..count).map(|v| v as f32).collect::<Vec<_>>());
        }

        #[test]
        fn mutilated_files_give_an_array_or_an_error(cut in 0usize..200, at in 0usize..128, byte: u8) {
            let mut bytes = encode("<f8", &[3, 2], &[7; 48]);
            bytes[at] = byte;
            bytes.truncate(cut);
            let _ = read(Bytes::Owned(bytes), &Budget::unlimited());
        }
    }
}
