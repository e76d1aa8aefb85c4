//! Arrow IPC, file and stream. A file is a stream between a magic word and a footer, so both are read as streams. The
//! messages are walked once beforehand, because the decoder allocates whatever a packed buffer declares.

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::datatypes::SchemaRef;
use arrow::ipc::reader::StreamDecoder;
use arrow::ipc::{MessageHeader, RecordBatch as Layout, root_as_message};
use bytes::Bytes;

use crate::budget::Budget;
use crate::error::{Outcome, Problem};
use crate::tables::Batches;

const FORMAT: &str = "arrow";
const MAGIC: &[u8] = b"ARROW1";
const CONTINUATION: u32 = u32::MAX;

/// The schema and the batches.
pub(crate) fn batches(bytes: Bytes, budget: &Budget) -> Outcome<(SchemaRef, Batches)> {
    let stream = stream_of(bytes)?;
    check_messages(&stream, budget)?;
    let mut rest = Buffer::from(stream);
    let mut decoder = StreamDecoder::new();
    let mut next = move || -> Outcome<(Option<RecordBatch>, Option<SchemaRef>)> {
        let failed = |error: arrow::error::ArrowError| Problem::format(FORMAT, error.to_string());
        while !rest.is_empty() {
            if let Some(batch) = decoder.decode(&mut rest).map_err(failed)? {
                return Ok((Some(batch), decoder.schema()));
            }
        }
        decoder.finish().map_err(failed)?;
        Ok((None, decoder.schema()))
    };
    let (first, schema) = next()?;
    let schema = schema.ok_or_else(|| Problem::format(FORMAT, "it has no schema"))?;
    let mut first = first.map(Ok);
    Ok((
        schema,
        Box::new(std::iter::from_fn(move || first.take().or_else(|| next().map(|(batch, _)| batch).transpose()))),
    ))
}

/// The stream inside a file, up to and without the end-of-stream mark.
fn stream_of(bytes: Bytes) -> Outcome<Bytes> {
    if bytes.starts_with(b"FEA1") {
        return Err(Problem::format(
            FORMAT,
            "it is Feather version 1; write it again with a current pyarrow or as Parquet",
        ));
    }
    if !bytes.starts_with(MAGIC) {
        return Ok(bytes);
    }
    // Magic and padding, the stream, the footer, its length, magic.
    let tail = bytes.len().checked_sub(10).filter(|&tail| tail >= 8 && bytes.ends_with(MAGIC));
    let end = tail.and_then(|tail| tail.checked_sub(u32_at(&bytes, tail)? as usize)).filter(|&end| end >= 8);
    match end {
        Some(end) => Ok(bytes.slice(8..end)),
        None => Err(Problem::format(FORMAT, "it has no footer; the file is cut off or damaged")),
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// Every message lies within the stream, its packed buffers declare no more than the limit, and its rows are no more
/// than its bytes can hold (at the least a bit each).
fn check_messages(stream: &[u8], budget: &Budget) -> Outcome<()> {
    let cut = || Problem::format(FORMAT, "a message runs beyond the end; the file is cut off or damaged");
    let (mut at, mut unpacked, mut rows) = (0usize, 0u64, 0u64);
    while at < stream.len() {
        let mut length = u32_at(stream, at).ok_or_else(cut)?;
        at += 4;
        if length == CONTINUATION {
            length = u32_at(stream, at).ok_or_else(cut)?;
            at += 4;
        }
        if length == 0 {
            break;
        }
        let meta = at.checked_add(length as usize).and_then(|end| stream.get(at..end)).ok_or_else(cut)?;
        at += meta.len();
        let message = root_as_message(meta).map_err(|error| Problem::format(FORMAT, error.to_string()))?;
        let body = usize::try_from(message.bodyLength()).ok().and_then(|length| at.checked_add(length));
        let body = body.and_then(|end| stream.get(at..end)).ok_or_else(cut)?;
        at += body.len();
        let layout = match message.header_type() {
            MessageHeader::RecordBatch => message.header_as_record_batch(),
            MessageHeader::DictionaryBatch => message.header_as_dictionary_batch().and_then(|batch| batch.data()),
            _ => None,
        };
        if let Some(layout) = layout {
            unpacked = unpacked.saturating_add(unpacked_size(layout, body));
            rows = rows.saturating_add(u64::try_from(layout.length()).unwrap_or(u64::MAX));
        }
        if unpacked > budget.left() {
            return Err(budget.exceeded("the table"));
        }
    }
    if rows > unpacked.saturating_add(stream.len() as u64).saturating_mul(8) {
        return Err(Problem::format(FORMAT, format!("it declares {rows} rows, more than its bytes can hold")));
    }
    Ok(())
}

/// Bytes that the packed buffers of a batch declare to unpack to: each begins with that number, -1 if it is not packed.
fn unpacked_size(layout: Layout, body: &[u8]) -> u64 {
    if layout.compression().is_none() {
        return 0;
    }
    let declared = layout.buffers().into_iter().flatten().filter_map(|buffer| {
        let start = usize::try_from(buffer.offset()).ok()?;
        let size = i64::from_le_bytes(body.get(start..start.checked_add(8)?)?.try_into().ok()?);
        u64::try_from(size).ok()
    });
    declared.fold(0, u64::saturating_add)
}
