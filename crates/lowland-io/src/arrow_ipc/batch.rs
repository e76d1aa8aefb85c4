//! The layout of a record batch: which buffers belong to which column.

use std::io::Read;

use bytes::Bytes;

use super::flatbuffer::{FlatTable, Malformed};
use super::schema::{ArrowField, ArrowType};
use super::{FORMAT, damaged};
use crate::error::{FileErrorKind, Result};

/// From this version of the metadata on, unions have no validity buffer.
const VERSION_5: i16 = 4;

/// How much larger than its packed form a buffer usually is, at the most.
const USUAL_RATIO: usize = 8;

/// The buffers of one column, unpacked: validity first, where the type has one.
#[derive(Debug, Clone, Default)]
pub(super) struct ArrayData {
    pub len: usize,
    pub has_nulls: bool,
    pub buffers: Vec<Bytes>,
    pub children: Vec<ArrayData>,
}

/// The nodes and buffers of a batch, handed out column after column.
pub(super) struct BatchLayout {
    pub rows: usize,
    body: Bytes,
    nodes: std::vec::IntoIter<(i64, i64)>,
    buffers: std::vec::IntoIter<(i64, i64)>,
    /// Numbers of data buffers of the view columns.
    view_buffers: std::vec::IntoIter<i64>,
    codec: Option<Codec>,
    unions_have_validity: bool,
}

/// How buffers are packed.
#[derive(Debug, Clone, Copy)]
enum Codec {
    Lz4,
    Zstd,
}

impl BatchLayout {
    pub fn parse(layout: FlatTable, version: i16, body: Bytes) -> Result<Self> {
        let codec = match layout.table(3)? {
            None => None,
            Some(compression) => match compression.u8(0, 0)? {
                0 => Some(Codec::Lz4),
                1 => Some(Codec::Zstd),
                other => return Err(FileErrorKind::format(FORMAT, format!("its compression ({other}) is unknown"))),
            },
        };
        Ok(Self {
            rows: usize::try_from(layout.i64(0, 0)?).map_err(|_| Malformed)?,
            body,
            nodes: layout.i64_pairs(1)?.into_iter(),
            buffers: layout.i64_pairs(2)?.into_iter(),
            view_buffers: layout.i64s(4)?.into_iter(),
            codec,
            unions_have_validity: version < VERSION_5,
        })
    }

    /// Bytes that the packed buffers declare to unpack to.
    pub fn unpacked_size(&self) -> u64 {
        if self.codec.is_none() {
            return 0;
        }
        let sizes = self.buffers.as_slice().iter().filter_map(|&(offset, _)| {
            let start = usize::try_from(offset).ok()?;
            u64::try_from(declared_size(self.body.get(start..)?)?).ok()
        });
        sizes.fold(0, u64::saturating_add)
    }

    /// The next column, unpacked.
    pub fn load(&mut self, field: &ArrowField) -> Result<ArrayData> {
        self.walk(field, true)
    }

    /// Passes over the next column.
    pub fn skip(&mut self, field: &ArrowField) -> Result<()> {
        self.walk(field, false).map(|_| ())
    }

    fn walk(&mut self, field: &ArrowField, load: bool) -> Result<ArrayData> {
        let (len, nulls) = self.nodes.next().ok_or(Malformed)?;
        let mut array = ArrayData {
            len: usize::try_from(len).map_err(|_| Malformed)?,
            has_nulls: nulls != 0,
            ..Default::default()
        };
        let is_coded = field.dictionary.is_some();
        let count = match field.kind {
            _ if is_coded => 2,
            ArrowType::Null | ArrowType::RunEndEncoded => 0,
            ArrowType::Struct | ArrowType::FixedList { .. } => 1,
            ArrowType::Union { is_dense } => 1 + usize::from(is_dense) + usize::from(self.unions_have_validity),
            ArrowType::Text { .. } | ArrowType::ListView => 3,
            ArrowType::TextView(_) => {
                let data = self.view_buffers.next().and_then(|count| usize::try_from(count).ok()).ok_or(Malformed)?;
                // The buffers are there, or they are found to be missing.
                2 + data.min(self.buffers.len())
            }
            _ => 2,
        };
        for _ in 0..count {
            let (offset, length) = self.buffers.next().ok_or(Malformed)?;
            if load {
                array.buffers.push(self.unpack(offset, length)?);
            }
        }
        if !is_coded {
            for child in &field.children {
                let child = self.walk(child, load)?;
                if load {
                    array.children.push(child);
                }
            }
        }
        Ok(array)
    }

    fn unpack(&self, offset: i64, length: i64) -> Result<Bytes> {
        let range = || {
            let (start, length) = (usize::try_from(offset).ok()?, usize::try_from(length).ok()?);
            let end = start.checked_add(length).filter(|&end| end <= self.body.len())?;
            Some(start..end)
        };
        let packed = self.body.slice(range().ok_or_else(|| damaged("a buffer runs beyond its message"))?);
        let (Some(codec), false) = (self.codec, packed.is_empty()) else { return Ok(packed) };
        let declared = declared_size(&packed).ok_or(Malformed)?;
        let Ok(size) = usize::try_from(declared) else {
            // -1 says that packing would not have made it smaller.
            return if declared == -1 { Ok(packed.slice(8..)) } else { Err(Malformed.into()) };
        };
        // The declared sizes of all buffers were found to fit when the messages were walked, but a small file can declare as
        // much as the limit allows: memory for more than what is usual is allocated only when there are bytes for it.
        let mut out = Vec::with_capacity(size.min(packed.len().saturating_mul(USUAL_RATIO)));
        let unpacked = match codec {
            Codec::Lz4 => {
                let decoder = lz4_flex::frame::FrameDecoder::new(&packed[8..]);
                decoder.take(size as u64 + 1).read_to_end(&mut out)
            }
            Codec::Zstd => {
                zstd::Decoder::new(&packed[8..]).and_then(|decoder| decoder.take(size as u64 + 1).read_to_end(&mut out))
            }
        };
        let unpacked = unpacked.map_err(|error| damaged(&format!("a buffer cannot be unpacked ({error})")))?;
        if unpacked != size {
            return Err(damaged("a buffer unpacks to another size than it declares"));
        }
        Ok(out.into())
    }
}

/// Packed buffers begin with their unpacked size.
fn declared_size(packed: &[u8]) -> Option<i64> {
    Some(i64::from_le_bytes(packed.get(..8)?.try_into().ok()?))
}
