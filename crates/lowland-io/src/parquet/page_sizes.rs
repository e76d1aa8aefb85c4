//! Checks the sizes that page headers declare. The `parquet` crate allocates what a header declares before it looks at the
//! page, up to 2 GiB for each.

use parquet::basic::Compression;
use parquet::file::metadata::ColumnChunkMetaData;

use super::damaged;
use crate::budget::Budget;
use crate::error::Result;

/// Deepest nesting of the structs of a header; the format has two levels.
const MAX_DEPTH: usize = 8;
/// Bytes of framing that a compressed page has besides its content.
const FRAMING_BYTES: u64 = 1024;

/// Checks the headers of the pages of a column chunk: that each page lies within the chunk, that it does not declare more than
/// its codec can make of its bytes, and that it fits the budget.
pub(super) fn check_pages(file: &[u8], chunk: &ColumnChunkMetaData, budget: &Budget) -> Result<()> {
    let start = chunk.dictionary_page_offset().filter(|&offset| offset > 0).unwrap_or(chunk.data_page_offset());
    let bytes = usize::try_from(start).ok().zip(usize::try_from(chunk.compressed_size()).ok());
    let bytes = bytes.and_then(|(start, length)| file.get(start..start.checked_add(length)?));
    let mut bytes = bytes.ok_or_else(|| damaged("a column lies beyond the end"))?;
    let max_ratio = match chunk.compression() {
        // Two bytes of offset and one of length for up to 64 bytes.
        Compression::SNAPPY => 22,
        Compression::LZ4 | Compression::LZ4_RAW => 255,
        Compression::GZIP(_) => 1032,
        Compression::UNCOMPRESSED => 1,
        // There is no limit; these decoders allocate as they go.
        _ => u64::MAX,
    };
    while !bytes.is_empty() {
        let page = PageSizes::parse(bytes).ok_or_else(|| damaged("a page header contradicts itself"))?;
        let rest = bytes.get(page.header..).and_then(|rest| rest.get(page.packed..));
        bytes = rest.ok_or_else(|| damaged("a page lies beyond its column"))?;
        let most = (page.packed as u64).saturating_mul(max_ratio).saturating_add(FRAMING_BYTES);
        if page.unpacked as u64 > most {
            return Err(damaged("a page declares more than its bytes can hold"));
        }
        budget.check_room("a page", page.unpacked, 1)?;
    }
    Ok(())
}

/// The sizes in the header of a page, in bytes.
#[derive(Debug, PartialEq)]
struct PageSizes {
    header: usize,
    packed: usize,
    unpacked: usize,
}

impl PageSizes {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut reader = ThriftReader { bytes, at: 0 };
        let (mut packed, mut unpacked, mut id) = (None, None, 0);
        while let Some(kind) = reader.field(&mut id)? {
            match (id, kind) {
                (2, ThriftReader::I32) => unpacked = usize::try_from(reader.signed()?).ok(),
                (3, ThriftReader::I32) => packed = usize::try_from(reader.signed()?).ok(),
                _ => reader.skip(kind, 0)?,
            }
        }
        Some(Self { header: reader.at, packed: packed?, unpacked: unpacked? })
    }
}

/// Walks over a struct in Thrift's compact protocol.
struct ThriftReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl ThriftReader<'_> {
    const I32: u8 = 5;

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn advance(&mut self, count: u64) -> Option<()> {
        let end = self.at.checked_add(usize::try_from(count).ok()?)?;
        self.at = Some(end).filter(|&end| end <= self.bytes.len())?;
        Some(())
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let value = self.unsigned()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// The type of the next field, whose number is put into `id`; `Some(None)` at the end of the struct.
    fn field(&mut self, id: &mut i64) -> Option<Option<u8>> {
        let header = self.byte()?;
        if header == 0 {
            return Some(None);
        }
        *id = match i64::from(header >> 4) {
            0 => self.signed()?,
            step => id.checked_add(step)?,
        };
        Some(Some(header & 0x0f))
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match kind {
            // Booleans are part of the header of their field.
            1 | 2 => Some(()),
            3 => self.advance(1),
            4..=6 => self.unsigned().map(|_| ()),
            7 => self.advance(8),
            8 => {
                let length = self.unsigned()?;
                self.advance(length)
            }
            9 | 10 => {
                let header = self.byte()?;
                let count = if header >> 4 == 15 { self.unsigned()? } else { u64::from(header >> 4) };
                match header & 0x0f {
                    // In lists they take a byte each.
                    1 | 2 => self.advance(count),
                    item => (0..count).try_for_each(|_| self.skip(item, depth + 1)),
                }
            }
            12 => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.skip(kind, depth + 1)?;
                }
                Some(())
            }
            // Page headers hold no maps.
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_found_among_other_fields() {
        // Type 0; 300 bytes that take 20; a checksum; a struct with a text, a boolean and a list.
        let header = [
            0x15, 0, 0x15, 0xd8, 0x04, 0x15, 40, 0x15, 9, 0x1c, 0x18, 2, b'a', b'b', 0x11, 0x19, 0x25, 2, 4, 0, 0, 0xff,
        ];
        let expected = PageSizes { header: header.len() - 1, packed: 20, unpacked: 300 };
        assert_eq!(PageSizes::parse(&header), Some(expected));
        assert_eq!(PageSizes::parse(&header[..header.len() - 2]), None);
        // A text of 2^60 bytes.
        assert_eq!(PageSizes::parse(&[0x88, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_give_sizes_or_nothing(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(sizes) = PageSizes::parse(&bytes) {
                prop_assert!(sizes.header <= bytes.len());
            }
        }
    }
}
